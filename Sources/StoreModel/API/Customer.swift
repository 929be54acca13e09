import Foundation
import Primitives

/// The answer of the entitlement server about one customer: features, subscriptions and purchases.
public struct Customer: Codable, Hashable, Sendable {
    /// The customer.
    public var customer: CustomerID
    /// The environment of the purchases.
    public var environment: StoreEnvironment
    /// The instant for which the answer was computed.
    public var asOf: Date
    /// The next instant at which anything in the answer changes without a new purchase or notification, or `nil` if
    /// nothing will.
    public var validUntil: Date?
    /// The features that the customer has or had.
    public var features: [CustomerFeature]
    /// The customer's auto-renewable subscriptions.
    public var subscriptions: [CustomerSubscription]
    /// The customer's other purchases.
    public var purchases: [CustomerPurchase]
    /// The page on which the customer changes and cancels subscriptions, or `nil` if there is none.
    public var managementURL: String?

    /// Creates an answer.
    ///
    /// - Parameters:
    ///   - customer: The customer.
    ///   - environment: The environment of the purchases.
    ///   - asOf: The instant for which the answer was computed.
    ///   - validUntil: The next instant at which anything in the answer changes without a new purchase or notification,
    ///     or `nil` if nothing will.
    ///   - features: The features that the customer has or had.
    ///   - subscriptions: The customer's auto-renewable subscriptions.
    ///   - purchases: The customer's other purchases.
    ///   - managementURL: The page on which the customer changes and cancels subscriptions, or `nil` if there is none.
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

    /// Encodes the answer. `managementURL` is `null` if there is none.
    ///
    /// - Parameter encoder: The encoder to write to.
    /// - Throws: `EncodingError` if the encoder cannot express a value.
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

/// The system that sold a purchase or granted access.
public struct PurchaseSource: ExactText, Codable {
    public let rawValue: String
    /// Creates a source, known or unknown.
    ///
    /// - Parameter rawValue: The name, for example `appStore`.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Apple's App Store.
    public static let appStore = PurchaseSource(rawValue: "appStore")
    /// A web shop.
    public static let web = PurchaseSource(rawValue: "web")
    /// A grant that an operator gave.
    public static let grant = PurchaseSource(rawValue: "grant")
    /// Google Play.
    public static let googlePlay = PurchaseSource(rawValue: "googlePlay")
}

/// A feature of a customer, with the purchase or grant that gives it.
public struct CustomerFeature: Codable, Hashable, Sendable {
    /// The name of the feature.
    public var name: String
    /// Whether the customer may use the feature at the instant of the answer.
    public var isActive: Bool
    /// The first instant of access; for a subscription, the start of its current period.
    public var from: Date
    /// The end that the store or the grant states, or `nil` if access does not end.
    public var until: Date?
    /// The end of access, exclusive, or `nil` if access does not end. A grace period makes it later than `until`, a
    /// revocation earlier.
    public var effectiveUntil: Date?
    /// The system that sold the purchase or granted access.
    public var source: PurchaseSource
    /// The product that gives the feature, or `nil` for a grant.
    public var productID: ProductID?
    /// The original transaction of the purchase, or `nil` for a grant.
    public var originalTransactionID: TransactionID?
    /// The reason in words, for example `active subscription, renews`.
    public var because: String
    /// The id of a grant, which `DELETE …/grants/{id}` takes, or `nil` for a purchase.
    public var grantID: String?

    /// Creates a feature.
    ///
    /// - Parameters:
    ///   - name: The name of the feature.
    ///   - isActive: Whether the customer may use the feature at the instant of the answer.
    ///   - from: The first instant of access; for a subscription, the start of its current period.
    ///   - until: The end that the store or the grant states, or `nil` if access does not end.
    ///   - effectiveUntil: The end of access, exclusive, or `nil` if access does not end.
    ///   - source: The system that sold the purchase or granted access.
    ///   - productID: The product that gives the feature, or `nil` for a grant.
    ///   - originalTransactionID: The original transaction of the purchase, or `nil` for a grant.
    ///   - because: The reason in words, for example `active subscription, renews`.
    ///   - grantID: The id of a grant, which `DELETE …/grants/{id}` takes, or `nil` for a purchase.
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

/// An auto-renewable subscription of a customer.
public struct CustomerSubscription: Codable, Hashable, Sendable {
    /// The product of the current period.
    public var productID: ProductID
    /// The original transaction of the subscription.
    public var originalTransactionID: TransactionID
    /// The identifier of the subscription group, or `nil` if the store has not said.
    public var groupID: String?
    /// The state of the subscription at the instant of the answer.
    public var state: State
    /// The date of the first transaction.
    public var startedAt: Date
    /// The end of the current period that the store states.
    public var expiresAt: Date
    /// The end of access, exclusive. A grace period makes it later than `expiresAt`, a revocation earlier.
    public var effectiveUntil: Date
    /// Whether the subscription renews, or `nil` if the store has not said.
    public var autoRenews: Bool?
    /// The product of the next period, or `nil` if the subscription does not renew or the store has not said.
    public var renewsTo: ProductID?
    /// Whether the current period is a free trial.
    public var isTrial: Bool
    /// Whether the current period was sold at an introductory price that is not free.
    public var isIntroductory: Bool
    /// The end of the grace period, or `nil` if there is none.
    public var gracePeriodUntil: Date?
    /// The date from which the store reports that the subscription does not renew, or `nil`.
    public var cancelledAt: Date?
    /// The date on which the store revoked the current period, or `nil`.
    public var revokedAt: Date?
    /// The price of the current period, or `nil` if the store has not said.
    public var price: Price?
    /// The system that sold the subscription.
    public var source: PurchaseSource
    /// The page of the store on which the customer changes and cancels this subscription, or `nil` if there is none.
    public var managementURL: String?

