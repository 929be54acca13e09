import BaseTestSupport
import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

/// Settings that a running server takes over.
@Suite(.onBothEngines) struct RulesReloadTests {
    private static let gold = FeatureMap(features: ["gold": ["pro.monthly"]])

    private static func reload(
        _ bench: ServerBench, _ features: FeatureMap = gold,
        _ change: (inout EntitlementService.Configuration) -> Void = { _ in }
    ) async throws -> ReloadedRules {
        try await bench.service.reload { configuration in
            configuration.apps[0].features = features
            change(&configuration)
        }
    }

    private static func run(_ names: String..., at bench: ServerBench) async throws {
        for name in names {
            for job in bench.service.jobs where job.name == name { while try await job.step() {} }
        }
    }

    private static func events(_ bench: ServerBench) async throws -> [LedgerEvent] {
        try await bench.numberEvents()
        let ledgerID = LedgerID(app: ServerBench.app, environment: .sandbox)
        return try bench.service.ledger.events(of: ledgerID, after: 0, limit: 100)
    }

    @Test func `new features apply to all answers at once, and become events without a request`() async throws {
        let bench = try await ServerBench()
        for name in ["anna", "ben"] { _ = try await bench.post(bench.period(name), for: name) }
        #expect(try await bench.get().active() == ["pro"])
        let reloaded = try await Self.reload(bench)
        #expect(reloaded.activated == [ServerBench.app] && reloaded.superseded.isEmpty)
        // Anna's answer was cached. Ben is asked only after the jobs.
        #expect(try await bench.get().active() == ["gold"])
        _ = try await bench.post(bench.period("carl"), for: "carl")
        #expect(try await bench.get("carl").active() == ["gold"])
        let before = try await Self.events(bench).map(\.customer.rawValue)
        #expect(before == ["anna", "ben", "anna", "carl"])
        try await Self.run("answers of former rules", "sweeper", at: bench)
        let events = try await Self.events(bench)
        #expect(events.map(\.customer.rawValue) == before + ["ben"])
        #expect(String(decoding: try #require(events.last).body, as: UTF8.self).contains("gold"))
        for name in ["anna", "ben", "carl"] {
            let answer = try await bench.get(name)
            #expect(try answer.active() == ["gold"] && answer.wasReady)
        }
        // The same map again changes nothing.
        #expect(try await Self.reload(bench).activated.isEmpty)
        try await Self.run("answers of former rules", "sweeper", at: bench)
        #expect(try await Self.events(bench).count == events.count)
        await bench.close()
    }

    @Test func `an answer that was computed with the former features, and is written later, is not used`() async throws
    {
        let gate = Locked<GatedDatabase?>(nil)
        let bench = try await ServerBench(wrapping: { inner in
            let database = GatedDatabase(inner)
            gate.withLock { $0 = database }
            return database
        })
        let database = try #require(gate.withLock { $0 })
        database.shut()
        let signed = try bench.period()
        let purchase = Task { try await bench.post(signed) }
        await database.waitForWrite()
        database.letLaterWritesPass()
        _ = try await Self.reload(bench)
        try await Self.run("answers of former rules", at: bench)
        database.open()
        #expect(try await purchase.value.customer().features.map(\.name) == ["gold"])
        let answer = try await bench.get()
        #expect(try answer.active() == ["gold"] && answer.wasReady)
        await bench.close()
    }

