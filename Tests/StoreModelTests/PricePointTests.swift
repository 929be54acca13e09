import Foundation
import Primitives
import StoreModel
import Testing

@Suite struct PricePointTests {
    private func wire(_ product: StoreProduct) throws -> JSONValue {
        try JSONValue(parsing: WireJSON.encode(PricePointInternal(product)))
    }

    private func subscription(_ offer: Offer?) -> StoreProduct {
        let terms = SubscriptionTerms(groupID: "g", level: 1, period: .months(1), introductoryOffer: offer)
        return StoreProduct(
            id: "pro.monthly", kind: .autoRenewableSubscription, price: Price(amount: 5, currency: "EUR"),
            displayName: "Pro", subscription: terms)
    }

    @Test func `a product that is bought once is a lifetime price point`() throws {
        let product = StoreProduct(
            id: "tools", kind: .nonConsumable, price: Price(milliunits: 14990, currency: "USD"), displayName: "Tools")
        #expect(
            try wire(product) == [
                "ident": "tools", "name": "Tools", "currencyCode": "USD", "type": "lifetime",
                "introTotalPrice": "14.99",
            ])
    }

    @Test func `a product with the price 0 is a freebie`() throws {
        let product = StoreProduct(id: "gift", kind: .nonConsumable, price: Price(amount: 0, currency: "USD"))
        #expect(try wire(product)["type"] == "freebie")
        #expect(try wire(product)["introTotalPrice"] == nil)
    }

    @Test func `the first period of a subscription has its regular price`() throws {
        #expect(
            try wire(subscription(nil)) == [
                "ident": "pro.monthly", "name": "Pro", "currencyCode": "EUR", "type": "intro_next",
                "nextTotalPrice": "5", "nextPeriodValue": 1, "nextPeriodType": "month", "introTotalPrice": "5",
                "introPeriodValue": 1, "introPeriodType": "month",
            ])
    }

    @Test(arguments: [
        (Offer(paymentMode: .freeTrial, period: .weeks(1)), "0", 1, "week"),
        (
            Offer(
                paymentMode: .payUpFront, period: .months(3), periodCount: 1,
                price: Price(amount: 4, currency: "EUR")), "4", 3, "month"
        ),
        (
            Offer(
                paymentMode: .payAsYouGo, period: .months(1), periodCount: 3,
                price: Price(amount: 2, currency: "EUR")), "6", 3, "month"
        ),
        (Offer(paymentMode: .freeTrial, period: SubscriptionPeriod(value: 2, unit: .hour)), "0", 120, "minute"),
    ])
    func `the first period has the introductory offer`(offer: Offer, price: String, value: Int, type: String) throws {
        let point = try wire(subscription(offer))
        #expect(point["introTotalPrice"] == .string(price))
        #expect(point["introPeriodValue"] == .number(value) && point["introPeriodType"] == .string(type))
        #expect(point["nextTotalPrice"] == "5" && point["nextPeriodType"] == "month")
    }

    @Test func `the request for price points has the members of the contract`() throws {
        let request = GetPricePointsRequestPayload(customerId: .string("ada"), ident: ["a", "b"])
        #expect(
            try JSONValue(parsing: WireJSON.encode(request))
                == ["customerId": ["type": "merchant-str", "value": "ada"], "ident": ["a", "b"]])
    }

    @Test func `an unknown type of price point is kept`() throws {
        let row: JSONValue = ["ident": "a", "name": "", "currencyCode": "", "type": "barter"]
        let point = try WireJSON.decode(PricePointInternal.self, from: row.encoded())
        #expect(point.type == PricePointInternal.Kind(rawValue: "barter"))
    }
}
