import StoreModel

/// A purchase that a store has made.
public struct StorePurchase: Equatable, Sendable {
    /// The App Store's transaction; `nil` when a subscription gave the product and nothing was paid.
    public let transaction: StoreTransaction?
    /// The customer has paid, and the server has yet to judge. The product may be used until then; see
    /// `StoreConfiguration.localVerifier`.
    public let isPendingAcknowledgement: Bool
}
