import Foundation

/// Something a customer can buy, from whichever system sells it.
///
/// Equality ignores `localizedPriceString` and `localizedSubscriptionPeriod`: the same product described by two formatters
/// is one product.
public struct Product: Sendable {
    public var productIdentifier: String
    public var productType: ProductType
    public var price: Decimal
    /// ISO 4217.
    public var currencyCode: String
    public var localizedTitle: String
    public var localizedDescription: String
    /// The price as the storefront writes it, for example `4,99 €`; empty when unknown.
    public var localizedPriceString: String
    /// Present for subscriptions.
    public var subscriptionPeriod: SubscriptionPeriod?
    /// The period in the language of the storefront, for example `1 month`; empty when unknown.
    public var localizedSubscriptionPeriod: String
    public var introductoryDiscount: ProductDiscount?
    /// Promotional discounts, for which `getPromotionalOffer` obtains a signed offer.
    public var discounts: [ProductDiscount]
    /// The price point of a web shop that this stands for (`WebPricePoint.ident`); `nil` for what is bought in the app.
    public var pricePointIdent: String?

    public init(
        productIdentifier: String, productType: ProductType = .nonConsumable, price: Decimal = 0,
        currencyCode: String = "USD", localizedTitle: String = "", localizedDescription: String = "",
        localizedPriceString: String = "", subscriptionPeriod: SubscriptionPeriod? = nil,
        introductoryDiscount: ProductDiscount? = nil, discounts: [ProductDiscount] = [],
        pricePointIdent: String? = nil, localizedSubscriptionPeriod: String = ""
    ) {
        self.productIdentifier = productIdentifier
        self.productType = productType
        self.price = price
        self.currencyCode = currencyCode
        self.localizedTitle = localizedTitle
        self.localizedDescription = localizedDescription
        self.localizedPriceString = localizedPriceString
        self.subscriptionPeriod = subscriptionPeriod
        self.introductoryDiscount = introductoryDiscount
        self.discounts = discounts
        self.pricePointIdent = pricePointIdent
        self.localizedSubscriptionPeriod = localizedSubscriptionPeriod
    }
}

extension Product: Hashable {
    public static func == (left: Product, right: Product) -> Bool { left.compared == right.compared }

    public func hash(into hasher: inout Hasher) { hasher.combine(compared) }

    /// Everything but the formatted price and period.
    private var compared: Compared {
        Compared(
            productIdentifier: productIdentifier, productType: productType, price: price, currencyCode: currencyCode,
            title: localizedTitle, description: localizedDescription, period: subscriptionPeriod,
            introductoryDiscount: introductoryDiscount, discounts: discounts, pricePointIdent: pricePointIdent)
    }

    private struct Compared: Hashable {
        let productIdentifier: String
        let productType: ProductType
        let price: Decimal
        let currencyCode: String
        let title: String
        let description: String
        let period: SubscriptionPeriod?
        let introductoryDiscount: ProductDiscount?
        let discounts: [ProductDiscount]
        let pricePointIdent: String?
    }
}

/// A lower price for a while. Equality ignores `localizedPriceString` and `localizedSubscriptionPeriod`.
public struct ProductDiscount: Sendable {
    /// `nil` for an introductory discount.
    public var identifier: String?
    public var type: DiscountType
    public var paymentMode: Offer.PaymentMode
    /// 0 when it is free.
    public var price: Decimal
    public var currencyCode: String
    /// The price as the storefront writes it; empty when unknown.
    public var localizedPriceString: String
    public var subscriptionPeriod: SubscriptionPeriod
    /// The period in the language of the storefront, for example `3 days`; empty when unknown.
    public var localizedSubscriptionPeriod: String
    /// How many periods the discount lasts.
    public var numberOfPeriods: Int

    public init(
        identifier: String? = nil, type: DiscountType = .introductory, paymentMode: Offer.PaymentMode = .payAsYouGo,
        price: Decimal = 0, currencyCode: String = "USD", localizedPriceString: String = "",
        subscriptionPeriod: SubscriptionPeriod = .months(1), numberOfPeriods: Int = 1,
        localizedSubscriptionPeriod: String = ""
    ) {
        self.identifier = identifier
        self.type = type
        self.paymentMode = paymentMode
        self.price = price
        self.currencyCode = currencyCode
        self.localizedPriceString = localizedPriceString
        self.subscriptionPeriod = subscriptionPeriod
        self.numberOfPeriods = numberOfPeriods
        self.localizedSubscriptionPeriod = localizedSubscriptionPeriod
    }

    public enum DiscountType: String, Hashable, Sendable, Codable { case introductory, promotional }
}

extension ProductDiscount: Hashable {
    public static func == (left: ProductDiscount, right: ProductDiscount) -> Bool {
        left.identifier == right.identifier && left.type == right.type && left.paymentMode == right.paymentMode
            && left.price == right.price && left.currencyCode == right.currencyCode
            && left.subscriptionPeriod == right.subscriptionPeriod && left.numberOfPeriods == right.numberOfPeriods
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(identifier)
        hasher.combine(type)
        hasher.combine(price)
        hasher.combine(subscriptionPeriod)
        hasher.combine(numberOfPeriods)
    }
}

/// A promotional discount with the proof that this customer may have it.
public struct PromoOffer: Hashable, Sendable {
    public var productDiscount: ProductDiscount
    /// The offer's identifier at the store.
    public var identifier: String
    /// The key that made `signature`, by the store's name for it.
    public var keyIdentifier: String
    /// Makes the signature good for one purchase.
    public var nonce: UUID?
    /// When it was signed; stores accept it for a day.
    public var signedAt: Date?
    public var signature: [UInt8]
    /// The proof in version 2, a JWS in compact serialization; it stands for all of the above.
    public var compactJWS: String?

    public init(
        productDiscount: ProductDiscount, identifier: String, keyIdentifier: String = "", nonce: UUID? = nil,
        signedAt: Date? = nil, signature: [UInt8] = [], compactJWS: String? = nil
    ) {
        self.productDiscount = productDiscount
        self.identifier = identifier
        self.keyIdentifier = keyIdentifier
        self.nonce = nonce
        self.signedAt = signedAt
        self.signature = signature
        self.compactJWS = compactJWS
    }
}
