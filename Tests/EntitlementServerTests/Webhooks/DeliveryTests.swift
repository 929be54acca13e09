import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

@Suite(.onBothEngines) struct DeliveryTests {
    /// Creates a bench with a dead delivery for each customer, in the order of `customers`.
    private func dead(_ customers: [String], _ receiver: WebhookReceiver) async throws -> ServerBench {
        receiver.answers { _, _ in 500 }
        let bench = try await ServerBench.withWebhook(receiver) { $0.webhookBackoff = .none }
        for (number, customer) in customers.enumerated() { _ = try await bench.grant("f\(number)", to: customer) }
        try await bench.deliver()
        receiver.answers { _, _ in 200 }
        return bench
    }

    @Test func `deliveries are listed newest first, page by page, and can be filtered by state`() async throws {
        let bench = try await dead(["a", "b", "a"], WebhookReceiver())
        _ = try await bench.grant("more", to: "c")
        try await bench.deliver()
        _ = try await bench.grant("pending", to: "c")
        _ = try await bench.grant("pending too", to: "d")
        let job = try #require(bench.service.jobs.first { $0.name == "webhook crm" })
        #expect(
            try await bench.deliveries("?state=dead").compactMap { $0["customer"]?.stringValue } == ["a", "b", "a"])
        #expect(try await bench.deliveries("?state=delivered").count == 1)
        try await bench.numberEvents()
        _ = try await job.step()
        let first = try await bench.send(.get, "/v1/webhook-deliveries?limit=3", as: .secret)
        let cursor = try #require(first.json["nextCursor"]?.stringValue)
        let rest = try await bench.deliveries("?limit=3&cursor=\(cursor)")
        let all = (first.json["deliveries"]?.arrayValue ?? []) + rest
        #expect(all.compactMap { $0["id"]?.stringValue.flatMap(Int.init) } == [6, 5, 4, 3, 2, 1])
        await bench.close()
    }

    @Test func `a listed delivery has the id and type of its event, and its last result`() async throws {
        let bench = try await dead(["a"], WebhookReceiver())
        let delivery = try #require(try await bench.deliveries().first)
        #expect(
            delivery == [
                "id": "1", "webhook": "crm", "eventID": "1", "customer": "a", "state": "dead", "attempts": 1,
                "createdAt": .string(RFC3339.string(from: bench.realClock.now())), "type": "customer.updated",
                "finishedAt": .string(RFC3339.string(from: bench.realClock.now())), "lastStatus": 500,
            ])
        await bench.close()
    }

    @Test func `a dead delivery is attempted again after a replay`() async throws {
        let receiver = WebhookReceiver()
        let bench = try await dead(["a", "b"], receiver)
        let reply = try await bench.send(.post, "/v1/webhook-deliveries/1/replay", as: .secret)
        #expect(reply.status == 200 && reply.json["state"] == "pending" && reply.json["attempts"] == 0)
        try await bench.deliver()
        #expect(receiver.all.dropFirst(2).map(\.id) == ["1"])
        #expect(try await bench.deliveries("?state=dead").count == 1)
        await bench.close()
    }

    @Test func `a delivered event can be delivered again`() async throws {
        let receiver = WebhookReceiver()
        let bench = try await ServerBench.withWebhook(receiver)
        _ = try await bench.grant()
        try await bench.deliver()
        #expect(try await bench.send(.post, "/v1/webhook-deliveries/1/replay", as: .secret).status == 200)
        try await bench.deliver()
        #expect(receiver.all.map(\.id) == ["1", "1"])
        await bench.close()
    }

    @Test func `all dead deliveries are replayed, in order for each customer`() async throws {
        let receiver = WebhookReceiver()
        let bench = try await dead(["a", "b", "a", "a"], receiver)
        let reply = try await bench.send(.post, "/v1/webhook-deliveries/replay", as: .secret)
        #expect(reply.json == ["replayed": 4])
        #expect(try await bench.deliveries("?state=pending").count == 4)
        try await bench.deliver()
        let again = receiver.all.dropFirst(4)
        #expect(again.filter { $0.customer == "a" }.map(\.id) == ["1", "3", "4"])
        #expect(try await bench.deliveries("?state=delivered").count == 4)
        #expect(try await bench.send(.post, "/v1/webhook-deliveries/replay", as: .secret).json == ["replayed": 0])
        await bench.close()
    }

    @Test func `a replayed delivery precedes waiting ones`() async throws {
        let receiver = WebhookReceiver()
        let bench = try await dead(["a"], receiver)
        receiver.answers { _, _ in 500 }
        _ = try await bench.grant("second", to: "a")
        _ = try await bench.send(.post, "/v1/webhook-deliveries/1/replay", as: .secret)
        receiver.answers { _, _ in 200 }
        try await bench.deliver()
        #expect(receiver.all.map(\.id) == ["1", "1", "2"])
        await bench.close()
    }

    @Test func `a replay that is repeated with the same idempotency key takes effect once`() async throws {
        let receiver = WebhookReceiver()
        let bench = try await dead(["a"], receiver)
        for _ in 0..<2 {
            let reply = try await bench.send(
                .post, "/v1/webhook-deliveries/1/replay", as: .secret, headers: ["Idempotency-Key": "k"])
            #expect(reply.status == 200)
            try await bench.deliver()
        }
        #expect(receiver.all.count == 2)
        await bench.close()
    }

    @Test func `a pending delivery is not replayed`() async throws {
        let receiver = WebhookReceiver { _, _ in 500 }
        let bench = try await ServerBench.withWebhook(receiver)
        _ = try await bench.grant()
        try await bench.deliver()
        let reply = try await bench.send(.post, "/v1/webhook-deliveries/1/replay", as: .secret)
        #expect(reply.status == 409 && reply.code == "delivery_pending")
        await bench.close()
    }

    @Test(arguments: ["2", "x", "9223372036854775808"]) func `an unknown delivery cannot be replayed`(id: String)
        async throws
    {
        let bench = try await dead(["a"], WebhookReceiver())
        let reply = try await bench.send(.post, "/v1/webhook-deliveries/\(id)/replay", as: .secret)
        #expect(reply.status == 404 && reply.code == "no_such_delivery")
        await bench.close()
    }

    @Test func `another app's deliveries are hidden`() async throws {
        let bench = try await dead(["a"], WebhookReceiver())
        let other = ServerBench.otherApp
        let list = try await bench.send(.get, "/v1/webhook-deliveries", as: .secret, of: other)
        #expect(list.json["deliveries"] == [])
        #expect(try await bench.send(.post, "/v1/webhook-deliveries/1/replay", as: .secret, of: other).status == 404)
        #expect(try await bench.send(.get, "/v1/webhook-deliveries").code == "secret_key_required")
        await bench.close()
    }

    @Test(arguments: [("?state=lost", "state"), ("?limit=0", "limit"), ("?cursor=x", "cursor")])
    func `an invalid query of a list is refused`(query: String, field: String) async throws {
        let bench = try await dead(["a"], WebhookReceiver())
        let reply = try await bench.send(.get, "/v1/webhook-deliveries\(query)", as: .secret)
        #expect(reply.status == 400 && reply.field == field)
        await bench.close()
    }
}
