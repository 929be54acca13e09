import Foundation
import StoreModel

extension StoreControlWire {
    /// A subscription in its present state, with its latest transaction and renewal info.
    public struct Subscription: Codable, Sendable, Equatable {
        /// The original transaction.
        public var originalTransactionID: TransactionID
        /// The latest transaction.
        public var transactionID: TransactionID
        /// The product of the current period.
        public var productID: ProductID
        /// The identifier of the subscription group.
        public var groupID: String
        /// The status of the subscription.
        public var status: Status
        /// The time at which the customer last subscribed anew.
        public var startedAt: Date
        /// The end of the current or last period.
        public var expiresAt: Date
        /// Whether the subscription renews.
        public var autoRenews: Bool
        /// The product of the next period, in a commitment of the period after it.
        public var renewsTo: ProductID
        /// The progress of a commitment that is billed monthly; `nil` without a commitment and in the time of an offer.
        public var commitment: Commitment?
        /// The end of the grace period, or `nil` outside of it.
        public var gracePeriodUntil: Date?
        /// The time until which the store repeats a failed payment.
        public var billingRetryUntil: Date?
        /// The date on which the store revoked the subscription.
        public var revokedAt: Date?
        /// The reason of the end: Apple's `expirationIntent`.
        public var expirationIntent: Int?
        /// The state of a price increase: `pending` or `agreed`.
        public var priceIncrease: String?
        /// The family member who bought the subscription, if that is another account.
        public var sharedBy: String?
        /// The latest transaction as a JWS.
        public var signedTransaction: String
        /// The renewal info as a JWS.
        public var signedRenewalInfo: String

        /// Creates a subscription.
        ///
        /// - Parameters:
        ///   - originalTransactionID: The original transaction.
        ///   - transactionID: The latest transaction.
        ///   - productID: The product of the current period.
        ///   - groupID: The identifier of the subscription group.
        ///   - status: The status of the subscription.
        ///   - startedAt: The time at which the customer last subscribed anew.
        ///   - expiresAt: The end of the current or last period.
        ///   - autoRenews: Whether the subscription renews.
        ///   - renewsTo: The product of the next period.
        ///   - commitment: The progress of a commitment that is billed monthly.
        ///   - gracePeriodUntil: The end of the grace period, or `nil` outside of it.
        ///   - billingRetryUntil: The time until which the store repeats a failed payment.
        ///   - revokedAt: The date on which the store revoked the subscription.
        ///   - expirationIntent: The reason of the end: Apple's `expirationIntent`.
        ///   - priceIncrease: The state of a price increase: `pending` or `agreed`.
        ///   - sharedBy: The family member who bought the subscription, if that is another account.
        ///   - signedTransaction: The latest transaction as a JWS.
        ///   - signedRenewalInfo: The renewal info as a JWS.
        public init(
            originalTransactionID: TransactionID, transactionID: TransactionID, productID: ProductID, groupID: String,
            status: Status, startedAt: Date, expiresAt: Date, autoRenews: Bool, renewsTo: ProductID,
            commitment: Commitment? = nil, gracePeriodUntil: Date? = nil, billingRetryUntil: Date? = nil,
            revokedAt: Date? = nil,
            expirationIntent: Int? = nil, priceIncrease: String? = nil, sharedBy: String? = nil,
            signedTransaction: String, signedRenewalInfo: String
        ) {
            self.originalTransactionID = originalTransactionID
            self.transactionID = transactionID
            self.productID = productID
            self.groupID = groupID
            self.status = status
            self.startedAt = startedAt
            self.expiresAt = expiresAt
            self.autoRenews = autoRenews
            self.renewsTo = renewsTo
            self.commitment = commitment
            self.gracePeriodUntil = gracePeriodUntil
            self.billingRetryUntil = billingRetryUntil
            self.revokedAt = revokedAt
            self.expirationIntent = expirationIntent
            self.priceIncrease = priceIncrease
            self.sharedBy = sharedBy
            self.signedTransaction = signedTransaction
            self.signedRenewalInfo = signedRenewalInfo
        }

        /// The progress of a commitment that is billed monthly.
        public struct Commitment: Codable, Sendable, Equatable {
            /// The number of the latest bill, counted from 1.
            public var bill: Int
            /// The number of all bills.
            public var billCount: Int
            /// The end of the commitment, if every bill is paid when it is due.
            public var endsAt: Date
            /// Whether another period follows the commitment.
            public var renews: Bool

            /// Creates the progress of a commitment.
            ///
            /// - Parameters:
            ///   - bill: The number of the latest bill, counted from 1.
            ///   - billCount: The number of all bills.
            ///   - endsAt: The end of the commitment, if every bill is paid when it is due.
            ///   - renews: Whether another period follows the commitment.
            public init(bill: Int, billCount: Int, endsAt: Date, renews: Bool) {
                self.bill = bill
                self.billCount = billCount
                self.endsAt = endsAt
                self.renews = renews
            }
        }

        /// Apple's five statuses of a subscription. The set is closed.
        public enum Status: String, Codable, Sendable, CaseIterable {
            case active, expired, billingRetry, gracePeriod, revoked
        }
    }

    package struct Subscriptions: Codable, Sendable, Equatable {
        package var subscriptions: [Subscription]
        package init(subscriptions: [Subscription]) { self.subscriptions = subscriptions }
    }

    /// A higher price: for new subscribers from now on, and for existing subscribers from their next renewal.
    package struct NewPrice: Codable, Sendable, Equatable {
        /// The price as a decimal string such as `5.99`, in the currency of the catalogue's storefront.
        package var price: String
        /// Whether a subscription ends if its customer does not agree. `true` by default.
        package var needsConsent: Bool?
        /// The billing plan whose price rises; for `monthly` the price is that of one bill. `upFront` by default.
        package var billingPlan: BillingPlan?
        package init(price: String, needsConsent: Bool? = nil, billingPlan: BillingPlan? = nil) {
            self.price = price
            self.needsConsent = needsConsent
            self.billingPlan = billingPlan
        }
    }

    package struct PriceIncrease: Codable, Sendable, Equatable {
        package var productID: ProductID
        package var at: Date
        package var price: Price
        package var needsConsent: Bool
        /// `nil` for the plan that is paid up front.
        package var billingPlan: BillingPlan?
        package init(
            productID: ProductID, at: Date, price: Price, needsConsent: Bool, billingPlan: BillingPlan? = nil
        ) {
            self.productID = productID
            self.at = at
            self.price = price
            self.needsConsent = needsConsent
            self.billingPlan = billingPlan
        }
    }

    package struct PriceIncreases: Codable, Sendable, Equatable {
        package var priceIncreases: [PriceIncrease]
        package init(priceIncreases: [PriceIncrease]) { self.priceIncreases = priceIncreases }
    }

    /// The customer's answer to a price increase.
    package struct PriceConsent: Codable, Sendable, Equatable {
        package var productID: ProductID
        package var agrees: Bool
        package init(productID: ProductID, agrees: Bool) {
            self.productID = productID
            self.agrees = agrees
        }
    }
}
