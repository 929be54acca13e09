import HTTPCore
import Primitives

/// What a server says of the version of a file (RFC 9110 section 8.8), so that parts of two versions are never joined.
struct ContentVersion: Hashable, Sendable {
    /// A strong one; a weak one says too little.
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

    /// What `If-Range` is asked with; without it nothing can be resumed.
    var condition: String? { entityTag ?? lastModified }

    func contradicts(_ other: ContentVersion) -> Bool {
        if let entityTag, let otherTag = other.entityTag { return entityTag != otherTag }
        if let lastModified, let otherDate = other.lastModified { return lastModified != otherDate }
        return false
    }

    private static func fits(_ text: String) -> Bool { (1...1024).contains(text.utf8.count) }
}

/// How far a download has come.
struct DownloadState: Hashable, Sendable {
    var version = ContentVersion()
    /// Bytes in all; `nil` while nobody has said.
    var total: Int?
    var received = 0

    var isComplete: Bool { total == received }
}

/// The next question to the server, and what its answer means.
struct DownloadQuestion: Sendable {
    let state: DownloadState
    /// What is asked for; `nil`: everything.
    let part: Range<Int>?

    /// Asks for the next `piece` bytes, and for everything when `piece` is `nil` or what is there cannot be continued.
    init(_ state: DownloadState, piece: Int?) {
        self.state = state
        guard let piece, state.received == 0 || state.version.condition != nil else {
            part = nil
            return
        }
        part = state.received..<min(state.received + piece, state.total ?? .max)
    }

    var headers: HTTPHeaders {
        // What is compressed on the way has other bytes than the file.
        var headers: HTTPHeaders = ["Accept-Encoding": "identity"]
        guard let part else { return headers }
        headers.add("Range", "bytes=\(part.lowerBound)-\(part.upperBound - 1)")
        if part.lowerBound > 0, let condition = state.version.condition { headers.add("If-Range", condition) }
        return headers
    }

    enum Meaning: Hashable, Sendable {
        /// The body goes behind what `state` says was received: everything, or `count` bytes.
        case body(DownloadState, count: Int?)
        /// What was received is of another version.
        case otherVersion
        /// The server cannot send parts, or sends others than it was asked for.
        case noParts
        /// The server may answer later, after the pause it asks for.
        case later(Duration?)
        case refused
    }

    /// `length` is that of the body, where known.
    func meaning(status: Int, _ headers: HTTPHeaders, length: Int?) -> Meaning {
        switch status {
        case 200: .body(DownloadState(version: ContentVersion(headers), total: length), count: length)
        case 206: part.map { partial($0, headers, length: length) } ?? .refused
        case 416: part == nil ? .refused : .noParts
        case 408, 425, 429, 500, 502, 503, 504: .later(Self.pause(headers["Retry-After"]))
        default: .refused
        }
    }

    private func partial(_ part: Range<Int>, _ headers: HTTPHeaders, length: Int?) -> Meaning {
        guard let sent = SentRange(headers["Content-Range"]), sent.range.lowerBound == part.lowerBound,
            sent.range.upperBound <= part.upperBound, length ?? sent.range.count == sent.range.count
        else { return .noParts }
        let version = ContentVersion(headers)
        guard state.received > 0 else {
            // Without a version the next part could be of another file.
            guard version.condition != nil || sent.range.count == sent.total else { return .noParts }
            return .body(DownloadState(version: version, total: sent.total), count: sent.range.count)
        }
        guard sent.total == state.total ?? sent.total, !version.contradicts(state.version) else { return .otherVersion }
        var now = state
        now.total = sent.total
        return .body(now, count: sent.range.count)
    }

    /// The seconds of a `Retry-After`; its other form, a date, is left to the back-off.
    private static func pause(_ text: String?) -> Duration? {
        text.flatMap { Int($0) }.flatMap { (0...86_400).contains($0) ? .seconds($0) : nil }
    }
}

/// `bytes 0-99/200` (RFC 9110 section 14.4); a length that is not known cannot be continued and counts as none.
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
