import Foundation
import Primitives

/// A product as the store sells it, in the words of one storefront.
public struct StoreProduct: Hashable, Sendable, Codable {
    public var id: ProductID
    /// How it is sold.
    public var kind: ProductType
    public var price: Price
    /// The price as the storefront writes it, for example `4,99 €`.
    public var displayPrice: String
    public var displayName: String
    public var description: String
    public var isFamilyShareable: Bool
    /// Present for auto-renewable subscriptions.
    public var subscription: SubscriptionTerms?

    public init(
        id: ProductID, kind: ProductType, price: Price, displayPrice: String = "", displayName: String = "",
        description: String = "", isFamilyShareable: Bool = false, subscription: SubscriptionTerms? = nil
    ) {
        self.id = id
        self.kind = kind
        self.price = price
        self.displayPrice = displayPrice
        self.displayName = displayName
        self.description = description
        self.isFamilyShareable = isFamilyShareable
        self.subscription = subscription
    }
}

/// Money: a decimal amount and an ISO 4217 code. On the wire the amount is a decimal string.
public struct Price: Hashable, Sendable, Codable {
    public var amount: Decimal
    public var currency: String

    public init(amount: Decimal, currency: String) {
        self.amount = amount
        self.currency = currency
    }

    /// From Apple's milliunits: 4990 is 4.99.
    public init(milliunits: Int64, currency: String) {
        self.init(amount: Decimal(milliunits) / 1000, currency: currency)
    }

    /// Apple's milliunits, rounded to the nearest; the largest or smallest there are where the amount has none.
    public var milliunits: Int64 {
        if amount >= Decimal(Int64.max) / 1000 { return .max }
        if amount <= Decimal(Int64.min) / 1000 { return .min }
        var scaled = amount * 1000
        var rounded = Decimal()
        NSDecimalRound(&rounded, &scaled, 0, .plain)
        return NSDecimalNumber(decimal: rounded).int64Value
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let text = try container.decode(String.self, forKey: .amount)
        guard let number = JSONNumber(text: text), let amount = number.decimal else {
            throw DecodingError.dataCorruptedError(
                forKey: .amount, in: container, debugDescription: "an amount is a decimal string such as \"4.99\"")
        }
        self.init(amount: amount, currency: try container.decode(String.self, forKey: .currency))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode("\(amount)", forKey: .amount)
        try container.encode(currency, forKey: .currency)
    }

    private enum CodingKeys: String, CodingKey { case amount, currency }
}

/// How an auto-renewable subscription renews and what it competes with.
public struct SubscriptionTerms: Hashable, Sendable, Codable {
    public var groupID: String
    /// What the storefront calls the group, where the store says so.
    public var groupDisplayName: String?
    /// 1 is the highest level of service in the group.
    public var level: Int
    public var period: SubscriptionPeriod
    /// The period in the language of the storefront, for example `1 month`; `nil` where the store does not say.
    public var displayPeriod: String?
    public var introductoryOffer: Offer?
    public var promotionalOffers: [Offer]
    /// Offers to customers whose subscription has expired. Which of them a customer may have, the store decides.
    public var winBackOffers: [Offer]

    public init(
        groupID: String, groupDisplayName: String? = nil, level: Int, period: SubscriptionPeriod,
        displayPeriod: String? = nil, introductoryOffer: Offer? = nil, promotionalOffers: [Offer] = [],
        winBackOffers: [Offer] = []
    ) {
        self.groupID = groupID
        self.groupDisplayName = groupDisplayName
        self.level = level
        self.period = period
        self.displayPeriod = displayPeriod
        self.introductoryOffer = introductoryOffer
        self.promotionalOffers = promotionalOffers
        self.winBackOffers = winBackOffers
    }

    /// What a store that knows no win-back offers wrote is read as having none.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        groupID = try container.decode(String.self, forKey: .groupID)
        groupDisplayName = try container.decodeIfPresent(String.self, forKey: .groupDisplayName)
        level = try container.decode(Int.self, forKey: .level)
        period = try container.decode(SubscriptionPeriod.self, forKey: .period)
        displayPeriod = try container.decodeIfPresent(String.self, forKey: .displayPeriod)
        introductoryOffer = try container.decodeIfPresent(Offer.self, forKey: .introductoryOffer)
        promotionalOffers = try container.decode([Offer].self, forKey: .promotionalOffers)
        winBackOffers = try container.decodeIfPresent([Offer].self, forKey: .winBackOffers) ?? []
    }
}

/// A lower price for a while.
public struct Offer: Hashable, Sendable, Codable {
    /// `nil` for an introductory offer.
    public var id: String?
    public var paymentMode: PaymentMode
    public var period: SubscriptionPeriod
    /// How many periods the offer lasts.
    public var periodCount: Int
    /// `nil` when it is free.
    public var price: Price?
    /// The price as the storefront writes it, for example `0,99 €`; `nil` where the store does not say.
    public var displayPrice: String?
    /// The period in the language of the storefront, for example `3 days`; `nil` where the store does not say.
    public var displayPeriod: String?

    public init(
        id: String? = nil, paymentMode: PaymentMode, period: SubscriptionPeriod, periodCount: Int = 1,
        price: Price? = nil, displayPrice: String? = nil, displayPeriod: String? = nil
    ) {
        self.id = id
        self.paymentMode = paymentMode
        self.period = period
        self.periodCount = periodCount
        self.price = price
        self.displayPrice = displayPrice
        self.displayPeriod = displayPeriod
    }

    /// How an offer is paid. Raw values are Apple's `offerDiscountType`.
    public typealias PaymentMode = OpenEnum<Offer>
}

extension Offer.PaymentMode {
    public static var freeTrial: Self { Self(rawValue: "FREE_TRIAL") }
    public static var payAsYouGo: Self { Self(rawValue: "PAY_AS_YOU_GO") }
    public static var payUpFront: Self { Self(rawValue: "PAY_UP_FRONT") }
}
