import Foundation
import Primitives

/// A product that a store sells, localized for one storefront.
public struct StoreProduct: Hashable, Sendable, Codable {
    /// The identifier of the product.
    public var id: ProductID
    /// The kind of the product.
    public var kind: ProductType
    /// The price in the storefront's currency.
    public var price: Price
    /// The price as the storefront formats it, for example `4,99 €`.
    public var displayPrice: String
    /// The name of the product in the storefront's language.
    public var displayName: String
    /// The description of the product in the storefront's language.
    public var description: String
    /// Whether family members can share the product.
    public var isFamilyShareable: Bool
    /// The terms of an auto-renewable subscription, or `nil` for other products.
    public var subscription: SubscriptionTerms?

    /// Creates a product.
    ///
    /// - Parameters:
    ///   - id: The identifier of the product.
    ///   - kind: The kind of the product.
    ///   - price: The price in the storefront's currency.
    ///   - displayPrice: The price as the storefront formats it, for example `4,99 €`.
    ///   - displayName: The name of the product in the storefront's language.
    ///   - description: The description of the product in the storefront's language.
    ///   - isFamilyShareable: Whether family members can share the product.
    ///   - subscription: The terms of an auto-renewable subscription, or `nil` for other products.
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

/// A price: a decimal amount and an ISO 4217 currency code. In JSON the amount is a decimal string.
public struct Price: Hashable, Sendable, Codable {
    /// The amount in units of the currency, for example 4.99.
    public var amount: Decimal
    /// The ISO 4217 code of the currency, for example `EUR`.
    public var currency: String

    /// Creates a price.
    ///
    /// - Parameters:
    ///   - amount: The amount in units of the currency, for example 4.99.
    ///   - currency: The ISO 4217 code of the currency, for example `EUR`.
    public init(amount: Decimal, currency: String) {
        self.amount = amount
        self.currency = currency
    }

    /// Creates a price from Apple's milliunits: 4990 is 4.99.
    ///
    /// - Parameters:
    ///   - milliunits: The amount in thousandths of the currency's unit.
    ///   - currency: The ISO 4217 code of the currency.
    public init(milliunits: Int64, currency: String) {
        // A division of decimals would take a hundred times as long.
        let sign: FloatingPointSign = milliunits < 0 ? .minus : .plus
        self.init(
            amount: Decimal(sign: sign, exponent: -3, significand: Decimal(milliunits.magnitude)), currency: currency)
    }

    /// The amount in Apple's milliunits, rounded to the nearest. An amount outside the range of `Int64` becomes its
    /// largest or smallest value.
    public var milliunits: Int64 {
        if amount >= Self.largest { return .max }
        if amount <= Self.smallest { return .min }
        var scaled = amount * 1000
        var rounded = Decimal()
        NSDecimalRound(&rounded, &scaled, 0, .plain)
        return NSDecimalNumber(decimal: rounded).int64Value
    }

    private static let largest = Decimal(Int64.max) / 1000
    private static let smallest = Decimal(Int64.min) / 1000

    /// Decodes a price.
    ///
    /// - Parameter decoder: The decoder to read from.
    /// - Throws: `DecodingError` if the amount is not a decimal string.
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

/// The terms of an auto-renewable subscription: its group, its period and its offers.
public struct SubscriptionTerms: Hashable, Sendable, Codable {
    /// The identifier of the subscription group.
    public var groupID: String
    /// The name of the group in the storefront's language, or `nil` if the store does not provide it.
    public var groupDisplayName: String?
    /// The level of service in the group. 1 is the highest.
    public var level: Int
    /// The length of one billing period.
    public var period: SubscriptionPeriod
    /// The period in the storefront's language, for example `1 month`, or `nil` if the store does not provide it.
    public var displayPeriod: String?
    /// The offer for a customer's first subscription in the group, or `nil` if there is none.
    public var introductoryOffer: Offer?
    /// The offers to current or former subscribers.
    public var promotionalOffers: [Offer]
    /// The offers to customers whose subscription has expired. The store decides which of them a customer is eligible
    /// for.
    public var winBackOffers: [Offer]
    /// The billing plan with one bill each month and a commitment to the whole period, or `nil` if the product has none
    /// or the store does not provide it. StoreKit's plans are not read.
    public var monthlyPlan: MonthlyPlan?

