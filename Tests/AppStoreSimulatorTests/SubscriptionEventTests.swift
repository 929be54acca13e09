import BaseTestSupport
import Foundation
import SignedData
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Events of subscriptions: the control API causes them, devices receive them, and signed documents contain them.
@Suite(.timeLimit(.minutes(2)))
struct SubscriptionEventTests {
    @Test func `a failing payment leads through the grace period and billing retry to a late renewal`() async throws {
        try await TestStore.withScript { test in
            let phone = try await Listener(test)
            _ = try await test.store.set(.gracePeriod, to: "16d")
            let bought = try await test.buy("plain")
            try await phone.finish(bought.transactionID)
            _ = try await phone.receive()
            let failing = try await test.store.failBilling("plain", for: "anna")
            #expect(failing.state == "purchased" && failing.transactionID == bought.transactionID)
            try await test.advance(to: "03-01")
            let grace = try await test.subscription()
            #expect(grace.status == .gracePeriod && grace.autoRenews && grace.expirationIntent == nil)
            let due = try #require(bought.expiresDate)
            #expect(grace.expiresAt == due && grace.gracePeriodUntil == due.addingTimeInterval(16 * 86400))
            #expect(grace.billingRetryUntil == due.addingTimeInterval(60 * 86400))
            let reported = try await phone.receive()
            #expect(reported.map(\.state) == ["renewalChanged"])
            let info = try test.info(reported.first?.transaction?.signedRenewalInfo)
            #expect(info.isInBillingRetryPeriod == true && info.gracePeriodExpiresDate == grace.gracePeriodUntil)
            #expect(phone.messages.map(\.reason) == [.billingIssue] && phone.messages.first?.productID == "plain")
            #expect(try await test.store.restore(for: phone.device).map(\.id) == [bought.transactionID])

            try await test.advance(to: "04-01")
            let retry = try await test.subscription()
            #expect(retry.status == .billingRetry && retry.gracePeriodUntil == nil)
            #expect(try await phone.receive().map(\.state) == ["renewalChanged"] && phone.messages.count == 1)
            #expect(try await test.store.restore(for: phone.device).isEmpty)

            let paid = try await test.store.resolveBilling("plain", for: "anna")
            #expect(paid.transactionID != bought.transactionID && paid.state == "purchased")
            #expect(paid.expiresDate == paid.purchaseDate.map { SubscriptionPeriod.months(1).end(from: $0) })
            #expect(try await phone.receive().map(\.transaction?.id) == [paid.transactionID] && phone.messages.isEmpty)
            #expect(try await test.subscription().status == .active)
        }
    }

    @Test func `while the payments of all renewals fail, a single subscription cannot be paid`() async throws {
        try await TestStore.withScript { test in
            try await test.buy("plain")
            _ = try await test.store.set(.renewalsFail, to: true)
            try await test.advance(to: "03-01")
            #expect(try await test.subscription().status == .billingRetry)
            await test.fails(.notNow) { try await test.store.resolveBilling("plain", for: "anna") }
            await test.fails(.notNow) { try await test.store.renew("plain", for: "anna") }
            _ = try await test.store.set(.renewalsFail, to: false)
            #expect(try await test.subscription().status == .active)
            #expect(try await test.store.transactions(of: "anna").count == 2)
        }
    }

