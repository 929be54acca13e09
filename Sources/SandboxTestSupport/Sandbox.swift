import AppStoreSimulator
import EntitlementServer
import Foundation
import HTTPCore
import InAppStore
import Primitives
import Purchases
import SignedData
import StoreKitAdapter
import StoreModel

/// A simulated App Store, an entitlement server and devices in one process, for the tests of an app or of a backend.
///
///     let sandbox = try await Sandbox.open(catalogue: "darkroom.storekit")
///     let store = try await sandbox.launch(customer: "anna")
///     try await store.purchaseProduct("com.example.darkroom.plus.monthly")
///     try await sandbox.appStore.advance(by: .months(1))
///     await sandbox.close()
///
/// The sandbox uses no network. Time is virtual and stopped until the test moves it. All data is in a temporary folder,
/// which `close()` removes.
public final class Sandbox: Sendable {
    /// The simulated App Store, on which a test buys, refunds and moves time.
    public let appStore: SimulatedAppStore
    /// The entitlement server, which trusts `appStore` and follows its clock.
    public let server: EntitlementService
    /// The API keys of the app.
    public let keys: IssuedKeys
    /// A transport that sends all requests to the server.
    public let serverTransport: any HTTPTransport

    private let list: ProductList
    let folder: String
    private let serving: Task<Void, any Error>
    private let devices = Locked<[String: DeviceID]>([:])

    /// Opens an App Store with a catalogue, and a server that trusts it.
    ///
    /// - Parameters:
    ///   - catalogue: The path of a StoreKit configuration file.
    ///   - features: The path of a feature map. Without one, each product except consumables gives a feature with the
    ///     product's id.
    ///   - start: The initial virtual time; the present by default.
    /// - Returns: The open sandbox.
    /// - Throws: An error that describes the first error in a file, and the errors of reading the file.
    public static func open(catalogue: String, features: String? = nil, start: Date? = nil) async throws -> Sandbox {
        try await open(
            Catalogue(parsing: bytes(of: catalogue), file: catalogue),
            features: features.map { try FeatureMap(parsing: bytes(of: $0)) } ?? FeatureMap(), start: start)
    }

    /// Opens an App Store with a catalogue, and a server that trusts it.
    ///
    /// - Parameters:
    ///   - catalogue: The products of the App Store.
    ///   - features: The features that purchases give.
    ///   - start: The initial virtual time; the present by default.
    public static func open(
        _ catalogue: Catalogue, features: FeatureMap = FeatureMap(), start: Date? = nil
    ) async throws -> Sandbox {
        let folder = FileManager.default.temporaryDirectory.path + "/souk-sandbox-\(UUID().uuidString)"
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let notifications = LaterTransport()
            let appStore = try await openAppStore(catalogue, start, folder, notifications)
            do {
                return try await Sandbox(appStore, catalogue, features, folder, notifications)
            } catch {
                await appStore.close()
                throw error
            }
        } catch {
            try? FileManager.default.removeItem(atPath: folder)
            throw error
        }
    }

    private static func openAppStore(
        _ catalogue: Catalogue, _ start: Date?, _ folder: String, _ notifications: LaterTransport
    ) async throws -> SimulatedAppStore {
        var simulated = SimulatedAppStore.Configuration(catalogue: catalogue, dataDirectory: folder + "/app-store")
        simulated.timeRate = .frozen
        simulated.start = start
        simulated.notificationsURL = "http://server/v1/notifications/app-store"
        simulated.notificationTransport = notifications
        return try await SimulatedAppStore.open(simulated)
    }

    private init(
        _ appStore: SimulatedAppStore, _ catalogue: Catalogue, _ features: FeatureMap, _ folder: String,
        _ notifications: LaterTransport
    ) async throws {
        var app = EntitlementService.Configuration.App(bundleID: appStore.summary.bundleID)
        app.features = features
        app.customerRateLimit = nil
        let root = try TrustAnchor.certificates(in: Self.bytes(of: appStore.summary.rootCertificate))
        let server = try await EntitlementService(
            ledgerAt: URL(fileURLWithPath: folder + "/ledger.sqlite"), for: app, environments: [.sandbox]
        ) {
            $0.trustAnchors = root
            $0.clock = appStore.clock
        }
        guard let keys = try await server.createMissingKeys().first else {
            throw EntitlementServerError(.invalidConfiguration, "The server created no API keys.")
        }
        self.appStore = appStore
        self.server = server
        self.keys = keys
        self.folder = folder
        serverTransport = InProcessTransport(server)
        list = ProductList.lint(catalogue.productList.encoded(), file: "the catalogue").list ?? ProductList([])
        serving = Task { try await server.run() }
        notifications.begin(serverTransport)
    }

    /// Launches the app on a device. A second launch on the same device finds the stored data of the first; close the
    /// first store before.
    ///
    /// - Parameters:
    ///   - customer: The customer who is logged in; `nil` is the anonymous customer of the device.
    ///   - device: The name of the device.
    ///   - account: The App Store account on a new device. It is created if it is missing.
    ///   - configure: Changes the store's configuration.
    public func launch(
        customer: CustomerID? = nil, on device: String = "phone", account: AccountName = "default",
        configure: (inout StoreConfiguration) throws -> Void = { _ in }
    ) async throws -> Store {
        let connection = try await connect(device, account)
        do {
            var configuration = StoreConfiguration(
                productList: list, serverURL: "http://server", publicKey: APIKey(keys.publicKey))
            configuration.transport = serverTransport
            configuration.connection = connection
            configuration.storage = try FileSecureStorage(directory: "\(folder)/devices/\(device)")
            configuration.storageName = "\(folder)/devices/\(device)"
            configuration.customer = customer
            configuration.clock = appStore.clock
            try configure(&configuration)
            return try Store(configuration: configuration)
        } catch {
            await connection.close()
            throw error
        }
    }

    private func connect(_ device: String, _ account: AccountName) async throws -> InProcessStoreConnection {
        if let known = devices.withLock({ $0[device] }) { return try appStore.connection(device: known) }
        if try !appStore.accounts().contains(account) { try await appStore.createAccount(account) }
        let connection = try await appStore.connection(account: account)
        devices.withLock { $0[device] = connection.device }
        return connection
    }

    /// Closes the App Store and the server, and removes their data. Close the stores before.
    public func close() async {
        serving.cancel()
        _ = await serving.result
        await appStore.close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    private static func bytes(of file: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: file)))
    }
}

/// A transport to a server that is created after its clients.
private final class LaterTransport: HTTPTransport {
    private let server = Locked<(any HTTPTransport)?>(nil)

    func begin(_ transport: any HTTPTransport) { server.withLock { $0 = transport } }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let server = server.withLock({ $0 }) else {
            throw HTTPError(.connectionFailed, "The server has not started.")
        }
        return try await server.send(request)
    }
}
