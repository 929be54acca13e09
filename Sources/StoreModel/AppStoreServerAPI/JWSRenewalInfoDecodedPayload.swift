import Foundation
import Primitives

/// What a signed renewal info says about the next period of a subscription. It names no bundle: what it belongs to
/// follows from the original transaction id.
public struct JWSRenewalInfoDecodedPayload: AppStorePayload {
    public var fields: JSONMembers
    public init(unchecked fields: JSONMembers) { self.fields = fields }

    /// Every argument left out is absent from the JSON.
    public init(
        originalTransactionId: String? = nil,
        productId: String? = nil,
        autoRenewProductId: String? = nil,
        autoRenewStatus: AppStoreServerAPI.AutoRenewStatus? = nil,
        expirationIntent: AppStoreServerAPI.ExpirationIntent? = nil,
        isInBillingRetryPeriod: Bool? = nil,
        gracePeriodExpiresDate: Date? = nil,
        priceIncreaseStatus: AppStoreServerAPI.PriceIncreaseStatus? = nil,
        offerType: AppStoreServerAPI.OfferType? = nil,
        offerIdentifier: String? = nil,
        offerDiscountType: AppStoreServerAPI.OfferDiscountType? = nil,
        offerPeriod: String? = nil,
        signedDate: Date? = nil,
        environment: AppStoreEnvironment? = nil,
        recentSubscriptionStartDate: Date? = nil,
        renewalDate: Date? = nil,
        renewalPrice: Int? = nil,
        currency: String? = nil,
        eligibleWinBackOfferIds: [String]? = nil,
        appTransactionId: String? = nil,
        appAccountToken: UUID? = nil,
        advancedCommerceInfo: AppStoreServerAPI.AdvancedCommerceRenewalInfo? = nil,
        commitmentInfo: AppStoreServerAPI.RenewalCommitmentInfo? = nil,
        renewalBillingPlanType: AppStoreServerAPI.BillingPlanType? = nil,
        deviceVerification: String? = nil,
        deviceVerificationNonce: String? = nil
    ) {
        fields = [:]
        self.originalTransactionId = originalTransactionId
        self.productId = productId
        self.autoRenewProductId = autoRenewProductId
        self.autoRenewStatus = autoRenewStatus
        self.expirationIntent = expirationIntent
        self.isInBillingRetryPeriod = isInBillingRetryPeriod
        self.gracePeriodExpiresDate = gracePeriodExpiresDate
        self.priceIncreaseStatus = priceIncreaseStatus
        self.offerType = offerType
        self.offerIdentifier = offerIdentifier
        self.offerDiscountType = offerDiscountType
        self.offerPeriod = offerPeriod
        self.signedDate = signedDate
        self.environment = environment
        self.recentSubscriptionStartDate = recentSubscriptionStartDate
        self.renewalDate = renewalDate
        self.renewalPrice = renewalPrice
        self.currency = currency
        self.eligibleWinBackOfferIds = eligibleWinBackOfferIds
        self.appTransactionId = appTransactionId
        self.appAccountToken = appAccountToken
        self.advancedCommerceInfo = advancedCommerceInfo
        self.commitmentInfo = commitmentInfo
        self.renewalBillingPlanType = renewalBillingPlanType
        self.deviceVerification = deviceVerification
        self.deviceVerificationNonce = deviceVerificationNonce
    }

    /// The purchase this is about.
    public var originalTransactionId: String? {
        get { self["originalTransactionId"] }
        set { self["originalTransactionId"] = newValue }
    }

    /// The product of the current period.
    public var productId: String? {
        get { self["productId"] }
        set { self["productId"] = newValue }
    }

    /// The product that renews next.
    public var autoRenewProductId: String? {
        get { self["autoRenewProductId"] }
        set { self["autoRenewProductId"] = newValue }
    }

    /// Whether the subscription will renew.
    public var autoRenewStatus: AppStoreServerAPI.AutoRenewStatus? {
        get { self["autoRenewStatus"] }
        set { self["autoRenewStatus"] = newValue }
    }

    /// Why the subscription ended.
    public var expirationIntent: AppStoreServerAPI.ExpirationIntent? {
        get { self["expirationIntent"] }
        set { self["expirationIntent"] = newValue }
    }

    /// Whether the store is still trying to charge the account.
    public var isInBillingRetryPeriod: Bool? {
        get { self["isInBillingRetryPeriod"] }
        set { self["isInBillingRetryPeriod"] = newValue }
    }

    /// Until when access continues although the charge failed.
    public var gracePeriodExpiresDate: Date? {
        get { self["gracePeriodExpiresDate"] }
        set { self["gracePeriodExpiresDate"] = newValue }
    }

