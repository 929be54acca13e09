import BaseTestSupport
import Observation
import Purchases
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

/// Runs the examples of Documentation/InAppStore.md.
@Suite(.timeLimit(.minutes(2)))
struct ChapterTests {
    private actor Screen {
        private(set) var shown: [Set<String>] = []
        private(set) var isReady = false
        func show(_ products: Set<String>) { shown.append(products) }
        func confirms(_ product: Product) -> Bool { product.price > 0 }
    }

    @Test func `buying a product, and following the allowed products`() async throws {
        try await RealWorld.run { world in
            let screen = Screen()
            let configuration = world.configuration(network: DeviceNetwork(), storage: MemorySecureStorage())
            let store = try Store(configuration: configuration)
            let following = Task {
                for await snapshot in store.snapshots {
                    await screen.show(snapshot.allowedProducts)
                }
            }

            do {
                try await store.purchaseProduct("pro.weekly")
                try await store.acquireAllEnabledProducts()
            } catch let error as PurchaseError where error.code == .operationCancelled {
                // The customer changed their mind.
            } catch let error as PurchaseError where error.code == .acknowledgementPending {
                // Paid. The store presents the purchase to the server as soon as it is reachable.
            }

            #expect(store.allowedProducts == ["film.noir", "film.warm"])
            try await until("the screen shows the allowed products") {
                await screen.shown.last == store.allowedProducts
            }
            await store.close()
            await following.value
        }
    }

    @Test func `observing without a user interface`() async throws {
        try await RealWorld.run { world in
            let store = try Store(
                configuration: world.configuration(network: DeviceNetwork(), storage: MemorySecureStorage()))
            let changed = Gate()
            withObservationTracking {
                _ = store.allowedProducts
            } onChange: {
                changed.open()
            }
            try await store.purchaseProduct("pack")
            try await changed.pass()
            await store.close()
        }
    }

    @Test func `a purchase begun in the App Store waits until the app is ready`() async throws {
        try await RealWorld.run { world in
            let screen = Screen()
            var configuration = world.configuration(network: DeviceNetwork(), storage: MemorySecureStorage())
            configuration.promotedPurchases = { promoted, product, snapshot in
                guard await screen.isReady else { return .postpone }
                return .unlessOwned(promoted, of: product, knowing: snapshot)
            }
            let store = try Store(configuration: configuration)
            try await world.simulator.promote(.init(productID: "pack"), for: "ada")
            try await until("the purchase is postponed") { !store.postponedPurchases.isEmpty }
            for promoted in store.postponedPurchases {
                try await store.continuePurchase(promoted.productID.rawValue)
            }
            #expect(store.allowedProducts == ["pack"])
            await store.close()
        }
    }

    @Test func `the purchase client offers a postponed purchase`() async throws {
        try await RealWorld.run { world in
            let screen = Screen()
            var configuration = world.configuration(network: DeviceNetwork(), storage: MemorySecureStorage())
            configuration.promotedPurchases = { promoted, product, snapshot in
                let answer = PromotedPurchaseAnswer.unlessOwned(promoted, of: product, knowing: snapshot)
                return answer == .refuse ? .refuse : .postpone
            }
            let store = try Store(configuration: configuration)
            let client = PurchaseClient()
            try await client.setup(with: [InAppStorePurchasePlugin(store: store)])
            let buying = Task {
                for await begun in client.promotedPurchases {
                    if await screen.confirms(begun.product) { _ = try await begun.purchase() }
                }
            }
            try await world.simulator.promote(.init(productID: "pack"), for: "ada")
            await store.reaches { $0.allowedProducts == ["pack"] }
            var events = store.events.makeAsyncIterator()
            try await world.simulator.promote(.init(productID: "pack"), for: "ada")
            while let event = await events.next(), event.code != .promotedPurchaseRefused {}
            await client.close()
            try await buying.value
            #expect(try await world.simulator.transactions(of: "ada").map(\.productID) == ["pack"])
            await store.close()
        }
    }

    @Test func `a message of the App Store is shown`() async throws {
        try await RealWorld.run { world in
            let store = try Store(
                configuration: world.configuration(network: DeviceNetwork(), storage: MemorySecureStorage()))
            try await store.purchaseProduct("pro.weekly")
            try await world.simulator.failBilling("pro.weekly", for: "ada")
            _ = try await world.simulator.advance(.init(seconds: RealWorld.week))
            let answering = Task {
                for await messages in store.messages {
                    for message in messages where message.reason == .billingIssue {
                        try await store.answer(message.id, with: .show)
                    }
                }
            }
            var wasOpen = false
            for await messages in store.messages {
                if wasOpen, messages.isEmpty { break }
                wasOpen = wasOpen || !messages.isEmpty
            }
            await store.close()
            try await answering.value
        }
    }

    @Test func `fetching content with progress`() async throws {
        try await RealWorld.run { world in
            var configuration = world.configuration(network: DeviceNetwork(), storage: MemorySecureStorage())
            configuration.contentManager = ScriptedContentManager()
            configuration.productList = ProductList([
                ListedProduct(
                    id: "pack", productType: .nonConsumable, contentFetcherParameters: ["type": "LocalContentFetcher"])
            ])
            let store = try Store(configuration: configuration)
            var bar = 0.0
            try await store.purchaseProduct("pack")
            for try await progress in store.fetchProductContent("pack") {
                if let total = progress.total { bar = Double(progress.received) / Double(total) }
            }
            let folder = store.contentLocation("pack")
            #expect(bar == 1 && folder == "/content/pack")
            await store.close()
        }
    }
}
