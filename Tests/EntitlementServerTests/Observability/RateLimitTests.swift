import Foundation
import HTTPCore
import StoreModel
import Testing

@testable import EntitlementServer

@Suite struct RateLimitTests {
    private func bench(perSecond: Double = 0.5, burst: Int = 2) async throws -> ServerBench {
        try await ServerBench { $0.apps[0].rateLimit = RateLimit(perSecond: perSecond, burst: burst) }
    }

    @Test func `a key that asks too often is told when to come back`() async throws {
        let bench = try await bench()
        for _ in 0..<2 { #expect(try await bench.get().status == 200) }
        let refused = try await bench.get()
        #expect(refused.status == 429 && refused.code == "rate_limited" && refused.headers["Retry-After"] == "2")
        #expect(refused.json["retryable"] == true && refused.headers["Souk-Environment"] == "sandbox")
        bench.realClock.advance(by: 1)
        #expect(try await bench.get().headers["Retry-After"] == "1")
        bench.realClock.advance(by: 1)
        #expect(try await bench.get().status == 200)
        #expect(try await bench.get().status == 429)
        await bench.close()
    }

    @Test func `being refused costs nothing`() async throws {
        let bench = try await bench()
        for _ in 0..<50 { _ = try await bench.get() }
        bench.realClock.advance(by: 2)
        #expect(try await bench.get().status == 200)
        await bench.close()
    }

    @Test func `a bucket holds no more than its burst`() async throws {
        let bench = try await bench()
        bench.realClock.advance(by: 3600)
        var statuses: [Int] = []
        for _ in 0..<3 { statuses.append(try await bench.get().status) }
        #expect(statuses == [200, 200, 429])
        await bench.close()
    }

    @Test func `keys do not take from each other, and apps have limits of their own`() async throws {
        let bench = try await bench()
        for _ in 0..<3 { _ = try await bench.get() }
        #expect(try await bench.send(.get, "/v1/customers/anna", as: .secret).status == 200)
        for _ in 0..<5 {
            #expect(try await bench.send(.get, "/v1/customers/anna", of: ServerBench.otherApp).status == 200)
        }
        await bench.close()
    }

    @Test func `the store's clock fills no bucket`() async throws {
        let bench = try await bench()
        for _ in 0..<2 { _ = try await bench.get() }
        bench.clock.advance(by: 3600)
        #expect(try await bench.get().status == 429)
        await bench.close()
    }

    @Test func `what is refused is not done`() async throws {
        let bench = try await bench(burst: 1)
        _ = try await bench.get()
        #expect(try await bench.post(bench.purchase("1")).status == 429)
        #expect(try bench.count("fact") == 0)
        await bench.close()
    }

    @Test(arguments: [RateLimit(perSecond: 0, burst: 1), RateLimit(perSecond: 1, burst: 0)])
    func `a limit that lets nobody in is refused`(limit: RateLimit) async throws {
        await #expect(throws: EntitlementServerError(.invalidConfiguration, "")) {
            _ = try await ServerBench { $0.apps[0].rateLimit = limit }
        }
    }
}
