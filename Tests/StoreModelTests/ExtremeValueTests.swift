import Foundation
import Primitives
import StoreModel
import Testing

/// Periods, prices and offers with the largest and smallest values of their types.
@Suite struct ExtremeValueTests {
    private let start = Date(timeIntervalSince1970: 1_767_225_600)

    @Test(arguments: SubscriptionPeriod.Unit.allCases)
    func `a period never ends before it starts, and a longer period never ends earlier`(
        unit: SubscriptionPeriod.Unit
    ) {
        let ends = [1, 2, 59, 1000, 10_000, 1 << 31, 1 << 40, .max].map {
            SubscriptionPeriod(value: $0, unit: unit).end(from: start)
        }
        #expect(ends.allSatisfy { $0 > start })
        #expect(ends == ends.sorted())
        #expect(SubscriptionPeriod(value: .max, unit: unit).end(from: start, count: .max) == ends.last)
        #expect(SubscriptionPeriod(value: 10_000, unit: unit).end(from: start, count: 1 << 60) == ends.last)
    }

    @Test func `a period is at most ten thousand years`() {
        let longest = SubscriptionPeriod.years(10_000).end(from: start)
        #expect(longest.timeIntervalSince(start) > 9_999 * 365 * 86_400)
        #expect(SubscriptionPeriod.years(1_000_000).end(from: start) >= longest)
        #expect(SubscriptionPeriod.years(9_999).end(from: start) < longest)
    }

    @Test(arguments: [
        ("2024-02-29T12:00:00Z", SubscriptionPeriod.years(1), 1, "2025-02-28T12:00:00Z"),
        ("2024-02-29T12:00:00Z", .years(1), 4, "2028-02-29T12:00:00Z"),
        ("2023-12-31T23:59:59Z", .months(2), 1, "2024-02-29T23:59:59Z"),
        ("2026-01-31T10:00:00Z", .months(1), 3, "2026-04-30T10:00:00Z"),
        ("2026-03-29T00:30:00Z", .days(1), 1, "2026-03-30T00:30:00Z"),
        ("2026-10-25T00:30:00Z", .months(1), 1, "2026-11-25T00:30:00Z"),
        ("2026-12-31T00:00:00Z", .weeks(1), 52, "2027-12-30T00:00:00Z"),
        ("1970-01-01T00:00:00Z", .init(value: 90, unit: .minute), 16, "1970-01-02T00:00:00Z"),
    ])
    func `a period is counted in the calendar of UTC`(
        from: String, period: SubscriptionPeriod, count: Int, to: String
    ) throws {
        let start = try #require(RFC3339.date(from: from))
        #expect(RFC3339.string(from: period.end(from: start, count: count)) == to)
    }

    @Test(arguments: [
        ("90s", "PT90S"), ("15m", "PT15M"), ("6h", "PT6H"), ("40d", "P40D"), ("2w", "P2W"), ("1y", "P1Y"),
        ("P1M", "P1M"), ("1000000000s", "PT1000000000S"),
    ])
    func `a short duration and an ISO 8601 duration are read`(text: String, iso8601: String) {
        #expect(SubscriptionPeriod(duration: text)?.iso8601 == iso8601)
    }

    @Test(arguments: [
        "", "s", "0s", "-5m", "+5m", "5", "5x", "5 m", " 5m", "5m ", "1.5h", "5M", "1000000001s",
        "99999999999999999999s",
        "٥m", "5m5s", "1e3s", "0x5s",
    ])
    func `a string in another form is not a duration`(text: String) {
        #expect(SubscriptionPeriod(duration: text) == nil)
    }

    @Test(arguments: ["P+1M", "P 1M", "P1 M", "P٣D", "p1m", "P1MT", "PT", "PT1M1S", "P10001D", "P1M ", "P01", "P½D"])
    func `a string in another form is not a period`(text: String) {
        #expect(SubscriptionPeriod(iso8601: text) == nil)
        #expect(throws: DecodingError.self) { try JSONValue.string(text).decode(SubscriptionPeriod.self) }
    }

    // MARK: - Prices

    @Test(arguments: [
        ("0", 0), ("0.0004", 0), ("0.0005", 1), ("-0.0005", -1), ("4.9994", 4999), ("4.9995", 5000), ("-4.99", -4990),
        ("9223372036854775.807", Int64.max), ("9223372036854775.808", .max), ("1e30", .max), ("1e127", .max),
        ("-9223372036854775.808", .min), ("-1e30", .min), ("-1e127", .min),
        ("9223372036854775.8064", 9_223_372_036_854_775_806),
    ])
    func `milliunits are rounded to the nearest`(amount: String, milliunits: Int64) throws {
        let price = Price(amount: try #require(Decimal(string: amount)), currency: "USD")
        #expect(price.milliunits == milliunits)
    }

    @Test(arguments: [Int64.min, -1, 0, 1, 4990, .max]) func `milliunits come back exactly`(milliunits: Int64) throws {
        let price = Price(milliunits: milliunits, currency: "JPY")
        #expect(price.milliunits == milliunits)
        #expect(try JSONValue(encoding: price).decode(Price.self) == price)
    }

    @Test(arguments: ["", " 1", "1 ", "4,99", "$4.99", "1e400", "0x10", "NaN", "٤", "1_000", "4.", ".5", "+4"])
    func `an amount that is not a decimal number is refused`(text: String) {
        let json: JSONValue = ["amount": .string(text), "currency": "EUR"]
        #expect(throws: DecodingError.self) { try json.decode(Price.self) }
    }

    @Test func `an amount must be a string, because a number can lose digits`() {
        let json: JSONValue = ["amount": 4.99, "currency": "EUR"]
        #expect(throws: DecodingError.self) { try json.decode(Price.self) }
    }

    // MARK: - Offers

    private func point(_ offer: Offer) -> PricePointInternal {
        let terms = SubscriptionTerms(groupID: "g", level: 1, period: .months(1), introductoryOffer: offer)
        return PricePointInternal(
            StoreProduct(
                id: "pro", kind: .autoRenewableSubscription, price: Price(amount: 5, currency: "EUR"),
                subscription: terms))
    }

    @Test(arguments: [0, -1, .min]) func `an offer of no periods counts as one period`(count: Int) {
        let offer = Offer(
            paymentMode: .payAsYouGo, period: .months(1), periodCount: count, price: Price(amount: 2, currency: "EUR"))
        #expect(point(offer).introTotalPrice == "2")
        #expect(point(offer).introPeriodValue == 1)
    }

    @Test(arguments: [SubscriptionPeriod.Unit.hour, .month])
    func `an offer whose periods overflow an integer does not trap`(
        unit: SubscriptionPeriod.Unit
    ) {
        let offer = Offer(
            paymentMode: .freeTrial, period: SubscriptionPeriod(value: 10_000, unit: unit), periodCount: .max)
        #expect(point(offer).introPeriodValue == .max)
        #expect(point(offer).introTotalPrice == "0")
    }
}
