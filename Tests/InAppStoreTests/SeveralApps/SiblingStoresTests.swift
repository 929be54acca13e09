import BaseTestSupport
import Foundation
import Primitives
import Purchases
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

/// Stores of two apps of one seller on one device.
@Suite(.timeLimit(.minutes(2)))
final class SiblingStoresTests {
    private let shared = MemorySecureStorage()
    private let darkroom = StoreTestContext()
    private let studio = StoreTestContext(Fixture.customer())
    private let suite: ProductID = "studio_Pro_MultiApp.Monthly"

    private func configuration(of app: BundleID, in test: StoreTestContext) -> StoreConfiguration {
        var configuration = test.configuration()
        configuration.sharedStorage = shared
        configuration.application = app
        configuration.bundledApplications = ["darkroom", "studio"]
        configuration.multiAppSubscriptionClassifier = ServiceLevelMarkerClassifier(marker: "MultiApp")
        return configuration
    }

    private func openDarkroom() async throws -> Store {
        try await darkroom.open(configuration(of: "darkroom", in: darkroom))
    }

    private func openStudio() async throws -> Store {
        try await studio.open(configuration(of: "studio", in: studio))
    }

    private func reported(_ app: BundleID) throws -> SharedUserInfo? {
        try SharedUserInfoReader(storage: shared).userInfo(ofApp: app)
    }

