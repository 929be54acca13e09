import BaseTestSupport
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

/// Runs the code of the guide "Coming from SwiftyStoreKit or RevenueCat".
@Suite(.timeLimit(.minutes(2)))
struct ComingFromTests {
    private actor Screen {
        private(set) var notes: [String] = []
        func note(_ product: String) { notes.append(product) }
    }

    private struct Defaults {
        var hasMoved = false
    }

    @Test func `buying a product, checking access and observing transactions`() async throws {
        try await RealWorld.run { world in
            let screen = Screen()
            let store = try Store(
                configuration: world.configuration(network: DeviceNetwork(), storage: MemorySecureStorage()))
            let listening = Task {
                for await transaction in store.completedTransactions {
                    await screen.note(transaction.productID.rawValue)
                }
            }

            do {
                try await store.purchaseProduct("pro.weekly")
                try await store.acquireAllEnabledProducts()
            } catch let error as PurchaseError where error.code == .operationCancelled {
                // The customer cancelled: `paymentCancelled` or `userCancelled` before.
            } catch let error as PurchaseError where [.purchaseDeferred, .acknowledgementPending].contains(error.code) {
                // A parent has to approve the purchase, or your server could not be reached. The wait ends by itself, in this run or a later one:
                // `completedTransactions` and `snapshots` report the result.
            }

            let isPro = store.snapshot.features.contains { $0.name == "pro" && $0.isActive }
            let hasNoir = store.allowedProducts.contains("film.noir")
            #expect(hasNoir && !isPro, "Without a feature map a feature has the name of its product.")
            #expect(store.snapshot.features.contains { $0.name == "pro.weekly" && $0.isActive })

            try await world.simulator.buy(.init(productID: "pack"), for: "ada")
            try await until("the screen has the purchase") { await !screen.notes.isEmpty }
            #expect(await screen.notes == ["pack"])
            await store.close()
            await listening.value
        }
    }

    @Test func `a customer who bought with another library has all purchases after the first launch`() async throws {
        try await RealWorld.run { world in
            // Another library has finished the purchase, and this server does not know it.
            let bought = try await world.simulator.buy(.init(productID: "pack"), for: "ada")
            let old = try await world.simulator.connection(account: "ada")
            try await old.finish(bought.transactionID)
            await old.close()

            var configuration = world.configuration(network: DeviceNetwork(), storage: MemorySecureStorage())
            configuration.customer = nil
            let store = try Store(configuration: configuration)
            var defaults = Defaults()
            for _ in 1...2 {
                try await store.logIn("customer-1042")
                if !defaults.hasMoved {
                    try await store.refreshReceipt()
                    defaults.hasMoved = true
                }
            }
            #expect(store.customer == "customer-1042" && store.allowedProducts == ["pack"])
            await store.close()
        }
    }
}
