import StoreModel

/// What may be read of a store at any moment, without waiting.
public protocol ProductsInfoProvider: Sendable {
    /// Everything at one instant.
    var snapshot: StoreSnapshot { get }
    /// The current snapshot first, then each that differs from the one before.
    var snapshots: AsyncStream<StoreSnapshot> { get }
    /// Whether a subscription of this product counts in several apps.
    func isMultiAppSubscription(_ productIdentifier: String) -> Bool
}

extension ProductsInfoProvider {
    /// No: who shares nothing with other apps need not say so.
    public func isMultiAppSubscription(_ productIdentifier: String) -> Bool { false }

    /// The products that the app must give access to.
    public var allowedProducts: Set<String> { snapshot.allowedProducts }
    public var purchasedProducts: Set<String> { snapshot.purchasedProducts }
    public var acquiredViaSubscriptionProducts: Set<String> { snapshot.acquiredViaSubscriptionProducts }
    public var acquiredProducts: Set<String> { snapshot.acquiredProducts }
    public var downloadedContentProducts: Set<String> { snapshot.downloadedContentProducts }
    public var subscriptionInfo: SubscriptionInfo? { snapshot.subscriptionInfo }
    public var receiptValidationStatus: ReceiptValidationStatus? { snapshot.receiptValidationStatus }
    public var multiAppReceiptValidationStatus: [BundleID: ReceiptValidationStatus] {
        snapshot.multiAppReceiptValidationStatus
    }
    public var appStoreLocale: String? { snapshot.appStoreLocale }
}
