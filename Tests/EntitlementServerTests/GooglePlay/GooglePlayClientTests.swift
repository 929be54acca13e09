import BaseTestSupport
import Foundation
import GooglePlay
import HTTPCore
import Primitives
import StoreModel
import StoreTestSupport
import Testing

@testable import EntitlementServer

/// Calls of a simulated Google Play.
@Suite struct GooglePlayCallTests {
    @Test func `a purchase is the JSON that Google sends, with etag and unknown members`() async throws {
        try await PlayStore.with { play in
            let token = PurchaseToken(unchecked: try await play.buy("pro.monthly", "monthly").purchaseToken)
            let network = SteeredTransport(play.transport)
            let client = play.client(over: network)
            let purchase = try await client.subscription(token)
            #expect(purchase["etag"]?.stringValue != nil)
            #expect(purchase["subscriptionState"] == "SUBSCRIPTION_STATE_ACTIVE")
            network.steer { request in
                request.path.contains("subscriptionsv2")
                    ? HTTPResponse(json: ["kind": "k", "new": ["n": 1.50], "etag": "e"]) : nil
            }
            #expect(try await client.subscription(token) == ["kind": "k", "new": ["n": 1.50], "etag": "e"])
        }
    }

    @Test func `subscriptions and products are acknowledged, and products consumed`() async throws {
        try await PlayStore.with { play in
            let client = play.client()
            let plus = try await play.buy("pro.monthly", "monthly")
            let coins = try await play.buy("coins")
            let tools = try await play.buy("tools")
            for _ in 1...2 {
                try await client.acknowledgeSubscription(.init(unchecked: plus.purchaseToken), of: "pro.monthly")
                try await client.acknowledgeProduct(.init(unchecked: tools.purchaseToken), of: "tools")
            }
            try await client.consume(.init(unchecked: coins.purchaseToken), of: "coins")
            let purchases = try await play.store.playPurchases(of: "anna")
            #expect(purchases.map(\.isAcknowledged) == [true, true, true])
            #expect(purchases.map(\.isConsumed) == [nil, true, false])
            let product = try await client.product(.init(unchecked: coins.purchaseToken))
            let details = product["productLineItem"]?[0]?["productOfferDetails"]
            #expect(details?["consumptionState"] == "CONSUMPTION_STATE_CONSUMED")
            let error = await playFailure {
                try await client.consume(.init(unchecked: coins.purchaseToken), of: "coins")
            }
            #expect(error?.kind == .refused)
            #expect(error?.error?.reason == "productNotOwnedByUser")
        }
    }

    @Test func `voided purchases come in pages of both kinds, since an instant`() async throws {
        try await PlayStore.with { play in
            let client = play.client()
            #expect(try await client.voidedPurchases(since: nil).voidedPurchases == nil)
            let coins = try await play.buy("coins")
            _ = try await play.store.refundPlayPurchase(coins.purchaseToken, .init(), chargeback: true)
            try await play.advance(.days(2))
            let plus = try await play.buy("pro.monthly", "monthly")
            _ = try await play.store.refundPlayPurchase(plus.purchaseToken, .init())
            let all = try await client.voidedPurchases(since: PlayStore.start)
            #expect(all.voidedPurchases?.map(\.purchaseToken) == [coins.purchaseToken, plus.purchaseToken])
            #expect(all.voidedPurchases?.first?.voidedReason == 7)
            #expect(all.tokenPagination == nil)
            let late = try await client.voidedPurchases(since: PlayStore.start.addingTimeInterval(86_400))
            #expect(late.voidedPurchases?.map(\.purchaseToken) == [plus.purchaseToken])
            let early = await playFailure {
                try await client.voidedPurchases(since: PlayStore.start.addingTimeInterval(-40 * 86_400))
            }
            #expect(early?.kind == .refused)
            let order = try await client.order(plus.orderId)
            #expect(order["purchaseToken"]?.stringValue == plus.purchaseToken)
        }
    }

