import Foundation
import Primitives

/// An error of this module. It compares by `code` and contains no header values and no bodies.
///
/// A failed request throws the error of its transport unchanged, or the failure that a floret set. The record contains
/// that error too, without secrets.
public struct InterceptionError: Error, Equatable, Sendable {
    /// The kind of error. It is open, so that a floret can define its own kinds.
    public typealias Code = OpenEnum<InterceptionError>

    /// The kind of error.
    public let code: Code
    /// A sentence about the cause and the remedy.
    public let reason: String
    /// The error of another library that caused this one.
    public let underlying: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of error.
    ///   - reason: A sentence about the cause and the remedy.
    ///   - underlying: The error of another library that caused this one.
    public init(_ code: Code, _ reason: String, underlying: (any Error)? = nil) {
        self.code = code
        self.reason = reason
        self.underlying = underlying
    }

    public static func == (left: InterceptionError, right: InterceptionError) -> Bool { left.code == right.code }
}

extension InterceptionError: CustomStringConvertible, LocalizedError {
    public var description: String { reason }
    public var errorDescription: String? { reason }
}

extension InterceptionError.Code {
    /// The floret's screen has no such action.
    public static var unknownAction: Self { Self(rawValue: "unknownAction") }
    /// A setting does not accept the value.
    public static var invalidSetting: Self { Self(rawValue: "invalidSetting") }
    /// A file has the wrong format.
    public static var invalidFile: Self { Self(rawValue: "invalidFile") }
    /// Records or another file could not be written or read.
    public static var storageFailed: Self { Self(rawValue: "storageFailed") }
    /// A floret removed the result of a request and did not set another one.
    public static var noResult: Self { Self(rawValue: "noResult") }
    /// This way of sending requests cannot be intercepted on this platform.
    public static var unsupported: Self { Self(rawValue: "unsupported") }
}
