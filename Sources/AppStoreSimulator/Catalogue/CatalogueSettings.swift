import Primitives
import StoreModel

/// How a catalogue wants its store to behave: what Xcode's *Editor* menu sets. Everything is off, and time is real, in
/// a file that does not say otherwise.
package struct CatalogueSettings: Sendable, Hashable {
    /// ISO 3166-1 alpha-3, as the file has it; `nil` means the USA.
    package var storefront: String?
    package var locale: String?
    package var timeRate = Rate.realTime
    /// Every purchase waits for somebody's approval.
    package var asksToBuy = false
    /// A purchase is interrupted until the customer has settled something with the store (`_billingIssuesEnabled`).
    package var interruptsPurchases = false
    /// No renewal can be paid (`_renewalBillingIssuesEnabled`).
    package var failsRenewals = false
    /// Access goes on for a while when a renewal cannot be paid. `GracePeriod` says how long: the file does not.
    package var allowsGracePeriod = false
    /// Every transaction fails with `transactionError` (until version 2; `simulatedErrors` since).
    package var failsTransactions = false
    /// `nil` when the file names none, which is an unknown error.
    package var transactionError: TransactionError?
    /// Errors that the store answers with, by the API that is called.
    package var simulatedErrors: [SimulatedFailure] = []
    /// The store asks no questions of whoever buys.
    package var hidesDialogs = false
    /// Of a file that App Store Connect filled.
    package var developerTeamID: String?
    package var applicationInternalID: String?

    package init() {}

    /// The failure that is switched on for `api`.
    package func failure(of api: SimulatedFailure.API) -> SimulatedFailure? {
        simulatedErrors.first { $0.api == api && $0.isEnabled }
    }
}

extension CatalogueSettings {
    /// An API that Xcode can make fail (`_storeKitErrors`).
    package struct SimulatedFailure: Sendable, Hashable {
        package var api: API
        package var isEnabled: Bool
        /// Which error; `nil` when none has been chosen, which is an unknown error.
        package var error: Choice?

        package init(api: API, isEnabled: Bool, error: Choice? = nil) {
            self.api = api
            self.isEnabled = isEnabled
            self.error = error
        }

        /// Raw values are the file's. An open set: an unknown one is kept.
        package struct API: RawRepresentable, Hashable, Sendable, Codable {
            package let rawValue: String
            package init(rawValue: String) { self.rawValue = rawValue }

            package static let loadProducts = API(rawValue: "Load Products")
            package static let purchase = API(rawValue: "Purchase")
            package static let verification = API(rawValue: "Verification")
            package static let sync = API(rawValue: "App Store Sync")
            package static let subscriptionStatus = API(rawValue: "Subscription Status")
            package static let appTransaction = API(rawValue: "App Transaction")
            package static let manageSubscriptions = API(rawValue: "Manage Subscriptions Sheet")
            package static let refundRequest = API(rawValue: "Refund Request Sheet")
            package static let offerCodeRedeem = API(rawValue: "Offer Code Redeem Sheet")

            package static let all: [API] = [
                .loadProducts, .purchase, .verification, .sync, .subscriptionStatus, .appTransaction,
                .manageSubscriptions, .refundRequest, .offerCodeRedeem,
            ]
        }

        /// An error as the file has it: a family of errors, and a place in Xcode's list of that family.
        package struct Choice: Sendable, Hashable {
            /// `generic`, `purchase` or `verification`.
            package var family: String
            package var index: Int

            package init(family: String, index: Int) {
                self.family = family
                self.index = index
            }
        }
    }

    /// How transactions fail (`_storeKitError`). Raw values are those of Apple's `SKError.Code`; an open set.
    package struct TransactionError: RawRepresentable, Hashable, Sendable, Codable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let unknown = TransactionError(rawValue: 0)
        package static let invalidOfferIdentifier = TransactionError(rawValue: 11)
        package static let invalidSignature = TransactionError(rawValue: 12)
        package static let missingOfferParameters = TransactionError(rawValue: 13)
        package static let invalidOfferPrice = TransactionError(rawValue: 14)

        /// Those with which Xcode can make a transaction fail.
        package static let all: [TransactionError] = [
            .unknown, .invalidOfferIdentifier, .invalidSignature, .missingOfferParameters, .invalidOfferPrice,
        ]
    }

    /// How fast subscriptions renew. Raw values are those of Apple's `SKTestSession.TimeRate`.
    package struct Rate: RawRepresentable, Hashable, Sendable, Codable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let realTime = Rate(rawValue: 0)

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

        package var isKnown: Bool { Self.known.keys.contains(rawValue) }

        /// The simulator's rate of that name or speed; `nil` when it has none.
        package var simulated: TimeRate? {
            Self.known[rawValue].flatMap(\.self).flatMap { TimeRate($0) }
        }
    }
}

/// How long access goes on after a renewal that could not be paid. App Store Connect offers three lengths, of which the
/// longer two are six days for a weekly subscription; Xcode's is always the second.
package enum GracePeriod: Int, Sendable, Hashable, Codable, CaseIterable {
    case threeDays = 3
    case sixteenDays = 16
    case twentyEightDays = 28

    /// What Xcode's store uses.
    package static let xcode = GracePeriod.sixteenDays

    /// Days of grace for a subscription that renews every `period`.
    package func days(for period: SubscriptionPeriod) -> Int {
        let isWeekly = period == .weeks(1) || period == .days(7)
        return isWeekly ? min(rawValue, 6) : rawValue
    }
}
