import Foundation
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

@Suite(.timeLimit(.minutes(1))) struct InAppStorePurchasePluginTests {
    private let test = Surroundings(Fixture.customer(subscriptions: [Fixture.subscription()]))

    @Test func `an answer that stands is not asked for again, until it is invalidated`() async throws {
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

    @Test func `before the server's first answer nothing is told, and after it also that nothing is left`() async throws
    {
        test.breakServer()
        let store = try await test.open()
        var told = InAppStorePurchasePlugin(store: store).paidFeaturesUpdates().makeAsyncIterator()
        test.say(Fixture.customer(subscriptions: [Fixture.subscription()]))
        try await store.validateReceipt()
        #expect(await told.next()?.features.map(\.name) == ["pro"])
        test.say(Fixture.customer())
        try await store.logOut()
        #expect(await told.next() == PaidFeatures())
        await store.close()
    }
}
