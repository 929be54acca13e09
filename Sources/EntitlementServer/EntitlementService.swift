import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreModel

/// The entitlement server: verifies transactions and stores them, and answers which features each customer may use.
///
///     let service = try await EntitlementService(
///         ledgerAt: URL(fileURLWithPath: "ledger.sqlite"), for: .init(bundleID: "com.example.darkroom"))
///     let keys = try await service.createMissingKeys { try save($0) }
///
/// Bind this `HTTPHandler` to a listener, or call it in process. A transaction is acknowledged only after it is
/// durable. With SQLite, reads of a customer return without suspension while the stored answer is valid.
public final class EntitlementService: HTTPHandler {
    /// The dependencies of endpoints and background jobs.
    struct Parts: Sendable {
        let ledger: Ledger
        let tokens: CustomerTokens
        let signer: AnswerSigner
        let metrics: ServerMetrics
        let changes: ChangeSignal
        let readers: [BundleID: StoreReader]
        let playReaders: [BundleID: PlayReader]
        /// `nil` if no app has a client of the App Store Server API for an environment of this server.
        let statusPoller: StatusPoller?
        let playAcknowledger: PlayAcknowledger
        let voidedPurchaseSweep: VoidedPurchaseSweep
        let refundDesk: RefundDesk
        /// The servers that share the database; `nil` with SQLite.
        let registry: ServerRegistry?
        /// `nil` if the console is off.
        let consoleSessions: ConsoleSessions?
        let logsEveryRequest: Locked<Bool>
        let webhooks: [Locked<Webhook>]
        let webPurchases: Locked<[Configuration.WebPurchaseSource]>
        /// `nil` if the server exports no traces.
        let tracer: Tracer?
    }

    let configuration: Configuration
    private let keys: KeyRing
    private let router: Router
    let parts: Parts
    private let date: DateField
    let jobs: [BackgroundJob]

    var ledger: Ledger { parts.ledger }
    var metrics: ServerMetrics { parts.metrics }
    var statusPoller: StatusPoller? { parts.statusPoller }
    var refundDesk: RefundDesk { parts.refundDesk }

    /// Creates a server, after migrating its database.
    ///
    /// - Parameter configuration: The configuration of the server.
    /// - Throws: ``EntitlementServerError`` with `invalidConfiguration`, or with `internalInconsistency` for a damaged
    ///   ledger, and the errors of the database.
    public init(configuration: Configuration) async throws {
        try configuration.check()
        let database = configuration.database
        try database.migrate(Schema.migrations(for: database.dialect))
        let registry =
            database.dialect == .sqlite
            ? nil
            : ServerRegistry(
                database: database, id: configuration.makeGrantID(), clock: configuration.monotonicClock)
        // Before any other use of the tables: from now on, migrations keep the schema compatible with this program.
        try await registry?.step()
        let (secrets, rules) = try await Self.registerApps(configuration, into: database)
        let tokens = try CustomerTokens(secrets: secrets, realClock: configuration.realClock)
        self.configuration = configuration
        date = DateField(clock: configuration.clock)
        let keys = KeyRing(
            database: database, standby: configuration.standby, clock: configuration.monotonicClock,
            realClock: configuration.realClock)
        self.keys = keys
        let metrics = ServerMetrics()
        let changes = ChangeSignal(clock: configuration.realClock, monotonicClock: configuration.monotonicClock)
        // The memory cache is correct only while bodies of `write` run one at a time.
        let answerMemory = database.dialect == .sqlite ? configuration.answerMemory : 0
        let ledger = Ledger(
            database: database, clock: configuration.clock, cache: AnswerCache(bytes: answerMemory),
            metrics: metrics, changes: changes, rules: rules,
            standby: configuration.standby.map {
                Standby($0, limit: configuration.standbyLag, clock: configuration.monotonicClock)
            })
        let apps = configuration.apps.map(\.bundleID)
        let ledgers = apps.flatMap { app in configuration.environments.map { LedgerID(app: app, environment: $0) } }
        let gauges = LedgerGauges.all(keys: keys, apps: apps, ledgers: ledgers, ledger: ledger) + ProcessMetrics.all
        for gauge in gauges { metrics.add(gauge) }
        if let pool = database as? any ConnectionPool {
            metrics.writeWaits.withLock { $0 = { pool.poolUsage.writeWaits } }
        }
        try await ledger.sealOpenFacts()
        try await ledger.assignOldRedemptions()
        let checker = configuration.revocationChecker(counting: metrics)
        let readers = Dictionary(
            uniqueKeysWithValues: configuration.apps.map { ($0.bundleID, StoreReader($0, configuration, checker)) })
        let playReaders = Self.playReaders(configuration, ledger)
        parts = Parts(
            ledger: ledger, tokens: tokens,
            signer: AnswerSigner(keys: configuration.signingKeys, clock: configuration.realClock), metrics: metrics,
            changes: changes, readers: readers,
            playReaders: playReaders,
            statusPoller: StatusPoller(configuration, readers, playReaders, ledger),
            playAcknowledger: PlayAcknowledger(
                configuration, playReaders, ledger, counting: metrics.playAcknowledgements),
            voidedPurchaseSweep: VoidedPurchaseSweep(
                ledger: ledger, readers: configuration.apps.compactMap { playReaders[$0.bundleID] }),
            refundDesk: RefundDesk(configuration, ledger, counting: metrics.refundAnswers),
            registry: registry,
            consoleSessions: try configuration.console.map { _ in
                try ConsoleSessions(
                    secrets: secrets, keys: keys, clock: configuration.realClock,
                    randomBytes: configuration.randomBytes)
            }, logsEveryRequest: Locked(configuration.logsEveryRequest),
            webhooks: configuration.webhooks.map { Locked($0) }, webPurchases: Locked(configuration.webPurchases),
            tracer: configuration.traces.map {
                Tracer(
                    $0, version: configuration.version, clock: configuration.realClock,
                    monotonicClock: configuration.monotonicClock, counting: metrics.traceSpans)
            })
        router = Self.router(configuration, keys, parts)
        jobs =
            try await Self.jobs(configuration, parts) + [
                BackgroundJob(name: "key uses", pause: 60) {
                    try await keys.storeUses()
                    return false
                }
            ]
        // A counter that begins at 0 lets Prometheus see the first failure.
        for job in jobs { metrics.jobFailures.add(job.name, 0) }
    }

