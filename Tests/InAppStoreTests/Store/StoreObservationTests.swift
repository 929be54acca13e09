import BaseTestSupport
import Foundation
import Observation
import Primitives
import StoreModel
import Testing

@testable import InAppStore

@Suite(.timeLimit(.minutes(2)))
struct StoreObservationTests {
    private let test = StoreTestContext()

    /// Opens `changed` when a value that `read` reads may have changed.
    private func observe(_ read: () -> Void) -> Gate {
        let changed = Gate()
        withObservationTracking(read) { changed.open() }
        return changed
    }

    @Test(arguments: [
        "allowedProducts", "purchasedProducts", "acquiredViaSubscriptionProducts", "acquiredProducts",
        "downloadedContentProducts", "subscriptionInfo", "receiptValidationStatus", "appStoreLocale", "snapshot",
    ])
    func `an observer of a property is notified of its change`(name: String) async throws {
        let content = ScriptedContentManager()
        var configuration = test.configuration()
        configuration.contentManager = content
        let store = try await test.open(configuration)
        let changed = observe {
            switch name {
            case "allowedProducts": _ = store.allowedProducts
            case "purchasedProducts": _ = store.purchasedProducts
            case "acquiredViaSubscriptionProducts": _ = store.acquiredViaSubscriptionProducts
            case "acquiredProducts": _ = store.acquiredProducts
            case "downloadedContentProducts": _ = store.downloadedContentProducts
            case "subscriptionInfo": _ = store.subscriptionInfo
            case "receiptValidationStatus": _ = store.receiptValidationStatus
            case "appStoreLocale": _ = store.appStoreLocale
            default: _ = store.snapshot
            }
        }
        test.setAnswer(
            Fixture.customer(subscriptions: [Fixture.subscription()], purchases: [Fixture.purchase("pack")]))
        try await store.validateReceipt()
        try await changed.pass()
        #expect(store.purchasedProducts == ["pack"])
        await store.close()
    }

    @Test func `an observer is notified at the instant at which a subscription ends`() async throws {
        test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription()]))
        let store = try await test.open()
        try await store.acquireAllEnabledProducts()
        #expect(!store.allowedProducts.isEmpty)
        let ended = observe { _ = store.allowedProducts }
        await test.clock.waiters(atLeast: 1)
        test.clock.advance(to: Fixture.start + Fixture.month)
        try await ended.pass()
        #expect(store.allowedProducts.isEmpty)
        await store.close()
    }

    @Test func `an unchanged answer does not notify observers`() async throws {
        test.setAnswer(Fixture.customer(purchases: [Fixture.purchase("pack")]))
        let store = try await test.open()
        _ = try await store.productList()
        let heard = Locked(false)
        withObservationTracking {
            _ = store.allowedProducts
        } onChange: {
            heard.withLock { $0 = true }
        }
        try await store.validateReceipt()
        #expect(!heard.withLock { $0 })
        await store.close()
    }

    @Test func `an observer that reads at once reads the new state`() async throws {
        let store = try await test.open()
        let read = Locked<StoreSnapshot?>(nil)
        let before = withObservationTracking {
            store.snapshot
        } onChange: {
            let now = store.snapshot
            read.withLock { $0 = now }
        }
        test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription()]))
        try await store.validateReceipt()
        let now = try #require(read.withLock { $0 })
        #expect(now != before)
        await store.close()
    }

    @Test func `a snapshot never mixes two states`() async throws {
        test.server.answer { customer in
            customer == "boris"
                ? Fixture.customer(customer, purchases: [Fixture.purchase("pack")])
                : Fixture.customer(customer, subscriptions: [Fixture.subscription("basic.monthly")])
        }
        let store = try await test.open(customer: "anna")
        let reads = Locked(0)
        let reader = Task {
            var mixed: [StoreSnapshot] = []
            while !Task.isCancelled {
                let snapshot = store.snapshot
                reads.withLock { $0 += 1 }
                if snapshot.customer == "boris", snapshot.subscriptionInfo != nil { mixed.append(snapshot) }
                if snapshot.customer == "anna", !snapshot.purchasedProducts.isEmpty { mixed.append(snapshot) }
                if !snapshot.allowedProducts.isSubset(of: snapshot.acquiredProducts) { mixed.append(snapshot) }
                await letOthersRun()
            }
            return mixed
        }
        try await until("a reader has begun") { reads.withLock { $0 > 0 } }
        for _ in 0..<50 {
            try await store.logIn("boris")
            try await store.logIn("anna")
            try await store.acquireAllEnabledProducts()
        }
        try await until("the snapshot was read again") { reads.withLock { $0 > 1 } }
        reader.cancel()
        #expect(await reader.value.isEmpty)
        await store.close()
    }
}
