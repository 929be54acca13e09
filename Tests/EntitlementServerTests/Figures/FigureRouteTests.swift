import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

/// The bench begins on 2026-01-01. Anna subscribes on that day, Ben on 10 January in another country with a trial; both
/// renew once, and Ben gets a refund.
@Suite(.onBothEngines) struct FigureRouteTests {
    private func filled(_ settings: FigureSettings = .usual) async throws -> ServerBench {
        let bench = try await ServerBench(
            environments: [.sandbox, .production], configure: { $0.figures = settings })
        func post(
            _ id: String, of original: String, for customer: String, days: Double, _ price: Int, _ country: String
        )
            async throws
        {
            let reply = try await bench.post(
                bench.period(id, of: original, days: days) {
                    $0.price = price
                    $0.storefront = country
                    $0.currency = country == "USA" ? "USD" : "EUR"
                    if price == 0 { ($0.offerType, $0.offerDiscountType) = (.introductory, .freeTrial) }
                }, for: customer)
            #expect(reply.status == 200)
        }
        try await post("1", of: "1", for: "anna", days: 31, 4990, "USA")
        bench.clock.advance(by: 9 * 86400)
        try await post("2", of: "2", for: "ben", days: 7, 0, "DEU")
        bench.clock.advance(by: 7 * 86400)
        try await post("3", of: "2", for: "ben", days: 365, 39_990, "DEU")
        bench.clock.advance(by: 15 * 86400)
        try await post("4", of: "1", for: "anna", days: 28, 4990, "USA")
        bench.clock.advance(by: 9 * 86400)
        let now = bench.clock.now()
        _ = try await bench.post(
            bench.period("3", of: "2") {
                $0.purchaseDate = now.addingTimeInterval(-24 * 86400)
                $0.expiresDate = now.addingTimeInterval(341 * 86400)
                ($0.price, $0.currency, $0.storefront) = (39_990, "EUR", "DEU")
                $0.revocationDate = now
            }, for: "ben")
        try await bench.addAllFactsToFigures()
        return bench
    }

    private func rows(_ bench: ServerBench, _ path: String) async throws -> [String] {
        let reply = try await bench.send(.get, "/v1/figures/\(path)", as: .secret)
        try #require(reply.status == 200, "\(reply.json)")
        #expect(reply.json["position"]?.intValue ?? 0 > 0)
        return (reply.json["rows"]?.arrayValue ?? []).map { row in
            let parts = [row["group"], row["age"], row["value"], row["currency"]].compactMap { part in
                part.map { $0.stringValue ?? $0.text() }
            }
            return "\(row["at"]?.stringValue?.prefix(10) ?? "") \(parts.joined(separator: " "))"
        }
    }

    @Test(
        arguments: [
            ("active-subscriptions?by=month&from=2026-01-01", ["2026-01-01 2", "2026-02-01 1"]),
            (
                "active-subscriptions?from=2026-01-15&to=2026-01-18",
                ["2026-01-15 1", "2026-01-16 1", "2026-01-17 2", "2026-01-18 2"]
            ),
            ("active-trials?from=2026-01-09&to=2026-01-17&by=week", ["2026-01-05 1", "2026-01-12 0"]),
            ("new-subscriptions?by=month&from=2026-01-31T23:59:59Z", ["2026-01-01 2", "2026-02-01 0"]),
            (
                "new-subscriptions?by=month&from=2026-01-01&group=country",
                ["2026-01-01 DEU 1", "2026-01-01 USA 1", "2026-02-01 DEU 0", "2026-02-01 USA 0"]
            ),
            ("lost-subscriptions?by=month&from=2026-01-01", ["2026-01-01 0", "2026-02-01 1"]),
            ("churn?by=month&from=2026-01-01", ["2026-02-01 0.5"]),
            (
                "trials-started?by=month&from=2026-01-01&group=offer",
                ["2026-01-01 introductory 1", "2026-02-01 introductory 0"]
            ),
            ("trial-conversion-rate?by=month&from=2026-01-01", ["2026-01-01 1"]),
            (
                "mrr?by=month&from=2026-01-01",
                ["2026-01-01 3.3325 EUR", "2026-01-01 4.99 USD", "2026-02-01 0 EUR", "2026-02-01 4.99 USD"]
            ),
            ("mrr-churn?by=month&from=2026-02-01", ["2026-02-01 -3.3325 EUR"]),
            (
                "revenue?by=month&from=2026-01-01&group=app",
                [
                    "2026-01-01 com.example.darkroom 39.99 EUR", "2026-01-01 com.example.darkroom 4.99 USD",
                    "2026-02-01 com.example.darkroom -39.99 EUR", "2026-02-01 com.example.darkroom 4.99 USD",
                ]
            ),
            (
                "refunds?by=month&from=2026-01-01&group=source",
                ["2026-01-01 appStore 0 EUR", "2026-02-01 appStore 39.99 EUR"]
            ),
            ("payments?from=2026-02-01&to=2026-02-02", ["2026-02-01 1", "2026-02-02 0"]),
            ("retention?from=2026-01-01&to=2026-01-01", []),
            ("retention?from=2026-01-01", ["2026-01-01 1 1"]),
            ("lifetime-value?by=month&from=2026-01-01", ["2026-01-01 0 EUR", "2026-01-01 9.98 USD"]),
        ] as [(String, [String])])
    func `figures have the values of their definitions`(path: String, expected: [String]) async throws {
        let bench = try await filled()
        #expect(try await rows(bench, path) == expected)
        await bench.close()
    }

