import Primitives

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
    public typealias Code = OpenEnum<SimulatorError>
}

extension SimulatorError.Code {
    /// The data folder cannot be made or written.
    public static var dataFolder: Self { Self(rawValue: "dataFolder") }
    /// The data folder belongs to another bundle id.
    public static var otherBundle: Self { Self(rawValue: "otherBundle") }
    public static var malformed: Self { Self(rawValue: "malformed") }
    public static var unknownAccount: Self { Self(rawValue: "unknownAccount") }
    public static var accountExists: Self { Self(rawValue: "accountExists") }
    public static var unknownDevice: Self { Self(rawValue: "unknownDevice") }
    public static var unknownTransaction: Self { Self(rawValue: "unknownTransaction") }
    /// The account has no active subscription of that product.
    public static var unknownSubscription: Self { Self(rawValue: "unknownSubscription") }
    public static var unknownProduct: Self { Self(rawValue: "unknownProduct") }
    /// The simulator's table has no such country.
    public static var unknownStorefront: Self { Self(rawValue: "unknownStorefront") }
    public static var unknownFamily: Self { Self(rawValue: "unknownFamily") }
    public static var unknownMessage: Self { Self(rawValue: "unknownMessage") }
    /// The customer has begun no such purchase in the store, or a device has taken it.
    public static var unknownPromotedPurchase: Self { Self(rawValue: "unknownPromotedPurchase") }
    public static var unknownNotification: Self { Self(rawValue: "unknownNotification") }
    public static var unknownSetting: Self { Self(rawValue: "unknownSetting") }
    public static var familyExists: Self { Self(rawValue: "familyExists") }
    /// The account belongs to a family already.
    public static var inAnotherFamily: Self { Self(rawValue: "inAnotherFamily") }
    public static var notInFamily: Self { Self(rawValue: "notInFamily") }
    /// A family has at most six members.
    public static var familyFull: Self { Self(rawValue: "familyFull") }
    /// The plan is of another group than the subscription.
    public static var otherGroup: Self { Self(rawValue: "otherGroup") }
    /// The transaction is taken back already.
    public static var alreadyRevoked: Self { Self(rawValue: "alreadyRevoked") }
    public static var notRefunded: Self { Self(rawValue: "notRefunded") }
    /// The transaction does not wait for anybody.
    public static var notPending: Self { Self(rawValue: "notPending") }
    /// No higher price waits for this customer's answer.
    public static var nothingToAnswer: Self { Self(rawValue: "nothingToAnswer") }
    /// The form is right, the value is none that can be.
    public static var invalidValue: Self { Self(rawValue: "invalidValue") }
    /// The account has more transactions than one answer holds.
    public static var tooManyTransactions: Self { Self(rawValue: "tooManyTransactions") }
    /// What was asked for cannot be done as things stand.
    public static var notNow: Self { Self(rawValue: "notNow") }
}
