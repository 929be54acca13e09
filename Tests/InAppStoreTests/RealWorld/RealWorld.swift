import AppStoreSimulator
import BaseTestSupport
import EntitlementServer
import Foundation
import HTTPCore
import HTTPListener
import NetworkTestSupport
import Primitives
import Purchases
import SQLStorage
import SignedData
import StoreKitAdapter
import StoreModel
import Testing

@testable import InAppStore

/// An App Store simulator and an entitlement server, each with a real listener, and devices that use them over HTTP.
/// The time is frozen unless the test moves it.
final class RealWorld: Sendable {
    static let catalogue = """
        {"version": {"major": 4, "minor": 0}, "settings": {"_storefront": "USA", "_locale": "en_US"},
         "products": [
           {"productID": "coins", "type": "Consumable", "displayPrice": "0.99"},
           {"productID": "pack", "type": "NonConsumable", "displayPrice": "9.99"},
           {"productID": "lens", "type": "NonConsumable", "displayPrice": "4.99"}],
         "subscriptionGroups": [
           {"id": "pro", "name": "Pro", "subscriptions": [
             {"productID": "pro.weekly", "displayPrice": "0.99", "recurringSubscriptionPeriod": "P1W",
              "groupNumber": 1, "codeOffers": [
                {"referenceName": "SPRING", "internalID": "C1", "eligibility": ["new", "existing", "expired"],
                 "paymentMode": "free", "subscriptionPeriod": "P1W"}]}]}]}
        """

    static let list = ProductList([
        ListedProduct(id: "pro.weekly", productType: .renewableSubscription, enablesProducts: ["film."]),
        ListedProduct(id: "film.noir", productType: .nonConsumable, isSubscribersOnly: true),
        ListedProduct(id: "film.warm", productType: .nonConsumable, isSubscribersOnly: true),
        ListedProduct(id: "hat", productType: .nonConsumable, isSubscribersOnly: true),
        ListedProduct(id: "pack", productType: .nonConsumable),
        ListedProduct(id: "lens", productType: .nonConsumable),
        ListedProduct(id: "coins", productType: .consumable),
    ])

    static let week: TimeInterval = 7 * 86400

    let simulator: SimulatedAppStore
    let keys: IssuedKeys
    private let database: SQLiteDatabase
    private let listeners: [HTTPListener]
    private let storeURL: String
    private let serverURL: String
    private let folder: String

    static func open() async throws -> RealWorld {
        let folder = NSTemporaryDirectory() + "souk-world-\(UUID().uuidString)"
        let parsedCatalogue = try Catalogue(parsing: Array(catalogue.utf8), file: "world.storekit")
        var setup = SimulatedAppStore.Configuration(catalogue: parsedCatalogue, dataDirectory: folder + "/store")
        setup.timeRate = .frozen
        setup.start = Fixture.start
        setup.seed = 1
        let database = try SQLiteDatabase.openNew(in: folder)
        // The simulator needs the server's URL, and the server the simulator's root. So the server's listener starts
        // first, and gets its service after the simulator is open.
        let server = Forwarding()
        let serverListener = HTTPListener(handler: server)
        let serverURL = try serverListener.start().url
        setup.notificationsURL = serverURL + "/v1/notifications/app-store"
        setup.notificationTransport = loopbackTransport()
        let simulator = try await SimulatedAppStore.open(setup)
        try await simulator.createAccount("ada")
        var app = EntitlementService.Configuration.App(bundleID: simulator.summary.bundleID)
        app.credits = CreditTable(credits: ["coins": .init(products: ["coins": 10], prices: ["frame": 15])])
        var configuration = EntitlementService.Configuration(
            database: database, apps: [app], environments: [.sandbox])
        let root = try Data(contentsOf: URL(fileURLWithPath: simulator.summary.rootCertificate))
        configuration.trustAnchors = try TrustAnchor.certificates(in: Array(root))
        configuration.clock = simulator.clock
        let service = try await EntitlementService(configuration: configuration)
        let keys = try await service.createMissingKeys()
        server.forward(to: service)
        let storeListener = HTTPListener(handler: simulator.handler)
        let storeURL = try storeListener.start().url
        return RealWorld(
            simulator, keys[0], database, [storeListener, serverListener], storeURL: storeURL, serverURL: serverURL,
            folder: folder)
    }

