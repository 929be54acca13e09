import Foundation
import HTTPCore
import Primitives
import SQLStorage
import SignedData
import StoreModel

extension EntitlementService {
    /// Whom a server serves and whom it trusts; what it takes from outside are parameters with production's defaults.
    public struct Configuration: Sendable {
        /// One app.
        public struct App: Sendable {
            public var bundleID: BundleID
            /// The App Store's number of the app.
            public var appAppleID: Int?
            public var features: FeatureMap
            /// What its consumables fill and its items cost.
            public var credits = CreditTable()
            /// What becomes of a purchase that a second customer presents.
            public var transferMode = TransferMode.transfer
            /// Whether a public key needs the customer's own token for whatever it asks about a customer.
            public var requiresCustomerTokens = false
            /// What the app sells and for how much, for clients of Palta; `PricePointInternal(_:)` makes one of a product.
            public var pricePoints: [PricePointInternal] = []
            /// How many requests each of the app's keys may send; `nil` is as many as it likes, and the default, because
            /// all devices share the public key.
            public var rateLimit: RateLimit?
            /// How many requests about one customer are answered to public keys; `nil` is any number. Requests with a
            /// secret key do not count.
            public var customerRateLimit: RateLimit? = .perCustomer

            /// By whom the App Store is asked about subscriptions that have passed their end without news; nobody is asked
            /// about environments without one. A request to judge a receipt waits as long as these are patient.
            public var appStore: [StoreEnvironment: AppStoreServerAPIClient] = [:]

            public init(bundleID: BundleID, appAppleID: Int? = nil, features: FeatureMap = FeatureMap()) {
                self.bundleID = bundleID
                self.appAppleID = appAppleID
                self.features = features
            }
        }

        /// Where the ledger lies. The service migrates it when it starts and does not close it. While answers are kept in
        /// memory (`answerMemory`), no other process may write it: open a SQLite file with `isExclusive`.
        public var database: any SQLDatabase
        /// A copy that follows the database, where servers share one: customers are read in it when the request allows it, or
        /// the database cannot be reached. The service does not close it.
        public var standby: (any SQLDatabase)?
        /// By how many seconds the copy may be behind to be read.
        public var standbyLag: TimeInterval = 10
        public var apps: [App]
        /// The environments whose facts are accepted; the first answers requests that name none.
        public var environments: [StoreEnvironment]
        /// Whether rules of an app (features, credits, transfer mode) that were replaced by later ones become active again
        /// with this start. Servers that share a database otherwise go on with the later ones, so that one that is started
        /// with an older file undoes nothing. A server that has its database alone always uses its own.
        public var activatesFormerRules = false
        /// The version of the program, for GET `/`; left out when `nil`.
        public var version: String?
        /// Shops on the web that tell what they sold.
        public var webPurchases: [WebPurchaseSource] = []
        /// The roots that signed facts may come from.
        public var trustAnchors = TrustAnchor.apple
        /// Decides about expiry: the system's clock, or one that follows a simulator.
        public var clock: any WallClock = SystemClock()
        /// Decides how long an idempotency key is kept. Real time, whatever `clock` says.
        public var realClock: any WallClock = SystemClock()
        /// Measures rate limits and how long a key is believed in, whatever the date is set to.
        public var monotonicClock = MonotonicClock()
        /// The most bytes of a body. 100 transactions of the usual size need a fifth of it.
        public var maximumBody = 4 << 20
        /// How many bytes of memory customers' answers may take, so that reading them costs no query: an answer of the usual
        /// size takes some 1200. Another process's writes would not be seen; 0 when others write the same database.
        public var answerMemory = 256 << 20
        /// Names requests; every answer carries the name as `Souk-Request-Id`.
        public var makeRequestID: @Sendable () -> String = uniqueRequestIDs()
        /// Names grants, erased customers and this server; cannot be guessed.
        public var makeGrantID: @Sendable () -> String = { UUID().uuidString.lowercased() }
        /// Answers are signed with the first, for who asks by `?nonce=`; the others are published, so that clients know a
        /// key before it signs and as long as its signatures are about. Without a key nothing is signed.
        public var signingKeys: [AnswerSigningKey] = []
        /// Whether GET `/metrics` is answered among the others; `false` where `EntitlementService.metricsHandler` is bound
        /// to a port of its own.
        public var servesMetrics = true
        /// Where events are posted to.
        public var webhooks: [Webhook] = []
        /// Posts them; needed where there are any.
        public var webhookTransport: (any HTTPTransport)?
        /// How often a delivery is attempted before it is dead, and the pauses between: a day in all.
        public var webhookBackoff = Backoff(attempts: 15, initial: .seconds(5), maximum: .seconds(6 * 3600))
        /// Spreads pauses; from 0 to 1.
        public var random: @Sendable () -> Double = { .random(in: 0...1) }
        /// For how many seconds of the store's time events can be asked for; longer where a webhook was not told of one.
        public var eventRetention: TimeInterval = 30 * 86400
        /// After how many seconds without an event a stream of them sends a comment, so that nobody takes it for broken.
        public var eventSilence: TimeInterval = 15
        /// Told of requests that were refused or failed, and of all with `logsEveryRequest`. Called on any thread.
        public var log: @Sendable (RequestRecord) -> Void = { _ in }
        public var logsEveryRequest = false
        /// Told what failed on this side, with the id the request's sender was given, or the name of what runs without
        /// being asked. Called on any thread.
        public var reportFailure: @Sendable (_ requestID: String, _ error: any Error) -> Void = { _, _ in }
        /// Unpredictable bytes, for API keys.
        public var randomBytes: @Sendable (Int) -> [UInt8] = KeyText.randomBytes

