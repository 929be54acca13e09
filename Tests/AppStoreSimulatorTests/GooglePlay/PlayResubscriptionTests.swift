import Foundation
import GooglePlay
import Primitives
import SimulatorControl
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Subscriptions that a customer buys again in the Play Store, without the app.
struct PlayResubscriptionTests {
    @Test func `an ended subscription is bought again with a new token, and has a context until it is acknowledged`()
        async throws
    {
        try await TestStore.withPlay { test, client in
            let old = try await test.playSubscribe("plus", "monthly", offer: "trial") {
                $0.obfuscatedAccountID = "a"
                $0.obfuscatedProfileID = "p"
            }
            _ = try await test.store.perform(.cancel, onPlayPurchase: old)
            try await test.advance(.months(2))
            let again = try await test.store.playResubscribe(old)
            #expect(again.purchaseToken != old && again.productID == "plus" && again.basePlanID == "monthly")
            #expect(again.offerID == nil && again.state == "active" && !again.isAcknowledged)
            let subscription = try await client.subscription(again.purchaseToken)
            #expect(subscription.outOfAppPurchaseContext?.expiredPurchaseToken == old)
            let ids = subscription.outOfAppPurchaseContext?.expiredExternalAccountIdentifiers
            #expect(ids?.obfuscatedExternalAccountId == "a" && ids?.obfuscatedExternalProfileId == "p")
            #expect(subscription.externalAccountIdentifiers == nil && subscription.linkedPurchaseToken == nil)
            #expect(subscription.acknowledgementState == .pending)
            #expect(try await client.subscription(old).subscriptionState == .expired)
            #expect(try await client.order(again.orderID).total?.billionths == 4_000_000_000)
            _ = try await test.store.perform(.acknowledge, onPlayPurchase: again.purchaseToken)
            #expect(try await client.subscription(again.purchaseToken).outOfAppPurchaseContext == nil)
        }
    }

    @Test func `the app's server gets the notification of a purchase`() async throws {
        let receiver = Receiver { _ in 200 }
        try await TestStore.withPlay(change: {
            $0.notificationTransport = receiver
            $0.playNotificationsURL = "https://example.com/push"
        }) { test, _ in
            let old = try await test.playSubscribe("plus", "monthly")
            _ = try await test.store.refundPlayPurchase(old, .init())
            let again = try await test.store.playResubscribe(old)
            let last = try await test.store.playNotifications(
                of: nil, purchase: again.purchaseToken, after: 0, limit: 9)
            #expect(last.map(\.type) == ["SUBSCRIPTION_PURCHASED"])
        }
    }

    @Test func `a purchase that is not acknowledged is refunded after three days`() async throws {
        try await TestStore.withPlay { test, _ in
            let old = try await test.playSubscribe("plus", "monthly")
            _ = try await test.store.refundPlayPurchase(old, .init())
            let again = try await test.store.playResubscribe(old).purchaseToken
            try await test.advance(.days(3))
            #expect(try await test.store.playPurchase(again).state == "expired")
            // The refunded purchase is the last one now.
            await #expect(throws: SimulatorError(.notNow, "")) { try await test.store.playResubscribe(old) }
            #expect(try await test.store.playResubscribe(again).state == "active")
        }
    }

    @Test func `only the last subscription of a product that ended within a year is bought again`() async throws {
        try await TestStore.withPlay { test, _ in
            func refuses(_ token: String, _ code: SimulatorError.Code) async {
                await #expect(throws: SimulatorError(code, "")) { try await test.store.playResubscribe(token) }
            }
            let running = try await test.playSubscribe("plus", "monthly")
            await refuses(running, .notNow)
            await refuses("unknown", .unknownPurchase)
            let coins = try await test.playBuy("coins").purchaseToken
            await refuses(coins, .notNow)
            let pro = try await test.playBuy("pro", "monthly") {
                $0.oldPurchaseToken = running
                $0.replacementMode = "CHARGE_FULL_PRICE"
            }.purchaseToken
            await refuses(running, .notNow)
            _ = try await test.store.refundPlayPurchase(pro, .init())
            try await test.advance(.years(1))
            #expect(try await test.store.playResubscribe(pro).state == "active")
            let prepaid = try await test.playBuy("plus", "prepaid", account: "bob").purchaseToken
            _ = try await test.store.refundPlayPurchase(prepaid, .init())
            await refuses(prepaid, .unknownProduct)
            let late = try await test.playSubscribe("plus", "monthly", account: "carla")
            _ = try await test.store.refundPlayPurchase(late, .init())
            try await test.advance(.years(1))
            try await test.advance(.days(1))
            await refuses(late, .notNow)
        }
    }
}
