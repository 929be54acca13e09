import Foundation
import Primitives
import StoreModel

/// The payload of a signed App Store Server Notification (version 2). It has exactly one of `data`, `summary`,
/// `externalPurchaseToken` and `appData`.
public typealias ResponseBodyV2DecodedPayload = AppStorePayload<ResponseBodyV2DecodedPayloadFields>

/// The members that Apple documents of ``ResponseBodyV2DecodedPayload``.
public struct ResponseBodyV2DecodedPayloadFields: AppStorePayloadFields {
    public static let layout = PayloadLayout(Self())

    /// The type of the notification.
    public let notificationType = PayloadField<AppStoreServerAPI.NotificationType>("notificationType")
    /// The subtype of the notification.
    public let subtype = PayloadField<AppStoreServerAPI.Subtype>("subtype")
    /// The identifier of the notification. It is the same when the notification is sent again.
    public let notificationUUID = PayloadField<String>("notificationUUID")
    /// The part about one purchase or app.
    public let data = PayloadField<AppStoreServerAPI.NotificationData>("data")
    /// The part about a completed mass extension.
    public let summary = PayloadField<AppStoreServerAPI.NotificationSummary>("summary")
    /// The part about a purchase outside the App Store.
    public let externalPurchaseToken = PayloadField<AppStoreServerAPI.ExternalPurchaseToken>(
        "externalPurchaseToken")
    /// The part about an app transaction.
    public let appData = PayloadField<AppStoreServerAPI.NotificationAppData>("appData")
    /// The version of the notification, `2.0`.
    public let version = PayloadField<String>("version")
    /// The date on which the store signed this.
    public let signedDate = PayloadField<Date>("signedDate")
}

extension AppStoreServerAPI {
    /// The type of a notification (App Store Server Notifications V2).
    public typealias NotificationType = OpenEnum<ResponseBodyV2DecodedPayloadFields>

    /// The details of a notification type.
    public struct Subtype: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let accepted = Self(rawValue: "ACCEPTED")
        public static let activeTokenReminder = Self(rawValue: "ACTIVE_TOKEN_REMINDER")
        public static let autoRenewDisabled = Self(rawValue: "AUTO_RENEW_DISABLED")
        public static let autoRenewEnabled = Self(rawValue: "AUTO_RENEW_ENABLED")
        public static let billingRecovery = Self(rawValue: "BILLING_RECOVERY")
        public static let billingRetry = Self(rawValue: "BILLING_RETRY")
        public static let created = Self(rawValue: "CREATED")
        public static let downgrade = Self(rawValue: "DOWNGRADE")
        public static let failure = Self(rawValue: "FAILURE")
        public static let gracePeriod = Self(rawValue: "GRACE_PERIOD")
        public static let initialBuy = Self(rawValue: "INITIAL_BUY")
        public static let pending = Self(rawValue: "PENDING")
        public static let priceIncrease = Self(rawValue: "PRICE_INCREASE")
        public static let productNotForSale = Self(rawValue: "PRODUCT_NOT_FOR_SALE")
        public static let resubscribe = Self(rawValue: "RESUBSCRIBE")
        public static let summary = Self(rawValue: "SUMMARY")
        public static let unreported = Self(rawValue: "UNREPORTED")
        public static let upgrade = Self(rawValue: "UPGRADE")
        public static let voluntary = Self(rawValue: "VOLUNTARY")
    }
}

extension AppStoreServerAPI.NotificationType {
    public static var consumptionRequest: Self { Self(rawValue: "CONSUMPTION_REQUEST") }
    public static var didChangeRenewalPref: Self { Self(rawValue: "DID_CHANGE_RENEWAL_PREF") }
    public static var didChangeRenewalStatus: Self { Self(rawValue: "DID_CHANGE_RENEWAL_STATUS") }
    public static var didFailToRenew: Self { Self(rawValue: "DID_FAIL_TO_RENEW") }
    public static var didRenew: Self { Self(rawValue: "DID_RENEW") }
    public static var expired: Self { Self(rawValue: "EXPIRED") }
    public static var externalPurchaseToken: Self { Self(rawValue: "EXTERNAL_PURCHASE_TOKEN") }
    public static var gracePeriodExpired: Self { Self(rawValue: "GRACE_PERIOD_EXPIRED") }
    public static var metadataUpdate: Self { Self(rawValue: "METADATA_UPDATE") }
    public static var migration: Self { Self(rawValue: "MIGRATION") }
    public static var offerRedeemed: Self { Self(rawValue: "OFFER_REDEEMED") }
    public static var oneTimeCharge: Self { Self(rawValue: "ONE_TIME_CHARGE") }
    public static var priceChange: Self { Self(rawValue: "PRICE_CHANGE") }
    public static var priceIncrease: Self { Self(rawValue: "PRICE_INCREASE") }
    public static var refund: Self { Self(rawValue: "REFUND") }
    public static var refundDeclined: Self { Self(rawValue: "REFUND_DECLINED") }
    public static var refundReversed: Self { Self(rawValue: "REFUND_REVERSED") }
    public static var renewalExtended: Self { Self(rawValue: "RENEWAL_EXTENDED") }
    public static var renewalExtension: Self { Self(rawValue: "RENEWAL_EXTENSION") }
    public static var rescindConsent: Self { Self(rawValue: "RESCIND_CONSENT") }
    public static var revoke: Self { Self(rawValue: "REVOKE") }
    public static var subscribed: Self { Self(rawValue: "SUBSCRIBED") }
    public static var test: Self { Self(rawValue: "TEST") }
}
