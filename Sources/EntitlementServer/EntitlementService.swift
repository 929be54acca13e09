import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreModel

/// The entitlement server: verifies what the stores signed, keeps it, and answers what each customer may use.
///
///     let service = try await EntitlementService(
///         ledgerAt: URL(fileURLWithPath: "ledger.sqlite"), for: .init(bundleID: "com.example.darkroom"))
///     let keys = try await service.createMissingKeys { try save($0) }
///
/// An `HTTPHandler` of the wire contract, to be bound to a listener or called in process. A transaction is acknowledged
/// only when it is durable. Reads of a customer are answered at once, without suspension, while the stored answer is true.
public final class EntitlementService: HTTPHandler {
    /// What endpoints and chores are made over.
    struct Parts: Sendable {
        let ledger: Ledger
        let tokens: CustomerTokens
        let signer: AnswerSigner
        let metrics: ServerMetrics
        let changes: ChangeSignal
        let readers: [BundleID: StoreReader]
        /// `nil` when nobody can be asked.
        let statusPoller: StatusPoller?
        /// The servers that share the database; `nil` where no other may have it.
        let registry: ServerRegistry?
    }

    private let configuration: Configuration
    private let keys: KeyRing
    private let router: Router
    private let parts: Parts
    private let date: DateField
    let jobs: [BackgroundJob]

    var ledger: Ledger { parts.ledger }
    var metrics: ServerMetrics { parts.metrics }
    var statusPoller: StatusPoller? { parts.statusPoller }

    /// Brings the database up to date and makes ready to serve.
    ///
    /// Throws `EntitlementServerError` with `invalidConfiguration`, and what the database throws.
    public init(configuration: Configuration) async throws {
        try configuration.check()
        let database = configuration.database
        try database.migrate(Schema.migrations(for: database.dialect))
        let registry =
            database.dialect == .sqlite
            ? nil
            : ServerRegistry(
                database: database, id: configuration.makeGrantID(), clock: configuration.monotonicClock)
        // Before anything else is done with the tables: from now on they stay what this program takes them for.
        try await registry?.step()
        let (secrets, rules) = try await Self.registerApps(configuration, into: database)
        let tokens = try CustomerTokens(secrets: secrets, realClock: configuration.realClock)
        self.configuration = configuration
        date = DateField(clock: configuration.clock)
        let keys = KeyRing(
            database: database, standby: configuration.standby, clock: configuration.monotonicClock)
        self.keys = keys
        let metrics = ServerMetrics()
        let changes = ChangeSignal(clock: configuration.realClock, monotonicClock: configuration.monotonicClock)
        // Answers that are kept here are right only while bodies of `write` run one at a time.
        let answerMemory = database.dialect == .sqlite ? configuration.answerMemory : 0
        let ledger = Ledger(
            database: database, clock: configuration.clock, cache: AnswerCache(bytes: answerMemory),
            metrics: metrics, changes: changes, rules: rules,
            standby: configuration.standby.map {
                Standby($0, limit: configuration.standbyLag, clock: configuration.monotonicClock)
            })
        try await ledger.sealOpenFacts()
        try await ledger.assignOldRedemptions()
        let readers = Dictionary(
            uniqueKeysWithValues: configuration.apps.map { ($0.bundleID, StoreReader($0, configuration)) })
        parts = Parts(
            ledger: ledger, tokens: tokens,
            signer: AnswerSigner(keys: configuration.signingKeys, clock: configuration.realClock), metrics: metrics,
            changes: changes, readers: readers, statusPoller: StatusPoller(configuration, readers, ledger),
            registry: registry)
        router = Self.router(configuration, keys, parts)
        jobs = try await Self.jobs(configuration, parts)
    }

    /// The steps of the ledger's schema, for tools that look at a ledger or bring it up to date before a server does.
    public static func migrations(for dialect: SQLDialect) -> [SQLMigration] { Schema.migrations(for: dialect) }

    /// Writes a ledger anew, whatever its size, so that nothing of erased customers is left in free room. Writers wait.
    public static func compact(_ database: SQLiteDatabase) async throws { try await Ledger.compact(database) }

    public func respond(to request: HTTPRequest) -> HTTPReply {
        parts.signer.sign(router.respond(to: request), to: request).map { [date] response in
            var response = response
            response.headers.add("Date", date.text)
            return response
        }
    }

    /// GET `/metrics`, to be bound to a port that only the monitoring reaches.
    public var metricsHandler: any HTTPHandler { MetricsRoute(metrics: metrics).handler }

