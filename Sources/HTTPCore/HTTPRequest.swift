import Primitives

/// A request. For a transport `url` is absolute; for a handler it is the request target exactly as it was sent.
public struct HTTPRequest: Sendable {
    public var method: Method
    public var url: String
    public var headers: HTTPHeaders
    public var body: HTTPBody
    /// How long the whole exchange may take, answer's body included; `nil` is the transport's default (30 s).
    public var timeout: Duration?

    public init(
        method: Method, url: String, headers: HTTPHeaders = [:], body: HTTPBody = .empty, timeout: Duration? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
    }

    /// A request with a JSON body; sets `Content-Type` unless `headers` has one.
    public init(
        method: Method, url: String, headers: HTTPHeaders = [:], json: JSONValue, timeout: Duration? = nil
    ) {
        self.init(method: method, url: url, headers: headers.withContentType("application/json"), body: .json(json))
        self.timeout = timeout
    }

    /// A request method (RFC 9110 section 9); compared with its case.
    public struct Method: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public init(_ rawValue: String) { self.rawValue = rawValue }
        public init(stringLiteral value: String) { rawValue = value }
        public var description: String { rawValue }

        public static let get = Method("GET")
        public static let head = Method("HEAD")
        public static let post = Method("POST")
        public static let put = Method("PUT")
        public static let patch = Method("PATCH")
        public static let delete = Method("DELETE")
        public static let options = Method("OPTIONS")
        public static let trace = Method("TRACE")
    }
}

extension HTTPRequest {
    /// The path, still percent-encoded, `/` when the URL has none.
    public var path: String {
        let text = RequestTarget(url)
        return text.path.isEmpty ? "/" : String(text.path)
    }

    /// Path and query as they stand in a request line.
    public var target: String {
        let text = RequestTarget(url)
        let path = text.path.isEmpty ? "/" : String(text.path)
        return text.query.map { "\(path)?\($0)" } ?? path
    }

    /// The query, decoded; empty when there is none, `nil` when an escape in it is malformed or not UTF-8.
    public var query: HTTPQuery? {
        RequestTarget(url).query.map { HTTPQuery(parsing: $0) } ?? HTTPQuery()
    }
}

/// The parts of an absolute URL or a request target, without decoding anything.
struct RequestTarget {
    let path: Substring
    let query: Substring?

    init(_ url: String) {
        var rest = url.utf8[...]
        if let fragment = rest.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<fragment] }
        if rest.first != UInt8(ascii: "/"), let scheme = Self.endOfScheme(in: rest) {
            rest = rest[scheme...]
            let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
            rest = rest[(end ?? rest.endIndex)...]
        }
        if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
            path = Substring(rest[..<mark])
            query = Substring(rest[rest.index(after: mark)...])
        } else {
            path = Substring(rest)
            query = nil
        }
    }

    private static func endOfScheme(in text: Substring.UTF8View) -> Substring.UTF8View.Index? {
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")), text[colon...].starts(with: "://".utf8) else {
            return nil
        }
        return text.index(colon, offsetBy: 3)
    }
}

extension HTTPHeaders {
    func withContentType(_ type: String) -> HTTPHeaders {
        guard !contains("Content-Type") else { return self }
        var headers = self
        headers.add("Content-Type", type)
        return headers
    }
}