    @Test func `the answer has the figure's name, unit and position, and no day after today`() async throws {
        let bench = try await filled()
        let reply = try await bench.send(.get, "/v1/figures/mrr?to=2027-01-01", as: .secret)
        #expect(reply.json["name"] == "mrr" && reply.json["unit"] == "money")
        #expect(reply.json["rows"]?.arrayValue?.last?["at"] == "2026-02-10T00:00:00Z")
        let row = try bench.database.read { try $0.first("SELECT position FROM figure_position", []) }
        let last: Int64 = try #require(row)["position"]
        #expect(reply.json["position"]?.intValue == Int(last))
        let list = try await bench.send(.get, "/v1/figures", as: .secret)
        let names = list.json["figures"]?.arrayValue?.compactMap { $0["name"]?.stringValue }
        #expect(names == Figure.all.map(\.name))
        await bench.close()
    }

    // MARK: - Commissions and rates

    private static func rates(_ json: String) throws -> CurrencyRates {
        try CurrencyRates(try JSONValue(parsing: json))
    }

    private static func settings() throws -> FigureSettings {
        try FigureSettings(
            commissions: Commissions(["appStore=0.15"]),
            rates: [
                rates(#"{"name":"ECB, 2026-02-10","currency":"EUR","rates":{"USD":"0.8612"}}"#),
                rates(#"{"name":"Bank of Japan","currency":"JPY","rates":{"EUR":"184.5"}}"#),
            ])
    }

    @Test(
        arguments: [
            (
                "proceeds?by=month&from=2026-01-01",
                ["2026-01-01 33.9915 EUR", "2026-01-01 4.2415 USD", "2026-02-01 -33.9915 EUR", "2026-02-01 4.2415 USD"]
            ),
            (
                "revenue?by=month&from=2026-01-01&currency=EUR",
                ["2026-01-01 44.287388 EUR", "2026-02-01 -35.692612 EUR"]
            ),
            // 0.85 × 44.287388 = 37.6442798
            (
                "proceeds?by=month&from=2026-01-01&currency=EUR",
                ["2026-01-01 37.64428 EUR", "2026-02-01 -30.33872 EUR"]
            ),
            ("mrr?by=month&from=2026-01-01&currency=EUR", ["2026-01-01 7.629888 EUR", "2026-02-01 4.297388 EUR"]),
            ("mrr?by=month&from=2026-02-01&currency=EUR", ["2026-02-01 4.297388 EUR"]),
            ("lifetime-value?by=month&from=2026-01-01&currency=EUR", ["2026-01-01 4.297388 EUR"]),
            (
                "revenue?by=month&from=2026-01-01&group=country&currency=EUR",
                [
                    "2026-01-01 DEU 39.99 EUR", "2026-01-01 USA 4.297388 EUR", "2026-02-01 DEU -39.99 EUR",
                    "2026-02-01 USA 4.297388 EUR",
                ]
            ),
            // The table has no rate for USD.
            (
                "revenue?by=month&from=2026-02-01&currency=JPY", ["2026-02-01 -7378.155 JPY", "2026-02-01 4.99 USD"]
            ),
            ("payments?by=month&from=2026-02-01&currency=EUR", ["2026-02-01 1"]),
        ] as [(String, [String])])
    func `proceeds are without the commission, and money is in the requested currency if there is a rate`(
        path: String, expected: [String]
    ) async throws {
        let bench = try await filled(Self.settings())
        #expect(try await rows(bench, path) == expected)
        await bench.close()
    }

    @Test func `an answer states its rates, the currencies without one, and its commissions`() async throws {
        let bench = try await filled(Self.settings())
        func answer(_ path: String) async throws -> JSONValue {
            try await bench.send(.get, "/v1/figures/\(path)", as: .secret).json
        }
        let converted = try await answer("revenue?by=month&from=2026-01-01&currency=JPY")
        #expect(
            converted["currencyRates"] == ["name": "Bank of Japan", "currency": "JPY", "unconverted": ["USD"]])
        #expect(converted["commissions"] == nil)
        let proceeds = try await answer("proceeds?by=month&currency=EUR")
        #expect(proceeds["currencyRates"]?["unconverted"] == [])
        #expect(
            proceeds["commissions"] == [
                ["source": "appStore", "share": "0.15"], ["source": "googlePlay", "share": "0.15"],
                ["source": "web", "share": "0"],
            ])
        let paid = try await answer("revenue")
        #expect(paid["currencyRates"] == nil && paid["commissions"] == nil)
        #expect(try await answer("churn?currency=EUR")["currencyRates"] == nil)
        let unknown = try await bench.send(.get, "/v1/figures/revenue?currency=GBP", as: .secret)
        #expect((unknown.status, unknown.code, unknown.field) == (404, "unknown_currency", "currency"))
        #expect(unknown.json["detail"]?.stringValue?.contains("EUR, JPY") == true)
        await bench.close()
        let without = try await ServerBench()
        let refused = try await without.send(.get, "/v1/figures/revenue?currency=EUR", as: .secret)
        #expect(refused.code == "unknown_currency")
        #expect(refused.json["detail"]?.stringValue?.contains("--currency-rates") == true)
        await without.close()
    }

