import Purchases
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

/// Purchases at a real simulator and a real server, over HTTP.
@Suite(.timeLimit(.minutes(2)))
struct RealPurchaseTests {
    private func device(_ world: RealWorld, _ body: (Store) async throws -> Void) async throws {
        let store = try Store(
            configuration: world.configuration(network: DeviceNetwork(), storage: MemorySecureStorage()))
        do {
            try await body(store)
        } catch {
            await store.close()
            throw error
        }
        await store.close()
    }

    @Test func `a bought product is restored on another device`() async throws {
        try await RealWorld.run { world in
            try await device(world) { store in
                try await store.purchaseProduct("pack")
                #expect(store.allowedProducts == ["pack"])
                try await world.settle(deviceIsOnline: true)
            }
            try await device(world) { store in
                let restored = try await store.restorePurchases()
                #expect(restored.restored == ["pack"])
                #expect(store.allowedProducts == ["pack"])
            }
        }
    }

    @Test func `a subscription acquires nothing by itself, and all enabled products on request`() async throws {
        try await RealWorld.run { world in
            try await device(world) { store in
                await #expect(throws: PurchaseError(.acquireAllRequestedForNonSubscriber, "")) {
                    try await store.acquireAllEnabledProducts()
                }
                try await store.purchaseProduct("pro.weekly")
                #expect(store.subscriptionInfo?.isExpired == false)
                #expect(store.allowedProducts == [])
                try await store.purchaseProduct("film.noir")
                #expect(store.allowedProducts == ["film.noir"])
                await #expect(throws: PurchaseError(.invalidProductForPurchasing, "")) {
                    try await store.purchaseProduct("hat")
                }
                try await store.acquireAllEnabledProducts()
                #expect(store.allowedProducts == ["film.noir", "film.warm"])
                let paid = try await world.simulator.transactions(of: "ada").map(\.productID)
                #expect(paid == ["pro.weekly"], "Only the subscription must be sold at the store.")
            }
        }
    }

    @Test func `enabled products are allowed until the subscription ends`() async throws {
        try await RealWorld.run { world in
            try await device(world) { store in
                try await store.purchaseProduct("pro.weekly")
                try await store.acquireAllEnabledProducts()
                _ = try await world.simulator.advance(.init(seconds: RealWorld.week + 1))
                try await world.settle(deviceIsOnline: true)
                try await store.validateReceipt()
                #expect(store.allowedProducts == ["film.noir", "film.warm"])
                try await world.simulator.cancel("pro.weekly", for: "ada")
                _ = try await world.simulator.advance(.init(seconds: RealWorld.week))
                #expect(store.allowedProducts == [])
                #expect(
                    store.acquiredProducts == ["film.noir", "film.warm"],
                    "The products must stay acquired for the next subscription.")
            }
        }
    }

    @Test func `consumables add to a credit that pays for items`() async throws {
        try await RealWorld.run { world in
            try await device(world) { store in
                try await store.purchaseConsumableProduct("coins", quantity: 3)
                #expect(try await store.credit("coins").balance == 30)
                #expect(try await store.creditPrices("coins", of: ["frame"]) == ["frame": 15])
                #expect(try await store.redeem(["a": "frame"], credit: "coins").balance == 15)
                #expect(try await store.redeem(["a": "frame", "b": "frame"], credit: "coins").balance == 0)
                await #expect(throws: PurchaseError(.insufficientCredit, "")) {
                    try await store.redeem(["c": "frame"], credit: "coins")
                }
                #expect(store.cachedCredit("coins")?.balance == 0)
                await #expect(throws: PurchaseError(.creditFailed, "")) { try await store.credit("gems") }
            }
        }
    }

    @Test func `a device whose clock is a year ahead keeps a subscription until its real end`()
        async throws
    {
        try await RealWorld.run { world in
            let clock = SettableClock(world.simulator.clock)
            clock.set(ahead: 365 * 86400)
            let disk = MemorySecureStorage()
            for launch in 0..<2 {
                let store = try Store(
                    configuration: world.configuration(network: DeviceNetwork(), storage: disk, clock: clock))
                if launch == 0 { try await store.purchaseProduct("pro.weekly") }
                try await store.validateReceipt()
                #expect(store.subscriptionInfo?.isExpired == false)
                if launch == 1 {
                    try await world.simulator.cancel("pro.weekly", for: "ada")
                    _ = try await world.simulator.advance(.init(seconds: RealWorld.week))
                    #expect(store.subscriptionInfo?.isExpired == true)
                }
                await store.close()
            }
        }
    }

    @Test func `a refund is reported without a request of the app`() async throws {
        try await RealWorld.run { world in
            try await device(world) { store in
                try await store.purchaseProduct("pack")
                let transaction = try #require(try await world.simulator.transactions(of: "ada").first)
                try await world.simulator.refund(transaction.transactionID)
                #expect(await store.reaches { $0.allowedProducts == [] } != nil)
            }
        }
    }
}
