import BaseTestSupport
import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import SQLStorage
import StoreModel
import StoreTestSupport
import Testing

@testable import EntitlementServer

extension WebhookReceiver.Received {
    /// The ids of the events in a batch.
    fileprivate var ids: [Int] { json.arrayValue?.compactMap { $0["id"]?.stringValue.flatMap { Int($0) } } ?? [] }
    fileprivate var messageID: String? { request.headers[StandardWebhooks.id] }
}

/// Webhooks that get events in batches.
@Suite(.onBothEngines) struct BatchTests {
    /// Creates a bench whose webhook gets batches of 3 events. The pauses double from 10 to 40 seconds.
    private func bench(
        _ receiver: any HTTPTransport, size: Int = 3, folder: ServerBench.Folder? = nil,
        environments: [StoreEnvironment]? = nil, configure: (inout EntitlementService.Configuration) -> Void = { _ in }
    ) async throws -> ServerBench {
        try await ServerBench.withWebhook(WebhookReceiver(), folder: folder) { configuration in
            configuration.webhooks[0].batchSize = size
            configuration.webhookTransport = receiver
            configuration.batchBackoff = Backoff(attempts: .max, initial: .seconds(10), maximum: .seconds(40))
            if let environments { configuration.environments = environments }
            configure(&configuration)
        }
    }

    private func write(_ count: Int, _ bench: ServerBench) async throws {
        for number in 1...count { try await bench.writeEvent(about: "c\(number)") }
    }

    @Test func `events of all customers are posted in batches, in the order of the feed, once`() async throws {
        let receiver = WebhookReceiver()
        let bench = try await bench(receiver)
        try await write(7, bench)
        try await bench.deliver()
        try await bench.deliver()
        #expect(receiver.all.map(\.ids) == [[1, 2, 3], [4, 5, 6], [7]])
        #expect(receiver.all.map(\.messageID) == ["1-3", "4-6", "7-7"])
        let listener = try await EventListener(bench, after: "0")
        let stream = try await listener.events(7).map(\.data)
        #expect(receiver.all.flatMap { $0.json.arrayValue ?? [] } == stream)
        for received in receiver.all {
            #expect(received.request.headers["Content-Type"] == "application/json")
            try WebhookSignature.check(
                received.request.headers[WebhookSignature.field], of: received.body, at: bench.realClock.now(),
                secrets: [WebhookSecret(ServerBench.webhookSecret)])
            let signature = StandardWebhooks.headers(
                of: received.messageID ?? "", for: received.body, at: bench.realClock.now(),
                secrets: [try WebhookSecret(ServerBench.webhookSecret)])
            #expect(received.request.headers.fields.suffix(3) == signature.fields[...])
        }
        #expect(try bench.count("webhook_delivery") == 0)
        await bench.close()
    }

    @Test func `a batch is repeated with growing pauses until it succeeds, and later events wait`() async throws {
        let receiver = WebhookReceiver { _, before in before < 5 ? 503 : 204 }
        let bench = try await bench(receiver)
        try await write(2, bench)
        for (pause, count) in [(0.0, 1), (9, 1), (1, 2), (19, 2), (1, 3), (39, 3), (1, 4), (39, 4), (1, 5)] {
            bench.realClock.advance(by: pause)
            try await bench.deliver()
            #expect(receiver.all.count == count)
            // Later events are no part of the batch that is repeated.
            if pause == 9 { try await write(2, bench) }
        }
        bench.realClock.advance(by: 40)
        try await bench.deliver()
        #expect(receiver.all.map(\.ids) == Array(repeating: [1, 2], count: 6) + [[3, 4]])
        #expect(Set(receiver.all.prefix(6).map(\.messageID)) == ["1-2"])
        #expect(Set(receiver.all.prefix(6).map(\.body)).count == 1)
        #expect(Set(receiver.all.prefix(6).map { $0.request.headers[StandardWebhooks.timestamp] }).count == 6)
        await bench.close()
    }

