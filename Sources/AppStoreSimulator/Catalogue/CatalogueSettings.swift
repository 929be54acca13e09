import Primitives
import StoreModel

/// How a catalogue wants its store to behave: what Xcode's *Editor* menu sets. Everything is off, and time is real, in
/// a file that does not say otherwise.
public struct CatalogueSettings: Sendable, Hashable {
    /// ISO 3166-1 alpha-3, as the file has it; `nil` means the USA.
    public var storefront: String?
    public var locale: String?
    public var timeRate = Rate.realTime
    /// Every purchase waits for somebody's approval.
    public var asksToBuy = false
    /// A purchase is interrupted until the customer has settled something with the store (`_billingIssuesEnabled`).
    public var interruptsPurchases = false
    /// No renewal can be paid (`_renewalBillingIssuesEnabled`).
    public var failsRenewals = false
    /// Access goes on for a while when a renewal cannot be paid. `GracePeriod` says how long: the file does not.
    public var allowsGracePeriod = false
    /// Every transaction fails with `transactionError` (until version 2; `simulatedErrors` since).
    public var failsTransactions = false
    /// `nil` when the file names none, which is an unknown error.
    public var transactionError: TransactionError?
    /// Errors that the store answers with, by the API that is called.
    public var simulatedErrors: [SimulatedFailure] = []
    /// The store asks no questions of whoever buys.
    public var hidesDialogs = false
    /// Of a file that App Store Connect filled.
    public var developerTeamID: String?
    public var applicationInternalID: String?

    public init() {}

    /// The failure that is switched on for `api`.
    public func failure(of api: SimulatedFailure.API) -> SimulatedFailure? {
        simulatedErrors.first { $0.api == api && $0.isEnabled }
    }
}

extension CatalogueSettings {
    /// An API that Xcode can make fail (`_storeKitErrors`).
    public struct SimulatedFailure: Sendable, Hashable {
        public var api: API
        public var isEnabled: Bool
        /// Which error; `nil` when none has been chosen, which is an unknown error.
        public var error: Choice?

        public init(api: API, isEnabled: Bool, error: Choice? = nil) {
            self.api = api
            self.isEnabled = isEnabled
            self.error = error
        }

        /// Raw values are the file's. An open set: an unknown one is kept.
        public struct API: RawRepresentable, Hashable, Sendable, Codable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            public static let loadProducts = API(rawValue: "Load Products")
            public static let purchase = API(rawValue: "Purchase")
            public static let verification = API(rawValue: "Verification")
            public static let sync = API(rawValue: "App Store Sync")
            public static let subscriptionStatus = API(rawValue: "Subscription Status")
            public static let appTransaction = API(rawValue: "App Transaction")
            public static let manageSubscriptions = API(rawValue: "Manage Subscriptions Sheet")
            public static let refundRequest = API(rawValue: "Refund Request Sheet")
            public static let offerCodeRedeem = API(rawValue: "Offer Code Redeem Sheet")

            public static let all: [API] = [
                .loadProducts, .purchase, .verification, .sync, .subscriptionStatus, .appTransaction,
                .manageSubscriptions, .refundRequest, .offerCodeRedeem,
            ]
        }

        /// An error as the file has it: a family of errors, and a place in Xcode's list of that family.
        public struct Choice: Sendable, Hashable {
            /// `generic`, `purchase` or `verification`.
            public var family: String
            public var index: Int

            public init(family: String, index: Int) {
                self.family = family
                self.index = index
            }
        }
    }

    /// How transactions fail (`_storeKitError`). Raw values are those of Apple's `SKError.Code`; an open set.
    public struct TransactionError: RawRepresentable, Hashable, Sendable, Codable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let unknown = TransactionError(rawValue: 0)
        public static let invalidOfferIdentifier = TransactionError(rawValue: 11)
        public static let invalidSignature = TransactionError(rawValue: 12)
        public static let missingOfferParameters = TransactionError(rawValue: 13)
        public static let invalidOfferPrice = TransactionError(rawValue: 14)

        /// Those with which Xcode can make a transaction fail.
        public static let all: [TransactionError] = [
            .unknown, .invalidOfferIdentifier, .invalidSignature, .missingOfferParameters, .invalidOfferPrice,
        ]
    }

    /// How fast subscriptions renew. Raw values are those of Apple's `SKTestSession.TimeRate`.
    public struct Rate: RawRepresentable, Hashable, Sendable, Codable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let realTime = Rate(rawValue: 0)

        /// Every rate Xcode has had, and the simulator's of the same speed, where there is one.
        static let known: [Int: String?] = [
            0: "real",
            // An hour, half an hour, five minutes, a minute, 30 seconds, a second for a day (Xcode until 13.1).
            1: nil, 2: nil, 3: nil, 4: nil, 5: "15m", 6: "30s",
            // An hour, half an hour, 15 minutes, 5 minutes, 30 seconds for a month.
            10: nil, 11: nil, 12: "15m", 13: "5m", 15: "monthly-30s",
            // 15 minutes, 5 minutes, a minute, 30, 10, 2 seconds for any period.
            1000: "15m", 1001: "5m", 1002: "1m", 1003: "30s", 1004: "10s", 1005: "2s",
        ]

        public var isKnown: Bool { Self.known.keys.contains(rawValue) }

        /// The simulator's rate of that name or speed; `nil` when it has none.
        public var simulated: TimeRate? {
            Self.known[rawValue].flatMap(\.self).flatMap { TimeRate($0) }
        }
    }
}

/// How long access goes on after a renewal that could not be paid. App Store Connect offers three lengths, of which the
/// longer two are six days for a weekly subscription; Xcode's is always the second.
public enum GracePeriod: Int, Sendable, Hashable, Codable, CaseIterable {
    case threeDays = 3
    case sixteenDays = 16
    case twentyEightDays = 28

    /// What Xcode's store uses.
    public static let xcode = GracePeriod.sixteenDays

    /// Days of grace for a subscription that renews every `period`.
    public func days(for period: SubscriptionPeriod) -> Int {
        let isWeekly = period == .weeks(1) || period == .days(7)
        return isWeekly ? min(rawValue, 6) : rawValue
    }
}
