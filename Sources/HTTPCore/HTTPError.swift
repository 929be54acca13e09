import Foundation

/// What can go wrong while two sides exchange HTTP messages. Compares by `code`; contains no header values and no
/// bodies.
public struct HTTPError: Error, Equatable, Sendable {
    /// The kind of failure; open, so that a transport may bring its own.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The deadline of the exchange passed.
        public static let timeout = Code(rawValue: "timeout")
        /// The caller's task was cancelled, or the transport was shut down.
        public static let cancelled = Code(rawValue: "cancelled")
        /// The host's name has no address.
        public static let hostNotFound = Code(rawValue: "hostNotFound")
        /// No connection could be made.
        public static let connectionFailed = Code(rawValue: "connectionFailed")
        /// The connection ended before anything of the answer came; whether the request was acted on is unknown.
        public static let noAnswer = Code(rawValue: "noAnswer")
        /// The connection ended in the middle of the exchange; whether the request was acted on is unknown.
        public static let connectionLost = Code(rawValue: "connectionLost")
        /// The other side's certificate or the TLS handshake was refused.
        public static let tlsFailed = Code(rawValue: "tlsFailed")
        /// A body is longer than the given limit.
        public static let bodyTooLarge = Code(rawValue: "bodyTooLarge")
        /// The URL is not an absolute http or https URL in percent-encoded form.
        public static let invalidURL = Code(rawValue: "invalidURL")
        /// A header or method cannot stand in a message.
        public static let invalidHeader = Code(rawValue: "invalidHeader")
        /// The other side does not speak HTTP/1.1 correctly.
        public static let protocolError = Code(rawValue: "protocolError")
        /// A body stream ended early, or was asked for what it no longer has.
        public static let bodyFailed = Code(rawValue: "bodyFailed")
        /// The transport cannot do this.
        public static let unsupported = Code(rawValue: "unsupported")
    }

    public let code: Code
    /// A sentence that says what happened and what to do.
    public let reason: String
    /// What another library reported.
    public let underlying: (any Error)?

    public init(_ code: Code, _ reason: String, underlying: (any Error)? = nil) {
        self.code = code
        self.reason = reason
        self.underlying = underlying
    }

    /// Whether the same request may succeed later without being changed.
    public var isRetryable: Bool {
        [.timeout, .hostNotFound, .connectionFailed, .noAnswer, .connectionLost].contains(code)
    }

    public static func == (left: HTTPError, right: HTTPError) -> Bool { left.code == right.code }
}

extension HTTPError: CustomStringConvertible, LocalizedError {
    public var description: String { reason }
    public var errorDescription: String? { reason }
}
