import Foundation
import Primitives

/// What a signed transaction says. Apple's names; dates are milliseconds since 1970 in the JSON.
public struct JWSTransactionDecodedPayload: AppStorePayload {
    public var fields: JSONMembers
    public init(unchecked fields: JSONMembers) { self.fields = fields }

    /// Every argument left out is absent from the JSON.
    public init(
        transactionId: String? = nil,
        originalTransactionId: String? = nil,
        previousOriginalTransactionId: String? = nil,
        webOrderLineItemId: String? = nil,
        bundleId: String? = nil,
        productId: String? = nil,
        subscriptionGroupIdentifier: String? = nil,
        purchaseDate: Date? = nil,
        originalPurchaseDate: Date? = nil,
        expiresDate: Date? = nil,
        quantity: Int? = nil,
        type: AppStoreServerAPI.ProductType? = nil,
        appAccountToken: UUID? = nil,
        inAppOwnershipType: AppStoreServerAPI.InAppOwnershipType? = nil,
        signedDate: Date? = nil,
        revocationDate: Date? = nil,
        revocationReason: AppStoreServerAPI.RevocationReason? = nil,
        revocationType: AppStoreServerAPI.RevocationType? = nil,
        revocationPercentage: Int? = nil,
        isUpgraded: Bool? = nil,
        offerType: AppStoreServerAPI.OfferType? = nil,
        offerIdentifier: String? = nil,
        offerDiscountType: AppStoreServerAPI.OfferDiscountType? = nil,
        offerPeriod: String? = nil,
        environment: AppStoreEnvironment? = nil,
        transactionReason: AppStoreServerAPI.TransactionReason? = nil,
        storefront: String? = nil,
        storefrontId: String? = nil,
        price: Int? = nil,
        currency: String? = nil,
        appTransactionId: String? = nil,
        advancedCommerceInfo: AppStoreServerAPI.AdvancedCommerceTransactionInfo? = nil,
        billingPlanType: AppStoreServerAPI.BillingPlanType? = nil,
        commitmentInfo: AppStoreServerAPI.TransactionCommitmentInfo? = nil,
        deviceVerification: String? = nil,
        deviceVerificationNonce: String? = nil
    ) {
        fields = [:]
        self.transactionId = transactionId
        self.originalTransactionId = originalTransactionId
        self.previousOriginalTransactionId = previousOriginalTransactionId
        self.webOrderLineItemId = webOrderLineItemId
        self.bundleId = bundleId
        self.productId = productId
        self.subscriptionGroupIdentifier = subscriptionGroupIdentifier
        self.purchaseDate = purchaseDate
        self.originalPurchaseDate = originalPurchaseDate
        self.expiresDate = expiresDate
        self.quantity = quantity
        self.type = type
        self.appAccountToken = appAccountToken
        self.inAppOwnershipType = inAppOwnershipType
        self.signedDate = signedDate
        self.revocationDate = revocationDate
        self.revocationReason = revocationReason
        self.revocationType = revocationType
        self.revocationPercentage = revocationPercentage
        self.isUpgraded = isUpgraded
        self.offerType = offerType
        self.offerIdentifier = offerIdentifier
        self.offerDiscountType = offerDiscountType
        self.offerPeriod = offerPeriod
        self.environment = environment
        self.transactionReason = transactionReason
        self.storefront = storefront
        self.storefrontId = storefrontId
        self.price = price
        self.currency = currency
        self.appTransactionId = appTransactionId
        self.advancedCommerceInfo = advancedCommerceInfo
        self.billingPlanType = billingPlanType
        self.commitmentInfo = commitmentInfo
        self.deviceVerification = deviceVerification
        self.deviceVerificationNonce = deviceVerificationNonce
    }

    /// The identifier of this transaction.
    public var transactionId: String? {
        get { self["transactionId"] }
        set { self["transactionId"] = newValue }
    }

    /// The identifier of the first transaction of the purchase; a subscription keeps it over all renewals.
    public var originalTransactionId: String? {
        get { self["originalTransactionId"] }
        set { self["originalTransactionId"] = newValue }
    }

    /// The original transaction identifier a subscription had before it was migrated to the Advanced Commerce API.
    public var previousOriginalTransactionId: String? {
        get { self["previousOriginalTransactionId"] }
        set { self["previousOriginalTransactionId"] = newValue }
    }

    /// The identifier of one subscription period across devices.
    public var webOrderLineItemId: String? {
        get { self["webOrderLineItemId"] }
        set { self["webOrderLineItemId"] = newValue }
    }

    /// The app.
    public var bundleId: String? {
        get { self["bundleId"] }
        set { self["bundleId"] = newValue }
    }

    /// The product.
    public var productId: String? {
        get { self["productId"] }
        set { self["productId"] = newValue }
    }

    /// The subscription group of the product.
    public var subscriptionGroupIdentifier: String? {
        get { self["subscriptionGroupIdentifier"] }
        set { self["subscriptionGroupIdentifier"] = newValue }
    }

    /// When the account was charged.
    public var purchaseDate: Date? {
        get { self["purchaseDate"] }
        set { self["purchaseDate"] = newValue }
    }

    /// When the original transaction was made.
    public var originalPurchaseDate: Date? {
        get { self["originalPurchaseDate"] }
        set { self["originalPurchaseDate"] = newValue }
    }

