import EntitlementServer
import Foundation
import HTTPListener
import Primitives
import SQLStorage
import SignedData
import StoreModel

/// The options of `souk serve`, read and checked before the command changes anything.
struct ServePlan {
    /// The flags, completed with values of the environment and the file.
    let arguments: Arguments
    let options: ServiceOptions
    private let apps: [EntitlementService.Configuration.App]
    /// The keys of App Store Connect. All parts of an app share one, so that a reload can replace it.
    private let appStoreKeys: [BundleID: AppStoreConnectKey]
    private let environments: [StoreEnvironment]
    private let anchors: [TrustAnchor]
    private let eventRetention: TimeInterval?
    private let revocation: EntitlementService.Configuration.RevocationCheck?
    private let console: EntitlementService.Configuration.ConsoleAccess?
    private let figures: FigureSettings
    private let file: ServeFile
    /// The socket that the server inherits.
    let socket: InheritedSocket?

    /// Flags override the environment, which overrides the file. The file's settings of a single app override all
    /// three.
    ///
    /// - Parameter socket: The socket that the server inherits; its address takes the place of --host and --port.
    init(_ flags: Arguments, environment: [String: String], socket: InheritedSocket? = nil) throws {
        self.socket = socket
        let fromEnvironment = ServeOptions.values(in: environment)
        let path = flags.text("config") ?? environment[ServeOptions.variable(of: ServeOptions.config)]
        file = try path.map(ServeFile.init) ?? ServeFile()
        var arguments = flags.filled(with: fromEnvironment).filled(with: file.values)
        if let socket {
            arguments = arguments.replacing(with: ["host": [socket.host], "port": [String(socket.port)]])
        }
        self.arguments = arguments

        let named = try arguments.texts("environment").map { text in
            try SignedDataOptions.environment(named: text, among: [.production, .sandbox, .xcode])
        }
        let environments = named.isEmpty ? [.production, .sandbox] : named
        self.environments = environments
        let appsInFile = file.apps
        let bundles = try arguments.texts("bundle-id").map {
            try Arguments.identifier($0, called: "--bundle-id") as BundleID
        }
        let others = bundles.filter { bundle in !appsInFile.contains { $0.bundleID == bundle } }
        guard arguments.text("app-apple-id") == nil || bundles.count + appsInFile.count <= 1 else {
            throw UsageError(
                "--app-apple-id is for one app: give one --bundle-id with it, or set it in apps of the file")
        }
        var appStoreKeys: [BundleID: AppStoreConnectKey] = [:]
        let settings =
            appsInFile.map { ($0.bundleID, arguments.replacing(with: $0.values)) } + others.map { ($0, arguments) }
        apps = try settings.map { bundle, arguments in
            try Self.app(bundle, arguments, in: environments, &appStoreKeys[bundle])
        }
        self.appStoreKeys = appStoreKeys
        guard !apps.isEmpty else { throw UsageError("souk serve needs --bundle-id") }
        let roots = arguments.texts("root")
        anchors = roots.isEmpty ? TrustAnchor.apple : try SignedDataOptions.anchors(in: roots)
        options = try ServiceOptions(arguments, bundles: apps.map(\.bundleID))
        eventRetention = try arguments.text("event-retention").map(Self.seconds)
        revocation = try Self.revocation(from: arguments)
        console = try Self.console(arguments)
        figures = try FigureOptions.settings(arguments)
    }

    /// Returns the kind of connection that the console accepts; `nil` if the console is off. Throws `UsageError` for a
    /// listener without TLS on an address that other machines can reach. Behind a proxy, that address may be private.
    private static func console(
        _ arguments: Arguments
    ) throws -> EntitlementService.Configuration.ConsoleAccess? {
        let option = ServeOptions.console
        let setting = try arguments.choice(option.name) as Switch?
        let origin = arguments.text(ServeOptions.consoleOrigin.name)
        guard arguments.has(option.name) || setting == .on || origin != nil && setting != .off else { return nil }
        let hasTLS = arguments.text("tls-certificate") != nil
        let host = (arguments.text("host") ?? "127.0.0.1").lowercased()
        let isLoopback = ["127.0.0.1", "::1", "[::1]", "localhost"].contains(host)
        if let origin {
            guard hasTLS || isLoopback || PrivateAddress.contains(host) else {
                throw UsageError(
                    """
                    --console-origin needs an address that only the proxy reaches: give --host with a loopback or private \
                    address, such as 127.0.0.1 or 10.0.0.7, or --tls-certificate and --tls-key
                    """)
            }
            do { return try .behindProxy(at: origin) } catch {
                throw UsageError("--console-origin: \(error.reason)")
            }
        }
        if hasTLS { return .tls }
        guard isLoopback else {
            throw UsageError(
                "--console needs TLS or a loopback address: give --tls-certificate and --tls-key, or --host 127.0.0.1")
        }
        return .loopback
    }

