import Foundation
import Primitives

/// What the entitlement server answers about one customer (WIRE.md, `Customer`).
public struct Customer: Codable, Hashable, Sendable {
    public var customer: CustomerID
    public var environment: StoreEnvironment
    /// The instant for which the answer is true.
    public var asOf: Date
    /// The next instant at which anything in the answer changes by itself; absent if nothing will.
    public var validUntil: Date?
    public var features: [CustomerFeature]
    public var subscriptions: [CustomerSubscription]
    public var purchases: [CustomerPurchase]
    public var managementURL: String?

    public init(
        customer: CustomerID, environment: StoreEnvironment, asOf: Date, validUntil: Date? = nil,
        features: [CustomerFeature] = [], subscriptions: [CustomerSubscription] = [],
        purchases: [CustomerPurchase] = [], managementURL: String? = nil
    ) {
        self.customer = customer
        self.environment = environment
        self.asOf = asOf
        self.validUntil = validUntil
        self.features = features
        self.subscriptions = subscriptions
        self.purchases = purchases
        self.managementURL = managementURL
    }

    /// WIRE.md shows `managementURL` as null when there is none.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(customer, forKey: .customer)
        try container.encode(environment, forKey: .environment)
        try container.encode(asOf, forKey: .asOf)
        try container.encodeIfPresent(validUntil, forKey: .validUntil)
        try container.encode(features, forKey: .features)
        try container.encode(subscriptions, forKey: .subscriptions)
        try container.encode(purchases, forKey: .purchases)
        try container.encode(managementURL, forKey: .managementURL)
    }
}

/// Where a purchase was made.
public struct PurchaseSource: ExactText, Codable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let appStore = PurchaseSource(rawValue: "appStore")
    public static let web = PurchaseSource(rawValue: "web")
    public static let grant = PurchaseSource(rawValue: "grant")
    public static let googlePlay = PurchaseSource(rawValue: "googlePlay")
}

public struct CustomerFeature: Codable, Hashable, Sendable {
    public var name: String
    public var isActive: Bool
    public var from: Date
    /// When the store's own period ends; absent for what does not end.
    public var until: Date?
    /// When access ends, the store's grace period and billing retry included; exclusive.
    public var effectiveUntil: Date?
    public var source: PurchaseSource
    public var productID: ProductID?
    public var originalTransactionID: TransactionID?
    /// The reason in words, for example `active subscription, renews`.
    public var because: String
    /// For a grant, its id: what `DELETE …/grants/{id}` takes.
    public var grantID: String?

    public init(
        name: String, isActive: Bool, from: Date, until: Date? = nil, effectiveUntil: Date? = nil,
        source: PurchaseSource, productID: ProductID? = nil, originalTransactionID: TransactionID? = nil,
        because: String, grantID: String? = nil
    ) {
        self.name = name
        self.isActive = isActive
        self.from = from
        self.until = until
        self.effectiveUntil = effectiveUntil
        self.source = source
        self.productID = productID
        self.originalTransactionID = originalTransactionID
        self.because = because
        self.grantID = grantID
    }
}

public struct CustomerSubscription: Codable, Hashable, Sendable {
    public var productID: ProductID
    public var originalTransactionID: TransactionID
    public var groupID: String?
    public var state: State
    public var startedAt: Date
    public var expiresAt: Date
    public var effectiveUntil: Date
    /// `nil` when the store has not said.
    public var autoRenews: Bool?
    public var renewsTo: ProductID?
    public var isTrial: Bool
    public var isIntroductory: Bool
    public var gracePeriodUntil: Date?
    public var cancelledAt: Date?
    public var revokedAt: Date?
    public var price: Price?
    public var source: PurchaseSource

    public init(
        productID: ProductID, originalTransactionID: TransactionID, groupID: String? = nil, state: State,
        startedAt: Date, expiresAt: Date, effectiveUntil: Date, autoRenews: Bool? = nil, renewsTo: ProductID? = nil,
        isTrial: Bool = false, isIntroductory: Bool = false, gracePeriodUntil: Date? = nil, cancelledAt: Date? = nil,
        revokedAt: Date? = nil, price: Price? = nil, source: PurchaseSource = .appStore
    ) {
        self.productID = productID
        self.originalTransactionID = originalTransactionID
        self.groupID = groupID
        self.state = state
        self.startedAt = startedAt
        self.expiresAt = expiresAt
        self.effectiveUntil = effectiveUntil
        self.autoRenews = autoRenews
        self.renewsTo = renewsTo
        self.isTrial = isTrial
        self.isIntroductory = isIntroductory
        self.gracePeriodUntil = gracePeriodUntil
        self.cancelledAt = cancelledAt
        self.revokedAt = revokedAt
        self.price = price
        self.source = source
    }

    /// The state of a subscription, from an open list.
    public typealias State = OpenEnum<CustomerSubscription>

    /// WIRE.md shows the three dates that may be null as null, not absent.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(productID, forKey: .productID)
        try container.encode(originalTransactionID, forKey: .originalTransactionID)
        try container.encodeIfPresent(groupID, forKey: .groupID)
        try container.encode(state, forKey: .state)
        try container.encode(startedAt, forKey: .startedAt)
        try container.encode(expiresAt, forKey: .expiresAt)
        try container.encode(effectiveUntil, forKey: .effectiveUntil)
        try container.encodeIfPresent(autoRenews, forKey: .autoRenews)
        try container.encodeIfPresent(renewsTo, forKey: .renewsTo)
        try container.encode(isTrial, forKey: .isTrial)
        try container.encode(isIntroductory, forKey: .isIntroductory)
        try container.encode(gracePeriodUntil, forKey: .gracePeriodUntil)
        try container.encode(cancelledAt, forKey: .cancelledAt)
        try container.encode(revokedAt, forKey: .revokedAt)
        try container.encodeIfPresent(price, forKey: .price)
        try container.encode(source, forKey: .source)
    }
}

public struct CustomerPurchase: Codable, Hashable, Sendable {
    public var productID: ProductID
    public var transactionID: TransactionID
    public var originalTransactionID: TransactionID
    /// The kind of the product.
    public var kind: ProductType
    public var purchasedAt: Date
    public var quantity: Int
    public var revokedAt: Date?
    public var source: PurchaseSource

    public init(
        productID: ProductID, transactionID: TransactionID, originalTransactionID: TransactionID,
        kind: ProductType, purchasedAt: Date, quantity: Int = 1, revokedAt: Date? = nil,
        source: PurchaseSource = .appStore
    ) {
        self.productID = productID
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.kind = kind
        self.purchasedAt = purchasedAt
        self.quantity = quantity
        self.revokedAt = revokedAt
        self.source = source
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(productID, forKey: .productID)
        try container.encode(transactionID, forKey: .transactionID)
        try container.encode(originalTransactionID, forKey: .originalTransactionID)
        try container.encode(kind, forKey: .kind)
        try container.encode(purchasedAt, forKey: .purchasedAt)
        try container.encode(quantity, forKey: .quantity)
        try container.encode(revokedAt, forKey: .revokedAt)
        try container.encode(source, forKey: .source)
    }
}

extension CustomerSubscription.State {
    public static var active: Self { Self(rawValue: "active") }
    public static var inGracePeriod: Self { Self(rawValue: "inGracePeriod") }
    public static var inBillingRetry: Self { Self(rawValue: "inBillingRetry") }
    public static var expired: Self { Self(rawValue: "expired") }
    public static var revoked: Self { Self(rawValue: "revoked") }
    public static var paused: Self { Self(rawValue: "paused") }
}