    /// Creates a subscription.
    ///
    /// - Parameters:
    ///   - productID: The product of the current period.
    ///   - originalTransactionID: The original transaction of the subscription.
    ///   - groupID: The identifier of the subscription group, or `nil` if the store has not said.
    ///   - state: The state of the subscription at the instant of the answer.
    ///   - startedAt: The date of the first transaction.
    ///   - expiresAt: The end of the current period that the store states.
    ///   - effectiveUntil: The end of access, exclusive. A grace period makes it later, a revocation earlier.
    ///   - autoRenews: Whether the subscription renews, or `nil` if the store has not said.
    ///   - renewsTo: The product of the next period, or `nil` if there is none or the store has not said.
    ///   - isTrial: Whether the current period is a free trial.
    ///   - isIntroductory: Whether the current period was sold at an introductory price that is not free.
    ///   - gracePeriodUntil: The end of the grace period, or `nil` if there is none.
    ///   - cancelledAt: The date from which the store reports that the subscription does not renew, or `nil`.
    ///   - revokedAt: The date on which the store revoked the current period, or `nil`.
    ///   - price: The price of the current period, or `nil` if the store has not said.
    ///   - source: The system that sold the subscription.
    ///   - managementURL: The page on which the customer changes and cancels this subscription, or `nil` if there is none.
    public init(
        productID: ProductID, originalTransactionID: TransactionID, groupID: String? = nil, state: State,
        startedAt: Date, expiresAt: Date, effectiveUntil: Date, autoRenews: Bool? = nil, renewsTo: ProductID? = nil,
        isTrial: Bool = false, isIntroductory: Bool = false, gracePeriodUntil: Date? = nil, cancelledAt: Date? = nil,
        revokedAt: Date? = nil, price: Price? = nil, source: PurchaseSource = .appStore, managementURL: String? = nil
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
        self.managementURL = managementURL
    }

    /// The state of a subscription, from an open list.
    public typealias State = OpenEnum<CustomerSubscription>

    /// Encodes the subscription. `gracePeriodUntil`, `cancelledAt` and `revokedAt` are `null` if there is no such date.
    ///
    /// - Parameter encoder: The encoder to write to.
    /// - Throws: `EncodingError` if the encoder cannot express a value.
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
        try container.encodeIfPresent(managementURL, forKey: .managementURL)
    }
}

/// A purchase of a customer that is not an auto-renewable subscription.
public struct CustomerPurchase: Codable, Hashable, Sendable {
    /// The product that was bought.
    public var productID: ProductID
    /// The transaction of the purchase.
    public var transactionID: TransactionID
    /// The original transaction of the purchase.
    public var originalTransactionID: TransactionID
    /// The kind of the product.
    public var kind: ProductType
    /// The date of the purchase.
    public var purchasedAt: Date
    /// The number of units that were bought, without the `refundedQuantity`.
    public var quantity: Int
    /// The number of units that the store refunded while the others remain, or `nil` if there are none.
    public var refundedQuantity: Int?
    /// The date on which the store revoked the purchase, or `nil`.
    public var revokedAt: Date?
    /// The system that sold the product.
    public var source: PurchaseSource

    /// Creates a purchase.
    ///
    /// - Parameters:
    ///   - productID: The product that was bought.
    ///   - transactionID: The transaction of the purchase.
    ///   - originalTransactionID: The original transaction of the purchase.
    ///   - kind: The kind of the product.
    ///   - purchasedAt: The date of the purchase.
    ///   - quantity: The number of units that were bought, without the `refundedQuantity`.
    ///   - refundedQuantity: The number of units that the store refunded while the others remain, or `nil`.
    ///   - revokedAt: The date on which the store revoked the purchase, or `nil`.
    ///   - source: The system that sold the product.
    public init(
        productID: ProductID, transactionID: TransactionID, originalTransactionID: TransactionID,
        kind: ProductType, purchasedAt: Date, quantity: Int = 1, refundedQuantity: Int? = nil, revokedAt: Date? = nil,
        source: PurchaseSource = .appStore
    ) {
        self.productID = productID
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.kind = kind
        self.purchasedAt = purchasedAt
        self.quantity = quantity
        self.refundedQuantity = refundedQuantity
        self.revokedAt = revokedAt
        self.source = source
    }

    /// Encodes the purchase. `revokedAt` is `null` if the purchase was not revoked.
    ///
    /// - Parameter encoder: The encoder to write to.
    /// - Throws: `EncodingError` if the encoder cannot express a value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(productID, forKey: .productID)
        try container.encode(transactionID, forKey: .transactionID)
        try container.encode(originalTransactionID, forKey: .originalTransactionID)
        try container.encode(kind, forKey: .kind)
        try container.encode(purchasedAt, forKey: .purchasedAt)
        try container.encode(quantity, forKey: .quantity)
        try container.encodeIfPresent(refundedQuantity, forKey: .refundedQuantity)
        try container.encode(revokedAt, forKey: .revokedAt)
        try container.encode(source, forKey: .source)
    }
}

extension CustomerSubscription.State {
    /// The current period has not ended.
    public static var active: Self { Self(rawValue: "active") }
    /// A renewal failed, and access continues in the grace period.
    public static var inGracePeriod: Self { Self(rawValue: "inGracePeriod") }
    /// A renewal failed, and the store repeats the payment. There is no access.
    public static var inBillingRetry: Self { Self(rawValue: "inBillingRetry") }
    /// The subscription has ended.
    public static var expired: Self { Self(rawValue: "expired") }
    /// The store revoked the current period.
    public static var revoked: Self { Self(rawValue: "revoked") }
    /// The customer paused the subscription.
    public static var paused: Self { Self(rawValue: "paused") }
}
