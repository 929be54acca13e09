import Foundation
import Primitives

/// POST `/showcase/get-price-points`: the request.
package struct GetPricePointsRequestPayload: Codable, Hashable, Sendable {
    package var customerId: UserId
    /// The requested price points.
    package var ident: [String]

    package init(customerId: UserId, ident: [String]) {
        self.customerId = customerId
        self.ident = ident
    }
}

/// POST `/showcase/get-price-points`: the answer.
///
/// A row that cannot be read is left out and listed in `unreadable`. The other rows remain valid.
package struct PricePointsResponse: Codable, Hashable, Sendable {
    package var pricePoints: [PricePointInternal]
    /// The rows that were left out. They are never encoded.
    package var unreadable: [UnreadableRow] = []

    package init(pricePoints: [PricePointInternal]) { self.pricePoints = pricePoints }

    package init(from decoder: any Decoder) throws {
        let rows = try decoder.container(keyedBy: CodingKeys.self)
            .decode(ReadableRows<PricePointInternal>.self, forKey: .pricePoints)
        (pricePoints, unreadable) = (rows.readable, rows.unreadable)
    }

    private enum CodingKeys: String, CodingKey { case pricePoints }
}

/// A price point in the answer of `/showcase/get-price-points`. Prices are decimal strings. Period types are `second`,
/// `minute`, `day`, `week`, `month` or `year`. Prices and periods that the `type` does not have are `nil`.
public struct PricePointInternal: Codable, Hashable, Sendable {
    /// The identifier of the price point.
    public var ident: String
    /// The name of the price point, for customers.
    public var name: String
    /// The ISO 4217 code of the currency.
    public var currencyCode: String
    /// The way in which the customer pays.
    public var type: Kind
    /// The price of each period after the first.
    public var nextTotalPrice: String?
    /// The number of units in each period after the first.
    public var nextPeriodValue: Int?
    /// The unit of each period after the first.
    public var nextPeriodType: String?
    /// The price of the first period, or of a product that is bought once.
    public var introTotalPrice: String?
    /// The number of units in the first period.
    public var introPeriodValue: Int?
    /// The unit of the first period.
    public var introPeriodType: String?

    /// Creates a price point without prices.
    ///
    /// - Parameters:
    ///   - ident: The identifier of the price point.
    ///   - name: The name of the price point, for customers.
    ///   - currencyCode: The ISO 4217 code of the currency.
    ///   - type: The way in which the customer pays.
    public init(ident: String, name: String, currencyCode: String, type: Kind) {
        self.ident = ident
        self.name = name
        self.currencyCode = currencyCode
        self.type = type
    }

    /// The way in which the customer pays, from an open set: an unknown type is kept.
    public typealias Kind = OpenEnum<PricePointInternal>
}

extension PricePointInternal {
    /// Creates a price point from a store's product, with the product's identifier. For a subscription without an
    /// introductory offer, the first period has the regular price. For an offer of several periods, the first period
    /// has their total length and price.
    ///
    /// - Parameter product: The product as the store sells it.
    public init(_ product: StoreProduct) {
        let isFree = product.price.amount == 0 && product.subscription == nil
        let kind: Kind = product.subscription != nil ? .introNext : isFree ? .freebie : .lifetime
        self.init(
            ident: product.id.rawValue, name: product.displayName, currencyCode: product.price.currency, type: kind)
        guard kind != .freebie else { return }
        introTotalPrice = "\(product.price.amount)"
        guard let terms = product.subscription else { return }
        let regular = Self.wire(terms.period)
        (nextTotalPrice, nextPeriodValue, nextPeriodType) = (introTotalPrice, regular.value, regular.type)
        (introPeriodValue, introPeriodType) = (regular.value, regular.type)
        guard let offer = terms.introductoryOffer else { return }
        let count = max(1, offer.periodCount)
        let each = offer.price?.amount ?? 0
        introTotalPrice = "\(offer.paymentMode == .payAsYouGo ? each * Decimal(count) : each)"
        let first = Self.wire(offer.period, times: count)
        (introPeriodValue, introPeriodType) = (first.value, first.type)
    }

    /// Returns the value and unit of `count` periods. Hours become minutes, because the format has no hours.
    private static func wire(_ period: SubscriptionPeriod, times count: Int = 1) -> (value: Int, type: String) {
        let isOfHours = period.unit == .hour
        let value = [count, isOfHours ? 60 : 1].reduce(period.value) { value, factor in
            let (product, isTooLarge) = value.multipliedReportingOverflow(by: factor)
            return isTooLarge ? .max : product
        }
        return (value, (isOfHours ? SubscriptionPeriod.Unit.minute : period.unit).rawValue)
    }
}

extension PricePointInternal.Kind {
    /// One payment, for a limited time.
    public static var intro: Self { Self(rawValue: "intro") }
    /// A first period, then regular periods that renew.
    public static var introNext: Self { Self(rawValue: "intro_next") }
    /// One payment, without an expiry.
    public static var lifetime: Self { Self(rawValue: "lifetime") }
    /// Free of charge.
    public static var freebie: Self { Self(rawValue: "freebie") }
}
