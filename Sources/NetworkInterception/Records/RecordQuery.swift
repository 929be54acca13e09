import Foundation
import HTTPCore

/// A search for stored records. A record must meet all conditions of the query.
///
///     RecordQuery("method:post host:*.example.com status:5xx \"no such customer\"")
public struct RecordQuery: Sendable, Hashable {
    /// The result of an exchange.
    public enum Outcome: Sendable, Hashable {
        /// A response with one of these statuses.
        case status(ClosedRange<Int>)
        /// A failure.
        case failed
        /// No result yet.
        case underway
    }

    /// Texts that must all occur in the method, a URL, a header, the status, a body or the error. Case is ignored.
    public var texts: [String]
    /// The method of the request.
    public var method: HTTPRequest.Method?
    /// The host as `RecordSelector.host` takes it: `*.example.com` matches every subdomain. A port counts if it is
    /// given.
    public var host: String?
    /// The result of the exchange.
    public var outcome: Outcome?

    /// Creates a query. A condition that is `nil`, or an empty text, excludes no record.
    ///
    /// - Parameters:
    ///   - texts: Texts that must all occur.
    ///   - method: The method of the request.
    ///   - host: The host, as `RecordSelector.host` takes it.
    ///   - outcome: The result of the exchange.
    public init(texts: [String] = [], method: HTTPRequest.Method? = nil, host: String? = nil, outcome: Outcome? = nil) {
        self.texts = texts.filter { !$0.isEmpty }
        self.method = method
        self.host = host
        self.outcome = outcome
    }

    /// The query that every record matches.
    public static let all = RecordQuery()

    /// Parses a query that a user typed: words, phrases in quotation marks, and `method:`, `host:` and `status:`
    /// (`404`, `4xx`, `failed`, `underway`). Everything else is a text to search for, so no input is an error.
    ///
    /// - Parameter typed: The input of the user.
    public init(_ typed: String) {
        self.init()
        for word in Self.words(typed) {
            let parts = word.text.split(separator: ":", maxSplits: 1).map(String.init)
            guard !word.isQuoted, parts.count == 2, take(parts[0].lowercased(), parts[1]) else {
                texts.append(word.text)
                continue
            }
        }
    }

    /// Creates a query from the items `text` (in the syntax of `init(_:)`), `method`, `host` and `status` of a URL.
    /// Empty items count as absent.
    ///
    /// - Parameter query: The query of a URL.
    public init(_ query: HTTPQuery) {
        self.init(query["text"] ?? "")
        for name in ["method", "host", "status"] {
            if let value = query[name], !value.isEmpty, !take(name, value) { texts.append(value) }
        }
    }

    /// Whether the query has no condition.
    public var isEmpty: Bool { self == .all }

    /// Whether `record` meets all conditions.
    public func matches(_ record: Record) -> Bool {
        if let method, record.designatedRequest.method.rawValue.uppercased() != method.rawValue.uppercased() {
            return false
        }
        if let host, !RecordSelector.host(host).selects(record) { return false }
        switch outcome {
        case nil: break
        case .status(let range)?:
            guard let status = record.response?.status, range.contains(status) else { return false }
        case .failed?: guard record.failure != nil else { return false }
        case .underway?: guard record.result == nil else { return false }
        }
        return texts.allSatisfy { Needle($0).occurs(in: record) }
    }

    private mutating func take(_ name: String, _ value: String) -> Bool {
        switch name {
        case "method": method = HTTPRequest.Method(value.uppercased())
        case "host": host = value
        case "status":
            guard let outcome = Outcome(typed: value.lowercased()) else { return false }
            self.outcome = outcome
        default: return false
        }
        return true
    }

    private static func words(_ typed: String) -> [(text: String, isQuoted: Bool)] {
        var words: [(text: String, isQuoted: Bool)] = []
        var rest = typed[...]
        while let first = rest.first(where: { !$0.isWhitespace }) {
            rest = rest.drop { $0.isWhitespace }
            let isQuoted = first == "\""
            if isQuoted { rest = rest.dropFirst() }
            let word = rest.prefix { isQuoted ? $0 != "\"" : !$0.isWhitespace }
            if !word.isEmpty { words.append((String(word), isQuoted)) }
            rest = rest.dropFirst(word.count + (isQuoted ? 1 : 0))
        }
        return words
    }
}

extension RecordQuery.Outcome {
    /// Parses `404`, `4xx`, `failed` or `underway`.
    fileprivate init?(typed: String) {
        switch typed {
        case "failed": self = .failed
        case "underway": self = .underway
        default:
            guard typed.utf8.count == 3, let first = typed.first?.wholeNumberValue, (1...9).contains(first) else {
                return nil
            }
            if typed.hasSuffix("xx") {
                self = .status(first * 100...first * 100 + 99)
            } else {
                guard let status = Int(typed) else { return nil }
                self = .status(status...status)
            }
        }
    }
}

/// A text to search for without regard to case.
private struct Needle {
    private let bytes: [UInt8]
    /// The lower-case text, for letters outside of ASCII, whose case needs Unicode.
    private let text: String?

    init(_ text: String) {
        bytes = text.utf8.map(Self.folded)
        self.text = text.utf8.contains { $0 >= 0x80 } ? text.lowercased() : nil
    }

    func occurs(in record: Record) -> Bool {
        if occurs(in: record.designatedRequest) { return true }
        if occurs(in: record.originalRequest) { return true }
        switch record.result {
        case .success(let response)?:
            return occurs(in: String(response.status)) || occurs(in: response.headers) || occurs(in: response.body)
        case .failure(let error)?: return occurs(in: RecordedFailure(error).reason)
        case nil: return false
        }
    }

    private func occurs(in request: HTTPRequest) -> Bool {
        occurs(in: request.method.rawValue) || occurs(in: request.url) || occurs(in: request.headers)
            || occurs(in: request.body)
    }

    private func occurs(in headers: HTTPHeaders) -> Bool {
        headers.fields.contains { occurs(in: $0.name) || occurs(in: $0.value) || occurs(in: "\($0.name): \($0.value)") }
    }

    private func occurs(in body: HTTPBody) -> Bool {
        guard case .bytes(let body) = body else { return false }
        if let text { return String(decoding: body, as: UTF8.self).lowercased().contains(text) }
        return body.withUnsafeBufferPointer(occurs)
    }

    private func occurs(in string: String) -> Bool {
        if let text { return string.lowercased().contains(text) }
        var string = string
        return string.withUTF8(occurs)
    }

    private func occurs(_ place: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = bytes.first else { return true }
        guard place.count >= bytes.count else { return false }
        for start in 0...(place.count - bytes.count) where Self.folded(place[start]) == first {
            if bytes.indices.allSatisfy({ Self.folded(place[start + $0]) == bytes[$0] }) { return true }
        }
        return false
    }

    private static func folded(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
}
