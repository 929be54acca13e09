/// Why the simulator did not do what it was asked: a code to act on and a sentence to read. Equal when the codes are.
public struct SimulatorError: Error, Equatable, Sendable, CustomStringConvertible {
    public let code: Code
    /// One sentence: what is wrong and what to do about it.
    public let reason: String
    public let underlying: (any Error)?

    public init(_ code: Code, _ reason: String, underlying: (any Error)? = nil) {
        self.code = code
        self.reason = reason
        self.underlying = underlying
    }

    public var description: String { reason }

    public static func == (left: SimulatorError, right: SimulatorError) -> Bool { left.code == right.code }

    /// What went wrong, from an open list.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The data folder cannot be made or written.
        public static let dataFolder = Code(rawValue: "dataFolder")
        /// The data folder belongs to another bundle id.
        public static let otherBundle = Code(rawValue: "otherBundle")
        public static let malformed = Code(rawValue: "malformed")
        public static let unknownAccount = Code(rawValue: "unknownAccount")
        public static let accountExists = Code(rawValue: "accountExists")
        public static let unknownDevice = Code(rawValue: "unknownDevice")
        public static let unknownTransaction = Code(rawValue: "unknownTransaction")
        /// The account has no active subscription of that product.
        public static let unknownSubscription = Code(rawValue: "unknownSubscription")
        public static let unknownProduct = Code(rawValue: "unknownProduct")
        /// The simulator's table has no such country.
        public static let unknownStorefront = Code(rawValue: "unknownStorefront")
        public static let unknownFamily = Code(rawValue: "unknownFamily")
        public static let unknownMessage = Code(rawValue: "unknownMessage")
        /// The customer has begun no such purchase in the store, or a device has taken it.
        public static let unknownPromotedPurchase = Code(rawValue: "unknownPromotedPurchase")
        public static let unknownNotification = Code(rawValue: "unknownNotification")
        public static let unknownSetting = Code(rawValue: "unknownSetting")
        public static let familyExists = Code(rawValue: "familyExists")
        /// The account belongs to a family already.
        public static let inAnotherFamily = Code(rawValue: "inAnotherFamily")
        public static let notInFamily = Code(rawValue: "notInFamily")
        /// A family has at most six members.
        public static let familyFull = Code(rawValue: "familyFull")
        /// The plan is of another group than the subscription.
        public static let otherGroup = Code(rawValue: "otherGroup")
        /// The transaction is taken back already.
        public static let alreadyRevoked = Code(rawValue: "alreadyRevoked")
        public static let notRefunded = Code(rawValue: "notRefunded")
        /// The transaction does not wait for anybody.
        public static let notPending = Code(rawValue: "notPending")
        /// No higher price waits for this customer's answer.
        public static let nothingToAnswer = Code(rawValue: "nothingToAnswer")
        /// The form is right, the value is none that can be.
        public static let invalidValue = Code(rawValue: "invalidValue")
        /// The account has more transactions than one answer holds.
        public static let tooManyTransactions = Code(rawValue: "tooManyTransactions")
        /// What was asked for cannot be done as things stand.
        public static let notNow = Code(rawValue: "notNow")
    }
}
