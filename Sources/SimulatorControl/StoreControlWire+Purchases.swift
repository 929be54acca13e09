import Foundation
import Primitives
import StoreModel

extension StoreControlWire {
    package struct Buy: Codable, Sendable, Equatable {
        package var productID: ProductID
        /// The number of units. 1 by default.
        package var quantity: Int?
        package var offerID: String?
        /// The kind of the offer. By default, the promotional or else the win-back offer with the identifier is used.
        package var offerKind: PaymentOffer.Kind?
        /// The billing plan of a subscription. `upFront` by default.
        package var billingPlan: BillingPlan?
        /// Whether an eligible customer gets the introductory offer. True by default.
        package var allowsIntroductoryOffer: Bool?
        package var appAccountToken: UUID?
        /// Whether this purchase waits for an approval even if Ask to Buy is off for the account.
        package var simulatesAskToBuy: Bool?
        /// The device that pays, or `nil` for a purchase outside of the app.
        package var deviceID: String?

        package init(
            productID: ProductID, quantity: Int? = nil, offerID: String? = nil, offerKind: PaymentOffer.Kind? = nil,
            billingPlan: BillingPlan? = nil, allowsIntroductoryOffer: Bool? = nil, appAccountToken: UUID? = nil,
            simulatesAskToBuy: Bool? = nil,
            deviceID: String? = nil
        ) {
            self.productID = productID
            self.quantity = quantity
            self.offerID = offerID
            self.offerKind = offerKind
            self.billingPlan = billingPlan
            self.allowsIntroductoryOffer = allowsIntroductoryOffer
            self.appAccountToken = appAccountToken
            self.simulatesAskToBuy = simulatesAskToBuy
            self.deviceID = deviceID
        }
    }

    /// Whether a subscription is paid at once, or each month with a commitment. The set is closed.
    package enum BillingPlan: String, Codable, Sendable, CaseIterable { case upFront, monthly }

    /// A product that the customer taps on the app's page in the App Store.
    package struct Promotion: Codable, Sendable, Equatable {
        package var productID: ProductID
        /// The win-back offer that the store shows with the product.
        package var offerID: String?
        package init(productID: ProductID, offerID: String? = nil) {
            self.productID = productID
            self.offerID = offerID
        }
    }

    /// A code to redeem: the identifier of an offer in the catalogue, or `PRODUCT:OFFER`.
    package struct Redeem: Codable, Sendable, Equatable {
        package var code: String
        /// The product of the offer, if several products have an offer with this identifier.
        package var productID: ProductID?
        package var appAccountToken: UUID?
        package init(code: String, productID: ProductID? = nil, appAccountToken: UUID? = nil) {
            self.code = code
            self.productID = productID
            self.appAccountToken = appAccountToken
        }
    }

    /// Identifies a subscription of an account by its current or next product.
    package struct OfProduct: Codable, Sendable, Equatable {
        package var productID: ProductID
        package init(productID: ProductID) { self.productID = productID }
    }

    /// Turns renewal on again.
    package struct Resume: Codable, Sendable, Equatable {
        package var productID: ProductID
        /// The product of the next period, from the same group; `nil` keeps the present one.
        package var renewsTo: ProductID?
        /// The billing plan of the next period; `nil` keeps that of the product.
        package var billingPlan: BillingPlan?
        package init(productID: ProductID, renewsTo: ProductID? = nil, billingPlan: BillingPlan? = nil) {
            self.productID = productID
            self.renewsTo = renewsTo
            self.billingPlan = billingPlan
        }
    }

    package struct Refund: Codable, Sendable, Equatable {
        /// The reason. `other` by default.
        package var reason: Reason?
        /// The refunded part of the price in percent, rounded to three decimals: Apple's `REFUND_PRORATED`. Without it
        /// the whole price is refunded: Apple's `REFUND_FULL`.
        package var percentage: Double?
        /// The number of seats that are refunded, while the others stay valid.
        package var seats: Int?

        package init(reason: Reason? = nil, percentage: Double? = nil, seats: Int? = nil) {
            self.reason = reason
            self.percentage = percentage
            self.seats = seats
        }

        /// Apple's `revocationReason` 0 and 1. The set is closed.
        package enum Reason: String, Codable, Sendable, CaseIterable { case other, appIssue }
    }

    /// A refund request of a customer.
    package struct RefundRequest: Codable, Sendable, Equatable {
        /// The reason. `other` by default.
        package var reason: Reason?
        package init(reason: Reason? = nil) { self.reason = reason }

        /// Apple's `consumptionRequestReason`. The set is closed.
        package enum Reason: String, Codable, Sendable, CaseIterable {
            case unintendedPurchase, fulfillmentIssue, unsatisfiedWithPurchase, legal, other
        }
    }

    /// The decision about a purchase that waits for an approval.
    package struct AskToBuy: Codable, Sendable, Equatable {
        package var decision: Decision
        package init(decision: Decision) { self.decision = decision }

        /// The two decisions. The set is closed.
        package enum Decision: String, Codable, Sendable, CaseIterable { case approve, decline }
    }

