import BaseTestSupport
import Foundation
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

/// Commissions, exchange rates, and exact sums with both.
struct FigureSettingTests {
    // MARK: - Commissions

    @Test func `commissions have usual values, and are given as decimal shares`() throws {
        #expect(
            Commissions.usual.texts.map { "\($0.source)=\($0.share)" } == ["appStore=0.3", "googlePlay=0.15", "web=0"])
        let given = try Commissions(["appStore=0.15", "web=0.029"])
        #expect(given.texts.map { "\($0.source)=\($0.share)" } == ["appStore=0.15", "googlePlay=0.15", "web=0.029"])
        #expect(given.remainder(of: .appStore) == 850_000 && given.remainder(of: .web) == 971_000)
        #expect(given.remainder(of: .grant) == 1_000_000)
        #expect(try Commissions(["appStore=1"]).remainder(of: .appStore) == 0)
    }

    @Test(arguments: [
        (["appStore"], "appStore=0.15"), (["app-store=0.3"], "appStore=0.15 or googlePlay=0.15 or web=0.15"),
        (["=0.3"], "appStore=0.15"),
        (["appStore=1.5"], "from 0 to 1"), (["appStore=-0.1"], "from 0 to 1"), (["appStore=30%"], "from 0 to 1"),
        (["appStore=0.1234567"], "six decimals"), (["appStore="], "from 0 to 1"), (["appStore=1e-1"], "from 0 to 1"),
        (["web=0", "web=0.1"], "two shares"), (["appStore=99999999999999999999"], "from 0 to 1"),
    ])
    func `a commission that cannot be used is refused with a sentence`(texts: [String], expected: String) {
        #expect { try Commissions(texts) } throws: { "\($0)".contains(expected) }
    }

    // MARK: - Rates

    private static func table(_ json: String) throws -> CurrencyRates {
        try CurrencyRates(try JSONValue(parsing: json))
    }

    @Test func `a table has a name, a currency and exact rates`() throws {
        let table = try Self.table(
            #"{"name":"ECB","currency":"EUR","rates":{"USD":"0.8612","JPY":"0.000000000001","KWD":"1000000"}}"#)
        #expect(table.name == "ECB" && table.currency == "EUR")
        #expect(table.rate(of: "USD") == 861_200_000_000 && table.rate(of: "JPY") == 1)
        #expect(table.rate(of: "KWD") == 1_000_000_000_000_000_000 && table.rate(of: "EUR") == 1_000_000_000_000)
        #expect(table.rate(of: "GBP") == nil && table.rate(of: "") == nil)
    }

    @Test(
        arguments: [
            ("[]", ["this should be a JSON object"]),
            ("{}", ["/name: write", "/currency: write", "/rates: write"]),
            (#"{"name":"a","currency":"eur","rates":{"USD":"1"}}"#, ["/currency: write"]),
            (
                #"{"name":"a","currency":"EUR","rates":{"usd":"1","GBP":1,"CHF":"0"}}"#,
                ["/rates/usd", "/rates/GBP", "/rates/CHF"]
            ),
            (
                #"{"name":"a","currency":"EUR","rates":{"USD":"-1","GBP":"1e2","CHF":"1000000.1","SEK":"0.0000000000001","NOK":""}}"#,
                ["/rates/USD", "/rates/GBP", "/rates/CHF", "/rates/SEK", "/rates/NOK"]
            ),
            (#"{"name":"a","currency":"EUR","rates":{"EUR":"2","USD":"1"}}"#, ["/rates/EUR: the rate"]),
            (
                #"{"name":"a\nb","currency":"EUR","rates":{"USD":"1"},"date":"x"}"#,
                ["/date: there is no", "/name: write"]
            ),
        ] as [(String, [String])])
    func `each error in a table of rates is reported in a sentence of its own`(json: String, expected: [String]) {
        #expect {
            try Self.table(json)
        } throws: { error in
            let sentences = (error as? FigureSettingErrors)?.sentences ?? []
            return sentences.count == expected.count && zip(sentences, expected).allSatisfy { $0.hasPrefix($1) }
        }
    }

    @Test func `two tables to one currency are refused`() throws {
        let table = try Self.table(#"{"name":"a","currency":"EUR","rates":{"USD":"1"}}"#)
        #expect { try FigureSettings(rates: [table, table]) } throws: {
            "\($0)".contains("two tables of rates are for EUR")
        }
    }

    // MARK: - Sums

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `a sum with factors is exact, and is rounded once`(seed: UInt64) {
        var numbers = SeededNumbers(state: seed)
        for _ in 0..<200 {
            var sum = FigureSum()
            // The values and factors are small enough for `Decimal`, which is exact up to 38 digits.
            var expected = Decimal()
            for _ in 0..<Int.random(in: 1...6, using: &numbers) {
                let value = Int64.random(in: -4_000_000_000_000_000...4_000_000_000_000_000, using: &numbers)
                let share = Int64.random(in: 0...1_000_000, using: &numbers)
                let rate = Int64.random(in: 1...9_000_000_000_000, using: &numbers)
                sum += FigureSum(FigureValue(value), times: FigureFactor(share: share, rate: rate))
                expected += Decimal(value) * Decimal(share) * Decimal(rate)
            }
            #expect("\(sum.rounded)" == "\(Self.rounded(expected / Decimal(FigureValue.base)))")
            let count = Int64.random(in: 1...9, using: &numbers)
            let quotient = expected / Decimal(FigureValue.base) / Decimal(count)
            #expect("\(sum.rounded(dividedBy: count))" == "\(Self.rounded(quotient))")
        }
    }

    private static func rounded(_ value: Decimal) -> Decimal {
        var (value, rounded) = (value, Decimal())
        NSDecimalRound(&rounded, &value, 0, .plain)
        return rounded
    }

    @Test func `halves are rounded away from zero, and only at the end`() {
        func sum(_ values: Int64..., share: Int64 = 500_000) -> FigureSum {
            values.reduce(into: FigureSum()) {
                $0 += FigureSum(FigureValue($1), times: FigureFactor(share: share, rate: CurrencyRates.one))
            }
        }
        #expect(sum(1).rounded == 1 && sum(-1).rounded == -1 && sum(1, 1).rounded == 1 && sum(1, -1).rounded == 0)
        #expect(sum(3, -1).rounded == 1 && sum(-3, 1).rounded == -1 && sum(3, -2).rounded == 1)
        #expect(sum(1, share: 499_999).rounded == 0 && sum(-1, share: 499_999).rounded == 0)
        // 2.5 / 5 is a half; 2.499995 / 5 is less.
        #expect(sum(5).rounded(dividedBy: 5) == 1 && sum(-5).rounded(dividedBy: 5) == -1)
        #expect(sum(5, share: 499_999).rounded(dividedBy: 5) == 0)
        #expect(sum(1).rounded(dividedBy: .max) == 0 && sum(1).rounded(dividedBy: 1) == 1)
    }

    @Test func `extreme values, rates and shares stay exact`() throws {
        let large = FigureValue(high: 1_000_000_000_000, low: 1)
        let factor = FigureFactor(share: 1_000_000, rate: 1_000_000_000_000_000_000)
        #expect(FigureSum(large, times: factor).rounded.text == "1000000000000000000000000000001000000")
        #expect(FigureSum(-large, times: factor).rounded.text == "-1000000000000000000000000000001000000")
        let small = FigureFactor(share: 1, rate: 1)
        #expect(FigureSum(large, times: small).rounded == 1_000_000_000_000)
        #expect(FigureSum(1, times: FigureFactor(share: 0, rate: 1)).rounded == 0)
        #expect(FigureSum(FigureValue(.min), times: .one).rounded == FigureValue(.min))
    }
}
