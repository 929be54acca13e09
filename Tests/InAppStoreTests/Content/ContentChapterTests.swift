import HTTPCore
import NetworkTestSupport
import StoreModel
import Testing

@testable import InAppStore

/// The examples of Documentation/Content.md, run against the simulator's content server.
@Suite(.timeLimit(.minutes(2)))
struct ContentChapterTests {
    @Test func `a store fetches only the content of bought products over HTTP`() async throws {
        try await ContentScene.run { scene in
            let test = StoreTestContext(Fixture.customer(purchases: [Fixture.purchase("film")]))
            let list = ProductList(
                ["film", "other"].map {
                    ListedProduct(
                        id: $0, productType: .nonConsumable, contentFetcherParameters: scene.parameters())
                })
            let configuration = test.configuration(list: list)
            let place = try await fetchContent(of: "film", configuration, over: loopbackTransport(), into: scene.kept)
            #expect(ContentScene.isFilm(place))
            let asked = scene.requests.all.count
            await #expect(throws: PurchaseError(.contentNotAcquired, "")) {
                try await fetchContent(of: "other", configuration, over: loopbackTransport(), into: scene.kept)
            }
            #expect(scene.requests.all.count == asked)
        }
    }

    @Test func `a custom fetcher can use the store's fetcher`() async throws {
        try await ContentScene.run { scene in
            let fetcher = CollectionFetcher(remote: scene.fetcher()) { _ in scene.url }
            let library = scene.library([fetcher])
            let reported = try await library.fetch("film", parameters: ["type": "ShelfFetcher", "shelf": "a"]).all()
            #expect(ContentScene.isFilm(reported.last?.location))
            await #expect(throws: PurchaseError(.invalidContentFetcherParameters, "")) {
                try await library.fetch("other", parameters: ["type": "ShelfFetcher"]).all()
            }
            await library.close()
            var configuration = StoreConfiguration(productListPath: "")
            withCollections(&configuration, over: loopbackTransport())
            #expect(configuration.contentFetchers.map(\.types) == [["ShelfFetcher"]])
        }
    }
}
