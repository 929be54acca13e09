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
    public struct NotificationType: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let consumptionRequest = Self(rawValue: "CONSUMPTION_REQUEST")
        public static let didChangeRenewalPref = Self(rawValue: "DID_CHANGE_RENEWAL_PREF")
        public static let didChangeRenewalStatus = Self(rawValue: "DID_CHANGE_RENEWAL_STATUS")
        public static let didFailToRenew = Self(rawValue: "DID_FAIL_TO_RENEW")
        public static let didRenew = Self(rawValue: "DID_RENEW")
        public static let expired = Self(rawValue: "EXPIRED")
        public static let externalPurchaseToken = Self(rawValue: "EXTERNAL_PURCHASE_TOKEN")
        public static let gracePeriodExpired = Self(rawValue: "GRACE_PERIOD_EXPIRED")
        public static let metadataUpdate = Self(rawValue: "METADATA_UPDATE")
        public static let migration = Self(rawValue: "MIGRATION")
        public static let offerRedeemed = Self(rawValue: "OFFER_REDEEMED")
        public static let oneTimeCharge = Self(rawValue: "ONE_TIME_CHARGE")
        public static let priceChange = Self(rawValue: "PRICE_CHANGE")
        public static let priceIncrease = Self(rawValue: "PRICE_INCREASE")
        public static let refund = Self(rawValue: "REFUND")
        public static let refundDeclined = Self(rawValue: "REFUND_DECLINED")
        public static let refundReversed = Self(rawValue: "REFUND_REVERSED")
        public static let renewalExtended = Self(rawValue: "RENEWAL_EXTENDED")
        public static let renewalExtension = Self(rawValue: "RENEWAL_EXTENSION")
        public static let rescindConsent = Self(rawValue: "RESCIND_CONSENT")
        public static let revoke = Self(rawValue: "REVOKE")
        public static let subscribed = Self(rawValue: "SUBSCRIBED")
        public static let test = Self(rawValue: "TEST")
    }

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
