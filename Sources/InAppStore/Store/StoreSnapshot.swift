import Foundation
import StoreModel

/// Everything the store knows at one instant; one snapshot never mixes two states.
public struct StoreSnapshot: Sendable, Equatable {
    /// Whose purchases these are.
    public var customer: CustomerID?
    /// What the app must give access to.
    public var allowedProducts: Set<String>
    /// Bought, and not taken back: consumables and subscriptions do not count.
    public var purchasedProducts: Set<String>
    /// Acquired on this device through a subscription; allowed only while one enables them.
    public var acquiredViaSubscriptionProducts: Set<String>
    /// The union of the two.
    public var acquiredProducts: Set<String>
    /// Products whose content is on the device, those without any content included.
    public var downloadedContentProducts: Set<String>
    /// The subscription that counts: an active one, else the one that ended last; a sibling app's too if it counts here.
    public var subscriptionInfo: SubscriptionInfo?
    public var receiptValidationStatus: ReceiptValidationStatus?
    /// The same for each app that tells the others of its subscriptions, this one among them.
    public var multiAppReceiptValidationStatus: [BundleID: ReceiptValidationStatus]
    /// Language and region of the storefront, once it is known, for example `en_US`.
    public var appStoreLocale: String?
    /// What the customer may use, by name, with everything known about each.
    public var features: [CustomerFeature]

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

/// The customer's subscription, as the store stated it and as access goes.
public struct SubscriptionInfo: Sendable, Equatable {
    /// What the server said, unchanged.
    public var subscription: CustomerSubscription
    /// No access any more: past the end of access (exclusive), or taken back.
    public var isExpired: Bool

    public init(subscription: CustomerSubscription, isExpired: Bool) {
        self.subscription = subscription
        self.isExpired = isExpired
    }

    public var productID: String { subscription.productID.rawValue }
}

/// What is known of the last validation.
public struct ReceiptValidationStatus: Sendable, Equatable, Codable {
    public var environment: StoreEnvironment
    /// When the server gave its last answer, by the clock of the store.
    public var validatedAt: Date
    /// Since when every attempt has failed; `nil` after a success.
    public var failingSince: Date?

    public init(environment: StoreEnvironment, validatedAt: Date, failingSince: Date? = nil) {
        self.environment = environment
        self.validatedAt = validatedAt
        self.failingSince = failingSince
    }
}