    /// Does what nobody asks for: computes answers whose time has passed, posts events to webhooks, throws old events away.
    ///
    /// To be called once, beside serving. Returns when its task is cancelled; streams of events have ended then, so that a
    /// listener can stop without cutting them off.
    ///
    /// Throws `SQLError` with `newerSchema` when a newer program changed a shared database so that this one must serve no
    /// more.
    public func run() async throws {
        let outcome: Result<Void, any Error>
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for job in jobs {
                    group.addTask { [configuration, parts] in
                        try await job.run(
                            observing: parts.changes, among: parts.registry, report: configuration.reportFailure)
                    }
                }
                // The first that throws ends the others; `waitForAll` would wait for them.
                while try await group.next() != nil {}
            }
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        if let registry = parts.registry {
            // Not of this task, which is cancelled.
            await Task { try? await registry.leave() }.value
        }
        parts.changes.end()
        try outcome.get()
    }

    /// Makes a public and a secret key for each configured app that has none, and returns them.
    ///
    /// `save` is called with each pair before it becomes valid, because afterwards nobody can read it any more. What it
    /// throws is thrown here, and then no key was made. Keys that are not returned are not valid: another server on the
    /// same database made that app's keys meanwhile.
    public func createMissingKeys(save: (IssuedKeys) throws -> Void = { _ in }) async throws -> [IssuedKeys] {
        let issued = try keys.appsWithoutKeys(among: configuration.apps.map(\.bundleID)).map { app in
            IssuedKeys(bundleID: app, publicKey: newKey(.public), secretKey: newKey(.secret))
        }
        for pair in issued { try save(pair) }
        return try await keys.insert(issued, at: configuration.clock.now())
    }

    private func newKey(_ kind: KeyKind) -> String { KeyText.make(kind, from: configuration.randomBytes(32)) }

    /// Remembers the apps, and returns the secret of each for its customers' tokens, and the rules that are active. Where an
    /// app's features are mapped otherwise than before, its stored answers are no longer true.
    private static func registerApps(
        _ configuration: Configuration, into database: any SQLDatabase
    ) async throws -> (secrets: [BundleID: [UInt8]], rules: ActiveRules) {
        let now = configuration.clock.now().milliseconds
        let isShared = database.dialect != .sqlite
        let (secrets, entries, superseded) = try await database.write { connection in
            var secrets: [BundleID: [UInt8]] = [:]
            var entries = AppRules.of(configuration.apps).mapValues { ActiveRules.Entry(rules: $0) }
            var superseded: [BundleID] = []
            for app in configuration.apps {
                let digest = rulesDigest(app.features)
                let name = SQLValue.text(app.bundleID.rawValue)
                try connection.perform(
                    """
                    INSERT INTO app (bundle_id, rules_digest, created_at) VALUES (?1, ?2, ?3)
                    ON CONFLICT (bundle_id) DO NOTHING
                    """, [name, .blob(digest), .integer(now)])
                let row = try connection.first(
                    "SELECT rules_digest, token_secret FROM app WHERE bundle_id = ?1", [name])
                if isShared {
                    let entered = try ActiveRules.register(
                        app, isReturning: configuration.activatesFormerRules, connection)
                    entries[app.bundleID] = entered.entry
                    if entered.isSuperseded { superseded.append(app.bundleID) }
                } else if let row, try row["rules_digest"] != digest {
                    try connection.perform(
                        "UPDATE app SET rules_digest = ?2 WHERE bundle_id = ?1", [name, .blob(digest)])
                    try connection.perform("UPDATE customer SET valid_until = 0 WHERE app = ?1", [name])
                }
                if let secret: [UInt8] = try row.flatMap({ try $0["token_secret"] }) {
                    secrets[app.bundleID] = secret
                } else {
                    try connection.perform(
                        "UPDATE app SET token_secret = ?2 WHERE bundle_id = ?1 AND token_secret IS NULL",
                        [name, .blob(configuration.randomBytes(32))])
                    let kept = try connection.first("SELECT token_secret FROM app WHERE bundle_id = ?1", [name])
                    secrets[app.bundleID] = try kept.flatMap { try $0["token_secret"] }
                }
            }
            return (secrets, entries, superseded)
        }
        for app in superseded {
            configuration.reportFailure(
                "features",
                EntitlementServerError(
                    .supersededRules,
                    "The features, credits or transfer mode of \(app) were replaced by later ones; those are used. "
                        + "Start with --former-features activate to return to these."))
        }
        return (secrets, ActiveRules(entries))
    }

    /// What stored answers depend on beside the facts.
    static func rulesDigest(_ features: FeatureMap) -> [UInt8] {
        let products = features.features.mapValues { products in
            JSONValue.array(products.map(\.rawValue).sorted().map { .string($0) })
        }
        return SHA256.hash(JSONValue.array([.number(AppRules.reducerNumber), .object(products)]).encoded())
    }

    private static func router(
        _ configuration: Configuration, _ keys: KeyRing, _ parts: Parts
    ) -> Router {
        let metrics = parts.metrics
        let observer = RequestObserver(configuration, metrics)
        let authenticator = Authenticator(
            keys: keys, apps: Set(configuration.apps.map(\.bundleID)), environments: configuration.environments,
            makeID: configuration.makeRequestID, report: configuration.reportFailure,
            guarded: Set(configuration.apps.filter(\.requiresCustomerTokens).map(\.bundleID)), tokens: parts.tokens,
            limiter: RateLimiter(configuration, sharedBy: parts.registry), signer: parts.signer, observer: observer)
        var router = Router(endpoints(configuration, parts)) { endpoint in
            let endpointMetrics = metrics.endpoint(endpoint.id)
            return { authenticator.respond(to: endpoint, $0, $1, counting: endpointMetrics) }
        }
        let (refuse, nowhere) = (router.refuse, metrics.endpoint(ServerMetrics.nowhere))
        router.refuse = { refusal, request in
            let (id, begun) = (configuration.makeRequestID(), observer.now())
            var response = refuse(refusal, request)
            response.headers.add(Authenticator.requestID, id)
            observer.observe(response, to: request, as: id, of: nil, since: begun, counting: nowhere)
            return response
        }
        return router
    }

    /// All that this server can be asked.
    var endpoints: [Endpoint<ServerHandler>] { Self.endpoints(configuration, parts) }

    /// All that can be asked, in the order of the documents.
    static func endpoints(_ configuration: Configuration, _ parts: Parts) -> [Endpoint<ServerHandler>] {
        let ledger = parts.ledger
        let idempotent = IdempotentRequests(
            ledger: ledger, realClock: configuration.realClock, monotonicClock: configuration.monotonicClock)
        let transactions = TransactionsRoute(
            ledger: ledger, idempotent: idempotent, readers: parts.readers, maximumBody: configuration.maximumBody,
            metrics: parts.metrics)
        let receipts = ReceiptRoutes(
            ledger: ledger, idempotent: idempotent, readers: parts.readers, statusPoller: parts.statusPoller,
            maximumBody: configuration.maximumBody, report: configuration.reportFailure)
        let notifications = NotificationsRoute(
            ledger: ledger, readers: configuration.apps.compactMap { parts.readers[$0.bundleID] },
            metrics: parts.metrics)
        let webPurchases = WebPurchaseRoute(
            ledger: ledger, sources: configuration.webPurchases, realClock: configuration.realClock)
        let customers = CustomerRoutes(ledger: ledger)
        let grants = GrantRoutes(ledger: ledger, idempotent: idempotent, makeID: configuration.makeGrantID)
        let provisioning = ProvisioningRoutes(ledger: ledger)
        let care = CustomerCareRoutes(
            ledger: ledger, idempotent: idempotent, tokens: parts.tokens, realClock: configuration.realClock,
            makePseudonym: configuration.makeGrantID)
        let credits = CreditRoutes(
            ledger: ledger, idempotent: idempotent)
        let promotions = PromotionRoutes(
            ledger: ledger, idempotent: idempotent, makeGrantID: configuration.makeGrantID,
            randomBytes: configuration.randomBytes)
        let open = OpenRoutes(readiness: Readiness(configuration, standby: ledger.standby))
        let showcase = ShowcaseRoute(
            pricePoints: Dictionary(
                uniqueKeysWithValues: configuration.apps.map { ($0.bundleID, $0.pricePoints) }))
        let events = EventsRoute(ledger: ledger, changes: parts.changes, silence: configuration.eventSilence)
        let deliveries = DeliveriesRoutes(
            ledger: ledger, changes: parts.changes, idempotent: idempotent, realClock: configuration.realClock)
        let signing = SigningKeysRoute(signer: parts.signer)
        let metricsEndpoints = configuration.servesMetrics ? MetricsRoute(metrics: parts.metrics).endpoints : []
        let all = [
            customers.endpoints,
            transactions.endpoints,
            receipts.endpoints,
            notifications.endpoints,
            webPurchases.endpoints,
            care.endpoints,
            grants.endpoints,
            credits.endpoints,
            promotions.endpoints,
            provisioning.endpoints,
            showcase.endpoints,
            signing.endpoints,
            events.endpoints,
            deliveries.endpoints,
            metricsEndpoints,
            open.endpoints,
            IndexRoute(version: configuration.version).endpoints,
        ].flatMap(\.self)
        return all + DocumentRoutes(describing: all, of: configuration.environments).endpoints
    }
}
