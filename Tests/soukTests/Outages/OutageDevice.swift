import Foundation
import HTTPCore
import InAppStore
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel

/// One run of an app with two sources, on one of which something goes wrong.
struct OutageDevice {
    static let plugins = ["inAppStore", "remote"]

    let store: Store
    let client: PurchaseClient
    /// The way to the server that judges what the App Store sold.
    let judgeLine: OutageLine

    /// - Parameters:
    ///   - customer: the account at the store, and the user.
    ///   - plugin: on whose network `outage` is.
    static func launch(
        _ world: OutageWorld, _ customer: String, _ outage: Outage? = nil, of plugin: String = "", hole: DeafPort
    ) async throws -> OutageDevice {
        let folder = world.folder.file(customer)
        let ofStore = plugin == plugins[0] ? outage : nil
        let judgeLine = OutageLine(world.network, ofStore, hole: hole)
        let store = try Store(
            configuration: try storeConfiguration(world, customer, ofStore, over: judgeLine, folder: folder))
        var remote = RemotePurchasePlugin.Configuration(
            baseURL: world.shop.process.url, key: APIKey(world.shop.publicKey))
        let ofRemote = plugin == plugins[1] ? outage : nil
        remote.freshness = .none
        remote.sellsOnTheWeb = false
        remote.backoff = .none
        remote.timeout = timeout(ofRemote)
        remote.answerVerifier = world.shop.verifier
        remote.signatureClock = clock(ofRemote)
        let client = PurchaseClient(
            configuration: .init(storage: try FileSecureStorage(directory: folder + "/client")))
        try await client.setup(with: [
            InAppStorePurchasePlugin(store: store),
            RemotePurchasePlugin(
                configuration: remote, transport: OutageLine(world.network, ofRemote, hole: hole)),
        ])
        return OutageDevice(store: store, client: client, judgeLine: judgeLine)
    }

    private static func storeConfiguration(
        _ world: OutageWorld, _ customer: String, _ outage: Outage?, over line: OutageLine, folder: String
    ) throws -> StoreConfiguration {
        var server = EntitlementServiceClient.Configuration(
            baseURL: world.judge.process.url, key: APIKey(world.judge.publicKey))
        server.backoff = .none
        server.timeout = timeout(outage)
        server.answerVerifier = world.judge.verifier
        server.signatureClock = clock(outage)
        var configuration = StoreConfiguration(productListPath: "")
        configuration.productList = ProductList([
            ListedProduct(id: "com.example.darkroom.filmpack", productType: .nonConsumable),
            ListedProduct(id: "com.example.darkroom.prints.10", productType: .consumable),
        ])
        configuration.connection = RemoteStoreConnection(
            configuration: .init(url: world.simulator.url, account: customer, transport: world.network))
        configuration.validator = EntitlementServiceClient(configuration: server, transport: line)
        configuration.storage = try FileSecureStorage(directory: folder + "/store")
        configuration.storageName = folder
        configuration.contentFolder = folder + "/content"
        configuration.customer = CustomerID(rawValue: customer)
        // Whoever is not acknowledged is presented again at the next launch, not in this one.
        configuration.retryPause = { _ in .seconds(86_400) }
        return configuration
    }

    /// Short only where nobody ever answers.
    private static func timeout(_ outage: Outage?) -> Duration { outage == .slow ? .milliseconds(300) : .seconds(20) }

    private static func clock(_ outage: Outage?) -> any WallClock {
        outage == .skewed ? SkewedClock() : SystemClock()
    }

    func close() async {
        await client.close()
        await store.close()
    }
}

/// Two days fast.
private struct SkewedClock: WallClock {
    func now() -> Date { Date().addingTimeInterval(2 * 86_400) }
    func sleep(until deadline: Date) async throws { try await SystemClock().sleep(until: deadline) }
}