    private enum Switch: String, CaseIterable { case on, off }

    /// Returns the URL of the console at a server with this URL; `nil` if the console is off.
    func consoleURL(at url: String) -> String? {
        console.map { _ in (arguments.text(ServeOptions.consoleOrigin.name) ?? url) + "/console" }
    }

    /// Takes over from a later plan what can change while `service`, which this plan made, runs. These are the
    /// certificate, the keys of the App Store, what is logged, and what `EntitlementService.reload` takes over.
    ///
    /// - Returns: The apps whose rules became active, and those whose rules did not.
    /// - Throws: `UsageError`, and the errors of the database. Nothing has changed then.
    func adopt(
        _ later: ServePlan, in service: EntitlementService, _ listener: ServiceListener
    ) async throws -> ReloadedRules {
        for app in apps where later.apps.contains(where: { $0.bundleID == app.bundleID }) {
            guard (appStoreKeys[app.bundleID] == nil) == (later.appStoreKeys[app.bundleID] == nil) else {
                throw UsageError("the first --app-store-key of \(app.bundleID), or its removal, needs a restart")
            }
        }
        let certificate =
            switch (try tls, try later.tls) {
            case (nil, nil): nil as HTTPListener.PreparedCertificate?
            case (_?, let files?): try listener.prepareCertificate(files)
            default: throw UsageError("https needs a restart to be turned on or off")
            }
        let rules: ReloadedRules
        do {
            rules = try await service.reload { configuration in
                (configuration.apps, configuration.environments) = (later.apps, later.environments)
                configuration.activatesFormerRules = try later.activatesFormerRules
                configuration.signingKeys = later.options.signingKeys
                configuration.webhooks = later.file.webhooks + later.options.webhooks
                configuration.webPurchases = later.file.webPurchases
                configuration.logsEveryRequest = later.options.log.withLock(\.self) == .requests
            }
        } catch {
            certificate?.discard()
            throw (error as? EntitlementServerError).map { UsageError($0.reason) } ?? error
        }
        certificate.map(listener.use)
        for (bundle, key) in appStoreKeys {
            if let later = later.appStoreKeys[bundle] { key.replace(with: later) }
        }
        let log = later.options.log.withLock(\.self)
        options.log.withLock { $0 = log }
        return rules
    }

    /// The members of the settings that differ in a later plan and that `adopt` does not take over.
    func settingsThatNeedRestart(in later: ServePlan) -> [String] {
        let changed = arguments.options(differingFrom: later.arguments)
        let names = ServeOptions.all.filter { changed.contains($0.name) && !Self.reloaded.contains($0.name) }
        let hasOtherApps = file.apps.map(\.bundleID) != later.file.apps.map(\.bundleID)
        let changesApp = zip(file.apps, later.file.apps).contains { $0.hasOtherValues(than: $1, beside: Self.reloaded) }
        let hasOtherShops = !file.webPurchases.elementsEqual(later.file.webPurchases) { $0.isSameShop(as: $1) }
        let hasOtherWebhooks = !file.webhooks.elementsEqual(later.file.webhooks) { $0.isSameReceiver(as: $1) }
        let webhook = ServiceOptions.webhook.name
        let addsWebhook = (arguments.text(webhook) == nil) != (later.arguments.text(webhook) == nil)
        return names.map(ServeOptions.member) + (addsWebhook ? [webhook] : [])
            + (hasOtherApps || changesApp ? ["apps"] : [])
            + (hasOtherShops ? ["webPurchases"] : []) + (hasOtherWebhooks ? ["webhooks"] : [])
    }

    /// The options that a reload takes over.
    private static let reloaded: Set = [
        "tls-certificate", "tls-key", "signing-key", "log", "app-store-key", "key-id", "issuer-id", "features",
        ServeOptions.transferMode.name, ServeOptions.formerFeatures.name, ServiceOptions.webhook.name, "webhook-secret",
    ]

    private var activatesFormerRules: Bool {
        get throws { try arguments.choice(ServeOptions.formerFeatures.name) == Former.activate }
    }

    /// The files for https; `nil` without TLS. Throws `UsageError` if one is missing.
    var tls: HTTPListener.TLS? {
        get throws {
            switch (arguments.text("tls-certificate"), arguments.text("tls-key")) {
            case (let certificate?, let key?): .init(certificateFile: certificate, privateKeyFile: key)
            case (nil, nil): nil
            default: throw UsageError("--tls-certificate and --tls-key go together")
            }
        }
    }

    private static func seconds(_ text: String) throws -> TimeInterval {
        let start = Date(timeIntervalSince1970: 0)
        return try Arguments.period(text).end(from: start).timeIntervalSince(start)
    }

