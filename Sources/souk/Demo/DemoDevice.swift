import Foundation
import HTTPCore
import InAppStore
import PluginHub
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel
import ZipExtraction

/// An app on a device, composed as in a real app: a store, a purchase client over three plugins, a hub, and a screen
/// that uses only messages.
final class DemoDevice: Sendable {
    struct Context: Sendable {
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
        /// The pause before each part of a download, so that a person can watch.
        var contentPause: Duration?
    }

    let store: Store
    let client: PurchaseClient
    let monitor: PurchaseMonitor
    let remoteTransport: DisconnectableTransport
    private let hub: Hub
    private let screen: ScreenPlugin

    static func launch(_ context: Context) async throws -> DemoDevice {
        let monitor = PurchaseMonitor(context.network)
        var configuration = StoreConfiguration(productListPath: "")
        configuration.productList = context.products
        configuration.connection = RemoteStoreConnection(
            configuration: .init(url: context.storeURL, account: context.account, transport: monitor))
        configuration.validator = EntitlementServiceClient(
            configuration: .init(
                baseURL: context.serverURL, key: APIKey(context.publicKey), environment: .sandbox),
            transport: monitor)
        configuration.storage = try FileSecureStorage(directory: context.folder)
        configuration.storageName = context.folder
        configuration.contentFolder = context.folder + ".content"
        configuration.archiveExtractor = ZipExtractor()
        configuration.contentFetchers = [contentFetcher(context)]
        configuration.customer = CustomerID(rawValue: context.customer)
        configuration.clock = context.clock
        configuration.retryPause = { .milliseconds(50 << min($0 - 1, 4)) }
        let store = try Store(configuration: configuration)
        var remote = RemotePurchasePlugin.Configuration(
            baseURL: context.serverURL, key: APIKey(context.publicKey))
        // Changes on the server must be visible at once.
        remote.freshness = .none
        remote.sellsOnTheWeb = false
        remote.backoff = Backoff(attempts: 2, initial: .milliseconds(50))
        let remoteTransport = DisconnectableTransport(monitor)
        let client = PurchaseClient()
        try await client.setup(
            with: [
                InAppStorePurchasePlugin(store: store),
                RemotePurchasePlugin(configuration: remote, transport: remoteTransport), DemoGiftCards(),
            ], appUserId: .string(context.customer))
        return try DemoDevice(store: store, client: client, monitor: monitor, remoteTransport: remoteTransport)
    }

    /// A fetcher that downloads in small parts, so that the progress of a small archive is visible.
    private static func contentFetcher(_ context: Context) -> RemoteContentFetcher {
        var configuration = RemoteContentFetcher.Configuration()
        configuration.piece = 128 << 10
        let network = context.network
        return RemoteContentFetcher(
            transport: context.contentPause.map { DelayedTransport(network: network, pause: $0) } ?? network,
            configuration: configuration)
    }

    private init(
        store: Store, client: PurchaseClient, monitor: PurchaseMonitor, remoteTransport: DisconnectableTransport
    ) throws {
        self.store = store
        self.client = client
        self.monitor = monitor
        self.remoteTransport = remoteTransport
        hub = Hub()
        hub.register { sender, _ in StoreHubPlugin(messageSender: sender, store: store, client: client) }
        hub.register(ScreenPlugin.self)
        let report = hub.start()
        guard !report.hasErrors, let screen = hub.plugin(named: ScreenPlugin.name) as? ScreenPlugin else {
            throw DemoFault(report.findings.map(\.sentence).joined(separator: " "))
        }
        self.screen = screen
    }

    /// The decisions of the device's hub, as they are made.
    var trace: HubTrace { hub.trace }

    /// The products of the store, as the screen gets them.
    func products() throws -> [JSONValue] { try screen.ask("store.products")["products"]?.arrayValue ?? [] }

    /// Buys through the hub and returns the payload of `store.purchaseResult`.
    func buy(_ product: ProductID) async throws -> JSONObject {
        try await screen.command(
            "store.purchase", ["productID": .string(product.rawValue)], answeredBy: "store.purchaseResult")
    }

    /// Fetches the content of a product through the hub. `onProgress` receives the payload of every
    /// `store.contentProgress`.
    func fetchContent(of product: ProductID, onProgress: (JSONObject) -> Void) async throws {
        let answers = try screen.answers(
            to: "store.fetchContent", ["productID": .string(product.rawValue)], as: "store.contentProgress")
        for await answer in answers {
            let progress = try answer.payload()
            onProgress(progress)
            if progress["isComplete"] == true { return }
        }
        throw DemoFault("the hub stopped before the content was fetched")
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

/// A screen that buys, restores and lists products, through messages only.
final class ScreenPlugin: PluginProtocol {
    static let name = "screen"
    let policy = Policy(
        name: ScreenPlugin.name,
        send: .init(
            commands: ["store.purchase", "store.restore", "store.fetchContent"],
            queries: ["store.products", "store.features"]),
        subscribe: ["store.purchaseResult", "store.restoreResult", "store.contentProgress"])
    private let sender: any MessageSending

    init(messageSender: any MessageSending, configurationFiles: [String: String]) {
        sender = messageSender
    }

    func ask(_ query: String) throws -> JSONObject {
        try sender.send(query: try Message(query), payload: nil, sender: self)
    }

    /// Sends a command with its own correlation id and returns the events that answer it.
    func answers(to command: String, _ payload: JSONObject, as event: String) throws -> BufferedSequence<EventOutput> {
        let id = MessageID.unique()
        let answers = try sender.publisher(forEvent: try Message(event), payload: nil, subscriber: self)
            .filter(correlationId: id).values()
        try sender.send(command: try Message(command, id: id), payload: payload, sender: self)
        return answers
    }

    /// Sends a command and waits for the event that answers it.
    func command(_ command: String, _ payload: JSONObject, answeredBy event: String) async throws -> JSONObject {
        for await answer in try answers(to: command, payload, as: event) { return try answer.payload() }
        throw DemoFault("the hub stopped before \(command) was answered")
    }
}
