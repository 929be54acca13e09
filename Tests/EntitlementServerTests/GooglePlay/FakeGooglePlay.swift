import Foundation
import GooglePlay
import HTTPCore
import Primitives
import SignedData
import StoreModel
import Testing

@testable import EntitlementServer

/// A Google Play that answers with the resources that a test gave it: purchases, orders, access tokens and keys.
final class FakeGooglePlay: HTTPTransport {
    static let packageName: PackageName = "com.example.darkroom"
    static let pushToken = PushToken(
        audience: "https://souk.example/v1/notifications/google-play", email: "push@example.iam.gserviceaccount.com")
    /// Keys that all tests share, because creating an RSA key takes long.
    static let keys = Result { try (0..<3).map { _ in try RSASigningKey.generate() } }

    struct State: Sendable {
        var purchases: [PurchaseToken: (kind: PlayFetch.Kind, resource: JSONValue)] = [:]
        var orders: [String: JSONValue] = [:]
        /// The answer to all requests for purchases and orders instead of the resources.
        var outage: (status: Int, retryAfter: Int?)?
        var refusesOrders = false
        var hasKeys = true
        /// The refunds and the answers to reviews: the path after the package name, and the body.
        var changes: [(path: String, body: JSONValue)] = []
        /// The errors that answer the next refunds and reviews.
        var refusals: [GoogleAPIError] = []
        /// The tokens of purchases that were requested.
        var requested: [String] = []
        /// The request whose answer waits at the gate: the number of the request for a purchase, from 0.
        var gated: Int?
    }

    let state = Locked(State())
    let gate = Gate()

    /// Holds one answer until a test opens it.
    final class Gate: Sendable {
        private let reached = AsyncStream<Void>.makeStream()
        private let opened = AsyncStream<Void>.makeStream()

        func pass() async {
            reached.continuation.yield()
            for await _ in opened.stream { return }
        }

        /// Waits until an answer is at the gate.
        func wait() async { for await _ in reached.stream { return } }

        func open() { opened.continuation.yield() }
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let path = request.url.dropFirst("http://google.test".count)
        if path == "/token" {
            return HTTPResponse(
                json: ["access_token": "ya29.fake", "expires_in": 3600, "token_type": "Bearer"])
        }
        if path == "/certs" {
            guard state.withLock(\.hasKeys) else { return HTTPResponse(status: 503) }
            return HTTPResponse(json: JSONWebKeySet(["k": try Self.keys.get()[1].verificationKey]).json)
        }
        if let outage = state.withLock({ $0.outage }) {
            let headers: HTTPHeaders = outage.retryAfter.map { ["Retry-After": String($0)] } ?? [:]
            return HTTPResponse(status: outage.status, headers: headers)
        }
        let last = path.split(separator: "/").last.map(String.init) ?? ""
        if request.method == .post, path.contains("/orders/") {
            let bytes = try await request.body.collect(upTo: 1 << 16)
            let body = try JSONValue(parsing: bytes)
            return state.withLock { state in
                state.changes.append((last, body))
                return state.refusals.isEmpty ? HTTPResponse(json: [:]) : state.refusals.removeFirst().response
            }
        }
        if path.contains("/orders/") {
            return state.withLock { state in
                if state.refusesOrders {
                    return GoogleAPIError(.permissionDenied, reason: "permissionDenied", "No access.").response
                }
                return state.orders[last].map { HTTPResponse(json: $0) }
                    ?? GoogleAPIError(.notFound, reason: "orderNotFound", "There is no such order.").response
            }
        }
        let kind: PlayFetch.Kind = path.contains("/subscriptionsv2/") ? .subscription : .product
        let (answer, isGated) = state.withLock { state in
            let isGated = state.gated == state.requested.count
            state.requested.append(last)
            guard let token = PurchaseToken(rawValue: last), let purchase = state.purchases[token],
                purchase.kind == kind
            else {
                return (
                    GoogleAPIError(.notFound, reason: "purchaseTokenNotFound", "There is no such purchase.").response,
                    isGated
                )
            }
            return (HTTPResponse(json: purchase.resource), isGated)
        }
        if isGated { await gate.pass() }
        return answer
    }

    var requestCount: Int { state.withLock { $0.requested.count } }

    func set(_ token: PurchaseToken, _ purchase: AndroidPublisher.SubscriptionPurchaseV2) throws {
        let json = try JSONValue(parsing: WireJSON.encode(purchase))
        state.withLock { $0.purchases[token] = (.subscription, json) }
    }

    func set(_ token: PurchaseToken, _ purchase: AndroidPublisher.ProductPurchaseV2) throws {
        let json = try JSONValue(parsing: WireJSON.encode(purchase))
        state.withLock { $0.purchases[token] = (.product, json) }
    }

    func set(_ order: AndroidPublisher.Order) throws {
        let json = try JSONValue(parsing: WireJSON.encode(order))
        state.withLock { $0.orders[order.orderId ?? ""] = json }
    }

