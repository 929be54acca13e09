import Foundation
import Primitives

/// Why a listener did not start. Compares by `code`.
public struct HTTPListenerError: Error, Equatable, Sendable, CustomStringConvertible, LocalizedError {
    /// The kind of failure, from an open list.
    public typealias Code = OpenEnum<HTTPListenerError>

    public let code: Code
    /// A sentence that says what happened and what to do.
    public let reason: String

    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    public static func == (left: HTTPListenerError, right: HTTPListenerError) -> Bool { left.code == right.code }

    public var description: String { reason }
    public var errorDescription: String? { reason }
}

extension HTTPListenerError.Code {
    /// Another process listens on this port.
    public static var addressInUse: Self { Self(rawValue: "addressInUse") }
    /// The host is no address of this machine, or the port is not one.
    public static var invalidAddress: Self { Self(rawValue: "invalidAddress") }
    /// The system does not let this user bind the port.
    public static var notPermitted: Self { Self(rawValue: "notPermitted") }
    /// The certificate or key cannot be used.
    public static var tlsFailed: Self { Self(rawValue: "tlsFailed") }
    public static var alreadyStarted: Self { Self(rawValue: "alreadyStarted") }
    /// A system call failed that normally does not.
    public static var systemFailed: Self { Self(rawValue: "systemFailed") }
}
