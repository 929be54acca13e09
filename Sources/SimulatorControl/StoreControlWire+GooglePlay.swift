import Foundation
import StoreModel

extension StoreControlWire {
    /// A purchase on Google Play. A product without a base plan in the request is bought with its first one that is
    /// sold.
    package struct PlayBuy: Codable, Sendable, Equatable {
        package var productID: ProductID
        package var basePlanID: String?
        package var offerID: String?
        package var purchaseOptionID: String?
        package var quantity: Int?
        package var obfuscatedAccountID: String?
        package var obfuscatedProfileID: String?
        package var regionCode: String?
        /// Whether the purchase waits for its payment.
        package var isPending: Bool?
        /// Whether the customer is a licence tester.
        package var isTest: Bool?
        /// The subscription that the purchase replaces.
        package var oldPurchaseToken: String?
        package var replacementMode: String?

        package init(
            productID: ProductID, basePlanID: String? = nil, offerID: String? = nil, purchaseOptionID: String? = nil,
            quantity: Int? = nil, obfuscatedAccountID: String? = nil, obfuscatedProfileID: String? = nil,
            regionCode: String? = nil, isPending: Bool? = nil, isTest: Bool? = nil, oldPurchaseToken: String? = nil,
            replacementMode: String? = nil
        ) {
            self.productID = productID
            self.basePlanID = basePlanID
            self.offerID = offerID
            self.purchaseOptionID = purchaseOptionID
            self.quantity = quantity
            self.obfuscatedAccountID = obfuscatedAccountID
            self.obfuscatedProfileID = obfuscatedProfileID
            self.regionCode = regionCode
            self.isPending = isPending
            self.isTest = isTest
            self.oldPurchaseToken = oldPurchaseToken
            self.replacementMode = replacementMode
        }
    }

    /// A purchase as the app gets it from Google Play, with Google's names.
    package struct SignedPlayPurchase: Codable, Sendable, Equatable {
        package var packageName: String
        package var productId: ProductID
        package var purchaseToken: String
        package var orderId: String
        /// The JSON that is signed: `INAPP_PURCHASE_DATA`.
        package var signedData: String
        /// The signature in base64: RSA with SHA-1.
        package var signature: String

        package init(
            packageName: String, productId: ProductID, purchaseToken: String, orderId: String, signedData: String,
            signature: String
        ) {
            self.packageName = packageName
            self.productId = productId
            self.purchaseToken = purchaseToken
            self.orderId = orderId
            self.signedData = signedData
            self.signature = signature
        }
    }

    /// The present state of a purchase on Google Play.
    package struct PlayPurchase: Codable, Sendable, Equatable {
        package var account: String
        package var productID: ProductID
        package var purchaseToken: String
        /// The latest order that was paid, or the first one.
        package var orderID: String
        /// `product` or `subscription`.
        package var kind: String
        /// The name of the state, such as `active` or `purchased`.
        package var state: String
        package var isAcknowledged: Bool
        /// The instant at which the purchase is refunded unless it is acknowledged before; absent if that cannot happen.
        package var acknowledgeBy: Date?
        package var quantity: Int?
        /// The items of a one-time product that were not refunded.
        package var refundableQuantity: Int?
        /// The latest review of a chargeback.
        package var refundReview: PlayRefundReview?
        package var basePlanID: String?
        package var offerID: String?
        package var expiryTime: Date?
        /// Whether another period follows the present one.
        package var autoRenews: Bool?
        /// The instant at which time changes the state next, such as the end of the period or of an account hold.
        package var changesAt: Date?
        /// Whether the payments of a subscription fail.
        package var paymentsFail: Bool?
        /// The length of the pause that begins at the end of the period.
        package var scheduledPause: SubscriptionPeriod?
        /// The product that the customer has until a deferred replacement takes effect.
        package var replacesAtEnd: ProductID?
        /// The latest change of the price for existing subscribers.
        package var priceChange: PlayPriceChange?
        /// The latest consent to a higher price after an offer.
        package var priceStepUp: PlayPriceChange?
        /// Whether a one-time product was consumed.
        package var isConsumed: Bool?

        package init(
            account: String, productID: ProductID, purchaseToken: String, orderID: String, kind: String, state: String,
            isAcknowledged: Bool, acknowledgeBy: Date? = nil
        ) {
            self.account = account
            self.productID = productID
            self.purchaseToken = purchaseToken
            self.orderID = orderID
            self.kind = kind
            self.state = state
            self.isAcknowledged = isAcknowledged
            self.acknowledgeBy = acknowledgeBy
        }
    }

