import Foundation
import StoreModel

extension StoreControlWire {
    /// A subscription as the store sees it now, with its latest transaction and renewal info.
    public struct Subscription: Codable, Sendable, Equatable {
        public var originalTransactionID: TransactionID
        /// Its latest transaction.
        public var transactionID: TransactionID
        public var productID: ProductID
        public var groupID: String
        public var status: Status
        /// When the customer last subscribed anew.
        public var startedAt: Date
        /// When the current period ends or ended.
        public var expiresAt: Date
        public var autoRenews: Bool
        public var renewsTo: ProductID
        /// The last instant of access that a failing payment leaves.
        public var gracePeriodUntil: Date?
        /// Until when payment is tried again.
        public var billingRetryUntil: Date?
        public var revokedAt: Date?
        /// Why it ended, Apple's `expirationIntent`.
        public var expirationIntent: Int?
        /// A higher price that the customer was told of: `pending` or `agreed`.
        public var priceIncrease: String?
        /// The account that bought it, where that is another of the family.
        public var sharedBy: String?
        public var signedTransaction: String
        public var signedRenewalInfo: String

        public init(
            originalTransactionID: TransactionID, transactionID: TransactionID, productID: ProductID, groupID: String,
            status: Status, startedAt: Date, expiresAt: Date, autoRenews: Bool, renewsTo: ProductID,
            gracePeriodUntil: Date? = nil, billingRetryUntil: Date? = nil, revokedAt: Date? = nil,
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
            self.gracePeriodUntil = gracePeriodUntil
            self.billingRetryUntil = billingRetryUntil
            self.revokedAt = revokedAt
            self.expirationIntent = expirationIntent
            self.priceIncrease = priceIncrease
            self.sharedBy = sharedBy
            self.signedTransaction = signedTransaction
            self.signedRenewalInfo = signedRenewalInfo
        }

        /// Closed: Apple's five states of a subscription.
        public enum Status: String, Codable, Sendable, CaseIterable {
            case active, expired, billingRetry, gracePeriod, revoked
        }
    }

    package struct Subscriptions: Codable, Sendable, Equatable {
        package var subscriptions: [Subscription]
        package init(subscriptions: [Subscription]) { self.subscriptions = subscriptions }
    }

    /// A higher price for those who subscribe already, from now on.
    package struct NewPrice: Codable, Sendable, Equatable {
        /// A decimal text such as `5.99`, in the currency of the catalogue's storefront.
        package var price: String
        /// Whether a subscription whose customer does not agree ends; `true` unless given.
        package var needsConsent: Bool?
        package init(price: String, needsConsent: Bool? = nil) {
            self.price = price
            self.needsConsent = needsConsent
        }
    }

    package struct PriceIncrease: Codable, Sendable, Equatable {
        package var productID: ProductID
        package var at: Date
        package var price: Price
        package var needsConsent: Bool
        package init(productID: ProductID, at: Date, price: Price, needsConsent: Bool) {
            self.productID = productID
            self.at = at
            self.price = price
            self.needsConsent = needsConsent
        }
    }

    package struct PriceIncreases: Codable, Sendable, Equatable {
        package var priceIncreases: [PriceIncrease]
        package init(priceIncreases: [PriceIncrease]) { self.priceIncreases = priceIncreases }
    }

    /// The customer's answer to a higher price.
    package struct PriceConsent: Codable, Sendable, Equatable {
        package var productID: ProductID
        package var agrees: Bool
        package init(productID: ProductID, agrees: Bool) {
            self.productID = productID
            self.agrees = agrees
        }
    }
}
