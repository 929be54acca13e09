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
                try await test.store.playNotifications(after: 0, limit: 10).map(\.type) == ["subscription 4", "test"])
            #expect(try await test.store.playNotifications(after: 1, limit: 10).map(\.type) == ["test"])
        }
    }
}
