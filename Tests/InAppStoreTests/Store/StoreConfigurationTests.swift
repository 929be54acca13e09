import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

/// A transport that records the hosts of requests and fails all requests.
final class FailingTransport: HTTPTransport {
    let hosts = CallLog<String>()

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        hosts.record(String(request.url.split(separator: "/")[1]))
        throw HTTPError(.connectionFailed, "Nobody is there.")
    }
}

/// A fetcher that returns a folder.
private struct FolderFetcher: ContentFetcher {
    let types: Set<String> = ["Shelf"]
    let folder: String

    func check(_ parameters: JSONObject) throws {}
    func fetch(
        _ order: ContentOrder, progress: @escaping @Sendable (ContentProgress) -> Void
    ) async throws -> FetchedContent { .folder(path: folder) }
}

@Suite(.timeLimit(.minutes(2)))
final class StoreConfigurationTests {
    private let test = StoreTestContext()
    private let folder = NSTemporaryDirectory() + "souk-store-\(UUID().uuidString)"

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func settings(_ transport: any HTTPTransport) -> StoreConfiguration {
        var configuration = StoreConfiguration(productListPath: "")
        configuration.productList = Fixture.list
        configuration.storage = test.storage
        configuration.storageName = test.name
        configuration.transport = transport
        configuration.environment = [
            "SOUK_STORE_URL": "http://store", "SOUK_SERVER_URL": "http://server", "SOUK_PUBLIC_KEY": "pk_1",
        ]
        configuration.sleep = { _ in try await Gate().pass() }
        return configuration
    }

