import Foundation
import HTTPCore
import Primitives
import SQLStorage
import SignedData
import StoreModel

extension EntitlementService {
    /// The configuration of an entitlement server: its apps, its database and its dependencies.
    ///
    /// Time, randomness and transports are properties whose defaults are those of production.
    public struct Configuration: Sendable {
        /// An app that the server answers for.
        public struct App: Sendable {
            /// The bundle id of the app.
            public var bundleID: BundleID
            /// The App Store's number of the app.
            public var appAppleID: Int?
            /// The features that the app's products give.
            public var features: FeatureMap
            /// The credits that consumables add, and the prices of items in these credits.
            public var credits = CreditTable()
            /// The rule for a purchase that a second customer presents.
            public var transferMode = TransferMode.transfer
            /// Whether requests with the public key also need a customer token.
            public var requiresCustomerTokens = false
            /// The price points for clients that use the formats of Palta (Documentation/Reference/HTTP.md).
            /// `PricePointInternal(_:)` creates one from a product.
            public var pricePoints: [PricePointInternal] = []
            /// The rate limit of each API key of the app. `nil`, the default, means no limit, because all devices share
            /// the public key.
            public var rateLimit: RateLimit?
            /// The rate limit of requests with the public key about one customer. `nil` means no limit. Requests with a
            /// secret key do not count.
            public var customerRateLimit: RateLimit? = .perCustomer

            /// The rules that choose the message for a customer who may cancel a subscription. Without them the App
            /// Store shows the default message.
            package var retentionMessages: RetentionMessages?
            /// The promotional offers that the server signs. `nil`, the default, signs none.
            package var offers: PromotionalOffers?

            /// The clients of the App Store Server API, by environment. When a subscription has ended and no later fact
            /// has arrived, the server requests its status. Environments without a client are not polled.
            ///
            /// The validation of a receipt waits for these clients and their retries.
            public var appStore: [StoreEnvironment: AppStoreServerAPIClient] = [:]
            /// The app's Google Play. `nil`, the default, accepts no purchases of Google Play.
            package var googlePlay: GooglePlayApp?
            /// The rules by which consumption requests of the App Store are answered. `nil`, the default, leaves the
            /// answers to operators.
            package var refundPolicy: RefundPolicy?

            /// Creates an app whose other values are the defaults.
            ///
            /// - Parameters:
            ///   - bundleID: The bundle id of the app.
            ///   - appAppleID: The App Store's number of the app.
            ///   - features: The features that the app's products give.
            public init(bundleID: BundleID, appAppleID: Int? = nil, features: FeatureMap = FeatureMap()) {
                self.bundleID = bundleID
                self.appAppleID = appAppleID
                self.features = features
            }
        }

