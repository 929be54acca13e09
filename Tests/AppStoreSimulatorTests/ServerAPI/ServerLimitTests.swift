import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Rate limits and injected errors of the App Store Server API.
struct ServerLimitTests {
    @Test func `each endpoint has an hourly budget, which starts again with the hour`() {
        var budgets = HourlyBudgets()
        let hour = Date(timeIntervalSince1970: 3600 * 400_000)
        for place in 0..<3 { #expect(budgets.take("a", of: 3, at: hour.addingTimeInterval(Double(place))) == nil) }
        let next = hour.addingTimeInterval(3600)
        #expect(budgets.take("a", of: 3, at: hour.addingTimeInterval(3599.9)) == next)
        #expect(budgets.take("b", of: 3, at: hour) == nil)
        #expect(budgets.take("a", of: 4, at: hour) == nil, "A larger budget must allow another request.")
        #expect(budgets.take("a", of: 3, at: next) == nil)
        #expect(HourlyBudgets.end(ofHourAt: hour) == next && HourlyBudgets.end(ofHourAt: next) > next)
    }

    @Test func `production has the limits of Apple's table, the sandbox a tenth of them`() {
        for rate in ServerAPIEndpoints.all.map(\.handler.rate) {
            #expect(ServerRules.RateLimit.production.budget(of: rate) == rate * 3600)
            #expect(ServerRules.RateLimit.sandbox.budget(of: rate) == rate * 360)
            #expect(ServerRules.RateLimit.off.budget(of: rate) == nil)
        }
        let rates = Dictionary(uniqueKeysWithValues: ServerAPIEndpoints.all.map { ($0.id, $0.handler.rate) })
        #expect(rates["Get Transaction Info"] == 50 && rates["Get Refund History V1"] == 10)
        #expect(rates["Set App Account Token"] == 20)
    }

    @Test func `beyond the limit, responses have the instant of the next request in real time`() async throws {
        try await TestStore.withServer { test, client in
            try await test.store.set(.serverAPIRateLimit, to: "sandbox")
            let path = "/inApps/v1/lookup/M1"
            let other = try ServerClient(test)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for client in [client, other] {
                    let token = try client.serverKey.token(at: test.base.now())
                    group.addTask {
                        for _ in 0..<1800 {
                            let status = try await client.send(.get, path, token: token).status
                            #expect(status == 200)
                        }
                    }
                }
                try await group.waitForAll()
            }
            for client in [client, other] {
                let response = try await client.send(.get, path)
                #expect(response.status == 429)
                #expect(
                    response.headers["Retry-After"] == "1767229200000",
                    "Retry-After must be the next hour, in milliseconds.")
                #expect(try await client.code(.get, path) == .rateLimitExceeded)
            }
            #expect(try await client.code(.get, "/inApps/v1/transactions/77") == .transactionIdNotFound)
            try await test.advance(.days(2))
            #expect(
                try await client.code(.get, path) == .rateLimitExceeded,
                "An advance of virtual time must not restart the budget.")
            test.base.advance(by: 3600)
            #expect(try await client.code(.get, path) == nil)
            try await test.store.set(.serverAPIRateLimit, to: "off")
            #expect(try await client.code(.get, path) == nil)
        }
    }

    @Test func `every endpoint returns the injected error to authenticated requests`() async throws {
        try await TestStore.withServer { test, client in
            let coins = try await test.buy("coins").transactionID
            for (given, code) in [
                ("5000001", .generalInternalRetryable), (4_040_002, .accountNotFoundRetryable),
                ("4290000", .rateLimitExceeded),
            ] as [(JSONValue, ErrorCode)] {
                try await test.store.set(.serverAPIError, to: given)
                for endpoint in ServerAPIEndpoints.all {
                    let path = endpoint.path { _ in "\(coins)" }
                    let response = try await client.send(endpoint.method, path, "{}")
                    let refusal = try AppStoreServerAPI.ErrorResponse(json: try await response.body.json())
                    #expect(refusal.code == code && response.status == code.status)
                    #expect((response.headers["Retry-After"] != nil) == (code == .rateLimitExceeded))
                }
                #expect(try await client.send(.get, "/inApps/v1/transactions/1", token: nil).status == 401)
            }
            try await test.store.set(.serverAPIError, to: "off")
            #expect(try await client.code(.get, "/inApps/v1/transactions/\(coins)") == nil)
            for value in ["4000001", "x", "", 7, true, "5000001.0"] as [JSONValue] {
                await #expect(throws: SimulatorError(.invalidValue, "")) {
                    try await test.store.set(.serverAPIError, to: value)
                }
            }
        }
    }

    @Test func `injected latency is in real time, and ends when the store closes`() async throws {
        try await TestStore.withServer { test, client in
            try await test.store.set(.serverAPILatency, to: 5)
            async let slow = client.send(.get, "/inApps/v1/transactions/77")
            await test.base.waiters(atLeast: 1)
            test.base.advance(by: 5)
            #expect(try await slow.status == 404)
            async let closing = client.send(.get, "/inApps/v1/transactions/77")
            await test.base.waiters(atLeast: 1)
            test.store.endWaiting()
            #expect(try await closing.status == 404)
        }
    }

    @Test func `a closed store returns a retryable error`() async throws {
        let test = try await TestStore.open()
        let client = try ServerClient(test)
        await test.store.close()
        #expect(try await client.code(.get, "/inApps/v1/transactions/77") == .generalInternalRetryable)
        #expect(try await client.code(.post, "/inApps/v1/transactions/77/finish") == .generalInternalRetryable)
    }
}