    /// When the subscription period ends; at that instant it is over.
    public var expiresDate: Date? {
        get { self["expiresDate"] }
        set { self["expiresDate"] = newValue }
    }

    /// How many consumables were bought.
    public var quantity: Int? {
        get { self["quantity"] }
        set { self["quantity"] = newValue }
    }

    /// The kind of product.
    public var type: AppStoreServerAPI.ProductType? {
        get { self["type"] }
        set { self["type"] = newValue }
    }

    /// The customer as the app named them at the purchase. A text that is no UUID reads as `nil` and stays in
    /// `fields`.
    public var appAccountToken: UUID? {
        get { self["appAccountToken"] }
        set { self["appAccountToken"] = newValue }
    }

    /// Bought, or shared by the family.
    public var inAppOwnershipType: AppStoreServerAPI.InAppOwnershipType? {
        get { self["inAppOwnershipType"] }
        set { self["inAppOwnershipType"] = newValue }
    }

    /// When the store signed this.
    public var signedDate: Date? {
        get { self["signedDate"] }
        set { self["signedDate"] = newValue }
    }

    /// When the store took the purchase back.
    public var revocationDate: Date? {
        get { self["revocationDate"] }
        set { self["revocationDate"] = newValue }
    }

    /// Why it was taken back.
    public var revocationReason: AppStoreServerAPI.RevocationReason? {
        get { self["revocationReason"] }
        set { self["revocationReason"] = newValue }
    }

    /// How far the revocation reaches.
    public var revocationType: AppStoreServerAPI.RevocationType? {
        get { self["revocationType"] }
        set { self["revocationType"] = newValue }
    }

    /// The part that was refunded, in thousandths of a percent.
    public var revocationPercentage: Int? {
        get { self["revocationPercentage"] }
        set { self["revocationPercentage"] = newValue }
    }

    /// Whether the customer moved to a higher level of the group.
    public var isUpgraded: Bool? {
        get { self["isUpgraded"] }
        set { self["isUpgraded"] = newValue }
    }

    /// The kind of offer it was sold under.
    public var offerType: AppStoreServerAPI.OfferType? {
        get { self["offerType"] }
        set { self["offerType"] = newValue }
    }

    /// The promotional offer or offer code.
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

    /// The store that signed.
    public var environment: AppStoreEnvironment? {
        get { self["environment"] }
        set { self["environment"] = newValue }
    }

    /// Purchase or renewal.
    public var transactionReason: AppStoreServerAPI.TransactionReason? {
        get { self["transactionReason"] }
        set { self["transactionReason"] = newValue }
    }

    /// The country of the store, three letters (ISO 3166-1 alpha-3).
    public var storefront: String? {
        get { self["storefront"] }
        set { self["storefront"] = newValue }
    }

    /// Apple's number of that store.
    public var storefrontId: String? {
        get { self["storefrontId"] }
        set { self["storefrontId"] = newValue }
    }

    /// The price in thousandths of the currency unit.
    public var price: Int? {
        get { self["price"] }
        set { self["price"] = newValue }
    }

    /// The currency, ISO 4217.
    public var currency: String? {
        get { self["currency"] }
        set { self["currency"] = newValue }
    }

    /// The identifier of the app's download by this account.
    public var appTransactionId: String? {
        get { self["appTransactionId"] }
        set { self["appTransactionId"] = newValue }
    }

    /// What the Advanced Commerce API adds.
    public var advancedCommerceInfo: AppStoreServerAPI.AdvancedCommerceTransactionInfo? {
        get { self["advancedCommerceInfo"] }
        set { self["advancedCommerceInfo"] = newValue }
    }

    /// How the subscription is billed.
    public var billingPlanType: AppStoreServerAPI.BillingPlanType? {
        get { self["billingPlanType"] }
        set { self["billingPlanType"] = newValue }
    }

    /// Where a monthly billed commitment stands.
    public var commitmentInfo: AppStoreServerAPI.TransactionCommitmentInfo? {
        get { self["commitmentInfo"] }
        set { self["commitmentInfo"] = newValue }
    }

    /// Binds a transaction given to an app to its device, base64.
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
        "transactionId": .text,
        "originalTransactionId": .text,
        "previousOriginalTransactionId": .text,
        "webOrderLineItemId": .text,
        "bundleId": .text,
        "productId": .text,
        "subscriptionGroupIdentifier": .text,
        "purchaseDate": .date,
        "originalPurchaseDate": .date,
        "expiresDate": .date,
        "quantity": .integer,
        "type": .text,
        "appAccountToken": .text,
        "inAppOwnershipType": .text,
        "signedDate": .date,
        "revocationDate": .date,
        "revocationReason": .integer,
        "revocationType": .text,
        "revocationPercentage": .integer,
        "isUpgraded": .boolean,
        "offerType": .integer,
        "offerIdentifier": .text,
        "offerDiscountType": .text,
        "offerPeriod": .text,
        "environment": .text,
        "transactionReason": .text,
        "storefront": .text,
        "storefrontId": .text,
        "price": .integer,
        "currency": .text,
        "appTransactionId": .text,
        "advancedCommerceInfo": .object(AppStoreServerAPI.AdvancedCommerceTransactionInfo.schema),
        "billingPlanType": .text,
        "commitmentInfo": .object(AppStoreServerAPI.TransactionCommitmentInfo.schema),
        "deviceVerification": .text,
        "deviceVerificationNonce": .text,
    ])
}
