import BaseTestSupport
import Foundation
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

@Suite(.onBothEngines) struct SweeperTests {
    private func sweep(_ bench: ServerBench) async throws -> Bool {
        try await #require(bench.service.jobs.first { $0.name == "sweeper" }).step()
    }

    @Test func `an expiry becomes an event without a request`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.period("1"))
        #expect(try await sweep(bench) == false)
        #expect(try bench.count("event") == 1)
        bench.clock.advance(by: 30 * 86400)
        _ = try await sweep(bench)
        try await bench.numberEvents()
        let listener = try await EventListener(bench, after: "1")
        let event = try #require(try await listener.events(1).first)
        #expect(event.data["data"]?["subscriptions"]?[0]?["state"] == "expired")
        #expect(event.data["data"]?["features"]?[0]?["isActive"] == false)
        #expect(try await bench.get().wasReady)
        await bench.close()
    }

    @Test func `an expired answer is recomputed once`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.period("1"))
        bench.clock.advance(by: 31 * 86400)
        for _ in 0..<3 { _ = try await sweep(bench) }
        #expect(try bench.count("event") == 2)
        await bench.close()
    }

    @Test func `expired answers are recomputed in batches, in every ledger`() async throws {
        let bench = try await ServerBench(environments: [.sandbox, .production])
        let end = bench.clock.now().addingTimeInterval(60)
        for number in 0..<230 { _ = try await bench.grant("pro", until: end, to: "c\(number)") }
        _ = try await bench.grant("pro", until: end, to: "p", headers: ["Souk-Environment": "production"])
        bench.clock.advance(by: 60)
        var steps = 1
        while try await sweep(bench) { steps += 1 }
        #expect(steps == 3)
        #expect(try bench.count("event") == 2 * 231)
        await bench.close()
    }

    @Test func `a customer whose computation fails is reported and does not delay others`() async throws {
        let bench = try await ServerBench()
        for (index, name) in ["anna", "ben", "cleo"].enumerated() {
            _ = try await bench.post(bench.period("\(index)"), for: name)
        }
        try await bench.database.write {
            try $0.execute("UPDATE fact SET summary = 'no JSON' WHERE original_transaction_id = '1'")
        }
        bench.clock.advance(by: 31 * 86400)
        let sweeper = try #require(bench.service.jobs.first { $0.name == "sweeper" })
        for _ in 0..<2 {
            await #expect(throws: (any Error).self) { try await sweeper.step() }
            try await bench.numberEvents()
            let customers = try bench.database.read { connection -> [String] in
                let rows = try connection.query("SELECT customer FROM event ORDER BY sequence")
                return try rows.map { try $0["customer"] as String }
            }
            #expect(customers == ["anna", "ben", "cleo", "anna", "cleo"])
        }
        await bench.close()
    }

    @Test func `a running service follows a clock that jumps`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.period("1"))
        try await bench.numberEvents()
        let listener = try await EventListener(bench)
        let running = Task { try await bench.service.run() }
        // Jobs sleep in real time.
        await bench.realClock.waiters(atLeast: bench.service.jobs.count)
        bench.clock.advance(by: 365 * 86400)
        bench.realClock.advance(by: 1)
        #expect(try await listener.events(1).first?.data["data"]?["features"]?[0]?["isActive"] == false)
        running.cancel()
        try await running.value
        await bench.close()
    }

    @Test func `a failing background job is reported and tried again`() async throws {
        let failures = Locked(0)
        let clock = ManualClock()
        let job = BackgroundJob(name: "c", pause: 5) {
            let count = failures.withLock { count in
                count += 1
                return count
            }
            if count < 3 { throw EntitlementServerError(.internalInconsistency, "no") }
            return false
        }
        let reported = Locked<[String]>([])
        let running = Task {
            try await job.run(observing: ChangeSignal(clock: clock), among: nil) { name, _ in
                reported.withLock { $0.append(name) }
            }
        }
        for _ in 0..<3 {
            await clock.waiters(atLeast: 1)
            clock.advance(by: 5)
        }
        await clock.waiters(atLeast: 1)
        running.cancel()
        try await running.value
        #expect(reported.withLock { $0 } == ["c", "c"] && failures.withLock { $0 } == 4)
    }
}
