import CurlTransport
import Foundation
import InAppStore
import Purchases
import ZipExtraction

/// Opens the one store of the app. Call this early and only once, and share the store.
func openStore() throws -> Store {
    let device = ProcessInfo.processInfo.environment["DEVICE"] ?? "phone"
    var configuration = StoreConfiguration(productListPath: "products.json")
    configuration.customer = "customer-1042"
    configuration.storage = try FileSecureStorage(directory: "devices/\(device)")
    configuration.contentFolder = "devices/\(device).content"
    configuration.transport = CurlTransport.platformDefault()
    configuration.archiveExtractor = ZipExtractor()
    return try Store(configuration: configuration)
}
