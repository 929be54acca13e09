import Primitives

/// The content of a message: bytes in memory, or a stream that is read once.
public enum HTTPBody: Sendable {
    /// Bytes in memory.
    case bytes([UInt8])
    /// A stream that one reader reads once.
    case stream(HTTPBodyStream)

    /// A body without bytes.
    public static let empty = HTTPBody.bytes([])

    /// Returns a body with the UTF-8 bytes of `text`.
    public static func text(_ text: String) -> HTTPBody { .bytes(Array(text.utf8)) }

    /// Returns a body with `value` as a JSON document.
    public static func json(_ value: JSONValue) -> HTTPBody { .bytes(value.encoded()) }

    /// The length in bytes, or `nil` for a stream of unknown length.
    public var length: Int? {
        switch self {
        case .bytes(let bytes): bytes.count
        case .stream(let stream): stream.length
        }
    }

    /// The bytes, or `nil` for a stream.
    public var buffered: [UInt8]? {
        if case .bytes(let bytes) = self { bytes } else { nil }
    }

    /// Reads the whole body into memory. Cancels a stream that exceeds the limit.
    ///
    /// - Parameter limit: The greatest accepted length in bytes.
    /// - Returns: The bytes of the body.
    /// - Throws: `HTTPError` with the code `bodyTooLarge` when the body is longer than `limit` bytes, or the error of
    ///   the stream.
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

    /// Reads the whole body as a JSON document.
    ///
    /// - Parameter limit: The greatest accepted length in bytes.
    /// - Returns: The document.
    /// - Throws: `HTTPError` with the code `bodyTooLarge`, the error of the stream, or `JSONError` when the body is not
    ///   JSON.
    public func json(upTo limit: Int = 1 << 20) async throws -> JSONValue {
        try JSONValue(parsing: await collect(upTo: limit))
    }

    private static func tooLarge(_ limit: Int) -> HTTPError {
        HTTPError(.bodyTooLarge, "The body is longer than the \(limit) bytes allowed.")
    }
}