        /// The database of the ledger. The service migrates it at the start and does not close it.
        ///
        /// While ``answerMemory`` is not 0, no other process may write to a SQLite file: open the file with
        /// `isExclusive`. Several servers can share a PostgreSQL database.
        public var database: any SQLDatabase
        /// A replica of a shared database. Customers are read from it if the request has `Souk-Min-Revision` or the
        /// database fails, and API keys if the database fails. The service does not close it.
        public var standby: (any SQLDatabase)?
        /// The lag of the standby, in seconds, above which it is not read.
        public var standbyLag: TimeInterval = 10
        /// The apps that the server answers for.
        public var apps: [App]
        /// The environments whose facts are accepted. The first is used for requests that name none.
        public var environments: [StoreEnvironment]
        /// Whether the server activates its rules (features, credits, transfer mode) at the start even if later rules
        /// replaced them in a shared database.
        ///
        /// With `false`, the later rules stay active, so that a server with an older configuration does not revert
        /// them. With SQLite, a server always uses its own rules.
        public var activatesFormerRules = false
        /// The version of the program in the response to GET `/`; `nil` leaves it out.
        public var version: String?
        /// Web shops that report their sales.
        public var webPurchases: [WebPurchaseSource] = []
        /// The root certificates of the stores' signatures.
        public var trustAnchors = TrustAnchor.apple
        /// The check of revoked certificates. `nil`, the default, means no check.
        public var revocation: RevocationCheck?
        /// The clock that decides about expiry: the system's, or the virtual time of a simulator.
        public var clock: any WallClock = SystemClock()
        /// The clock of real time, for example for the expiry of idempotency keys. It is independent of ``clock``.
        public var realClock: any WallClock = SystemClock()
        /// The clock of rate limits, caches and time limits. Setting the date does not affect it.
        public var monotonicClock = MonotonicClock()
        /// The largest body with transactions or a receipt, in bytes; bodies of other endpoints have fixed limits. 100
        /// transactions of the usual size take a fifth of the default.
        public var maximumBody = 4 << 20
        /// The size of the in-memory cache of answers about customers, in bytes. A typical answer takes about 1200
        /// bytes, and reading it from the cache takes no query. Use 0 if other processes write to the SQLite file,
        /// because the cache does not notice their writes. With PostgreSQL the cache is off.
        public var answerMemory = 256 << 20
        /// Creates the id of a request. Each response has it as `Souk-Request-Id`.
        public var makeRequestID: @Sendable () -> String = uniqueRequestIDs()
        /// Creates the ids of grants, credit grants, console reviews and this server, and the pseudonyms of erased
        /// customers. They must be unpredictable.
        public var makeGrantID: @Sendable () -> String = { UUID().uuidString.lowercased() }
        /// The keys of signed answers. The first key signs the answers to requests with `?nonce=`. All are published,
        /// so that clients can learn a key before its first use and verify its signatures after its last use. Without
        /// keys, answers are not signed.
        public var signingKeys: [AnswerSigningKey] = []
        /// Whether the service answers GET `/metrics`. Use `false` if ``EntitlementService/metricsHandler`` is bound to
        /// a port of its own.
        public var servesMetrics = true
        /// The connections over which browsers reach the console, the pages for operators at `/console`. `nil`, the
        /// default, turns the console off.
        public var console: ConsoleAccess?
        /// The commissions and the exchange rates of the figures.
        package var figures = FigureSettings.usual
        /// The webhooks that receive events.
        public var webhooks: [Webhook] = []
        /// The transport of webhooks. It is required if there are webhooks.
        public var webhookTransport: (any HTTPTransport)?
        /// The number of attempts of a delivery, and the pauses between them: 9 to 17 hours in all.
        public var webhookBackoff = Backoff(attempts: 15, initial: .seconds(5), maximum: .seconds(6 * 3600))
        /// The pauses between attempts of a batch of events, which is repeated until it is delivered.
        var batchBackoff = Backoff(attempts: .max, initial: .seconds(5), maximum: .seconds(300))
        /// Returns a number from 0 to 1, which varies pauses.
        public var random: @Sendable () -> Double = { .random(in: 0...1) }
        /// The retention of events in seconds of the store's clock. Events that must still be delivered to a webhook are
        /// kept longer.
        public var eventRetention: TimeInterval = 30 * 86400
        /// The number of seconds without an event after which a stream sends a comment, so that clients do not consider
        /// the connection broken.
        public var eventKeepAliveInterval: TimeInterval = 15
        /// The former name of `eventKeepAliveInterval`.
        @available(*, deprecated, renamed: "eventKeepAliveInterval")
        public var eventSilence: TimeInterval {
            get { eventKeepAliveInterval }
            set { eventKeepAliveInterval = newValue }
        }
        /// The collector of traces. `nil`, the default, records none.
        package var traces: TraceExport?
        /// Receives a record of each request that was refused or failed; with ``logsEveryRequest``, of each request.
        /// Called on any thread.
        public var log: @Sendable (RequestRecord) -> Void = { _ in }
        /// Whether ``log`` also receives records of successful requests.
        public var logsEveryRequest = false
        /// Receives the server's own failures, with the id of the request, or the name of the background job or
        /// check. Called on any thread.
        public var reportFailure: @Sendable (_ requestID: String, _ error: any Error) -> Void = { _, _ in }
        /// Returns unpredictable bytes, for API keys, secrets, promotional codes and console sessions.
        public var randomBytes: @Sendable (Int) -> [UInt8] = KeyText.randomBytes