        /// Names that are given out once, for requests that others answer beside the service, such as a listener.
        public static func uniqueRequestIDs() -> @Sendable () -> String { RequestNumbers().next }

        public init(database: any SQLDatabase, apps: [App], environments: [StoreEnvironment]) {
            self.database = database
            self.apps = apps
            self.environments = environments
        }

        func check() throws(EntitlementServerError) {
            try checkWebPurchases()
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
            for key in signingKeys { try key.check() }
            guard Set(signingKeys.map(\.id)).count == signingKeys.count else {
                throw EntitlementServerError(.invalidConfiguration, "Two signing keys have the same name.")
            }
            for (index, environment) in environments.enumerated() where environments[..<index].contains(environment) {
                throw EntitlementServerError(.invalidConfiguration, "The environment \(environment) is named twice.")
            }
        }

        private func checkWebhooks() throws(EntitlementServerError) {
            for (index, webhook) in webhooks.enumerated() {
                try webhook.check()
                guard apps.contains(where: { $0.bundleID == webhook.app }) else {
                    throw EntitlementServerError(
                        .invalidConfiguration, "The webhook \(webhook.name) is of an app that is not served.")
                }
                guard !webhooks[..<index].contains(where: { $0.id == webhook.id }) else {
                    throw EntitlementServerError(
                        .invalidConfiguration, "The webhook \(webhook.name) of \(webhook.app) is named twice.")
                }
            }
            guard webhooks.isEmpty || webhookTransport != nil else {
                throw EntitlementServerError(.invalidConfiguration, "Webhooks need a transport that posts them.")
            }
        }
    }
}

/// Names that are unique in this process, and by their random beginning elsewhere too. Cheaper than a UUID each.
private final class RequestNumbers: Sendable {
    private let prefix: String
    private let last = Locked<UInt64>(0)

    init() {
        var source = SystemRandomNumberGenerator()
        prefix = String(UInt64.random(in: .min ... .max, using: &source), radix: 36)
    }

    @Sendable func next() -> String {
        let number = last.withLock { last -> UInt64 in
            last += 1
            return last
        }
        return "\(prefix)-\(String(number, radix: 36))"
    }
}
