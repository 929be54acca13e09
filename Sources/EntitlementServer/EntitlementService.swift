import Foundation
import HTTPCore
import Primitives
import SQLStorage
import SignedData
import StoreModel

/// The entitlement server: verifies what the stores signed, keeps it, and answers what each customer may use.
///
///     var file = SQLiteDatabase.Configuration()
///     file.isExclusive = true
///     let service = try await EntitlementService(
///         configuration: .init(
///             database: try SQLiteDatabase(path: "ledger.sqlite", configuration: file),
///             apps: [.init(bundleID: "com.example.darkroom")], environments: [.production, .sandbox]))
///     let keys = try await service.createMissingKeys { try save($0) }
///
/// An `HTTPHandler` of the wire contract, to be bound to a listener or called in process. A transaction is acknowledged
/// only when it is durable. Reads of a customer are answered at once, without suspension, while the stored answer is true.
public final class EntitlementService: HTTPHandler {
    private let configuration: Configuration
    private let keys: KeyRing
    private let router: Router
    let ledger: Ledger

    /// Brings the database up to date and makes ready to serve.
    ///
    /// Throws `EntitlementServerError` with `invalidConfiguration`, and what the database throws.
    public init(configuration: Configuration) async throws {
        try configuration.check()
        let database = configuration.database
        try database.migrate(Schema.migrations)
        try await Self.enter(configuration.apps, into: database, at: configuration.clock.now())
        self.configuration = configuration
        let keys = KeyRing(database: database)
        self.keys = keys
        ledger = Ledger(
            database: database, clock: configuration.clock, cache: AnswerCache(capacity: configuration.cachedAnswers),
            features: Dictionary(uniqueKeysWithValues: configuration.apps.map { ($0.bundleID, $0.features) }))
        router = Self.routes(configuration, keys, ledger)
    }

    public func respond(to request: HTTPRequest) -> HTTPReply {
        let id = configuration.makeRequestID()
        var request = request
        request.headers.add(Gate.requestID, id)
        return router.respond(to: request).map { response in
            var response = response
            response.headers.add(Gate.requestID, id)
            return response
        }
    }

    /// Makes a public and a secret key for each configured app that has none, and returns them.
    ///
    /// `save` is called with each pair before it becomes valid, because afterwards nobody can read it any more. What it
    /// throws is thrown here, and then no key was made.
    public func createMissingKeys(save: (IssuedKeys) throws -> Void = { _ in }) async throws -> [IssuedKeys] {
        let issued = try keys.appsWithoutKeys(among: configuration.apps.map(\.bundleID)).map { app in
            IssuedKeys(bundleID: app, publicKey: newKey("souk_public_"), secretKey: newKey("souk_secret_"))
        }
        for pair in issued { try save(pair) }
        try await keys.insert(issued, at: configuration.clock.now())
        return issued
    }

    private func newKey(_ prefix: String) -> String { prefix + Base64.encodeURL(configuration.randomBytes(32)) }

    /// Remembers the apps. Where an app's features are mapped otherwise than before, its stored answers are no longer true.
    private static func enter(
        _ apps: [Configuration.App], into database: any SQLDatabase, at now: Date
    ) async throws {
        try await database.write { connection in
            for app in apps {
                let digest = rulesDigest(app.features)
                let name = SQLValue.text(app.bundleID.rawValue)
                let row = try connection.first("SELECT rules_digest FROM app WHERE bundle_id = ?1", [name])
                guard let row else {
                    try connection.execute(
                        "INSERT INTO app (bundle_id, rules_digest, created_at) VALUES (?1, ?2, ?3)",
                        [name, .blob(digest), .integer(now.milliseconds)])
                    continue
                }
                guard try row["rules_digest"] != digest else { continue }
                try connection.execute("UPDATE app SET rules_digest = ?2 WHERE bundle_id = ?1", [name, .blob(digest)])
                try connection.execute("UPDATE customer SET valid_until = 0 WHERE app = ?1", [name])
            }
        }
    }

    /// What stored answers depend on beside the facts. The number goes up when the reducer decides otherwise than before.
    private static func rulesDigest(_ features: FeatureMap) -> [UInt8] {
        let products = features.features.mapValues { products in
            JSONValue.array(products.map(\.rawValue).sorted().map { .string($0) })
        }
        return SHA256.hash(JSONValue.array([1, .object(products)]).encoded())
    }

    private static func routes(_ configuration: Configuration, _ keys: KeyRing, _ ledger: Ledger) -> Router {
        let gate = Gate(
            keys: keys, apps: Set(configuration.apps.map(\.bundleID)), environments: configuration.environments,
            report: { request, error in
                // The last one is ours, whatever the sender called the request.
                configuration.reportFailure(request.headers.values(Gate.requestID).last ?? "", error)
            })
        let idempotent = IdempotentRequests(ledger: ledger, realClock: configuration.realClock)
        let transactions = TransactionsRoute(
            gate: gate, ledger: ledger, idempotent: idempotent, verifiers: verifiers(configuration),
            maximumBody: configuration.maximumBody)
        let customers = CustomerRoutes(gate: gate, ledger: ledger)
        let grants = GrantRoutes(
            gate: gate, ledger: ledger, idempotent: idempotent, makeID: configuration.makeGrantID)
        let provisioning = ProvisioningRoutes(gate: gate, ledger: ledger)

        var router = Router()
        router.on(.post, "/v1/customers/{customer}/transactions", transactions.respond)
        router.on(.get, "/v1/customers/{customer}", customers.customer)
        router.on(.get, "/v1/customers/{customer}/facts", customers.facts)
        router.on(.post, "/v1/customers/{customer}/grants", grants.create)
        router.on(.delete, "/v1/customers/{customer}/grants/{id}", grants.delete)
        router.on(.post, "/feature-provisioner/get-features", provisioning.features)
        router.on(.post, "/subscriptions-tracker/get-subscriptions", provisioning.subscriptions)
        OpenRoutes.add(to: &router, database: configuration.database)
        return router
    }

    private static func verifiers(_ configuration: Configuration) -> [BundleID: SignedDataVerifier] {
        let environments = Set(configuration.environments.map { AppStoreEnvironment(rawValue: $0.appleText) })
        return Dictionary(
            uniqueKeysWithValues: configuration.apps.map { app in
                let accepted = SignedDataVerifier.Configuration(
                    bundleIDs: [app.bundleID], environments: environments, appAppleID: app.appAppleID,
                    trustAnchors: configuration.trustAnchors)
                return (app.bundleID, SignedDataVerifier(configuration: accepted))
            })
    }
}
