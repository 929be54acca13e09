import HTTPCore
import InAppStore
import Primitives

/// Gets the current URL from the app's own server, and downloads the content with the store's own fetcher.
struct CollectionFetcher: ContentFetcher {
    let types: Set<String> = ["ShelfFetcher"]
    let remote: RemoteContentFetcher
    let address: @Sendable (_ collection: String) async throws -> String

    func check(_ parameters: JSONObject) throws {
        guard parameters["shelf"]?.stringValue != nil else {
            throw PurchaseError(.invalidContentFetcherParameters, "shelf: ShelfFetcher needs the name of a shelf.")
        }
    }

    func fetch(
        _ order: ContentOrder, progress: @escaping @Sendable (ContentProgress) -> Void
    ) async throws -> FetchedContent {
        var today = order
        let url = try await address(order.parameters["shelf"]?.stringValue ?? "")
        today.parameters = ["type": "RemoteContentFetcher", "URL": .string(url)]
        return try await remote.fetch(today, progress: progress)
    }
}

func withCollections(_ configuration: inout StoreConfiguration, over transport: any HTTPTransport) {
    configuration.contentFetchers = [
        CollectionFetcher(remote: RemoteContentFetcher(transport: transport)) { collection in
            "https://content.example.com/\(collection).zip"
        }
    ]
}
