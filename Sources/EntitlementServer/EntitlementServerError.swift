import Primitives

/// An error of the server, or of a tool that works with its ledger. Its reason says what failed.
///
/// Two errors are equal when their codes are. A refused request is not an error: it gets a response.
public struct EntitlementServerError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of failure, from an open list.
    public typealias Code = OpenEnum<EntitlementServerError>

    /// The kind of failure.
    public let code: Code
    /// A sentence that says what failed and, if possible, what to do.
    public let reason: String
    /// The error that caused this one, if any.
    public let underlying: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - reason: A sentence that says what failed and, if possible, what to do.
    ///   - underlying: The error that caused this one, if any.
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
    /// The configuration has no app or no environment, repeats one, or contains a value that cannot be used.
    public static var invalidConfiguration: Self { Self(rawValue: "invalidConfiguration") }
    /// The features, credits or transfer mode of an app were replaced by later ones. The later ones are used.
    public static var supersededRules: Self { Self(rawValue: "supersededRules") }
    /// The ledger has no such app.
    public static var unknownApp: Self { Self(rawValue: "unknownApp") }
    /// The ledger has no such API key.
    public static var unknownKey: Self { Self(rawValue: "unknownKey") }
    /// The stored bytes of an answer do not match their digest: the file was damaged or edited.
    public static var damagedAnswer: Self { Self(rawValue: "damagedAnswer") }
    /// The ledger lacks data that it must have, or contradicts itself. This is not a fault of the request.
    public static var internalInconsistency: Self { Self(rawValue: "internalInconsistency") }
}
