import Foundation

/// Verifies on the device that the store signed a transaction for this app.
///
/// The result is provisional. It acknowledges nothing, and the answer of the entitlement server replaces it.
public protocol TransactionVerifier: Sendable {
    /// Verifies a signed transaction.
    ///
    /// - Parameter signedTransaction: A JWS in compact serialization.
    /// - Returns: The content of the transaction.
    /// - Throws: An error if the store did not sign the transaction, or not for this app.
    func verify(_ signedTransaction: String) async throws -> VerifiedTransaction
}

/// The fields of a signed transaction that decide about provisional access. A property is `nil` if the transaction does
/// not have it.
public struct VerifiedTransaction: Hashable, Sendable {
    /// The identifier of the transaction.
    public var id: TransactionID?
    /// The original transaction of the subscription or purchase.
    public var originalID: TransactionID?
    /// The product that was bought.
    public var productID: ProductID?
    /// The kind of the product.
    public var kind: ProductType?
    /// The date on which the account was charged.
    public var purchaseDate: Date?
    /// The end of the subscription period, exclusive.
    public var expiresDate: Date?
    /// The date on which the store revoked the purchase.
    public var revocationDate: Date?
    /// Whether the customer changed to a higher level of the group, which ended this period.
    public var isUpgraded: Bool
    /// The app account token of the purchase.
    public var appAccountToken: UUID?

    /// Creates the content of a transaction. Your own verifier calls this after it has checked the signature.
    ///
    /// - Parameters:
    ///   - id: The identifier of the transaction.
    ///   - originalID: The original transaction of the subscription or purchase.
    ///   - productID: The product that was bought.
    ///   - kind: The kind of the product.
    ///   - purchaseDate: The date on which the account was charged.
    ///   - expiresDate: The end of the subscription period, exclusive.
    ///   - revocationDate: The date on which the store revoked the purchase.
    ///   - isUpgraded: Whether the customer changed to a higher level of the group, which ended this period.
    ///   - appAccountToken: The app account token of the purchase.
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