    @Test(arguments: [199, 301, 307, 400, 410, 500]) func `any status but a success is a failure`(status: Int)
        async throws
    {
        let receiver = WebhookReceiver { _, _ in status }
        let bench = try await bench(receiver) { $0.console = .loopback }
        try await write(1, bench)
        try await bench.deliver()
        #expect(receiver.all.count == 1)
        let page = try await ConsoleVisitor.signedIn(at: bench).get("/operations").text
        #expect(
            page.contains("<dt>Not delivered to crm</dt><dd>1 events. The last attempt failed: <bdi>status \(status)"))
        receiver.answers { _, _ in 200 }
        bench.realClock.advance(by: 10)
        try await bench.deliver()
        #expect(receiver.all.map(\.ids) == [[1], [1]])
        #expect(
            try await ConsoleVisitor.signedIn(at: bench).get("/operations").text
                .contains("<dt>Not delivered to crm</dt><dd>0 events</dd>"))
        await bench.close()
    }

    @Test(arguments: [
        FaultyTransport.Fault.unreachable, .answerLost, .serverError, .garbage,
    ]) func `whichever call fails, each event arrives in order, and twice only if its response was lost`(
        fault: FaultyTransport.Fault
    ) async throws {
        for call in 1...3 {
            let receiver = WebhookReceiver()
            let network = FaultyTransport(receiver, fault, atCall: call)
            let bench = try await bench(network)
            try await write(8, bench)
            try await bench.deliver()
            bench.realClock.advance(by: 10)
            try await bench.deliver()
            let batches = [[1, 2, 3], [4, 5, 6], [7, 8]]
            let repeated = fault == .answerLost ? [batches[call - 1]] : []
            #expect(receiver.all.map(\.ids) == batches[..<call] + repeated + batches[call...])
            await bench.close()
        }
    }

    @Test func `an attempt that was interrupted is repeated after a restart, as the same batch`() async throws {
        let folder = try ServerBench.Folder()
        let receiver = WebhookReceiver { _, _ in try await untilCancelled() }
        let first = try await bench(receiver, folder: folder)
        try await write(2, first)
        let attempt = Task { try await first.deliver() }
        try await until("the batch is sent") { !receiver.all.isEmpty }
        attempt.cancel()
        await #expect(throws: CancellationError.self) { try await attempt.value }
        await first.close()

        let up = WebhookReceiver()
        // The size was reduced meanwhile; the batch keeps its events.
        let second = try await bench(up, size: 1, folder: folder)
        try await write(2, second)
        try await second.deliver()
        #expect(up.all.isEmpty)
        second.realClock.advance(by: 60)
        try await second.deliver()
        #expect(up.all.map(\.ids) == [[1, 2], [3], [4]])
        #expect(up.all.first?.messageID == receiver.all.first?.messageID)
        await second.close()
    }

    @Test func `a new webhook begins with the oldest event, and a known one continues, also with another URL`()
        async throws
    {
        let folder = try ServerBench.Folder()
        let single = try await ServerBench.withWebhook(WebhookReceiver(), folder: folder)
        try await write(2, single)
        try await single.deliver()
        await single.close()
        let receiver = WebhookReceiver()
        let second = try await bench(receiver, folder: folder)
        try await second.deliver()
        await second.close()
        let third = try await bench(receiver, folder: folder) { $0.webhooks[0].url = "http://new/" }
        try await write(1, third)
        try await third.deliver()
        #expect(receiver.all.map(\.ids) == [[1, 2], [3]])
        #expect(receiver.all.last?.request.url == "http://new/")
        await third.close()
    }

    @Test func `the environments of an app are in one order, and another app's events are left out`() async throws {
        let receiver = WebhookReceiver()
        let bench = try await bench(receiver, environments: [.sandbox, .production])
        let grant = HTTPBody.json(["feature": "c", "reason": "r"])
        for environment in ["production", "sandbox", "production"] {
            _ = try await bench.grant(environment, to: "anna", headers: ["Souk-Environment": environment])
            try await bench.numberEvents()
        }
        _ = try await bench.send(
            .post, "/v1/customers/anna/grants", as: .secret, of: ServerBench.otherApp, body: grant)
        try await bench.deliver()
        let events = receiver.all.flatMap { $0.json.arrayValue ?? [] }
        #expect(events.allSatisfy { $0["app"] == .string(ServerBench.app.rawValue) })
        let ids = receiver.all.flatMap(\.ids)
        #expect(ids == ids.sorted() && Set(events.compactMap { $0["environment"]?.stringValue }).count == 2)
        await bench.close()
    }

    @Test func `an event that was not delivered yet is not deleted`() async throws {
        let receiver = WebhookReceiver { _, before in before == 0 ? 500 : 200 }
        let bench = try await bench(receiver)
        let retention = try #require(bench.service.jobs.first { $0.name == "event retention" })
        try await write(2, bench)
        try await bench.deliver()
        bench.clock.advance(by: 31 * 86400)
        _ = try await retention.step()
        #expect(try bench.count("event") == 2)
        bench.realClock.advance(by: 10)
        try await bench.deliver()
        _ = try await retention.step()
        #expect(try bench.count("event") == 0 && receiver.all.map(\.ids) == [[1, 2], [1, 2]])
        await bench.close()
    }

    @Test func `a repeated batch has nothing of an erased customer`() async throws {
        let receiver = WebhookReceiver { _, _ in 500 }
        let bench = try await bench(receiver)
        for customer in ["anna", "ben", "anna"] { _ = try await bench.grant("f\(UUID())", to: customer) }
        try await bench.deliver()
        #expect(receiver.all.first?.ids == [1, 2, 3])
        #expect(try await bench.send(.delete, "/v1/customers/anna", as: .secret).status == 200)
        receiver.answers { _, _ in 200 }
        bench.realClock.advance(by: 60)
        try await bench.deliver()
        let after = receiver.all.dropFirst()
        #expect(after.allSatisfy { !String(decoding: $0.body, as: UTF8.self).contains("anna") })
        #expect(after.first?.ids == [2] && after.first?.messageID == "1-3")
        #expect(after.last?.json[0]?["type"] == "customer.erased")
        await bench.close()
    }

    @Test func `a batch whose events were all erased is followed by the next one`() async throws {
        let receiver = WebhookReceiver { _, before in before == 0 ? 500 : 200 }
        let bench = try await bench(receiver)
        try await write(5, bench)
        try await bench.deliver()
        _ = try await bench.database.write { try $0.execute("DELETE FROM event WHERE sequence <= 3") }
        bench.realClock.advance(by: 10)
        try await bench.deliver()
        #expect(receiver.all.map(\.ids) == [[1, 2, 3], [4, 5]])
        await bench.close()
    }

    @Test func `a damaged event is a notice in its batch`() async throws {
        let receiver = WebhookReceiver()
        let bench = try await bench(receiver)
        for feature in ["a", "b"] { _ = try await bench.grant(feature) }
        try await bench.numberEvents()
        try await bench.database.write { _ = try $0.execute("UPDATE event SET customer = 'ben' WHERE sequence = 1") }
        try await bench.deliver()
        let events = try #require(receiver.all.first?.json.arrayValue)
        #expect(events.map { $0["type"] } == ["events.expired", "customer.updated"])
        #expect(events[0]["data"] == nil && events[0]["id"] == "1")
        await bench.close()
    }

    @Test func `a batch has at most a mebibyte, unless one event is larger`() async throws {
        let receiver = WebhookReceiver()
        let bench = try await bench(receiver, size: 1000)
        for size in [10, 400_000, 700_000, 2_000_000, 10, 10] {
            try await bench.database.write { connection in
                try connection.perform(
                    """
                    INSERT INTO event (app, environment, customer, type, body, created_at)
                    VALUES (?1, 'sandbox', 'anna', 'customer.updated', ?2, 0)
                    """,
                    [
                        .text(ServerBench.app.rawValue),
                        .blob(Array("{\"a\":\"\(String(repeating: "x", count: size))\"}".utf8)),
                    ])
            }
        }
        try await bench.deliver()
        #expect(receiver.all.map(\.ids) == [[1, 2], [3], [4], [5, 6]])
        #expect(receiver.all.filter { $0.ids != [4] }.allSatisfy { $0.body.count <= 1 << 20 })
        await bench.close()
    }

    @Test func `metrics show the lag since the oldest event that was not delivered, and count the attempts`()
        async throws
    {
        let receiver = WebhookReceiver { _, before in before == 0 ? 500 : 200 }
        let bench = try await bench(receiver)
        func metrics() async throws -> String {
            String(decoding: try await bench.send(.get, "/metrics", as: .none).bytes, as: UTF8.self)
        }
        let label = "{webhook=\"com.example.darkroom/crm\"}"
        #expect(try await metrics().contains("souk_webhook_lag_seconds\(label) 0\n"))
        for feature in ["a", "b"] { _ = try await bench.grant(feature) }
        try await bench.deliver()
        bench.clock.advance(by: 7)
        #expect(try await metrics().contains("souk_webhook_lag_seconds\(label) 7\n"))
        bench.realClock.advance(by: 10)
        try await bench.deliver()
        let text = try await metrics()
        #expect(text.contains("souk_webhook_lag_seconds\(label) 0\n"))
        #expect(text.contains("souk_webhook_attempts_total{outcome=\"delivered\"} 1\n"))
        #expect(text.contains("souk_webhook_attempts_total{outcome=\"failed\"} 1\n"))
        await bench.close()
    }

    @Test(arguments: [0, -1, 1001, .max, .min]) func `a size outside of 1 to 1000 is refused`(size: Int) async throws {
        await #expect(throws: EntitlementServerError(.invalidConfiguration, "")) {
            _ = try await bench(WebhookReceiver(), size: size)
        }
    }

    @Test func `two webhooks of one name are refused, even if only one gets batches`() async throws {
        await #expect(throws: EntitlementServerError(.invalidConfiguration, "")) {
            _ = try await bench(WebhookReceiver()) {
                $0.webhooks.append($0.webhooks[0])
                $0.webhooks[1].batchSize = nil
            }
        }
    }
}