    private static func app(
        _ bundle: BundleID, _ arguments: Arguments, in environments: [StoreEnvironment],
        _ key: inout AppStoreConnectKey?
    ) throws -> EntitlementService.Configuration.App {
        var app = EntitlementService.Configuration.App(
            bundleID: bundle, appAppleID: try arguments.integer("app-apple-id", in: 1...Int.max))
        if let path = arguments.text("features") {
            app.features = try CatalogueCommands.featureMap(in: path)
            app.credits = try credits(in: path)
        }
        if let path = arguments.text("catalog") {
            app.pricePoints = try CatalogueCommands.catalogue(in: path).storeProducts.map { PricePointInternal($0) }
        }
        app.transferMode = try arguments.choice("transfer-mode") ?? .transfer
        app.requiresCustomerTokens = try arguments.choice("customer-tokens") == Tokens.required
        app.rateLimit = try arguments.text("rate-limit").map { try ServiceOptions.rateLimit($0) }
        if let text = arguments.text("customer-rate-limit") {
            app.customerRateLimit =
                try text == "none" ? nil : ServiceOptions.rateLimit(text, of: ServiceOptions.customerRateLimit)
        }
        let appStore = try AppStoreOptions(arguments)
        key = appStore?.key(for: bundle)
        if let path = arguments.text(ServeOptions.retentionRules.name) {
            let rules = try Self.rules(in: path, RetentionRules.init(json:))
            app.retentionMessages = RetentionMessages(rules, key: key)
            do { try app.checkRetentionMessages() } catch { throw UsageError("\(path): \(error.reason)") }
        }
        if let path = arguments.text(ServeOptions.offerRules.name) {
            let rules = try Self.rules(in: path, OfferRules.init(json:))
            app.offers = PromotionalOffers(rules, key: key)
            do { try app.checkOffers() } catch { throw UsageError("\(path): \(error.reason)") }
        }
        for environment in environments where [.production, .sandbox].contains(environment) {
            app.appStore[environment] = key.flatMap { appStore?.shortTimeoutClient(with: $0, in: environment) }
        }
        app.refundPolicy = try arguments.text("refund-policy").map(refundPolicy)
        app.googlePlay = try GooglePlayOptions.app(arguments)
        return app
    }

    private static func refundPolicy(in path: String) throws -> RefundPolicy {
        do { return try RefundPolicy(parsing: try InputFile.read(path)) } catch let error as RefundPolicyError {
            throw UsageError("\(path): \(error)")
        }
    }

    private enum Former: String, CaseIterable { case ignore, activate }
    private enum Revocation: String, CaseIterable { case off, soft, hard }
    private enum Tokens: String, CaseIterable { case required, optional }

    private static func revocation(
        from arguments: Arguments
    ) throws -> EntitlementService.Configuration.RevocationCheck? {
        guard let choice: Revocation = try arguments.choice(ServeOptions.revocationCheck.name), choice != .off else {
            return nil
        }
        return .init(isRequired: choice == .hard, post: SignedDataOptions.ocspTransport(timeout: .seconds(5)))
    }

    static func credits(in path: String) throws -> CreditTable {
        do {
            return try CreditTable(json: try JSONValue(parsing: try InputFile.read(path)))
        } catch let error as FeatureMapError {
            throw UsageError("\(path): \(error)")
        }
    }

    private static func rules<Rules>(in path: String, _ make: (JSONValue) throws -> Rules) throws -> Rules {
        do {
            return try make(try JSONValue(parsing: try InputFile.read(path, limit: 1 << 20)))
        } catch let error as JSONError {
            throw UsageError("\(path): this is not JSON: \(error)")
        } catch let error as RulesError {
            throw UsageError(error.findings.map { "\(path)\($0.pointer): \($0.reason)" }.joined(separator: "; "))
        }
    }

    func service(
        database: any SQLDatabase, standby: (any SQLDatabase)? = nil, clock: any WallClock,
        makeRequestID: @escaping @Sendable () -> String
    ) async throws -> EntitlementService {
        var configuration = EntitlementService.Configuration(
            database: database, apps: apps, environments: environments)
        configuration.version = VersionCommand.version
        configuration.console = console
        configuration.figures = figures
        configuration.standby = standby
        if let text = arguments.text(LedgerLocation.standbyLag.name) {
            configuration.standbyLag = try Self.seconds(text)
        }
        configuration.trustAnchors = anchors
        configuration.revocation = revocation
        configuration.clock = clock
        configuration.makeRequestID = makeRequestID
        configuration.webPurchases = file.webPurchases
        configuration.webhooks = file.webhooks
        configuration.activatesFormerRules = try activatesFormerRules
        if let eventRetention { configuration.eventRetention = eventRetention }
        options.apply(to: &configuration)
        do {
            return try await EntitlementService(configuration: configuration)
        } catch let error as EntitlementServerError {
            throw UsageError(error.description)
        } catch let error as SQLError {
            throw UsageError(error.description)
        }
    }
}