    /// The settings of an app with this Google Play.
    func app(realClock: any WallClock) throws -> GooglePlayApp {
        let keys = try Self.keys.get()
        let account = ServiceAccountKey(
            projectID: "p", clientEmail: "souk@example.iam.gserviceaccount.com", clientID: "1", keyID: "a",
            tokenURI: "http://google.test/token", signingKey: keys[0])
        var configuration = GooglePlayClient.Configuration(
            packageName: Self.packageName, key: account, baseURL: "http://google.test")
        configuration.backoff.attempts = 1
        configuration.clock = realClock
        var app = GooglePlayApp(client: GooglePlayClient(configuration: configuration, transport: self))
        app.publicKey = keys[2].verificationKey
        app.notifications = .init(
            verifier: GooglePlayPushVerifier(
                keysURL: "http://google.test/certs", transport: self, clock: realClock), token: Self.pushToken)
        return app
    }
}

extension AndroidPublisher.SubscriptionPurchaseV2 {
    /// A subscription of `plus` that began at `start` and is paid for `days`.
    static func plus(
        from start: Date, days: Double = 30, order: String? = "GPA.1", account: String? = nil,
        _ change: (inout Self) -> Void = { _ in }
    ) -> Self {
        var purchase = Self {
            $0.kind = kind
            $0.etag = "etag-1"
            $0.regionCode = "US"
            $0.startTime = start
            $0.subscriptionState = .active
            $0.acknowledgementState = .pending
            $0.lineItems = [
                AndroidPublisher.SubscriptionLineItem {
                    $0.productId = "plus"
                    $0.expiryTime = start.addingTimeInterval(days * 86400)
                    $0.latestSuccessfulOrderId = order
                    $0.offerDetails = AndroidPublisher.OfferDetails { $0.basePlanId = "monthly" }
                    $0.offerPhase = AndroidPublisher.OfferPhase { $0.basePrice = AndroidPublisher.Presence() }
                    $0.autoRenewingPlan = AndroidPublisher.AutoRenewingPlan {
                        $0.autoRenewEnabled = true
                        $0.recurringPrice = AndroidPublisher.Money(
                            currencyCode: "USD", units: 4, nanos: 990_000_000)
                    }
                }
            ]
            if let account {
                $0.externalAccountIdentifiers = AndroidPublisher.ExternalAccountIdentifiers {
                    $0.obfuscatedExternalAccountId = account
                }
            }
        }
        change(&purchase)
        return purchase
    }

    /// The only product of the subscription.
    var item: AndroidPublisher.SubscriptionLineItem {
        get { lineItems?[0] ?? AndroidPublisher.SubscriptionLineItem() }
        set { lineItems = [newValue] }
    }
}

extension AndroidPublisher.ProductPurchaseV2 {
    /// A purchase of `coins` at `instant`.
    static func coins(
        at instant: Date, order: String? = "GPA.9", quantity: Int? = nil, _ change: (inout Self) -> Void = { _ in }
    ) -> Self {
        var purchase = Self {
            $0.kind = kind
            $0.orderId = order
            $0.purchaseCompletionTime = instant
            $0.acknowledgementState = .pending
            $0.purchaseStateContext = AndroidPublisher.PurchaseStateContext { $0.purchaseState = .purchased }
            $0.productLineItem = [
                AndroidPublisher.ProductLineItem {
                    $0.productId = "coins"
                    $0.productOfferDetails = AndroidPublisher.ProductOfferDetails {
                        $0.quantity = quantity
                        $0.consumptionState = .yetToBeConsumed
                    }
                }
            ]
        }
        change(&purchase)
        return purchase
    }

    var offer: AndroidPublisher.ProductOfferDetails {
        get { productLineItem?[0].productOfferDetails ?? AndroidPublisher.ProductOfferDetails() }
        set { productLineItem?[0].productOfferDetails = newValue }
    }
}

extension AndroidPublisher.Order {
    /// The order of one paid period of `product`.
    static func paid(
        _ id: String, _ product: String = "plus", from start: Date, to end: Date, cents: Int64 = 499,
        _ change: (inout Self) -> Void = { _ in }
    ) -> Self {
        var order = Self {
            $0.orderId = id
            $0.purchaseToken = "the token of the order"
            $0.state = .processed
            $0.createTime = start
            $0.lastEventTime = start
            $0.lineItems = [
                AndroidPublisher.OrderLineItem {
                    $0.productId = product
                    $0.total = AndroidPublisher.Money(currencyCode: "USD", billionths: cents * 10_000_000)
                    $0.subscriptionDetails = AndroidPublisher.SubscriptionDetails {
                        $0.servicePeriodStartTime = start
                        $0.servicePeriodEndTime = end
                    }
                }
            ]
        }
        change(&order)
        return order
    }
}