    private func sell(_ product: ProductID, until end: Date = Fixture.start + Fixture.month) {
        studio.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription(product, until: end)]))
    }

    @Test func `with a subscription of another app enabled products are acquired without a payment`() async throws {
        sell(suite)
        try await openStudio().close()
        let store = try await openDarkroom()
        #expect(store.subscriptionInfo?.productID == suite.rawValue)
        #expect(store.isMultiAppSubscription(suite.rawValue) && !store.isMultiAppSubscription("pro.monthly"))
        try await store.purchaseProduct("film.noir")
        #expect(store.allowedProducts == ["film.noir"])
        try await store.acquireAllEnabledProducts()
        #expect(store.allowedProducts == ["film.noir", "lens.macro", "pack", "coins"])
        #expect(darkroom.connection.payments.isEmpty)
        await store.close()
    }

    @Test func `the example of the guide does what the guide says`() async throws {
        sell(suite, until: .distantFuture)
        let seller = try await studio.open(configuration(of: "com.example.studio", in: studio))
        await seller.close()
        #expect(isStudioSubscriber(shared))
        var configuration = darkroom.configuration()
        withSiblings(&configuration, over: shared)
        let store = try await darkroom.open(configuration)
        #expect(store.subscriptionInfo?.productID == suite.rawValue)
        await store.close()
    }

    @Test func `a subscription for one app is not used in the other`() async throws {
        sell("studio_Pro_Monthly")
        try await openStudio().close()
        #expect(SharedUserInfoReader(storage: shared, clock: studio.clock).isSubscriber(ofApp: "studio"))
        let store = try await openDarkroom()
        #expect(store.subscriptionInfo == nil)
        await #expect(throws: PurchaseError(.invalidProductForPurchasing, "")) {
            try await store.purchaseProduct("film.noir")
        }
        await store.close()
    }

    @Test func `without a classifier no sibling's subscription counts`() async throws {
        sell(suite)
        try await openStudio().close()
        var configuration = configuration(of: "darkroom", in: darkroom)
        configuration.multiAppSubscriptionClassifier = nil
        let store = try await darkroom.open(configuration)
        #expect(store.subscriptionInfo == nil && !store.isMultiAppSubscription(suite.rawValue))
        await store.close()
    }

    @Test func `an unlisted subscription is reported once`() async throws {
        sell(suite)
        try await openStudio().close()
        let store = try await openDarkroom()
        try await store.validateReceipt()
        await store.close()
        let events = await store.events.reduce(into: []) { $0.append($1.code) }
        #expect(events.count { $0 == .invalidProductIdentifier } == 1)
    }

    @Test func `each answer of the server is shared, and siblings are read each time`() async throws {
        let buyer = try await openStudio()
        let user = try await openDarkroom()
        #expect(user.subscriptionInfo == nil)
        sell(suite)
        try await buyer.validateReceipt()
        #expect(try reported("studio")?.subscriptions.map(\.subscription.productID) == [suite])
        try await user.validateReceipt()
        #expect(user.subscriptionInfo?.isExpired == false)
        studio.setAnswer(
            Fixture.customer(
                subscriptions: [Fixture.subscription(suite, revoked: Fixture.start, state: .revoked)]))
        try await buyer.validateReceipt()
        try await user.validateReceipt()
        #expect(user.subscriptionInfo?.isExpired == true)
        await buyer.close()
        await user.close()
    }

    @Test func `a sibling's subscription counts also while the app's own server is unreachable`() async throws {
        sell(suite)
        try await openStudio().close()
        darkroom.breakServer()
        let store = try await openDarkroom()
        #expect(store.subscriptionInfo?.productID == suite.rawValue)
        #expect(store.receiptValidationStatus?.environment == .production)
        await #expect(throws: PurchaseError(.receiptValidationFailed, "")) { try await store.validateReceipt() }
        await store.close()
    }

    @Test func `at the end of a sibling's subscription the store reads the shared information again`() async throws {
        let end = Fixture.start + Fixture.month
        sell(suite, until: end)
        try await openStudio().close()
        var configuration = configuration(of: "darkroom", in: darkroom)
        configuration.validationInterval = .seconds(1000 * 86400)
        let store = try await darkroom.open(configuration)
        let questions = darkroom.server.calls.all.count
        try await store.purchaseProduct("film.noir")
        studio.clock.advance(to: end - 1)
        sell(suite, until: end + Fixture.month)
        let buyer = try await openStudio()
        try await buyer.validateReceipt()
        await buyer.close()
        darkroom.clock.advance(to: end)
        await store.reaches { $0.subscriptionInfo?.subscription.effectiveUntil == end + Fixture.month }
        #expect(store.allowedProducts == ["film.noir"])
        darkroom.clock.advance(to: end + Fixture.month)
        await store.reaches { $0.allowedProducts.isEmpty }
        #expect(darkroom.server.calls.all.count == questions, "The server must not be asked.")
        await store.close()
    }

    @Test func `a logout removes the shared information, and a login writes it again`() async throws {
        sell(suite)
        let store = try await openStudio()
        try await until("the studio shares its subscription") {
            try reported("studio")?.isSubscriber(at: Fixture.start) == true
        }
        studio.setAnswer(Fixture.customer())
        try await store.logIn("bert")
        #expect(try reported("studio")?.subscriptions == [])
        studio.breakServer()
        try await store.logOut()
        #expect(try reported("studio") == nil)
        await store.close()
    }

    @Test func `an app that was killed before it shared its information shares it at the next launch`() async throws {
        sell(suite)
        try await openStudio().close()
        try shared.set(nil, for: "subscriptions.studio")
        studio.breakServer()
        let store = try await openStudio()
        await store.reaches { _ in true }
        await store.close()
        #expect(try reported("studio")?.subscriptions.map(\.subscription.productID) == [suite])
    }

    @Test func `the shared information contains no customer and nothing signed`() async throws {
        sell(suite)
        try await openStudio().close()
        let text = String(decoding: try #require(try shared.data(for: "subscriptions.studio")), as: UTF8.self)
        #expect(!text.contains("anna") && !text.contains("eyJ"))
        #expect(text.utf8.count < 1000)
    }

    @Test func `unreadable information of a sibling is an event, and the known information stays`() async throws {
        sell(suite)
        try await openStudio().close()
        let store = try await openDarkroom()
        try shared.set([0x7B], for: "subscriptions.studio")
        try await store.validateReceipt()
        #expect(store.subscriptionInfo?.isExpired == false)
        await store.close()
        let codes = await store.events.reduce(into: []) { $0.append($1.code) }
        #expect(codes.contains(.sharedUserInfoDamaged))
        let next = try await openDarkroom()
        #expect(next.subscriptionInfo == nil, "The known information is not stored for a later run.")
        await next.close()
    }

    @Test func `a store runs although its shared storage fails`() async throws {
        var configuration = configuration(of: "studio", in: studio)
        configuration.sharedStorage = LockedStorage()
        sell(suite)
        let store = try await studio.open(configuration)
        #expect(store.subscriptionInfo?.isExpired == false)
        await store.close()
        let events = await store.events.reduce(into: []) { $0.append($1) }
        #expect(events.contains { $0.code == .storageFailed && $0.sentence.contains("sibling apps") })
    }

    @Test func `siblings without a shared storage, and sharing without a bundle id, are missing settings`() {
        var configuration = configuration(of: "studio", in: studio)
        configuration.sharedStorage = nil
        #expect {
            try Store(configuration: configuration)
        } throws: { error in
            (error as? PurchaseError)?.code == .missingSetting && "\(error)".contains("sharedStorage")
        }
        configuration.sharedStorage = shared
        configuration.application = nil
        #expect {
            try Store(configuration: configuration)
        } throws: { error in
            (error as? PurchaseError)?.code == .missingSetting && "\(error)".contains("application")
        }
    }
}
