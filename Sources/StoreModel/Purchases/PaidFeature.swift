import Foundation
import Primitives

/// A feature that a customer paid for, as a source of purchases reports it: the purchase, the kind of payment, and
/// the time of access.
public struct PaidFeature: Sendable {
    /// The name of the feature, for example `pro`.
    public var name: String
    /// The identifier of the product, or `nil` for a grant.
    public var productIdentifier: String?
    /// The identifier of the web price point that was bought, if any.
    public var pricePointIdent: String?
    /// The original transaction of the purchase at its store. Two reports with the same original transaction, name and
    /// `transactionType` are about one purchase.
    public var originalTransactionID: String?
    /// The kind of payment, which determines the time of access.
    public var paymentType: PaymentType
    /// The system that sold the purchase.
    public var transactionType: TransactionType
    /// The authority of the report. It decides between two reports of one purchase and is not part of equality.
    public var authority: Authority

    /// Creates a paid feature.
    ///
    /// - Parameters:
    ///   - name: The name of the feature, for example `pro`.
    ///   - productIdentifier: The identifier of the product.
    ///   - pricePointIdent: The identifier of the web price point that was bought, if any.
    ///   - originalTransactionID: The original transaction of the purchase at its store.
    ///   - paymentType: The kind of payment, which determines the time of access.
    ///   - transactionType: The system that sold the purchase.
    ///   - authority: The authority of the report.
    public init(
        name: String, productIdentifier: String? = nil, pricePointIdent: String? = nil,
        originalTransactionID: String? = nil, paymentType: PaymentType = .oneOff,
        transactionType: TransactionType = .appStore, authority: Authority = .device
    ) {
        self.name = name
        self.productIdentifier = productIdentifier
        self.pricePointIdent = pricePointIdent
        self.originalTransactionID = originalTransactionID
        self.paymentType = paymentType
        self.transactionType = transactionType
        self.authority = authority
    }

    /// Whether the feature was bought once and does not end.
    public var isLifetime: Bool { paymentType == .oneOff }

    /// Returns whether the customer may use the feature at `date`. A period includes its start and excludes its end. An
    /// upcoming period gives no access until the system that sold it reports its beginning.
    ///
    /// - Parameter date: The instant.
    /// - Returns: Whether the feature is active.
    public func isActive(at date: Date = Date()) -> Bool {
        switch paymentType {
        case .subscription(let periods): periods.current.contains(date)
        case .until(let end): date < end
        case .oneOff, .consumable: true
        }
    }
}

extension PaidFeature {
    /// The kind of payment, which determines the time of access.
    public enum PaymentType: Hashable, Sendable {
        /// A subscription, with its current and next period.
        case subscription(Subscriptions)
        /// A product that is bought once and does not expire, or a grant without an end.
        case oneOff
        /// A consumable.
        case consumable
        /// Access until this instant, exclusive, without a renewal: a grant or a non-renewing subscription.
        case until(Date)
    }

    /// The system that sold a purchase.
    public enum TransactionType: Hashable, Sendable { case web, appStore, googlePlay }

    /// The current period of a subscription, and the next one if it is known.
    public struct Subscriptions: Hashable, Sendable {
        /// The current period.
        public var current: Period
        /// The next period, or `nil` if it is not known.
        public var next: Period?

        /// Creates the periods of a subscription.
        ///
        /// - Parameters:
        ///   - current: The current period.
        ///   - next: The next period, or `nil` if it is not known.
        public init(current: Period, next: Period? = nil) {
            self.current = current
            self.next = next
        }
    }

    /// A billing period of a subscription.
    public struct Period: Hashable, Sendable {
        /// The id of the subscription at the backend, if it has one.
        public var id: UUID?
        /// The first instant of the period.
        public var startDate: Date
        /// The end of the period, exclusive.
        public var endDate: Date
        /// The date on which the customer turned off renewal, or `nil`. Access lasts until `endDate`.
        public var cancellationDate: Date?
        /// Whether the period is a free trial.
        public var isTrial: Bool
        /// Whether the period has an introductory price that is not free.
        public var isIntroductory: Bool
        /// The token that `cancelSubscription(with:)` takes, or `nil` if only the store can cancel the subscription.
        public var cancellationToken: CancellationToken?
        /// The price of the period, or `nil` if it is unknown.
        public var price: Decimal?
        /// The ISO 4217 code of the currency.
        public var currencyCode: String?
        /// The length of a regular period.
        public var subscriptionPeriod: SubscriptionPeriod?
        /// The price of the introductory period.
        public var introPrice: Decimal?
        /// The length of the introductory period.
        public var introSubscriptionPeriod: SubscriptionPeriod?
        /// The page of the store on which the customer changes and cancels the subscription, or `nil` if it is unknown.
        /// It is that of the store that sold the subscription, which can be another one than that of the device.
        public var managementURL: String?

