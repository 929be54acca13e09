import AppStorePayloads
import BaseTestSupport
import Foundation
import HTTPCore
import HostTestSupport
import PostgresStorage
import Primitives
import SignedData
import StoreModel
import Testing

@testable import EntitlementServer
@testable import SQLStorage

/// A server over a real database, with a store whose signatures it trusts and clocks that only a test moves.
struct ServerBench: Sendable {
    static let app: BundleID = "com.example.darkroom"
    static let otherApp: BundleID = "com.example.other"
    static let chain = Result { try SigningChain.generate() }
    static let foreignChain = Result { try SigningChain.generate() }
    static let map = FeatureMap(features: ["pro": ["pro.monthly", "pro.yearly"]])

    let folder: Folder
    let database: any SQLDatabase
    /// The store's time, which decides about access.
    let clock = ManualClock()
    /// The real time, which decides about keys, tokens, limits and deliveries.
    let realClock = ManualClock()
    let failures = Locked<[String]>([])
    let service: EntitlementService
    let keys: [BundleID: IssuedKeys]

    /// A folder that is removed with its last bench.
    final class Folder: Sendable {
        let url: URL

        init() throws {
            url = FileManager.default.temporaryDirectory.appendingPathComponent("souk-server-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(at: url) }

        var databasePath: String { url.appendingPathComponent("ledger.sqlite").path }

        private let postgresURL = Locked<Task<String, any Error>?>(nil)

        /// Creates a folder whose ledger is the PostgreSQL database at `url`, instead of one of
        /// `PostgresCluster.shared()`.
        convenience init(url: String) throws {
            try self.init()
            postgresURL.withLock { $0 = Task { url } }
        }

        /// Opens the ledger of this folder on the engine under test: a file in the folder, or a database of the test
        /// server.
        func open(checkpointPages: Int) async throws -> any SQLDatabase {
            switch ServerBench.engine {
            case .postgreSQL:
                let url = postgresURL.withLock { task in
                    let made = task ?? Task { try await PostgresCluster.shared().makeDatabase() }
                    task = made
                    return made
                }
                return try PostgresDatabase(url: try await url.value, configuration: ServerBench.postgres)
            default:
                var storage = SQLiteDatabase.Configuration()
                storage.checkpointPages = checkpointPages
                return try SQLiteDatabase(path: databasePath, configuration: storage)
            }
        }
    }

    /// The engine of a bench. `SOUK_DATABASE=postgresql` runs all tests of the server on PostgreSQL.
    @TaskLocal static var engine: SQLDialect =
        ProcessInfo.processInfo.environment["SOUK_DATABASE"] == "postgresql" ? .postgreSQL : .sqlite

    /// The configuration of PostgreSQL databases.
    @TaskLocal static var postgres = PostgresDatabase.Configuration()

    init(
        environments: [StoreEnvironment] = [.sandbox], folder: Folder? = nil,
        keys known: [BundleID: IssuedKeys] = [:], checkpointPages: Int = 12_000,
        configure: (inout EntitlementService.Configuration) -> Void = { _ in },
        wrapping wrap: ((any SQLDatabase) -> any SQLDatabase)? = nil
    ) async throws {
        let place = try folder ?? Folder()
        self.folder = place
        let file = try await place.open(checkpointPages: checkpointPages)
        database = wrap?(file) ?? file
        var configuration = EntitlementService.Configuration(
            database: database,
            apps: [.init(bundleID: Self.app, features: Self.map), .init(bundleID: Self.otherApp)],
            environments: environments)
        configuration.trustAnchors = [TrustAnchor(try Self.chain.get().root)]
        configuration.clock = clock
        configuration.realClock = realClock
        configuration.monotonicClock = realClock.monotonic
        let failures = failures
        configuration.reportFailure = { _, error in failures.withLock { $0.append("\(error)") } }
        configure(&configuration)
        service = try await EntitlementService(configuration: configuration)
        let issued = try await service.createMissingKeys().map { ($0.bundleID, $0) }
        keys = known.merging(issued) { _, new in new }
    }

    func close() async { await database.close() }

    // MARK: - The store

    func sign(
        _ payload: AppStorePayload<some AppStorePayloadFields>, by chain: Result<SigningChain, any Error> = chain
    ) throws -> String {
        try JWSSigner(chain.get()).sign(payload)
    }

    /// Returns a signed period, by default of `pro.monthly` for 30 days from now.
    func period(
        _ id: String = "1", of original: String? = nil, product: String = "pro.monthly", days: Double = 30,
        _ change: (inout JWSTransactionDecodedPayload) -> Void = { _ in }
    ) throws -> String {
        let now = clock.now()
        var payload = JWSTransactionDecodedPayload {
            $0.transactionId = id
            $0.originalTransactionId = original ?? id
            $0.bundleId = Self.app.rawValue
            $0.productId = product
            $0.subscriptionGroupIdentifier = "group"
            $0.purchaseDate = now
            $0.originalPurchaseDate = now
            $0.expiresDate = now.addingTimeInterval(days * 86400)
            $0.quantity = 1
            $0.type = .autoRenewableSubscription
            $0.inAppOwnershipType = .purchased
            $0.signedDate = now
            $0.environment = .sandbox
            $0.price = 4990
            $0.currency = "USD"
        }
        change(&payload)
        return try sign(payload)
    }

    func purchase(
        _ id: String, product: String = "tools", type: ProductType = .nonConsumable,
        _ change: (inout JWSTransactionDecodedPayload) -> Void = { _ in }
    ) throws -> String {
        try sign(purchasePayload(id, product: product, type: type, change))
    }

    func purchasePayload(
        _ id: String, product: String = "tools", type: ProductType = .nonConsumable,
        _ change: (inout JWSTransactionDecodedPayload) -> Void = { _ in }
    ) -> JWSTransactionDecodedPayload {
        let now = clock.now()
        var payload = JWSTransactionDecodedPayload {
            $0.transactionId = id
            $0.originalTransactionId = id
            $0.bundleId = Self.app.rawValue
            $0.productId = product
            $0.purchaseDate = now
            $0.originalPurchaseDate = now
            $0.quantity = 1
            $0.type = type
            $0.signedDate = now
            $0.environment = .sandbox
        }
        change(&payload)
        return payload
    }

    func renewalInfo(
        of original: String = "1", renews: Bool = true,
        _ change: (inout JWSRenewalInfoDecodedPayload) -> Void = { _ in }
    ) throws -> String {
        var payload = JWSRenewalInfoDecodedPayload {
            $0.originalTransactionId = original
            $0.productId = "pro.monthly"
            $0.autoRenewProductId = "pro.monthly"
            $0.autoRenewStatus = renews ? .on : .off
            $0.signedDate = clock.now()
            $0.environment = .sandbox
        }
        change(&payload)
        return try sign(payload)
    }

    // MARK: - Requests

    struct Reply: Sendable {
        let status: Int
        let headers: HTTPHeaders
        let bytes: [UInt8]
        /// Whether the server replied without suspending. Always `true` on PostgreSQL.
        let wasReady: Bool

        var json: JSONValue { (try? JSONValue(parsing: bytes)) ?? .null }
        var code: String? { json["code"]?.stringValue }
        var field: String? { json["field"]?.stringValue }
        var acknowledged: [String]? {
            json["acknowledgedTransactionIDs"]?.arrayValue?.compactMap(\.stringValue)
        }

        func customer() throws -> Customer { try WireJSON.decode(Customer.self, from: bytes) }
        /// The names of the active features.
        func active() throws -> [String] { try customer().features.filter(\.isActive).map(\.name) }
    }

    enum Key: Sendable {
        case `public`, secret, none
        case other(String)
    }

    func send(
        _ method: HTTPRequest.Method, _ url: String, as key: Key = .public, of app: BundleID = app,
        headers: HTTPHeaders = [:], body: HTTPBody = .empty
    ) async throws -> Reply {
        var headers = headers
        switch key {
        case .public: headers.add("Authorization", "Bearer \(try #require(keys[app]).publicKey)")
        case .secret: headers.add("Authorization", "Bearer \(try #require(keys[app]).secretKey)")
        case .other(let value): headers.add("Authorization", value)
        case .none: break
        }
        let reply = service.respond(to: HTTPRequest(method: method, url: url, headers: headers, body: body))
        let response = await reply.response()
        let wasReady = if case .ready = reply { true } else { Self.engine == .postgreSQL }
        return Reply(
            status: response.status, headers: response.headers, bytes: try await response.body.collect(upTo: 1 << 20),
            wasReady: wasReady)
    }

    func post(
        _ transactions: [String], renewals: [String] = [], for customer: String = "anna", of app: BundleID = app,
        headers: HTTPHeaders = [:]
    ) async throws -> Reply {
        var body: JSONValue = ["signedTransactions": .array(transactions.map { .string($0) })]
        if !renewals.isEmpty { body["signedRenewalInfos"] = .array(renewals.map { .string($0) }) }
        return try await send(
            .post, "/v1/customers/\(customer)/transactions", of: app, headers: headers, body: .json(body))
    }

    func post(
        _ transaction: String, for customer: String = "anna", of app: BundleID = app, headers: HTTPHeaders = [:]
    ) async throws -> Reply {
        try await send(
            .post, "/v1/customers/\(customer)/transactions", of: app, headers: headers,
            body: .json(["signedTransaction": .string(transaction)]))
    }

    func get(_ customer: String = "anna", headers: HTTPHeaders = [:]) async throws -> Reply {
        try await send(.get, "/v1/customers/\(customer)", headers: headers)
    }

    func grant(
        _ feature: String = "pro", until: Date? = nil, to customer: String = "anna", headers: HTTPHeaders = [:]
    ) async throws -> Reply {
        var body: JSONValue = ["feature": .string(feature), "reason": "support"]
        if let until { body["until"] = .string(RFC3339.string(from: until)) }
        return try await send(
            .post, "/v1/customers/\(customer)/grants", as: .secret, headers: headers, body: .json(body))
    }

    /// Returns the number of rows in a table.
    func count(_ table: String) throws -> Int {
        try database.read { try #require(try $0.first("SELECT count(*) AS n FROM \(table)"))["n"] }
    }
}

extension ManualClock {
    /// A monotonic clock that follows this clock.
    var monotonic: MonotonicClock {
        let (date, instant) = (now(), ContinuousClock.now)
        return MonotonicClock { [weak self] in
            instant + .milliseconds(Int64(((self?.now() ?? date).timeIntervalSince(date) * 1000).rounded()))
        }
    }
}

/// A database whose writes wait at a gate, so that a test can act before a write begins.
final class GatedDatabase: SQLDatabase {
    private struct State {
        var isOpen = true
        var waiting: [CheckedContinuation<Void, Never>] = []
        var observers: [CheckedContinuation<Void, Never>] = []
        var failure: SQLError?
    }

    private let inner: any SQLDatabase
    private let state = Locked(State())

    init(_ inner: any SQLDatabase) { self.inner = inner }

    var dialect: SQLDialect { inner.dialect }
    func migrate(_ migrations: [SQLMigration]) throws { try inner.migrate(migrations) }
    func read<T: Sendable>(_ body: (any SQLConnection) throws -> T) throws -> T { try inner.read(body) }
    func close() async { await inner.close() }

    func write<T: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> T) async throws -> T {
        await withCheckedContinuation { continuation in
            let (passes, observers) = state.withLock { state in
                if state.isOpen { return (true, [CheckedContinuation<Void, Never>]()) }
                state.waiting.append(continuation)
                defer { state.observers = [] }
                return (false, state.observers)
            }
            if passes { continuation.resume() }
            for observer in observers { observer.resume() }
        }
        if let failure = state.withLock({ $0.failure }) { throw failure }
        return try await inner.write(body)
    }

    /// Makes every write fail after the gate, before it begins. `nil` lets writes succeed again.
    func fail(with failure: SQLError?) { state.withLock { $0.failure = failure } }

    func shut() { state.withLock { $0.isOpen = false } }

    /// Lets later writes pass. Writes that wait continue to wait.
    func letLaterWritesPass() { state.withLock { $0.isOpen = true } }

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Waits until a write is at the gate.
    func waitForWrite() async {
        await withCheckedContinuation { continuation in
            let isMet = state.withLock { state in
                if !state.waiting.isEmpty { return true }
                state.observers.append(continuation)
                return false
            }
            if isMet { continuation.resume() }
        }
    }
}