    @Test func `a token without a purchase is unknown, and one that ended long ago has expired`() async throws {
        try await PlayStore.with { play in
            let client = play.client()
            let plus = try await play.buy("pro.monthly", "monthly")
            let coins = try await play.buy("coins")
            let other = plus.purchaseToken.dropFirst().last == "A" ? "B" : "A"
            let unknown = [
                plus.purchaseToken.dropLast(2) + other + other, "no-token", coins.purchaseToken.lowercased(), "a/../b",
                "a%2Fb",
            ]
            for text in unknown.map({ String($0) }) {
                let token = PurchaseToken(unchecked: text)
                #expect(await playFailure { try await client.subscription(token) }?.kind == .unknownToken)
                let error = await playFailure { try await client.product(token) }
                #expect(error?.kind == .unknownToken)
                #expect(error?.reason.contains(text) == false)
            }
            // The token of a purchase of the other kind.
            for call in [
                { try await client.subscription(.init(unchecked: coins.purchaseToken)) },
                { try await client.product(.init(unchecked: plus.purchaseToken)) },
            ] {
                #expect(await playFailure { try await call() }?.kind == .unknownToken)
            }
            try await play.advance(.days(70))
            let error = await playFailure { try await client.subscription(.init(unchecked: plus.purchaseToken)) }
            #expect(error?.kind == .expiredToken)
            #expect(error?.error?.reason == "purchaseTokenNoLongerValid")
        }
    }

    @Test func `another package is refused, and is no unknown token`() async throws {
        try await PlayStore.with { play in
            let client = play.client { $0.packageName = "com.example.other" }
            let error = await playFailure { try await client.subscription("no-token") }
            #expect(error?.kind == .refused)
            #expect(error?.error?.reason == "applicationNotFound")
        }
    }

    @Test(arguments: ["", ".", ".."])
    func `an identifier that cannot be part of a path is not sent`(text: String) async throws {
        try await PlayStore.with { play in
            let network = SteeredTransport(play.transport)
            let client = play.client(over: network)
            #expect(await playFailure { try await client.order(text) }?.kind == .refused)
            #expect(network.requests.isEmpty)
        }
    }
}

/// Requests, answers and failures with a scripted Google.
@Suite struct GooglePlayRequestTests {
    private static let token: PurchaseToken = "a.b-c_d/e:f"

