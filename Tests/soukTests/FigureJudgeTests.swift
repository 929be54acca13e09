import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import HostTestSupport
import NetworkTestSupport
import Primitives
import Testing

/// DuckDB recomputes all daily sums from an export, after random lives of customers of the simulator.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with duckdb"))
struct FigureJudgeTests {
    private static let app = "com.example.darkroom"
    private static let subscriptions = ["pro.monthly", "pro.yearly", "plus.monthly", "plus.yearly"]

    /// This table has a rate for each currency of the lives; `otherRates` lacks some.
    private static let rates: JSONValue = [
        "name": "ECB of a test", "currency": "JPY", "rates": ["USD": "158.123456789012", "EUR": "184.000000000001"],
    ]
    private static let otherRates: JSONValue = [
        "name": "ECB of a test, other", "currency": "USD", "rates": ["GBP": "1.3201"],
    ]

    @Test(arguments: [1, 2] as [UInt64])
    func `DuckDB computes the same sums from the exported facts`(seed: UInt64) async throws {
        let folder = try TemporaryFolder()
        let store = try await SoukService([
            "simulate", "--catalog", TestFiles.darkroom, "--data", folder.file("store"), "--time-rate", "frozen",
            "--bundle-id", Self.app, "--seed", "\(seed)",
        ])
        let database = "sqlite:" + folder.file("souk.sqlite")
        let server = try await SoukService([
            "serve", "--database", database, "--bundle-id", Self.app, "--root",
            store.greeting["rootCertificate"]?.stringValue ?? "", "--environment", "sandbox", "--clock", store.url,
        ])
        _ = try folder.write("other.json", Array(Self.otherRates.encoded()))
        try await live(seed, at: store, notifying: server)
        try await until("all facts are in the figures") {
            let checked = try await SoukExecutable.run(["figures", "verify", "--database", database, "--json"])
            #expect(checked.status == 0, "\(checked.output)")
            return checked.json?["position"] == checked.json?["lastFact"]
        }
        for what in ["facts", "figures"] {
            let exported = try await SoukExecutable.run(
                ["export", "--what", what, "--format", "csv", "--database", database])
            #expect(exported.status == 0, "\(exported.errors)")
            _ = try folder.write("\(what).csv", Array(exported.output.utf8))
        }
        let rates = try folder.write("rates.json", Array(Self.rates.encoded()))
        var answers: [JSONValue] = []
        for (name, currency) in [
            ("revenue", "JPY"), ("proceeds", nil), ("proceeds", "JPY"), ("mrr", "JPY"), ("mrr-churn", "JPY"),
            ("lifetime-value", "JPY"), ("refunds", nil), ("lifetime-value", nil), ("revenue", "USD"),
        ] as [(String, String?)] {
            let shown = try await SoukExecutable.run(
                [
                    "figures", name, "--json", "--database", database, "--from", "2020-01-01", "--clock", store.url,
                    "--commission", "appStore=0.1533", "--currency-rates", rates, "--currency-rates",
                    folder.file("other.json"),
                ] + (currency.map { ["--currency", $0] } ?? []))
            #expect(shown.status == 0, "\(shown.errors)")
            #expect(currency == nil || shown.errors.contains("ECB of a test"))
            answers.append(try #require(shown.json))
        }
        #expect(answers.last?["currencyRates"]?["unconverted"] != nil)
        let request: JSONValue = [
            "facts": .string(folder.file("facts.csv")), "figures": .string(folder.file("figures.csv")),
            "answers": .array(answers), "tables": [Self.rates, Self.otherRates], "commissions": ["appStore": "0.1533"],
        ]
        let judged = try await OutsideJudge.judge("figures.py", request)
        #expect(judged.status == 0, "\(judged.output)\(judged.errors)")
        #expect(judged.json?["sums"]?.intValue ?? 0 > 300)
        #expect(judged.json?["measures"]?.intValue ?? 0 >= 18)
        #expect(judged.json?["values"]?.intValue ?? 0 > 1000)

        // The judge finds an answer whose commission differs by a millionth.
        var other = request
        other["commissions"] = ["appStore": "0.153301"]
        #expect(try await OutsideJudge.judge("figures.py", other).status == 1)

        // The judge finds a sum of revenue that is exported as a sum of refunds.
        let figures = try folder.text("figures.csv").replacing("revenue,", with: "refunds,", maxReplacements: 1)
        _ = try folder.write("changed.csv", Array(figures.utf8))
        let changed = try await OutsideJudge.judge(
            "figures.py", ["facts": .string(folder.file("facts.csv")), "figures": .string(folder.file("changed.csv"))])
        #expect(changed.status == 1)
        #expect(await server.stop() == 0)
        #expect(await store.stop() == 0)
    }

    @Test func `an export continues after its cursor, in both formats`() async throws {
        let shop = try SignedShop()
        let server = try await shop.serve()
        for id in ["1", "2", "3"] {
            let request = try shop.presentation(of: shop.purchase(id), by: "anna", to: server)
            #expect(try await CurlTransport.platformDefault().send(request).status == 200)
        }
        func export(_ words: String...) async throws -> SoukExecutable.Outcome {
            try await SoukExecutable.run(["export", "--database", shop.database] + words)
        }
        let all = try await export("--what", "facts", "--format", "jsonl")
        let lines = try all.output.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
        #expect(lines.map { $0["transactionId"] } == ["1", "2", "3"])
        #expect(lines[0]["purchaseDate"] == "2027-01-15T08:00:00Z" && lines[0]["price"] == nil)
        #expect(all.errors.split(separator: "\n").last == "3")
        let rest = try await export("--what", "facts", "--format", "csv", "--since", "2")
        #expect(rest.output.split(separator: "\n").count == 2)
        #expect(rest.output.hasPrefix("sequence,app,environment,kind,source,originalTransactionId,"))
        #expect(try await export("--what", "facts", "--format", "csv", "--since", "3").errors.hasSuffix("3\n"))
        let states = try await export("--what", "states", "--format", "csv")
        #expect(states.output.hasPrefix("app,environment,customer,revision,asOf,validUntil,kind,feature,"))
        #expect(states.output.split(separator: "\n").count > 3 && !states.output.contains("anna"))
        let position = try #require(states.errors.split(separator: "\n").last)
        let events = try await export("--what", "events", "--format", "jsonl")
        #expect(events.errors.split(separator: "\n").last == position)
        let event = try JSONValue(parsing: String(try #require(events.output.split(separator: "\n").last)))
        #expect(event["sequence"]?.text() == String(position) && event["type"] == "customer.updated")
        #expect(try await export("--what", "events", "--format", "csv", "--since", "\(position)").output.count < 200)
        for words in [
            ["--what", "keys", "--format", "csv"], ["--what", "states", "--format", "csv", "--since", "2"],
            ["--what", "facts"], ["--format", "csv"],
            ["--what", "figures", "--format", "csv", "--since", "2"],
            ["--what", "facts", "--format", "csv", "--since", "-1"],
        ] {
            #expect(try await SoukExecutable.run(["export", "--database", shop.database] + words).status == 2)
        }
        #expect(await server.stop() == 0)
    }

    // MARK: - Lives

    /// Lets customers buy, change plans, cancel and get refunds for a year and a half.
    private func live(_ seed: UInt64, at store: SoukService, notifying server: SoukService) async throws {
        var numbers = SeededNumbers(state: seed)
        let transport = CurlTransport()
        @discardableResult
        func call(_ method: HTTPRequest.Method, _ path: String, _ body: JSONValue = [:]) async throws -> JSONValue {
            let response = try await transport.send(
                HTTPRequest(
                    method: method, url: store.url + "/control/v1" + path,
                    headers: ["Content-Type": "application/json"], body: .json(body)))
            return try JSONValue(parsing: try await response.body.collect(upTo: 1 << 24))
        }
        func product(_ name: String) -> JSONValue { ["productID": .string("\(Self.app).\(name)")] }
        try await call(
            .put, "/settings/notificationsURL", ["value": .string(server.url + "/v1/notifications/app-store")])
        try await call(.put, "/settings/gracePeriod", ["value": "16d"])
        let accounts = (1...16).map { "customer-\($0)" }
        for (index, account) in accounts.enumerated() {
            let country: JSONValue = index % 3 == 0 ? "DEU" : "USA"
            try await call(.post, "/accounts", ["name": .string(account), "storefront": country])
        }
        var transactions: [String] = []
        for _ in 0..<36 {
            for account in accounts where Int.random(in: 0..<3, using: &numbers) == 0 {
                let path = "/accounts/\(account)"
                let name = try #require(Self.subscriptions.randomElement(using: &numbers))
                switch Int.random(in: 0..<12, using: &numbers) {
                case 0...4:
                    let bought = try await call(.post, "\(path)/buy", product(name))
                    if let id = bought["transactionID"]?.stringValue { transactions.append(id) }
                case 5:
                    var body = product("prints.10")
                    body["quantity"] = .number(Int.random(in: 1...3, using: &numbers))
                    let bought = try await call(.post, "\(path)/buy", body)
                    if let id = bought["transactionID"]?.stringValue { transactions.append(id) }
                case 6: try await call(.post, "\(path)/cancel", product(name))
                case 7: try await call(.post, "\(path)/fail-billing", product(name))
                case 8, 9: try await call(.post, "\(path)/resolve-billing", product(name))
                case 10:
                    guard let id = transactions.randomElement(using: &numbers) else { continue }
                    try await call(
                        .post, "/transactions/\(id)/refund",
                        Bool.random(using: &numbers) ? [:] : ["percentage": 33.333])
                default:
                    guard let id = transactions.randomElement(using: &numbers) else { continue }
                    try await call(.post, "/transactions/\(id)/reverse-refund")
                }
            }
            try await call(
                .post, "/clock/advance",
                ["seconds": .number(86_400 * Int.random(in: 5...25, using: &numbers))])
            try await call(.post, "/notifications/deliver")
        }
    }
}
