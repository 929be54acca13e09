import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

@Suite struct RateLimitTests {
    private func bench(perSecond: Double = 0.5, burst: Int = 2) async throws -> ServerBench {
        try await ServerBench { $0.apps[0].rateLimit = RateLimit(perSecond: perSecond, burst: burst) }
    }

    @Test func `a request over the limit of its key gets a Retry-After`() async throws {
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

    @Test func `a refused request takes no token`() async throws {
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

    @Test func `each key has its own bucket, and each app its own limit`() async throws {
        let bench = try await bench()
        for _ in 0..<3 { _ = try await bench.get() }
        #expect(try await bench.send(.get, "/v1/customers/anna", as: .secret).status == 200)
        for _ in 0..<5 {
            #expect(try await bench.send(.get, "/v1/customers/anna", of: ServerBench.otherApp).status == 200)
        }
        await bench.close()
    }

    @Test func `setting the date does not affect a limit`() async throws {
        let (time, date) = (ManualMonotonicClock(), Locked(Date(timeIntervalSince1970: 1_767_225_600)))
        let bench = try await ServerBench {
            $0.apps[0].rateLimit = RateLimit(perSecond: 0.5, burst: 2)
            $0.monotonicClock = time.clock
            $0.realClock = SetClock(date: date)
        }
        #expect(try await bench.get().status == 200)
        for days in [-365.0, 730, -30] {
            date.withLock { $0 += days * 86400 }
            #expect(try await bench.get().status == 200, "\(days)")
            #expect(try await bench.get().headers["Retry-After"] == "2", "\(days)")
            time.advance(by: .seconds(2))
        }
        await bench.close()
    }

    @Test func `by default, requests with a public key about one customer are limited`() async throws {
        let bench = try await ServerBench()
        let limit = RateLimit.perCustomer
        var statuses: [Int: Int] = [:]
        for _ in 0..<(limit.burst + 5) { statuses[try await bench.get().status, default: 0] += 1 }
        #expect(statuses == [200: limit.burst, 429: 5])
        let refused = try await bench.post(bench.purchase("1"))
        #expect(refused.code == "rate_limited" && refused.field == "customer" && refused.headers["Retry-After"] == "1")
        #expect(try await bench.get("ben").status == 200)
        #expect(try await bench.send(.get, "/v1/customers/anna", as: .secret).status == 200)
        bench.realClock.advance(by: 1)
        statuses = [:]
        for _ in 0..<60 { statuses[try await bench.get().status, default: 0] += 1 }
        #expect(statuses == [200: 50, 429: 10])
        await bench.close()
    }

    @Test func `requests about a customer at different endpoints share one limit`() async throws {
        let bench = try await ServerBench { $0.apps[0].customerRateLimit = RateLimit(perSecond: 0.1, burst: 1) }
        let anna: JSONValue = ["customerId": ["type": "merchant-str", "value": "anna"]]
        #expect(try await bench.post(bench.purchase("1")).status == 200)
        #expect(try await bench.get().status == 429)
        for path in ["/feature-provisioner/get-features", "/subscriptions-tracker/get-subscriptions"] {
            #expect(try await bench.send(.post, path, body: .json(anna)).status == 429)
        }
        let token: HTTPHeaders = ["Souk-Customer-Token": try await bench.token()]
        #expect(try await bench.send(.get, "/v1/customers/anna/credits/coins", headers: token).status == 429)
        #expect(try await bench.get("ben").status == 200)
        await bench.close()
    }

    @Test func `a receipt validation counts towards the rate limit of the receipt`() async throws {
        let bench = try await ServerBench { $0.apps[0].customerRateLimit = RateLimit(perSecond: 0.1, burst: 1) }
        func validate(_ receipt: String, as key: ServerBench.Key = .public) async throws -> ServerBench.Reply {
            let body: JSONValue = ["receipt": .string(Base64.encode(Array(receipt.utf8)))]
            return try await bench.send(.post, "/v1/receipts/validate", as: key, body: .json(body))
        }
        #expect(try await validate("one").status == 200)
        let refused = try await validate("one")
        #expect(refused.status == 429 && refused.field == "receipt")
        #expect(try await validate("two").status == 200)
        #expect(try await validate("one", as: .secret).status == 200)
        #expect(try await bench.get().status == 200)
        await bench.close()
    }

    @Test func `an app can turn off the limit of its customers`() async throws {
        let bench = try await ServerBench { $0.apps[0].customerRateLimit = nil }
        for _ in 0..<(RateLimit.perCustomer.burst + 5) { #expect(try await bench.get().status == 200) }
        await bench.close()
    }

    @Test func `requests about many customers do not end the limit of another customer`() async throws {
        let bench = try await ServerBench { $0.apps[0].customerRateLimit = RateLimit(perSecond: 0.01, burst: 3) }
        var configuration = EntitlementService.Configuration(
            database: bench.database, apps: [.init(bundleID: ServerBench.app)], environments: [.sandbox])
        configuration.apps[0].customerRateLimit = RateLimit(perSecond: 0.01, burst: 3)
        configuration.monotonicClock = bench.realClock.monotonic
        let limiter = RateLimiter(configuration)
        func isAdmitted(_ name: String) -> Bool {
            (try? limiter.admit(CustomerID(unchecked: name), of: ServerBench.app)) != nil
        }
        for _ in 0..<3 { #expect(isAdmitted("anna")) }
        #expect(!isAdmitted("anna"))
        for number in 0..<100_000 { #expect(isAdmitted("crowd-\(number)")) }
        #expect(!isAdmitted("anna"))
        bench.realClock.advance(by: 101)
        #expect(isAdmitted("anna"))
        await bench.close()
    }

    @Test func `the store's virtual time does not refill a bucket`() async throws {
        let bench = try await bench()
        for _ in 0..<2 { _ = try await bench.get() }
        bench.clock.advance(by: 3600)
        #expect(try await bench.get().status == 429)
        await bench.close()
    }

    @Test func `a refused request changes nothing`() async throws {
        let bench = try await bench(burst: 1)
        _ = try await bench.get()
        #expect(try await bench.post(bench.purchase("1")).status == 429)
        #expect(try bench.count("fact") == 0)
        await bench.close()
    }

    @Test(arguments: [1e-20, 1e-300])
    func `the Retry-After of an almost endless wait is a year`(perSecond: Double) async throws {
        let bench = try await ServerBench()
        var configuration = EntitlementService.Configuration(
            database: bench.database, apps: [.init(bundleID: ServerBench.app)], environments: [.sandbox])
        configuration.apps[0].customerRateLimit = RateLimit(perSecond: perSecond, burst: 2)
        configuration.monotonicClock = bench.realClock.monotonic
        let limiter = RateLimiter(configuration)
        let anna = CustomerID(unchecked: "anna")
        for _ in 0..<2 { try limiter.admit(anna, of: ServerBench.app) }
        let refusal = #expect(throws: Refusal.self) { try limiter.admit(anna, of: ServerBench.app) }
        #expect(refusal?.headers["Retry-After"] == "31536000")
        await bench.close()
    }

    @Test func `a limit with the lowest possible rate admits and refuses requests`() async throws {
        let bench = try await bench(perSecond: RateLimit.leastPerSecond, burst: 1)
        #expect(try await bench.get().status == 200)
        let refused = try await bench.get()
        #expect(refused.status == 429 && ["100000", "100001"].contains(refused.headers["Retry-After"]))
        await bench.close()
    }

    @Test(arguments: [
        RateLimit(perSecond: 0, burst: 1), RateLimit(perSecond: 1, burst: 0), RateLimit(perSecond: 1e-300, burst: 2),
        RateLimit(perSecond: 0.000009, burst: 2), RateLimit(perSecond: .infinity, burst: 2),
        RateLimit(perSecond: .nan, burst: 2),
    ])
    func `an invalid rate limit is refused`(limit: RateLimit) async throws {
        await #expect(throws: EntitlementServerError(.invalidConfiguration, "")) {
            _ = try await ServerBench { $0.apps[0].rateLimit = limit }
        }
    }
}

/// A clock whose date a test can set forward and back.
private struct SetClock: WallClock {
    let date: Locked<Date>

    func now() -> Date { date.withLock { $0 } }

    func sleep(until deadline: Date) async throws { try await BaseTestSupport.Gate().pass() }
}
