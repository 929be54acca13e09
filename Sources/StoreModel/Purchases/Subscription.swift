import Foundation

/// A subscription of a customer, from any system that sells subscriptions.
public struct Subscription: Hashable, Sendable {
    /// The id of the subscription at the backend, if it has one.
    public var id: UUID?
    /// The identifier of the product.
    public var productIdentifier: String
    /// The first instant of the current period, or the date of the first transaction if only that date is known.
    public var startDate: Date
    /// The end of the current period, exclusive. From the entitlement server, it is the end of access, which a grace
    /// period makes later and a revocation earlier.
    public var endDate: Date
    /// The state of the subscription.
    public var state: State
    /// The system that sold the subscription.
    public var type: Origin
    /// The price of the current period, or `nil` if it is unknown.
    public var price: Decimal?
    /// The ISO 4217 code of the currency.
    public var currencyCode: String?
    /// The names of the features that the subscription gives.
    public var providedFeatures: [String]
    /// The original transaction of the subscription at its store.
    public var originalTransactionID: String?
    /// The page of the store on which the customer changes and cancels the subscription, or `nil` if it is unknown. It
    /// is that of the store that sold the subscription, which can be another one than that of the device.
    public var managementURL: String?
    /// The next subscription, in an array because a value cannot contain itself.
    private var following: [Subscription]

    /// Creates a subscription.
    ///
    /// - Parameters:
    ///   - id: The id of the subscription at the backend, if it has one.
    ///   - productIdentifier: The identifier of the product.
    ///   - startDate: The first instant of the current period, or the date of the first transaction.
    ///   - endDate: The end of the current period, exclusive.
    ///   - state: The state of the subscription.
    ///   - type: The system that sold the subscription.
    ///   - price: The price of the current period.
    ///   - currencyCode: The ISO 4217 code of the currency.
    ///   - providedFeatures: The names of the features that the subscription gives.
    ///   - originalTransactionID: The original transaction of the subscription at its store.
    ///   - managementURL: The page of the store on which the customer changes and cancels the subscription.
    ///   - next: The subscription that replaces this one when it ends.
    public init(
        id: UUID? = nil, productIdentifier: String, startDate: Date, endDate: Date, state: State = .active,
        type: Origin = .apple, price: Decimal? = nil, currencyCode: String? = nil, providedFeatures: [String] = [],
        originalTransactionID: String? = nil, managementURL: String? = nil, next: Subscription? = nil
    ) {
        self.id = id
        self.productIdentifier = productIdentifier
        self.startDate = startDate
        self.endDate = endDate
        self.state = state
        self.type = type
        self.price = price
        self.currencyCode = currencyCode
        self.providedFeatures = providedFeatures
        self.originalTransactionID = originalTransactionID
        self.managementURL = managementURL
        following = next.map { [$0] } ?? []
    }

    /// The subscription that replaces this one when it ends, or `nil` if none is known.
    public var next: Subscription? {
        get { following.first }
        set { following = newValue.map { [$0] } ?? [] }
    }

    /// The state of a subscription. A `cancelled` subscription does not renew and lasts until `endDate`.
    public enum State: String, Hashable, Sendable, Codable { case active, expired, cancelled, upcoming }

    /// The kind of system that sold a subscription.
    public enum Origin: String, Hashable, Sendable, Codable { case web, apple, android, other }
}
