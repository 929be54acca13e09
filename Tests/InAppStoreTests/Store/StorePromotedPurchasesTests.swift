import BaseTestSupport
import Primitives
import StoreModel
import Testing

@testable import InAppStore

/// Promoted purchases in a store: they continue, wait or are refused.
@Suite(.timeLimit(.minutes(2)))
struct StorePromotedPurchasesTests {
    private let test = StoreTestContext()

    private func open(
        _ answer: @escaping @Sendable (PromotedPurchase, ListedProduct, StoreSnapshot) async -> PromotedPurchaseAnswer
    ) async throws -> Store {
        var configuration = test.configuration()
        configuration.promotedPurchases = answer
        return try await test.open(configuration)
    }

    /// Returns the next event about promoted purchases.
    private func next(_ events: inout AsyncStream<StoreEvent>.Iterator) async -> StoreEvent? {
        let codes: Set<PurchaseError.Code> = [
            .promotedPurchaseBegun, .promotedPurchasePostponed, .promotedPurchaseRefused,
        ]
        while let event = await events.next() { if codes.contains(event.code) { return event } }
        return nil
    }

    @Test func `a promoted purchase continues by itself`() async throws {
        let store = try await test.open()
        var completed = store.completedTransactions.makeAsyncIterator()
        test.connection.promote("pack")
        let transaction = await completed.next()
        #expect(transaction?.productID == "pack", "A purchase without a waiting caller is a completed transaction.")
        #expect(test.connection.payments.map(\.productID) == ["pack"])
        #expect(test.connection.payments.first?.appAccountToken == store.customer.appAccountToken)
        var events = store.events.makeAsyncIterator()
        let event = await next(&events)
        #expect(event?.code == .promotedPurchaseBegun && event?.kind == .informational && event?.productID == "pack")
        await store.close()
    }

    @Test func `a promoted purchase has the offer of the App Store`() async throws {
        let store = try await test.open()
        var completed = store.completedTransactions.makeAsyncIterator()
        test.connection.promote("pro.monthly", offer: .winBack("back"))
        #expect(await completed.next()?.productID == "pro.monthly")
        #expect(test.connection.payments.map(\.offer) == [.winBack("back")])
        await store.close()
    }

    @Test func `a postponed purchase waits until the app continues it, once`() async throws {
        let store = try await open { _, _, _ in .postpone }
        var events = store.events.makeAsyncIterator()
        for product: ProductID in ["pack", "coins", "pack"] {
            test.connection.promote(product)
            #expect(await next(&events)?.code == .promotedPurchasePostponed)
        }
        #expect(
            store.postponedPurchases.map(\.productID) == ["coins", "pack"],
            "A repeated purchase must be in the list once.")
        #expect(test.connection.payments.isEmpty)
        try await store.continuePurchase("pack")
        #expect(test.connection.payments.map(\.productID) == ["pack"])
        await #expect(throws: PurchaseError(.invalidProductForPurchasing, "")) {
            try await store.continuePurchase("pack")
        }
        #expect(store.postponedPurchases.map(\.productID) == ["coins"])
        await store.close()
    }

    @Test func `a postponed purchase that fails is no longer postponed`() async throws {
        let store = try await open { _, _, _ in .postpone }
        var events = store.events.makeAsyncIterator()
        test.connection.promote("pack")
        _ = await next(&events)
        test.connection.whenPaying { payment, store in
            store.send(
                StoreUpdate(
                    paymentID: payment.id, productID: payment.productID,
                    state: .failed(StoreFailure(code: .cancelled, reason: "No."))))
        }
        await #expect(throws: PurchaseError(.operationCancelled, "")) { try await store.continuePurchase("pack") }
        #expect(store.postponedPurchases.isEmpty)
        await store.close()
    }

    @Test func `an unlisted product is refused, whatever the app answers`() async throws {
        let store = try await open { _, _, _ in .buy }
        var events = store.events.makeAsyncIterator()
        test.connection.promote("unheard.of")
        #expect(await next(&events)?.code == .promotedPurchaseRefused)
        test.connection.promote("pack")
        #expect(await next(&events)?.code == .promotedPurchaseBegun)
        await test.connection.calls.wait { $0.contains { if case .finish = $0 { true } else { false } } }
        #expect(test.connection.payments.map(\.productID) == ["pack"])
        await store.close()
    }

    @Test func `an owned product and a second subscription are refused`() async throws {
        test.setAnswer(
            Fixture.customer(subscriptions: [Fixture.subscription()], purchases: [Fixture.purchase("pack")]))
        let store = try await test.open()
        var events = store.events.makeAsyncIterator()
        for product: ProductID in ["pack", "basic.monthly"] {
            test.connection.promote(product)
            #expect(await next(&events)?.code == .promotedPurchaseRefused, "\(product)")
        }
        test.connection.promote("coins")
        #expect(await next(&events)?.code == .promotedPurchaseBegun, "A consumable can be bought again.")
        await test.connection.calls.wait { $0.contains { if case .finish = $0 { true } else { false } } }
        #expect(test.connection.payments.map(\.productID) == ["coins"])
        await store.close()
    }

    @Test func `a customer whose subscription has expired can subscribe again`() throws {
        let product = try #require(Fixture.list["basic.monthly"])
        for (isExpired, answer) in [(true, PromotedPurchaseAnswer.buy), (false, .refuse)] {
            let snapshot = StoreSnapshot(
                subscriptionInfo: SubscriptionInfo(subscription: Fixture.subscription(), isExpired: isExpired))
            #expect(
                PromotedPurchaseAnswer.unlessOwned(
                    PromotedPurchase(productID: product.id), of: product, knowing: snapshot) == answer)
        }
    }

    @Test func `a store that is closed while the app is asked buys nothing`() async throws {
        let asked = Gate()
        let store = try await open { _, _, _ in
            asked.open()
            try? await Gate().pass()
            return .buy
        }
        test.connection.promote("pack")
        try await asked.pass()
        await store.close()
        #expect(test.connection.payments.isEmpty)
    }
}
