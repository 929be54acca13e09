/// The latest status of a subscription at the store (Apple: `Product.SubscriptionInfo.Status`).
public struct StoreSubscriptionStatus: Hashable, Sendable, Codable {
    /// The group of the subscription.
    public var subscriptionGroupID: String
    /// Active, expired, in billing retry, in the grace period or revoked.
    public var status: AppStoreServerAPI.Status
    /// The latest transaction of the subscription, with its renewal info.
    public var transaction: StoreTransaction

    /// Creates a status.
    ///
    /// - Parameters:
    ///   - subscriptionGroupID: The group of the subscription.
    ///   - status: Active, expired, in billing retry, in the grace period or revoked.
    ///   - transaction: The latest transaction of the subscription, with its renewal info.
    public init(
        subscriptionGroupID: String, status: AppStoreServerAPI.Status, transaction: StoreTransaction
    ) {
        self.subscriptionGroupID = subscriptionGroupID
        self.status = status
        self.transaction = transaction
    }
}
