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
        words: ["serve"], summary: "run the entitlement server",
        options: [
            LedgerFile.option,
            .init(name: "port", value: "N", help: "where it listens; 0, the default, lets the system choose"),
            .init(name: "host", value: "ADDRESS", help: "the address it listens at (127.0.0.1)"),
            .init(name: "bundle-id", value: "B", repeats: true, help: "an app that it serves"),
            .init(name: "app-apple-id", value: "N", help: "the App Store's number of the app"),
            .init(
                name: "environment", value: "E", repeats: true,
                help: "production, sandbox or xcode, the first being the default (production and sandbox)"),
            .init(
                name: "root", value: "FILE", repeats: true,
                help: "a root to trust instead of Apple's, DER or PEM: a simulator's"),
            .init(name: "features", value: "FILE", help: "which products give which features"),
            .init(name: "catalog", value: "F.storekit", help: "what is sold, for /showcase/get-price-points"),
            .init(name: "clock", value: "URL", help: "follow the virtual time of a simulator; needs --root"),
            .init(name: "tls-certificate", value: "FILE", help: "serve https with this certificate chain, PEM"),
            .init(name: "tls-key", value: "FILE", help: "the private key of the certificate, PEM"),
            .stopWithParent, .notBuilt("config", "FILE"),
        ] + AppStoreOptions.options + ServiceOptions.options,
        details: """
            The first line of standard output is one JSON object: where it listens and, for each app that is new to the
            database, a public key and the file that holds its secret key. Standard error has the log, a JSON object a line.
            It stops on SIGTERM and SIGINT.
            """
    ) { arguments in
        let ledger = try LedgerFile(arguments)
        let path = ledger.path
        let plan = try Plan(arguments)
        var configuration = try listenerConfiguration(arguments)
        configuration.maximumBodyBytes = 4 << 20
        // What the listener refuses by itself has a name too.
        let makeRequestID = EntitlementService.Configuration.uniqueRequestIDs()
        configuration.refusalHeaders = { ["Souk-Request-Id": makeRequestID()] }
        let clock = try await followedClock(arguments)
        let stop = StopSignal(alsoAtEndOfInput: arguments.has("stop-with-parent"))
        let doorway = try Doorway(configuration)
        let metrics = try await doorway.whileClosed { try plan.options.metrics.map { try Doorway($0) } }
        let database = try await doorway.whileClosed { try ledger.open(exclusively: true) }
        let (service, keys) = try await doorway.whileClosed {
            let service = try await plan.service(
                database: database, clock: clock ?? SystemClock(), makeRequestID: makeRequestID)
            doorway.open(to: service)
            metrics?.open(to: service.metricsHandler)
            return (service, try await service.createMissingKeys { try save($0, beside: path) })
        }
        Terminal.print(json: announcement(doorway.url, metrics?.url, path: path, keys: keys))
        let chores = Task { await service.run() }
        await stop.wait()
        // Streams of events end with the chores, so that closing need not wait for them.
        chores.cancel()
        await chores.value
        await doorway.close()
        await metrics?.close()
        await clock?.stop()
        await database.close()
        return .success
    }

    private static func listenerConfiguration(_ arguments: Arguments) throws -> HTTPListener.Configuration {
        var configuration = HTTPListener.Configuration(
            host: arguments.text("host") ?? "127.0.0.1", port: try arguments.integer("port", in: 0...65535) ?? 0)
        switch (arguments.text("tls-certificate"), arguments.text("tls-key")) {
        case (let certificate?, let key?):
            configuration.tls = .init(certificateFile: certificate, privateKeyFile: key)
        case (nil, nil): break
        default: throw Misuse("--tls-certificate and --tls-key go together")
        }
        return configuration
    }

    private static func followedClock(_ arguments: Arguments) async throws -> FollowedClock? {
        guard let url = arguments.text("clock") else { return nil }
        guard !arguments.texts("root").isEmpty else {
            throw Misuse("--clock is for a simulator: give its root certificate with --root as well")
        }
        let clock = FollowedClock(url: url, transport: CurlTransport.platformDefault())
        do {
            try await clock.start()
        } catch let error as StoreFailure {
            throw Misuse("--clock \(url): \(error.reason)")
        }
        return clock
    }

    /// What was asked for, read and checked before anything is touched.
    private struct Plan {
        let apps: [EntitlementService.Configuration.App]
        let environments: [StoreEnvironment]
        let anchors: [TrustAnchor]
        let options: ServiceOptions

        init(_ arguments: Arguments) throws {
            let bundles = try arguments.texts("bundle-id").map {
                try Arguments.identifier($0, called: "--bundle-id") as BundleID
            }
            guard !bundles.isEmpty else { throw Misuse("souk serve needs --bundle-id") }
            let features = try arguments.text("features").map { try CatalogCommands.featureMap(in: $0) } ?? FeatureMap()
            let number = try arguments.integer("app-apple-id", in: 1...Int.max)
            guard number == nil || bundles.count == 1 else {
                throw Misuse("--app-apple-id says one number: give one --bundle-id with it")
            }
            let named = try arguments.texts("environment").map { text in
                try SignedDataOptions.environment(named: text, among: [.production, .sandbox, .xcode])
            }
            let environments = named.isEmpty ? [.production, .sandbox] : named
            self.environments = environments
            let appStore = try AppStoreOptions(arguments)
            let products =
                try arguments.text("catalog").map { try CatalogCommands.catalogue(in: $0).storeProducts } ?? []
            apps = bundles.map { bundle in
                var app = EntitlementService.Configuration.App(
                    bundleID: bundle, appAppleID: number, features: features)
                app.pricePoints = products.map { PricePointInternal($0) }
                for environment in environments where [.production, .sandbox].contains(environment) {
                    app.appStore[environment] = appStore?.impatientClient(for: bundle, in: environment)
                }
                return app
            }
            let roots = arguments.texts("root")
            options = try ServiceOptions(arguments, bundles: bundles)
            anchors = roots.isEmpty ? TrustAnchor.apple : try SignedDataOptions.anchors(in: roots)
        }

        func service(
            database: SQLiteDatabase, clock: any WallClock, makeRequestID: @escaping @Sendable () -> String
        ) async throws -> EntitlementService {
            var configuration = EntitlementService.Configuration(
                database: database, apps: apps, environments: environments)
            configuration.trustAnchors = anchors
            configuration.clock = clock
            configuration.makeRequestID = makeRequestID
            options.apply(to: &configuration)
            do {
                return try await EntitlementService(configuration: configuration)
            } catch let error as EntitlementServerError {
                throw Misuse(error.description)
            } catch let error as SQLError {
                throw Misuse(error.description)
            }
        }
    }

    /// The secret key goes into a file that only its owner may read; it is never printed. The public one has a file as
    /// well, because the ledger keeps only digests.
    private static func save(_ keys: IssuedKeys, beside database: String) throws {
        let path = secretFile(of: keys.bundleID, beside: database)
        try? FileManager.default.removeItem(atPath: path)
        let isWritten = FileManager.default.createFile(
            atPath: path, contents: Data((keys.secretKey + "\n").utf8), attributes: [.posixPermissions: 0o600])
        guard isWritten else { throw Misuse("\(path): the secret key cannot be written; no key was made") }
        let publicFile = "\(database).\(keys.bundleID).public-key"
        try Data((keys.publicKey + "\n").utf8).write(to: URL(fileURLWithPath: publicFile))
    }

    private static func secretFile(of bundle: BundleID, beside database: String) -> String {
        "\(database).\(bundle).secret-key"
    }

    private static func announcement(
        _ url: String, _ metrics: String?, path: String, keys: [IssuedKeys]
    ) -> JSONValue {
        var line: JSONValue = ["listening": .string(url), "database": .string("sqlite:\(path)")]
        if let metrics { line["metrics"] = .string("\(metrics)/metrics") }
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
