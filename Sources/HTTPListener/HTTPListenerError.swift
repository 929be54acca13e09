import Foundation
import Primitives

/// The reason why a listener did not start. Errors are equal when their codes are equal.
public struct HTTPListenerError: Error, Equatable, Sendable, CustomStringConvertible, LocalizedError {
    /// The kind of failure. The set is open.
    public typealias Code = OpenEnum<HTTPListenerError>

    /// The kind of failure.
    public let code: Code
    /// A sentence that says what happened and what to do.
    public let reason: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - reason: A sentence that says what happened and what to do.
    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    /// Returns whether both errors have the same code.
    public static func == (left: HTTPListenerError, right: HTTPListenerError) -> Bool { left.code == right.code }

    /// The reason.
    public var description: String { reason }
    /// The reason.
    public var errorDescription: String? { reason }
}

extension HTTPListenerError.Code {
    /// Another socket is bound to this port.
    public static var addressInUse: Self { Self(rawValue: "addressInUse") }
    /// The host is not an address of this machine, or the port is invalid.
    public static var invalidAddress: Self { Self(rawValue: "invalidAddress") }
    /// The system does not let this user bind the port.
    public static var notPermitted: Self { Self(rawValue: "notPermitted") }
    /// The certificate or key cannot be used.
    public static var tlsFailed: Self { Self(rawValue: "tlsFailed") }
    /// The listener was started before. A listener starts once.
    public static var alreadyStarted: Self { Self(rawValue: "alreadyStarted") }
    /// A system call failed unexpectedly.
    public static var systemFailed: Self { Self(rawValue: "systemFailed") }
}
