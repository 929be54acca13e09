import Primitives

/// Why a server cannot start or go on, in a sentence that says what to do. Equal when the codes are.
///
/// Refusals of requests are not errors: they are answers.
public struct EntitlementServerError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of failure, from an open list.
    public typealias Code = OpenEnum<EntitlementServerError>

    public let code: Code
    public let reason: String
    public let underlying: (any Error)?

    public init(_ code: Code, _ reason: String, underlying: (any Error)? = nil) {
        self.code = code
        self.reason = reason
        self.underlying = underlying
    }

    public var description: String { reason }

    public static func == (left: EntitlementServerError, right: EntitlementServerError) -> Bool {
        left.code == right.code
    }
}

extension EntitlementServerError.Code {
    /// The configuration names no app, no environment, or one of them twice, or says what cannot be done.
    public static var invalidConfiguration: Self { Self(rawValue: "invalidConfiguration") }
    /// Rules of an app were active once and are no more; the later ones are used.
    public static var supersededRules: Self { Self(rawValue: "supersededRules") }
    /// The ledger has no such app.
    public static var unknownApp: Self { Self(rawValue: "unknownApp") }
    /// The ledger has no such API key.
    public static var unknownKey: Self { Self(rawValue: "unknownKey") }
    /// The ledger holds other bytes than were kept: the file was damaged or changed by hand.
    public static var damagedAnswer: Self { Self(rawValue: "damagedAnswer") }
    /// The ledger does not hold what it must; a defect, not an input.
    public static var internalInconsistency: Self { Self(rawValue: "internalInconsistency") }
}
