import Primitives

/// An error of the simulator: a code for programs and a sentence for people. Two errors are equal if their
/// codes are equal.
public struct SimulatorError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The code.
    public let code: Code
    /// A sentence that says what is wrong and what to do.
    public let reason: String
    /// The error that caused this one.
    public let underlying: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The code.
    ///   - reason: A sentence that says what is wrong and what to do.
    ///   - underlying: The error that caused this one.
    public init(_ code: Code, _ reason: String, underlying: (any Error)? = nil) {
        self.code = code
        self.reason = reason
        self.underlying = underlying
    }

    public var description: String { reason }

    public static func == (left: SimulatorError, right: SimulatorError) -> Bool { left.code == right.code }

    /// The code of an error. The set is open.
    public typealias Code = OpenEnum<SimulatorError>
}

extension SimulatorError.Code {
    /// The data folder cannot be created or written, or the content folder does not exist.
    public static var dataFolder: Self { Self(rawValue: "dataFolder") }
    /// The data folder or the state belongs to another bundle id.
    public static var otherBundle: Self { Self(rawValue: "otherBundle") }
    /// The request is malformed.
    public static var malformed: Self { Self(rawValue: "malformed") }
    /// The account does not exist.
    public static var unknownAccount: Self { Self(rawValue: "unknownAccount") }
    /// The account exists already.
    public static var accountExists: Self { Self(rawValue: "accountExists") }
    /// The device does not exist, is signed out, or is signed in to another account.
    public static var unknownDevice: Self { Self(rawValue: "unknownDevice") }
    /// The transaction does not exist.
    public static var unknownTransaction: Self { Self(rawValue: "unknownTransaction") }
    /// The account has no running subscription of that product that it pays for itself.
    public static var unknownSubscription: Self { Self(rawValue: "unknownSubscription") }
    /// The product is not in the catalogue, or does not fit the request.
    public static var unknownProduct: Self { Self(rawValue: "unknownProduct") }
    /// The simulator does not know the country.
    public static var unknownStorefront: Self { Self(rawValue: "unknownStorefront") }
    /// The family does not exist.
    public static var unknownFamily: Self { Self(rawValue: "unknownFamily") }
    /// The message does not exist, or was answered.
    public static var unknownMessage: Self { Self(rawValue: "unknownMessage") }
    /// The promoted purchase does not exist, or a device has taken it.
    public static var unknownPromotedPurchase: Self { Self(rawValue: "unknownPromotedPurchase") }
    /// The notification does not exist.
    public static var unknownNotification: Self { Self(rawValue: "unknownNotification") }
    /// The batch of offer codes does not exist.
    public static var unknownOfferCodes: Self { Self(rawValue: "unknownOfferCodes") }
    /// The purchase on Google Play does not exist.
    public static var unknownPurchase: Self { Self(rawValue: "unknownPurchase") }
    /// The setting does not exist.
    public static var unknownSetting: Self { Self(rawValue: "unknownSetting") }
    /// The family exists already.
    public static var familyExists: Self { Self(rawValue: "familyExists") }
    /// The account belongs to a family already.
    public static var inAnotherFamily: Self { Self(rawValue: "inAnotherFamily") }
    /// The account is not in that family.
    public static var notInFamily: Self { Self(rawValue: "notInFamily") }
    /// The family already has six members.
    public static var familyFull: Self { Self(rawValue: "familyFull") }
    /// The plan is in another group than the subscription.
    public static var otherGroup: Self { Self(rawValue: "otherGroup") }
    /// The transaction is already revoked.
    public static var alreadyRevoked: Self { Self(rawValue: "alreadyRevoked") }
    /// The transaction is not refunded.
    public static var notRefunded: Self { Self(rawValue: "notRefunded") }
    /// The transaction does not wait for approval or resolution.
    public static var notPending: Self { Self(rawValue: "notPending") }
    /// No price increase waits for this customer's answer.
    public static var nothingToAnswer: Self { Self(rawValue: "nothingToAnswer") }
    /// The value has the right form but is invalid.
    public static var invalidValue: Self { Self(rawValue: "invalidValue") }
    /// The account has more transactions than one answer can hold.
    public static var tooManyTransactions: Self { Self(rawValue: "tooManyTransactions") }
    /// The request is not possible in the present state.
    public static var notNow: Self { Self(rawValue: "notNow") }
}
