import Foundation
import Primitives

/// What can go wrong in the module itself; what went wrong with a request stands in its record and is thrown as the
/// transport threw it. Compares by `code`; contains no header values and no bodies.
public struct InterceptionError: Error, Equatable, Sendable {
    /// The kind of failure; open, so that a floret may bring its own.
    public typealias Code = OpenEnum<InterceptionError>

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

    public static func == (left: InterceptionError, right: InterceptionError) -> Bool { left.code == right.code }
}

extension InterceptionError: CustomStringConvertible, LocalizedError {
    public var description: String { reason }
    public var errorDescription: String? { reason }
}

extension InterceptionError.Code {
    /// A screen's action that its floret does not know.
    public static var unknownAction: Self { Self(rawValue: "unknownAction") }
    /// A value that a setting cannot have.
    public static var invalidSetting: Self { Self(rawValue: "invalidSetting") }
    /// A file is not of the format it should be of.
    public static var invalidFile: Self { Self(rawValue: "invalidFile") }
    /// Records could not be written or read.
    public static var storageFailed: Self { Self(rawValue: "storageFailed") }
    /// A floret answered or failed the request with nothing that can be told.
    public static var noResult: Self { Self(rawValue: "noResult") }
    /// This way of sending cannot be intercepted here.
    public static var unsupported: Self { Self(rawValue: "unsupported") }
}