    @Test func `each source has its commission, and the largest sums are exact in another currency`() async throws {
        let bench = try await filled(Self.settings())
        try await bench.database.write { connection in
            for (source, currency, high, value) in [
                ("appStore", "USD", 7, 1), ("web", "USD", 5, 999_999_999_999_999_999), ("web", "EUR", -1, -1),
                ("web", "XAU", 1, 0),
            ] as [(String, String, Int64, Int64)] {
                try connection.perform(
                    """
                    INSERT INTO figure (app, environment, measure, day, age, product, country, source, offer, currency,
                        high, value)
                    VALUES (?1, 'sandbox', 'revenue', 20000, 0, '', '', ?2, '', ?3, ?4, ?5)
                    """,
                    [.text(ServerBench.app.rawValue), .text(source), .text(currency), .integer(high), .integer(value)])
            }
        }
        let days = "from=2024-10-04&to=2024-10-04"
        #expect(
            try await rows(bench, "revenue?\(days)") == [
                "2024-10-04 -1000000000000.000001 EUR", "2024-10-04 13000000000000 USD",
                "2024-10-04 1000000000000 XAU",
            ])
        // 0.85 × 7,000,000,000,000.000001 + 5,999,999,999,999.999999 = 11,949,999,999,999.99999985
        #expect(
            try await rows(bench, "proceeds?\(days)") == [
                "2024-10-04 -1000000000000.000001 EUR", "2024-10-04 11950000000000 USD",
                "2024-10-04 1000000000000 XAU",
            ])
        // The sum above × 0.8612 − 1,000,000,000,000.000001 = 9,291,339,999,999.999998870…
        #expect(
            try await rows(bench, "proceeds?\(days)&currency=EUR") == [
                "2024-10-04 9291339999999.999999 EUR", "2024-10-04 1000000000000 XAU",
            ])
        #expect(
            try await rows(bench, "proceeds?\(days)&group=source&currency=EUR") == [
                "2024-10-04 appStore 5124140000000.000001 EUR", "2024-10-04 web 4167199999999.999998 EUR",
                "2024-10-04 web 1000000000000 XAU",
            ])
        await bench.close()
    }

    @Test func `production, other apps and public keys see no figures of the sandbox`() async throws {
        let bench = try await filled()
        let production = try await bench.send(
            .get, "/v1/figures/revenue", as: .secret, headers: ["Souk-Environment": "production"])
        #expect(production.status == 200 && production.json["rows"] == [])
        let other = try await bench.send(.get, "/v1/figures/revenue", as: .secret, of: ServerBench.otherApp)
        #expect(other.status == 200 && other.json["rows"] == [])
        #expect(try await bench.send(.get, "/v1/figures/revenue").code == "secret_key_required")
        #expect(try await bench.send(.get, "/v1/figures").code == "secret_key_required")
        await bench.close()
    }

    @Test(
        arguments: [
            ("nothing", 404, "unknown_figure", "name"), ("mrr?from=yesterday", 400, "invalid_field", "from"),
            ("mrr?to=2026-02-30", 400, "invalid_field", "to"), ("mrr?by=year", 400, "invalid_field", "by"),
            ("mrr?group=customer", 400, "invalid_field", "group"),
            ("mrr?from=%2", 400, "malformed", nil),
        ] as [(String, Int, String, String?)])
    func `an invalid query of a figure is refused`(path: String, status: Int, code: String, field: String?)
        async throws
    {
        let bench = try await ServerBench()
        let reply = try await bench.send(.get, "/v1/figures/\(path)", as: .secret)
        #expect((reply.status, reply.code, reply.field) == (status, code, field))
        await bench.close()
    }

    @Test func `too many rows are refused`() async throws {
        let bench = try await ServerBench()
        try await bench.database.write { connection in
            for index in 0..<6 {
                try connection.perform(
                    """
                    INSERT INTO figure (app, environment, measure, day, age, product, country, source, offer, currency, value)
                    VALUES (?1, 'sandbox', 'payments', 20000, 0, ?2, '', '', '', '', 1)
                    """, [.text(ServerBench.app.rawValue), .text("product-\(index)")])
            }
        }
        let path = "/v1/figures/payments?from=2000-01-01"
        #expect(try await bench.send(.get, path, as: .secret).status == 200)
        #expect(try await bench.send(.get, "\(path)&group=product", as: .secret).field == "by")
        #expect(try await bench.send(.get, "\(path)&group=product&by=week", as: .secret).status == 200)
        await bench.close()
    }

    @Test func `money and ratios are written exactly`() {
        let values: [FigureValue] = [
            0, 1, -1, 1_000_000, -1_500_000, 4_990_000, FigureValue(.max), FigureValue(.min),
            FigureValue(high: 12, low: 5), FigureValue(high: -12, low: -500_000),
        ]
        #expect(
            values.map(Figure.Unit.money.text) == [
                "0", "0.000001", "-0.000001", "1", "-1.5", "4.99", "9223372036854.775807", "-9223372036854.775808",
                "12000000000000.000005", "-12000000000000.5",
            ])
        #expect(Figure.Unit.ratio.json(of: 333_333).text() == "0.333333")
    }

    @Test func `a week begins on a Monday, and a month on its first day`() {
        for day in Int64(-800)...800 {
            let week = FigureInterval.week.start(of: day)
            #expect(week <= day && day < week + 7 && (week + 3) % 7 == 0)
            #expect(FigureDay.date(of: FigureInterval.month.start(of: day)).day == 1)
        }
        #expect(FigureInterval.text(of: FigureInterval.week.start(of: 20_454)) == "2025-12-29")
        #expect(FigureInterval.day(from: "2026-01-01") == 20_454)
        #expect(FigureInterval.day(from: "2026-1-1") == nil)
    }
}