        /// Creates a period.
        ///
        /// - Parameters:
        ///   - id: The id of the subscription at the backend, if it has one.
        ///   - startDate: The first instant of the period.
        ///   - endDate: The end of the period, exclusive.
        ///   - cancellationDate: The date on which the customer turned off renewal.
        ///   - isTrial: Whether the period is a free trial.
        ///   - isIntroductory: Whether the period has an introductory price that is not free.
        ///   - cancellationToken: The token that `cancelSubscription(with:)` takes, or `nil` if only the store can
        ///     cancel the subscription.
        ///   - price: The price of the period.
        ///   - currencyCode: The ISO 4217 code of the currency.
        ///   - subscriptionPeriod: The length of a regular period.
        ///   - introPrice: The price of the introductory period.
        ///   - introSubscriptionPeriod: The length of the introductory period.
        ///   - managementURL: The page of the store on which the customer changes and cancels the subscription.
        public init(
            id: UUID? = nil, startDate: Date, endDate: Date, cancellationDate: Date? = nil, isTrial: Bool = false,
            isIntroductory: Bool = false, cancellationToken: CancellationToken? = nil, price: Decimal? = nil,
            currencyCode: String? = nil, subscriptionPeriod: SubscriptionPeriod? = nil, introPrice: Decimal? = nil,
            introSubscriptionPeriod: SubscriptionPeriod? = nil, managementURL: String? = nil
        ) {
            self.id = id
            self.startDate = startDate
            self.endDate = endDate
            self.cancellationDate = cancellationDate
            self.isTrial = isTrial
            self.isIntroductory = isIntroductory
            self.cancellationToken = cancellationToken
            self.price = price
            self.currencyCode = currencyCode
            self.subscriptionPeriod = subscriptionPeriod
            self.introPrice = introPrice
            self.introSubscriptionPeriod = introSubscriptionPeriod
            self.managementURL = managementURL
        }

        /// Returns whether `date` is in the period. The start is inclusive, the end exclusive.
        ///
        /// - Parameter date: The instant.
        /// - Returns: Whether the period contains the instant.
        public func contains(_ date: Date) -> Bool { startDate <= date && date < endDate }
    }

    /// The authority of a report. Of two reports of one purchase, the one with the higher authority counts.
    public struct Authority: Hashable, Comparable, Sendable {
        private let rank: Int

        /// The last answer of a source that cannot be reached now.
        public static let lastKnown = Authority(rank: 0)
        /// The answer of a store on this device.
        public static let device = Authority(rank: 1)
        /// The answer of a server that verified the store's signature.
        public static let server = Authority(rank: 2)

        /// Returns whether the first authority is lower than the second.
        public static func < (left: Authority, right: Authority) -> Bool { left.rank < right.rank }
    }
}

extension PaidFeature: Hashable {
    /// Returns whether two reports are equal. `authority` is ignored.
    public static func == (left: PaidFeature, right: PaidFeature) -> Bool {
        left.name == right.name && left.productIdentifier == right.productIdentifier
            && left.pricePointIdent == right.pricePointIdent
            && left.originalTransactionID == right.originalTransactionID && left.paymentType == right.paymentType
            && left.transactionType == right.transactionType
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(productIdentifier)
        hasher.combine(pricePointIdent)
        hasher.combine(originalTransactionID)
        hasher.combine(paymentType)
        hasher.combine(transactionType)
    }
}

/// The id of a subscription and the plugin that can cancel it. Equality compares the bytes of both strings.
public struct CancellationToken: Hashable, Sendable {
    /// The name of the plugin.
    public var pluginName: String
    /// The plugin's id of the subscription.
    public var rawValue: String

    /// Creates a token.
    ///
    /// - Parameters:
    ///   - pluginName: The name of the plugin.
    ///   - rawValue: The plugin's id of the subscription.
    public init(pluginName: String, rawValue: String) {
        self.pluginName = pluginName
        self.rawValue = rawValue
    }

    /// Returns whether the bytes of both strings are equal.
    public static func == (left: CancellationToken, right: CancellationToken) -> Bool {
        left.pluginName.hasSameBytes(as: right.pluginName) && left.rawValue.hasSameBytes(as: right.rawValue)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ExactString(pluginName))
        hasher.combine(ExactString(rawValue))
    }
}
