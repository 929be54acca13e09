import BaseTestSupport
import Foundation
import GooglePlay
import HTTPCore
import Primitives
import SignedData
import StoreModel
import Testing

@testable import EntitlementServer

@Suite(.onBothEngines) struct PlayNotificationTests {
    private typealias Subscription = AndroidPublisher.SubscriptionPurchaseV2
    private typealias Product = AndroidPublisher.ProductPurchaseV2

    @Test func `a notification stores the purchase that Google states, without a claim`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        let start = bench.clock.now()
        try play.set("token-1", Subscription.plus(from: start))
        #expect(try await bench.pushPlay(.renewed("token-1")).status == 200)
        #expect(try bench.playFacts == 2 && bench.count("customer") == 0)
        _ = try await bench.postPlay()
        #expect(try await bench.get().active() == ["pro"] && bench.playFacts == 2)
        bench.clock.advance(by: 31 * 86400)
        #expect(try await bench.get().active() == [])
        try play.set("token-1", Subscription.plus(from: start, days: 60, order: "GPA.1..0"))
        for _ in 0..<3 {
            let reply = try await bench.pushPlay(.renewed("token-1"))
            #expect(reply.status == 200 && reply.json["messageId"] == "m-1")
        }
        #expect(try await bench.get().active() == ["pro"] && bench.playFacts == 4)
        #expect(try bench.playDifferences() == [])
        await bench.close()
    }

    @Test func `a purchase of a named account waits for its customer`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        try play.set("token-1", Subscription.plus(from: bench.clock.now(), account: "anna"))
        _ = try await bench.pushPlay(.renewed("token-1"))
        #expect(try await bench.get("anna").active() == ["pro"])
        #expect(try await bench.postPlay(for: "ben").code == "boundToAnotherCustomer")
        await bench.close()
    }

    @Test func `a replacement and a purchase outside the app belong to the customer of the former purchase`()
        async throws
    {
        let (bench, play) = try await ServerBench.withPlay()
        let start = bench.clock.now()
        try play.set("token-1", Subscription.plus(from: start))
        _ = try await bench.postPlay()
        bench.clock.advance(by: 86400)
        let replaced = bench.clock.now()
        try play.set(
            "token-2", Subscription.plus(from: replaced, order: "GPA.2") { $0.linkedPurchaseToken = "token-1" })
        _ = try await bench.pushPlay(.renewed("token-2"))
        #expect(try await bench.get().customer().subscriptions.map(\.state) == [.expired, .active])
        bench.clock.advance(by: 60 * 86400)
        try play.set(
            "token-3",
            Subscription.plus(from: bench.clock.now(), order: "GPA.3") {
                $0.outOfAppPurchaseContext = .init { $0.expiredPurchaseToken = "token-2" }
            })
        _ = try await bench.pushPlay(.renewed("token-3"))
        #expect(try await bench.get().active() == ["pro"])
        #expect(try bench.playDifferences() == [])
        await bench.close()
    }

    @Test func `a voided purchase is fetched, of either kind`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        let start = bench.clock.now()
        try play.set("token-9", Product.coins(at: start))
        _ = try await bench.postPlay("token-9", product: "coins")
        try play.set("token-9", Product.coins(at: start) { $0.purchaseStateContext?.purchaseState = .cancelled })
        let voided = { (type: Int?) in
            DeveloperNotification {
                $0.voidedPurchaseNotification = .init {
                    $0.purchaseToken = "token-9"
                    $0.productType = type
                }
            }
        }
        #expect(try await bench.pushPlay(voided(2)).status == 200)
        #expect(try await bench.get().customer().purchases[0].revokedAt == start)
        // Of another kind than Google's, and of no kind.
        #expect(try await bench.pushPlay(voided(1)).status == 200)
        #expect(try await bench.pushPlay(voided(nil)).status == 200)
        #expect(try bench.playFacts == 2)
        await bench.close()
    }

    @Test func `a notification without a valid token changes nothing`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        try play.set("token-1", Subscription.plus(from: bench.clock.now()))
        let other = PushToken(audience: "https://other.example", email: FakeGooglePlay.pushToken.email)
        let stranger = PushToken(audience: FakeGooglePlay.pushToken.audience, email: "mallory@example.com")
        for reply in [
            try await bench.pushPlay(.renewed("token-1"), as: other),
            try await bench.pushPlay(.renewed("token-1"), as: stranger),
            try await bench.pushPlay(.renewed("token-1"), key: 0),
            try await bench.pushPlay(.renewed("token-1"), authorization: "Bearer x"),
            try await bench.pushPlay(.renewed("token-1"), authorization: ""),
        ] {
            #expect(reply.status == 401 && reply.field == "Authorization", "\(reply.json)")
        }
        #expect(try play.requestCount == 0 && bench.playFacts == 0)
        // A valid token for another app's package.
        let unknown = try await bench.pushPlay(.renewed("token-1"), package: "com.example.unknown")
        #expect(unknown.status == 422 && unknown.code == "wrongBundle")
        let unverified = try await bench.pushPlay(.renewed("token-1"), key: 0, package: "com.example.unknown")
        #expect(unverified.status == 401)
        bench.realClock.advance(by: 7200)
        #expect(play.requestCount == 0)
        await bench.close()
    }

    @Test func `a notification is sent again while Google or the keys are unavailable`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        try play.set("token-1", Subscription.plus(from: bench.clock.now()))
        play.state.withLock { $0.hasKeys = false }
        #expect(try await bench.pushPlay(.renewed("token-1")).status == 503)
        play.state.withLock {
            $0.hasKeys = true
            $0.outage = (503, 7)
        }
        bench.realClock.advance(by: 61)
        let reply = try await bench.pushPlay(.renewed("token-1"))
        #expect(reply.status == 503 && reply.headers["Retry-After"] == "7")
        #expect(try bench.playFacts == 0)
        play.state.withLock { $0.outage = nil }
        #expect(try await bench.pushPlay(.renewed("token-1")).status == 200)
        #expect(try bench.playFacts == 2)
        await bench.close()
    }

    @Test func `a purchase that is not accepted is not sent again`() async throws {
        let (bench, play) = try await ServerBench.withPlay([.production])
        #expect(try await bench.pushPlay(.renewed("token-7")).status == 200)
        try play.set("token-1", Subscription.plus(from: bench.clock.now()) { $0.testPurchase = .init() })
        #expect(try await bench.pushPlay(.renewed("token-1")).status == 200)
        try play.set("token-2", Subscription.plus(from: bench.clock.now()) { $0.subscriptionState = .pending })
        #expect(try await bench.pushPlay(.renewed("token-2")).status == 200)
        #expect(try bench.playFacts == 0 && bench.count("play_purchase") == 0)
        await bench.close()
    }

    @Test func `a test notification and one of a later version are accepted, and a malformed one is not`() async throws
    {
        let (bench, play) = try await ServerBench.withPlay()
        let test = DeveloperNotification { $0.testNotification = .init { $0.version = "1.0" } }
        #expect(try await bench.pushPlay(test).status == 200)
        #expect(try await bench.pushPlay(DeveloperNotification()).status == 200)
        #expect(try await bench.pushPlay(.renewed("a b")).status == 400)
        #expect(play.requestCount == 0)
        for body in [#"{}"#, #"{"message": {"data": "!", "messageId": "1"}}"#, #"{"message": {"data": "e30="}}"#] {
            let reply = try await bench.send(
                .post, "/v1/notifications/google-play", as: .none, body: .bytes(Array(body.utf8)))
            #expect(reply.status == 400, "\(body)")
        }
        let metrics = try await bench.send(.get, "/metrics", as: .none)
        #expect(
            String(decoding: metrics.bytes, as: UTF8.self).contains(#"souk_play_notifications_total{type="test"} 1"#))
        await bench.close()
    }

    @Test func `a server without a push subscription refuses notifications`() async throws {
        let (bench, _) = try await ServerBench.withPlay { $0.apps[0].googlePlay?.notifications = nil }
        #expect(try await bench.pushPlay(.renewed("token-1")).status == 501)
        await bench.close()
    }
}
