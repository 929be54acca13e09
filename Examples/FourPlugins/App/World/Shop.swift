import AppStoreSimulator
import EntitlementServer
import Foundation
import HTTPCore
import InAppStore
import Purchases
import SQLStorage
import SignedData

/// What the store's plugin sells with: an App Store simulator and an entitlement server, both in this process.
struct Shop: Sendable {
    let store: Store
    let client: PurchaseClient
    private let simulator: SimulatedAppStore
    private let ledger: SQLiteDatabase

    /// Sells what is in `catalogue`, and keeps everything in `folder`.
    static func open(catalogue: String, folder: String) async throws -> Shop {
        let goods = try Catalogue(parsing: bytes(catalogue), file: catalogue)
        let simulator = try await SimulatedAppStore.open(.init(catalogue: goods, dataDirectory: folder + "/simulator"))
        try await simulator.createAccount("ada")
        let bundleID = simulator.summary.bundleID

        let ledger = try SQLiteDatabase(path: folder + "/ledger.sqlite")
        var service = EntitlementService.Configuration(
            database: ledger, apps: [.init(bundleID: bundleID)], environments: [.sandbox])
        service.trustAnchors = try TrustAnchor.certificates(in: bytes(simulator.summary.rootCertificate))
        service.clock = simulator.clock
        let server = try await EntitlementService(configuration: service)
        let keys = try await server.createMissingKeys()

        var configuration = StoreConfiguration(productListPath: "")
        configuration.productList = ProductList.lint(goods.productList.encoded(), file: catalogue).list
        configuration.connection = try await simulator.connection(account: "ada")
        configuration.validator = EntitlementServiceClient(
            configuration: .init(baseURL: "http://ledger", key: APIKey(keys[0].publicKey)),
            transport: InProcessTransport(server))
        configuration.storage = try FileSecureStorage(directory: folder + "/device")
        configuration.storageName = folder
        configuration.customer = "ada"
        configuration.clock = simulator.clock
        let store = try Store(configuration: configuration)
        let client = PurchaseClient()
        try await client.setup(with: [InAppStorePurchasePlugin(store: store)], appUserId: .string("ada"))
        return Shop(store: store, client: client, simulator: simulator, ledger: ledger)
    }

    private static func bytes(_ file: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: file)))
    }

    func close() async {
        await client.close()
        await store.close()
        await simulator.close()
        await ledger.close()
    }
}
