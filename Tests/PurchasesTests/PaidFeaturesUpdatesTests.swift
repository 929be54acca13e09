import BaseTestSupport
import Foundation
import Primitives
import Purchases
import Testing

@Suite(.timeLimit(.minutes(1))) struct PaidFeaturesUpdatesTests {
    private let ada = UserId.string("ada")

    @Test func `a reader gets the known value and then every change`() async throws {
        let plugin = StubPlugin("a") { $0.paidFeatures = { .of("pro") } }
        let other = StubPlugin("b") { $0.paidFeatures = { .of("export") } }
        let client = try await PurchaseClient.with(plugin, other)
        _ = try await client.getPaidFeatures()
        var updates = client.paidFeaturesUpdates.makeAsyncIterator()
        #expect(await updates.next()?.names == ["pro", "export"])
        plugin.send(.of("pro", "more"))
        #expect(await updates.next()?.names == ["pro", "more", "export"])
        other.send(PaidFeatures())
        #expect(await updates.next()?.names == ["pro", "more"])
        await client.close()
        #expect(await updates.next() == nil)
    }

    @Test func `an unchanged value is not sent again`() async throws {
        let plugin = StubPlugin("a") { $0.paidFeatures = { .of("pro") } }
        let client = try await PurchaseClient.with(plugin)
        var updates = client.paidFeaturesUpdates.makeAsyncIterator()
        _ = try await client.getPaidFeatures()
        #expect(await updates.next()?.names == ["pro"])
        _ = try await client.getPaidFeatures()
        _ = try await client.getPaidFeatures(.strict)
        plugin.change { $0.paidFeatures = { .of("export") } }
        _ = try await client.getPaidFeatures()
        #expect(await updates.next()?.names == ["export"])
        await client.close()
    }

    @Test func `a purchase is sent before the other plugins have answered`() async throws {
        let gate = Gate()
        let client = try await PurchaseClient.with(
            StubPlugin("seller") { $0.purchase = { _ in .success(SuccessfulPurchase(paidFeatures: .of("pro"))) } },
            StubPlugin("slow") {
                $0.paidFeatures = {
                    await gate.pass()
                    return .of("export")
                }
            })
        var updates = client.paidFeaturesUpdates.makeAsyncIterator()
        async let purchase = client.purchase(Product(productIdentifier: "pro"))
        #expect(await updates.next()?.names == ["pro"])
        gate.open()
        #expect(try await purchase.paidFeatures.names == ["pro", "export"])
        #expect(await updates.next()?.names == ["pro", "export"])
        await client.close()
    }

    @Test func `an older answer does not replace a later update of the plugin`() async throws {
        let gate = Gate()
        let plugin = StubPlugin("a") {
            $0.paidFeatures = {
                await gate.pass()
                return .of("old")
            }
        }
        let client = try await PurchaseClient.with(plugin)
        var updates = client.paidFeaturesUpdates.makeAsyncIterator()
        let reader = Task { try await client.getPaidFeatures() }
        await gate.arrivals()
        plugin.send(.of("new"))
        #expect(await updates.next()?.names == ["new"])
        gate.open()
        #expect(try await reader.value.names == ["old"])
        plugin.change { $0.paidFeatures = { throw Refusal() } }
        #expect(try await client.getPaidFeatures().names == ["new"])
        await client.close()
    }

    @Test func `a user who logs out has no features`() async throws {
        let plugin = StubPlugin("a") { $0.paidFeatures = { .of("pro") } }
        let client = try await PurchaseClient.with(plugin, user: ada)
        _ = try await client.getPaidFeatures()
        var updates = client.paidFeaturesUpdates.makeAsyncIterator()
        #expect(await updates.next()?.names == ["pro"])
        await client.logOut()
        #expect(await updates.next() == PaidFeatures())
        await client.close()
    }

    @Test func `an update during a log-in belongs to the new user`() async throws {
        let client = PurchaseClient(configuration: .patient)
        var updates = client.paidFeaturesUpdates.makeAsyncIterator()
        let logIn = Gate()
        let plugin = StubPlugin("a") { $0.logIn = { _ in await logIn.pass() } }
        try await client.setup(with: [plugin])
        let ada = ada
        let caller = Task { try await client.logIn(appUserId: ada) }
        await logIn.arrivals()
        plugin.send(.of("pro"))
        #expect(await updates.next()?.names == ["pro"])
        logIn.open()
        _ = try await caller.value
        plugin.change { $0.paidFeatures = { throw Refusal() } }
        #expect(try await client.getPaidFeatures().names == ["pro"])
        await client.close()
    }

    @Test func `releasing a client ends its stream of updates`() async throws {
        var client: PurchaseClient? = try await PurchaseClient.with(StubPlugin("a"))
        var updates = client?.paidFeaturesUpdates.makeAsyncIterator()
        client = nil
        #expect(await updates?.next() == nil)
    }
}