    package struct PlayPurchases: Codable, Sendable, Equatable {
        package var purchases: [PlayPurchase]
        package init(purchases: [PlayPurchase]) { self.purchases = purchases }
    }

    /// A new price of a subscription, with Google's names for the mode and the state.
    package struct PlayPriceChange: Codable, Sendable, Equatable {
        package var price: Price
        package var mode: String?
        package var state: String
        /// The first renewal at the price, or the deadline of the consent.
        package var at: Date?
        package init(price: Price, mode: String? = nil, state: String, at: Date? = nil) {
            self.price = price
            self.mode = mode
            self.state = state
            self.at = at
        }
    }

    /// The new price of a base plan for one subscriber.
    package struct PlayNewPrice: Codable, Sendable, Equatable {
        /// An amount in the currency of the subscription, such as `5.99`.
        package var price: String
        /// Whether an increase needs no consent; by default the customer must agree.
        package var isOptOut: Bool?
        package init(price: String, isOptOut: Bool? = nil) {
            self.price = price
            self.isOptOut = isOptOut
        }
    }

    /// The length of a pause: one week to three months.
    package struct PlayPause: Codable, Sendable, Equatable {
        package var period: SubscriptionPeriod
        package init(period: SubscriptionPeriod) { self.period = period }
    }

    /// A refund of a purchase on Google Play.
    package struct PlayRefund: Codable, Sendable, Equatable {
        /// The order; absent for the latest one.
        package var orderID: String?
        /// Whether the customer keeps the purchase; by default it ends.
        package var keepsPurchase: Bool?
        /// The number of items of a one-time product that are refunded; absent for all.
        package var quantity: Int?
        package init(orderID: String? = nil, keepsPurchase: Bool? = nil, quantity: Int? = nil) {
            self.orderID = orderID
            self.keepsPurchase = keepsPurchase
            self.quantity = quantity
        }
    }

    /// A chargeback on Google Play.
    package struct PlayChargeback: Codable, Sendable, Equatable {
        /// The order; absent for the latest one.
        package var orderID: String?
        package init(orderID: String? = nil) { self.orderID = orderID }
    }

    /// The review of a chargeback by the developer.
    package struct PlayRefundReview: Codable, Sendable, Equatable {
        package var orderID: String
        /// The instant of the decision.
        package var deadline: Date
        /// The developer's answer, with Google's name.
        package var preference: String?
        package var isDecided: Bool
        package init(orderID: String, deadline: Date, preference: String? = nil, isDecided: Bool) {
            self.orderID = orderID
            self.deadline = deadline
            self.preference = preference
            self.isDecided = isDecided
        }
    }

    /// A real-time developer notification of Google Play.
    package struct PlayNotification: Codable, Sendable, Equatable {
        package var number: Int64
        package var at: Date
        /// Google's name of the event, such as `SUBSCRIPTION_RENEWED`.
        package var type: String
        package var account: String?
        package var productID: ProductID?
        package var purchaseToken: String?
        /// The order of a voided purchase.
        package var orderID: String?
        /// The attempts, oldest first. The result is the status of the response, or a word for a failure.
        package var attempts: [Notification.Attempt]
        /// The instant of the next attempt.
        package var due: Date?

        package init(
            number: Int64, at: Date, type: String, account: String? = nil, productID: ProductID? = nil,
            purchaseToken: String? = nil, orderID: String? = nil, attempts: [Notification.Attempt] = [],
            due: Date? = nil
        ) {
            self.number = number
            self.at = at
            self.type = type
            self.account = account
            self.productID = productID
            self.purchaseToken = purchaseToken
            self.orderID = orderID
            self.attempts = attempts
            self.due = due
        }
    }

    package struct PlayNotifications: Codable, Sendable, Equatable {
        package var notifications: [PlayNotification]
        package init(notifications: [PlayNotification]) { self.notifications = notifications }
    }
}
