import BaseTestSupport
import Foundation
import GooglePlay
import HTTPCore
import Primitives
import SimulatorControl
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The control API over HTTP.
struct PlayEndpointTests {
    private func post(_ store: SimulatedAppStore, _ path: String, _ body: JSONValue? = nil) async throws -> (
        Int, JSONValue
    ) {
        var request = HTTPRequest(method: .post, url: "/control/v1" + path, headers: ["Host": "127.0.0.1"])
        if let body {
            request.headers["Content-Type"] = "application/json"
            request.body = .json(body)
        }
        let response = await store.handler.respond(to: request).response()
        return (response.status, try JSONValue(parsing: try await response.body.collect(upTo: 1 << 20)))
    }

    @Test func `a subscription has its whole life through the control API`() async throws {
        try await TestStore.withPlay { test, _ in
            try await test.store.createAccount("anna")
            let (status, bought) = try await post(
                test.store, "/accounts/anna/play-buy", ["productID": "plus", "basePlanID": "monthly"])
            #expect(status == 200)
            #expect(
                bought.objectValue.map { Set($0.keys) }
                    == ["packageName", "productId", "purchaseToken", "orderId", "signedData", "signature"])
            let token = try #require(bought["purchaseToken"]?.stringValue)
            func act(_ word: String, _ body: JSONValue? = nil) async throws -> String? {
                let (_, json) = try await post(test.store, "/play/purchases/\(token)/\(word)", body)
                return (json["state"] ?? json["code"])?.stringValue
            }
            #expect(try await act("acknowledge") == "active")
            #expect(try await act("cancel") == "canceled")
            #expect(try await act("cancel") == "notNow")
            #expect(try await act("restart") == "active")
            #expect(try await act("pause", ["period": "P1M"]) == "active")
            #expect(try await act("pause", ["period": "P1Y"]) == "invalidValue")
            #expect(try await act("resume") == "active")
            #expect(try await act("hold") == "active")
            try await test.advance(.months(1))
            #expect(try await act("complete") == "notNow")
            #expect(try await act("recover") == "active")
            #expect(try await act("consume") == "notNow")
            #expect(try await act("refund", ["keepsPurchase": true]) == "active")
            #expect(try await act("chargeback") == "notNow")
            try await test.advance(.months(2))
            #expect(try await act("chargeback") == "expired")
            let (missing, json) = try await post(test.store, "/play/purchases/nothing/cancel")
            #expect(missing == 404)
            #expect(json["code"] == "unknownPurchase")
            let (refused, _) = try await post(
                test.store, "/accounts/anna/play-buy", ["productID": "plus", "regionCode": "usa"])
            #expect(refused == 400)
        }
    }

    @Test func `purchases and notifications are listed`() async throws {
        try await TestStore.withPlay(change: { $0.playNotificationsURL = "http://127.0.0.1:1/push" }) { test, _ in
            let token = try await test.playSubscribe("plus", "monthly")
            #expect(try await test.store.playPurchases(of: "anna").map(\.purchaseToken) == [token])
            try await test.store.requestPlayTestNotification()
            #expect(
                try await test.store.playNotifications(after: 0, limit: 10).map(\.type) == [
                    "SUBSCRIPTION_PURCHASED", "TEST",
                ])
            #expect(try await test.store.playNotifications(after: 1, limit: 10).map(\.type) == ["TEST"])
        }
    }

    @Test func `products have the prices of a country, and orders those of an account`() async throws {
        try await TestStore.withPlay { test, _ in
            let all = try test.store.playProducts()
            #expect(all.regionCode == "US" && all.products.map(\.productID) == ["coins", "plus", "pro"])
            let plus = all.products[1]
            #expect(plus.basePlans?.map(\.basePlanID) == ["monthly", "yearly", "prepaid", "short", "instalments"])
            #expect(plus.basePlans?.map(\.committedPayments) == [nil, nil, nil, nil, 3])
            #expect(plus.offers?.map(\.offerID) == ["trial"])
            #expect(plus.offers?[0].phases.map(\.price.amount) == [0, 2])
            let german = try test.store.playProducts(in: "DE")
            #expect(german.products.map(\.productID) == ["coins"])
            #expect(german.products[0].options?[0].price == Price(amount: 1, currency: "EUR"))
            #expect(try test.store.playProducts(in: "JP").products.isEmpty)

            let token = try await test.playSubscribe("plus", "monthly", offer: "trial")
            let coins = try await test.playBuy("coins") { $0.quantity = 2 }
            try await test.playBuy("coins", account: "bob")
            try await test.advance(.weeks(1))
            let orders = try await test.store.playOrders(of: "anna")
            #expect(orders.map(\.purchaseToken) == [token, coins.purchaseToken, token])
            #expect(orders.map(\.phase) == ["FREE_TRIAL", nil, "INTRODUCTORY"])
            #expect(orders[0].until == orders[2].from && orders[1].quantity == 2)
            #expect(orders.map(\.state) == ["PROCESSED", "REFUNDED", "PROCESSED"])
            #expect(orders[1].refundedAt == orders[1].at.addingTimeInterval(3 * 86400))
        }
    }

    @Test func `a purchase has the time of its acknowledgement, and of its next change`() async throws {
        try await TestStore.withPlay { test, _ in
            let token = try await test.playBuy("plus", "monthly").purchaseToken
            var purchase = try await test.store.playPurchase(token)
            #expect(purchase.acknowledgeBy == Fixtures.start.addingTimeInterval(3 * 86400))
            #expect(purchase.autoRenews == true && purchase.changesAt == purchase.expiryTime)
            _ = try await test.store.perform(.acknowledge, onPlayPurchase: token)
            _ = try await test.store.perform(.pause(.months(1)), onPlayPurchase: token)
            purchase = try await test.store.perform(.hold, onPlayPurchase: token)
            #expect(purchase.acknowledgeBy == nil && purchase.paymentsFail == true)
            #expect(purchase.scheduledPause == .months(1))
            _ = try await test.store.perform(.cancel, onPlayPurchase: token)
            try await test.advance(.months(1))
            purchase = try await test.store.playPurchase(token)
            #expect(purchase.state == "expired" && purchase.autoRenews == false && purchase.changesAt == nil)
        }
    }
}