/// Two servers on one PostgreSQL that post batches to one webhook.
@Suite(.enabled(if: PostgresCluster.isAvailable, "PostgreSQL is not installed"))
struct SharedBatchTests {
    @Test func `two servers post each event once, in order, while events are written`() async throws {
        try await ServerBench.$engine.withValue(.postgreSQL) {
            let folder = try ServerBench.Folder()
            let receiver = WebhookReceiver()
            func server() async throws -> ServerBench {
                try await ServerBench.withWebhook(receiver, folder: folder) { $0.webhooks[0].batchSize = 7 }
            }
            let (first, second) = (try await server(), try await server())
            try await withThrowingTaskGroup(of: Void.self) { group in
                for bench in [first, second] {
                    for writer in 0..<2 {
                        group.addTask {
                            for number in 0..<25 { try await bench.writeEvent(about: "c\(writer)-\(number)") }
                        }
                    }
                    group.addTask {
                        try await until("all events are posted") {
                            try await bench.deliver()
                            return receiver.all.reduce(0) { $0 + $1.ids.count } >= 100
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(receiver.all.flatMap(\.ids) == Array(1...100))
            await first.close()
            await second.close()
        }
    }

    @Test func `another server repeats a batch whose sender ended, and the late result of the first has no effect`()
        async throws
    {
        try await ServerBench.$engine.withValue(.postgreSQL) {
            let folder = try ServerBench.Folder()
            let mayEnd = BaseTestSupport.Gate()
            let receiver = WebhookReceiver { _, before in
                if before == 0 { try await mayEnd.pass() }
                return before == 1 ? 500 : 200
            }
            func server() async throws -> ServerBench {
                try await ServerBench.withWebhook(receiver, folder: folder) { $0.webhooks[0].batchSize = 7 }
            }
            let (first, second) = (try await server(), try await server())
            for number in 1...3 { try await first.writeEvent(about: "c\(number)") }
            try await first.numberEvents()
            let slow = Task { try await first.deliver() }
            try await until("the first attempt hangs") { receiver.all.count == 1 }
            try await second.deliver()
            #expect(receiver.all.count == 1)
            second.realClock.advance(by: 60)
            try await second.deliver()
            #expect(receiver.all.count == 2)
            mayEnd.open()
            try await slow.value
            // The late success does not end the batch, because the second attempt failed.
            second.realClock.advance(by: 60)
            try await second.deliver()
            #expect(receiver.all.map(\.ids) == Array(repeating: [1, 2, 3], count: 3))
            await first.close()
            await second.close()
        }
    }
}