    private static func playReaders(_ configuration: Configuration, _ ledger: Ledger) -> [BundleID: PlayReader] {
        Dictionary(
            uniqueKeysWithValues: configuration.apps.compactMap { app in
                app.googlePlay.map { source in
                    let reader = PlayReader(
                        app: app.bundleID, source: source, environments: configuration.environments, ledger: ledger)
                    return (app.bundleID, reader)
                }
            })
    }

    /// Returns the migrations of the ledger's schema, for tools that inspect or upgrade a ledger without a server.
    ///
    /// - Parameter dialect: The database engine.
    /// - Returns: The migrations in their order.
    public static func migrations(for dialect: SQLDialect) -> [SQLMigration] { Schema.migrations(for: dialect) }

    /// Rewrites the file of a ledger, so that its free pages contain no data of erased customers. Writes wait
    /// meanwhile.
    ///
    /// - Parameter database: The database of the ledger.
    /// - Throws: The errors of the database.
    public static func compact(_ database: SQLiteDatabase) async throws { try await Ledger.compact(database) }

    /// Responds to a request, and signs the response if the request asks for it.
    ///
    /// - Parameter request: The request.
    /// - Returns: The response, or a reply that produces it later.
    public func respond(to request: HTTPRequest) -> HTTPReply {
        // `map` would copy the headers, as in `Authenticator.respond`.
        switch parts.signer.sign(router.respond(to: request), to: request) {
        case .ready(let response): .ready(dated(response))
        case .suspended(let work): .suspended { [self] in dated(await work()) }
        }
    }

    private func dated(_ response: consuming HTTPResponse) -> HTTPResponse {
        response.headers.add("Date", date.text)
        return response
    }

    /// Sends the spans that wait for the collector. Call it after the listener has stopped.
    package func finishTraces() async { await parts.tracer?.finish() }

    /// Adds a gauge of the program that runs the service, such as the number of connections.
    package func addGauge(_ name: String, help: String, value: @escaping @Sendable () -> Int) {
        metrics.add(.init(name: name, help: help) { [("", Double(value()))] })
    }

    /// The handler of GET `/metrics`, for a port that only the monitoring can reach.
    public var metricsHandler: any HTTPHandler { MetricsRoute(metrics: metrics).handler }