    /// Creates the terms of a subscription.
    ///
    /// - Parameters:
    ///   - groupID: The identifier of the subscription group.
    ///   - groupDisplayName: The name of the group in the storefront's language, or `nil` if the store does not provide
    ///     it.
    ///   - level: The level of service in the group. 1 is the highest.
    ///   - period: The length of one billing period.
    ///   - displayPeriod: The period in the storefront's language, for example `1 month`, or `nil` if the store does
    ///     not provide it.
    ///   - introductoryOffer: The offer for a customer's first subscription in the group.
    ///   - promotionalOffers: The offers to current or former subscribers.
    ///   - winBackOffers: The offers to customers whose subscription has expired.
    ///   - monthlyPlan: The billing plan with one bill each month.
    public init(
        groupID: String, groupDisplayName: String? = nil, level: Int, period: SubscriptionPeriod,
        displayPeriod: String? = nil, introductoryOffer: Offer? = nil, promotionalOffers: [Offer] = [],
        winBackOffers: [Offer] = [], monthlyPlan: MonthlyPlan? = nil
    ) {
        self.groupID = groupID
        self.groupDisplayName = groupDisplayName
        self.level = level
        self.period = period
        self.displayPeriod = displayPeriod
        self.introductoryOffer = introductoryOffer
        self.promotionalOffers = promotionalOffers
        self.winBackOffers = winBackOffers
        self.monthlyPlan = monthlyPlan
    }

    /// Decodes the terms. A document without win-back offers has none.
    ///
    /// - Parameter decoder: The decoder to read from.
    /// - Throws: `DecodingError` if a required member is missing or a value does not fit.
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
        monthlyPlan = try container.decodeIfPresent(MonthlyPlan.self, forKey: .monthlyPlan)
    }

    /// A billing plan with one bill each month and a commitment to all bills.
    public struct MonthlyPlan: Hashable, Sendable, Codable {
        /// The price of one bill.
        public var price: Price
        /// The number of bills of the commitment.
        public var billCount: Int
        /// The offer for a customer's first subscription in the group. Its periods come before the bills.
        public var introductoryOffer: Offer?
        /// The offers to current or former subscribers.
        public var promotionalOffers: [Offer]
        /// The offers to customers whose subscription has expired.
        public var winBackOffers: [Offer]

        /// Creates a billing plan.
        ///
        /// - Parameters:
        ///   - price: The price of one bill.
        ///   - billCount: The number of bills of the commitment.
        ///   - introductoryOffer: The offer for a customer's first subscription in the group.
        ///   - promotionalOffers: The offers to current or former subscribers.
        ///   - winBackOffers: The offers to customers whose subscription has expired.
        public init(
            price: Price, billCount: Int, introductoryOffer: Offer? = nil, promotionalOffers: [Offer] = [],
            winBackOffers: [Offer] = []
        ) {
            self.price = price
            self.billCount = billCount
            self.introductoryOffer = introductoryOffer
            self.promotionalOffers = promotionalOffers
            self.winBackOffers = winBackOffers
        }
    }
}

/// A lower price for a limited time.
public struct Offer: Hashable, Sendable, Codable {
    /// The identifier of the offer, or `nil` for an introductory offer.
    public var id: String?
    /// The way in which the customer pays for the offer.
    public var paymentMode: PaymentMode
    /// The length of one period of the offer.
    public var period: SubscriptionPeriod
    /// The number of periods that the offer lasts.
    public var periodCount: Int
    /// The price of the offer, or `nil` if it is free.
    public var price: Price?
    /// The price as the storefront formats it, for example `0,99 €`, or `nil` if the store does not provide it.
    public var displayPrice: String?
    /// The period in the storefront's language, for example `3 days`, or `nil` if the store does not provide it.
    public var displayPeriod: String?

    /// Creates an offer.
    ///
    /// - Parameters:
    ///   - id: The identifier of the offer, or `nil` for an introductory offer.
    ///   - paymentMode: The way in which the customer pays for the offer.
    ///   - period: The length of one period of the offer.
    ///   - periodCount: The number of periods that the offer lasts.
    ///   - price: The price of the offer, or `nil` if it is free.
    ///   - displayPrice: The price as the storefront formats it, for example `0,99 €`, or `nil` if the store does not
    ///     provide it.
    ///   - displayPeriod: The period in the storefront's language, for example `3 days`, or `nil` if the store does not
    ///     provide it.
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

    /// The way in which the customer pays for an offer. Raw values are those of Apple's `offerDiscountType`.
    public typealias PaymentMode = OpenEnum<Offer>
}

extension Offer.PaymentMode {
    /// The offer is free.
    public static var freeTrial: Self { Self(rawValue: "FREE_TRIAL") }
    /// The customer pays the lower price for each period.
    public static var payAsYouGo: Self { Self(rawValue: "PAY_AS_YOU_GO") }
    /// The customer pays once, for all periods of the offer.
    public static var payUpFront: Self { Self(rawValue: "PAY_UP_FRONT") }
}
