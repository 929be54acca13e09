import Foundation

/// Verifies on the device that the store signed a transaction for this app.
///
/// The result is provisional. It acknowledges nothing, and the entitlement server's answer replaces it.
public protocol TransactionVerifier: Sendable {
    /// Returns the content of a signed transaction (JWS). Throws when the store did not sign it, or not for this app.
    func verify(_ signedTransaction: String) async throws -> VerifiedTransaction
}

/// The content of a signed transaction that decides about provisional access. A member is `nil` where the transaction does
/// not have it.
public struct VerifiedTransaction: Hashable, Sendable {
    /// The transaction.
    public var id: TransactionID?
    /// The first transaction of the subscription or purchase.
    public var originalID: TransactionID?
    /// The product.
    public var productID: ProductID?
    /// The kind of product.
    public var kind: ProductType?
    /// The date on which the account was charged.
    public var purchaseDate: Date?
    /// The end of the subscription period, exclusive.
    public var expiresDate: Date?
    /// The date on which the store took the purchase back.
    public var revocationDate: Date?
    /// Whether the customer moved to a higher level of the group, which ended this period.
    public var isUpgraded: Bool
    /// The customer as the app named them at the purchase.
    public var appAccountToken: UUID?

    /// Creates the content of a transaction. A verifier of your own calls this after it has checked the signature.
    ///
    /// - Parameters:
    ///   - id: The transaction.
    ///   - originalID: The first transaction of the subscription or purchase.
    ///   - productID: The product.
    ///   - kind: The kind of product.
    ///   - purchaseDate: The date on which the account was charged.
    ///   - expiresDate: The end of the subscription period, exclusive.
    ///   - revocationDate: The date on which the store took the purchase back.
    ///   - isUpgraded: Whether the customer moved to a higher level of the group, which ended this period.
    ///   - appAccountToken: The customer as the app named them at the purchase.
    public init(
        id: TransactionID?, originalID: TransactionID? = nil, productID: ProductID?, kind: ProductType?,
        purchaseDate: Date?, expiresDate: Date? = nil, revocationDate: Date? = nil, isUpgraded: Bool = false,
        appAccountToken: UUID? = nil
    ) {
        self.id = id
        self.originalID = originalID
        self.productID = productID
        self.kind = kind
        self.purchaseDate = purchaseDate
        self.expiresDate = expiresDate
        self.revocationDate = revocationDate
        self.isUpgraded = isUpgraded
        self.appAccountToken = appAccountToken
    }
}