    private init(
        _ simulator: SimulatedAppStore, _ keys: IssuedKeys, _ database: SQLiteDatabase, _ listeners: [HTTPListener],
        storeURL: String, serverURL: String, folder: String
    ) {
        self.simulator = simulator
        self.keys = keys
        self.database = database
        self.listeners = listeners
        self.storeURL = storeURL
        self.serverURL = serverURL
        self.folder = folder
    }

    func close() async {
        simulator.endWaiting()
        for listener in listeners { await listener.stop() }
        await simulator.close()
        await database.close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Runs `body` with a new simulator and server.
    static func run(_ body: (RealWorld) async throws -> Void) async throws {
        let world = try await open()
        do {
            try await body(world)
        } catch {
            await world.close()
            throw error
        }
        await world.close()
    }

    var now: Date { simulator.clock.now() }

    /// Returns the configuration of an app on a device of the customer Ada. `network` is the network of the device,
    /// `storage` outlives the app, and `watched` wraps the app's transports.
    func configuration(
        network: DeviceNetwork, storage: any SecureStorage, clock: (any WallClock)? = nil, customer: CustomerID = "ada",
        watched: (any HTTPTransport) -> any HTTPTransport = { $0 }
    ) -> StoreConfiguration {
        var configuration = StoreConfiguration(productListPath: "")
        configuration.productList = Self.list
        configuration.sleep = shortenedPause
        configuration.retryPause = { _ in .milliseconds(2) }
        configuration.storage = storage
        configuration.storageName = UUID().uuidString
        configuration.customer = customer
        configuration.clock = clock ?? simulator.clock
        configuration.connection = RemoteStoreConnection(
            configuration: .init(
                url: storeURL, account: "ada", transport: watched(network.to(.store)), sleep: configuration.sleep))
        var server = EntitlementServiceClient.Configuration(
            baseURL: serverURL, key: APIKey(keys.publicKey), environment: .sandbox)
        server.backoff = .none
        server.customerToken = { try await self.token(of: $0) }
        configuration.validator = EntitlementServiceClient(
            configuration: server, transport: watched(network.to(.server)))
        return configuration
    }

    /// Returns the customer token that the app's own server would issue.
    private func token(of customer: CustomerID) async throws -> String {
        let response = try await loopbackTransport().send(
            HTTPRequest(
                method: .post, url: "\(serverURL)/v1/customers/\(customer)/tokens",
                headers: ["Authorization": "Bearer \(keys.secretKey)", "Content-Type": "application/json"],
                body: .bytes(Array("{}".utf8))))
        return try WireJSON.decode(CustomerToken.self, from: try await response.body.collect(upTo: 1 << 16)).token
    }

    /// Waits until the server has all events of the store. If the device is online, also waits until it has finished
    /// all transactions.
    func settle(deviceIsOnline: Bool) async throws {
        if deviceIsOnline {
            try await until("the device has finished every transaction") {
                try await simulator.unfinishedTransactions(of: "ada").isEmpty
            }
        }
        try await simulator.deliverNotifications()
    }
}

/// A handler that forwards to another one, which is set later.
private final class Forwarding: HTTPHandler {
    private let handler = Locked<(any HTTPHandler)?>(nil)

    func forward(to handler: any HTTPHandler) { self.handler.withLock { $0 = handler } }

    func respond(to request: HTTPRequest) -> HTTPReply {
        handler.withLock { $0 }?.respond(to: request) ?? .ready(HTTPResponse(status: 503))
    }
}

extension SQLiteDatabase {
    fileprivate static func openNew(in folder: String) throws -> SQLiteDatabase {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        return try SQLiteDatabase(path: folder + "/ledger.sqlite")
    }
}
