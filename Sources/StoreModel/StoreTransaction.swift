import Foundation

/// One transaction as an app sees it: the store's fields, and the signed text that proves them.
///
/// The fields are what the connection reports; whoever decides about access reads `signedTransaction` and verifies it.
public struct StoreTransaction: Hashable, Sendable, Codable {
    public var id: TransactionID
    /// The first transaction of the subscription or purchase that this one belongs to.
    public var originalID: TransactionID
    public var productID: ProductID
    public var kind: StoreProduct.Kind
    public var purchaseDate: Date
    public var expiresDate: Date?
    public var revocationDate: Date?
    public var quantity: Int
    public var appAccountToken: UUID?
    /// The transaction as the store signed it (JWS, compact serialization).
    public var signedTransaction: String
    /// For a subscription, how it will go on, as the store signed it.
    public var signedRenewalInfo: String?

    public init(
        id: TransactionID, originalID: TransactionID, productID: ProductID, kind: StoreProduct.Kind, purchaseDate: Date,
        expiresDate: Date? = nil, revocationDate: Date? = nil, quantity: Int = 1, appAccountToken: UUID? = nil,
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
        self.signedTransaction = signedTransaction
        self.signedRenewalInfo = signedRenewalInfo
    }
}
