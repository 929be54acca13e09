import BaseTestSupport
import Foundation
import GooglePlay
import HostTestSupport
import NetworkTestSupport
import Primitives
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Requests of Google's own client library to a store over a real socket. Only the address is replaced. `SOUK_PYTHON` is
/// an interpreter with `google-api-python-client` and `google-auth`.
@Suite(.serialized, .outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with Google's client"))
struct PlayClientTests {
    @Test func `every method is called by Google's client, and every answer has the form of its schema`() async throws {
        let catalogue = try PlayFixtures.catalogue()
        // Google's client creates assertions in real time.
        try await TestStore.with(
            change: {
                $0.playCatalogue = catalogue
                $0.baseClock = SystemClock()
            }
        ) { test in
            let names = try await live(in: test)
            let verdict = try await withLoopbackServer(test.store.handler) { url in
                let line = try #require(try test.store.announceGooglePlay(listeningAt: url))
                return try await OutsideJudge.judge("google_play.py", ["googlePlay": line, "names": names])
            }
            let report = try #require(verdict.json, "\(verdict.errors)")
            #expect(report["faults"] == [], "\(report["faults"] ?? nil)")
            #expect(verdict.status == 0, "\(verdict.errors)")
            #expect(report["answers"]?.intValue ?? 0 >= 30)
        }
    }

    /// Creates a purchase in each state. Returns the tokens and orders.
    private func live(in test: TestStore) async throws -> JSONValue {
        let store = test.store
        // These end within the first months.
        let hold = try await test.playSubscribe("plus", "instalments")
        _ = try await store.perform(.hold, onPlayPurchase: hold)
        let paused = try await test.playSubscribe("pro", "monthly")
        _ = try await store.perform(.pause(.months(3)), onPlayPurchase: paused)
        let expired = try await test.playBuy("plus", "prepaid", account: "bob").purchaseToken
        _ = try await store.perform(.acknowledge, onPlayPurchase: expired)
        let unacknowledged = try await test.playBuy("coins", account: "bob")
        try await test.advance(.months(1))
        try await test.advance(.days(8))
        let grace = try await test.playBuy("plus", "monthly", account: "carl").purchaseToken
        _ = try await store.perform(.acknowledge, onPlayPurchase: grace)
        _ = try await store.perform(.hold, onPlayPurchase: grace)
        try await test.advance(.months(1))
        let trial = try await test.playBuy("plus", "monthly", offer: "trial", account: "dora") {
            $0.obfuscatedAccountID = "account"
            $0.isTest = true
        }
        let replaced = try await test.playBuy("plus", "monthly", account: "emil").purchaseToken
        let replacing = try await test.playBuy("pro", "monthly", account: "emil") {
            $0.oldPurchaseToken = replaced
            $0.replacementMode = "WITHOUT_PRORATION"
        }
        let instalments = try await test.playBuy("plus", "instalments", account: "fred").purchaseToken
        let active = try await test.playBuy("plus", "yearly", account: "gina")
        let revoked = try await test.playBuy("pro", "monthly", account: "gina").purchaseToken
        let coins = try await test.playBuy("coins", account: "gina") { $0.quantity = 2 }
        let deferredOld = try await test.playBuy("pro", "monthly", account: "jana").purchaseToken
        let deferred = try await test.playBuy("plus", "monthly", account: "jana") {
            $0.oldPurchaseToken = deferredOld
            $0.replacementMode = "DEFERRED"
        }.purchaseToken
        let raised = try await test.playBuy("plus", "monthly", account: "karl").purchaseToken
        _ = try await store.perform(.changePrice(.init(price: "5.99")), onPlayPurchase: raised)
        let partial = try await test.playBuy("coins", account: "lena") { $0.quantity = 3 }
        _ = try await store.refundPlayPurchase(partial.purchaseToken, .init(quantity: 1))
        let reviewed = try await test.playBuy("coins", account: "mara")
        _ = try await store.requestPlayChargeback(reviewed.purchaseToken)
        let reviewToken = try test.store.database.read { sql in
            try PlayDatabase(SimulatorDatabase(sql), "com.example.souk_play").entry(reviewed.purchaseToken)?
                .purchase.info.review?.token
        }
        let pending = try await test.playBuy("coins", account: "hans") { $0.isPending = true }.purchaseToken
        let charged = try await test.playBuy("coins", account: "ines")
        _ = try await store.refundPlayPurchase(charged.purchaseToken, .init(), chargeback: true)
        let now = store.virtualClock.now().playMilliseconds.value
        return [
            "hold": .string(hold), "paused": .string(paused), "expired": .string(expired), "grace": .string(grace),
            "unacknowledged": .string(unacknowledged.purchaseToken), "trial": .string(trial.purchaseToken),
            "replaced": .string(replaced), "replacing": .string(replacing.purchaseToken),
            "instalments": .string(instalments), "active": .string(active.purchaseToken),
            "revoked": .string(revoked), "coins": .string(coins.purchaseToken), "pending": .string(pending),
            "charged": .string(charged.purchaseToken), "coinsOrder": .string(coins.orderId),
            "activeOrder": .string(active.orderId), "chargedOrder": .string(charged.orderId),
            "trialOrder": .string(trial.orderId), "deferred": .string(deferred), "raised": .string(raised),
            "partialOrder": .string(partial.orderId), "reviewedOrder": .string(reviewed.orderId),
            "review": .string(try #require(reviewToken)), "now": .number(now),
        ]
    }
}
