/// Which App Store signed something: the real one, its sandbox, or a development machine.
public struct AppStoreEnvironment: OpenAppStoreValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let production = Self(rawValue: "Production")
    public static let sandbox = Self(rawValue: "Sandbox")
    public static let xcode = Self(rawValue: "Xcode")
    public static let localTesting = Self(rawValue: "LocalTesting")
}

/// Values and answers of Apple's App Store Server API. Type and field names are Apple's.
public enum AppStoreServerAPI {
    /// What kind of product a transaction is about.
    public struct ProductType: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let autoRenewableSubscription = Self(rawValue: "Auto-Renewable Subscription")
        public static let nonRenewingSubscription = Self(rawValue: "Non-Renewing Subscription")
        public static let nonConsumable = Self(rawValue: "Non-Consumable")
        public static let consumable = Self(rawValue: "Consumable")
    }

    /// Whether the customer bought it or has it from their family.
    public struct InAppOwnershipType: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let purchased = Self(rawValue: "PURCHASED")
        public static let familyShared = Self(rawValue: "FAMILY_SHARED")
    }

    /// Whether somebody bought, or a subscription renewed itself.
    public struct TransactionReason: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let purchase = Self(rawValue: "PURCHASE")
        public static let renewal = Self(rawValue: "RENEWAL")
    }

    /// The kind of offer a period was sold under.
    public struct OfferType: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let introductory = Self(rawValue: 1)
        public static let promotional = Self(rawValue: 2)
        public static let offerCode = Self(rawValue: 3)
        public static let winBack = Self(rawValue: 4)
    }

    /// How an offer lowers the price.
    public struct OfferDiscountType: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let freeTrial = Self(rawValue: "FREE_TRIAL")
        public static let payAsYouGo = Self(rawValue: "PAY_AS_YOU_GO")
        public static let payUpFront = Self(rawValue: "PAY_UP_FRONT")
        public static let oneTime = Self(rawValue: "ONE_TIME")
    }

    /// Why the store took a purchase back.
    public struct RevocationReason: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let other = Self(rawValue: 0)
        public static let issueWithinApp = Self(rawValue: 1)
    }

    /// How far a revocation reaches.
    public struct RevocationType: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let fullRefund = Self(rawValue: "REFUND_FULL")
        public static let proratedRefund = Self(rawValue: "REFUND_PRORATED")
        public static let familyRevoke = Self(rawValue: "FAMILY_REVOKE")
    }

    /// Whether a subscription period is paid at once or in monthly parts.
    public struct BillingPlanType: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let monthly = Self(rawValue: "MONTHLY")
        public static let billedUpfront = Self(rawValue: "BILLED_UPFRONT")
    }

    /// Whether the subscription will renew.
    public struct AutoRenewStatus: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let off = Self(rawValue: 0)
        public static let on = Self(rawValue: 1)
    }

    /// Why a subscription ended.
    public struct ExpirationIntent: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let customerCancelled = Self(rawValue: 1)
        public static let billingError = Self(rawValue: 2)
        public static let priceIncreaseDeclined = Self(rawValue: 3)
        public static let productUnavailable = Self(rawValue: 4)
        public static let other = Self(rawValue: 5)
    }

    /// Whether the customer answered a price increase that needs consent.
    public struct PriceIncreaseStatus: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let pending = Self(rawValue: 0)
        public static let accepted = Self(rawValue: 1)
    }

    /// The state of an auto-renewable subscription as the store sees it.
    public struct Status: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let active = Self(rawValue: 1)
        public static let expired = Self(rawValue: 2)
        public static let billingRetry = Self(rawValue: 3)
        public static let billingGracePeriod = Self(rawValue: 4)
        public static let revoked = Self(rawValue: 5)
    }

    /// The platform an app was first bought on.
    public struct PurchasePlatform: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let iOS = Self(rawValue: "iOS")
        public static let macOS = Self(rawValue: "macOS")
        public static let tvOS = Self(rawValue: "tvOS")
        public static let visionOS = Self(rawValue: "visionOS")
    }

    /// What a customer gave as the reason of a refund request.
    public struct ConsumptionRequestReason: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let unintendedPurchase = Self(rawValue: "UNINTENDED_PURCHASE")
        public static let fulfillmentIssue = Self(rawValue: "FULFILLMENT_ISSUE")
        public static let unsatisfiedWithPurchase = Self(rawValue: "UNSATISFIED_WITH_PURCHASE")
        public static let legal = Self(rawValue: "LEGAL")
        public static let other = Self(rawValue: "OTHER")
    }

    /// What happened, in App Store Server Notifications V2.
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
