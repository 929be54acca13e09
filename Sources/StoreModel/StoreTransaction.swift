import Foundation

/// One transaction as an app sees it: the store's fields, and the signed text that proves them.
///
/// The fields are what the connection reports; whoever decides about access reads `signedTransaction` and verifies it.
public struct StoreTransaction: Hashable, Sendable, Codable {
    public var id: TransactionID
    /// The first transaction of the subscription or purchase that this one belongs to.
    public var originalID: TransactionID
    public var productID: ProductID
    /// The kind of the product.
    public var kind: ProductType
    public var purchaseDate: Date
    public var expiresDate: Date?
    public var revocationDate: Date?
    public var quantity: Int
    public var appAccountToken: UUID?
    /// When the purchase was first made; for a renewal that of its subscription.
    public var originalPurchaseDate: Date?
    /// Whether somebody bought it or a subscription renewed itself; `nil` where the store does not say.
    public var reason: AppStoreServerAPI.TransactionReason?
    /// Whether it is the customer's own or their family's; `nil` where the store does not say.
    public var ownership: AppStoreServerAPI.InAppOwnershipType?
    /// The customer went on to a higher level before this period ended; `nil` where the store does not say.
    public var isUpgraded: Bool?
    public var revocationReason: AppStoreServerAPI.RevocationReason?
    public var subscriptionGroupID: String?
    /// The offer it was sold under.
    public var offer: TransactionOffer?
    /// The transaction as the store signed it (JWS, compact serialization).
    public var signedTransaction: String
    /// For a subscription, how it will go on, as the store signed it.
    public var signedRenewalInfo: String?

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

/// The offer a period was sold under.
public struct TransactionOffer: Hashable, Sendable, Codable {
    public var type: AppStoreServerAPI.OfferType
    /// `nil` for an introductory offer.
    public var id: String?
    public var paymentMode: AppStoreServerAPI.OfferDiscountType?
    public var period: SubscriptionPeriod?

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
