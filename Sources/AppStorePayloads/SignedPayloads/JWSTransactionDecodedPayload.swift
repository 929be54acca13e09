import Foundation
import Primitives
import StoreModel

/// The payload of a signed transaction.
public typealias JWSTransactionDecodedPayload = AppStorePayload<JWSTransactionDecodedPayloadFields>

/// The members of ``JWSTransactionDecodedPayload`` that Apple documents.
public final class JWSTransactionDecodedPayloadFields: AppStorePayloadFields {
    public static let layout = PayloadLayout(JWSTransactionDecodedPayloadFields())

    /// The identifier of this transaction.
    public let transactionId = PayloadField<String>("transactionId")
    /// The identifier of the first transaction of the purchase. A subscription keeps it over all renewals.
    public let originalTransactionId = PayloadField<String>("originalTransactionId")
    /// The original transaction identifier that a subscription had before it moved to the Advanced Commerce API.
    public let previousOriginalTransactionId = PayloadField<String>("previousOriginalTransactionId")
    /// The identifier of one subscription period across devices.
    public let webOrderLineItemId = PayloadField<String>("webOrderLineItemId")
    /// The bundle identifier of the app.
    public let bundleId = PayloadField<String>("bundleId")
    /// The identifier of the product.
    public let productId = PayloadField<String>("productId")
    /// The subscription group of the product.
    public let subscriptionGroupIdentifier = PayloadField<String>("subscriptionGroupIdentifier")
    /// The date on which the account was charged.
    public let purchaseDate = PayloadField<Date>("purchaseDate")
    /// The date of the original transaction.
    public let originalPurchaseDate = PayloadField<Date>("originalPurchaseDate")
    /// The end of the subscription period. The subscription is inactive from this instant.
    public let expiresDate = PayloadField<Date>("expiresDate")
    /// The number of units that were bought.
    public let quantity = PayloadField<Int>("quantity")
    /// The kind of product.
    public let type = PayloadField<ProductType>("type")
    /// The UUID that the app attached to the purchase to name its customer. For a string that is not a UUID, this is
    /// `nil`, and `fields` has the string.
    public let appAccountToken = PayloadField<UUID>("appAccountToken")
    /// Whether the customer bought the product or shares it through Family Sharing.
    public let inAppOwnershipType = PayloadField<AppStoreServerAPI.InAppOwnershipType>("inAppOwnershipType")
    /// The date on which the store signed the payload.
    public let signedDate = PayloadField<Date>("signedDate")
    /// The date on which the store refunded the transaction, or revoked it from Family Sharing.
    public let revocationDate = PayloadField<Date>("revocationDate")
    /// The reason of the refund or revocation.
    public let revocationReason = PayloadField<AppStoreServerAPI.RevocationReason>("revocationReason")
    /// The extent of the refund or revocation.
    public let revocationType = PayloadField<AppStoreServerAPI.RevocationType>("revocationType")
    /// The part that was refunded or revoked, in thousandths of a percent.
    public let revocationPercentage = PayloadField<Int>("revocationPercentage")
    /// Whether the customer moved to a higher level of the group.
    public let isUpgraded = PayloadField<Bool>("isUpgraded")
    /// The kind of offer, if the customer used one.
    public let offerType = PayloadField<AppStoreServerAPI.OfferType>("offerType")
    /// The identifier of the promotional or win-back offer, or the offer code.
    public let offerIdentifier = PayloadField<String>("offerIdentifier")
    /// The payment mode of the offer, such as free trial or pay as you go.
    public let offerDiscountType = PayloadField<AppStoreServerAPI.OfferDiscountType>("offerDiscountType")
    /// The length of the offer, as an ISO 8601 duration.
    public let offerPeriod = PayloadField<String>("offerPeriod")
    /// The environment of the store that signed.
    public let environment = PayloadField<AppStoreEnvironment>("environment")
    /// Whether this is a purchase or a renewal.
    public let transactionReason = PayloadField<AppStoreServerAPI.TransactionReason>("transactionReason")
    /// The country of the storefront, as three letters (ISO 3166-1 alpha-3).
    public let storefront = PayloadField<String>("storefront")
    /// Apple's identifier of the storefront.
    public let storefrontId = PayloadField<String>("storefrontId")
    /// The price, in thousandths of the currency unit.
    public let price = PayloadField<Int>("price")
    /// The currency, as an ISO 4217 code.
    public let currency = PayloadField<String>("currency")
    /// The identifier of the app transaction, which is this account's download of the app.
    public let appTransactionId = PayloadField<String>("appTransactionId")
    /// The details of a purchase through the Advanced Commerce API.
    package let advancedCommerceInfo = PayloadField<AppStoreServerAPI.AdvancedCommerceTransactionInfo>(
        "advancedCommerceInfo")
    /// The billing plan of the subscription.
    public let billingPlanType = PayloadField<AppStoreServerAPI.BillingPlanType>("billingPlanType")
    /// The progress of a commitment that is billed monthly.
    public let commitmentInfo = PayloadField<AppStoreServerAPI.TransactionCommitmentInfo>("commitmentInfo")
    /// The seats, if the customer bought several seats of a subscription.
    package let multiSeatInfo = PayloadField<AppStoreServerAPI.TransactionMultiSeatInfo>("multiSeatInfo")
    /// The reason why several transactions represent the subscription period. Absent if one does.
    package let additionalTransactionReason = PayloadField<AppStoreServerAPI.AdditionalTransactionReason>(
        "additionalTransactionReason")
    /// A Base64 value that binds the transaction to the device whose app received it.
    public let deviceVerification = PayloadField<String>("deviceVerification")
    /// The nonce of `deviceVerification`.
    public let deviceVerificationNonce = PayloadField<String>("deviceVerificationNonce")
}

extension AppStoreServerAPI {
    /// The extent of a revocation.
    public typealias RevocationType = OpenEnum<JWSTransactionDecodedPayloadFields>

    /// Whether a subscription period is paid at once or in monthly parts.
    public typealias BillingPlanType = OpenEnum<TransactionCommitmentInfoFields>

    /// The progress of a commitment that is billed monthly.
    public typealias TransactionCommitmentInfo = AppStorePayload<TransactionCommitmentInfoFields>

    /// The members of ``TransactionCommitmentInfo`` that Apple documents.
    public final class TransactionCommitmentInfoFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(TransactionCommitmentInfoFields())

        /// The billing period that this transaction pays, counted from 1.
        public let billingPeriodNumber = PayloadField<Int>("billingPeriodNumber")
        /// The date on which the commitment ends.
        public let commitmentExpiresDate = PayloadField<Date>("commitmentExpiresDate")
        /// The price of the whole commitment, in thousandths of the currency unit.
        public let commitmentPrice = PayloadField<Int>("commitmentPrice")
        /// The number of billing periods.
        public let totalBillingPeriods = PayloadField<Int>("totalBillingPeriods")
    }
}

extension AppStoreServerAPI.RevocationType {
    public static var fullRefund: Self { Self(rawValue: "REFUND_FULL") }
    public static var proratedRefund: Self { Self(rawValue: "REFUND_PRORATED") }
    public static var familyRevoke: Self { Self(rawValue: "FAMILY_REVOKE") }
}

extension AppStoreServerAPI.BillingPlanType {
    public static var monthly: Self { Self(rawValue: "MONTHLY") }
    public static var billedUpfront: Self { Self(rawValue: "BILLED_UPFRONT") }
}
