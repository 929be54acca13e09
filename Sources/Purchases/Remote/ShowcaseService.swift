import Foundation
import StoreModel

/// The price points of the backend's web shop.
struct ShowcaseService: Sendable {
    let requests: CachedRequests<PricePointsResponse>
    let locale: Locale

    /// Returns the price points that the shop has among `idents`.
    func pricePoints(_ idents: [String], for user: UserId) async throws -> Sourced<[WebPricePoint]> {
        let request = PaymentsHTTPRequest.getPricePoints(.init(customerId: user, ident: idents))
        return try await requests.answer(to: request, ignoringCache: false).map {
            $0.usable.rows.compactMap(WebPricePoint.init)
        }
    }

    /// Returns the result of `pricePoints` as values of `Product`, which are sold in the web shop.
    func products(_ idents: [String], for user: UserId) async throws -> Sourced<Set<Product>> {
        try await pricePoints(idents, for: user).map { Set($0.map { Product($0, locale: locale) }) }
    }
}

extension PricePointsResponse {
    /// The price points of a known type that have the required prices and periods.
    var usable: UsableRows<PricePointInternal> {
        UsableRows(pricePoints, unreadable: unreadable) { row in
            guard WebPricePoint(row) == nil else { return nil }
            return "The price point \"\(row.ident)\" has the unknown type \"\(row.type.rawValue)\", "
                + "or lacks a price or period that this type requires."
        }
    }
}

extension WebPricePoint {
    /// Creates a price point, or returns `nil` for an unknown type or a missing price or period.
    init?(_ row: PricePointInternal) {
        let introPrice = Decimal(wirePrice: row.introTotalPrice)
        let introPeriod = SubscriptionPeriod(wireValue: row.introPeriodValue, type: row.introPeriodType)
        let price = Decimal(wirePrice: row.nextTotalPrice)
        let period = SubscriptionPeriod(wireValue: row.nextPeriodValue, type: row.nextPeriodType)
        let currency = row.currencyCode
        switch row.type {
        case .intro:
            guard let introPrice, let introPeriod else { return nil }
            self.init(row, .intro(price: introPrice, period: introPeriod, currency: currency))
        case .introNext:
            guard let introPrice, let introPeriod, let price, let period else { return nil }
            self.init(
                row,
                .subscription(
                    introPrice: introPrice, introPeriod: introPeriod, price: price, period: period, currency: currency))
        case .lifetime:
            guard let introPrice else { return nil }
            self.init(row, .oneTime(price: introPrice, currency: currency))
        case .freebie: self.init(row, .freebie)
        default: return nil
        }
    }

    private init(_ row: PricePointInternal, _ payment: Payment) {
        self.init(ident: row.ident, name: row.name, payment: payment)
    }
}

extension Product {
    /// Creates a product from a price point, with its ident as the identifier. If the first period of a subscription
    /// has another price or length than the later ones, it becomes an introductory discount.
    init(_ point: WebPricePoint, locale: Locale) {
        self.init(
            productIdentifier: point.ident, productType: .nonConsumable, currencyCode: "", localizedTitle: point.name,
            pricePointIdent: point.ident)
        switch point.payment {
        case .intro(let price, let period, let currency):
            productType = .nonRenewableSubscription
            subscriptionPeriod = period
            setPrice(price, currency, locale)
        case .subscription(let introPrice, let introPeriod, let price, let period, let currency):
            productType = .autoRenewableSubscription
            subscriptionPeriod = period
            setPrice(price, currency, locale)
            guard introPrice != price || introPeriod != period else { return }
            introductoryDiscount = ProductDiscount(
                paymentMode: introPrice == 0 ? .freeTrial : .payUpFront, price: introPrice, currencyCode: currency,
                localizedPriceString: Self.text(introPrice, currency, locale), subscriptionPeriod: introPeriod)
        case .oneTime(let price, let currency): setPrice(price, currency, locale)
        case .freebie: break
        }
    }

    private mutating func setPrice(_ price: Decimal, _ currency: String, _ locale: Locale) {
        self.price = price
        currencyCode = currency
        localizedPriceString = Self.text(price, currency, locale)
    }

    private static func text(_ price: Decimal, _ currency: String, _ locale: Locale) -> String {
        price.formatted(.currency(code: currency).locale(locale))
    }
}
