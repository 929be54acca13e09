import Foundation
import Primitives
import StoreModel
import Testing

@testable import GooglePlay

private typealias Money = AndroidPublisher.Money

struct MoneyTests {
    @Test(
        arguments: [
            (4, 990_000_000, #"{"currencyCode":"USD","nanos":990000000,"units":"4"}"#),
            (0, 0, #"{"currencyCode":"USD"}"#), (-1, -5, #"{"currencyCode":"USD","nanos":-5,"units":"-1"}"#),
            (7, 0, #"{"currencyCode":"USD","units":"7"}"#),
        ] as [(Int64, Int, String)])
    func `money has Google's form in both directions`(_ units: Int64, _ nanos: Int, _ json: String) throws {
        let money = try #require(Money(currencyCode: "USD", units: units, nanos: nanos))
        #expect(String(decoding: try WireJSON.encode(money), as: UTF8.self) == json)
        #expect(try WireJSON.decode(Money.self, from: Array(json.utf8)) == money)
        #expect((money.units, money.nanos) == (units, nanos))
    }

    @Test(
        arguments: [
            (1, -1), (-1, 1), (0, 1_000_000_000), (0, -1_000_000_000), (Int64.max, 0), (Int64.min, 0), (0, Int.min),
            (9_223_372_036, 999_999_999), (-9_223_372_037, 0),
        ] as [(Int64, Int)])
    func `units and nanos that are no amount are refused`(_ units: Int64, _ nanos: Int) {
        #expect(Money(currencyCode: "USD", units: units, nanos: nanos) == nil)
        let json: JSONValue = ["currencyCode": "USD", "units": .string("\(units)"), "nanos": .number(nanos)]
        #expect(throws: DecodingError.self) { try WireJSON.decode(Money.self, from: json.encoded()) }
    }

    @Test(arguments: [#""4.0""#, #""+4""#, #"" 4""#, #""9223372036854775808""#, "true", "[]", "4.5"])
    func `units that are not a 64-bit integer are refused`(_ units: String) {
        #expect(throws: DecodingError.self) {
            try WireJSON.decode(Money.self, from: Array(#"{"currencyCode":"USD","units":\#(units)}"#.utf8))
        }
    }

    @Test func `arithmetic reports overflow and different currencies`() throws {
        let large = Money(currencyCode: "USD", billionths: .max)
        let small = Money(currencyCode: "USD", billionths: 1)
        #expect(large.adding(small) == nil)
        #expect(Money(currencyCode: "USD", billionths: .min).subtracting(small) == nil)
        #expect(small.adding(Money(currencyCode: "EUR", billionths: 1)) == nil)
        #expect(small.subtracting(Money(currencyCode: "usd", billionths: 1)) == nil)
        #expect(try #require(large.subtracting(small)).adding(small) == large)
        #expect(small.amount == Decimal(string: "0.000000001"))
    }

    @Test func `a share is rounded down to a hundredth and never exceeds the amount`() throws {
        let price = try #require(Money(currencyCode: "USD", units: 9, nanos: 990_000_000))
        #expect(price.share(1, of: 3) == Money(currencyCode: "USD", units: 3, nanos: 330_000_000))
        #expect(price.share(0, of: 3) == .zero("USD"))
        #expect(price.share(3, of: 3) == price)
        #expect(price.share(4, of: 3) == nil)
        #expect(price.share(-1, of: 3) == nil)
        #expect(price.share(1, of: 0) == nil)
        #expect(Money(currencyCode: "USD", billionths: -1).share(1, of: 2) == nil)
        let large = Money(currencyCode: "USD", billionths: .max)
        #expect(large.share(.max, of: .max)?.billionths == Int64.max - Int64.max % 10_000_000)
    }
}
