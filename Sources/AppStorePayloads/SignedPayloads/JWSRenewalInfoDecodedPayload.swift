import Foundation
import Primitives
import StoreModel

/// The payload of a signed renewal info: the next period of a subscription. It has no bundle identifier; the original
/// transaction id connects it to its subscription.
public typealias JWSRenewalInfoDecodedPayload = AppStorePayload<JWSRenewalInfoDecodedPayloadFields>

/// The members of ``JWSRenewalInfoDecodedPayload`` that Apple documents.
public final class JWSRenewalInfoDecodedPayloadFields: AppStorePayloadFields {
    public static let layout = PayloadLayout(JWSRenewalInfoDecodedPayloadFields())

    /// The identifier of the original transaction.
    public let originalTransactionId = PayloadField<String>("originalTransactionId")
    /// The product of the current period.
    public let productId = PayloadField<String>("productId")
    /// The product that renews next.
    public let autoRenewProductId = PayloadField<String>("autoRenewProductId")
    /// Whether the subscription will renew.
    public let autoRenewStatus = PayloadField<AppStoreServerAPI.AutoRenewStatus>("autoRenewStatus")
    /// The reason why the subscription ended.
    public let expirationIntent = PayloadField<AppStoreServerAPI.ExpirationIntent>("expirationIntent")
    /// Whether the store is still trying to charge the account.
    public let isInBillingRetryPeriod = PayloadField<Bool>("isInBillingRetryPeriod")
    /// The end of the grace period, in which access continues although the charge failed.
    public let gracePeriodExpiresDate = PayloadField<Date>("gracePeriodExpiresDate")
    /// The answer to a price increase.
    public let priceIncreaseStatus = PayloadField<AppStoreServerAPI.PriceIncreaseStatus>("priceIncreaseStatus")
    /// The kind of offer of the next period.
    public let offerType = PayloadField<AppStoreServerAPI.OfferType>("offerType")
    /// The identifier of the promotional or win-back offer of the next period, or the offer code.
    public let offerIdentifier = PayloadField<String>("offerIdentifier")
    /// The payment mode of the offer, such as free trial or pay as you go.
    public let offerDiscountType = PayloadField<AppStoreServerAPI.OfferDiscountType>("offerDiscountType")
    /// The length of the offer, as an ISO 8601 duration.
    public let offerPeriod = PayloadField<String>("offerPeriod")
    /// The date on which the store signed the payload.
    public let signedDate = PayloadField<Date>("signedDate")
    /// The environment of the store that signed.
    public let environment = PayloadField<AppStoreEnvironment>("environment")
    /// The start of the current series of periods. A lapse of up to 60 days does not end a series.
    public let recentSubscriptionStartDate = PayloadField<Date>("recentSubscriptionStartDate")
    /// The start of the next period.
    public let renewalDate = PayloadField<Date>("renewalDate")
    /// The price of the next period, in thousandths of the currency unit.
    public let renewalPrice = PayloadField<Int>("renewalPrice")
    /// The currency, as an ISO 4217 code.
    public let currency = PayloadField<String>("currency")
    /// The win-back offers that this customer may take, best first.
    public let eligibleWinBackOfferIds = PayloadField<[String]>("eligibleWinBackOfferIds")
    /// The identifier of the app transaction, which is this account's download of the app.
    public let appTransactionId = PayloadField<String>("appTransactionId")
    /// The UUID with which the app named the customer. For a string that is not a UUID, this is `nil`, and `fields` has
    /// the string.
    public let appAccountToken = PayloadField<UUID>("appAccountToken")
    /// The details of a purchase through the Advanced Commerce API.
    package let advancedCommerceInfo = PayloadField<AppStoreServerAPI.AdvancedCommerceRenewalInfo>(
        "advancedCommerceInfo")
    /// The next commitment, if the current one is billed monthly.
    public let commitmentInfo = PayloadField<AppStoreServerAPI.RenewalCommitmentInfo>("commitmentInfo")
    /// The billing plan of the next period.
    public let renewalBillingPlanType = PayloadField<AppStoreServerAPI.BillingPlanType>("renewalBillingPlanType")
    /// The seats of the next period, if the subscription renews with several seats.
    package let multiSeatInfo = PayloadField<AppStoreServerAPI.RenewalMultiSeatInfo>("multiSeatInfo")
    /// The number of seats of the next period.
    package let renewalQuantity = PayloadField<Int>("renewalQuantity")
    /// A Base64 value that binds the renewal info to the device whose app received it.
    public let deviceVerification = PayloadField<String>("deviceVerification")
    /// The nonce of `deviceVerification`.
    public let deviceVerificationNonce = PayloadField<String>("deviceVerificationNonce")
}

extension AppStoreServerAPI {
    /// Whether the subscription will renew.
    public typealias AutoRenewStatus = OpenCode<JWSRenewalInfoDecodedPayloadFields>

    /// The reason why a subscription ended.
    public struct ExpirationIntent: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let customerCancelled = Self(rawValue: 1)
        public static let billingError = Self(rawValue: 2)
        public static let priceIncreaseDeclined = Self(rawValue: 3)
        public static let productUnavailable = Self(rawValue: 4)
        public static let other = Self(rawValue: 5)
    }

    /// The answer of the customer to a price increase. `accepted` also states that the customer was informed of an
    /// increase that needs no consent.
    public struct PriceIncreaseStatus: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let pending = Self(rawValue: 0)
        public static let accepted = Self(rawValue: 1)
    }

    /// The next commitment, if the current one is billed monthly.
    public typealias RenewalCommitmentInfo = AppStorePayload<RenewalCommitmentInfoFields>

    /// The members of ``RenewalCommitmentInfo`` that Apple documents.
    public final class RenewalCommitmentInfoFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(RenewalCommitmentInfoFields())

        /// The product of the next commitment.
        public let commitmentAutoRenewProductId = PayloadField<String>("commitmentAutoRenewProductId")
        /// Whether the commitment renews.
        public let commitmentAutoRenewStatus = PayloadField<AutoRenewStatus>("commitmentAutoRenewStatus")
        /// The billing plan of the next commitment.
        public let commitmentRenewalBillingPlanType = PayloadField<BillingPlanType>(
            "commitmentRenewalBillingPlanType")
        /// The date on which the commitment renews.
        public let commitmentRenewalDate = PayloadField<Date>("commitmentRenewalDate")
        /// The price of the next commitment, in thousandths of the currency unit.
        public let commitmentRenewalPrice = PayloadField<Int>("commitmentRenewalPrice")
    }
}

extension AppStoreServerAPI.AutoRenewStatus {
    public static var off: Self { Self(rawValue: 0) }
    public static var on: Self { Self(rawValue: 1) }
}
