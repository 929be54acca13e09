import BaseTestSupport
import Foundation
import Primitives
import Testing

@testable import Purchases

@Suite(.timeLimit(.minutes(1))) struct AppRequestsTests {
    private let product = Product(productIdentifier: "pro")
    private let token = CancellationToken(pluginName: "web", rawValue: "1")

    /// Returns a plugin that cancels subscriptions on a page of the app.
    private func cancellingOnAPage() -> StubPlugin {
        let plugin = StubPlugin("web")
        plugin.change { [weak plugin] in
            $0.cancel = { [weak plugin] _ in
                await PurchasePluginResult {
                    try await plugin?.appRequests?.open(URL(fileURLWithPath: "/confirm"))
                    plugin?.appRequests?.invalidateCaches()
                }
            }
        }
        return plugin
    }

    @Test func `a page is opened by the app, and then the plugin continues`() async throws {
        let (plugin, other) = (cancellingOnAPage(), StubPlugin("other"))
        let invalidated = Gate()
        invalidated.open()
        other.change { $0.onBroadcast = { await invalidated.pass() } }
        let client = try await PurchaseClient.with(plugin, other)
        var urls = client.urlsToOpen.makeAsyncIterator()
        let token = token
        let caller = Task { try await client.cancelSubscription(with: token) }
        let page = await urls.next()
        #expect(page?.url.path == "/confirm")
        page?.opened()
        page?.failed(Refusal(9))
        try await caller.value
        await invalidated.arrivals()
        #expect(other.calls == ["invalidate"])
        await client.close()
    }

    @Test func `a page that the app could not open is an error of the plugin`() async throws {
        let client = try await PurchaseClient.with(cancellingOnAPage())
        var urls = client.urlsToOpen.makeAsyncIterator()
        let token = token
        let caller = Task { try await client.cancelSubscription(with: token) }
        await urls.next()?.failed(Refusal(4))
        await #expect(throws: Refusal(4)) { try await caller.value }
    }

    @Test func `opening a page fails at once if the app does not read the URLs`() async throws {
        let client = try await PurchaseClient.with(cancellingOnAPage())
        let token = token
        await #expect(throws: PurchaseError(.unsupported)) { try await client.cancelSubscription(with: token) }
        var urls = client.urlsToOpen.makeAsyncIterator()
        let caller = Task { try await client.cancelSubscription(with: token) }
        _ = await urls.next()  // and releases it
        await #expect(throws: PurchaseError(.unsupported)) { try await caller.value }
    }

    @Test func `a plugin's deadline does not run while the customer is on a page, and begins anew after it`()
        async throws
    {
        let (clock, gate) = (ManualClock(), Gate())
        let plugin = StubPlugin("web")
        plugin.change { [weak plugin] in
            $0.cancel = { [weak plugin] _ in
                await PurchasePluginResult {
                    try await plugin?.appRequests?.open(URL(fileURLWithPath: "/confirm"))
                    await gate.pass()
                }
            }
        }
        let client = PurchaseClient(
            configuration: .init(pluginDeadline: .seconds(30)) {
                try await clock.sleep(until: clock.now().addingTimeInterval(TimeInterval($0.components.seconds)))
            })
        try await client.setup(with: [plugin])
        var urls = client.urlsToOpen.makeAsyncIterator()
        let token = token
        let caller = Task { try await client.cancelSubscription(with: token) }
        let page = await urls.next()
        for _ in 0..<3 {
            await clock.waiters(atLeast: 1)
            clock.advance(by: 30)
        }
        await clock.waiters(atLeast: 1)
        page?.opened()
        await gate.arrivals()
        clock.advance(by: 30)
        await clock.waiters(atLeast: 1)
        clock.advance(by: 30)
        await #expect(throws: PurchaseError(.timedOut)) { try await caller.value }
        gate.open()
    }

    @Test func `a promoted purchase is made once, when the app allows it`() async throws {
        let seller = StubPlugin.sound("seller")
        let client = try await PurchaseClient.with(StubPlugin.sound("web"), seller)
        seller.announce(product)
        var promoted = client.promotedPurchases.makeAsyncIterator()
        let offered = try #require(await promoted.next())
        #expect(offered.product == product)
        #expect(seller.calls.isEmpty, "nothing is bought before the app allows it")
        let names = try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<5 { group.addTask { try await offered.purchase().paidFeatures.names } }
            return try await group.reduce(into: Set<[String]>()) { $0.insert($1) }
        }
        #expect(names == [["seller", "both", "web"]])
        #expect(seller.calls == ["purchase"])
        var updates = client.paidFeaturesUpdates.makeAsyncIterator()
        #expect(Set(await updates.next()?.names ?? []) == ["seller", "both", "web"])
    }

    @Test func `a promoted purchase waits for a later reader`() async throws {
        let seller = StubPlugin.sound("seller")
        let client = try await PurchaseClient.with(seller)
        for number in 0..<3 { seller.announce(Product(productIdentifier: "pro\(number)")) }
        var promoted = client.promotedPurchases.makeAsyncIterator()
        for number in 0..<3 { #expect(await promoted.next()?.product.productIdentifier == "pro\(number)") }
    }

    @Test func `a promoted purchase that its plugin cannot make fails, and no other plugin is called`() async throws {
        let (announcer, other) = (StubPlugin("announcer"), StubPlugin.sound("other"))
        let client = try await PurchaseClient.with(announcer, other)
        announcer.announce(product)
        var promoted = client.promotedPurchases.makeAsyncIterator()
        let offered = try #require(await promoted.next())
        await #expect(throws: PurchaseError(.noSuitablePlugin)) { try await offered.purchase() }
        #expect(other.calls.isEmpty)
    }

    @Test func `closing ends the streams`() async throws {
        let client = try await PurchaseClient.with(StubPlugin("a"))
        var (promoted, urls) = (client.promotedPurchases.makeAsyncIterator(), client.urlsToOpen.makeAsyncIterator())
        var diagnostics = client.diagnostics.makeAsyncIterator()
        await client.close()
        #expect(await promoted.next() == nil)
        #expect(await urls.next() == nil)
        #expect(await diagnostics.next() == nil)
    }
}
