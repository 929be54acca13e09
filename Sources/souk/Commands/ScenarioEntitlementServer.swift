import AppStoreSimulator
import EntitlementServer
import Foundation
import GooglePlay
import HTTPCore
import Primitives
import SQLStorage
import SignedData
import StoreModel

/// The entitlement server of a scenario: in this process, with a ledger that is not kept, in the virtual time of the
/// scenario's stores. It verifies the stores' signatures and sends its own requests to them.
struct ScenarioEntitlementServer: ScenarioServer {
    static var answer: WireSchema { .customer }

    let publicKey: String
    private let service: EntitlementService
    private let database: SQLiteDatabase

    var handler: any HTTPHandler { service }

    /// The URL of the stores for the server, whose requests do not leave the process. The stores accept no other host.
    private static let storeURL = "http://127.0.0.1:1"

    static func open(
        _ settings: Scenario.ServerSettings, for store: SimulatedAppStore
    ) async throws -> ScenarioEntitlementServer {
        let database = try SQLiteDatabase.temporary()
        do {
            return try await ScenarioEntitlementServer(settings, store, database)
        } catch {
            await database.close()
            throw error
        }
    }

    private init(
        _ settings: Scenario.ServerSettings, _ store: SimulatedAppStore, _ database: SQLiteDatabase
    ) async throws {
        let transport = InProcessTransport(store.handler)
        var app = EntitlementService.Configuration.App(
            bundleID: store.summary.bundleID, features: settings.features)
        app.credits = settings.credits
        app.transferMode = settings.transferMode
        app.customerRateLimit = nil
        app.appStore = [.sandbox: try Self.appStore(store, transport)]
        app.googlePlay = try Self.googlePlay(store, transport, settings.playConsumables)
        var configuration = EntitlementService.Configuration(
            database: database, apps: [app], environments: [.sandbox])
        configuration.trustAnchors = try TrustAnchor.certificates(
            in: InputFile.read(store.summary.rootCertificate, limit: 1 << 16))
        // The pauses of jobs pass in virtual time too.
        configuration.clock = store.clock
        configuration.realClock = store.clock
        configuration.reportFailure = { name, error in
            Terminal.note("souk: the server of the scenario: \(name): \(error)")
        }
        service = try await EntitlementService(configuration: configuration)
        guard let keys = try await service.createMissingKeys().first else {
            throw Failure("the server of the scenario has no API keys")
        }
        publicKey = keys.publicKey
        self.database = database
    }

    func doDueWork() async throws { try await service.doDueWork() }

    func close() async { await database.close() }

    private static func appStore(
        _ store: SimulatedAppStore, _ transport: any HTTPTransport
    ) throws -> AppStoreServerAPIClient {
        let api = store.summary.serverAPI
        let key = AppStoreConnectKey(
            try SigningKey(InputFile.read(api.privateKey, limit: 1 << 16)), id: api.keyID, issuerID: api.issuerID,
            bundleID: store.summary.bundleID)
        var configuration = AppStoreServerAPIClient.Configuration(key: key, baseURL: storeURL)
        configuration.backoff = .none
        return AppStoreServerAPIClient(configuration: configuration, transport: transport)
    }

    /// Returns `nil` if the scenario has no Google Play.
    private static func googlePlay(
        _ store: SimulatedAppStore, _ transport: any HTTPTransport, _ consumables: Set<ProductID>
    ) throws -> GooglePlayApp? {
        guard case .object(let announced) = try store.announcement(listeningAt: storeURL)["googlePlay"],
            let name = announced["packageName"]?.stringValue, let account = announced["serviceAccount"]?.stringValue
        else { return nil }
        var configuration = GooglePlayClient.Configuration(
            packageName: PackageName(unchecked: name),
            key: try ServiceAccountKey(parsing: try InputFile.read(account, limit: 1 << 16)), baseURL: storeURL)
        configuration.backoff = .none
        var app = GooglePlayApp(client: GooglePlayClient(configuration: configuration, transport: transport))
        app.consumables = consumables
        app.notifications = .init(
            verifier: GooglePlayPushVerifier(
                keysURL: storeURL + GooglePlayOptions.simulatorKeysPath, transport: transport),
            token: PushToken(
                audience: Scenario.playNotificationsURL, email: GooglePlayOptions.simulatorAccount))
        return app
    }
}
