import BaseTestSupport
import Primitives
import StoreModel
import Testing

@testable import InAppStore

@Suite(.timeLimit(.minutes(2)))
struct StoreContentTests {
    private let test = StoreTestContext()
    private let parameters: JSONObject = ["type": "remote", "URL": "https://example.com/film.zip"]

    private var list: ProductList {
        ProductList([
            ListedProduct(id: "pro.monthly", productType: .renewableSubscription),
            ListedProduct(
                id: "film", productType: .nonConsumable, discountedProducts: ["film.half"],
                contentFetcherParameters: parameters),
            ListedProduct(
                id: "film.half", productType: .nonConsumable, fullPriceProduct: "film",
                contentFetcherParameters: parameters),
            ListedProduct(
                id: "looks", productType: .nonConsumable, isSubscribersOnly: true,
                contentFetcherParameters: parameters),
            ListedProduct(id: "pack", productType: .nonConsumable),
        ])
    }

    private func open(_ content: ScriptedContentManager?, _ customer: Customer = Fixture.customer()) async throws
        -> Store
    {
        test.setAnswer(customer)
        var configuration = test.configuration(list: list)
        configuration.contentManager = content
        return try await test.open(configuration)
    }

    private func all(_ stream: AsyncThrowingStream<ContentProgress, any Error>) async throws -> [ContentProgress] {
        var all: [ContentProgress] = []
        for try await progress in stream { all.append(progress) }
        return all
    }

    @Test func `an outdated set of content changes nothing`() async throws {
        let content = ScriptedContentManager(["film"])
        let store = try await open(content)
        try await store.deleteProductContent("film")
        let snapshots = store.snapshots
        content.reportLate(["film"])
        content.put("looks")
        for await snapshot in snapshots {
            #expect(!snapshot.downloadedContentProducts.contains("film"))
            if snapshot.downloadedContentProducts.contains("looks") { break }
        }
        await store.close()
    }

    @Test func `the content of a bought product is fetched with progress, and then counts as downloaded`() async throws
    {
        let content = ScriptedContentManager()
        let store = try await open(content, Fixture.customer(purchases: [Fixture.purchase("film")]))
        #expect(store.downloadedContentProducts == ["pro.monthly", "pack"])
        #expect(store.contentLocation("film") == nil)
        let progress = try await all(store.fetchProductContent("film"))
        #expect(progress.map(\.received) == [4, 10])
        #expect(progress.map(\.isComplete) == [false, true])
        #expect(progress.last?.location == "/content/film")
        #expect(
            store.downloadedContentProducts == ["pro.monthly", "pack", "film"],
            "The product must be downloaded as soon as the fetch ends.")
        #expect(store.contentLocation("film") == "/content/film")
        #expect(store.contentLocation("film.half") == "/content/film")
        try await store.deleteProductContent("film")
        #expect(store.downloadedContentProducts == ["pro.monthly", "pack"])
        await store.close()
        #expect(content.calls.all == [.fetch("film", parameters), .delete("film"), .close])
    }

    @Test func `content from an earlier run counts as downloaded after the launch`() async throws {
        let store = try await open(ScriptedContentManager(["film"]))
        #expect(await store.reaches { $0.downloadedContentProducts.contains("film") } != nil)
        await store.close()
    }

    @Test func `a discount has the content of the product at full price`() async throws {
        let content = ScriptedContentManager()
        let store = try await open(content, Fixture.customer(purchases: [Fixture.purchase("film.half")]))
        _ = try await all(store.fetchProductContent("film.half"))
        #expect(content.calls.all == [.fetch("film", parameters)])
        #expect(store.downloadedContentProducts.contains("film"))
        await store.close()
    }

    @Test func `the content of a product that is not bought or acquired is refused without a fetch`() async throws {
        let content = ScriptedContentManager()
        let store = try await open(content, Fixture.customer(subscriptions: [Fixture.subscription()]))
        for id in ["film", "looks"] {
            await #expect(throws: PurchaseError(.contentNotAcquired, "")) {
                try await all(store.fetchProductContent(id))
            }
        }
        await #expect(throws: PurchaseError(.invalidProductIdentifier, "")) {
            try await all(store.fetchProductContent("unheard.of"))
        }
        await #expect(throws: PurchaseError(.invalidProductIdentifier, "")) {
            try await store.deleteProductContent("unheard.of")
        }
        #expect(content.calls.all == [])
        try await store.purchaseProduct("looks")
        _ = try await all(store.fetchProductContent("looks"))
        #expect(store.downloadedContentProducts.contains("looks"))
        await store.close()
    }

    @Test func `a product without content is complete at once`() async throws {
        let store = try await open(nil)
        #expect(try await all(store.fetchProductContent("pack")) == [.nothing])
        #expect(ContentProgress.nothing.isComplete)
        try await store.deleteProductContent("pack")
        #expect(store.downloadedContentProducts.contains("pack"))
        await store.close()
    }

    @Test func `a fetcher that is not registered is an error with its name, and an event`() async throws {
        let store = try await open(nil, Fixture.customer(purchases: [Fixture.purchase("film")]))
        let error = await #expect(throws: PurchaseError.self) { try await all(store.fetchProductContent("film")) }
        #expect(error?.code == .contentFetcherNotRegistered && error?.reason.contains("\"remote\"") == true)
        for await event in store.events where event.code == .contentFetcherNotRegistered {
            #expect(event.kind == .nonCriticalError && event.productID == "film")
            break
        }
        try await store.deleteProductContent("film")
        await store.close()
    }

    @Test func `a listener that is cancelled ends the fetch, and a failure is thrown to the listener`() async throws {
        let content = ScriptedContentManager()
        let store = try await open(content, Fixture.customer(purchases: [Fixture.purchase("film")]))
        let gaveUp = Gate()
        content.whenFetching { _, stream in
            stream.yield(ContentProgress(received: 1))
            do { try await Gate().pass() } catch { gaveUp.open() }
        }
        let listener = Task { try await all(store.fetchProductContent("film")) }
        await content.calls.wait { !$0.isEmpty }
        listener.cancel()
        _ = try? await listener.value
        try await gaveUp.pass()
        content.whenFetching { _, stream in
            stream.finish(throwing: PurchaseError(.storageFailed, "The disk is full."))
        }
        await #expect(throws: PurchaseError(.storageFailed, "")) { try await all(store.fetchProductContent("film")) }
        #expect(!store.downloadedContentProducts.contains("film"))
        await store.close()
    }
}
