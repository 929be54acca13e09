import BaseTestSupport
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

/// Promoted purchases, offer codes and messages of the App Store, at a real simulator and a real server over HTTP.
@Suite(.timeLimit(.minutes(2)))
struct RealStorePagesTests {
    private func device(
        _ world: RealWorld, _ answer: PromotedPurchaseAnswer? = nil, _ body: (Store) async throws -> Void
    ) async throws {
        var configuration = world.configuration(network: DeviceNetwork(), storage: MemorySecureStorage())
        if let answer { configuration.promotedPurchases = { _, _, _ in answer } }
        let store = try Store(configuration: configuration)
        do {
            try await body(store)
        } catch {
            await store.close()
            throw error
        }
        await store.close()
    }

    @Test func `a promoted purchase is bought at the next launch of the app`() async throws {
        try await RealWorld.run { world in
            try await world.simulator.promote(.init(productID: "pack"), for: "ada")
            try await device(world) { store in
                #expect(await store.reaches { $0.allowedProducts == ["pack"] } != nil)
            }
            #expect(try await world.simulator.transactions(of: "ada").map(\.productID) == ["pack"])
        }
    }

    @Test func `a postponed purchase is bought when the app continues it`() async throws {
        try await RealWorld.run { world in
            try await device(world, .postpone) { store in
                try await world.simulator.promote(.init(productID: "pack"), for: "ada")
                try await until("the purchase is postponed") { !store.postponedPurchases.isEmpty }
                #expect(
                    try await world.simulator.transactions(of: "ada").isEmpty, "A postponed purchase must not be sold.")
                try await store.continuePurchase("pack")
                #expect(store.allowedProducts == ["pack"])
            }
        }
    }

    @Test func `an offer code gives its subscription to the current customer`() async throws {
        try await RealWorld.run { world in
            try await device(world) { store in
                await #expect(throws: PurchaseError(.codeRedemptionFailed, "")) {
                    try await store.redeemOfferCode("WINTER")
                }
                try await store.redeemOfferCode("SPRING")
                let snapshot = await store.reaches { $0.subscriptionInfo?.isExpired == false }
                #expect(snapshot?.subscriptionInfo?.productID == "pro.weekly")
                try await world.settle(deviceIsOnline: true)
            }
        }
    }

    @Test func `a price increase has a message until the customer agrees`() async throws {
        try await RealWorld.run { world in
            try await device(world) { store in
                try await store.purchaseProduct("pro.weekly")
                _ = try await world.simulator.increasePrice(of: "pro.weekly", .init(price: "1.99"))
                var open: [StoreMessage] = []
                var messages = store.messages.makeAsyncIterator()
                while open.isEmpty { open = try #require(await messages.next()) }
                #expect(open.map(\.reason) == [.priceIncreaseConsent] && open.first?.productID == "pro.weekly")
                let message = try #require(open.first?.id)
                await #expect(throws: PurchaseError(.messageFailed, "")) { try await store.answer("9", with: .accept) }
                try await store.answer(message, with: .accept)
                while !open.isEmpty { open = try #require(await messages.next()) }
            }
        }
    }
}
