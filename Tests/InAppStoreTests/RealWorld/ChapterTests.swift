import Observation
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

/// The examples of Documentation/InAppStore.md, run.
@Suite(.timeLimit(.minutes(2)))
struct ChapterTests {
    private actor Screen {
        private(set) var shown: [Set<String>] = []
        func show(_ products: Set<String>) { shown.append(products) }
    }

    @Test func `buying, and following what is allowed`() async throws {
        try await RealWorld.run { world in
            let screen = Screen()
            let configuration = world.configuration(line: Line(), storage: MemorySecureStorage())
            let store = try Store(configuration: configuration)
            let following = Task {
                for await snapshot in store.snapshots {
                    await screen.show(snapshot.allowedProducts)
                }
            }

            do {
                try await store.purchaseProduct("pro.weekly")
                try await store.acquireAllEnabledProducts()
            } catch let error as StoreError where error.code == .operationCancelled {
                // The customer changed their mind.
            } catch let error as StoreError where error.code == .acknowledgementPending {
                // Paid. The store tells the server by itself as soon as it can be reached.
            }

            #expect(store.allowedProducts == ["film.noir", "film.warm"])
            while await screen.shown.last != store.allowedProducts { await Task.yield() }
            await store.close()
            await following.value
        }
    }

    @Test func `observing without a user interface`() async throws {
        try await RealWorld.run { world in
            let store = try Store(configuration: world.configuration(line: Line(), storage: MemorySecureStorage()))
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

    @Test func `content with a progress`() async throws {
        try await RealWorld.run { world in
            var configuration = world.configuration(line: Line(), storage: MemorySecureStorage())
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
