import Foundation

/// A product that a customer can buy, from any system that sells it.
///
/// Equality ignores `localizedPriceString` and `localizedSubscriptionPeriod`: two formatters can describe the same
/// product differently.
public struct Product: Sendable {
    /// The identifier of the product.
    public var productIdentifier: String
    /// The kind of the product.
    public var productType: ProductType
    /// The price in units of the currency.
    public var price: Decimal
    /// The ISO 4217 code of the currency.
    public var currencyCode: String
    /// The name of the product in the customer's language.
    public var localizedTitle: String
    /// The description of the product in the customer's language.
    public var localizedDescription: String
    /// The price as the storefront formats it, for example `4,99 €`. Empty if unknown.
    public var localizedPriceString: String
    /// The length of one period of a subscription, or `nil` for other products.
    public var subscriptionPeriod: SubscriptionPeriod?
    /// The period in the storefront's language, for example `1 month`. Empty if unknown.
    public var localizedSubscriptionPeriod: String
    /// The introductory offer, or `nil` if there is none.
    public var introductoryDiscount: ProductDiscount?
    /// The promotional offers. `getPromotionalOffer` obtains a signature for one.
    public var discounts: [ProductDiscount]
    /// The web price point that the product represents (`WebPricePoint.ident`), or `nil` for a product that is bought
    /// in the app.
    public var pricePointIdent: String?

    /// Creates a product.
    ///
    /// - Parameters:
    ///   - productIdentifier: The identifier of the product.
    ///   - productType: The kind of the product.
    ///   - price: The price in units of the currency.
    ///   - currencyCode: The ISO 4217 code of the currency.
    ///   - localizedTitle: The name of the product in the customer's language.
    ///   - localizedDescription: The description of the product in the customer's language.
    ///   - localizedPriceString: The price as the storefront formats it, for example `4,99 €`.
    ///   - subscriptionPeriod: The length of one period of a subscription.
    ///   - introductoryDiscount: The introductory offer.
    ///   - discounts: The promotional offers.
    ///   - pricePointIdent: The web price point that the product represents (`WebPricePoint.ident`), or `nil` for a
    ///     product that is bought in the app.
    ///   - localizedSubscriptionPeriod: The period in the storefront's language, for example `1 month`.
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
    /// Returns whether two products are equal. The formatted price and period are ignored.
    public static func == (left: Product, right: Product) -> Bool { left.compared == right.compared }

    public func hash(into hasher: inout Hasher) { hasher.combine(compared) }

    /// All properties except the formatted price and period.
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

/// A lower price for a limited time. Equality ignores `localizedPriceString` and `localizedSubscriptionPeriod`.
public struct ProductDiscount: Sendable {
    /// The identifier of the offer, or `nil` for an introductory one.
    public var identifier: String?
    /// The kind of the discount.
    public var type: DiscountType
    /// The way in which the customer pays.
    public var paymentMode: Offer.PaymentMode
    /// The price of one period, or of all periods if the customer pays up front. 0 if it is free.
    public var price: Decimal
    /// The ISO 4217 code of the currency.
    public var currencyCode: String
    /// The price as the storefront formats it. Empty if unknown.
    public var localizedPriceString: String
    /// The length of one period.
    public var subscriptionPeriod: SubscriptionPeriod
    /// The period in the storefront's language, for example `3 days`. Empty if unknown.
    public var localizedSubscriptionPeriod: String
    /// The number of periods that the discount lasts.
    public var numberOfPeriods: Int

    /// Creates a discount.
    ///
    /// - Parameters:
    ///   - identifier: The identifier of the offer, or `nil` for an introductory one.
    ///   - type: The kind of the discount.
    ///   - paymentMode: The way in which the customer pays.
    ///   - price: The price of one period, or of all periods if the customer pays up front. 0 if it is free.
    ///   - currencyCode: The ISO 4217 code of the currency.
    ///   - localizedPriceString: The price as the storefront formats it.
    ///   - subscriptionPeriod: The length of one period.
    ///   - numberOfPeriods: The number of periods that the discount lasts.
    ///   - localizedSubscriptionPeriod: The period in the storefront's language, for example `3 days`.
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

    /// The kind of a discount.
    public enum DiscountType: String, Hashable, Sendable, Codable { case introductory, promotional }
}

extension ProductDiscount: Hashable {
    /// Returns whether two discounts are equal. The formatted price and period are ignored.
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

/// A promotional offer with the proof that the customer is eligible.
public struct PromoOffer: Hashable, Sendable {
    /// The discount that the offer gives.
    public var productDiscount: ProductDiscount
    /// The identifier of the offer at the store.
    public var identifier: String
    /// The identifier of the signing key at the store.
    public var keyIdentifier: String
    /// A UUID that limits the signature to one purchase.
    public var nonce: UUID?
    /// The time of the signature. Stores accept it for a day.
    public var signedAt: Date?
    /// The ECDSA signature in DER.
    public var signature: [UInt8]
    /// The proof of version 2: a JWS in compact serialization. It replaces the key, the nonce, the time and the
    /// signature.
    public var compactJWS: String?

    /// Creates an offer.
    ///
    /// - Parameters:
    ///   - productDiscount: The discount that the offer gives.
    ///   - identifier: The identifier of the offer at the store.
    ///   - keyIdentifier: The identifier of the signing key at the store.
    ///   - nonce: A UUID that limits the signature to one purchase.
    ///   - signedAt: The time of the signature.
    ///   - signature: The ECDSA signature in DER.
    ///   - compactJWS: The proof of version 2: a JWS in compact serialization.
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
