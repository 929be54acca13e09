import BaseTestSupport
import Foundation
import GooglePlay
import Primitives
import SignedData
import SimulatorControl
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Purchases through the control API, in virtual time.
struct PlayPurchaseTests {
    @Test func `a purchase is signed with the key of the app`() async throws {
        try await TestStore.withPlay { test, _ in
            let bought = try await test.playBuy("plus", "monthly", offer: "trial") { $0.obfuscatedAccountID = "a" }
            let play = try #require(test.store.googlePlay)
            let key = try RSAVerificationKey(try #require(Base64.decode(play.publicKey)))
            let data = try SignedPurchaseData(verifying: bought.signedData, signature: bought.signature, key: key)
            #expect(data.purchaseToken == bought.purchaseToken)
            #expect(data.packageName == "com.example.souk_play")
            #expect(data.obfuscatedAccountId == "a")
            #expect(data.autoRenewing == true)
        }
    }

    @Test func `an account owns a product until it is consumed, and has one subscription of a product`() async throws {
        try await TestStore.withPlay { test, _ in
            let coins = try await test.playBuy("coins").purchaseToken
            await #expect(throws: SimulatorError(.notNow, "")) { try await test.playBuy("coins") }
            try await test.playBuy("coins", account: "bob")
            _ = try await test.store.perform(.consume, onPlayPurchase: coins)
            try await test.playBuy("coins")
            try await test.playBuy("plus", "monthly")
            await #expect(throws: SimulatorError(.notNow, "")) { try await test.playBuy("plus", "yearly") }
        }
    }

    @Test(
        arguments: [
            ("unknown", nil, nil, SimulatorError.Code.unknownProduct), ("plus", "weekly", nil, .unknownProduct),
            ("plus", "monthly", "none", .unknownProduct), ("plus", "yearly", "trial", .unknownProduct),
            ("coins", "monthly", nil, .invalidValue),
        ] as [(ProductID, String?, String?, SimulatorError.Code)])
    func `what is not sold cannot be bought`(
        _ product: ProductID, _ plan: String?, _ offer: String?, _ code: SimulatorError.Code
    ) async throws {
        try await TestStore.withPlay { test, _ in
            await #expect(throws: SimulatorError(code, "")) {
                try await test.playBuy(product, plan, offer: offer)
            }
        }
    }

