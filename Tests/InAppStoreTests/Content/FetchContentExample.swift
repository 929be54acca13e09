import HTTPCore
import InAppStore
import ZipExtraction

func fetchContent(
    of product: String, _ configuration: StoreConfiguration, over transport: any HTTPTransport, into folder: String
) async throws -> String? {
    var configuration = configuration
    configuration.transport = transport
    configuration.contentFolder = folder
    configuration.archiveExtractor = ZipExtractor()
    let store = try Store(configuration: configuration)
    try await store.validateReceipt()
    for try await progress in store.fetchProductContent(product) {
        print("\(progress.received) of \(progress.total ?? 0) bytes")
    }
    await store.close()
    return store.contentLocation(product)
}
