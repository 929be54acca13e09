import HTTPCore
import Primitives

/// The version of a file, as the server's headers identify it (RFC 9110 section 8.8). It prevents joining parts of two
/// versions.
struct ContentVersion: Hashable, Sendable {
    /// The strong entity tag. Weak ones are ignored.
    var entityTag: String?
    var lastModified: String?

    init(entityTag: String? = nil, lastModified: String? = nil) {
        self.entityTag = entityTag
        self.lastModified = lastModified
    }

    init(_ headers: HTTPHeaders) {
        self.init(
            entityTag: headers["ETag"].flatMap { $0.hasPrefix("\"") && Self.fits($0) ? $0 : nil },
            lastModified: headers["Last-Modified"].flatMap { Self.fits($0) ? $0 : nil })
    }

    /// The value of `If-Range`. Without it, a download cannot continue.
    var condition: String? { entityTag ?? lastModified }

    func contradicts(_ other: ContentVersion) -> Bool {
        if let entityTag, let otherTag = other.entityTag { return entityTag != otherTag }
        if let lastModified, let otherDate = other.lastModified { return lastModified != otherDate }
        return false
    }

    private static func fits(_ text: String) -> Bool { (1...1024).contains(text.utf8.count) }
}

struct DownloadState: Hashable, Sendable {
    var version = ContentVersion()
    /// The total number of bytes; `nil` while it is unknown.
    var total: Int?
    var received = 0

    var isComplete: Bool { total == received }
}

/// The next request of a download, and the interpretation of its response.
struct DownloadRequest: Sendable {
    let state: DownloadState
    /// The requested range; `nil` for the whole file.
    let part: Range<Int>?

    /// Creates a request for the next `piece` bytes, or for the whole file if `piece` is `nil` or the download cannot
    /// continue.
    init(_ state: DownloadState, piece: Int?) {
        self.state = state
        guard let piece, state.received == 0 || state.version.condition != nil else {
            part = nil
            return
        }
        part = state.received..<min(state.received + piece, state.total ?? .max)
    }

    var headers: HTTPHeaders {
        // Compression would change the bytes that ranges refer to.
        var headers: HTTPHeaders = ["Accept-Encoding": "identity"]
        guard let part else { return headers }
        headers.add("Range", "bytes=\(part.lowerBound)-\(part.upperBound - 1)")
        if part.lowerBound > 0, let condition = state.version.condition { headers.add("If-Range", condition) }
        return headers
    }

    enum ResponseKind: Hashable, Sendable {
        /// The body contains the bytes that follow those of the state. `count` is its length; `nil` if it is unknown.
        case body(DownloadState, count: Int?)
        /// The bytes that were received before belong to another version of the file.
        case otherVersion
        /// The server does not support ranges, returned another range than requested, or sent a part without a version.
        case noParts
        /// A temporary failure, and the pause that the server requires; `nil` if it requires none.
        case later(Duration?)
        case refused
    }

    /// Interprets a response. `length` is the length of the body, if it is known.
    func responseKind(status: Int, _ headers: HTTPHeaders, length: Int?) -> ResponseKind {
        switch status {
        case 200: .body(DownloadState(version: ContentVersion(headers), total: length), count: length)
        case 206: part.map { partial($0, headers, length: length) } ?? .refused
        case 416: part == nil ? .refused : .noParts
        case 408, 425, 429, 500, 502, 503, 504: .later(Self.pause(headers["Retry-After"]))
        default: .refused
        }
    }

    private func partial(_ part: Range<Int>, _ headers: HTTPHeaders, length: Int?) -> ResponseKind {
        guard let sent = SentRange(headers["Content-Range"]), sent.range.lowerBound == part.lowerBound,
            sent.range.upperBound <= part.upperBound, length ?? sent.range.count == sent.range.count
        else { return .noParts }
        let version = ContentVersion(headers)
        guard state.received > 0 else {
            // Without a version, the next part could belong to another version of the file.
            guard version.condition != nil || sent.range.count == sent.total else { return .noParts }
            return .body(DownloadState(version: version, total: sent.total), count: sent.range.count)
        }
        guard sent.total == state.total ?? sent.total, !version.contradicts(state.version) else { return .otherVersion }
        var now = state
        now.total = sent.total
        return .body(now, count: sent.range.count)
    }

    /// Returns the seconds of a `Retry-After`. A date is ignored, so that the backoff applies.
    private static func pause(_ text: String?) -> Duration? {
        text.flatMap { Int($0) }.flatMap { (0...86_400).contains($0) ? .seconds($0) : nil }
    }
}

/// A `Content-Range` such as `bytes 0-99/200` (RFC 9110 section 14.4). A header without the total length of the file
/// (`*`) is invalid here, because the download could not continue.
struct SentRange: Hashable, Sendable {
    let range: Range<Int>
    let total: Int

    init?(_ text: String?) {
        guard let text, text.lowercased().hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let total = Self.number(parts[1]) else { return nil }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last,
            last < total
        else { return nil }
        range = first..<last + 1
        self.total = total
    }

    private static func number(_ text: Substring) -> Int? {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(text) : nil
    }
}
