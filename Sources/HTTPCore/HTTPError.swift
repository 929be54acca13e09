import Foundation
import Primitives

/// An error of an HTTP exchange. Errors are equal when their codes are equal. An error contains no header values and no
/// bodies.
public struct HTTPError: Error, Equatable, Sendable {
    /// The kind of failure. The set is open, so a transport can add codes.
    public typealias Code = OpenEnum<HTTPError>

    /// The kind of failure.
    public let code: Code
    /// A sentence that says what happened and what to do.
    public let reason: String
    /// The error of another library that caused this one.
    public let underlying: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - reason: A sentence that says what happened and what to do.
    ///   - underlying: The error of another library that caused this one.
    public init(_ code: Code, _ reason: String, underlying: (any Error)? = nil) {
        self.code = code
        self.reason = reason
        self.underlying = underlying
    }

    /// Whether the same request can succeed later.
    public var isRetryable: Bool {
        [.timeout, .hostNotFound, .connectionFailed, .noAnswer, .connectionLost].contains(code)
    }

    /// Returns whether both errors have the same code.
    public static func == (left: HTTPError, right: HTTPError) -> Bool { left.code == right.code }
}

extension HTTPError: CustomStringConvertible, LocalizedError {
    /// The reason.
    public var description: String { reason }
    /// The reason.
    public var errorDescription: String? { reason }
}

extension HTTPError.Code {
    /// The exchange, or the opening of its connection, took longer than its timeout.
    public static var timeout: Self { Self(rawValue: "timeout") }
    /// The caller cancelled the request or its body stream, or the transport was shut down.
    public static var cancelled: Self { Self(rawValue: "cancelled") }
    /// The host's name has no address.
    public static var hostNotFound: Self { Self(rawValue: "hostNotFound") }
    /// No connection could be made.
    public static var connectionFailed: Self { Self(rawValue: "connectionFailed") }
    /// The connection ended before the response began. It is unknown whether the server executed the request.
    public static var noAnswer: Self { Self(rawValue: "noAnswer") }
    /// The connection ended in the middle of the exchange. It is unknown whether the server executed the request.
    public static var connectionLost: Self { Self(rawValue: "connectionLost") }
    /// The certificate of the other side, or the TLS handshake, was refused.
    public static var tlsFailed: Self { Self(rawValue: "tlsFailed") }
    /// A body is longer than the given limit.
    public static var bodyTooLarge: Self { Self(rawValue: "bodyTooLarge") }
    /// The URL is not an absolute http or https URL in percent-encoded form.
    public static var invalidURL: Self { Self(rawValue: "invalidURL") }
    /// A header or method contains characters that a message cannot contain.
    public static var invalidHeader: Self { Self(rawValue: "invalidHeader") }
    /// The other side violates HTTP/1.1.
    public static var protocolError: Self { Self(rawValue: "protocolError") }
    /// A body cannot be read or written, or does not have its stated length.
    public static var bodyFailed: Self { Self(rawValue: "bodyFailed") }
    /// The transport does not support this request, or cannot start it.
    public static var unsupported: Self { Self(rawValue: "unsupported") }
}
