import Foundation
import StoreModel

/// The stored last answers of the plugins for one user. Later versions read the JSON, so members are added but never
/// renamed.
struct StoredAnswers: Equatable, Sendable {
    struct Version: Equatable, Sendable {
        /// The number of changes in this run. The higher version is newer.
        var change: Int
        var user: UserId?
    }

    var version: Version
    /// The answers by the name of the plugin.
    var plugins: [String: OfPlugin]

    struct OfPlugin: Codable, Equatable, Sendable {
        var paidFeatures: Dated<[StoredPaidFeature]>?
        var features: Dated<[StoredFeature]>?
    }

    struct Dated<Value: Codable & Equatable & Sendable>: Codable, Equatable, Sendable {
        var asOf: Date
        var value: Value
    }
}

/// The known answers of one user at launch or log-in: those in the client's storage, and those that plugins store
/// themselves, by index.
struct RecalledAnswers: Sendable {
    struct OfPlugin: Sendable {
        var paidFeatures: PaidFeatures
        var features: Features
        var asOf: Date
    }

    var stored: StoredAnswers?
    var ofPlugins: [Int: OfPlugin]

    var isEmpty: Bool { stored == nil && ofPlugins.isEmpty }
}

extension StoredAnswers: Codable {
    private enum CodingKeys: String, CodingKey { case user, plugins }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        version = Version(change: 0, user: try members.decodeIfPresent(UserId.self, forKey: .user))
        plugins = try members.decode([String: OfPlugin].self, forKey: .plugins)
    }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encodeIfPresent(version.user, forKey: .user)
        try members.encode(plugins, forKey: .plugins)
    }
}

/// A `Feature` in storage.
struct StoredFeature: Codable, Equatable, Sendable {
    var name: String
    var start: Date
    /// The end of access, exclusive, or `nil` if it does not end.
    var end: Date?

    init(_ feature: Feature) { (name, start, end) = (feature.name, feature.startDate, feature.endDate) }

    var feature: Feature { Feature(name: name, startDate: start, endDate: end) }
}

/// A `PaidFeature` in storage.
struct StoredPaidFeature: Codable, Equatable, Sendable {
    var name: String
    var product: String?
    var pricePoint: String?
    var originalTransaction: String?
    /// One of `web`, `appStore` and `googlePlay`.
    var source: String
    /// One of `subscription`, `oneOff`, `consumable` and `until`.
    var payment: String
    /// The end of an `until` payment.
    var end: Date?
    /// The period of a `subscription`.
    var current: StoredPeriod?
    var next: StoredPeriod?

    init(_ feature: PaidFeature) {
        name = feature.name
        product = feature.productIdentifier
        pricePoint = feature.pricePointIdent
        originalTransaction = feature.originalTransactionID
        source =
            switch feature.transactionType {
            case .web: "web"
            case .appStore: "appStore"
            case .googlePlay: "googlePlay"
            }
        switch feature.paymentType {
        case .oneOff: payment = "oneOff"
        case .consumable: payment = "consumable"
        case .until(let end): (payment, self.end) = ("until", end)
        case .subscription(let periods):
            (payment, current, next) = (
                "subscription", StoredPeriod(periods.current), periods.next.map(StoredPeriod.init)
            )
        }
    }

    /// The feature, or `nil` for a value of a later version.
    var feature: PaidFeature? {
        guard let transactionType, let paymentType else { return nil }
        return PaidFeature(
            name: name, productIdentifier: product, pricePointIdent: pricePoint,
            originalTransactionID: originalTransaction, paymentType: paymentType, transactionType: transactionType,
            authority: .lastKnown)
    }

    private var transactionType: PaidFeature.TransactionType? {
        switch source {
        case "web": .web
        case "appStore": .appStore
        case "googlePlay": .googlePlay
        default: nil
        }
    }

    private var paymentType: PaidFeature.PaymentType? {
        switch (payment, end, current) {
        case ("oneOff", _, _): .oneOff
        case ("consumable", _, _): .consumable
        case ("until", let end?, _): .until(end)
        case ("subscription", _, let current?): .subscription(.init(current: current.period, next: next?.period))
        default: nil
        }
    }
}

/// A `PaidFeature.Period` in storage.
struct StoredPeriod: Codable, Equatable, Sendable {
    var id: UUID?
    var start: Date
    var end: Date
    var cancelledAt: Date?
    var isTrial: Bool
    var isIntroductory: Bool
    var cancellationPlugin: String?
    var cancellationValue: String?
    /// The price as decimal text, like all prices.
    var price: String?
    var currency: String?
    var length: SubscriptionPeriod?
    var introPrice: String?
    var introLength: SubscriptionPeriod?
    /// The page of the store. Earlier versions did not store it.
    var managementURL: String?

    init(_ period: PaidFeature.Period) {
        (id, start, end, cancelledAt) = (period.id, period.startDate, period.endDate, period.cancellationDate)
        (isTrial, isIntroductory) = (period.isTrial, period.isIntroductory)
        cancellationPlugin = period.cancellationToken?.pluginName
        cancellationValue = period.cancellationToken?.rawValue
        (price, currency, length) = (period.price.map { "\($0)" }, period.currencyCode, period.subscriptionPeriod)
        (introPrice, introLength) = (period.introPrice.map { "\($0)" }, period.introSubscriptionPeriod)
        managementURL = period.managementURL
    }

    var period: PaidFeature.Period {
        var token: CancellationToken?
        if let cancellationPlugin, let cancellationValue {
            token = CancellationToken(pluginName: cancellationPlugin, rawValue: cancellationValue)
        }
        return PaidFeature.Period(
            id: id, startDate: start, endDate: end, cancellationDate: cancelledAt, isTrial: isTrial,
            isIntroductory: isIntroductory, cancellationToken: token, price: price.flatMap(Self.decimal),
            currencyCode: currency, subscriptionPeriod: length, introPrice: introPrice.flatMap(Self.decimal),
            introSubscriptionPeriod: introLength, managementURL: managementURL)
    }

    private static func decimal(_ text: String) -> Decimal? {
        Decimal(string: text, locale: Locale(identifier: "en_US_POSIX"))
    }
}
