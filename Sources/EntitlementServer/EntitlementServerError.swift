/// Why a server cannot start or go on, in a sentence that says what to do. Equal when the codes are.
///
/// Refusals of requests are not errors: they are answers.
public struct EntitlementServerError: Error, Equatable, Sendable, CustomStringConvertible {
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The configuration names no app, no environment, or one of them twice, or says what cannot be done.
        public static let invalidConfiguration = Code(rawValue: "invalidConfiguration")
        /// Rules of an app were active once and are no more; the later ones are used.
        public static let supersededRules = Code(rawValue: "supersededRules")
        /// The ledger has no such app.
        public static let unknownApp = Code(rawValue: "unknownApp")
        /// The ledger has no such API key.
        public static let unknownKey = Code(rawValue: "unknownKey")
        /// The ledger holds other bytes than were kept: the file was damaged or changed by hand.
        public static let damagedAnswer = Code(rawValue: "damagedAnswer")
        /// The ledger does not hold what it must; a defect, not an input.
        public static let internalInconsistency = Code(rawValue: "internalInconsistency")
    }

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
