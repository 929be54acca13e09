import Foundation
import StoreModel

/// Everything that the store knows at one instant, as one consistent state.
public struct StoreSnapshot: Sendable, Equatable {
    /// The customer who owns the purchases.
    public var customer: CustomerID?
    /// The products that the app must give access to.
    public var allowedProducts: Set<String>
    /// The products that were bought and not revoked, without consumables and auto-renewable subscriptions.
    public var purchasedProducts: Set<String>
    /// The products that were acquired on this device through a subscription, and those that subscribers acquire
    /// automatically. They are allowed only while a subscription enables them.
    public var acquiredViaSubscriptionProducts: Set<String>
    /// The union of `purchasedProducts` and `acquiredViaSubscriptionProducts`.
    public var acquiredProducts: Set<String>
    /// The products whose content is on the device, including those without content.
    public var downloadedContentProducts: Set<String>
    /// The effective subscription: an active one, or the one that ended last. It may be a sibling app's.
    public var subscriptionInfo: SubscriptionInfo?
    /// The status of the last validation; `nil` if no answer of a server is known.
    public var receiptValidationStatus: ReceiptValidationStatus?
    /// The status of each app that shares its subscriptions, including this one.
    public var multiAppReceiptValidationStatus: [BundleID: ReceiptValidationStatus]
    /// The language and region of the storefront, once it is known, for example `en_US`.
    public var appStoreLocale: String?
    /// The customer's features with all details, active or not.
    public var features: [CustomerFeature]

    /// Creates a snapshot.
    ///
    /// - Parameters:
    ///   - customer: The customer who owns the purchases.
    ///   - allowedProducts: The products that the app must give access to.
    ///   - purchasedProducts: The products that were bought and not revoked.
    ///   - acquiredViaSubscriptionProducts: The products that were acquired through a subscription.
    ///   - acquiredProducts: The products that were bought or acquired.
    ///   - downloadedContentProducts: The products whose content is on the device.
    ///   - subscriptionInfo: The effective subscription.
    ///   - receiptValidationStatus: The status of the last validation.
    ///   - multiAppReceiptValidationStatus: The status of each app that shares its subscriptions.
    ///   - appStoreLocale: The language and region of the storefront.
    ///   - features: The customer's features, active or not.
    public init(
        customer: CustomerID? = nil, allowedProducts: Set<String> = [], purchasedProducts: Set<String> = [],
        acquiredViaSubscriptionProducts: Set<String> = [], acquiredProducts: Set<String> = [],
        downloadedContentProducts: Set<String> = [], subscriptionInfo: SubscriptionInfo? = nil,
        receiptValidationStatus: ReceiptValidationStatus? = nil,
        multiAppReceiptValidationStatus: [BundleID: ReceiptValidationStatus] = [:], appStoreLocale: String? = nil,
        features: [CustomerFeature] = []
    ) {
        self.customer = customer
        self.allowedProducts = allowedProducts
        self.purchasedProducts = purchasedProducts
        self.acquiredViaSubscriptionProducts = acquiredViaSubscriptionProducts
        self.acquiredProducts = acquiredProducts
        self.downloadedContentProducts = downloadedContentProducts
        self.subscriptionInfo = subscriptionInfo
        self.receiptValidationStatus = receiptValidationStatus
        self.multiAppReceiptValidationStatus = multiAppReceiptValidationStatus
        self.appStoreLocale = appStoreLocale
        self.features = features
    }
}

/// The customer's subscription, and whether it gives access.
public struct SubscriptionInfo: Sendable, Equatable {
    /// The subscription, as the server sent it.
    public var subscription: CustomerSubscription
    /// Whether access has ended, by its expiry or by a revocation.
    public var isExpired: Bool

    /// Creates the information about a subscription.
    ///
    /// - Parameters:
    ///   - subscription: The subscription, as the server sent it.
    ///   - isExpired: Whether access has ended.
    public init(subscription: CustomerSubscription, isExpired: Bool) {
        self.subscription = subscription
        self.isExpired = isExpired
    }

    /// The product of the subscription.
    public var productID: String { subscription.productID.rawValue }
}

/// The status of the last validation.
public struct ReceiptValidationStatus: Sendable, Equatable, Codable {
    /// The environment of the customer's purchases.
    public var environment: StoreEnvironment
    /// When the server gave its last answer, by the store's clock.
    public var validatedAt: Date
    /// When a request failed for the first time since the last success; `nil` after a success.
    public var failingSince: Date?

    /// Creates a status.
    ///
    /// - Parameters:
    ///   - environment: The environment of the customer's purchases.
    ///   - validatedAt: When the server gave its last answer.
    ///   - failingSince: When a request failed for the first time since the last success.
    public init(environment: StoreEnvironment, validatedAt: Date, failingSince: Date? = nil) {
        self.environment = environment
        self.validatedAt = validatedAt
        self.failingSince = failingSince
    }
}