    @Test func `no request fails and no answer goes back while features change`() async throws {
        let bench = try await ServerBench()
        let maps = [Self.gold, ServerBench.map]
        for number in 0..<20 { _ = try await bench.post(bench.period("\(number)"), for: "c\(number)") }
        let isOver = Locked(false)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    var round = 0
                    while !isOver.withLock(\.self) {
                        let name = "c\((worker * 5 + round) % 20)"
                        let reply =
                            round % 3 == 0
                            ? try await bench.post(bench.purchase("\(worker)-\(round)"), for: name)
                            : try await bench.get(name)
                        #expect(reply.status == 200, "\(String(decoding: reply.bytes, as: UTF8.self))")
                        round += 1
                    }
                }
            }
            for round in 0..<10 {
                _ = try await Self.reload(bench, maps[round % 2]) { $0.activatesFormerRules = true }
                let feature = round % 2 == 0 ? "gold" : "pro"
                for number in 0..<20 {
                    #expect(try await bench.get("c\(number)").active().first { $0 != "tools" } == feature)
                }
                if round % 3 == 0 { try await Self.run("answers of former rules", at: bench) }
            }
            isOver.withLock { $0 = true }
            try await group.waitForAll()
        }
        try await Self.run("answers of former rules", "sweeper", at: bench)
        for number in 0..<20 { #expect(try await bench.get("c\(number)").active().contains("pro")) }
        await bench.close()
    }

    /// The marking of stored answers ends after the customers of the only page, and after the digest was stored.
    @Test(.onSQLite, arguments: [0, 1, 2], [true, false])
    func `a server that is killed after a reload starts with the right answers`(steps: Int, isNew: Bool) async throws {
        let first = try await ServerBench()
        for name in ["anna", "ben"] { _ = try await first.post(first.period(name), for: name) }
        _ = try await Self.reload(first)
        #expect(try await first.get().active() == ["gold"])
        let job = try #require(first.service.jobs.first { $0.name == "answers of former rules" })
        for _ in 0..<steps { #expect(try await job.step()) }
        await first.close()
        let second = try await ServerBench(
            folder: first.folder, keys: first.keys,
            configure: { configuration in
                configuration.clock = first.clock
                if isNew { configuration.apps[0].features = Self.gold }
            })
        for name in ["anna", "ben"] {
            #expect(try await second.get(name).active() == [isNew ? "gold" : "pro"])
        }
        await second.close()
    }

    @Test(.onSQLite) func `a reload marks answers of environments that the server does not serve`() async throws {
        let first = try await ServerBench(environments: [.sandbox, .xcode])
        for environment in ["sandbox", "xcode"] {
            let reply = try await first.send(
                .post, "/v1/customers/anna/grants", as: .secret, headers: ["Souk-Environment": environment],
                body: .json(["feature": "more", "reason": "x"]))
            #expect(reply.status / 100 == 2, "\(reply.json)")
        }
        await first.close()
        let second = try await ServerBench(
            folder: first.folder, keys: first.keys, configure: { $0.clock = first.clock })
        _ = try await Self.reload(second)
        try await Self.run("answers of former rules", at: second)
        let marked: Int64 = try second.database.read { connection in
            try #require(try connection.first("SELECT count(*) AS n FROM customer WHERE valid_until = 0"))["n"]
        }
        #expect(marked == 2)
        await second.close()
    }

    @Test func `a changed transfer mode and changed credits apply to the next request`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.purchase("1"))
        #expect(try await bench.credit().status == 404)
        let reloaded = try await Self.reload(bench, ServerBench.map) {
            $0.apps[0].transferMode = .keepWithOriginal
            $0.apps[0].credits = CreditTests.table
        }
        #expect(reloaded.activated == [ServerBench.app])
        #expect(try await bench.post(bench.purchase("1"), for: "ben").status == 422)
        #expect(try await bench.credit().json["balance"] == 0)
        await bench.close()
    }

    @Test func `settings that cannot be taken over change nothing`() async throws {
        let gate = Locked<GatedDatabase?>(nil)
        let receiver = WebhookReceiver()
        let bench = try await ServerBench(
            configure: {
                $0.webhooks = [
                    Webhook(
                        name: "crm", app: ServerBench.app, url: "http://a/",
                        secrets: [try! WebhookSecret(ServerBench.webhookSecret)])
                ]
                $0.webhookTransport = receiver
            },
            wrapping: { inner in
                let database = GatedDatabase(inner)
                gate.withLock { $0 = database }
                return database
            })
        let webhook = Webhook(name: "crm", app: ServerBench.app, url: "http://b/", secrets: [])
        await #expect(throws: EntitlementServerError(.invalidConfiguration, "")) {
            try await Self.reload(bench) { $0.webhooks = [webhook] }
        }
        let database = try #require(gate.withLock { $0 })
        database.fail(with: SQLError(.storageFull, ""))
        var other = webhook
        other.secrets = [try WebhookSecret("fedcba9876543210fedcba9876543210")]
        await #expect(throws: SQLError.self) {
            try await Self.reload(bench) { $0.webhooks = [other] }
        }
        database.fail(with: nil)
        _ = try await bench.post(bench.period())
        #expect(try await bench.get().active() == ["pro"])
        try await bench.deliver()
        #expect(receiver.all.map(\.request.url) == ["http://a/"])
        await bench.close()
    }

    @Test func `a repeated delivery is signed with the new secret, and sent to the new URL`() async throws {
        let receiver = WebhookReceiver { _, before in before == 0 ? 500 : 200 }
        let bench = try await ServerBench.withWebhook(receiver)
        _ = try await bench.post(bench.period())
        try await bench.deliver()
        let fresh = try WebhookSecret("fedcba9876543210fedcba9876543210")
        _ = try await Self.reload(bench, ServerBench.map) {
            $0.webhooks = [
                Webhook(name: "other", app: ServerBench.app, url: "http://other/", secrets: [fresh]),
                Webhook(name: "crm", app: ServerBench.app, url: "http://crm/new", secrets: [fresh]),
            ]
        }
        bench.realClock.advance(by: 60)
        try await bench.deliver()
        let received = receiver.all
        #expect(received.map(\.request.url) == ["https://crm.example.com/souk", "http://crm/new"])
        for (delivery, secret) in zip(received, [try WebhookSecret(ServerBench.webhookSecret), fresh]) {
            try WebhookSignature.check(
                delivery.request.headers[WebhookSignature.field], of: delivery.body, at: bench.realClock.now(),
                secrets: [secret])
        }
        await bench.close()
    }

    @Test func `the secret of a web shop is replaced`() async throws {
        let (former, fresh) = (try WebhookSecret("0123456789abcdef"), try WebhookSecret("fedcba9876543210"))
        func shop(_ secrets: WebhookSecret...) -> EntitlementService.Configuration.WebPurchaseSource {
            .init(name: "shop", app: ServerBench.app, environment: .sandbox, secrets: secrets)
        }
        let bench = try await ServerBench { $0.webPurchases = [shop(former)] }
        func statuses() async throws -> [Int] {
            var statuses: [Int] = []
            for secret in [former, fresh] {
                let body = Array("{}".utf8)
                let header = WebhookSignature.header(for: body, at: bench.realClock.now(), secrets: [secret])
                statuses.append(
                    try await bench.send(
                        .post, "/v1/webhooks/shop", as: .none, headers: [WebhookSignature.field: header],
                        body: .bytes(body)
                    ).status)
            }
            return statuses
        }
        #expect(try await statuses() == [400, 401])
        _ = try await Self.reload(bench) { $0.webPurchases = [shop(fresh, former)] }
        #expect(try await statuses() == [400, 400])
        _ = try await Self.reload(bench) { $0.webPurchases = [shop(fresh)] }
        #expect(try await statuses() == [401, 400])
        await bench.close()
    }
}