    /// The store reads the list from the path. The other settings come from the environment.
    @Test func `with a path and the environment, the store reads its list, reaches both servers and keeps its state`()
        async throws
    {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let path = folder + "/products.json"
        try Data(Self.pack.utf8).write(to: URL(fileURLWithPath: path))
        let transport = FailingTransport()
        var configuration = StoreConfiguration(productListPath: path)
        configuration.environment = [
            "SOUK_STORE_URL": "http://store", "SOUK_SERVER_URL": "http://server", "SOUK_PUBLIC_KEY": "pk_1",
        ]
        configuration.transport = transport
        configuration.storageName = folder + "/device"
        let store = try Store(configuration: configuration)
        await transport.hosts.wait { Set($0).isSuperset(of: ["store", "server"]) }
        #expect(store.customer.rawValue.hasPrefix("anonymous-"))
        #expect(store.contentLocation("pack") == nil)
        await #expect {
            try await store.purchaseProduct("pack")
        } throws: {
            "\($0)".contains("http://store")
        }
        let customer = store.customer
        await store.close()
        let again = try Store(configuration: configuration)
        #expect(again.customer == customer, "The anonymous customer must be kept.")
        await again.close()
    }

    @Test(arguments: ["SOUK_STORE_URL", "SOUK_SERVER_URL", "SOUK_PUBLIC_KEY"])
    func `the error names a setting that is missing in the environment`(name: String) {
        var configuration = settings(FailingTransport())
        configuration.environment[name] = nil
        #expect {
            try Store(configuration: configuration)
        } throws: { error in
            (error as? PurchaseError)?.code == .missingSetting
                && (error as? PurchaseError)?.reason.contains(name) == true
        }
    }

    /// Creates an app's bundle in the layout of macOS, with this `Info.plist` and these resources.
    private func bundle(_ info: [String: String], resources: [String: String] = [:]) throws -> Bundle {
        let contents = folder + "/\(UUID().uuidString).bundle/Contents"
        try FileManager.default.createDirectory(atPath: contents + "/Resources", withIntermediateDirectories: true)
        let plist = try PropertyListSerialization.data(fromPropertyList: info, format: .xml, options: 0)
        try plist.write(to: URL(fileURLWithPath: contents + "/Info.plist"))
        for (name, text) in resources {
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(contents)/Resources/\(name)"))
        }
        return try #require(Bundle(path: String(contents.dropLast("/Contents".count))))
    }

    private static let pack = #"[{"identifier": "pack", "productType": "nonConsumable"}]"#

    @Test func `an app has its list and its server in its bundle, and needs no environment`() async throws {
        let transport = FailingTransport()
        var configuration = StoreConfiguration(productListPath: "products.json")
        configuration.environment = [:]
        configuration.bundle = try bundle(
            ["SoukServerURL": "http://first, http://second", "SoukPublicKey": "pk_1"],
            resources: ["products.json": Self.pack])
        configuration.connection = test.connection
        configuration.storage = test.storage
        configuration.storageName = test.name
        configuration.transport = transport
        configuration.sleep = { _ in }
        let store = try Store(configuration: configuration)
        await transport.hosts.wait { Set($0).isSuperset(of: ["first", "second"]) }
        #expect(store.allowedProducts.isEmpty)
        await store.close()
    }

    /// `code` and `environment` are the URLs in these places, and `host` is the server that must be asked.
    @Test(arguments: [
        (code: "http://code", environment: "http://environment", host: "code"),
        (code: nil, environment: "http://environment", host: "environment"),
        (code: nil, environment: "", host: "bundle"),
    ])
    func `a server URL in code is used before one in the environment, and the bundle's URL is used last`(
        code: String?, environment: String, host: String
    ) async throws {
        let transport = FailingTransport()
        var configuration =
            if let code {
                StoreConfiguration(productList: Fixture.list, serverURL: code, publicKey: "pk_1")
            } else {
                settings(transport)
            }
        configuration.productList = Fixture.list
        configuration.environment = ["SOUK_SERVER_URL": environment]
        configuration.bundle = try bundle(["SoukServerURL": "http://bundle", "SoukPublicKey": "pk_1"])
        configuration.connection = test.connection
        configuration.storage = test.storage
        configuration.storageName = test.name
        configuration.transport = transport
        let store = try Store(configuration: configuration)
        await transport.hosts.wait { !$0.isEmpty }
        #expect(Set(transport.hosts.all) == [host])
        await store.close()
    }

    @Test func `the error of a missing list names the bundle that was searched`() throws {
        var configuration = settings(FailingTransport())
        configuration.productList = nil
        configuration.productListPath = "no-such-products.json"
        configuration.bundle = try bundle([:])
        #expect {
            try Store(configuration: configuration)
        } throws: { error in
            let error = error as? PurchaseError
            return error?.code == .productListUnreadable
                && error?.reason.contains(configuration.bundle.bundlePath) == true
        }
    }

    #if canImport(FoundationNetworking)
        @Test(arguments: ["the connection", "the validator"])
        func `without a transport the error names CurlTransport`(missing: String) throws {
            var configuration = settings(FailingTransport())
            configuration.transport = nil
            if missing == "the validator" { configuration.connection = ScriptedStoreConnection() }
            #expect {
                try Store(configuration: configuration)
            } throws: { error in
                (error as? PurchaseError)?.code == .missingSetting
                    && (error as? PurchaseError)?.reason.contains("CurlTransport()") == true
            }
        }
    #endif

    /// The table of `Documentation/InAppStore.md`: the properties and their defaults.
    private static func documented() throws -> [(names: String, value: String)] {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Documentation/InAppStore.md")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        return lines.drop { $0 != "| property | default |" }.dropFirst(2).prefix { $0.hasPrefix("| ") }.map { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            return (cells[0], cells.dropFirst().joined(separator: "|"))
        }
    }

    @Test func `the table of the document lists every property except productListPath`() throws {
        let text = try Self.documented().map { "\($0.names) \($0.value)" }.joined()
        let labels = Mirror(reflecting: StoreConfiguration(productListPath: "")).children.compactMap(\.label)
        #expect(labels.count > 25)
        for label in labels where label != "productListPath" { #expect(text.contains("`\(label)`"), "\(label)") }
    }

    @Test func `the defaults are those of the document`() throws {
        let rows = try Self.documented()
        func documented(_ names: String) throws -> String { try #require(rows.first { $0.names == names }).value }
        let configuration = StoreConfiguration(productListPath: "products.json")
        #expect(
            try documented("`gracePeriod`")
                == "7 days, in production only: how long a subscription gives access after its expiry while the "
                + "server is unreachable")
        #expect(configuration.gracePeriod == .seconds(604_800))
        #expect(try documented("`validationInterval`, `sandboxValidationInterval`") == "14 days, 150 s")
        #expect(configuration.validationInterval == .seconds(1_209_600))
        #expect(configuration.sandboxValidationInterval == .seconds(150))
        #expect(try documented("`offlineTimeToLive`").hasPrefix("60 days"))
        #expect(configuration.offlineTimeToLive == .seconds(5_184_000))
        #expect(
            try documented("`transport`") == "`URLSession` on Apple's systems, none elsewhere (use `CurlTransport()`)")
        #expect(try documented("`environment`, `bundle`") == "the process's environment, the app's bundle")
        #expect(configuration.transport == nil && configuration.environment == ProcessInfo.processInfo.environment)
        #expect(configuration.bundle == .main)
        #expect(try documented("`serverURLs`, `publicKey`").contains("`SoukServerURL`, `SoukPublicKey`"))
        #expect(configuration.serverURLs.isEmpty && configuration.publicKey == nil)
        #expect(try documented("`customer`") == "the anonymous customer of this device")
        #expect(try documented("`customerToken`") == "none")
        #expect(configuration.customer == nil && configuration.customerToken == nil)
        #expect(try documented("`localVerifier`").hasPrefix("none"))
        #expect(configuration.localVerifier == nil)
    }

    @Test func `a replaced transport is used by the connection and by the validator`() async throws {
        let transport = FailingTransport()
        let store = try Store(configuration: settings(transport))
        await transport.hosts.wait { Set($0).isSuperset(of: ["store", "server"]) }
        await store.close()
    }

    @Test func `a replaced connection is used for products, purchases and the storefront`() async throws {
        let transport = FailingTransport()
        var configuration = settings(transport)
        configuration.connection = test.connection
        configuration.validator = test.server
        let store = try Store(configuration: configuration)
        #expect(try await store.productList().count == 4)
        #expect(store.appStoreLocale == "en_US")
        try await store.purchaseProduct("pack")
        #expect(test.connection.payments.count == 1)
        await store.close()
        #expect(transport.hosts.all.isEmpty)
    }

    @Test func `a replaced product request is used instead of a new one`() async throws {
        let elsewhere = ScriptedStoreConnection(products: Array(Fixture.products.prefix(1)))
        var configuration = test.configuration()
        configuration.products = ProductRequest(connection: elsewhere)
        let store = try Store(configuration: configuration)
        #expect(try await store.productList().map(\.id) == ["pro.monthly"])
        await #expect(throws: PurchaseError(.invalidProductForPurchasing)) { try await store.purchaseProduct("pack") }
        await store.close()
        #expect(test.connection.calls.all.allSatisfy { if case .products = $0 { false } else { true } })
    }

    @Test func `a replaced storage keeps the state and the anonymous customer`() async throws {
        let store = try await test.open(customer: nil)
        await store.close()
        #expect(try test.storage.data(for: "validation") != nil)
        #expect(try test.storage.data(for: "anonymous-customer") != nil)
    }

    @Test func `a replaced clock decides what has expired`() async throws {
        test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription()]))
        var configuration = test.configuration()
        let later = ManualClock(Fixture.start + Fixture.month)
        configuration.clock = later
        let store = try await test.open(configuration)
        #expect(store.subscriptionInfo?.isExpired == true)
        #expect(store.receiptValidationStatus?.validatedAt == later.now())
        await store.close()
    }

    @Test func `a replaced list is used instead of the file, which is then not read`() async throws {
        var configuration = test.configuration()
        configuration.productListPath = "/nowhere/products.json"
        configuration.productList = ProductList([ListedProduct(id: "pack", productType: .nonConsumable)])
        let store = try await test.open(configuration)
        #expect(try await store.productList().map(\.id) == ["pack"])
        await store.close()
        configuration.productList = nil
        #expect(throws: PurchaseError(.productListUnreadable, "")) { try Store(configuration: configuration) }
    }

    @Test(arguments: ["", "/"])
    func `a storage name that is an absolute path is the place of the store's files`(slash: String) async throws {
        var configuration = StoreConfiguration(productListPath: "")
        configuration.storageName = "\(folder)/device\(slash)"
        #expect(configuration.stateFolder == "\(folder)/device")
        configuration.productList = Fixture.list
        configuration.connection = test.connection
        configuration.validator = test.server
        configuration.contentFetchers = [FolderFetcher(folder: folder + "/shelf")]
        configuration.productList = ProductList([
            ListedProduct(
                id: "film", productType: .nonConsumable, preAcquired: true, contentFetcherParameters: ["type": "Shelf"])
        ])
        try FileManager.default.createDirectory(atPath: folder + "/shelf", withIntermediateDirectories: true)
        let store = try Store(configuration: configuration)
        for try await _ in store.fetchProductContent("film") {}
        await store.close()
        #expect(store.contentLocation("film") == "\(folder)/device.content/film/content")
        #if !canImport(Security)
            let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
            #expect(names == ["device", "device.content", "shelf"])
        #endif
    }

    @Test func `a storage name that is not an absolute path is a folder in the user's application data`() {
        var configuration = StoreConfiguration(productListPath: "")
        #expect(configuration.stateFolder.hasSuffix("/Souk/default"))
        configuration.storageName = "staging"
        #expect(configuration.stateFolder.hasSuffix("/Souk/staging") && configuration.stateFolder.hasPrefix("/"))
    }

    @Test func `with a locked storage the store is not opened`() throws {
        var configuration = test.configuration()
        configuration.storage = LockedStorage()
        let error = #expect(throws: PurchaseError(.storageFailed, "")) { try Store(configuration: configuration) }
        #expect(error?.reason.contains("unlocked") == true)
    }

    @Test func `payments have the ids that the configuration creates`() async throws {
        var configuration = test.configuration()
        let id = PaymentID(UUID())
        configuration.makePaymentID = { id }
        let store = try await test.open(configuration)
        try await store.purchaseProduct("pack")
        #expect(test.connection.payments.map(\.id) == [id])
        await store.close()
    }

    // MARK: - One store

    @Test func `a second store on the same folder is refused under another name too, until the first is closed`()
        async throws
    {
        var configuration = test.configuration()
        configuration.storage = try FileSecureStorage(directory: folder)
        let first = try await test.open(configuration)
        configuration.storageName = "another"
        configuration.storage = try FileSecureStorage(directory: folder)
        #expect {
            try Store(configuration: configuration)
        } throws: { error in
            (error as? PurchaseError)?.code == .alreadyInUse && "\(error)".contains("another process")
        }
        await first.close()
        let second = try Store(configuration: configuration)
        await second.close()
    }

    @Test func `a store that failed to open leaves its name and its folder unlocked`() async throws {
        var configuration = test.configuration()
        configuration.storage = try FileSecureStorage(directory: folder)
        configuration.customer = nil
        try FileManager.default.createSymbolicLink(
            atPath: folder + "/anonymous-customer.value", withDestinationPath: folder + "/elsewhere")
        #expect(throws: PurchaseError(.storageFailed, "")) { try Store(configuration: configuration) }
        configuration.customer = "anna"
        let store = try Store(configuration: configuration)
        await store.close()
    }
}
