import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import InAppStore
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel
import Testing
import ZipExtraction

/// An app that buys one product unless its account has bought it already, and fetches its content if there is any. It
/// ends when the server has acknowledged the purchase, the purchase is finished, and the fetch has ended.
struct AppChild {
    private let account: String
    private let product: String
    private let observer: StoreObserver
    private let store: Store
    private let settings: Settings

    static func run(_ settings: Settings) async throws {
        let app = try AppChild(settings)
        try await app.buy()
        if settings["content"] != nil { try await app.fetchContent() }
        await app.store.close()
    }

    private init(_ settings: Settings) throws {
        self.settings = settings
        let (network, fuse) = (CurlTransport.platformDefault(), Fuse(settings.killAt))
        let fused = FusedTransport(network: network, fuse: fuse)
        let (storeURL, serverURL) = (try settings.required("store"), try settings.required("server"))
        (account, product) = (try settings.required("account"), try settings.required("product"))
        var listed = ListedProduct(id: ProductID(unchecked: product), productType: .nonConsumable)
        var configuration = StoreConfiguration(productListPath: "")
        if let content = settings["content"] {
            if settings.killAt != nil { WatchedDisk.countOperations(with: fuse) }
            listed.contentFetcherParameters = try JSONValue(parsing: Array(content.utf8)).objectValue
            configuration.contentFolder = try settings.required("content-folder")
            configuration.archiveExtractor = ZipExtractor()
            var remote = RemoteContentFetcher.Configuration()
            remote.piece = ContentShop.piece
            configuration.contentFetchers = [RemoteContentFetcher(transport: fused, configuration: remote)]
        }
        configuration.productList = ProductList([listed])
        configuration.connection = RemoteStoreConnection(
            configuration: .init(url: storeURL, account: account, transport: fused))
        configuration.validator = EntitlementServiceClient(
            configuration: .init(baseURL: serverURL, key: APIKey(try settings.required("key")), environment: .sandbox),
            transport: fused)
        configuration.storage = try FileSecureStorage(directory: try settings.required("folder"))
        configuration.customer = CustomerID(rawValue: account)
        configuration.retryPause = { .milliseconds(20 << min($0 - 1, 4)) }
        observer = StoreObserver(url: storeURL, network: network)
        store = try Store(configuration: configuration)
    }

    private func buy() async throws {
        if try await observer.transactions(of: account).isEmpty {
            do {
                try await store.purchaseProduct(product)
            } catch let error as PurchaseError where error.code == .acknowledgementPending {
            }
        }
        try await until("\(account): the purchase is acknowledged and finished") {
            let unfinished = try await observer.unfinished(of: account)
            return unfinished.isEmpty && store.snapshot.purchasedProducts.contains(product)
        }
    }

    /// Fetches the content, with the disk failures of the settings. Prints the result in the first line of output:
    /// `content` or the code of the error, and then `failing` if a simulated failure occurred.
    private func fetchContent() async throws {
        if let limit = settings["limit"].flatMap({ UInt64($0) }) { WatchedDisk.limitFiles(to: limit) }
        if let error = settings["error"].flatMap({ Int32($0) }) {
            WatchedDisk.fail(from: settings["fail-at"].flatMap { Int($0) } ?? 1, with: error)
        }
        var words = try await outcome()
        if settings["error"] != nil, WatchedDisk.recover() { words += " failing" }
        FileHandle.standardOutput.write(Data("\(words)\n".utf8))
    }

    private func outcome() async throws -> String {
        do {
            for try await _ in store.fetchProductContent(product) {}
            guard store.contentLocation(product) != nil else { throw CrashFailure("the content is not stored") }
            return "content"
        } catch let error as PurchaseError {
            return error.code.rawValue
        }
    }
}