        /// Returns a function that creates unique request ids.
        ///
        /// - Returns: A function for other parts of the program, such as a listener that refuses requests itself.
        public static func uniqueRequestIDs() -> @Sendable () -> String { RequestNumbers().next }

        /// Creates a configuration whose other values are the defaults.
        ///
        /// - Parameters:
        ///   - database: The database of the ledger.
        ///   - apps: The apps that the server answers for.
        ///   - environments: The environments whose facts are accepted.
        public init(database: any SQLDatabase, apps: [App], environments: [StoreEnvironment]) {
            self.database = database
            self.apps = apps
            self.environments = environments
        }

        func check() throws(EntitlementServerError) {
            try checkWebPurchases()
            try checkGooglePlay()
            guard !apps.isEmpty else {
                throw EntitlementServerError(.invalidConfiguration, "Name at least one app by its bundle id.")
            }
            guard !environments.isEmpty else {
                throw EntitlementServerError(
                    .invalidConfiguration, "Name at least one environment: production, sandbox or xcode.")
            }
            for (index, app) in apps.enumerated() where apps[..<index].contains(where: { $0.bundleID == app.bundleID })
            {
                throw EntitlementServerError(.invalidConfiguration, "The bundle id \(app.bundleID) is named twice.")
            }
            for limit in apps.flatMap({ [$0.rateLimit, $0.customerRateLimit] }) { try limit?.check() }
            for app in apps where Set(app.pricePoints.map(\.ident)).count < app.pricePoints.count {
                throw EntitlementServerError(
                    .invalidConfiguration, "Two price points of \(app.bundleID) have the same ident.")
            }
            try checkWebhooks()
            try traces?.check()
            try checkRetentionMessages()
            for app in apps { try app.checkOffers() }
            for app in apps {
                guard let policy = app.refundPolicy, !policy.isDryRun, app.appStore.isEmpty, app.googlePlay == nil
                else { continue }
                throw EntitlementServerError(
                    .invalidConfiguration,
                    "The refund policy of \(app.bundleID) needs a client of the App Store Server API, Google Play, or a dry run."
                )
            }
            try Self.check(signingKeys)
            for (index, environment) in environments.enumerated() where environments[..<index].contains(environment) {
                throw EntitlementServerError(.invalidConfiguration, "The environment \(environment) is named twice.")
            }
        }

        /// Throws ``EntitlementServerError`` with `invalidConfiguration` for keys that cannot sign answers together.
        package static func check(_ keys: [AnswerSigningKey]) throws(EntitlementServerError) {
            for key in keys { try key.check() }
            guard Set(keys.map(\.id)).count == keys.count else {
                throw EntitlementServerError(
                    .invalidConfiguration, "Two signing keys have the same id; give each an id of its own.")
            }
        }

        private func checkWebhooks() throws(EntitlementServerError) {
            for (index, webhook) in webhooks.enumerated() {
                try webhook.check()
                guard apps.contains(where: { $0.bundleID == webhook.app }) else {
                    throw EntitlementServerError(
                        .invalidConfiguration,
                        "The webhook \(webhook.name) belongs to an app that this server does not serve.")
                }
                guard !webhooks[..<index].contains(where: { $0.app == webhook.app && $0.name == webhook.name }) else {
                    throw EntitlementServerError(
                        .invalidConfiguration, "The webhook \(webhook.name) of \(webhook.app) is named twice.")
                }
            }
            guard webhooks.isEmpty || webhookTransport != nil else {
                throw EntitlementServerError(.invalidConfiguration, "Webhooks need a transport; set webhookTransport.")
            }
        }
    }
}

/// Request ids that are unique in this process. A random prefix makes them unique elsewhere too. They cost less than
/// UUIDs.
private final class RequestNumbers: Sendable {
    /// The random part and a hyphen.
    private let prefix: String
    private let last = Locked<UInt64>(0)

    init() {
        var source = SystemRandomNumberGenerator()
        prefix = String(UInt64.random(in: .min ... .max, using: &source), radix: 36) + "-"
    }

    @Sendable func next() -> String {
        let number = last.withLock { last -> UInt64 in
            last += 1
            return last
        }
        return prefix + String(number, radix: 36)
    }
}