    /// Whether the customer answered a price increase.
    public var priceIncreaseStatus: AppStoreServerAPI.PriceIncreaseStatus? {
        get { self["priceIncreaseStatus"] }
        set { self["priceIncreaseStatus"] = newValue }
    }

    /// The kind of offer of the next period.
    public var offerType: AppStoreServerAPI.OfferType? {
        get { self["offerType"] }
        set { self["offerType"] = newValue }
    }

    /// The promotional offer or offer code of the next period.
    public var offerIdentifier: String? {
        get { self["offerIdentifier"] }
        set { self["offerIdentifier"] = newValue }
    }

    /// How the offer is paid.
    public var offerDiscountType: AppStoreServerAPI.OfferDiscountType? {
        get { self["offerDiscountType"] }
        set { self["offerDiscountType"] = newValue }
    }

    /// How long the offer lasts, ISO 8601.
    public var offerPeriod: String? {
        get { self["offerPeriod"] }
        set { self["offerPeriod"] = newValue }
    }

    /// When the store signed this.
    public var signedDate: Date? {
        get { self["signedDate"] }
        set { self["signedDate"] = newValue }
    }

    /// The store that signed.
    public var environment: AppStoreEnvironment? {
        get { self["environment"] }
        set { self["environment"] = newValue }
    }

    /// When the present run of periods without a gap began.
    public var recentSubscriptionStartDate: Date? {
        get { self["recentSubscriptionStartDate"] }
        set { self["recentSubscriptionStartDate"] = newValue }
    }

    /// When the next period begins.
    public var renewalDate: Date? {
        get { self["renewalDate"] }
        set { self["renewalDate"] = newValue }
    }

    /// What the next period costs, in thousandths of the currency unit.
    public var renewalPrice: Int? {
        get { self["renewalPrice"] }
        set { self["renewalPrice"] = newValue }
    }

    /// The currency, ISO 4217.
    public var currency: String? {
        get { self["currency"] }
        set { self["currency"] = newValue }
    }

    /// Win-back offers this customer may take, best first.
    public var eligibleWinBackOfferIds: [String]? {
        get { self["eligibleWinBackOfferIds"] }
        set { self["eligibleWinBackOfferIds"] = newValue }
    }

    /// The identifier of the app's download by this account.
    public var appTransactionId: String? {
        get { self["appTransactionId"] }
        set { self["appTransactionId"] = newValue }
    }

    /// The customer as the app named them. A text that is no UUID reads as `nil` and stays in `fields`.
    public var appAccountToken: UUID? {
        get { self["appAccountToken"] }
        set { self["appAccountToken"] = newValue }
    }

    /// What the Advanced Commerce API adds.
    public var advancedCommerceInfo: AppStoreServerAPI.AdvancedCommerceRenewalInfo? {
        get { self["advancedCommerceInfo"] }
        set { self["advancedCommerceInfo"] = newValue }
    }

    /// What follows a monthly billed commitment.
    public var commitmentInfo: AppStoreServerAPI.RenewalCommitmentInfo? {
        get { self["commitmentInfo"] }
        set { self["commitmentInfo"] = newValue }
    }

    /// How the next period is billed.
    public var renewalBillingPlanType: AppStoreServerAPI.BillingPlanType? {
        get { self["renewalBillingPlanType"] }
        set { self["renewalBillingPlanType"] = newValue }
    }

    /// Binds a renewal info given to an app to its device, base64.
    public var deviceVerification: String? {
        get { self["deviceVerification"] }
        set { self["deviceVerification"] = newValue }
    }

    /// The nonce of `deviceVerification`.
    public var deviceVerificationNonce: String? {
        get { self["deviceVerificationNonce"] }
        set { self["deviceVerificationNonce"] = newValue }
    }

    public static let schema = PayloadSchema([
        "originalTransactionId": .text,
        "productId": .text,
        "autoRenewProductId": .text,
        "autoRenewStatus": .integer,
        "expirationIntent": .integer,
        "isInBillingRetryPeriod": .boolean,
        "gracePeriodExpiresDate": .date,
        "priceIncreaseStatus": .integer,
        "offerType": .integer,
        "offerIdentifier": .text,
        "offerDiscountType": .text,
        "offerPeriod": .text,
        "signedDate": .date,
        "environment": .text,
        "recentSubscriptionStartDate": .date,
        "renewalDate": .date,
        "renewalPrice": .integer,
        "currency": .text,
        "eligibleWinBackOfferIds": .list(.text),
        "appTransactionId": .text,
        "appAccountToken": .text,
        "advancedCommerceInfo": .object(AppStoreServerAPI.AdvancedCommerceRenewalInfo.schema),
        "commitmentInfo": .object(AppStoreServerAPI.RenewalCommitmentInfo.schema),
        "renewalBillingPlanType": .text,
        "deviceVerification": .text,
        "deviceVerificationNonce": .text,
    ])
}
