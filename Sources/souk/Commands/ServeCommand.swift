import SimulatorControl
import CurlTransport
import EntitlementServer
import Foundation
import HTTPListener
import Primitives
import SQLStorage
import SignedData
import StoreKitAdapter
import StoreModel

/// `souk serve`: the entitlement server.
enum ServeCommand {
    static let command = Command(
        words: ["serve"], summary: "Run the entitlement server",
        options: ServeOptions.all + [ServeOptions.config, ServeOptions.check, .stopWithParent],
        details: """
            The first line of standard output is one JSON object: the server's URL and, for each app that is new to the
            database, a public key and the file that holds its secret key. Standard error has the log, one JSON object
            per line. On SIGTERM or SIGINT the server finishes the requests in progress and stops; a second signal ends
            it at once. On SIGHUP it reads the settings again, and changes the certificate, the keys, the features, the
            secrets of webhooks and the log without interrupting a request. systemd can pass it a socket, and gets
            notifications such as READY=1.

            Each option can be an environment variable (--tls-key is SOUK_TLS_KEY) or a member of the --config file
            (tlsKey) instead; a flag overrides the environment, which overrides the file. The file has more settings:
            Documentation/Configuration.md.
            """
    ) { typed in
        let environment = ProcessInfo.processInfo.environment
        let manager = ServiceManager(environment: environment)
        let plan = try ServePlan(typed, environment: environment, socket: try manager.socket())
        let arguments = plan.arguments
        let ledger = try LedgerLocation(arguments, typed: typed)
        let path = ledger.keyFilePrefix
        var configuration = try listenerConfiguration(plan)
        configuration.maximumBodyBytes = 4 << 20
        let makeRequestID = EntitlementService.Configuration.uniqueRequestIDs()
        configuration.refusalHeaders = { ["Souk-Request-Id": makeRequestID()] }
        guard arguments.text("clock") == nil || !arguments.texts("root").isEmpty else {
            throw UsageError("--clock is for a simulator: give its root certificate with --root as well")
        }
        if arguments.has(ServeOptions.check.name) {
            try await check(plan, ledger, configuration, typed: typed)
            return .success
        }
        let clock = try await SimulatorClock.started(by: arguments)
        let reloads = Broadcast<Void>(replaysLast: true)
        let stop = try StopSignal(alsoAtEndOfInput: arguments.has("stop-with-parent")) { reloads.send(()) }
        let listener = try ServiceListener(configuration)
        let metricsListener = try await listener.whileStarting {
            try plan.options.metrics.map { try ServiceListener($0) }
        }
        let database = try await listener.whileStarting { try ledger.open(exclusively: true) }
        let standby = try await listener.whileStarting { try ledger.standby(arguments, typed: typed) }
        let (service, keys) = try await listener.whileStarting {
            let service = try await plan.service(
                database: database, standby: standby, clock: clock ?? SystemClock(), makeRequestID: makeRequestID)
            let keys = try await service.createMissingKeys { try save($0, beside: path) }
            service.addGauge("souk_http_connections", help: "Open connections of clients.") {
                listener.connectionCount
            }
            service.addGauge("souk_http_connections_max", help: "Limit of open connections of clients.") {
                [limit = configuration.maximumConnections] in limit
            }
            try listener.open(to: service)
            try metricsListener?.open(to: service.metricsHandler)
            return (service, keys)
        }
        let announced = Terminal.announce(
            announcement(
                listener.url, console: plan.consoleURL(at: listener.url), metrics: metricsListener?.url,
                database: ledger.name,
                path: path, keys: keys))
        Self.log(
            "start",
            [
                "version": .string(VersionCommand.version), "listening": .string(listener.url),
                "database": .string(ledger.name),
            ])
        manager.send(.status("Listening at \(listener.url)"))
        manager.send(.ready)
        let reload = ServeReload(typed: typed, plan: plan, listener: listener, service: service, manager: manager)
        let reloading = Task { for await _ in reloads.stream() { await reload.run() } }
        let watchdog = Task { await manager.feedWatchdog() }
        let backgroundJobs = Task {
            // Without background jobs the server must not continue.
            defer { stop.request() }
            try await service.run()
        }
        if announced.isWritten { await stop.wait() }
        Self.log("stop", [:])
        manager.send(.stopping)
        reloading.cancel()
        await reloading.value
        // Ends the event streams too, which would delay the close of the listener.
        backgroundJobs.cancel()
        let end = await backgroundJobs.result
        await listener.close()
        await service.finishTraces()
        await metricsListener?.close()
        await clock?.stop()
        await standby?.close()
        await database.close()
        watchdog.cancel()
        await watchdog.value
        Self.log("stopped", [:])
        try announced.check()
        try end.get()
        return .success
    }