    @Test func `a higher price is announced by a message, agreed to and paid`() async throws {
        try await TestStore.withScript { test in
            let phone = try await Listener(test)
            let tablet = try await Listener(test)
            let bought = try await test.buy("plain")
            for listener in [phone, tablet] {
                try await listener.finish(bought.transactionID)
                _ = try await listener.receive()
            }
            let increase = try await test.store.increasePrice(of: "plain", .init(price: "7.49"))
            #expect(increase.needsConsent && increase.price == Price(milliunits: 7490, currency: "USD"))
            let listed = try test.store.priceIncreases()
            #expect(listed.map(\.productID) == ["plain"] && listed.map(\.needsConsent) == [true])
            #expect(listed.map(\.price) == [increase.price] && listed.map(\.at) == [increase.at])
            let product = try await test.store.products(["plain"], for: phone.device).products.first
            #expect(product?.price.milliunits == 7490 && product?.displayPrice == "$7.49")
            #expect(try await test.subscription().priceIncrease == "pending")
            let reported = try await phone.receive()
            #expect(reported.map(\.state) == ["renewalChanged"])
            let asked = try test.info(reported.first?.transaction?.signedRenewalInfo)
            #expect(asked.priceIncreaseStatus == .init(rawValue: 0) && asked.renewalPrice == 7490)
            #expect(asked.autoRenewStatus == .on)
            let message = try #require(phone.messages.first)
            #expect(message.reason == .priceIncreaseConsent && phone.messages.count == 1)

            try await test.store.answer(message.id, with: .show, from: phone.device)
            _ = try await phone.receive()
            #expect(phone.messages == [message])
            try await test.store.answer(message.id, with: .accept, from: phone.device)
            for listener in [phone, tablet] {
                let changed = try #require(try await listener.receive().last)
                #expect(changed.state == "renewalChanged" && listener.messages.isEmpty)
                #expect(
                    try test.info(changed.transaction?.signedRenewalInfo).priceIncreaseStatus == .init(rawValue: 1))
            }
            await test.fails(.unknownMessage) {
                try await test.store.answer(message.id, with: .accept, from: tablet.device)
            }
            await test.fails(.nothingToAnswer) {
                try await test.store.answerPriceIncrease(of: "plain", agreeing: false, for: "anna")
            }
            #expect(try await test.subscription().priceIncrease == "agreed")
            try await test.advance(to: "03-01")
            #expect(try await test.payloads().map(\.price) == [5990, 7490])
        }
    }

    @Test func `without consent to a higher price the subscription ends with its period`() async throws {
        try await TestStore.withScript { test in
            try await test.buy("plain")
            try await test.buy("plain", "bob")
            _ = try await test.store.increasePrice(of: "plain", .init(price: "6.99", needsConsent: true))
            let answered = try await test.store.answerPriceIncrease(of: "plain", agreeing: false, for: "anna")
            #expect(try test.info(answered.signedRenewalInfo).autoRenewStatus == .off)
            try await test.advance(to: "03-01")
            #expect(try await test.subscription("anna").expirationIntent == 1)
            #expect(try await test.subscription("bob").expirationIntent == 3)
        }
    }

    @Test func `a price that is not an increase is refused`() async throws {
        try await TestStore.withScript { test in
            for price in ["5.99", "4.99", "0", "x", "-7", "1e30"] {
                await test.fails(.invalidValue) {
                    try await test.store.increasePrice(of: "plain", .init(price: price))
                }
            }
            await test.fails(.invalidValue) { try await test.store.increasePrice(of: "coins", .init(price: "2")) }
            await test.fails(.unknownProduct) { try await test.store.increasePrice(of: "nothing", .init(price: "9")) }
            _ = try await test.store.increasePrice(of: "plain", .init(price: "6.99", needsConsent: false))
            await test.fails(.invalidValue) {
                try await test.store.increasePrice(of: "plain", .init(price: "6.50"))
            }
            #expect(try test.store.priceIncreases().map(\.needsConsent) == [false])
        }
    }

    @Test func `a withdrawn product is not shown, not sold and not renewed, until it is sold again`() async throws {
        try await TestStore.withScript { test in
            let phone = try await Listener(test)
            try await test.buy("plain")
            try await test.buy("weekly")
            for product: ProductID in ["plain", "coins"] { try await test.store.setWithdrawn(product, true) }
            let answer = try await test.store.products(["plain", "coins", "pro"], for: phone.device)
            #expect(answer.products.map(\.id) == ["pro"] && Set(answer.invalidProductIDs) == ["coins", "plain"])
            await test.fails(.productUnavailable) { try await test.buy("coins") }
            await test.fails(.unknownProduct) { try await test.store.setWithdrawn("nothing", true) }
            try await test.advance(to: "03-01")
            let all = try await test.store.subscriptions(of: "anna")
            #expect(all.map(\.status) == [.expired, .active] && all.first?.expirationIntent == 4)
            try await test.store.setWithdrawn("plain", false)
            #expect(try await test.store.subscriptions(of: "anna").map(\.status) == [.expired, .active])
            try await test.buy("plain")
            #expect(try await test.store.subscriptions(of: "anna").map(\.status) == [.active, .active])
        }
    }

    @Test func `a period is sold early, ended early, and auto-renewal turned off and on`() async throws {
        try await TestStore.withScript { test in
            let phone = try await Listener(test)
            let bought = try await test.buy("plain")
            let renewed = try await test.store.renew("plain", for: "anna")
            #expect(renewed.originalTransactionID == bought.transactionID)
            #expect(try test.payload(renewed.signedTransaction).transactionReason == .renewal)
            #expect(Set(try await phone.receive().compactMap(\.transaction?.id)).count == 2)
            _ = try await test.store.cancel("plain", for: "anna")
            await test.fails(.notNow) { try await test.store.renew("plain", for: "anna") }
            await test.fails(.otherGroup) {
                try await test.store.resume("plain", renewingTo: "weekly", for: "anna")
            }
            #expect(try await test.subscription().autoRenews == false)
            let resumed = try await test.store.resume("plain", renewingTo: "year", for: "anna")
            #expect(try test.info(resumed.signedRenewalInfo).autoRenewProductId == "year")
            #expect(try await test.subscription().renewsTo == "year")
            // The product id is that of the next period.
            let ended = try await test.store.expire("year", for: "anna")
            #expect(ended.state == "expired" && ended.transactionID == renewed.transactionID)
            #expect(try await test.subscription().status == .expired)
            #expect(try await test.store.restore(for: phone.device).isEmpty)
        }
    }

    @Test func `an ended subscription cannot be changed`() async throws {
        try await TestStore.withScript { test in
            try await test.buy("plain")
            try await test.store.expire("plain", for: "anna")
            let store = test.store
            await test.fails(.unknownSubscription) { try await store.renew("plain", for: "anna") }
            await test.fails(.unknownSubscription) { try await store.resume("plain", for: "anna") }
            await test.fails(.unknownSubscription) { try await store.expire("plain", for: "anna") }
            await test.fails(.unknownSubscription) { try await store.failBilling("plain", for: "anna") }
            await test.fails(.unknownSubscription) { try await store.resolveBilling("plain", for: "anna") }
            await test.fails(.unknownSubscription) {
                try await store.answerPriceIncrease(of: "plain", agreeing: true, for: "anna")
            }
            await test.fails(.unknownAccount) { try await store.renew("plain", for: "nobody") }
            await test.fails(.unknownAccount) { try await store.subscriptions(of: "nobody") }
        }
    }

    @Test func `every change is signed later than earlier reports`() async throws {
        try await TestStore.withScript { test in
            let phone = try await Listener(test)
            try await test.buy("plain")
            var dates: [Date] = []
            func receive() async throws {
                for update in try await phone.receive() {
                    guard let signed = update.transaction?.signedRenewalInfo else { continue }
                    dates.append(try #require(try test.info(signed).signedDate))
                }
            }
            try await receive()
            let store = test.store
            let events: [() async throws -> Void] = [
                { try await store.cancel("plain", for: "anna") }, { try await store.resume("plain", for: "anna") },
                { try await store.failBilling("plain", for: "anna") },
                { _ = try await store.increasePrice(of: "plain", .init(price: "9")) },
                { try await store.answerPriceIncrease(of: "plain", agreeing: true, for: "anna") },
                { try await store.resolveBilling("plain", for: "anna") },
                { try await store.renew("plain", for: "anna") },
                { try await store.resume("plain", renewingTo: "year", for: "anna") },
                { try await store.expire("plain", for: "anna") },
            ]
            for event in events {
                try await event()
                let before = dates.count
                try await receive()
                #expect(dates.count > before)
            }
            // The documents of one answer have the same instant. Documents of later answers have later instants.
            #expect(dates == dates.sorted() && Set(dates).count >= events.count + 1)
        }
    }

    @Test func `a message that one device answers disappears on the other devices at once`() async throws {
        try await TestStore.withScript { test in
            let phone = try await Listener(test)
            let tablet = try await Listener(test)
            let bought = try await test.buy("basic")
            try await phone.finish(bought.transactionID)
            try await test.store.expire("basic", for: "anna")
            _ = try await phone.receive()
            _ = try await tablet.receive()
            let message = try #require(phone.messages.first)
            #expect(message.reason == .winBackOffer && tablet.messages == [message])
            #expect(try test.info(try await test.subscription().signedRenewalInfo).eligibleWinBackOfferIds == ["back"])
            await test.fails(StoreFailure.Code.unsupported) {
                try await test.store.answer(message.id, with: .accept, from: phone.device)
            }
            await test.fails(.unknownMessage) {
                try await test.store.answer("no-message", with: .show, from: phone.device)
            }
            await test.fails(.unknownDevice) { try await test.store.answer(message.id, with: .show, from: "none") }
            let other = tablet.device
            let cursor = try await test.store.updates(for: other, after: nil).cursor
            async let waiting = test.store.updates(for: other, after: cursor, wait: 30)
            try await test.store.answer(message.id, with: .show, from: phone.device)
            let answer = try await waiting
            #expect(answer.updates.isEmpty && answer.messages == nil)
            await test.fails(.unknownMessage) {
                try await test.store.answer(message.id, with: .show, from: tablet.device)
            }
        }
    }
}
