import Primitives
import StoreModel

/// The settings of a catalogue for its store, as Xcode's *Editor* menu sets them. By default everything is off, and
/// time runs at real speed.
package struct CatalogueSettings: Sendable, Hashable {
    /// The country as an ISO 3166-1 alpha-3 code; `nil` means the USA.
    package var storefront: String?
    package var locale: String?
    package var timeRate = Rate.realTime
    /// Whether every purchase waits for approval.
    package var asksToBuy = false
    /// Whether a purchase is interrupted until the customer has resolved a problem with the store
    /// (`_billingIssuesEnabled`).
    package var interruptsPurchases = false
    /// Whether the payment of every renewal fails (`_renewalBillingIssuesEnabled`).
    package var failsRenewals = false
    /// Whether access continues for a grace period after the payment of a renewal failed. The file does not have its
    /// length; see `GracePeriod`.
    package var allowsGracePeriod = false
    /// Whether every transaction fails with `transactionError` (up to version 2; later versions have
    /// `simulatedErrors`).
    package var failsTransactions = false
    /// The error of failing transactions; `nil` means an unknown error.
    package var transactionError: TransactionError?
    /// The APIs that can fail, each with its error and a switch.
    package var simulatedErrors: [SimulatedFailure] = []
    /// Whether a purchase needs no confirmation by the customer.
    package var hidesDialogs = false
    /// The developer team, in a file that is synchronized with App Store Connect.
    package var developerTeamID: String?
    package var applicationInternalID: String?

    package init() {}

    /// Returns the failure of `api` that is switched on.
    package func failure(of api: SimulatedFailure.API) -> SimulatedFailure? {
        simulatedErrors.first { $0.api == api && $0.isEnabled }
    }
}

extension CatalogueSettings {
    /// An API that Xcode can make fail (`_storeKitErrors`).
    package struct SimulatedFailure: Sendable, Hashable {
        package var api: API
        package var isEnabled: Bool
        /// The chosen error; `nil` means an unknown error.
        package var error: Choice?

        package init(api: API, isEnabled: Bool, error: Choice? = nil) {
            self.api = api
            self.isEnabled = isEnabled
            self.error = error
        }

        /// The name of an API. Raw values are those of the file. An open set: unknown values are kept.
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

        /// An error in the file: a family of errors, and an index in Xcode's list of that family.
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

    /// An error of transactions (`_storeKitError`). Raw values are those of Apple's `SKError.Code`. An open set.
    package struct TransactionError: RawRepresentable, Hashable, Sendable, Codable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let unknown = TransactionError(rawValue: 0)
        package static let invalidOfferIdentifier = TransactionError(rawValue: 11)
        package static let invalidSignature = TransactionError(rawValue: 12)
        package static let missingOfferParameters = TransactionError(rawValue: 13)
        package static let invalidOfferPrice = TransactionError(rawValue: 14)

        /// The errors that Xcode offers for transactions.
        package static let all: [TransactionError] = [
            .unknown, .invalidOfferIdentifier, .invalidSignature, .missingOfferParameters, .invalidOfferPrice,
        ]
    }

    /// A renewal rate. Raw values are those of Apple's `SKTestSession.TimeRate`.
    package struct Rate: RawRepresentable, Hashable, Sendable, Codable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let realTime = Rate(rawValue: 0)

        /// Every rate that Xcode has had, and the simulator's rate at which a month takes the same time; `nil` for none.
        ///
        /// 1 to 6 are an hour, half an hour, 5 min, 1 min, 30 s and 1 s for a day (Xcode until 13.1). 10 to 13 and 15
        /// are an hour, half an hour, 15 min, 5 min and 30 s for a month. 1000 to 1005 are 15 min, 5 min, 1 min, 30 s,
        /// 10 s and 2 s for any period.
        static let known: [Int: String?] = [
            0: "real",
            1: nil, 2: nil, 3: nil, 4: nil, 5: "15m", 6: "30s",
            10: nil, 11: nil, 12: "15m", 13: "5m", 15: "monthly-30s",
            1000: "15m", 1001: "5m", 1002: "1m", 1003: "30s", 1004: "10s", 1005: "2s",
        ]

        package var isKnown: Bool { Self.known.keys.contains(rawValue) }

        /// The simulator's rate at which a month takes the same time; `nil` if the simulator has none.
        package var simulated: TimeRate? {
            Self.known[rawValue].flatMap(\.self).flatMap { TimeRate($0) }
        }
    }
}

/// The length of the grace period after a failed renewal. App Store Connect offers three lengths; for a weekly
/// subscription the longer two are limited to six days. Xcode always uses 16 days.
package enum GracePeriod: Int, Sendable, Hashable, Codable, CaseIterable {
    case threeDays = 3
    case sixteenDays = 16
    case twentyEightDays = 28

    /// The grace period of Xcode's store.
    package static let xcode = GracePeriod.sixteenDays

    /// Returns the days of grace for a subscription that renews every `period`.
    package func days(for period: SubscriptionPeriod) -> Int {
        let isWeekly = period == .weeks(1) || period == .days(7)
        return isWeekly ? min(rawValue, 6) : rawValue
    }
}
