import Primitives

/// The content of a message: bytes at hand, or a stream that is read once.
public enum HTTPBody: Sendable {
    case bytes([UInt8])
    case stream(HTTPBodyStream)

    public static let empty = HTTPBody.bytes([])

    /// The UTF-8 bytes of `text`.
    public static func text(_ text: String) -> HTTPBody { .bytes(Array(text.utf8)) }

    /// A JSON document.
    public static func json(_ value: JSONValue) -> HTTPBody { .bytes(value.encoded()) }

    /// Length in bytes; `nil` when a stream does not know it beforehand.
    public var length: Int? {
        switch self {
        case .bytes(let bytes): bytes.count
        case .stream(let stream): stream.length
        }
    }

    /// The bytes, if they are at hand without waiting.
    public var buffered: [UInt8]? {
        if case .bytes(let bytes) = self { bytes } else { nil }
    }

    /// The whole content, read to its end.
    ///
    /// Throws `HTTPError.bodyTooLarge` when it is longer than `limit` bytes, and whatever the stream throws. A stream
    /// that is over the limit is cancelled.
    public func collect(upTo limit: Int) async throws -> [UInt8] {
        switch self {
        case .bytes(let bytes):
            guard bytes.count <= limit else { throw Self.tooLarge(limit) }
            return bytes
        case .stream(let stream):
            if let length = stream.length, length > limit {
                stream.cancel()
                throw Self.tooLarge(limit)
            }
            var collected: [UInt8] = []
            while let chunk = try await stream.next() {
                guard chunk.count <= limit - collected.count else {
                    stream.cancel()
                    throw Self.tooLarge(limit)
                }
                collected += chunk
            }
            return collected
        }
    }

    /// The whole content as a JSON document.
    ///
    /// Throws like `collect(upTo:)`, and `JSONError` when it is not JSON.
    public func json(upTo limit: Int = 1 << 20) async throws -> JSONValue {
        try JSONValue(parsing: await collect(upTo: limit))
    }

    private static func tooLarge(_ limit: Int) -> HTTPError {
        HTTPError(.bodyTooLarge, "The body is longer than the \(limit) bytes allowed.")
    }
}