    @Test func `each call has Google's path, query and body`() async throws {
        try await PlayStore.with { play in
            let network = SteeredTransport(play.transport)
            network.steer { $0.path == "/token" ? nil : HTTPResponse(json: [:]) }
            let client = play.client(over: network) { $0.baseURL = "https://play.example/" }
            _ = try await client.subscription(Self.token)
            _ = try await client.product(Self.token)
            _ = try await client.order("GPA.1-2..3")
            try await client.acknowledgeSubscription(Self.token, of: "p q")
            try await client.acknowledgeProduct(Self.token, of: "p")
            try await client.consume(Self.token, of: "p")
            _ = try await client.voidedPurchases(since: Date(timeIntervalSince1970: 1.0019), page: "n+/=")
            let base = "https://play.example/androidpublisher/v3/applications/com.example.darkroom"
            let token = "a.b-c_d%2Fe%3Af"
            let requests = network.requests.dropFirst()
            #expect(
                requests.map { "\($0.method) \($0.url)" } == [
                    "GET \(base)/purchases/subscriptionsv2/tokens/\(token)",
                    "GET \(base)/purchases/productsv2/tokens/\(token)", "GET \(base)/orders/GPA.1-2..3",
                    "POST \(base)/purchases/subscriptions/p%20q/tokens/\(token):acknowledge",
                    "POST \(base)/purchases/products/p/tokens/\(token):acknowledge",
                    "POST \(base)/purchases/products/p/tokens/\(token):consume",
                    "GET \(base)/purchases/voidedpurchases?type=1&maxResults=1000"
                        + "&includeQuantityBasedPartialRefund=true&startTime=1001&token=n%2B%2F%3D",
                ])
            for request in requests {
                #expect(request.timeout == .seconds(30))
                #expect(request.headers["Content-Type"] == (request.method == .post ? "application/json" : nil))
                #expect(
                    request.body.buffered.map { String(decoding: $0, as: UTF8.self) } ?? ""
                        == (request.method == .post ? "{}" : ""))
            }
        }
    }

    @Test(arguments: [(429, true), (500, true), (503, true), (408, true), (501, false)])
    func `a failure that may pass is retried within the backoff`(status: Int, isRetried: Bool) async throws {
        try await PlayStore.with { play in
            let clock = LeapingClock()
            let network = SteeredTransport(play.transport)
            network.steer { $0.path == "/token" ? nil : HTTPResponse(status: status, body: .text("<html>")) }
            let client = play.client(over: network, clock: clock) {
                $0.backoff = Backoff(attempts: 3, initial: .seconds(1), maximum: .seconds(8))
            }
            let error = await playFailure { try await client.subscription(Self.token) }
            #expect(error?.kind == .unavailable)
            #expect(clock.pauses == (isRetried ? [1, 2] : []))
        }
    }

    @Test(
        arguments: [("3", 3.0, [3.0, 3]), ("20", 20, []), ("90000", 3600, []), ("soon", nil, [1, 2])]
            as [(String, TimeInterval?, [TimeInterval])])
    func `a retry waits as Google asks, and a long pause is left to the caller`(
        text: String, pause: TimeInterval?, pauses: [TimeInterval]
    ) async throws {
        try await PlayStore.with { play in
            let clock = LeapingClock()
            let network = SteeredTransport(play.transport)
            network.steer { $0.path == "/token" ? nil : HTTPResponse(status: 429, headers: ["Retry-After": text]) }
            let client = play.client(over: network, clock: clock) {
                $0.backoff = Backoff(attempts: 3, initial: .seconds(1), maximum: .seconds(8))
            }
            let error = await playFailure { try await client.subscription(Self.token) }
            #expect(error?.kind == .unavailable)
            #expect(error?.retryAfter == pause)
            #expect(clock.pauses == pauses)
        }
    }

    @Test(arguments: [FaultyTransport.Fault.unreachable, .answerLost, .serverError])
    func `an acknowledgement whose answer is lost is repeated`(fault: FaultyTransport.Fault) async throws {
        try await PlayStore.with { play in
            let bought = try await play.buy("coins")
            // The first call gets the access token.
            let network = FaultyTransport(play.transport, fault, atCall: 2)
            try await play.client(over: network, clock: LeapingClock())
                .acknowledgeProduct(.init(unchecked: bought.purchaseToken), of: "coins")
            #expect(network.calls == 3)
            #expect(try await play.store.playPurchase(bought.purchaseToken).isAcknowledged)
        }
    }

    @Test(arguments: ["", "null", "[]", "{\"half\": ", #"{"a":1,"a":2}"#, "<html>"])
    func `a successful answer that is not an object is a failure that may pass`(body: String) async throws {
        try await PlayStore.with { play in
            let network = SteeredTransport(play.transport)
            network.steer { $0.path == "/token" ? nil : HTTPResponse(status: 200, body: .text(body)) }
            let client = play.client(over: network)
            for error in [
                await playFailure { try await client.subscription(Self.token) },
                await playFailure { try await client.product(Self.token) },
            ] {
                #expect(error?.kind == .unavailable)
            }
        }
    }

    @Test func `an answer longer than allowed is not read`() async throws {
        try await PlayStore.with { play in
            let token = PurchaseToken(unchecked: try await play.buy("pro.monthly", "monthly").purchaseToken)
            let client = play.client { $0.maximumAnswerBytes = 300 }
            #expect(await playFailure { try await client.subscription(token) }?.kind == .unavailable)
        }
    }

    @Test func `a failure contains no token and no control characters`() async throws {
        try await PlayStore.with { play in
            let network = SteeredTransport(play.transport)
            network.steer { request in
                guard request.path != "/token" else { return nil }
                let bearer = (request.headers["Authorization"] ?? "").dropFirst("Bearer ".count)
                let words = "\(bearer) \(Self.token.rawValue)\u{1B}[2J is odd. " + String(repeating: "x", count: 900)
                return GoogleAPIError(.permissionDenied, reason: "\(bearer)", words).response
            }
            let error = try #require(
                await playFailure { try await play.client(over: network).subscription(Self.token) })
            let bearer = try #require(network.requests.last?.headers["Authorization"]).dropFirst("Bearer ".count)
            #expect(error.kind == .refused)
            for text in [error.reason, "\(error)", error.error?.message ?? "", error.error?.reason ?? ""] {
                #expect(!text.contains(bearer) && !text.contains(Self.token.rawValue) && !text.contains("\u{1B}"))
                #expect(text.count < 400)
            }
            #expect(error.reason.contains("is odd."))
            #expect("\(Self.token)" == "a purchase token")
        }
    }
}

