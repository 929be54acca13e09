import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

/// A receiver of webhooks that records the requests, and answers as a test scripts.
final class WebhookReceiver: HTTPTransport {
    struct Received: Sendable {
        let request: HTTPRequest
        let body: [UInt8]

        var json: JSONValue { (try? JSONValue(parsing: body)) ?? .null }
        var id: String? { json["id"]?.stringValue }
        var customer: String? { json["data"]?["customer"]?.stringValue }
    }

    private let received = Locked<[Received]>([])
    /// Returns the status for a request, or throws; called with the number of earlier requests.
    private let answer: Locked<@Sendable (Received, Int) async throws -> Int>

    init(_ answer: @escaping @Sendable (Received, Int) async throws -> Int = { _, _ in 200 }) {
        self.answer = Locked(answer)
    }

    var all: [Received] { received.withLock { $0 } }

    func answers(_ answer: @escaping @Sendable (Received, Int) async throws -> Int) {
        self.answer.withLock { $0 = answer }
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let what = Received(request: request, body: request.body.buffered ?? [])
        let before = received.withLock { received in
            received.append(what)
            return received.count - 1
        }
        return HTTPResponse(status: try await answer.withLock { $0 }(what, before))
    }
}

extension ServerBench {
    static let webhookSecret = "0123456789abcdef0123456789abcdef"

    /// Creates a bench with a webhook to `receiver`. Its pauses double from 10 seconds, without variation, for five
    /// attempts.
    static func withWebhook(
        _ receiver: WebhookReceiver, folder: Folder? = nil, clock realClock: ManualClock? = nil,
        configure: (inout EntitlementService.Configuration) -> Void = { _ in }
    ) async throws -> ServerBench {
        let secret = try WebhookSecret(webhookSecret)
        return try await ServerBench(folder: folder) { configuration in
            configuration.webhooks = [
                Webhook(name: "crm", app: app, url: "https://crm.example.com/souk", secrets: [secret])
            ]
            configuration.webhookTransport = receiver
            configuration.webhookBackoff = Backoff(attempts: 5, initial: .seconds(10), maximum: .seconds(60))
            configuration.random = { 1 }
            if let realClock { configuration.realClock = realClock }
            configure(&configuration)
        }
    }

    /// Writes an event, as a change of a customer does.
    func writeEvent(about customer: String = "anna") async throws {
        try await database.write { connection in
            try connection.execute(
                """
                INSERT INTO event (app, environment, customer, type, body, created_at)
                VALUES (?1, 'sandbox', ?2, 'customer.updated', ?3, 0)
                """, [.text(Self.app.rawValue), .text(customer), .blob(Array("{}".utf8))])
        }
    }

    /// Numbers the events, on engines where a background job does that.
    func numberEvents() async throws {
        guard let feed = service.jobs.first(where: { $0.name == "feed" }) else { return }
        while try await feed.step() {}
    }

    /// Attempts due deliveries until there are none.
    func deliver(_ name: String = "crm") async throws {
        let job = try #require(service.jobs.first { $0.name == "webhook \(name)" })
        try await numberEvents()
        while try await job.step() {}
    }

    func deliveries(_ query: String = "") async throws -> [JSONValue] {
        let reply = try await send(.get, "/v1/webhook-deliveries\(query)", as: .secret)
        #expect(reply.status == 200)
        return reply.json["deliveries"]?.arrayValue ?? []
    }
}

@Suite struct WebhookTests {
    @Test func `an event is signed, and posted once`() async throws {
        let receiver = WebhookReceiver()
        let bench = try await ServerBench.withWebhook(receiver)
        _ = try await bench.post(bench.purchase("1"))
        try await bench.deliver()
        try await bench.deliver()
        let received = try #require(receiver.all.first)
        #expect(receiver.all.count == 1)
        #expect(received.request.method == .post && received.request.url == "https://crm.example.com/souk")
        #expect(received.request.headers["Content-Type"] == "application/json")
        try WebhookSignature.check(
            received.request.headers[WebhookSignature.field], of: received.body, at: bench.realClock.now(),
            secrets: [WebhookSecret(ServerBench.webhookSecret)])
        #expect(received.json["type"] == "customer.updated" && received.json["app"] == "com.example.darkroom")
        #expect(received.json["data"] == (try await bench.get().json))
        await bench.close()
    }

