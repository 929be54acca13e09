import StoreModel

/// The state of a store, readable at any time without waiting.
public protocol ProductsInfoProvider: Sendable {
    /// The whole state at one instant.
    var snapshot: StoreSnapshot { get }
    /// The current snapshot first, then each change.
    var snapshots: AsyncStream<StoreSnapshot> { get }
    /// Returns whether a subscription of the product `productIdentifier` counts in several apps.
    func isMultiAppSubscription(_ productIdentifier: String) -> Bool
}

extension ProductsInfoProvider {
    /// Returns `false` for every `productIdentifier`, for stores that share no subscriptions with other apps.
    public func isMultiAppSubscription(_ productIdentifier: String) -> Bool { false }

    /// The products that the app must give access to.
    public var allowedProducts: Set<String> { snapshot.allowedProducts }
    /// The products that the customer bought and still owns, without consumables and auto-renewable subscriptions.
    public var purchasedProducts: Set<String> { snapshot.purchasedProducts }
    /// The products that the customer acquired on this device through a subscription, and those that subscribers
    /// acquire automatically.
    public var acquiredViaSubscriptionProducts: Set<String> { snapshot.acquiredViaSubscriptionProducts }
    /// The products that the customer bought or acquired.
    public var acquiredProducts: Set<String> { snapshot.acquiredProducts }
    /// The products whose content is on the device, including those without content.
    public var downloadedContentProducts: Set<String> { snapshot.downloadedContentProducts }
    /// The customer's effective subscription; `nil` if the customer has and had none.
    public var subscriptionInfo: SubscriptionInfo? { snapshot.subscriptionInfo }
    /// The status of the last validation; `nil` if no answer of a server is known.
    public var receiptValidationStatus: ReceiptValidationStatus? { snapshot.receiptValidationStatus }
    /// The status of the last validation of each app that shares its subscriptions, including this one.
    public var multiAppReceiptValidationStatus: [BundleID: ReceiptValidationStatus] {
        snapshot.multiAppReceiptValidationStatus
    }
    /// The language and region of the storefront, once it is known.
    public var appStoreLocale: String? { snapshot.appStoreLocale }
}
