import BaseTestSupport
import Foundation
import GooglePlay
import Primitives
import SimulatorControl
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Refunds of a part of the quantity, and the review of chargebacks by the developer.
struct PlayRefundTests {
    private static let pushes: @Sendable (inout SimulatedAppStore.Configuration) -> Void = {
        $0.playNotificationsURL = "http://127.0.0.1:1/push"
    }

    private func notifications(_ test: TestStore) throws -> [DeveloperNotification] {
        try test.store.database.read { sql in
            try PlayDatabase(SimulatorDatabase(sql), "com.example.souk_play").notifications(after: 0, limit: 100)
                .map(\.notification)
        }
    }

    @Test func `some items are refunded, and the customer keeps the others`() async throws {
        try await TestStore.withPlay(change: Self.pushes) { test, client in
            let bought = try await test.playBuy("coins") { $0.quantity = 5 }
            let (token, path) = (bought.purchaseToken, "/purchases/products/coins/tokens/\(bought.purchaseToken)")
            _ = try await test.store.perform(.acknowledge, onPlayPurchase: token)
            for count in [1, 2] {
                let purchase = try await test.store.refundPlayPurchase(token, .init(quantity: count))
                #expect(purchase.state == "purchased")
            }
            #expect(try await client.send(.get, path).json["refundableQuantity"] == 2)
            let v2 = try await client.send(.get, "/purchases/productsv2/tokens/\(token)").json
            #expect(v2["productLineItem"]?[0]?["productOfferDetails"]?["refundableQuantity"] == 2)
            var order = try await client.order(bought.orderId)
            #expect(order.state == .partiallyRefunded)
            #expect(
                order.orderHistory?.partialRefundEvents?.map { $0.refundDetails?.total?.amount }
                    == [Decimal(string: "0.99"), Decimal(string: "1.98")])

            let list = "/purchases/voidedpurchases"
            #expect(try await client.send(.get, list).json == [:])
            let partial = try await client.send(.get, list + "?includeQuantityBasedPartialRefund=true").json
            #expect(partial["voidedPurchases"]?.arrayValue?.map { $0["voidedQuantity"] } == [1, 2])
            try await client.refuses(400, "invalid", .get, list + "?includeQuantityBasedPartialRefund=1")
            let voided = try notifications(test).compactMap(\.voidedPurchaseNotification)
            #expect(voided.map(\.refundType) == [2, 2] && voided.allSatisfy { $0.orderId == bought.orderId })

            for bad in [0, -1, 3, .max] {
                await #expect(throws: SimulatorError(.invalidValue, "")) {
                    _ = try await test.store.refundPlayPurchase(token, .init(quantity: bad))
                }
            }
            // The rest ends the purchase.
            #expect(try await test.store.refundPlayPurchase(token, .init(quantity: 2)).state == "cancelled")
            order = try await client.order(bought.orderId)
            #expect(order.state == .refunded)
            #expect(try await client.send(.get, list).json["voidedPurchases"]?.arrayValue?.count == 1)
            #expect(try await client.send(.get, path).json["refundableQuantity"] == 0)
        }
    }

    @Test func `two refunds of the last items at once give one of them`() async throws {
        try await TestStore.withPlay { test, client in
            let bought = try await test.playBuy("coins") { $0.quantity = 3 }
            let refund = StoreControlWire.PlayRefund(quantity: 2)
            async let first = try? test.store.refundPlayPurchase(bought.purchaseToken, refund)
            async let second = try? test.store.refundPlayPurchase(bought.purchaseToken, refund)
            #expect(await [first, second].count { $0 != nil } == 1)
            #expect(try await client.order(bought.orderId).orderHistory?.partialRefundEvents?.count == 1)
        }
    }

    @Test func `a subscription has no quantity to refund`() async throws {
        try await TestStore.withPlay { test, _ in
            let token = try await test.playSubscribe("plus", "monthly")
            await #expect(throws: SimulatorError(.invalidValue, "")) {
                _ = try await test.store.refundPlayPurchase(token, .init(quantity: 1))
            }
        }
    }

    // MARK: - Reviews

    private func answer(_ token: String, _ preference: String = "DECLINE") -> JSONValue {
        [
            "pendingRefundToken": .string(token), "refundPreference": .string(preference),
            "sampleContentProvided": false, "consumptionPercentageMilliunits": 45200,
            "consumptionUsageEvents": [["consumptionTime": "2026-01-31T10:00:00Z", "obfuscatedAccountId": "a"]],
        ]
    }

    @Test func `the developer's first answer decides a chargeback after 24 hours`() async throws {
        try await TestStore.withPlay(change: Self.pushes) { test, client in
            for (preference, isLost) in [("DECLINE", false), ("APPROVE", true), ("NEUTRAL", true), (nil, true)]
                as [(String?, Bool)]
            {
                let bought = try await test.playBuy("coins") { $0.obfuscatedAccountID = "customer" }
                let (token, path) = (bought.purchaseToken, "/orders/\(bought.orderId):reviewrefund")
                _ = try await test.store.perform(.consume, onPlayPurchase: token)
                _ = try await test.store.requestPlayChargeback(token)
                let request = try #require(try notifications(test).last?.pendingRefundReviewNotification)
                #expect(request.orderId == bought.orderId && request.refundReason == 7)
                #expect(request.obfuscatedAccountId == "customer")
                let review = try #require(request.pendingRefundToken)
                if let preference {
                    #expect(try await client.send(.post, path, answer(review, preference)).status == 204)
                    // A later answer is accepted, and changes nothing.
                    let other = preference == "DECLINE" ? "APPROVE" : "DECLINE"
                    #expect(try await client.send(.post, path, answer(review, other)).status == 204)
                }
                #expect(try await test.store.playPurchase(token).refundReview?.preference == preference)
                await #expect(throws: SimulatorError(.notNow, "")) {
                    _ = try await test.store.requestPlayChargeback(token)
                }
                try await test.store.advance(.init(seconds: 24 * 3600 - 1))
                #expect(try await client.order(bought.orderId).state == .processed)
                try await test.store.advance(.init(seconds: 1))
                #expect(try await client.order(bought.orderId).state == (isLost ? .refunded : .processed))
                #expect(try await test.store.playPurchase(token).state == (isLost ? "cancelled" : "purchased"))
                #expect(try await test.store.playPurchase(token).refundReview?.isDecided == true)
                #expect(try await client.send(.post, path, answer(review)).status == 204)
            }
            let voided = try await client.send(.get, "/purchases/voidedpurchases").json["voidedPurchases"]?.arrayValue
            #expect(voided?.map { $0["voidedReason"] } == [7, 7, 7])
        }
    }

    @Test func `a chargeback of a subscription ends it, or refunds an order of one that has ended`() async throws {
        try await TestStore.withPlay { test, client in
            let token = try await test.playSubscribe("plus", "monthly")
            _ = try await test.store.requestPlayChargeback(token)
            try await test.advance(.days(1))
            #expect(try await client.subscription(token).subscriptionState == .expired)
            let other = try await test.playSubscribe("pro", "monthly")
            let order = try await test.store.requestPlayChargeback(other).orderID
            _ = try await test.store.refundPlayPurchase(other, .init())
            try await test.advance(.days(2))
            #expect(try await client.order(order).state == .refunded)
            await #expect(throws: SimulatorError(.notNow, "")) {
                _ = try await test.store.requestPlayChargeback(other)
            }
        }
    }

    @Test func `an answer that is incomplete, out of range or of another review is refused`() async throws {
        try await TestStore.withPlay(change: Self.pushes) { test, client in
            let bought = try await test.playBuy("coins")
            let path = "/orders/\(bought.orderId):reviewrefund"
            try await client.refuses(400, "invalid", .post, path, answer("none"))
            _ = try await test.store.requestPlayChargeback(bought.purchaseToken)
            let review = try #require(
                try notifications(test).last?.pendingRefundReviewNotification?.pendingRefundToken)
            func refused(_ change: (inout JSONValue) -> Void) async throws {
                var body = answer(review)
                change(&body)
                try await client.refuses(400, "invalid", .post, path, body)
            }
            for name in ["pendingRefundToken", "refundPreference", "sampleContentProvided"] {
                try await refused { $0[name] = nil }
            }
            try await refused { $0["pendingRefundToken"] = .string(review + "A") }
            try await refused { $0["refundPreference"] = "REFUND_PREFERENCE_UNSPECIFIED" }
            for bad in [-1, 100_001, 99_999_999_999] {
                try await refused { $0["consumptionPercentageMilliunits"] = .number(bad) }
            }
            try await refused { $0["consumptionUsageEvents"] = .array(Array(repeating: [:], count: 1001)) }
            try await refused { $0["sampleContentProvided"] = "true" }
            try await client.refuses(404, "orderNotFound", .post, "/orders/GPA.0:reviewrefund", answer(review))
            let second = try await test.playBuy("coins", account: "bob")
            try await client.refuses(400, "invalid", .post, "/orders/\(second.orderId):reviewrefund", answer(review))
            #expect(try await test.store.playPurchase(bought.purchaseToken).refundReview?.preference == nil)
        }
    }
}
