import BaseTestSupport
import Foundation
import GooglePlay
import Primitives
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Changes of prices, the consent of customers, and deferred replacements.
struct PlayPriceTests {
    private typealias Machine = PlaySubscriptionTests
    private typealias Money = AndroidPublisher.Money

    private func dollars(_ units: Int64) -> Money {
        Money(currencyCode: "USD", billionths: units * 1_000_000_000)
    }

    private func orders(_ subscription: inout PlaySubscription, until end: String) -> [String] {
        Machine.run(&subscription, until: end)
    }

    // MARK: - Price changes

    @Test func `an increase with consent waits 37 days, and applies at the next renewal if the customer agrees`() throws
    {
        var (subscription, _) = try Machine.subscription("monthly")
        let effects = try subscription.changePrice(to: dollars(6), isOptOut: false, at: Machine.start)
        #expect(effects == [.subscriptionEvent(.priceChangeUpdated, at: Machine.start)])
        var details = try #require(subscription.priceChangeDetails)
        #expect(details.priceChangeMode == .increase && details.priceChangeState == .outstanding)
        // 9 March is the first day at the new price; the renewal after it is on 31 March.
        #expect(details.expectedNewPriceChargeTime == Fixtures.date("2026-03-31T10:00:00Z"))
        #expect(orders(&subscription, until: "2026-02-28T10:00:00Z").first?.contains(" 4 BASE") == true)
        _ = try subscription.agreeToPrice(at: Fixtures.date("2026-03-01T10:00:00Z"))
        #expect(subscription.priceChangeDetails?.priceChangeState == .confirmed)
        #expect(throws: PlayRefusal.self) { try subscription.agreeToPrice(at: Machine.start) }
        #expect(
            orders(&subscription, until: "2026-03-31T10:00:00Z") == [
                "2026-03-31 GPA.1..1 6 BASE until 2026-04-30", "2026-03-31 event 2", "2026-03-31 event 19",
            ])
        details = try #require(subscription.priceChangeDetails)
        #expect(details.priceChangeState == .applied && details.expectedNewPriceChargeTime == nil)
        #expect(subscription.resource.lineItems?[0].autoRenewingPlan?.recurringPrice == (dollars(6)))
        #expect(orders(&subscription, until: "2026-05-01T00:00:00Z").first?.contains(" 6 BASE") == true)
    }

    @Test func `without consent the subscription ends at the renewal with the higher price`() throws {
        var (subscription, _) = try Machine.subscription("monthly")
        _ = try subscription.changePrice(to: dollars(6), isOptOut: false, at: Machine.start)
        #expect(
            orders(&subscription, until: "2026-05-01T00:00:00Z").suffix(3) == [
                "2026-03-31 event 3", "2026-03-31 event 19", "2026-03-31 event 13",
            ])
        #expect(subscription.state == .expired)
        #expect(subscription.resource.canceledStateContext?.systemInitiatedCancellation != nil)
        #expect(subscription.priceChangeDetails?.priceChangeState == .canceled)
    }

    @Test func `an opt-out increase applies after 30 days, and a decrease at the next renewal, without consent`() throws
    {
        var (subscription, _) = try Machine.subscription("monthly")
        _ = try subscription.changePrice(to: dollars(6), isOptOut: true, at: Machine.start)
        #expect(subscription.priceChangeDetails?.priceChangeMode == .optOutIncrease)
        #expect(subscription.priceChangeDetails?.priceChangeState == .confirmed)
        let first = orders(&subscription, until: "2026-04-01T00:00:00Z").filter { $0.contains("GPA") }
        #expect(first.map { $0.contains(" 6 ") } == [false, true])
        let now = Fixtures.date("2026-04-02T00:00:00Z")
        _ = try subscription.changePrice(to: dollars(5), isOptOut: true, at: now)
        #expect(subscription.priceChangeDetails?.priceChangeMode == .decrease)
        #expect(subscription.priceChangeDetails?.expectedNewPriceChargeTime == subscription.paidUntil)
        #expect(orders(&subscription, until: "2026-05-01T00:00:00Z").first?.contains(" 5 BASE") == true)
    }

    @Test func `an offer's phases keep their price, and a pause moves the new price`() throws {
        var (subscription, _) = try Machine.subscription("monthly", offer: "trial")
        _ = try subscription.changePrice(to: dollars(3), isOptOut: false, at: Machine.start)
        // One week free, and two months at the introductory price.
        #expect(
            subscription.priceChangeDetails?.expectedNewPriceChargeTime == Fixtures.date("2026-04-07T10:00:00Z"))
        let sold = orders(&subscription, until: "2026-04-07T10:00:00Z").filter { $0.contains("GPA") }
        #expect(sold.map { $0.split(separator: " ")[2] } == ["2", "2", "3"])
        _ = try subscription.schedulePause(.months(1), at: Fixtures.date("2026-04-08T00:00:00Z"))
        _ = try subscription.changePrice(to: dollars(4), isOptOut: true, at: Fixtures.date("2026-04-08T00:00:00Z"))
        _ = orders(&subscription, until: "2026-05-07T10:00:00Z")
        #expect(subscription.state == .paused)
        #expect(
            subscription.priceChangeDetails?.expectedNewPriceChargeTime == Fixtures.date("2026-06-07T10:00:00Z"))
        #expect(orders(&subscription, until: "2026-06-07T10:00:00Z").first?.contains(" 4 BASE") == true)
    }

    @Test func `a cancellation cancels a price change, and its end brings it back`() throws {
        var (subscription, _) = try Machine.subscription("monthly")
        _ = try subscription.changePrice(to: dollars(6), isOptOut: true, at: Machine.start)
        let cancelled = try subscription.cancel(by: .user, at: Machine.start)
        #expect(cancelled.map(Machine.line) == ["2026-01-31 event 3", "2026-01-31 event 19"])
        #expect(subscription.priceChangeDetails?.priceChangeState == .canceled)
        _ = try subscription.restart(at: Machine.start)
        #expect(subscription.priceChangeDetails?.priceChangeState == .confirmed)
    }

    @Test func `a price that cannot change is refused`() throws {
        var (subscription, _) = try Machine.subscription("monthly")
        for bad in [dollars(4), dollars(0), dollars(-1), Money(currencyCode: "EUR", billionths: 6_000_000_000)] {
            #expect(throws: PlayRefusal.self) {
                try subscription.changePrice(to: bad, isOptOut: false, at: Machine.start)
            }
        }
        #expect(subscription.priceChange == nil)
        for plan in ["prepaid", "instalments"] {
            var (other, _) = try Machine.subscription(plan)
            #expect(throws: PlayRefusal.self) {
                try other.changePrice(to: dollars(9), isOptOut: false, at: Machine.start)
            }
        }
        _ = try subscription.cancel(by: .user, at: Machine.start)
        #expect(throws: PlayRefusal.self) {
            try subscription.changePrice(to: dollars(9), isOptOut: false, at: Machine.start)
        }
    }

    // MARK: - Step-ups

    @Test func `in South Korea each higher price after an offer needs consent`() throws {
        var (subscription, begun) = try Machine.subscription("monthly", offer: "trial", region: "KR")
        #expect(begun.map(Machine.line).last == "2026-01-31 event 22")
        var details = try #require(subscription.priceStepUpConsentDetails)
        #expect(details.state == .pending && details.newPrice == (dollars(2)))
        #expect(details.consentDeadlineTime == Fixtures.date("2026-02-07T10:00:00Z"))
        _ = try subscription.agreeToPrice(at: Machine.start)
        #expect(subscription.priceStepUpConsentDetails?.state == .confirmed)
        #expect(orders(&subscription, until: "2026-02-08T00:00:00Z").last == "2026-02-07 event 22")
        #expect(subscription.priceStepUpConsentDetails?.state == .completed)
        // The last period at the introductory price asks for the consent to the base price.
        #expect(orders(&subscription, until: "2026-03-08T00:00:00Z").last == "2026-03-07 event 22")
        details = try #require(subscription.priceStepUpConsentDetails)
        #expect(details.state == .pending && details.newPrice == (dollars(4)))
        #expect(
            orders(&subscription, until: "2026-05-01T00:00:00Z") == ["2026-04-07 event 3", "2026-04-07 event 13"])
        #expect(subscription.state == .expired)
    }

    @Test func `elsewhere a step-up needs no consent`() throws {
        let (subscription, effects) = try Machine.subscription("monthly", offer: "trial")
        #expect(subscription.priceStepUpConsentDetails == nil && effects.count == 2)
        #expect(throws: PlayRefusal.self) {
            var other = subscription
            _ = try other.agreeToPrice(at: Machine.start)
        }
    }

    // MARK: - Deferred replacements

    @Test func `a deferred replacement begins when the old period ends`() async throws {
        try await TestStore.withPlay(change: { $0.playNotificationsURL = "http://127.0.0.1:1/push" }) { test, client in
            let old = try await test.playSubscribe("pro", "monthly")
            let oldOrder = try #require(try await client.subscription(old).lineItems?[0].latestSuccessfulOrderId)
            let bought = try await test.playBuy("plus", "monthly") {
                $0.oldPurchaseToken = old
                $0.replacementMode = "DEFERRED"
            }
            let token = bought.purchaseToken
            _ = try await test.store.perform(.acknowledge, onPlayPurchase: token)
            #expect(try await client.subscription(old).subscriptionState == .expired)
            var resource = try await client.subscription(token)
            #expect(resource.subscriptionState == .active && resource.linkedPurchaseToken == old)
            let items = try #require(resource.lineItems)
            #expect(items.map(\.productId) == ["pro", "plus"])
            #expect(items[0].deferredItemReplacement?.productId == "plus")
            #expect(items[0].latestSuccessfulOrderId == oldOrder && items[0].autoRenewingPlan?.autoRenewEnabled == nil)
            #expect(items[0].expiryTime == Fixtures.date("2026-02-28T10:00:00Z"))
            #expect(items[1].expiryTime == nil && items[1].latestSuccessfulOrderId == nil)
            #expect(items[1].itemReplacement?.replacementMode == .deferred)
            try await client.refuses(404, "orderNotFound", .get, "/orders/\(bought.orderId)")
            #expect(try await test.store.playPurchase(token).replacesAtEnd == "pro")
            await #expect(throws: SimulatorError(.notNow, "")) {
                _ = try await test.playBuy("pro", "monthly") {
                    $0.oldPurchaseToken = token
                    $0.replacementMode = "WITHOUT_PRORATION"
                }
            }

            try await test.advance(.months(1))
            resource = try await client.subscription(token)
            #expect(resource.lineItems?.map(\.productId) == ["plus"])
            #expect(resource.lineItems?[0].expiryTime == Fixtures.date("2026-03-28T10:00:00Z"))
            let order = try await client.order(bought.orderId)
            #expect(order.total == (dollars(4)) && order.createTime == Fixtures.date("2026-02-28T10:00:00Z"))
            try await test.advance(.months(1))
            #expect(try await client.order(bought.orderId + "..0").total == (dollars(4)))
            let types = try await test.store.playNotifications().filter { $0.purchaseToken == token }.map(\.type)
            #expect(types == ["SUBSCRIPTION_PURCHASED", "SUBSCRIPTION_RENEWED", "SUBSCRIPTION_RENEWED"])
        }
    }

    @Test func `a deferred replacement that is cancelled or not acknowledged ends without a refund`() async throws {
        try await TestStore.withPlay { test, client in
            for isAcknowledged in [true, false] {
                let account: AccountName = isAcknowledged ? "anna" : "bob"
                let old = try await test.playBuy("pro", "monthly", account: account)
                _ = try await test.store.perform(.acknowledge, onPlayPurchase: old.purchaseToken)
                let token = try await test.playBuy("plus", "monthly", account: account) {
                    $0.oldPurchaseToken = old.purchaseToken
                    $0.replacementMode = "DEFERRED"
                }.purchaseToken
                if isAcknowledged {
                    _ = try await test.store.perform(.acknowledge, onPlayPurchase: token)
                    _ = try await test.store.perform(.cancel, onPlayPurchase: token)
                }
                try await test.advance(.months(1))
                #expect(try await client.subscription(token).subscriptionState == .expired)
                #expect(try await client.order(old.orderId).state == .processed)
            }
            #expect(try await client.send(.get, "/purchases/voidedpurchases?type=1").json == [:])
        }
    }

    @Test func `a deferred replacement needs plans that renew`() async throws {
        try await TestStore.withPlay { test, _ in
            let prepaid = try await test.playSubscribe("plus", "prepaid")
            await #expect(throws: SimulatorError(.invalidValue, "")) {
                _ = try await test.playBuy("pro", "monthly") {
                    $0.oldPurchaseToken = prepaid
                    $0.replacementMode = "DEFERRED"
                }
            }
        }
    }

    @Test func `the control API changes a price and agrees to it, and refuses what is no price`() async throws {
        try await TestStore.withPlay { test, _ in
            let token = try await test.playSubscribe("plus", "monthly")
            var purchase = try await test.store.perform(
                .changePrice(.init(price: "5.999")), onPlayPurchase: token)
            #expect(purchase.priceChange?.price == Price(amount: Decimal(string: "5.999") ?? 0, currency: "USD"))
            #expect(purchase.priceChange?.state == "OUTSTANDING" && purchase.priceChange?.mode == "PRICE_INCREASE")
            purchase = try await test.store.perform(.agree, onPlayPurchase: token)
            #expect(purchase.priceChange?.state == "CONFIRMED")
            for bad in ["", ".", "5.", ".5", "5.9999", "-1", "1e3", "1234567", "5,9", "٥"] {
                await #expect(throws: SimulatorError(.invalidValue, ""), "\(bad)") {
                    _ = try await test.store.perform(.changePrice(.init(price: bad)), onPlayPurchase: token)
                }
            }
            let coins = try await test.playBuy("coins").purchaseToken
            for action in [.agree, .changePrice(.init(price: "1"))] as [SimulatedAppStore.PlayAction] {
                await #expect(throws: SimulatorError(.notNow, "")) {
                    _ = try await test.store.perform(action, onPlayPurchase: coins)
                }
            }
        }
    }
}