extension PlayFetch {
    /// A fetch of a subscription.
    init(
        _ purchase: AndroidPublisher.SubscriptionPurchaseV2, order: AndroidPublisher.Order? = nil, at instant: Date,
        replacedAt: Date? = nil
    ) throws {
        self.init(
            "token-1", of: FakeGooglePlay.packageName, .subscription, beganAt: instant,
            resource: try JSONValue(parsing: WireJSON.encode(purchase)),
            order: try order.map { try JSONValue(parsing: WireJSON.encode($0)) })
        self.replacedAt = replacedAt
    }

    /// A fetch of a one-time product.
    init(
        _ purchase: AndroidPublisher.ProductPurchaseV2, order: AndroidPublisher.Order? = nil,
        isConsumable: Bool = false, at instant: Date
    ) throws {
        self.init(
            "token-9", of: FakeGooglePlay.packageName, .product, isConsumable: isConsumable, beganAt: instant,
            resource: try JSONValue(parsing: WireJSON.encode(purchase)),
            order: try order.map { try JSONValue(parsing: WireJSON.encode($0)) })
    }

    func purchase() throws -> Purchase {
        guard case .purchased(let purchase) = try reading() else {
            throw SignedDataError(.payloadMalformed, "The purchase is not paid.")
        }
        return purchase
    }

    /// Returns the answer from this fetch alone, with a fact that was read from its source again.
    func answer(at instant: Date) throws -> Customer {
        var state = CustomerState()
        for fact in try PlayFetch(source: source).facts(of: PlayFetch(source: source).purchase(), in: .sandbox) {
            state.apply(fact.content)
        }
        return EntitlementReducer().customer("anna", in: .sandbox, state, at: instant)
    }
}

extension ServerBench {
    /// Opens a server whose app has a Google Play.
    static func withPlay(
        _ environments: [StoreEnvironment] = [.sandbox], folder: Folder? = nil, keys: [BundleID: IssuedKeys] = [:],
        play: FakeGooglePlay = FakeGooglePlay(),
        configure: @escaping (inout EntitlementService.Configuration) throws -> Void = { _ in }
    ) async throws -> (ServerBench, FakeGooglePlay) {
        let failure = Locked<(any Error)?>(nil)
        let bench = try await ServerBench(
            environments: environments, folder: folder, keys: keys,
            configure: { configuration in
                do {
                    configuration.apps[0].features = FeatureMap(features: ["pro": ["plus", "pro.monthly"]])
                    configuration.apps[0].credits = CreditTable(
                        credits: ["gold": .init(products: ["coins": 100], prices: ["hat": 30])])
                    configuration.apps[0].googlePlay = try play.app(realClock: configuration.realClock)
                    try configure(&configuration)
                } catch { failure.withLock { $0 = error } }
            })
        if let error = failure.withLock({ $0 }) { throw error }
        return (bench, play)
    }

    func postPlay(
        _ token: String = "token-1", product: String = "plus", for customer: String = "anna",
        headers: HTTPHeaders = [:], _ change: (inout JSONValue) -> Void = { _ in }
    ) async throws -> Reply {
        var body: JSONValue = [
            "packageName": .string(FakeGooglePlay.packageName.rawValue), "productId": .string(product),
            "purchaseToken": .string(token),
        ]
        change(&body)
        return try await send(
            .post, "/v1/customers/\(customer)/play-purchases", headers: headers, body: .json(body))
    }

    /// Posts a notification as Cloud Pub/Sub pushes it.
    func pushPlay(
        _ notification: DeveloperNotification, as push: PushToken = FakeGooglePlay.pushToken, key: Int = 1,
        package: String = FakeGooglePlay.packageName.rawValue, authorization: String? = nil
    ) async throws -> Reply {
        var notification = notification
        notification.packageName = package
        let token = try push.signed(
            by: FakeGooglePlay.keys.get()[key], keyID: "k", subject: "1", at: realClock.now())
        let body = try PubSubPush(
            notification, messageId: "m-1", publishTime: clock.now(), subscription: "projects/p/subscriptions/s")
        return try await send(
            .post, "/v1/notifications/google-play", as: .none,
            headers: ["Authorization": authorization ?? "Bearer \(token)"],
            body: .bytes(try WireJSON.encode(body)))
    }

    /// Returns the differences of a replay.
    func playDifferences() throws -> [LedgerReplay.Difference] {
        var app = EntitlementService.Configuration.App(
            bundleID: Self.app, features: FeatureMap(features: ["pro": ["plus", "pro.monthly"]]))
        app.credits = CreditTable(credits: ["gold": .init(products: ["coins": 100], prices: ["hat": 30])])
        return try LedgerReplay(
            database: database, apps: [app, .init(bundleID: Self.otherApp)], clock: clock
        ).run().differences
    }

    var playFacts: Int {
        get throws {
            try database.read {
                try #require(try $0.first("SELECT count(*) AS n FROM fact WHERE source = 'googlePlay'"))["n"]
            }
        }
    }
}

extension DeveloperNotification {
    static func renewed(_ token: String) -> Self {
        Self {
            $0.subscriptionNotification = Subscription {
                $0.notificationType = .renewed
                $0.purchaseToken = token
            }
        }
    }
}
