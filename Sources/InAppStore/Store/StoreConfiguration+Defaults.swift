import Foundation
import HTTPCore
import Purchases
import StoreKitAdapter
import StoreModel

#if canImport(Compression)
    import ZipArchives
#endif

/// The parts of a store: those of the configuration, and defaults for the rest.
extension StoreConfiguration {
    struct Parts {
        var productList: ProductList
        var storage: any SecureStorage
        var siblings: SiblingApps?
        var connection: any StoreConnection
        var products: ProductRequest
        var validator: any ReceiptValidator
        var credits: (any CreditService)?
        var offers: (any OfferService)?
        var contentManager: any ContentManager
    }

    /// Returns the parts. Throws `PurchaseError`: `missingSetting`, `storageFailed`, and the errors of reading the
    /// product list.
    func resolved() throws -> Parts {
        let productList =
            try productList ?? ProductList(contentsOf: productListFile(), decryptor: productListDecryptor)
        let storage = try storage ?? defaultStorage()
        let connection = try connection ?? defaultConnection(storage)
        let validator = try validator ?? defaultValidator()
        return Parts(
            productList: productList, storage: storage, siblings: try siblings(), connection: connection,
            products: products ?? ProductRequest(connection: connection), validator: validator,
            credits: credits ?? validator as? any CreditService,
            offers: offers ?? (customerToken == nil ? nil : validator as? any OfferService),
            contentManager: contentManager ?? defaultContent())
    }

    var timeLimits: StoreState.TimeLimits {
        .init(
            grace: gracePeriod.inSeconds, offline: offlineTimeToLive.inSeconds,
            validation: validationInterval.inSeconds,
            sandboxValidation: sandboxValidationInterval.inSeconds)
    }

    /// Returns the path of the product list. A relative path is looked up among the app's resources first, because an
    /// app's current folder does not contain them.
    private func productListFile() throws -> String {
        guard !productListPath.hasPrefix("/"), !productListPath.isEmpty else { return productListPath }
        let resource = bundle.resourceURL?.appendingPathComponent(productListPath).path
        for path in [resource, productListPath].compactMap(\.self) where FileManager.default.fileExists(atPath: path) {
            return path
        }
        throw PurchaseError(
            .productListUnreadable,
            "\(productListPath): the product list is neither among the resources of \(bundle.bundlePath) "
                + "nor in the current folder. Add it to the app."
        )
    }

    private func defaultStorage() throws -> any SecureStorage {
        #if canImport(Security)
            let app = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
            return KeychainStorage(service: "\(app).souk.\(storageName)")
        #else
            return try FileSecureStorage(directory: stateFolder)
        #endif
    }

    private func siblings() throws -> SiblingApps? {
        guard let sharedStorage else {
            guard bundledApplications.isEmpty else {
                throw PurchaseError(
                    .missingSetting,
                    "Set sharedStorage to the storage that the bundled applications share, or leave them out."
                )
            }
            return nil
        }
        guard let application else {
            throw PurchaseError(
                .missingSetting,
                "Set application to the bundle identifier under which this app shares its subscriptions.")
        }
        return SiblingApps(
            application: application, others: bundledApplications.subtracting([application]),
            reader: SharedUserInfoReader(storage: sharedStorage), classifier: multiAppSubscriptionClassifier)
    }

    private func defaultContent() -> any ContentManager {
        var remote = RemoteContentFetcher.Configuration()
        remote.sleep = sleep
        remote.random = random
        let shipped: [any ContentFetcher] = [
            RemoteContentFetcher(transport: (try? resolvedTransport()) ?? NoTransport(), configuration: remote),
            LocalContentFetcher(),
        ]
        return ContentLibrary(
            folder: contentFolder ?? stateFolder + ".content",
            fetchers: contentFetchers + shipped, extractor: archiveExtractor ?? defaultExtractor)
    }

    private var defaultExtractor: (any ArchiveExtractor)? {
        #if canImport(Compression)
            return SystemZipExtractor()
        #else
            return nil
        #endif
    }

    /// The folder of the store's files by default: `storageName` if it is an absolute path, otherwise a folder of that
    /// name in `Souk` in the user's Application Support folder.
    var stateFolder: String {
        guard !storageName.hasPrefix("/") else { return URL(fileURLWithPath: storageName).path }
        let support = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
        return "\(support?.path ?? NSHomeDirectory())/Souk/\(storageName)"
    }

    private func defaultConnection(_ storage: any SecureStorage) throws -> any StoreConnection {
        #if canImport(StoreKit)
            if environment["SOUK_STORE_URL"] == nil {
                return StoreKitConnection(configuration: .init(storage: storage))
            }
        #endif
        return RemoteStoreConnection(
            configuration: .init(
                url: try setting("SOUK_STORE_URL", to: "the URL of the App Store simulator"),
                account: environment["SOUK_STORE_ACCOUNT"] ?? "default", transport: try resolvedTransport(),
                sleep: sleep))
    }

    private func defaultValidator() throws -> any ReceiptValidator {
        var addresses = serverURLs
        if addresses.isEmpty {
            addresses = try setting("SOUK_SERVER_URL", or: "SoukServerURL", to: "the URL of the entitlement server")
                .split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let key =
            try publicKey
            ?? APIKey(
                setting("SOUK_PUBLIC_KEY", or: "SoukPublicKey", to: "the app's public key at the entitlement server"))
        var configuration = EntitlementServiceClient.Configuration(baseURL: addresses.first ?? "", key: key)
        configuration.otherURLs = Array(addresses.dropFirst())
        configuration.sleep = sleep
        configuration.random = random
        configuration.customerToken = customerToken
        return EntitlementServiceClient(configuration: configuration, transport: try resolvedTransport())
    }

    /// Returns the transport. `URLSession` is the default on Apple platforms only, because it changes headers on Linux.
    private func resolvedTransport() throws -> any HTTPTransport {
        #if canImport(FoundationNetworking)
            guard let transport else { throw NoTransport.error }
            return transport
        #else
            return transport ?? URLSessionTransport()
        #endif
    }

    /// Returns the value of an environment variable, or of `key` in the bundle's `Info.plist`. An empty value counts as
    /// missing. `expected` describes the value, for the error.
    private func setting(_ variable: String, or key: String? = nil, to expected: String) throws -> String {
        let values = [environment[variable], key.flatMap { bundle.object(forInfoDictionaryKey: $0) as? String }]
        guard let value = values.compactMap(\.self).first(where: { !$0.isEmpty }) else {
            let names = [variable, key.map { "\($0) in Info.plist" }].compactMap(\.self).joined(separator: " or ")
            throw PurchaseError(
                .missingSetting, "Set \(names) to \(expected), or set it in the store configuration.")
        }
        return value
    }
}

private struct NoTransport: HTTPTransport {
    static let error = PurchaseError(
        .missingSetting,
        "Set transport in the store configuration to CurlTransport(). There is no default on this system.")

    func send(_ request: HTTPRequest) async throws -> HTTPResponse { throw Self.error }
}

extension Duration {
    var inSeconds: TimeInterval { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
