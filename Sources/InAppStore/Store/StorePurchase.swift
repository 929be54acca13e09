import StoreModel

/// A purchase that a store has made.
public struct StorePurchase: Equatable, Sendable {
    /// The App Store's transaction; `nil` when a subscription gave the product and nothing was paid.
    public let transaction: StoreTransaction?
    /// Whether the customer has paid, and the server has not decided yet. Until the server decides, the product can be
    /// used provisionally; see `StoreConfiguration.localVerifier`.
    public let isPendingAcknowledgement: Bool
}
