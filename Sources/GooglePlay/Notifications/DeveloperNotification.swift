import Foundation
import Primitives

/// A real-time developer notification: it names a purchase whose state changed. Fetch the purchase; nothing in the
/// notification is signed.
///
/// Exactly one of the five notifications is present.
package struct DeveloperNotification: PlayResource {
    package var version: String?
    package var packageName: String?
    package var eventTimeMillis: Int64Text?
    package var subscriptionNotification: Subscription?
    package var oneTimeProductNotification: OneTimeProduct?
    package var voidedPurchaseNotification: VoidedPurchase?
    package var pendingRefundReviewNotification: PendingRefundReview?
    package var testNotification: Test?

    package init() {}

    package struct Subscription: PlayResource {
        package var version: String?
        package var notificationType: SubscriptionEvent?
        package var purchaseToken: String?

        package init() {}
    }

    package struct OneTimeProduct: PlayResource {
        package var version: String?
        /// 1 purchased, 2 cancelled while it was pending.
        package var notificationType: Int?
        package var purchaseToken: String?
        package var sku: String?

        package init() {}
    }

    package struct VoidedPurchase: PlayResource {
        package var purchaseToken: String?
        package var orderId: String?
        /// 1 subscription, 2 one-time product.
        package var productType: Int?
        /// 1 in full, 2 a part of the quantity.
        package var refundType: Int?

        package init() {}
    }

    /// A chargeback that the developer can review within 24 hours, with `orders.reviewrefund`.
    package struct PendingRefundReview: PlayResource {
        package var version: String?
        package var pendingRefundToken: String?
        package var orderId: String?
        /// As `voidedReason` of a voided purchase.
        package var refundReason: Int?
        package var obfuscatedAccountId: String?
        package var obfuscatedProfileId: String?

        package init() {}
    }

    package struct Test: PlayResource {
        package var version: String?

        package init() {}
    }

    /// The number of an event of a subscription. The set is open.
    package struct SubscriptionEvent: RawRepresentable, Codable, Sendable, Hashable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let recovered = Self(rawValue: 1)
        package static let renewed = Self(rawValue: 2)
        package static let canceled = Self(rawValue: 3)
        package static let purchased = Self(rawValue: 4)
        package static let onHold = Self(rawValue: 5)
        package static let inGracePeriod = Self(rawValue: 6)
        package static let restarted = Self(rawValue: 7)
        package static let deferred = Self(rawValue: 9)
        package static let paused = Self(rawValue: 10)
        package static let pauseScheduleChanged = Self(rawValue: 11)
        package static let revoked = Self(rawValue: 12)
        package static let expired = Self(rawValue: 13)
        package static let cancellationScheduled = Self(rawValue: 18)
        package static let priceChangeUpdated = Self(rawValue: 19)
        package static let pendingPurchaseCanceled = Self(rawValue: 20)
        package static let priceStepUpConsentUpdated = Self(rawValue: 22)
    }
}

extension DeveloperNotification {
    /// Google's name of the event, such as `SUBSCRIPTION_RENEWED`. A number without a known name follows the kind of the
    /// notification, as in `SUBSCRIPTION_99`.
    package var typeName: String {
        if let event = subscriptionNotification?.notificationType {
            return "SUBSCRIPTION_" + (SubscriptionEvent.names[event] ?? "\(event.rawValue)")
        }
        if let type = oneTimeProductNotification?.notificationType {
            return "ONE_TIME_PRODUCT_" + ([1: "PURCHASED", 2: "CANCELED"][type] ?? "\(type)")
        }
        if pendingRefundReviewNotification != nil { return "PENDING_REFUND_REVIEW" }
        return voidedPurchaseNotification != nil ? "VOIDED_PURCHASE" : "TEST"
    }
}

extension DeveloperNotification.SubscriptionEvent {
    fileprivate static let names: [Self: String] = [
        .recovered: "RECOVERED", .renewed: "RENEWED", .canceled: "CANCELED", .purchased: "PURCHASED",
        .onHold: "ON_HOLD", .inGracePeriod: "IN_GRACE_PERIOD", .restarted: "RESTARTED", .deferred: "DEFERRED",
        .paused: "PAUSED", .pauseScheduleChanged: "PAUSE_SCHEDULE_CHANGED", .revoked: "REVOKED", .expired: "EXPIRED",
        .cancellationScheduled: "CANCELLATION_SCHEDULED", .priceChangeUpdated: "PRICE_CHANGE_UPDATED",
        .pendingPurchaseCanceled: "PENDING_PURCHASE_CANCELED",
        .priceStepUpConsentUpdated: "PRICE_STEP_UP_CONSENT_UPDATED",
    ]
}
