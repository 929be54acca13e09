import Foundation
import Primitives
import Testing

@testable import Purchases

@Suite(.timeLimit(.minutes(1))) struct CompletionTests {
    private let product = PerformedOperation.product

    /// Returns the result of a method with a completion handler.
    private func answer<Value: Sendable>(
        _ ask: (@escaping PurchaseClient.Completion<Value>) -> Task<Void, Never>
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            _ = ask { continuation.resume(with: $0) }
        }
    }

    @Test func `each method with a completion handler calls its operation`() async throws {
        let client = PurchaseClient(configuration: .patient)
        let plugin = StubPlugin.sound("a")
        try await answer { client.setup(with: [plugin], completion: $0) }
        try await answer { client.logIn(appUserId: .string("ada"), completion: $0) }
        #expect(try await answer { client.getPaidFeatures(completion: $0) } == .of("a", "both"))
        #expect(try await answer { client.getFeatures(completion: $0) }.features.count == 2)
        #expect(try await answer { client.getSubscriptions(completion: $0) }.count == 2)
        #expect(try await answer { client.getProductsAndPricePoints(with: ["a"], completion: $0) }.count == 2)
        #expect(try await answer { client.getWebPricePoints(with: ["a"], completion: $0) }.count == 2)
        #expect(try await answer { client.restorePurchases(completion: $0) }.restored == ["a", "both"])
        #expect(try await answer { client.purchase(product, completion: $0) }.paidFeatures.names == ["a", "both"])
        let offer = try await answer {
            client.getPromotionalOffer(for: ProductDiscount(), product: product, completion: $0)
        }
        #expect(offer.identifier == "a")
        let token = CancellationToken(pluginName: "a", rawValue: "1")
        try await answer { client.cancelSubscription(with: token, completion: $0) }
        try await answer { client.sendRestoreLink(to: "ada@example.com", completion: $0) }
        try await answer { client.presentCodeRedemptionUI(completion: $0) }
        try await answer { client.logOut(completion: $0) }
        #expect(
            plugin.calls == [
                "logIn ada", "paidFeatures", "features", "subscriptions", "products", "pricePoints", "restore",
                "purchase", "offer", "cancel", "restoreLink", "redeem", "logOut",
            ])
    }

    @Test func `the documented call shows what was paid for`() async throws {
        let client = try await PurchaseClient.with(StubPlugin.sound("a"))
        let shown = AsyncStream.makeStream(of: PaidFeatures.self)
        @Sendable func show(_ features: PaidFeatures) { shown.continuation.yield(features) }
        client.getPaidFeatures { result in
            if case .success(let features) = result { show(features) }
        }
        #expect(await shown.stream.first { _ in true }?.names == ["a", "both"])
    }

    @Test func `an error reaches the handler`() async throws {
        let client = PurchaseClient()
        await #expect(throws: PurchaseError(.notSetUp)) {
            try await answer { client.getPaidFeatures(completion: $0) }
        }
    }

    @Test func `the handler of a cancelled task is called once, with CancellationError`() async throws {
        let (gate, calls) = (Gate(), Locked<[Bool]>([]))
        let client = try await PurchaseClient.with(StubPlugin.sound("a") { await gate.pass() })
        let task = client.getPaidFeatures { result in
            calls.withLock { $0.append((try? result.get()) == nil) }
        }
        await gate.arrivals()
        task.cancel()
        await task.value
        gate.open()
        #expect(calls.withLock { $0 } == [true])
    }

    @Test func `a completion handler is called by the function that the app configured`() async throws {
        let handedOver = Locked<[@Sendable () -> Void]>([])
        var configuration = PurchaseClient.Configuration.patient
        configuration.callBack = { handler in handedOver.withLock { $0.append(handler) } }
        let (client, called) = (PurchaseClient(configuration: configuration), Locked(0))
        await client.getPaidFeatures { _ in called.withLock { $0 += 1 } }.value
        #expect(called.withLock { $0 } == 0)
        for handler in handedOver.withLock({ $0 }) { handler() }
        #expect(called.withLock { $0 } == 1)
    }
}
