import Foundation
import HTTPCore
import Primitives
import Purchases
import Testing

/// Price points of the web shop, and their products.
@Suite struct ShowcaseTests {
    private let backend = RemoteBackend()

    private func point(_ ident: String, _ type: String, _ members: [String: JSONValue] = [:]) -> JSONValue {
        var row: JSONValue = [
            "ident": .string(ident), "name": .string("Name of \(ident)"), "currencyCode": "EUR",
            "type": .string(type),
        ]
        for (name, value) in members { row[name] = value }
        return row
    }

    private let intro: [String: JSONValue] = [
        "introTotalPrice": "0.99", "introPeriodValue": 1, "introPeriodType": "week",
    ]
    private let next: [String: JSONValue] = [
        "nextTotalPrice": "4.99", "nextPeriodValue": 1, "nextPeriodType": "month",
    ]

    private func both(_ changes: [String: JSONValue] = [:]) -> [String: JSONValue] {
        intro.merging(next) { $1 }.merging(changes) { $1 }
    }

    /// Returns the price points and products of one row.
    private func read(_ row: JSONValue) async throws -> (points: [WebPricePoint], products: Set<Product>) {
        let (plugin, _) = try await backend.plugin([backend.pricePoints(row), backend.pricePoints(row)])
        return (
            try await plugin.getWebPricePoints(with: ["a"]), try await plugin.getProductsAndPricePoints(with: ["a"])
        )
    }

    private func price(_ text: String) throws -> Decimal { try #require(Decimal(string: text)) }

    @Test func `a single payment for a period is a subscription that does not renew`() async throws {
        let (points, products) = try await read(point("a", "intro", intro))
        let cents = try price("0.99")
        #expect(
            points == [
                WebPricePoint(
                    ident: "a", name: "Name of a", payment: .intro(price: cents, period: .weeks(1), currency: "EUR"))
            ])
        #expect(
            products == [
                Product(
                    productIdentifier: "a", productType: .nonRenewableSubscription, price: cents, currencyCode: "EUR",
                    localizedTitle: "Name of a", subscriptionPeriod: .weeks(1), pricePointIdent: "a")
            ])
        #expect(products.first?.localizedPriceString == "€0.99")
    }

    @Test func `an introductory period before regular periods is the discount of a subscription`() async throws {
        let (points, products) = try await read(point("a", "intro_next", both()))
        let (first, later) = (try price("0.99"), try price("4.99"))
        #expect(
            points.map(\.payment) == [
                .subscription(
                    introPrice: first, introPeriod: .weeks(1), price: later, period: .months(1), currency: "EUR")
            ])
        #expect(
            products == [
                Product(
                    productIdentifier: "a", productType: .autoRenewableSubscription, price: later, currencyCode: "EUR",
                    localizedTitle: "Name of a", subscriptionPeriod: .months(1),
                    introductoryDiscount: ProductDiscount(
                        paymentMode: .payUpFront, price: first, currencyCode: "EUR", subscriptionPeriod: .weeks(1)),
                    pricePointIdent: "a")
            ])
    }

    @Test(
        arguments: [
            ([:], .payUpFront), (["introTotalPrice": "0"], .freeTrial),
            (["introTotalPrice": "4.99"], .payUpFront), (["introPeriodType": "month"], .payUpFront),
            (["introTotalPrice": "4.99", "introPeriodType": "month"], nil),
        ] as [([String: JSONValue], Offer.PaymentMode?)])
    func `the first period is a discount if it differs from the others`(
        changes: [String: JSONValue], expected: Offer.PaymentMode?
    ) async throws {
        let products = try await read(point("a", "intro_next", both(changes))).products
        #expect(products.first?.introductoryDiscount?.paymentMode == expected)
    }

    @Test func `a single payment for ever and a free price point are non-consumable products`() async throws {
        let life = try await read(point("a", "lifetime", ["introTotalPrice": "14.99"]))
        #expect(life.points.map(\.payment) == [.oneTime(price: try price("14.99"), currency: "EUR")])
        #expect(life.products.map(\.productType) == [.nonConsumable])
        let gift = try await read(point("a", "freebie"))
        #expect(gift.points.map(\.payment) == [.freebie])
        let product = try #require(gift.products.first)
        #expect(product.productType == .nonConsumable && product.price == 0 && product.currencyCode.isEmpty)
    }

    @Test func `a price point without the values of its type is omitted and reported, the others are used`()
        async throws
    {
        let lacking =
            [point("a", "lifetime"), point("a", "barter", both()), 7]
            + intro.keys.map { name in point("a", "intro", intro.filter { $0.key != name }) }
            + both().keys.map { name in point("a", "intro_next", both().filter { $0.key != name }) }
            + [point("a", "lifetime", ["introTotalPrice": "much"])]
        for row in lacking {
            let (plugin, _) = try await backend.plugin([backend.pricePoints(row, point("b", "freebie"))])
            let answers = plugin.answers
            #expect(try await plugin.getWebPricePoints(with: ["a", "b"]).map(\.ident) == ["b"])
            #expect(await answers.first { _ in true }?.unreadableRows.map(\.index) == [0])
        }
    }

    @Test func `without identifiers or without a web shop, no request is sent`() async throws {
        let (plugin, _) = try await backend.plugin([])
        #expect(try await plugin.getProductsAndPricePoints(with: []).isEmpty)
        let (silent, _) = try await backend.plugin([]) { $0.sellsOnTheWeb = false }
        #expect(try await silent.getProductsAndPricePoints(with: ["a"]).isEmpty)
        #expect(try await silent.getWebPricePoints(with: ["a"]).isEmpty)
    }
}
