import Foundation
import Primitives
import StoreModel

extension StoreControlWire {
    package struct Buy: Codable, Sendable, Equatable {
        package var productID: ProductID
        /// 1 unless given.
        package var quantity: Int?
        package var offerID: String?
        /// Of what kind the offer is; `promotional` unless given.
        package var offerKind: PaymentOffer.Kind?
        package var appAccountToken: UUID?
        /// This purchase waits for approval, whatever the account's own setting.
        package var simulatesAskToBuy: Bool?

        package init(
            productID: ProductID, quantity: Int? = nil, offerID: String? = nil, offerKind: PaymentOffer.Kind? = nil,
            appAccountToken: UUID? = nil, simulatesAskToBuy: Bool? = nil
        ) {
            self.productID = productID
            self.quantity = quantity
            self.offerID = offerID
            self.offerKind = offerKind
            self.appAccountToken = appAccountToken
            self.simulatesAskToBuy = simulatesAskToBuy
        }
    }

    /// A product that the customer taps on the app's page in the store.
    package struct Promotion: Codable, Sendable, Equatable {
        package var productID: ProductID
        /// The win-back offer that the store shows with it.
        package var offerID: String?
        package init(productID: ProductID, offerID: String? = nil) {
            self.productID = productID
            self.offerID = offerID
        }
    }

    /// An offer code: the identifier of a code offer of the catalogue.
    package struct Redeem: Codable, Sendable, Equatable {
        package var code: String
        /// The product whose offer it is, where several have one of that identifier.
        package var productID: ProductID?
        package var appAccountToken: UUID?
        package init(code: String, productID: ProductID? = nil, appAccountToken: UUID? = nil) {
            self.code = code
            self.productID = productID
            self.appAccountToken = appAccountToken
        }
    }

    /// A subscription of an account, by any product the account has of its group.
    package struct OfProduct: Codable, Sendable, Equatable {
        package var productID: ProductID
        package init(productID: ProductID) { self.productID = productID }
    }

    package typealias Cancel = OfProduct

    /// Turns auto-renewal on again.
    package struct Resume: Codable, Sendable, Equatable {
        package var productID: ProductID
        /// The plan of the group that it renews to; absent: the one it has.
        package var renewsTo: ProductID?
        package init(productID: ProductID, renewsTo: ProductID? = nil) {
            self.productID = productID
            self.renewsTo = renewsTo
        }
    }

    package struct Refund: Codable, Sendable, Equatable {
        /// Why; `other` unless given.
        package var reason: Reason?
        /// How much of the price in percent, rounded to three decimals; absent: the whole, which is Apple's
        /// `REFUND_FULL`. With it the refund is Apple's `REFUND_PRORATED`.
        package var percentage: Double?

        package init(reason: Reason? = nil, percentage: Double? = nil) {
            self.reason = reason
            self.percentage = percentage
        }

        /// Closed: Apple's `revocationReason` 0 and 1.
        package enum Reason: String, Codable, Sendable, CaseIterable { case other, appIssue }
    }

    /// A customer's wish to have the money back.
    package struct RefundRequest: Codable, Sendable, Equatable {
        /// Why; `other` unless given.
        package var reason: Reason?
        package init(reason: Reason? = nil) { self.reason = reason }

        /// Closed: Apple's `consumptionRequestReason`.
        package enum Reason: String, Codable, Sendable, CaseIterable {
            case unintendedPurchase, fulfillmentIssue, unsatisfiedWithPurchase, legal, other
        }
    }

    /// Whoever has to approve a purchase does, or does not.
    package struct AskToBuy: Codable, Sendable, Equatable {
        package var decision: Decision
        package init(decision: Decision) { self.decision = decision }

        /// Closed: an answer to a question with two.
        package enum Decision: String, Codable, Sendable, CaseIterable { case approve, decline }
    }

    /// What `souk store buy --json` prints (CLI.md), signed as the store signs it now.
    public struct Transaction: Codable, Sendable, Equatable {
        public var transactionID: TransactionID
        public var originalTransactionID: TransactionID
        public var productID: ProductID
        /// `purchased`, `expired`, `revoked`; of an order: `deferred` (asks to buy), `interrupted`, `declined`.
        public var state: String
        /// Empty of an order that nothing was sold for.
        public var signedTransaction: String
        public var signedRenewalInfo: String?
        public var purchaseDate: Date?
        public var expiresDate: Date?
        public var revocationDate: Date?
        /// The order, as the App Store Server API looks it up; absent where nothing was paid for.
        public var orderID: String?

        public init(
            transactionID: TransactionID, originalTransactionID: TransactionID, productID: ProductID, state: String,
            signedTransaction: String, signedRenewalInfo: String? = nil, purchaseDate: Date? = nil,
            expiresDate: Date? = nil, revocationDate: Date? = nil, orderID: String? = nil
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
        }
    }

    package struct Transactions: Codable, Sendable, Equatable {
        package var transactions: [Transaction]
        package init(transactions: [Transaction]) { self.transactions = transactions }
    }

    /// What the app's server last said about the use of a transaction whose customer asks for a refund.
    package struct Consumption: Codable, Sendable, Equatable {
        package var transactionID: TransactionID
        /// Absent, as what follows, while it has said nothing.
        package var sentAt: Date?
        /// Of Apple's Send Consumption Information: 1 or 2.
        package var version: Int?
        /// As it was sent.
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

    /// A purchase that waits: for approval, or for the customer to settle something with the store.
    public struct PendingOrder: Codable, Sendable, Equatable {
        /// The number its transaction will have.
        public var transactionID: TransactionID
        public var account: String
        public var productID: ProductID
        public var quantity: Int
        /// `deferred` or `interrupted`.
        public var state: String
        public var orderedAt: Date

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