    /// Runs the background jobs, which recompute expired answers, post events to webhooks, delete old events, and more.
    ///
    /// Call it once, in a task beside the listener. It returns after its task was cancelled. Each stream of events then
    /// ends after its last events, so that the listener can stop without cutting connections.
    ///
    /// - Throws: `SQLError` with `newerSchema` if a newer program changed the schema of a shared database in a way that
    ///   this program does not support. Stop the server then.
    public func run() async throws {
        let outcome: Result<Void, any Error>
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for job in jobs {
                    group.addTask { [configuration, parts] in
                        // A call of another server from a background job begins a trace.
                        let trace = parts.tracer.map { CurrentTrace(parent: nil, tracer: $0) }
                        try await CurrentTrace.$value.withValue(trace) {
                            try await job.run(observing: parts.changes, among: parts.registry) { name, error in
                                parts.metrics.jobFailures.add(name)
                                configuration.reportFailure(name, error)
                            }
                        }
                    }
                }
                // The first error ends the other jobs; `waitForAll` would wait for them.
                while try await group.next() != nil {}
            }
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        // A new task, because this one is cancelled.
        await Task { [keys, parts] in
            try? await keys.storeUses()
            try? await parts.registry?.leave()
        }.value
        parts.changes.end()
        try outcome.get()
    }

    /// Runs the background jobs until none has more to do, for a program in virtual time that does not call ``run()``.
    ///
    /// A failure is reported as in ``run()``; the job that failed does no more in this call.
    ///
    /// - Throws: `CancellationError`.
    package func doDueWork() async throws {
        var failed: Set<String> = []
        var isMore = true
        while isMore {
            isMore = false
            for job in jobs where !failed.contains(job.name) {
                do {
                    while try await job.step() {
                        try Task.checkCancellation()
                        isMore = true
                    }
                } catch {
                    try Task.checkCancellation()
                    failed.insert(job.name)
                    metrics.jobFailures.add(job.name)
                    configuration.reportFailure(job.name, error)
                }
            }
        }
    }

    /// Creates a public and a secret key for each configured app without keys.
    ///
    /// If another server on the same database creates the keys of an app at the same time, only one pair becomes valid.
    /// The other pair is not returned.
    ///
    /// - Parameter save: A closure that receives each new pair before the pair is stored. The keys cannot be read again
    ///   later.
    /// - Returns: The pairs that became valid.
    /// - Throws: The error that `save` throws, in which case no key is created, and the errors of the database.
    public func createMissingKeys(save: (IssuedKeys) throws -> Void = { _ in }) async throws -> [IssuedKeys] {
        let issued = try keys.appsWithoutKeys(among: configuration.apps.map(\.bundleID)).map { app in
            IssuedKeys(bundleID: app, publicKey: newKey(.public), secretKey: newKey(.secret))
        }
        for pair in issued { try save(pair) }
        return try await keys.insert(issued, at: configuration.clock.now())
    }

    private func newKey(_ kind: KeyKind) -> String { KeyText.make(kind, from: configuration.randomBytes(32)) }

    /// Stores the apps, and returns their token secrets and active rules. With SQLite, invalidates the stored answers of
    /// an app if its features or the reducer changed.
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
                    let registered = try ActiveRules.register(
                        app, activatesFormerRules: configuration.activatesFormerRules, connection)
                    entries[app.bundleID] = registered.entry
                    if registered.registration == .superseded { superseded.append(app.bundleID) }
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
                    "The features, credits or transfer mode of \(app) were replaced by later ones, which are used. "
                        + "Start with --former-features activate to return to this server's rules."))
        }
        return (secrets, ActiveRules(entries))
    }

    /// Returns a digest of the features and of the reducer's version, on which stored answers depend.
    static func rulesDigest(_ features: FeatureMap, reducer: Int = AppRules.reducerNumber) -> [UInt8] {
        let products = features.features.mapValues { products in
            JSONValue.array(products.map(\.rawValue).sorted().map { .string($0) })
        }
        return SHA256.hash(JSONValue.array([.number(reducer), .object(products)]).encoded())
    }

    private static func router(
        _ configuration: Configuration, _ keys: KeyRing, _ parts: Parts
    ) -> Router {
        let metrics = parts.metrics
        let observer = RequestObserver(
            configuration, metrics, logsEveryRequest: parts.logsEveryRequest, tracer: parts.tracer)
        let limiter = RateLimiter(configuration, sharedBy: parts.registry)
        let authenticator = Authenticator(
            keys: keys, apps: Set(configuration.apps.map(\.bundleID)), environments: configuration.environments,
            makeID: configuration.makeRequestID, report: configuration.reportFailure,
            guarded: Set(configuration.apps.filter(\.requiresCustomerTokens).map(\.bundleID)), tokens: parts.tokens,
            limiter: limiter, signer: parts.signer, observer: observer)
        var router = Router(endpoints(configuration, parts)) { endpoint in
            let endpointMetrics = metrics.endpoint(endpoint.id, route: endpoint.path)
            return { authenticator.respond(to: endpoint, $0, $1, counting: endpointMetrics) }
        }
        if let console = Console(configuration, parts, limiter, observer) {
            for route in console.routes {
                let endpointMetrics = metrics.endpoint(route.id, route: route.path)
                router.on(route.method, route.path) { request, _ in
                    console.respond(to: request, at: route, counting: endpointMetrics)
                }
            }
        }
        let (refuse, unknownPath) = (router.refuse, metrics.endpoint(ServerMetrics.unknownPath))
        router.refuse = { refusal, request in
            let (id, start) = (configuration.makeRequestID(), observer.begin(request))
            var response = refuse(refusal, request)
            response.headers.add(Authenticator.requestID, id)
            observer.observe(response, to: request, as: id, of: nil, since: start, counting: unknownPath)
            return response
        }
        return router
    }

    /// The endpoints of this server.
    var endpoints: [Endpoint<ServerHandler>] { Self.endpoints(configuration, parts) }

    /// The routes of the console; none if it is off.
    var consoleRoutes: [ConsoleRoute] {
        Console(
            configuration, parts, RateLimiter(configuration),
            RequestObserver(
                configuration, metrics, logsEveryRequest: parts.logsEveryRequest, tracer: parts.tracer))?.routes ?? []
    }

    /// Returns all endpoints, in the order of the OpenAPI document.
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
        let playPurchases = PlayPurchasesRoute(
            ledger: ledger, idempotent: idempotent, readers: parts.playReaders, metrics: parts.metrics,
            report: configuration.reportFailure)
        let playNotifications = PlayNotificationsRoute(
            ledger: ledger, readers: configuration.apps.compactMap { parts.playReaders[$0.bundleID] },
            metrics: parts.metrics, report: configuration.reportFailure)
        let retentionMessages = RetentionMessageRoute(
            ledger: ledger, readers: notifications.readers,
            messages: Dictionary(
                uniqueKeysWithValues: configuration.apps.compactMap { app in
                    app.retentionMessages.map { (app.bundleID, $0) }
                }), realClock: configuration.realClock, randomBytes: configuration.randomBytes,
            metrics: parts.metrics)
        let offers = OfferRoutes(
            ledger: ledger, idempotent: idempotent,
            offers: Dictionary(
                uniqueKeysWithValues: configuration.apps.compactMap { app in
                    app.offers.map { (app.bundleID, $0) }
                }), realClock: configuration.realClock, randomBytes: configuration.randomBytes)
        let webPurchases = WebPurchaseRoute(
            ledger: ledger, sources: parts.webPurchases, realClock: configuration.realClock)
        let customers = CustomerRoutes(ledger: ledger)
        let grants = GrantRoutes(ledger: ledger, idempotent: idempotent, makeID: configuration.makeGrantID)
        let provisioning = ProvisioningRoutes(ledger: ledger)
        let care = CustomerCareRoutes(
            ledger: ledger, idempotent: idempotent, tokens: parts.tokens, realClock: configuration.realClock,
            makePseudonym: configuration.makeGrantID)
        let credits = CreditRoutes(ledger: ledger, idempotent: idempotent, makeID: configuration.makeGrantID)
        let promotions = PromotionRoutes(
            ledger: ledger, idempotent: idempotent, makeGrantID: configuration.makeGrantID,
            randomBytes: configuration.randomBytes)
        let open = OpenRoutes(readiness: Readiness(configuration, standby: ledger.standby))
        let showcase = ShowcaseRoute(
            pricePoints: Dictionary(
                uniqueKeysWithValues: configuration.apps.map { ($0.bundleID, $0.pricePoints) }))
        let events = EventsRoute(
            ledger: ledger, changes: parts.changes, keepAliveInterval: configuration.eventKeepAliveInterval)
        let deliveries = DeliveriesRoutes(
            ledger: ledger, changes: parts.changes, idempotent: idempotent, realClock: configuration.realClock)
        let refunds = RefundRoutes(ledger: ledger, idempotent: idempotent, desk: parts.refundDesk)
        let operatorRefunds = OperatorRefundRoute(
            ledger: ledger, idempotent: idempotent, readers: parts.playReaders, realClock: configuration.realClock,
            report: configuration.reportFailure)
        let signing = SigningKeysRoute(signer: parts.signer)
        let metricsEndpoints = configuration.servesMetrics ? MetricsRoute(metrics: parts.metrics).endpoints : []
        let all = [
            customers.endpoints,
            transactions.endpoints,
            receipts.endpoints,
            notifications.endpoints,
            playPurchases.endpoints,
            playNotifications.endpoints,
            webPurchases.endpoints,
            retentionMessages.endpoints,
            offers.endpoints,
            care.endpoints,
            grants.endpoints,
            credits.endpoints,
            promotions.endpoints,
            refunds.endpoints,
            operatorRefunds.endpoints,
            provisioning.endpoints,
            showcase.endpoints,
            signing.endpoints,
            events.endpoints,
            deliveries.endpoints,
            FigureRoutes(ledger: ledger, settings: configuration.figures).endpoints,
            metricsEndpoints,
            open.endpoints,
            IndexRoute(version: configuration.version, hasConsole: configuration.console != nil).endpoints,
        ].flatMap(\.self)
        return all + DocumentRoutes(describing: all, of: configuration.environments).endpoints
    }
}