    /// A transaction, signed in its present state, as `souk store buy --json` prints it.
    public struct Transaction: Codable, Sendable, Equatable {
        /// The identifier of the transaction.
        public var transactionID: TransactionID
        /// The original transaction.
        public var originalTransactionID: TransactionID
        /// The product.
        public var productID: ProductID
        /// The state. A purchase is `purchased`, `expired` or `revoked`. An order that was not sold is `deferred`
        /// (Ask to Buy), `interrupted` or `declined`.
        public var state: String
        /// The signed transaction, or an empty string for an order that was not sold.
        public var signedTransaction: String
        /// The signed renewal info of a subscription.
        public var signedRenewalInfo: String?
        /// The date of the purchase or renewal.
        public var purchaseDate: Date?
        /// The end of the subscription period, exclusive.
        public var expiresDate: Date?
        /// The date on which the store revoked the purchase.
        public var revocationDate: Date?
        /// The id of the order for a look-up with the App Store Server API, or `nil` for an order that was not sold and
        /// for a family member's share.
        public var orderID: String?
        /// The retention message that the customer saw; only in the answer to a cancellation.
        public var retentionMessage: RetentionMessage?

        /// Creates a transaction.
        ///
        /// - Parameters:
        ///   - transactionID: The identifier of the transaction.
        ///   - originalTransactionID: The original transaction.
        ///   - productID: The product.
        ///   - state: The state. A purchase is `purchased`, `expired` or `revoked`. An order that was not sold is
        ///     `deferred` (Ask to Buy), `interrupted` or `declined`.
        ///   - signedTransaction: The signed transaction, or an empty string for an order that was not sold.
        ///   - signedRenewalInfo: The signed renewal info of a subscription.
        ///   - purchaseDate: The date of the purchase or renewal.
        ///   - expiresDate: The end of the subscription period, exclusive.
        ///   - revocationDate: The date on which the store revoked the purchase.
        ///   - orderID: The id of the order for a look-up with the App Store Server API, or `nil` for an order that was
        ///     not sold and for a family member's share.
        ///   - retentionMessage: The retention message that the customer saw.
        public init(
            transactionID: TransactionID, originalTransactionID: TransactionID, productID: ProductID, state: String,
            signedTransaction: String, signedRenewalInfo: String? = nil, purchaseDate: Date? = nil,
            expiresDate: Date? = nil, revocationDate: Date? = nil, orderID: String? = nil,
            retentionMessage: RetentionMessage? = nil
        ) {
            self.transactionID = transactionID
            self.originalTransactionID = originalTransactionID
            self.productID = productID
            self.state = state
            self.signedTransaction = signedTransaction
            self.signedRenewalInfo = signedRenewalInfo
            self.purchaseDate = purchaseDate
            self.expiresDate = expiresDate
            self.revocationDate = revocationDate
            self.orderID = orderID
            self.retentionMessage = retentionMessage
        }
    }

    package struct Transactions: Codable, Sendable, Equatable {
        package var transactions: [Transaction]
        package init(transactions: [Transaction]) { self.transactions = transactions }
    }

    /// The latest consumption information that the app's server sent about a transaction.
    package struct Consumption: Codable, Sendable, Equatable {
        package var transactionID: TransactionID
        /// The time at which the server sent the information. This and the following values are missing until then.
        package var sentAt: Date?
        /// The version of Apple's Send Consumption Information: 1 or 2.
        package var version: Int?
        /// The information, unchanged.
        package var information: JSONValue?

        package init(
            transactionID: TransactionID, sentAt: Date? = nil, version: Int? = nil, information: JSONValue? = nil
        ) {
            self.transactionID = transactionID
            self.sentAt = sentAt
            self.version = version
            self.information = information
        }
    }

    /// A purchase that waits for an approval or for an action of the customer at the store.
    public struct PendingOrder: Codable, Sendable, Equatable {
        /// The identifier that the transaction of this order will have.
        public var transactionID: TransactionID
        /// The account that buys.
        public var account: String
        /// The product.
        public var productID: ProductID
        /// The number of units.
        public var quantity: Int
        /// The state: `deferred` or `interrupted`.
        public var state: String
        /// The time of the order.
        public var orderedAt: Date

        /// Creates a pending order.
        ///
        /// - Parameters:
        ///   - transactionID: The identifier that the transaction of this order will have.
        ///   - account: The account that buys.
        ///   - productID: The product.
        ///   - quantity: The number of units.
        ///   - state: The state: `deferred` or `interrupted`.
        ///   - orderedAt: The time of the order.
        public init(
            transactionID: TransactionID, account: String, productID: ProductID, quantity: Int, state: String,
            orderedAt: Date
        ) {
            self.transactionID = transactionID
            self.account = account
            self.productID = productID
            self.quantity = quantity
            self.state = state
            self.orderedAt = orderedAt
        }
    }

    package struct PendingOrders: Codable, Sendable, Equatable {
        package var orders: [PendingOrder]
        package init(orders: [PendingOrder]) { self.orders = orders }
    }
}