    /// Checks what a start would check, with a temporary ledger in place of the database, and prints a sentence. Throws
    /// the error with which the start would end.
    private static func check(
        _ plan: ServePlan, _ ledger: LedgerLocation, _ configuration: HTTPListener.Configuration,
        typed: Arguments
    ) async throws {
        do { try HTTPListener.check(configuration) } catch let error as HTTPListenerError {
            throw UsageError(error.reason)
        }
        let pending = try ledger.pendingMigrations()
        await (try ledger.standby(plan.arguments, typed: typed))?.close()
        let trial = try SQLiteDatabase.temporary()
        try await trial.closing {
            _ = try await plan.service(
                database: trial, clock: SystemClock(),
                makeRequestID: EntitlementService.Configuration.uniqueRequestIDs())
        }
        let steps = pending.isEmpty ? "" : "; the start will apply \(pending.count) steps of its schema"
        try Terminal.print("The server can start with \(ledger.name)\(steps).")
    }

    private static func listenerConfiguration(_ plan: ServePlan) throws -> HTTPListener.Configuration {
        let arguments = plan.arguments
        var configuration = HTTPListener.Configuration(
            host: arguments.text("host") ?? "127.0.0.1", port: try arguments.integer("port", in: 0...65535) ?? 0)
        configuration.tls = try plan.tls
        configuration.socket = plan.socket
        configuration.maximumConnections = try Descriptors.connections(
            try arguments.integer("max-connections", in: 1...1_000_000)
        ) { warn(sentence: $0, about: "descriptors") }
        return configuration
    }

    /// Writes a log line about the server as a whole.
    private static func log(_ subject: String, _ members: KeyValuePairs<String, JSONValue>) {
        var line: JSONValue = [
            "time": .string(RFC3339.string(from: Date())), "level": "info", "requestID": .string(subject),
        ]
        for (name, value) in members { line[name] = value }
        Terminal.log(json: line)
    }

    /// Writes a log line that belongs to no request.
    private static func warn(sentence: String, about subject: String) {
        let line: JSONValue = [
            "time": .string(RFC3339.string(from: Date())), "level": "warning", "requestID": .string(subject),
            "warning": .string(sentence),
        ]
        Terminal.log(json: line)
    }

    /// Writes both keys to files that only their owner may read, whatever the umask, because the ledger keeps only
    /// digests. Never prints the secret key. If one file cannot be written, neither is kept. Throws `UsageError` and
    /// `OutputFailure`.
    private static func save(_ keys: IssuedKeys, beside database: String) throws {
        let secret = secretFile(of: keys.bundleID, beside: database)
        let publicFile = "\(database).\(keys.bundleID).public-key"
        for path in [secret, publicFile] { try keepFormer(path) }
        try OutputFile.createSecret(keys.secretKey, at: secret)
        do { try OutputFile.createSecret(keys.publicKey, at: publicFile) } catch {
            unlink(secret)
            throw error
        }
    }

    /// Renames an existing key file. Its ledger may be missing only because a disk is not mounted, and then the file is
    /// the only copy of the key.
    private static func keepFormer(_ path: String) throws {
        let former = FormerFile.name(for: path, at: Date())
        guard rename(path, former) == 0 else {
            if errno == ENOENT { return }
            throw UsageError("\(FileFailure("rename", path, errno)). No key was created")
        }
        warn(
            sentence: "\(path) belongs to a ledger that is missing, or to an interrupted start. It is kept as "
                + "\(former). If a ledger is missing, stop and restore it: this one is empty.",
            about: "keys")
    }

    private static func secretFile(of bundle: BundleID, beside database: String) -> String {
        "\(database).\(bundle).secret-key"
    }

    private static func announcement(
        _ url: String, console: String?, metrics: String?, database: String, path: String, keys: [IssuedKeys]
    ) -> JSONValue {
        var line: JSONValue = ["listening": .string(url), "database": .string(database)]
        if let console { line["console"] = .string(console) }
        if let metrics { line["metrics"] = .string(metrics + "/metrics") }
        guard let first = keys.first else { return line }
        line["publicKey"] = .string(first.publicKey)
        line["secretKeyFile"] = .string(secretFile(of: first.bundleID, beside: path))
        line["keys"] = .array(
            keys.map { pair in
                [
                    "bundleID": .string(pair.bundleID.rawValue), "publicKey": .string(pair.publicKey),
                    "secretKeyFile": .string(secretFile(of: pair.bundleID, beside: path)),
                ]
            })
        return line
    }
}