    @Test func `an offer for new subscribers is sold once, and a region has its own price`() async throws {
        try await TestStore.withPlay { test, client in
            let token = try await test.playSubscribe("plus", "monthly", offer: "trial")
            _ = try await test.store.perform(.cancel, onPlayPurchase: token)
            try await test.advance(.days(8))
            await #expect(throws: SimulatorError(.notNow, "")) {
                try await test.playBuy("plus", "monthly", offer: "trial")
            }
            let coins = try await test.playBuy("coins") { $0.regionCode = "DE" }
            #expect(try await client.order(coins.orderId).total?.currencyCode == "EUR")
            await #expect(throws: SimulatorError(.unknownProduct, "")) {
                try await test.playBuy("pro", "monthly") { $0.regionCode = "DE" }
            }
        }
    }

    @Test func `a replaced subscription ends exactly when the new one begins`() async throws {
        try await TestStore.withPlay { test, client in
            let old = try await test.playSubscribe("plus", "monthly")
            try await test.advance(.days(14))
            let new = try await test.playBuy("pro", "monthly") {
                $0.oldPurchaseToken = old
                $0.replacementMode = "CHARGE_FULL_PRICE"
            }.purchaseToken
            let (ended, begun) = (try await client.subscription(old), try await client.subscription(new))
            #expect(ended.subscriptionState == .expired)
            #expect(ended.canceledStateContext?.replacementCancellation != nil)
            #expect(begun.linkedPurchaseToken == old)
            #expect(ended.lineItems?[0].expiryTime == begun.startTime)
            #expect(begun.lineItems?[0].itemReplacement?.productId == "plus")
            await #expect(throws: SimulatorError(.unknownPurchase, "")) {
                try await test.playBuy("pro", "monthly", account: "bob") {
                    $0.oldPurchaseToken = new
                    $0.replacementMode = "CHARGE_FULL_PRICE"
                }
            }
        }
    }

    @Test func `a prepaid plan is topped up`() async throws {
        try await TestStore.withPlay { test, client in
            let old = try await test.playSubscribe("plus", "prepaid")
            try await test.advance(.days(10))
            let new = try await test.playBuy("plus", "prepaid").purchaseToken
            let topped = try await client.subscription(new)
            #expect(topped.linkedPurchaseToken == old)
            #expect(topped.lineItems?[0].expiryTime == Fixtures.date("2026-03-28T10:00:00Z"))
            #expect(topped.lineItems?[0].prepaidPlan?.allowExtendAfterTime != nil)
            #expect(try await client.subscription(old).subscriptionState == .expired)
        }
    }

    @Test func `a chargeback ends the purchase and voids its order`() async throws {
        try await TestStore.withPlay { test, client in
            let token = try await test.playSubscribe("plus", "monthly")
            try await test.advance(.months(1))
            let charged = try await test.store.refundPlayPurchase(token, .init(), chargeback: true)
            #expect(charged.state == "expired")
            #expect(try await client.order(charged.orderID).orderHistory?.refundEvent?.refundReason == .chargeback)
            let voided = try await client.send(.get, "/purchases/voidedpurchases?type=1").json["voidedPurchases"]
            #expect(voided?[0]?["voidedReason"] == 7)
            await #expect(throws: SimulatorError(.notNow, "")) {
                try await test.store.refundPlayPurchase(token, .init(), chargeback: true)
            }
            await #expect(throws: SimulatorError(.unknownPurchase, "")) {
                try await test.store.refundPlayPurchase(token, .init(orderID: "GPA.1"))
            }
            await #expect(throws: SimulatorError(.unknownPurchase, "")) {
                try await test.store.perform(.cancel, onPlayPurchase: "nothing")
            }
        }
    }

    @Test func `both stores follow one clock, and a restart loses nothing`() async throws {
        let (folder, base) = (try ScratchFolder(), ManualClock())
        var token = ""
        try await TestStore.withPlay(in: folder, base: base) { test, _ in
            token = try await test.playSubscribe("plus", "monthly")
            try await test.buy("yearly")
            try await test.advance(.years(2))
        }
        try await TestStore.withPlay(in: folder, base: base) { test, client in
            let purchase = try await client.subscription(token)
            #expect(purchase.lineItems?[0].latestSuccessfulOrderId?.hasSuffix("..23") == true)
            #expect(purchase.lineItems?[0].expiryTime == Fixtures.date("2028-02-29T10:00:00Z"))
            #expect(try await test.payloads().count == 3)
        }
    }

    @Test func `the state is exported and imported`() async throws {
        try await TestStore.withPlay { test, _ in
            let token = try await test.playSubscribe("plus", "monthly", offer: "trial")
            let state = try await test.store.exportState()
            try await TestStore.withPlay { other, client in
                try await other.store.importState(state)
                #expect(try await client.subscription(token).subscriptionState == .active)
                let text = state.text()
                for (good, bad) in [
                    (#"\"period\":\"P1M\""#, #"\"period\":\"PT1S\""#),
                    (#"\"state\":\"active\""#, #"\"state\":\"odd\""#), (#"\"P1W\""#, #"\"P1000Y\""#),
                ] {
                    #expect(text.contains(good))
                    let broken = try JSONValue(parsing: text.replacing(good, with: bad))
                    await #expect(throws: SimulatorError(.invalidValue, "")) {
                        try await other.store.importState(broken)
                    }
                }
            }
        }
    }
}

/// Discounted offers of one-time products.
struct PlayDiscountTests {
    /// The catalogue of the other tests with offers of the product `coins`.
    private static func catalogue(_ change: (String) -> String = { $0 }) throws -> PlayCatalogue {
        let offers = """
            "offers": [
              {"purchaseOptionId": "buy", "offerId": "half", "state": "ACTIVE", "offerTags": [{"tag": "sale"}],
               "discountedOffer": {"startTime": "2026-02-01T00:00:00Z", "endTime": "2026-03-01T00:00:00Z",
                                   "redemptionLimit": "2"},
               "regionalPricingAndAvailabilityConfigs": [
                 {"regionCode": "US", "availability": "AVAILABLE", "relativeDiscount": 0.5},
                 {"regionCode": "DE", "availability": "NO_LONGER_AVAILABLE", "relativeDiscount": 0.5}]},
              {"purchaseOptionId": "buy", "offerId": "same", "discountedOffer": {},
               "regionalPricingAndAvailabilityConfigs": [{"regionCode": "DE", "noOverride": {}}]},
              {"purchaseOptionId": "buy", "offerId": "off", "state": "INACTIVE", "discountedOffer": {},
               "regionalPricingAndAvailabilityConfigs": [
                 {"regionCode": "US", "absoluteDiscount": {"currencyCode": "USD", "nanos": 90000000}}]},
              {"purchaseOptionId": "buy", "offerId": "early", "preOrderOffer": {}}],
            """
        let text = PlayFixtures.text.replacing(
            "\"productId\": \"coins\",", with: "\"productId\": \"coins\", \(change(offers))")
        return try PlayCatalogue(parsing: Array(text.utf8), file: "play.json")
    }

