import BaseTestSupport
import Foundation
import Primitives
import Purchases
import Testing

@Suite(.timeLimit(.minutes(1))) struct PurchaseClientPurchaseTests {
    private let product = Product(productIdentifier: "pro")

    private static func selling(_ features: PaidFeatures)
        -> @Sendable (Product) async -> PurchasePluginResult<
            SuccessfulPurchase, any Error
        >
    {
        { _ in .success(SuccessfulPurchase(paidFeatures: features)) }
    }

    @Test func `the first plugin that handles a purchase decides its result`() async throws {
        let before = StubPlugin("before")
        let seller = StubPlugin("seller") { $0.purchase = Self.selling(.of("pro")) }
        let after = StubPlugin("after") { $0.purchase = Self.selling(.of("wrong")) }
        let client = try await PurchaseClient.with(before, seller, after)
        let purchase = try await client.purchase(product)
        #expect(purchase.paidFeatures == .of("pro"))
        #expect(before.calls == ["purchase", "invalidate", "paidFeatures"])
        #expect(seller.calls == ["purchase"])
        #expect(after.calls == ["invalidate", "paidFeatures"])
    }

    @Test func `a failure goes to the caller, and no further plugin is called`() async throws {
        let after = StubPlugin("after") { $0.purchase = Self.selling(.of("pro")) }
        let client = try await PurchaseClient.with(
            StubPlugin("before"), StubPlugin("failing") { $0.purchase = { _ in .failure(Refusal(3)) } }, after)
        await #expect(throws: Refusal(3)) { try await client.purchase(product) }
        #expect(after.calls.isEmpty)
    }

    @Test func `a purchase that no plugin supports throws an error`() async throws {
        let plugins = [StubPlugin("a"), StubPlugin("b")]
        let client = try await PurchaseClient.with(plugins[0], plugins[1])
        await #expect(throws: PurchaseError(.noSuitablePlugin)) { try await client.purchase(product) }
        #expect(plugins.map(\.calls) == [["purchase"], ["purchase"]])
    }

    /// A plugin that sells any quantity.
    private final class Wholesaler: PurchasePlugin {
        let name = "wholesale"
        let quantities = Locked<[Int]>([])

        func purchase(
            _ product: Product, quantity: Int
        ) async -> PurchasePluginResult<SuccessfulPurchase, any Error> {
            quantities.withLock { $0.append(quantity) }
            return .success(SuccessfulPurchase(paidFeatures: .of("wholesale")))
        }
    }

    @Test func `a quantity is bought from the first plugin that supports it`() async throws {
        let retailer = StubPlugin("retailer") { $0.purchase = Self.selling(.of("retail")) }
        let wholesaler = Wholesaler()
        let client = try await PurchaseClient.with(retailer, wholesaler)
        #expect(try await client.purchase(product, quantity: 3).paidFeatures == .of("wholesale"))
        #expect(retailer.calls == ["invalidate", "paidFeatures"])
        #expect(try await client.purchase(product, quantity: 1).paidFeatures == .of("retail"))
        #expect(wholesaler.quantities.withLock { $0 } == [3])
        await #expect(throws: PurchaseError(.noSuitablePlugin)) {
            try await PurchaseClient.with(retailer).purchase(product, quantity: 2)
        }
    }

    @Test func `a plugin that is listed twice is called twice and no more`() async throws {
        let plugin = StubPlugin("a")
        let client = try await PurchaseClient.with(plugin, plugin)
        await #expect(throws: PurchaseError(.noSuitablePlugin)) { try await client.purchase(product) }
        #expect(plugin.calls == ["purchase", "purchase"])
    }

    @Test func `a purchase is merged with the features of the other plugins`() async throws {
        let client = try await PurchaseClient.with(
            StubPlugin("seller") {
                $0.purchase = Self.selling(.of("pro"))
                $0.paidFeatures = { .of("not asked") }
            },
            StubPlugin("web") { $0.paidFeatures = { .of("export") } })
        #expect(try await client.purchase(product).paidFeatures.names == ["pro", "export"])
    }

    @Test func `a purchase succeeds even if the other plugins fail`() async throws {
        let client = try await PurchaseClient.with(
            StubPlugin("broken") { $0.paidFeatures = { throw Refusal() } },
            StubPlugin("seller") { $0.purchase = Self.selling(.of("pro")) })
        #expect(try await client.purchase(product).paidFeatures.names == ["pro"])
    }

    @Test func `a purchase succeeds even if its caller is cancelled afterwards`() async throws {
        let gate = Gate()
        let client = try await PurchaseClient.with(
            StubPlugin("slow") {
                $0.paidFeatures = {
                    await gate.pass()
                    return .of("export")
                }
            }, StubPlugin("seller") { $0.purchase = Self.selling(.of("pro")) })
        let product = product
        let caller = Task { try await client.purchase(product) }
        await gate.arrivals()
        caller.cancel()
        #expect(try await caller.value.paidFeatures.names == ["pro"])
        gate.open()
    }

    @Test func `the seller's features count even when it cannot be reached after the purchase`() async throws {
        let seller = StubPlugin("seller") {
            $0.purchase = Self.selling(.of("pro"))
            $0.paidFeatures = { .of("export") }
        }
        let client = try await PurchaseClient.with(seller)
        _ = try await client.getPaidFeatures()
        _ = try await client.purchase(product)
        seller.change { $0.paidFeatures = { throw Refusal() } }
        #expect(Set(try await client.getPaidFeatures().names) == ["pro", "export"])
    }

    @Test func `a purchase has no deadline`() async throws {
        let clock = ManualClock()
        let gate = Gate()
        let client = try await PurchaseClient.with(
            StubPlugin("seller") {
                $0.purchase = { product in
                    await gate.pass()
                    return await Self.selling(.of("pro"))(product)
                }
            },
            configuration: .init {
                try await clock.sleep(until: clock.now().addingTimeInterval(TimeInterval($0.components.seconds)))
            })
        async let purchase = client.purchase(product)
        await gate.arrivals()
        clock.advance(by: 86_400)
        gate.open()
        #expect(try await purchase.paidFeatures.names == ["pro"])
    }

    @Test func `a cancelled purchase ends for its caller, and the plugin is cancelled too`() async throws {
        let cancelled = AsyncStream.makeStream(of: Bool.self)
        let started = Gate()
        let client = try await PurchaseClient.with(
            StubPlugin("seller") {
                $0.purchase = { _ in
                    await started.pass()
                    _ = try? await untilCancelled()
                    cancelled.continuation.yield(Task.isCancelled)
                    return .failure(CancellationError())
                }
            })
        started.open()
        let product = product
        let caller = Task { try await client.purchase(product) }
        await started.arrivals()
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        #expect(await cancelled.stream.first { _ in true } == true)
    }

    @Test func `a caller that is already cancelled buys nothing`() async throws {
        let seller = StubPlugin("seller") { $0.purchase = Self.selling(.of("pro")) }
        let client = try await PurchaseClient.with(seller)
        let (product, gate) = (product, Gate())
        let caller = Task {
            await gate.pass()
            return try await client.purchase(product)
        }
        caller.cancel()
        gate.open()
        await #expect(throws: CancellationError.self) { try await caller.value }
        #expect(seller.calls.isEmpty)
    }

    @Test func `a cancellation token reaches the plugin it names`() async throws {
        let token = CancellationToken(pluginName: "web", rawValue: "sub-1")
        let web = StubPlugin("web") {
            $0.cancel = { $0.pluginName == "web" ? .success(()) : .notSupported }
        }
        let client = try await PurchaseClient.with(StubPlugin("store"), web)
        try await client.cancelSubscription(with: token)
        await #expect(throws: PurchaseError(.noSuitablePlugin)) {
            try await client.cancelSubscription(with: CancellationToken(pluginName: "x", rawValue: "sub-1"))
        }
    }

    @Test func `an offer comes from the plugin that can sign it`() async throws {
        let offer = PromoOffer(productDiscount: ProductDiscount(identifier: "half"), identifier: "half")
        let failing = StubPlugin("failing") { $0.offer = { .failure(Refusal(1)) } }
        let client = try await PurchaseClient.with(
            StubPlugin("none"), StubPlugin("signer") { $0.offer = { .success(offer) } }, failing)
        #expect(try await client.getPromotionalOffer(for: offer.productDiscount, product: product) == offer)
        #expect(failing.calls.isEmpty)
    }
}
