import Foundation
import Primitives

/// POST `/showcase/get-price-points`: the request.
package struct GetPricePointsRequestPayload: Codable, Hashable, Sendable {
    package var customerId: UserId
    /// The price points asked about.
    package var ident: [String]

    package init(customerId: UserId, ident: [String]) {
        self.customerId = customerId
        self.ident = ident
    }
}

/// POST `/showcase/get-price-points`: the answer.
///
/// A row that cannot be read is left out and named in `unreadable`; the others stand.
package struct PricePointsResponse: Codable, Hashable, Sendable {
    package var pricePoints: [PricePointInternal]
    /// The rows that were left out; never encoded.
    package var unreadable: [UnreadableRow] = []

    package init(pricePoints: [PricePointInternal]) { self.pricePoints = pricePoints }

    package init(from decoder: any Decoder) throws {
        let rows = try decoder.container(keyedBy: CodingKeys.self)
            .decode(ReadableRows<PricePointInternal>.self, forKey: .pricePoints)
        (pricePoints, unreadable) = (rows.readable, rows.unreadable)
    }

    private enum CodingKeys: String, CodingKey { case pricePoints }
}

/// What something costs, on the wire of seed 000. Prices are decimal strings, period types `second`, `minute`, `day`,
/// `week`, `month` or `year`.
public struct PricePointInternal: Codable, Hashable, Sendable {
    public var ident: String
    public var name: String
    public var currencyCode: String
    public var type: Kind
    /// What every period after the first costs, and how long it is.
    public var nextTotalPrice: String?
    public var nextPeriodValue: Int?
    public var nextPeriodType: String?
    /// What is paid first, and for how long.
    public var introTotalPrice: String?
    public var introPeriodValue: Int?
    public var introPeriodType: String?

    public init(ident: String, name: String, currencyCode: String, type: Kind) {
        self.ident = ident
        self.name = name
        self.currencyCode = currencyCode
        self.type = type
    }

    /// How it is paid. An open set: a type this version does not know is kept.
    public typealias Kind = OpenEnum<PricePointInternal>
}

extension PricePointInternal {
    /// A store's product under its own identifier. A subscription without an introductory offer costs the same first as
    /// later; an offer of several periods is their sum.
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

    /// The wire knows no hours.
    private static func wire(_ period: SubscriptionPeriod, times count: Int = 1) -> (value: Int, type: String) {
        let isOfHours = period.unit == .hour
        // A number of periods comes from a store, which may say anything.
        let value = [count, isOfHours ? 60 : 1].reduce(period.value) { value, factor in
            let (product, isTooLarge) = value.multipliedReportingOverflow(by: factor)
            return isTooLarge ? .max : product
        }
        return (value, (isOfHours ? SubscriptionPeriod.Unit.minute : period.unit).rawValue)
    }
}

extension PricePointInternal.Kind {
    /// Once, for a time.
    public static var intro: Self { Self(rawValue: "intro") }
    /// A first period, then again and again.
    public static var introNext: Self { Self(rawValue: "intro_next") }
    /// Once, for good.
    public static var lifetime: Self { Self(rawValue: "lifetime") }
    /// Free.
    public static var freebie: Self { Self(rawValue: "freebie") }
}
