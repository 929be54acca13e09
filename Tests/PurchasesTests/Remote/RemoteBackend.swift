import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import Purchases
import StoreTestSupport
import Testing

/// A remote plugin with a scripted backend, the rows of its answers, and a fixed clock.
struct RemoteBackend {
    let clock = ManualClock(Date(timeIntervalSince1970: 1_795_185_600))
    let first = UUID(uuidString: "11111111-1111-4111-8111-111111111111") ?? UUID()
    let second = UUID(uuidString: "22222222-2222-4222-8222-222222222222") ?? UUID()

    /// Returns a plugin without a cache and without retries, unless the test configures them.
    func plugin(
        _ script: [ScriptedTransport.Step], user: UserId? = .string("ada"),
        _ configure: (inout RemotePurchasePlugin.Configuration) -> Void = { _ in }
    ) async throws -> (RemotePurchasePlugin, ScriptedTransport) {
        let transport = ScriptedTransport(script)
        var configuration = RemotePurchasePlugin.Configuration(baseURL: "http://server/base", key: "pk_secret")
        configuration.clock = clock
        configuration.backoff = .none
        configuration.freshness = .none
        configuration.locale = Locale(identifier: "en_US")
        configure(&configuration)
        let plugin = RemotePurchasePlugin(configuration: configuration, transport: transport)
        if let user { try await plugin.logIn(appUserId: user) }
        return (plugin, transport)
    }

    func date(_ offset: TimeInterval) -> Date { clock.now().addingTimeInterval(offset) }
    private func text(_ offset: TimeInterval) -> JSONValue { .string(RFC3339.string(from: date(offset))) }

    func feature(_ name: String, till: TimeInterval? = nil, subscription: UUID? = nil) -> JSONValue {
        var row: JSONValue = ["quantity": 1, "actualFrom": text(-100), "feature": .string(name)]
        if let till { row["actualTill"] = text(till) }
        if let subscription { row["lastSubscriptionId"] = .string(subscription.uuidString) }
        return row
    }

    func subscription(
        _ id: UUID, state: String = "active", end: TimeInterval = 100, next: UUID? = nil, tags: [JSONValue] = []
    ) -> JSONValue {
        var row: JSONValue = [
            "id": .string(id.uuidString), "state": .string(state), "createdAt": text(-200),
            "currentPeriodStartAt": text(-100), "currentPeriodEndAt": text(end), "tags": .array(tags),
            "pricePoint": [
                "ident": .string("point-\(id.uuidString.prefix(1))"), "services": [["featureIdent": "pro"]],
                "currencyCode": "EUR", "nextTotalPrice": "4.99", "nextPeriodValue": 1, "nextPeriodType": "month",
                "introTotalPrice": "0.99", "introPeriodValue": 3, "introPeriodType": "fortnight",
            ],
        ]
        if let next { row["nextSubscriptionId"] = .string(next.uuidString) }
        if state == "canceled" { row["canceledAt"] = text(-1) }
        return row
    }

    func features(_ rows: JSONValue...) -> ScriptedTransport.Step { .answer(json: ["features": .array(rows)]) }

    func subscriptions(_ rows: JSONValue...) -> ScriptedTransport.Step {
        .answer(json: ["subscriptions": .array(rows)])
    }

    func pricePoints(_ rows: JSONValue...) -> ScriptedTransport.Step { .answer(json: ["pricePoints": .array(rows)]) }

    /// The period of `subscription(id)`.
    func period(_ id: UUID, end: TimeInterval = 100) -> PaidFeature.Period {
        PaidFeature.Period(
            id: id, startDate: date(-100), endDate: date(end), price: Decimal(string: "4.99"), currencyCode: "EUR",
            subscriptionPeriod: .months(1), introPrice: Decimal(string: "0.99"))
    }
}

/// The tables of Documentation/RemotePlugin.md.
enum Chapter {
    /// Returns the cells of the table under `heading` in Documentation/RemotePlugin.md.
    static func table(under heading: String) throws -> [[String]] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(
            contentsOf: root.appendingPathComponent("Documentation/RemotePlugin.md"), encoding: .utf8)
        let lines = text.components(separatedBy: "\n").drop { $0 != "## \(heading)" }.dropFirst()
        let table = lines.prefix { !$0.hasPrefix("## ") }.filter { $0.hasPrefix("|") }.dropFirst(2)
        return table.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }
}
