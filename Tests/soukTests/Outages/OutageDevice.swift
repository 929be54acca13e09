import BaseTestSupport
import Foundation
import HTTPCore
import InAppStore
import NetworkTestSupport
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel

@testable import PromoCodes

/// A run of an app with three plugins and four servers, one of which has an outage.
struct OutageDevice {
    /// A server and its plugin.
    enum Source: String, CaseIterable, Hashable, Sendable {
        case appStore = "inAppStore, App Store"
        case entitlementServer = "inAppStore, its server"
        case remote
        case promo
    }

    let store: Store
    let client: PurchaseClient
    let transports: [Source: OutageTransport]

    /// Launches the app.
    ///
    /// - Parameters:
    ///   - customer: the account at the store, and the user.
    ///   - source: the server with `outage`.
    static func launch(
        _ world: OutageWorld, _ customer: String, _ outage: Outage? = nil, of source: Source? = nil,
        hole: ListeningPort
    ) async throws -> OutageDevice {
        let transports = Dictionary(
            uniqueKeysWithValues: Source.allCases.map {
                ($0, OutageTransport(world.network, $0 == source ? outage : nil, hole: hole))
            })
        func transport(to source: Source) -> OutageTransport { transports[source]! }
        func clock(of other: Source) -> any WallClock {
            outage == .skewed && source == other ? SkewedClock() : SystemClock()
        }
        let folder = world.folder.file(customer)
        var server = EntitlementServiceClient.Configuration(
            baseURL: world.entitlementServer.process.url, key: APIKey(world.entitlementServer.publicKey))
        server.backoff = .none
        server.answerVerifier = world.entitlementServer.verifier
        server.signatureClock = clock(of: .entitlementServer)
        var configuration = StoreConfiguration(productListPath: "")
        configuration.productList = ProductList([
            ListedProduct(id: "com.example.darkroom.filmpack", productType: .nonConsumable),
            ListedProduct(id: "com.example.darkroom.plus.monthly", productType: .renewableSubscription),
            ListedProduct(id: "com.example.darkroom.prints.10", productType: .consumable),
        ])
        configuration.connection = RemoteStoreConnection(
            configuration: .init(
                url: world.simulator.url, account: customer, transport: transport(to: .appStore),
                sleep: { [transport = transport(to: .appStore)] _ in try await transport.repaired() }))
        configuration.validator = EntitlementServiceClient(
            configuration: server, transport: transport(to: .entitlementServer))
        configuration.storage = try FileSecureStorage(directory: folder + "/store")
        configuration.storageName = folder
        configuration.contentFolder = folder + "/content"
        configuration.customer = CustomerID(rawValue: customer)
        configuration.clock = clock(of: .appStore)
        configuration.promotedPurchases = { _, _, _ in .postpone }
        // Unacknowledged purchases are presented again at the next launch, not in this one.
        configuration.retryPause = { _ in .seconds(86_400) }
        let store = try Store(configuration: configuration)
        var remote = RemotePurchasePlugin.Configuration(
            baseURL: world.shop.process.url, key: APIKey(world.shop.publicKey))
        remote.freshness = .none
        remote.backoff = .none
        remote.answerVerifier = world.shop.verifier
        remote.signatureClock = clock(of: .remote)
        let client = PurchaseClient(
            configuration: .init(storage: try FileSecureStorage(directory: folder + "/client")))
        try await client.setup(with: [
            InAppStorePurchasePlugin(store: store),
            RemotePurchasePlugin(configuration: remote, transport: transport(to: .remote)),
            PromoCodePlugin(
                baseURL: world.codes.url, key: "pk_promo", transport: transport(to: .promo), clock: clock(of: .promo)),
        ])
        return OutageDevice(store: store, client: client, transports: transports)
    }

    func close() async {
        await client.close()
        await store.close()
    }
}

/// A clock that is two days fast.
private struct SkewedClock: WallClock {
    func now() -> Date { Date().addingTimeInterval(2 * 86_400) }
    func sleep(until deadline: Date) async throws { try await SystemClock().sleep(until: deadline) }
}
