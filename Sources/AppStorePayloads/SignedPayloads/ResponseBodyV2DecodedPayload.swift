import Foundation
import Primitives
import StoreModel

/// The payload of a signed App Store Server Notification (version 2). It has exactly one of `data`, `summary`,
/// `externalPurchaseToken` and `appData`.
public typealias ResponseBodyV2DecodedPayload = AppStorePayload<ResponseBodyV2DecodedPayloadFields>

/// The members of ``ResponseBodyV2DecodedPayload`` that Apple documents.
public final class ResponseBodyV2DecodedPayloadFields: AppStorePayloadFields {
    public static let layout = PayloadLayout(ResponseBodyV2DecodedPayloadFields())

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
    /// The seat claims that the App Store ended. It is beside `data`.
    package let unclaimInfo = PayloadField<AppStoreServerAPI.UnclaimInfo>("unclaimInfo")
    /// The version of the notification, `2.0`.
    public let version = PayloadField<String>("version")
    /// The date on which the store signed the payload.
    public let signedDate = PayloadField<Date>("signedDate")
}

extension AppStoreServerAPI {
    /// The type of a notification (App Store Server Notifications V2).
    public typealias NotificationType = OpenEnum<ResponseBodyV2DecodedPayloadFields>

    /// The details of a notification type.
    public typealias Subtype = OpenEnum<NotificationType>
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

extension AppStoreServerAPI.Subtype {
    public static var accepted: Self { Self(rawValue: "ACCEPTED") }
    public static var activeTokenReminder: Self { Self(rawValue: "ACTIVE_TOKEN_REMINDER") }
    public static var autoRenewDisabled: Self { Self(rawValue: "AUTO_RENEW_DISABLED") }
    public static var autoRenewEnabled: Self { Self(rawValue: "AUTO_RENEW_ENABLED") }
    public static var billingRecovery: Self { Self(rawValue: "BILLING_RECOVERY") }
    public static var billingRetry: Self { Self(rawValue: "BILLING_RETRY") }
    public static var created: Self { Self(rawValue: "CREATED") }
    public static var downgrade: Self { Self(rawValue: "DOWNGRADE") }
    public static var failure: Self { Self(rawValue: "FAILURE") }
    public static var gracePeriod: Self { Self(rawValue: "GRACE_PERIOD") }
    public static var initialBuy: Self { Self(rawValue: "INITIAL_BUY") }
    public static var pending: Self { Self(rawValue: "PENDING") }
    public static var priceIncrease: Self { Self(rawValue: "PRICE_INCREASE") }
    public static var productNotForSale: Self { Self(rawValue: "PRODUCT_NOT_FOR_SALE") }
    public static var resubscribe: Self { Self(rawValue: "RESUBSCRIBE") }
    public static var summary: Self { Self(rawValue: "SUMMARY") }
    public static var unreported: Self { Self(rawValue: "UNREPORTED") }
    public static var upgrade: Self { Self(rawValue: "UPGRADE") }
    public static var voluntary: Self { Self(rawValue: "VOLUNTARY") }
}
