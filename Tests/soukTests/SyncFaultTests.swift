import AppStoreSimulator
import BaseTestSupport
import EntitlementServer
import Foundation
import HTTPCore
import Primitives
import SQLStorage
import SignedData
import StoreModel
import StoreTestSupport
import Testing

@testable import souk

/// A store with a history, and servers that have not received it, all in this process.
private final class History: Sendable {
    static let app: BundleID = "com.example.darkroom"
    static let start = Date(timeIntervalSince1970: 1_780_000_000)

    let folder: TemporaryFolder
    let store: SimulatedAppStore
    private let key: AppStoreConnectKey

    init() async throws {
        folder = try TemporaryFolder()
        let catalogue = try Catalogue(parsing: try InputFile.read(TestFiles.darkroom), file: TestFiles.darkroom)
        var configuration = SimulatedAppStore.Configuration(
            catalogue: catalogue, bundleID: Self.app, dataDirectory: folder.file("store"))
        configuration.timeRate = .frozen
        configuration.start = Self.start
        configuration.notificationsURL = "http://nobody.test/"
        configuration.notificationTransport = InProcessTransport(
            AnyHTTPHandler { _ in .ready(HTTPResponse(status: 404)) })
        store = try await SimulatedAppStore.open(configuration)
        let api = store.summary.serverAPI
        key = AppStoreConnectKey(
            try SigningKey(try InputFile.read(api.privateKey)), id: api.keyID, issuerID: api.issuerID,
            bundleID: Self.app)
        for account in ["ada", "ben", "carl", "dora"] {
            try await store.createAccount(AccountName(unchecked: account))
            try await store.buy(
                .init(productID: "com.example.darkroom.plus.monthly"), for: AccountName(unchecked: account))
        }
        try await store.advance(.init(period: .months(5)))
        try await store.deliverNotifications()
    }

    /// Starts a server with only the first purchase of its customer anna.
    func server(_ name: String) async throws -> Server {
        let database = try SQLiteDatabase(path: folder.file("\(name).sqlite"))
        var configuration = EntitlementService.Configuration(
            database: database, apps: [.init(bundleID: Self.app)], environments: [.sandbox])
        configuration.trustAnchors = [
            TrustAnchor(try Certificate(der: try InputFile.read(store.summary.rootCertificate)))
        ]
        configuration.clock = store.clock
        let service = try await EntitlementService(configuration: configuration)
        let keys = try #require(try await service.createMissingKeys().first)
        let server = Server(history: self, database: database, service: service, key: keys.secretKey)
        let first = try #require(try await store.transactions(of: "ada").first)
        let presented = try await server.sender(over: InProcessTransport(service)).post(
            "/v1/customers/anna/transactions", ["signedTransaction": .string(first.signedTransaction)])
        guard case .done = presented else { throw Failure("the first purchase was not accepted") }
        return server
    }

    struct Server: Sendable {
        let history: History
        let database: SQLiteDatabase
        let service: EntitlementService
        let key: String

        func sender(over network: any HTTPTransport) -> FactSender {
            FactSender(
                ServiceClient(
                    url: "http://souk.test", headers: ["Authorization": "Bearer \(key)"], transport: network),
                backoff: .none)
        }

        /// The store and the server behind one network.
        func network(_ fault: FaultyTransport.Fault? = nil, atCall call: Int = 0) -> FaultyTransport {
            FaultyTransport(
                TwoHosts(store: InProcessTransport(history.store.handler), server: InProcessTransport(service)), fault,
                atCall: call)
        }

        /// A sync without retries.
        func sync(over network: any HTTPTransport) -> StoreSync {
            var configuration = AppStoreServerAPIClient.Configuration(key: history.key, baseURL: "http://localhost")
            configuration.backoff = .none
            return StoreSync(
                store: AppStoreServerAPIClient(configuration: configuration, transport: network),
                server: sender(over: network))
        }

        /// Returns the content of the ledger, and the answer about anna.
        func contents() async throws -> [String] {
            let answer = try await sender(over: InProcessTransport(service)).get("/v1/customers/anna")
            let counts = try ["fact", "document", "claim", "purchase"].map { table in
                try database.read { connection in
                    let count: Int = try #require(try connection.first("SELECT count(*) AS n FROM \(table)"))["n"]
                    return "\(count) \(table)"
                }
            }
            return counts + [answer.text()]
        }
    }

    private struct TwoHosts: HTTPTransport {
        let store: InProcessTransport
        let server: InProcessTransport

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            try await (request.url.hasPrefix("http://localhost/") ? store : server).send(request)
        }
    }
}

/// `souk sync` with a network fault in each of its calls.
@Suite struct SyncFaultTests {
    /// Runs `work` without a fault, then with each fault at each of its calls, and once more after each. The final
    /// content must be the same.
    private func breakEveryCall(
        _ work: @Sendable (StoreSync, _ run: String) async throws -> FactReport
    ) async throws {
        let history = try await History()
        let whole = try await history.server("whole")
        let network = whole.network()
        let before = try await whole.contents()
        let report = try await work(whole.sync(over: network), "whole")
        let expected = try await whole.contents()
        #expect(expected != before && report.rejected == 0 && network.calls > 3)

        for fault in FaultyTransport.Fault.allCases {
            for call in 1...network.calls {
                let run = "\(fault)-\(call)"
                let server = try await history.server(run)
                let sync = server.sync(over: server.network(fault, atCall: call))
                await #expect(throws: (any Error).self, "\(run)") { try await work(sync, run) }
                let again = try await work(sync, run)
                #expect(try await server.contents() == expected, "\(run)")
                #expect(again.rejected == 0 && again.accepted == report.accepted, "\(run)")
                await server.database.close()
            }
        }
        await whole.database.close()
        await history.store.close()
    }

    @Test func `whichever call of a sync fails, the next run brings every notification once`() async throws {
        let states = try TemporaryFolder()
        let since = History.start.addingTimeInterval(-86400)
        try await breakEveryCall { sync, run in
            try await sync.notifications(
                since: since, until: since.addingTimeInterval(170 * 86400),
                remembering: StateFile(path: states.file(run)))
        }
    }

    @Test func `whichever call of a sync by customer fails, the next run brings all purchases of the customer`()
        async throws
    {
        try await breakEveryCall { sync, _ in try await sync.purchases(of: ["anna"]) }
    }
}
