import StoreModel

/// What may be read of a store at any moment, without waiting.
public protocol ProductsInfoProvider: Sendable {
    /// Everything at one instant.
    var snapshot: StoreSnapshot { get }
    /// The current snapshot first, then each that differs from the one before.
    var snapshots: AsyncStream<StoreSnapshot> { get }
}

extension ProductsInfoProvider {
    /// The products that the app must give access to.
    public var allowedProducts: Set<String> { snapshot.allowedProducts }
    public var purchasedProducts: Set<String> { snapshot.purchasedProducts }
    public var acquiredViaSubscriptionProducts: Set<String> { snapshot.acquiredViaSubscriptionProducts }
    public var acquiredProducts: Set<String> { snapshot.acquiredProducts }
    public var downloadedContentProducts: Set<String> { snapshot.downloadedContentProducts }
    public var subscriptionInfo: SubscriptionInfo? { snapshot.subscriptionInfo }
    public var receiptValidationStatus: ReceiptValidationStatus? { snapshot.receiptValidationStatus }
    public var appStoreLocale: String? { snapshot.appStoreLocale }
}