/// Access tokens.
@Suite struct GooglePlayAccessTests {
    @Test func `an access token is used until a minute before its expiry`() async throws {
        let clock = ManualClock()
        try await PlayStore.with(base: clock) { play in
            let token = PurchaseToken(unchecked: try await play.buy("pro.monthly", "monthly").purchaseToken)
            let network = SteeredTransport(play.transport)
            let client = play.client(over: network, clock: clock)
            for (pause, tokens) in [(0, 1), (3538, 1), (1, 2)] as [(TimeInterval, Int)] {
                clock.advance(by: pause)
                _ = try await client.subscription(token)
                #expect(network.count("/token") == tokens)
            }
        }
    }

    @Test func `calls at the same time share one request for an access token`() async throws {
        try await PlayStore.with { play in
            let token = PurchaseToken(unchecked: try await play.buy("pro.monthly", "monthly").purchaseToken)
            let network = SteeredTransport(play.transport)
            let client = play.client(over: network)
            try await withThrowingTaskGroup { group in
                for _ in 1...40 { group.addTask { try await client.subscription(token) } }
                for try await purchase in group { #expect(purchase["kind"] != nil) }
            }
            #expect(network.count("/token") == 1)
        }
    }

    @Test func `a refused access token is replaced once`() async throws {
        try await PlayStore.with { play in
            let token = PurchaseToken(unchecked: try await play.buy("pro.monthly", "monthly").purchaseToken)
            let network = SteeredTransport(play.transport)
            let client = play.client(over: network)
            _ = try await client.subscription(token)
            let refused = Locked(1)
            network.steer { request in
                guard request.path != "/token", refused.withLock({ $0 > 0 }) else { return nil }
                refused.withLock { $0 -= 1 }
                return HTTPResponse(status: 401)
            }
            _ = try await client.subscription(token)
            #expect(network.count("/token") == 2)
            refused.withLock { $0 = .max }
            #expect(await playFailure { try await client.subscription(token) }?.kind == .refused)
            #expect(network.count("/token") == 3)
        }
    }

    @Test func `a service account that Google does not accept is refused without quoting the assertion`() async throws {
        try await PlayStore.with { play in
            let network = SteeredTransport(play.transport)
            // The assertion has expired by the clock of Google.
            let clock = ManualClock(PlayStore.start.addingTimeInterval(-86_400))
            let error = await playFailure {
                try await play.client(over: network, clock: clock).subscription("no-token")
            }
            #expect(error?.kind == .refused)
            #expect(error?.reason.contains("invalid_grant") == true)
            #expect(error?.reason.contains("eyJ") == false)
            #expect(network.requests.count == 1)
        }
    }

    @Test(arguments: [
        "", "[]", #"{"access_token": 1, "expires_in": 3600}"#, #"{"access_token": "a"}"#,
        #"{"access_token": "a\nb", "expires_in": 3600}"#, #"{"access_token": "a", "expires_in": 0}"#,
        #"{"access_token": "a", "expires_in": "1"}"#,
    ])
    func `a malformed answer of the token endpoint is a failure that may pass`(body: String) async throws {
        try await PlayStore.with { play in
            let network = SteeredTransport(play.transport)
            network.steer { _ in HTTPResponse(status: 200, body: .text(body)) }
            let error = await playFailure { try await play.client(over: network).subscription("no-token") }
            #expect(error?.kind == .unavailable)
            #expect(network.requests.count == 1)
        }
    }

    @Test func `an unavailable token endpoint is asked again`() async throws {
        try await PlayStore.with { play in
            let token = PurchaseToken(unchecked: try await play.buy("pro.monthly", "monthly").purchaseToken)
            let network = FaultyTransport(play.transport, .serverError, atCall: 1)
            _ = try await play.client(over: network, clock: LeapingClock()).subscription(token)
            #expect(network.calls == 3)
        }
    }

    @Test func `the lifetime of an access token is bounded`() async throws {
        let clock = ManualClock()
        try await PlayStore.with(base: clock) { play in
            let network = SteeredTransport(play.transport)
            network.steer { request in
                request.path == "/token"
                    ? HTTPResponse(json: ["access_token": "a", "expires_in": 1e300]) : HTTPResponse(json: [:])
            }
            let client = play.client(over: network, clock: clock)
            for (pause, tokens) in [(0, 1), (86_399, 1), (1, 2)] as [(TimeInterval, Int)] {
                clock.advance(by: pause)
                _ = try await client.subscription("no-token")
                #expect(network.count("/token") == tokens)
            }
        }
    }
}

/// Values that tasks share.
@Suite struct SharedValueTests {
    private struct Failed: Error {}

