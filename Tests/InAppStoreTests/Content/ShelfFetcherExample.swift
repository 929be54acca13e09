import HTTPCore
import InAppStore
import Primitives

/// Asks the app's own server where the content is today, and leaves the rest to the fetcher that comes with the store.
struct ShelfFetcher: ContentFetcher {
    let types: Set<String> = ["ShelfFetcher"]
    let remote: RemoteContentFetcher
    let address: @Sendable (_ shelf: String) async throws -> String

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

func withShelves(_ configuration: inout StoreConfiguration, over transport: any HTTPTransport) {
    configuration.contentFetchers = [
        ShelfFetcher(remote: RemoteContentFetcher(transport: transport)) { shelf in
            "https://content.example.com/\(shelf).zip"
        }
    ]
}
