import Foundation
import Primitives

/// A feature somebody paid for: what was bought, how, and until when it may be used.
public struct PaidFeature: Sendable {
    /// The feature's name, for example `pro`.
    public var name: String
    public var productIdentifier: String?
    /// The web price point that was bought, where there is one.
    public var pricePointIdent: String?
    /// The first transaction of the purchase at its store. With name and source it says that two reports are of one
    /// purchase.
    public var originalTransactionID: String?
    public var paymentType: PaymentType
    public var transactionType: TransactionType
    /// Who says so. Decides between two reports of one purchase; it is not part of equality.
    public var authority: Authority

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

    /// Bought once and for ever.
    public var isLifetime: Bool { paymentType == .oneOff }

    /// Whether it may be used at `date`. A period begins with its first instant and is over at its end; an upcoming
    /// period gives nothing before the system that sold it says it has begun.
    public func isActive(at date: Date = Date()) -> Bool {
        switch paymentType {
        case .subscription(let periods): periods.current.contains(date)
        case .until(let end): date < end
        case .oneOff, .consumable: true
        }
    }
}

extension PaidFeature {
    /// How it is paid, and with that how long it lasts.
    public enum PaymentType: Hashable, Sendable {
        case subscription(Subscriptions)
        case oneOff
        case consumable
        /// Usable until this instant, exclusive, and not renewed: a grant, a non-renewing subscription.
        case until(Date)
    }

    /// Where it was bought.
    public enum TransactionType: Hashable, Sendable { case web, appStore, googlePlay }

    /// The period that is paid, and the one that follows if one is known.
    public struct Subscriptions: Hashable, Sendable {
        public var current: Period
        public var next: Period?

        public init(current: Period, next: Period? = nil) {
            self.current = current
            self.next = next
        }
    }

    /// One billing period of a subscription.
    public struct Period: Hashable, Sendable {
        /// The subscription's identity at a backend that gives it one.
        public var id: UUID?
        /// Inclusive.
        public var startDate: Date
        /// Exclusive.
        public var endDate: Date
        /// When the customer turned renewal off; access stays until `endDate`.
        public var cancellationDate: Date?
        public var isTrial: Bool
        public var isIntroductory: Bool
        /// What `cancelSubscription(with:)` takes; `nil` when only the store can cancel.
        public var cancellationToken: CancellationToken?
        public var price: Decimal?
        public var currencyCode: String?
        public var subscriptionPeriod: SubscriptionPeriod?
        public var introPrice: Decimal?
        public var introSubscriptionPeriod: SubscriptionPeriod?

        public init(
            id: UUID? = nil, startDate: Date, endDate: Date, cancellationDate: Date? = nil, isTrial: Bool = false,
            isIntroductory: Bool = false, cancellationToken: CancellationToken? = nil, price: Decimal? = nil,
            currencyCode: String? = nil, subscriptionPeriod: SubscriptionPeriod? = nil, introPrice: Decimal? = nil,
            introSubscriptionPeriod: SubscriptionPeriod? = nil
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
        }

        public func contains(_ date: Date) -> Bool { startDate <= date && date < endDate }
    }

    /// How far a report can be trusted; of two reports of one purchase the higher one stands.
    public struct Authority: Hashable, Comparable, Sendable {
        private let rank: Int

        /// What a source said the last time it could be asked.
        public static let lastKnown = Authority(rank: 0)
        /// A store's answer on this device.
        public static let device = Authority(rank: 1)
        /// A server that verified what the store signed.
        public static let server = Authority(rank: 2)

        public static func < (left: Authority, right: Authority) -> Bool { left.rank < right.rank }
    }
}

extension PaidFeature: Hashable {
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

/// Names one subscription to the plugin that can cancel it. Two are equal when the bytes of both texts are.
public struct CancellationToken: Hashable, Sendable {
    public var pluginName: String
    /// The plugin's own name for the subscription.
    public var rawValue: String

    public init(pluginName: String, rawValue: String) {
        self.pluginName = pluginName
        self.rawValue = rawValue
    }

    public static func == (left: CancellationToken, right: CancellationToken) -> Bool {
        left.pluginName.hasSameBytes(as: right.pluginName) && left.rawValue.hasSameBytes(as: right.rawValue)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ExactString(pluginName))
        hasher.combine(ExactString(rawValue))
    }
}
