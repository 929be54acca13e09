import Foundation
import Primitives

/// What can go wrong while two sides exchange HTTP messages. Compares by `code`; contains no header values and no
/// bodies.
public struct HTTPError: Error, Equatable, Sendable {
    /// The kind of failure; open, so that a transport may bring its own.
    public typealias Code = OpenEnum<HTTPError>

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

extension HTTPError.Code {
    /// The deadline of the exchange passed.
    public static var timeout: Self { Self(rawValue: "timeout") }
    /// The caller's task was cancelled, or the transport was shut down.
    public static var cancelled: Self { Self(rawValue: "cancelled") }
    /// The host's name has no address.
    public static var hostNotFound: Self { Self(rawValue: "hostNotFound") }
    /// No connection could be made.
    public static var connectionFailed: Self { Self(rawValue: "connectionFailed") }
    /// The connection ended before anything of the answer came; whether the request was acted on is unknown.
    public static var noAnswer: Self { Self(rawValue: "noAnswer") }
    /// The connection ended in the middle of the exchange; whether the request was acted on is unknown.
    public static var connectionLost: Self { Self(rawValue: "connectionLost") }
    /// The other side's certificate or the TLS handshake was refused.
    public static var tlsFailed: Self { Self(rawValue: "tlsFailed") }
    /// A body is longer than the given limit.
    public static var bodyTooLarge: Self { Self(rawValue: "bodyTooLarge") }
    /// The URL is not an absolute http or https URL in percent-encoded form.
    public static var invalidURL: Self { Self(rawValue: "invalidURL") }
    /// A header or method cannot stand in a message.
    public static var invalidHeader: Self { Self(rawValue: "invalidHeader") }
    /// The other side does not speak HTTP/1.1 correctly.
    public static var protocolError: Self { Self(rawValue: "protocolError") }
    /// A body stream ended early, or was asked for what it no longer has.
    public static var bodyFailed: Self { Self(rawValue: "bodyFailed") }
    /// The transport cannot do this.
    public static var unsupported: Self { Self(rawValue: "unsupported") }
}
