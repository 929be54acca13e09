import Foundation

/// A subscription of a customer, at whichever system sold it.
public struct Subscription: Hashable, Sendable {
    /// Its identity at a backend that gives it one.
    public var id: UUID?
    public var productIdentifier: String
    /// When the current period began; inclusive.
    public var startDate: Date
    /// When it ends; exclusive.
    public var endDate: Date
    public var state: State
    public var type: Origin
    public var price: Decimal?
    public var currencyCode: String?
    /// The features it gives.
    public var providedFeatures: [String]
    public var originalTransactionID: String?
    /// At most one element: an array, because a value cannot hold itself.
    private var following: [Subscription]

    public init(
        id: UUID? = nil, productIdentifier: String, startDate: Date, endDate: Date, state: State = .active,
        type: Origin = .apple, price: Decimal? = nil, currencyCode: String? = nil, providedFeatures: [String] = [],
        originalTransactionID: String? = nil, next: Subscription? = nil
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
        following = next.map { [$0] } ?? []
    }

    /// The subscription that takes its place when it ends.
    public var next: Subscription? {
        get { following.first }
        set { following = newValue.map { [$0] } ?? [] }
    }

    /// `cancelled`: it will not renew, and lasts until `endDate`.
    public enum State: String, Hashable, Sendable, Codable { case active, expired, cancelled, upcoming }

    /// Which kind of system sold it.
    public enum Origin: String, Hashable, Sendable, Codable { case web, apple, android, other }
}