    @Test func `an offer has its price in its time, for as many purchases as its limit allows`() async throws {
        let catalogue = try Self.catalogue()
        #expect(catalogue.warnings.map(\.pointer) == ["/oneTimeProducts/0/offers/3"])
        try await TestStore.withPlay(change: { $0.playCatalogue = catalogue }) { test, client in
            func buy(_ offer: String, _ region: String? = nil) async throws -> StoreControlWire.SignedPlayPurchase {
                let bought = try await test.playBuy("coins", offer: offer) { $0.regionCode = region }
                _ = try await test.store.perform(.consume, onPlayPurchase: bought.purchaseToken)
                return bought
            }
            let options = try test.store.playProducts().products[0].options
            #expect(options?[0].offers?.map(\.offerID) == ["half"])
            #expect(options?[0].offers?[0].price.amount == Decimal(string: "0.49"))
            // The offer begins on 1 February.
            await #expect(throws: SimulatorError(.notNow, "")) { _ = try await buy("half") }
            try await test.advance(.days(1))
            await #expect(throws: SimulatorError(.unknownProduct, "")) { _ = try await buy("half", "DE") }
            let bought = try await buy("half")
            let order = try await client.order(bought.orderId)
            #expect(order.total?.amount == Decimal(string: "0.49"))
            #expect(order.lineItems?[0].oneTimePurchaseDetails?.offerId == "half")
            let token = bought.purchaseToken
            let details = try await client.send(.get, "/purchases/productsv2/tokens/\(token)").json[
                "productLineItem"]?[0]?["productOfferDetails"]
            #expect(details?["offerId"] == "half" && details?["offerTags"] == ["sale"])
            #expect(try await test.store.playPurchase(token).offerID == "half")
            _ = try await buy("half")
            await #expect(throws: SimulatorError(.notNow, "")) { _ = try await buy("half") }
            await #expect(throws: SimulatorError(.notNow, "")) { _ = try await buy("off") }
            for unknown in ["none", "early", "HALF"] {
                await #expect(throws: SimulatorError(.unknownProduct, "")) { _ = try await buy(unknown) }
            }
            #expect(try await client.order(try await buy("same", "DE").orderId).total?.units == 1)
            // It ends on 1 March.
            try await test.advance(.months(1))
            try await test.store.createAccount("bob")
            await #expect(throws: SimulatorError(.notNow, "")) {
                _ = try await test.playBuy("coins", offer: "half", account: "bob")
            }
        }
    }

    @Test(arguments: [
        (
            #""purchaseOptionId": "buy", "offerId": "half""#, #""purchaseOptionId": "rent", "offerId": "half""#,
            "0/purchaseOptionId"
        ),
        (#""offerId": "same""#, #""offerId": "half""#, "1/offerId"),
        (#""relativeDiscount": 0.5"#, #""relativeDiscount": 1.5"#, "0/regionalPricingAndAvailabilityConfigs/0"),
        (#""nanos": 90000000"#, #""nanos": 990000000"#, "2/regionalPricingAndAvailabilityConfigs/0"),
        (#""redemptionLimit": "2""#, #""redemptionLimit": "51""#, "0/discountedOffer/redemptionLimit"),
        (#""redemptionLimit": "2""#, #""redemptionLimit": -1"#, "0/discountedOffer/redemptionLimit"),
        (#""startTime": "2026"#, #""startTime": "x2026"#, "0/discountedOffer/startTime"),
    ])
    func `a faulty offer is named with its place`(_ good: String, _ bad: String, _ place: String) throws {
        do {
            _ = try Self.catalogue { text in
                text.replacingOccurrences(of: good, with: bad, range: text.range(of: good))
            }
            Issue.record("the catalogue is accepted")
        } catch let error as CatalogueError {
            #expect(error.errors.map(\.pointer) == ["/oneTimeProducts/0/offers/\(place)"])
        }
    }
}
