import BaseTestSupport
import Foundation
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

@Suite(.timeLimit(.minutes(1))) struct InAppStorePurchasePluginTests {
    private let test = StoreTestContext(Fixture.customer(subscriptions: [Fixture.subscription()]))

    @Test func `a valid answer is not requested again, until it is invalidated`() async throws {
        let store = try await test.open()
        let plugin = InAppStorePurchasePlugin(store: store)
        let before = test.server.calls.all.count
        _ = try await plugin.getPaidFeatures()
        #expect(test.server.calls.all.count == before)
        #expect(plugin.answerOrigin(of: .getPaidFeatures) == AnswerOrigin(.cache, asOf: Fixture.start))
        test.clock.advance(by: 60)
        await plugin.invalidatePaidFeaturesCache()
        _ = try await plugin.getPaidFeatures()
        _ = try await plugin.getPaidFeatures()
        #expect(test.server.calls.all.count == before + 1)
        let now = Fixture.start.addingTimeInterval(60)
        #expect(plugin.answerOrigin(of: .getPaidFeatures) == AnswerOrigin(.cache, asOf: now))
        await store.close()
    }

    @Test func `a launch without a server has at once what the store keeps, and the client stores no copy of it`()
        async throws
    {
        let first = try await test.open()
        await first.close()
        test.breakServer()
        let store = try await test.open()
        let stored = MemorySecureStorage()
        let client = PurchaseClient(configuration: .init(storage: stored, clock: test.clock))
        try await client.setup(with: [InAppStorePurchasePlugin(store: store)])
        var updates = client.paidFeaturesUpdates.makeAsyncIterator()
        #expect(await updates.next()?.features.map(\.name) == ["pro"])
        #expect(try await client.getPaidFeatures().hasActiveFeature(with: "pro", at: Fixture.start))
        await client.close()
        await store.close()
        let bytes = try stored.data(for: "lastAnswers") ?? []
        #expect(!String(decoding: bytes, as: UTF8.self).contains("pro"))
    }

    @Test func `what was invalidated is still what counts while the server cannot be asked`() async throws {
        let store = try await test.open()
        let plugin = InAppStorePurchasePlugin(store: store)
        test.breakServer()
        await plugin.invalidatePaidFeaturesCache()
        #expect(try await plugin.getPaidFeatures().hasActiveFeature(with: "pro", at: Fixture.start))
        test.say(Fixture.customer())
        #expect(try await !plugin.getPaidFeatures().hasActiveFeature(with: "pro", at: Fixture.start))
        await store.close()
    }

    @Test func `offer codes are asked for by the store's sheet, for who is logged in`() async throws {
        let store = try await test.open()
        let answer = await InAppStorePurchasePlugin(store: store).presentCodeRedemptionUI()
        guard case .success = answer else { return #expect(Bool(false), "\(answer)") }
        let expected = OfferCodeRedemption(code: nil, appAccountToken: CustomerID("anna").appAccountToken)
        #expect(test.connection.calls.all.contains(.redeem(expected)))
        await store.close()
    }

    @Test func `before the server's first answer nothing is sent, and after it also an empty set`() async throws {
        test.breakServer()
        let store = try await test.open()
        var reported = InAppStorePurchasePlugin(store: store).paidFeaturesUpdates().makeAsyncIterator()
        test.say(Fixture.customer(subscriptions: [Fixture.subscription()]))
        try await store.validateReceipt()
        #expect(await reported.next()?.features.map(\.name) == ["pro"])
        test.say(Fixture.customer())
        try await store.logOut()
        #expect(await reported.next() == PaidFeatures())
        await store.close()
    }

    // MARK: - Promoted purchases

    /// A store that postpones all promoted purchases, and an app's client with it.
    private func putOff(
        _ body: (Store, PurchaseClient, inout AsyncStream<PromotedPurchaseRequest>.Iterator) async throws -> Void
    ) async throws {
        var configuration = test.configuration()
        configuration.promotedPurchases = { _, _, _ in .postpone }
        let store = try await test.open(configuration)
        test.connection.promote("pack")
        try await until("the purchase is put off") { !store.postponedPurchases.isEmpty }
        let client = PurchaseClient()
        try await client.setup(with: [InAppStorePurchasePlugin(store: store)])
        var promotions = client.promotedPurchases.makeAsyncIterator()
        try await body(store, client, &promotions)
        await client.close()
        await store.close()
    }

    @Test func `what was put off is offered by the client, also what was put off before there was one`() async throws {
        try await putOff { store, _, promotions in
            let pack = try #require(await promotions.next())
            #expect(pack.product == Product(try #require(Fixture.products.first { $0.id == "pack" })))
            test.connection.promote("coins", offer: .winBack("back"))
            let coins = try #require(await promotions.next())
            #expect(test.connection.payments.isEmpty, "nothing is bought before the app says so")
            async let one = coins.purchase()
            async let other = coins.purchase()
            let (first, second) = try await (one, other)
            #expect(first.transaction != nil && first.transaction == second.transaction)
            #expect(test.connection.payments.map(\.productID) == ["coins"])
            #expect(test.connection.payments.map(\.offer) == [.winBack("back")])
            #expect(store.postponedPurchases.map(\.productID) == ["pack"])
        }
    }

    @Test func `the first continuation makes the purchase, at the store or at the client`() async throws {
        try await putOff { store, _, promotions in
            let pack = try #require(await promotions.next())
            try await store.continuePurchase("pack")
            await #expect(throws: PurchaseError(.invalidProductForPurchasing, "")) { try await pack.purchase() }
            test.connection.promote("coins")
            let coins = try #require(await promotions.next())
            _ = try await coins.purchase()
            await #expect(throws: PurchaseError(.invalidProductForPurchasing, "")) {
                try await store.continuePurchase("coins")
            }
            #expect(test.connection.payments.map(\.productID) == ["pack", "coins"])
        }
    }

    @Test func `who begins the same again is heard again, and buys it once`() async throws {
        try await putOff { _, _, promotions in
            let first = try #require(await promotions.next())
            test.connection.promote("pack")
            let second = try #require(await promotions.next())
            _ = try await second.purchase()
            await #expect(throws: PurchaseError(.invalidProductForPurchasing, "")) { try await first.purchase() }
            #expect(test.connection.payments.map(\.productID) == ["pack"])
        }
    }

    @Test func `of what goes on by itself the client hears as of any purchase, not as an offer`() async throws {
        let store = try await test.open()
        let client = PurchaseClient()
        try await client.setup(with: [InAppStorePurchasePlugin(store: store)])
        var promotions = client.promotedPurchases.makeAsyncIterator()
        var completed = store.completedTransactions.makeAsyncIterator()
        test.connection.promote("coins")
        #expect(await completed.next()?.productID == "coins")
        await client.close()
        #expect(await promotions.next() == nil)
        await store.close()
    }

    @Test func `a store that cannot be reached has decided nothing, whatever it was asked`() {
        let failure = StoreFailure(code: .unreachable, reason: "Nobody is there.")
        let errors: [any Error] = [
            failure, ProductRequestError.requestFailed(error: failure),
            PurchaseError(
                .productsMetadataFetchingFailed, "No prices.",
                underlying: ProductRequestError.requestFailed(error: failure)),
            PurchaseError(
                .restorePurchasesFailed, "No.", underlying: PaymentError(.storeFailed, "No.", underlying: failure)),
        ]
        for error in errors {
            let translated = InAppStorePurchasePlugin.purchaseError(error) as? PurchaseError
            #expect(translated == PurchaseError(.unreachable) && translated?.isRetryable == true, "\(error)")
        }
        let refused = PurchaseError(
            .purchaseFailed, "No.", underlying: StoreFailure(code: .unknown, reason: "The store's own fault."))
        #expect(InAppStorePurchasePlugin.purchaseError(refused) as? PurchaseError == refused)
    }
}
