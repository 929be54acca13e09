import Foundation
import Primitives
import Testing

@testable import Purchases

/// The cases of the earlier system Palta: operations of one plugin, reads from all plugins, and broadcasts.
@Suite(.timeLimit(.minutes(1))) struct PaltaCasesTests {
    /// An operation of one plugin, with its call.
    struct Chain: Sendable {
        let performed: PerformedOperation
        let call: String

        static let all = PerformedOperation.all.filter { $0.operation.rule.called == .inOrder }.map { performed in
            let calls: [PurchaseOperation: String] = [
                .getPromotionalOffer: "offer", .purchase: "purchase", .cancelSubscription: "cancel",
                .sendRestoreLink: "restoreLink", .presentCodeRedemptionUI: "redeem",
            ]
            return Chain(performed: performed, call: calls[performed.operation] ?? "")
        }
    }

    private func callCounts(_ chain: Chain, _ plugins: [StubPlugin]) -> [Int] {
        plugins.map { $0.calls.count { $0 == chain.call } }
    }

    @Test(arguments: Chain.all.indices) func `the first success ends the search`(index: Int) async throws {
        let (chain, plugins) = (Chain.all[index], [StubPlugin.sound("a"), .sound("b"), .sound("c")])
        let client = try await PurchaseClient.with(plugins[0], plugins[1], plugins[2])
        _ = try await chain.performed.perform(client, plugins)
        #expect(callCounts(chain, plugins) == [1, 0, 0])
    }

    @Test(arguments: Chain.all.indices)
    func `a failure also ends the search, except for offer codes`(index: Int) async throws {
        let chain = Chain.all[index]
        let plugins = [StubPlugin("a"), .failing("b", with: Refusal(2)), .failing("c", with: Refusal(3))]
        let client = try await PurchaseClient.with(plugins[0], plugins[1], plugins[2])
        await #expect(throws: Refusal(2)) { try await chain.performed.perform(client, plugins) }
        #expect(callCounts(chain, plugins) == [1, 1, chain.call == "redeem" ? 1 : 0])
    }

    @Test(arguments: Chain.all.indices) func `the last plugin can handle the operation`(index: Int) async throws {
        let (chain, plugins) = (Chain.all[index], [StubPlugin("a"), StubPlugin("b"), .sound("c")])
        let client = try await PurchaseClient.with(plugins[0], plugins[1], plugins[2])
        _ = try await chain.performed.perform(client, plugins)
        #expect(callCounts(chain, plugins) == [1, 1, 1])
    }

    @Test func `a log-in that all plugins accept sets the user`() async throws {
        let plugins = [StubPlugin("a"), StubPlugin("b")]
        let client = try await PurchaseClient.with(plugins[0], plugins[1])
        try await client.logIn(appUserId: .string("ada"))
        #expect(client.userId == .string("ada"))
        #expect(plugins.map(\.calls) == [["logIn ada"], ["logIn ada"]])
        await client.logOut()
        #expect(client.userId == nil)
        #expect(plugins.map(\.calls) == [["logIn ada", "logOut"], ["logIn ada", "logOut"]])
    }

    @Test func `a log-in that one plugin rejects logs all plugins out`() async throws {
        let plugins = [StubPlugin("a"), StubPlugin("b") { $0.logIn = { _ in throw Refusal(1) } }]
        let client = try await PurchaseClient.with(plugins[0], plugins[1])
        await #expect(throws: Refusal(1)) { try await client.logIn(appUserId: .string("ada")) }
        #expect(client.userId == nil)
        #expect(plugins.map(\.calls) == [["logIn ada", "logOut"], ["logIn ada", "logOut"]])
    }

    @Test func `attributes and device identifiers reach every plugin`() async throws {
        let plugins = [StubPlugin("a"), StubPlugin("b")]
        let client = try await PurchaseClient.with(plugins[0], plugins[1])
        try await client.setAppsflyerID("af-1")
        try await client.setAppsflyerAttributes(["campaign": "spring"])
        try await client.setAttributes([.appsflyerID: nil])
        try await client.collectDeviceIdentifiers()
        await client.invalidatePaidFeaturesCache()
        let calls = [
            "attributes appsflyerID=af-1", "attributes campaign=spring", "attributes appsflyerID=nil", "collect",
            "invalidate",
        ]
        #expect(plugins.map(\.calls) == [calls, calls])
    }

    @Test func `a restore link is sent to the given address`() async throws {
        let addresses = Locked<[String]>([])
        let plugin = StubPlugin("web") {
            $0.restoreLink = { address in
                addresses.withLock { $0.append(address) }
                return .success(())
            }
        }
        try await PurchaseClient.with(plugin).sendRestoreLink(to: "ada@example.com")
        #expect(addresses.withLock { $0 } == ["ada@example.com"])
    }

    @Test func `a subscription that two plugins report counts once`() async throws {
        let start = Date(timeIntervalSince1970: 0)
        @Sendable func reported(_ product: String, _ origin: Subscription.Origin = .apple) -> Subscription {
            Subscription(
                productIdentifier: product, startDate: start, endDate: start, type: origin, originalTransactionID: "1")
        }
        let first = StubPlugin("a") { $0.subscriptions = { [reported("as a says")] } }
        let second = StubPlugin("b") { $0.subscriptions = { [reported("as b says"), reported("other", .web)] } }
        let client = try await PurchaseClient.with(first, second)
        #expect(try await client.getSubscriptions().map(\.productIdentifier) == ["as a says", "other"])
        let collected = try await client.collectSubscriptions()
        #expect(collected.isComplete && collected.reports.map(\.pluginName) == ["a", "b"])
    }

    @Test func `the method's earlier name returns the same products`() async throws {
        let client = try await PurchaseClient.with(StubPlugin.sound("a"))
        let products = try await client.getProductsAndPricePoints(with: ["a"])
        #expect(try await client.getProducts(with: ["a"]) == products)
        let ids: [ProductID] = ["a"]
        #expect(try await client.getProductsAndPricePoints(with: ids) == products)
        #expect(try await client.getProductsAndPricePoints(with: Set(ids), .bestEffort) == products)
    }
}