    @Test(arguments: [
        "body = x'7b7d'", "customer = 'ben'", "type = 'customer.merged'", "created_at = created_at + 1",
        "environment = 'production'",
    ])
    func `an event that was changed in the database is not sent, and the next one is`(change: String)
        async throws
    {
        let receiver = WebhookReceiver()
        let bench = try await ServerBench.withWebhook(receiver)
        _ = try await bench.grant()
        try await bench.numberEvents()
        let statement = change.replacing("x'7b7d'", with: bench.database.dialect == .sqlite ? "x'7b7d'" : "'{}'::bytea")
        try await bench.database.write { _ = try $0.execute("UPDATE event SET \(statement)") }
        bench.realClock.advance(by: 1)
        _ = try await bench.grant("export")
        let isMoved = change.hasPrefix("environment")
        let listener = try await EventListener(bench, after: "0")
        let heard = try await listener.events(isMoved ? 1 : 2)
        #expect(heard.map(\.type) == (isMoved ? [] : ["events.expired"]) + ["customer.updated"])
        #expect(heard.allSatisfy { $0.data["data"]?["customer"] == nil || $0.features?.contains("export") == true })
        try await bench.deliver()
        #expect(receiver.all.map { $0.json["type"] } == ["customer.updated"])
        #expect(receiver.all.first?.json["data"] == (try await bench.get().json))
        if !isMoved {
            let delivery = try #require(try await bench.deliveries("?state=dead").first)
            #expect(delivery["lastError"] == "damaged")
        }
        let report = try LedgerReplay(database: bench.database, apps: ReplayTests.apps, clock: bench.clock).run()
        #expect(
            report.differences.contains {
                $0.subject.hasPrefix("event ") && $0.reason == "differs from what was written"
            })
        await bench.close()
    }

    @Test func `while a secret is replaced, requests have the signatures of both secrets`() async throws {
        let receiver = WebhookReceiver()
        let secrets = try ["the first of two secrets", "the other of two secrets"].map { try WebhookSecret($0) }
        let bench = try await ServerBench.withWebhook(receiver) { $0.webhooks[0].secrets = secrets }
        _ = try await bench.grant()
        try await bench.deliver()
        let received = try #require(receiver.all.first)
        for secret in secrets {
            try WebhookSignature.check(
                received.request.headers[WebhookSignature.field], of: received.body, at: bench.realClock.now(),
                secrets: [secret])
        }
        await bench.close()
    }

    @Test func `a failing receiver is retried with growing pauses until it succeeds`() async throws {
        let receiver = WebhookReceiver { _, before in before < 3 ? 500 : 204 }
        let bench = try await ServerBench.withWebhook(receiver)
        _ = try await bench.grant()
        for (pause, count) in [(0.0, 1), (9, 1), (1, 2), (19, 2), (1, 3), (39, 3), (1, 4), (600, 4)] {
            bench.realClock.advance(by: pause)
            try await bench.deliver()
            #expect(receiver.all.count == count)
        }
        #expect(Set(receiver.all.map(\.id)).count == 1)
        let delivery = try #require(try await bench.deliveries().first)
        #expect(delivery["state"] == "delivered" && delivery["attempts"] == 4 && delivery["lastStatus"] == 204)
        await bench.close()
    }

    @Test(arguments: [199, 301, 400, 410, 500]) func `any status but a success is a failure`(status: Int) async throws {
        let receiver = WebhookReceiver { _, _ in status }
        let bench = try await ServerBench.withWebhook(receiver)
        _ = try await bench.grant()
        try await bench.deliver()
        let delivery = try #require(try await bench.deliveries().first)
        #expect(delivery["state"] == "pending" && delivery["lastStatus"] == .number(status))
        await bench.close()
    }

    @Test func `after its last attempt a delivery is dead, with the reason`() async throws {
        let receiver = WebhookReceiver { _, _ in throw HTTPError(.connectionFailed, "secret host") }
        let bench = try await ServerBench.withWebhook(receiver)
        _ = try await bench.grant()
        for _ in 0..<9 {
            try await bench.deliver()
            bench.realClock.advance(by: 60)
        }
        #expect(receiver.all.count == 5)
        let delivery = try #require(try await bench.deliveries("?state=dead").first)
        #expect(delivery["attempts"] == 5 && delivery["lastError"] == "connectionFailed")
        #expect(delivery["nextAttemptAt"] == nil && delivery["finishedAt"] != nil)
        #expect(try await bench.deliveries("?state=pending").isEmpty)
        await bench.close()
    }

    @Test func `a customer's events keep their order, and do not wait for another customer's`() async throws {
        let receiver = WebhookReceiver { received, before in received.customer == "anna" && before < 3 ? 503 : 200 }
        let bench = try await ServerBench.withWebhook(receiver)
        for round in 0..<3 {
            for customer in ["anna", "ben"] { _ = try await bench.grant("f\(round)", to: customer) }
        }
        try await bench.deliver()
        #expect(receiver.all.map(\.customer).count { $0 == "ben" } == 3)
        #expect(receiver.all.map(\.customer).count { $0 == "anna" } == 1)
        bench.realClock.advance(by: 10)
        try await bench.deliver()
        let delivered = try await bench.deliveries("?state=delivered")
        #expect(delivered.count == 6)
        for customer in ["anna", "ben"] {
            let order = receiver.all.filter { $0.customer == customer }.compactMap { $0.id.flatMap(Int.init) }
            #expect(order == order.sorted() && Set(order).count == 3)
        }
        await bench.close()
    }

    @Test func `a dead delivery does not block the next one of its customer`() async throws {
        let receiver = WebhookReceiver { received, _ in received.id == "1" ? 500 : 200 }
        let bench = try await ServerBench.withWebhook(receiver)
        _ = try await bench.grant("a")
        _ = try await bench.grant("b")
        for _ in 0..<5 {
            try await bench.deliver()
            #expect(try await bench.deliveries("?state=delivered").isEmpty == (receiver.all.count < 6))
            bench.realClock.advance(by: 60)
        }
        #expect(receiver.all.compactMap(\.id) == ["1", "1", "1", "1", "1", "2"])
        await bench.close()
    }

    @Test func `pending deliveries survive a restart`() async throws {
        let folder = try ServerBench.Folder()
        let down = WebhookReceiver { _, _ in 500 }
        let first = try await ServerBench.withWebhook(down, folder: folder)
        _ = try await first.grant("a")
        try await first.deliver()
        _ = try await first.grant("b")
        await first.close()

        let up = WebhookReceiver()
        let second = try await ServerBench.withWebhook(up, folder: folder)
        try await second.deliver()
        #expect(up.all.isEmpty)
        second.realClock.advance(by: 10)
        try await second.deliver()
        #expect(up.all.map(\.id) == ["1", "2"])
        await second.close()
    }

    @Test func `an attempt that was interrupted is repeated after a restart`() async throws {
        let folder = try ServerBench.Folder()
        let receiver = WebhookReceiver { _, _ in try await untilCancelled() }
        let first = try await ServerBench.withWebhook(receiver, folder: folder)
        _ = try await first.grant()
        let attempt = Task { try await first.deliver() }
        try await until("the webhook is sent") { !receiver.all.isEmpty }
        attempt.cancel()
        await #expect(throws: CancellationError.self) { try await attempt.value }
        await first.close()

        let up = WebhookReceiver()
        let second = try await ServerBench.withWebhook(up, folder: folder)
        try await second.deliver()
        #expect(up.all.isEmpty)
        second.realClock.advance(by: 60)
        try await second.deliver()
        #expect(up.all.map(\.id) == ["1"])
        await second.close()
    }

    @Test func `a new or renamed webhook begins with new events`() async throws {
        let folder = try ServerBench.Folder()
        let receiver = WebhookReceiver()
        let first = try await ServerBench(folder: folder)
        _ = try await first.grant("before")
        await first.close()
        let second = try await ServerBench.withWebhook(receiver, folder: folder)
        try await second.writeEvent()
        try await second.deliver()
        #expect(receiver.all.map(\.id) == ["2"])
        await second.close()
        let third = try await ServerBench.withWebhook(receiver, folder: folder) { $0.webhooks[0].name = "new" }
        try await third.deliver("new")
        #expect(receiver.all.map(\.id) == ["2"])
        await third.close()
    }

    @Test func `a webhook whose URL changed continues after the last delivery`() async throws {
        let folder = try ServerBench.Folder()
        let receiver = WebhookReceiver()
        let first = try await ServerBench.withWebhook(receiver, folder: folder)
        _ = try await first.grant()
        await first.close()
        let second = try await ServerBench.withWebhook(receiver, folder: folder) { $0.webhooks[0].url = "http://new/" }
        try await second.deliver()
        #expect(receiver.all.map(\.request.url) == ["http://new/"])
        await second.close()
    }

    @Test func `a webhook gets the app's events of all environments`() async throws {
        let receiver = WebhookReceiver()
        let secret = try WebhookSecret(ServerBench.webhookSecret)
        let bench = try await ServerBench(environments: [.sandbox, .production]) {
            $0.webhooks = [Webhook(name: "crm", app: ServerBench.app, url: "http://a/", secrets: [secret])]
            $0.webhookTransport = receiver
        }
        _ = try await bench.grant("a")
        _ = try await bench.grant("b", headers: ["Souk-Environment": "production"])
        let grant = HTTPBody.json(["feature": "c", "reason": "r"])
        _ = try await bench.send(
            .post, "/v1/customers/anna/grants", as: .secret, of: ServerBench.otherApp, body: grant)
        try await bench.deliver()
        #expect(Set(receiver.all.map { $0.json["environment"]?.stringValue }) == ["sandbox", "production"])
        #expect(receiver.all.count == 2)
        await bench.close()
    }

    @Test func `two webhooks do not wait for each other`() async throws {
        let receiver = WebhookReceiver { received, _ in received.request.url == "http://down/" ? 500 : 200 }
        let secret = try WebhookSecret(ServerBench.webhookSecret)
        let bench = try await ServerBench.withWebhook(receiver) {
            $0.webhooks.append(Webhook(name: "down", app: ServerBench.app, url: "http://down/", secrets: [secret]))
        }
        for feature in ["a", "b"] { _ = try await bench.grant(feature) }
        try await bench.deliver("down")
        try await bench.deliver("crm")
        let states = try await bench.deliveries().map { [$0["webhook"]?.stringValue, $0["state"]?.stringValue] }
        #expect(Set(states) == [["crm", "delivered"], ["down", "pending"]])
        await bench.close()
    }

    @Test func `an event that was not delivered yet is not deleted`() async throws {
        let receiver = WebhookReceiver { _, before in before == 0 ? 500 : 200 }
        let bench = try await ServerBench.withWebhook(receiver)
        let retention = try #require(bench.service.jobs.first { $0.name == "event retention" })
        _ = try await bench.grant("a")
        bench.clock.advance(by: 31 * 86400)
        _ = try await retention.step()
        #expect(try bench.count("event") == 1)
        try await bench.deliver()
        _ = try await retention.step()
        #expect(try bench.count("event") == 1)
        bench.realClock.advance(by: 10)
        try await bench.deliver()
        _ = try await retention.step()
        #expect(try bench.count("event") == 0)
        #expect(try bench.count("webhook_delivery") == 0)
        await bench.close()
    }

    @Test func `a webhook gets only the erasure of an erased customer`() async throws {
        let receiver = WebhookReceiver { _, _ in 500 }
        let bench = try await ServerBench.withWebhook(receiver)
        for feature in ["a", "b"] { _ = try await bench.grant(feature) }
        try await bench.deliver()
        #expect(try await bench.send(.delete, "/v1/customers/anna", as: .secret).status == 200)
        receiver.answers { _, _ in 200 }
        bench.realClock.advance(by: 60)
        try await bench.deliver()
        let after = receiver.all.dropFirst()
        #expect(after.allSatisfy { !String(decoding: $0.body, as: UTF8.self).contains("anna") })
        #expect(after.contains { $0.json["type"] == "customer.erased" })
        let deliveries = try await bench.deliveries()
        #expect(deliveries.allSatisfy { $0["customer"] != "anna" })
        await bench.close()
    }

    @Test func `an erased event is not sent, and delays no other`() async throws {
        let receiver = WebhookReceiver { received, before in before == 0 ? 500 : 200 }
        let bench = try await ServerBench.withWebhook(receiver)
        for feature in ["a", "b", "c"] { _ = try await bench.grant(feature) }
        try await bench.deliver()
        _ = try await bench.database.write { try $0.execute("DELETE FROM event WHERE sequence IN (1, 2)") }
        bench.realClock.advance(by: 10)
        try await bench.deliver()
        #expect(receiver.all.map(\.id) == ["1", "3"])
        await bench.close()
    }

    @Test func `a running service delivers at once`() async throws {
        let receiver = WebhookReceiver()
        let bench = try await ServerBench.withWebhook(receiver)
        let running = Task { try await bench.service.run() }
        await bench.realClock.waiters(atLeast: 3)
        _ = try await bench.grant()
        try await until("the webhook is sent") { !receiver.all.isEmpty }
        running.cancel()
        try await running.value
        #expect(receiver.all.count == 1)
        await bench.close()
    }

    @Test func `a receiver that hangs for one customer or one webhook delays no others`() async throws {
        let mayEnd = BaseTestSupport.Gate()
        let receiver = WebhookReceiver { received, _ in
            if received.customer == "anna" || received.request.url.contains("slow") {
                try await mayEnd.pass()
            }
            return 200
        }
        let secret = try WebhookSecret(ServerBench.webhookSecret)
        let bench = try await ServerBench.withWebhook(receiver) { configuration in
            configuration.webhooks.append(
                Webhook(name: "slow", app: ServerBench.app, url: "https://slow.example.com/", secrets: [secret]))
        }
        func heard() -> [String] {
            receiver.all.filter { !$0.request.url.contains("slow") }.compactMap(\.customer).filter { $0 != "anna" }
        }
        let running = Task { try await bench.service.run() }
        await bench.realClock.waiters(atLeast: 4)
        _ = try await bench.grant(to: "anna")
        try await until("both deliveries hang") { receiver.all.count >= 2 }
        // These are more events than the server delivers at once. anna's delivery still hangs.
        for number in 0..<40 { _ = try await bench.grant(to: "c\(number)") }
        try await until("all others are delivered") { heard().count == 40 }
        let stream = try await EventListener(bench, after: "0")
        #expect(try await stream.events(41).count == 41)
        mayEnd.open()
        try await until("everything is delivered") { receiver.all.count == 82 }
        running.cancel()
        try await running.value
        await bench.close()
    }

    @Test func `a receiver that hangs for more customers than are attempted at once delays no others`() async throws {
        let mayEnd = BaseTestSupport.Gate()
        let receiver = WebhookReceiver { received, _ in
            if received.customer?.hasPrefix("slow") == true { try await mayEnd.pass() }
            return 200
        }
        let bench = try await ServerBench.withWebhook(receiver)
        let running = Task { try await bench.service.run() }
        for number in 0..<40 { _ = try await bench.grant(to: "slow\(number)") }
        _ = try await bench.grant(to: "quick")
        try await until("the quick one has the event") {
            // A second later the server attempts other deliveries, although these still hang.
            bench.realClock.advance(by: 1)
            return receiver.all.contains { $0.customer == "quick" }
        }
        mayEnd.open()
        try await until("everything is delivered") { receiver.all.count >= 41 }
        running.cancel()
        try await running.value
        await bench.close()
    }

    @Test func `metrics show the lag of deliveries, and the number of dead ones`() async throws {
        let receiver = WebhookReceiver { _, before in before == 0 ? 200 : 500 }
        let bench = try await ServerBench.withWebhook(receiver)
        func metrics() async throws -> String {
            String(decoding: try await bench.send(.get, "/metrics", as: .none).bytes, as: UTF8.self)
        }
        let label = "{webhook=\"com.example.darkroom/crm\"}"
        _ = try await bench.grant("a")
        try await bench.deliver()
        #expect(try await metrics().contains("souk_webhook_lag_seconds\(label) 0\n"))
        _ = try await bench.grant("b")
        try await bench.deliver()
        bench.realClock.advance(by: 7)
        #expect(try await metrics().contains("souk_webhook_lag_seconds\(label) 7\n"))
        for _ in 0..<5 {
            bench.realClock.advance(by: 60)
            try await bench.deliver()
        }
        let text = try await metrics()
        #expect(text.contains("souk_webhook_dead_deliveries\(label) 1\n"))
        #expect(text.contains("souk_webhook_attempts_total{outcome=\"delivered\"} 1\n"))
        #expect(text.contains("souk_webhook_attempts_total{outcome=\"failed\"} 4\n"))
        #expect(text.contains("souk_webhook_attempts_total{outcome=\"dead\"} 1\n"))
        await bench.close()
    }

    @Test(
        arguments: [
            { $0.webhooks[0].url = "ftp://x/" }, { $0.webhooks[0].url = "https://" },
            { $0.webhooks[0].url = "http://a b/" },
            { $0.webhooks[0].name = "" }, { $0.webhooks[0].secrets = [] },
            { $0.webhooks[0].app = "com.example.nobody" },
            { $0.webhooks.append($0.webhooks[0]) }, { $0.webhookTransport = nil },
        ] as [@Sendable (inout EntitlementService.Configuration) -> Void])
    func `an invalid webhook is refused at the start`(
        spoil: @Sendable (inout EntitlementService.Configuration) -> Void
    ) async throws {
        await #expect(throws: EntitlementServerError(.invalidConfiguration, "")) {
            _ = try await ServerBench.withWebhook(WebhookReceiver(), configure: spoil)
        }
    }
}
