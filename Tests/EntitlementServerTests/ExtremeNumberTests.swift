import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

/// Extreme numbers in edited database rows can fail a request, but never end the process.
@Suite struct ExtremeNumberTests {
    private func change(_ sql: String, _ number: Int64, in bench: ServerBench) async throws {
        try await bench.database.write { _ = try $0.execute(sql, [.integer(number)]) }
    }

    @Test func `instants outside the range of 64 bits are clamped`() {
        for number in [Int64(0), 1, -1, 1_700_000_000_123] {
            #expect(Date(milliseconds: number).milliseconds == number)
        }
        #expect(Date(milliseconds: .max).milliseconds > .max - 10_000)
        #expect(Date(milliseconds: .min).milliseconds < .min + 10_000)
        #expect(Date(timeIntervalSince1970: .infinity).milliseconds == .max)
        #expect(Date(timeIntervalSince1970: -1e300).milliseconds == .min)
        #expect(Date(timeIntervalSince1970: .nan).milliseconds == .max)
        #expect(Date(timeIntervalSince1970: 1e300).wholeMillisecond.milliseconds == .max)
    }

    @Test func `a change after the highest possible revision is an error`() async throws {
        let bench = try await ServerBench { $0.answerMemory = 0 }
        _ = try await bench.post(bench.purchase("1"))
        try await change("UPDATE customer SET revision = ?1", .max, in: bench)
        #expect(try await bench.grant("gift").status == 500)
        #expect(bench.failures.withLock { $0.count } == 1)
        #expect(try bench.count("customer_grant") == 0)
        await bench.close()
    }

    @Test(arguments: [Int64.max, .min])
    func `a customer whose grant has an extreme end gets an answer`(end: Int64) async throws {
        let bench = try await ServerBench { $0.answerMemory = 0 }
        _ = try await bench.grant("gift", until: bench.clock.now().addingTimeInterval(60))
        try await change("UPDATE customer_grant SET valid_until = ?1", end, in: bench)
        #expect(try await bench.grant("pro").status == 201)
        #expect(try await bench.get().status == 200)
        await bench.close()
    }

    @Test func `a promotion with the latest possible end can be redeemed`() async throws {
        let bench = try await ServerBench()
        let end = RFC3339.string(from: bench.clock.now().addingTimeInterval(60))
        let made = try await bench.send(
            .post, "/v1/promotions", as: .secret,
            body: .json(["code": "SUMMER", "feature": "pro", "until": .string(end)]))
        #expect(made.status == 201)
        try await change("UPDATE promotion SET grant_until = ?1", .max, in: bench)
        let reply = try await bench.send(
            .post, "/v1/customers/anna/promotions", as: .secret, body: .json(["code": "SUMMER"]))
        #expect(try (200...201).contains(reply.status) && reply.active() == ["pro"])
        await bench.close()
    }

    @Test(arguments: [Int64.max, .max - 1, .min])
    func `a delivery with an extreme number of attempts is attempted`(attempts: Int64) async throws {
        let receiver = WebhookReceiver { _, _ in 500 }
        let bench = try await ServerBench.withWebhook(receiver)
        try await bench.writeEvent()
        try await bench.deliver()
        bench.realClock.advance(by: 3600)
        try await change("UPDATE webhook_delivery SET attempts = ?1", attempts, in: bench)
        let sender = try #require(bench.service.jobs.first { $0.name == "webhook crm" })
        _ = try await sender.step()
        #expect(receiver.all.count >= 2)
        #expect(try await bench.deliveries("?state=dead").count == (attempts > 0 ? 1 : 0))
        await bench.close()
    }
}
