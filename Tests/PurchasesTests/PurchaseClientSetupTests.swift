import BaseTestSupport
import Foundation
import Primitives
import Purchases
import Testing

@Suite(.timeLimit(.minutes(1))) struct PurchaseClientSetupTests {
    private let product = Product(productIdentifier: "pro")
    private let token = CancellationToken(pluginName: "a", rawValue: "1")

    @Test func `before setup operations throw, and a log-out does nothing`() async {
        let client = PurchaseClient()
        let expected = PurchaseError(.notSetUp)
        await #expect(throws: expected) { try await client.getPaidFeatures() }
        await #expect(throws: expected) { try await client.getPaidFeatures(.strict) }
        await #expect(throws: expected) { try await client.getFeatures() }
        await #expect(throws: expected) { try await client.getSubscriptions() }
        await #expect(throws: expected) { try await client.getProductsAndPricePoints(with: ["pro"]) }
        await #expect(throws: expected) { try await client.purchase(product) }
        await #expect(throws: expected) { try await client.restorePurchases() }
        await #expect(throws: expected) { try await client.cancelSubscription(with: token) }
        await #expect(throws: expected) { try await client.logIn(appUserId: .string("ada")) }
        await #expect(throws: expected) {
            try await client.getPromotionalOffer(for: ProductDiscount(), product: product)
        }
        await client.logOut()
    }

    @Test func `setup happens once, and the first plugins stay`() async throws {
        let (first, second) = (StubPlugin("first"), StubPlugin("second"))
        let client = try await PurchaseClient.with(first)
        await #expect(throws: PurchaseError(.alreadySetUp)) { try await client.setup(with: [second]) }
        _ = try await client.getPaidFeatures()
        #expect(first.calls == ["paidFeatures"])
        #expect(second.calls.isEmpty)
    }

    @Test func `one of many concurrent setups succeeds`() async throws {
        let client = PurchaseClient()
        let winners = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<50 {
                group.addTask {
                    do {
                        try await client.setup(with: [StubPlugin("\(number)")])
                        return true
                    } catch {
                        return false
                    }
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(winners == 1)
    }

    @Test func `without plugins answers are empty, and purchases, cancellations and offers are refused`() async throws {
        let client = try await PurchaseClient.with()
        #expect(try await client.getPaidFeatures() == PaidFeatures())
        #expect(try await client.getPaidFeatures(.strict) == PaidFeatures())
        #expect(try await client.getFeatures() == Features())
        #expect(try await client.getSubscriptions().isEmpty)
        #expect(try await client.getProductsAndPricePoints(with: ["pro"]).isEmpty)
        #expect(try await client.restorePurchases().nothingToRestore)
        let expected = PurchaseError(.noSuitablePlugin)
        await #expect(throws: expected) { try await client.purchase(product) }
        await #expect(throws: expected) { try await client.cancelSubscription(with: token) }
        await #expect(throws: expected) {
            try await client.getPromotionalOffer(for: ProductDiscount(), product: product)
        }
        #expect(try await client.logIn(appUserId: .string("ada")).isEmpty)
        #expect(client.userId == .string("ada"))
    }

    @Test func `a plugin only needs a name`() async throws {
        final class Bare: PurchasePlugin { let name = "bare" }
        let client = try await PurchaseClient.with(Bare(), user: .string("ada"))
        #expect(try await client.getPaidFeatures() == PaidFeatures())
        #expect(try await client.restorePurchases().nothingToRestore)
        await #expect(throws: PurchaseError(.noSuitablePlugin)) { try await client.purchase(product) }
        await client.logOut()
    }

    @Test func `a client and its plugins are released`() async throws {
        weak var releasedClient: PurchaseClient?
        weak var releasedPlugin: StubPlugin?
        do {
            let plugin = StubPlugin("a")
            let client = try await PurchaseClient.with(plugin, user: .string("ada"))
            _ = try await client.getPaidFeatures()
            (releasedClient, releasedPlugin) = (client, plugin)
            await client.close()
        }
        // An ended task can release its values a moment later.
        try await until("both are released") { releasedClient == nil && releasedPlugin == nil }
    }

    @Test func `the earlier names are typealiases, and plugin results convert both ways`() {
        #expect(PaltaPurchases.self == PurchaseClient.self)
        #expect(PBPurchasePlugin.self == RemotePurchasePlugin.self)
        let result = PurchasePluginResult<Int, any Error>(result: .success(3))
        #expect((try? result.result?.get()) == 3)
        #expect(PurchasePluginResult<Int, any Error>.notSupported.result == nil)
        #expect(throws: Refusal()) {
            try PurchasePluginResult<Int, any Error>(result: .failure(Refusal())).result?.get()
        }
    }
}
