import Foundation

/// A transaction as the store reports it: its fields, and the signed transaction that proves them.
///
/// The fields are not verified. Code that decides about access verifies `signedTransaction` and reads its payload.
public struct StoreTransaction: Hashable, Sendable, Codable {
    /// The identifier of the transaction.
    public var id: TransactionID
    /// The original transaction: the first one of the subscription or purchase.
    public var originalID: TransactionID
    /// The product that was bought.
    public var productID: ProductID
    /// The kind of the product.
    public var kind: ProductType
    /// The date of the purchase or renewal.
    public var purchaseDate: Date
    /// The end of the subscription period, exclusive, or `nil` for a product that does not expire.
    public var expiresDate: Date?
    /// The date on which the store revoked the purchase, or `nil`.
    public var revocationDate: Date?
    /// The number of units that were bought.
    public var quantity: Int
    /// The app account token of the purchase, from the payment or set later by the app's server.
    public var appAccountToken: UUID?
    /// The date of the original transaction.
    public var originalPurchaseDate: Date?
    /// Whether the customer made the purchase or the subscription renewed, or `nil` if the store does not say.
    public var reason: AppStoreServerAPI.TransactionReason?
    /// Whether the customer bought the product, or has it through Family Sharing; `nil` if the store does not say.
    public var ownership: AppStoreServerAPI.InAppOwnershipType?
    /// Whether the customer changed to a higher level before the period ended, or `nil` if the store does not say.
    public var isUpgraded: Bool?
    /// The reason of the revocation, or `nil` if there is no revocation or the store does not say.
    public var revocationReason: AppStoreServerAPI.RevocationReason?
    /// The identifier of the subscription group.
    public var subscriptionGroupID: String?
    /// The offer under which the product was sold, or `nil` for the regular price or if the store does not say.
    public var offer: TransactionOffer?
    /// The signed transaction: a JWS in compact serialization.
    public var signedTransaction: String
    /// The signed renewal info of a subscription: a JWS in compact serialization.
    public var signedRenewalInfo: String?

    /// Creates a transaction.
    ///
    /// - Parameters:
    ///   - id: The identifier of the transaction.
    ///   - originalID: The original transaction: the first one of the subscription or purchase.
    ///   - productID: The product that was bought.
    ///   - kind: The kind of the product.
    ///   - purchaseDate: The date of the purchase or renewal.
    ///   - expiresDate: The end of the subscription period, exclusive, or `nil` for a product that does not expire.
    ///   - revocationDate: The date on which the store revoked the purchase, or `nil`.
    ///   - quantity: The number of units that were bought.
    ///   - appAccountToken: The app account token of the purchase, from the payment or set later by the app's server.
    ///   - originalPurchaseDate: The date of the original transaction.
    ///   - reason: Whether the customer made the purchase or the subscription renewed, or `nil` if the store does not
    ///     say.
    ///   - ownership: Whether the customer bought the product, or has it through Family Sharing; `nil` if the store
    ///     does not say.
    ///   - isUpgraded: Whether the customer changed to a higher level before the period ended, or `nil` if the store
    ///     does not say.
    ///   - revocationReason: The reason of the revocation.
    ///   - subscriptionGroupID: The identifier of the subscription group.
    ///   - offer: The offer under which the product was sold.
    ///   - signedTransaction: The signed transaction: a JWS in compact serialization.
    ///   - signedRenewalInfo: The signed renewal info of a subscription: a JWS in compact serialization.
    public init(
        id: TransactionID, originalID: TransactionID, productID: ProductID, kind: ProductType, purchaseDate: Date,
        expiresDate: Date? = nil, revocationDate: Date? = nil, quantity: Int = 1, appAccountToken: UUID? = nil,
        originalPurchaseDate: Date? = nil, reason: AppStoreServerAPI.TransactionReason? = nil,
        ownership: AppStoreServerAPI.InAppOwnershipType? = nil, isUpgraded: Bool? = nil,
        revocationReason: AppStoreServerAPI.RevocationReason? = nil, subscriptionGroupID: String? = nil,
        offer: TransactionOffer? = nil,
        signedTransaction: String, signedRenewalInfo: String? = nil
    ) {
        self.id = id
        self.originalID = originalID
        self.productID = productID
        self.kind = kind
        self.purchaseDate = purchaseDate
        self.expiresDate = expiresDate
        self.revocationDate = revocationDate
        self.quantity = quantity
        self.appAccountToken = appAccountToken
        self.originalPurchaseDate = originalPurchaseDate
        self.reason = reason
        self.ownership = ownership
        self.isUpgraded = isUpgraded
        self.revocationReason = revocationReason
        self.subscriptionGroupID = subscriptionGroupID
        self.offer = offer
        self.signedTransaction = signedTransaction
        self.signedRenewalInfo = signedRenewalInfo
    }
}

/// The offer under which a period was sold.
public struct TransactionOffer: Hashable, Sendable, Codable {
    /// The kind of the offer.
    public var type: AppStoreServerAPI.OfferType
    /// The identifier of the offer, or `nil` for an introductory offer.
    public var id: String?
    /// The way in which the customer pays for the offer.
    public var paymentMode: AppStoreServerAPI.OfferDiscountType?
    /// The length of one period of the offer.
    public var period: SubscriptionPeriod?

    /// Creates the offer of a transaction.
    ///
    /// - Parameters:
    ///   - type: The kind of the offer.
    ///   - id: The identifier of the offer, or `nil` for an introductory offer.
    ///   - paymentMode: The way in which the customer pays for the offer.
    ///   - period: The length of one period of the offer.
    public init(
        type: AppStoreServerAPI.OfferType, id: String? = nil, paymentMode: AppStoreServerAPI.OfferDiscountType? = nil,
        period: SubscriptionPeriod? = nil
    ) {
        self.type = type
        self.id = id
        self.paymentMode = paymentMode
        self.period = period
    }
}