    /// Suspends requests until a test lets them end.
    private actor Gate {
        private(set) var requests = 0
        private var continuation: CheckedContinuation<Int, any Error>?

        func request() async throws -> Int {
            requests += 1
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation = $0 }
            } onCancel: {
                Task { await self.end(.failure(CancellationError())) }
            }
        }

        func end(_ result: Result<Int, any Error>) {
            continuation?.resume(with: result)
            continuation = nil
        }
    }

    @Test func `an error goes to all that wait, and the next task asks again`() async throws {
        let (shared, gate) = (SharedValue<Int>(), Gate())
        let tasks = (1...8).map { _ in
            Task { try await shared.value(where: { _ in true }, request: gate.request) }
        }
        try await until("all wait") { shared.waiters == 7 }
        await gate.end(.failure(Failed()))
        for task in tasks { await #expect(throws: Failed.self) { try await task.value } }
        #expect(await gate.requests == 1)
        async let value = shared.value(where: { _ in true }, request: gate.request)
        try await until("the request runs") { await gate.requests == 2 }
        await gate.end(.success(5))
        #expect(try await value == 5)
        #expect(try await shared.value(where: { $0 == 5 }, request: { throw Failed() }) == 5)
    }

    @Test func `if the task that asks is cancelled, another one asks`() async throws {
        let (shared, gate) = (SharedValue<Int>(), Gate())
        let first = Task { try await shared.value(where: { _ in true }, request: gate.request) }
        try await until("the request runs") { await gate.requests == 1 }
        let second = Task { try await shared.value(where: { _ in true }, request: gate.request) }
        try await until("the second waits") { shared.waiters == 1 }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        try await until("the second asks") { await gate.requests == 2 }
        await gate.end(.success(1))
        #expect(try await second.value == 1)
    }

    @Test func `a task that waits can be cancelled without the others`() async throws {
        let (shared, gate) = (SharedValue<Int>(), Gate())
        let first = Task { try await shared.value(where: { _ in true }, request: gate.request) }
        try await until("the request runs") { await gate.requests == 1 }
        let second = Task { try await shared.value(where: { _ in true }, request: gate.request) }
        try await until("the second waits") { shared.waiters == 1 }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        await gate.end(.success(1))
        #expect(try await first.value == 1)
    }
}

/// Returns the failure of a call, if it is a `GooglePlayFailure`.
func playFailure(_ call: () async throws -> some Any) async -> GooglePlayFailure? {
    do {
        _ = try await call()
        return nil
    } catch {
        return error as? GooglePlayFailure
    }
}
