import Foundation
import HTTPCore
import InAppStore
import PluginHub
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel

/// An app on a device, as an app developer would compose it: a store, a purchase client over two plugins, a hub, and a
/// screen that knows none of them.
final class DemoDevice: Sendable {
    struct Surroundings: Sendable {
        var storeURL: String
        var serverURL: String
        var publicKey: String
        var account: String
        var customer: String
        var products: ProductList
        /// The folder of this device.
        var folder: String
        var clock: any WallClock
        var network: any HTTPTransport
    }

    let store: Store
    let client: PurchaseClient
    let watch: PurchaseWatch
    private let hub: Hub
    private let screen: ScreenPlugin

    static func launch(_ surroundings: Surroundings) async throws -> DemoDevice {
        let watch = PurchaseWatch(surroundings.network)
        var configuration = StoreConfiguration(productListPath: "")
        configuration.productList = surroundings.products
        configuration.connection = RemoteStoreConnection(
            configuration: .init(url: surroundings.storeURL, account: surroundings.account, transport: watch))
        configuration.validator = EntitlementServiceClient(
            configuration: .init(
                baseURL: surroundings.serverURL, key: APIKey(surroundings.publicKey), environment: .sandbox),
            transport: watch)
        configuration.storage = try FileSecureStorage(directory: surroundings.folder)
        configuration.storageName = surroundings.folder
        configuration.customer = CustomerID(rawValue: surroundings.customer)
        configuration.clock = surroundings.clock
        configuration.retryPause = { .milliseconds(50 << min($0 - 1, 4)) }
        let store = try Store(configuration: configuration)
        var remote = RemotePurchasePlugin.Configuration(
            baseURL: surroundings.serverURL, key: APIKey(surroundings.publicKey))
        // What was changed at the server is looked for at once.
        remote.freshness = .none
        remote.sellsOnTheWeb = false
        let client = PurchaseClient()
        try await client.setup(
            with: [
                InAppStorePurchasePlugin(store: store),
                RemotePurchasePlugin(configuration: remote, transport: watch),
            ], appUserId: .string(surroundings.customer))
        return try DemoDevice(store: store, client: client, watch: watch)
    }

    private init(store: Store, client: PurchaseClient, watch: PurchaseWatch) throws {
        self.store = store
        self.client = client
        self.watch = watch
        hub = Hub()
        hub.register { sender, _ in StoreHubPlugin(messageSender: sender, store: store, client: client) }
        hub.register(ScreenPlugin.self)
        let report = hub.start()
        guard !report.hasErrors, let screen = hub.plugin(named: ScreenPlugin.name) as? ScreenPlugin else {
            throw DemoFault(report.findings.map(\.sentence).joined(separator: " "))
        }
        self.screen = screen
    }

    /// What the store sells, as the screen sees it.
    func products() throws -> [JSONValue] { try screen.ask("store.products")["products"]?.arrayValue ?? [] }

    /// Buys through the hub and returns the payload of `store.purchaseResult`.
    func buy(_ product: ProductID) async throws -> JSONObject {
        try await screen.command(
            "store.purchase", ["productID": .string(product.rawValue)], answeredBy: "store.purchaseResult")
    }

    /// Restores through the hub and returns the payload of `store.restoreResult`.
    func restore() async throws -> JSONObject {
        try await screen.command("store.restore", [:], answeredBy: "store.restoreResult")
    }

    func close() async {
        await hub.stop()
        await store.close()
    }
}

/// A screen: it buys, restores and looks at what is sold, through messages only.
final class ScreenPlugin: PluginProtocol {
    static let name = "screen"
    let policy = Policy(
        name: ScreenPlugin.name,
        send: .init(commands: ["store.purchase", "store.restore"], queries: ["store.products", "store.features"]),
        subscribe: ["store.purchaseResult", "store.restoreResult"])
    private let sender: any MessageSending

    init(messageSender: any MessageSending, configurationFiles: [String: String]) {
        sender = messageSender
    }

    func ask(_ query: String) throws -> JSONObject {
        try sender.send(query: try Message(query), payload: nil, sender: self)
    }

    /// Sends a command under a name of its own and waits for the event that answers it.
    func command(_ command: String, _ payload: JSONObject, answeredBy event: String) async throws -> JSONObject {
        let id = MessageID.unique()
        let answers = try sender.publisher(forEvent: try Message(event), payload: nil, subscriber: self)
            .filter(correlationId: id).values()
        try sender.send(command: try Message(command, id: id), payload: payload, sender: self)
        for await answer in answers { return try answer.payload() }
        throw DemoFault("the hub stopped before \(command) was answered")
    }
}
