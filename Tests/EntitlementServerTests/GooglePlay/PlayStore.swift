import AppStoreSimulator
import BaseTestSupport
import Foundation
import GooglePlay
import HTTPCore
import Primitives
import SignedData
import SimulatorControl
import StoreModel

@testable import EntitlementServer

/// A simulated Google Play in the process of the test, in virtual time that only the test advances.
struct PlayStore: Sendable {
    static let packageName: PackageName = "com.example.darkroom"
    static let url = "http://127.0.0.1:1"
    static let keysURL = url + "/oauth2/v3/certs"
    /// The instant at which a store begins: the one of a `ManualClock`.
    static let start = Date(timeIntervalSince1970: 1_767_225_600)

    let store: SimulatedAppStore
    /// The service account of the store.
    let key: ServiceAccountKey
    /// The base64 of the key that verifies the signed data of purchases.
    let publicKey: String
    /// The expected token of a push request to `pushURL`.
    let push: PushToken

    private static let pushURL = "https://souk.example/v1/notifications/google-play"
    private static let pushEmail = "play-notifications@souk-simulator.iam.gserviceaccount.com"

    /// Keys that the stores of all tests share, because creating an RSA key takes long.
    private static let keys = Result {
        try ["licence", "push", "account"].map { ($0, try RSASigningKey.generate().pem) }
    }

    /// Opens a store for `body` and closes it. `base` is the clock of access tokens and of push tokens, `sender` the
    /// transport of the notifications of both stores, and `appStore` the catalogue of the App Store.
    static func with(
        base: ManualClock = ManualClock(), start: Date = start, appStore: String = #"{"products": []}"#,
        sender: (any HTTPTransport)? = nil,
        _ body: (PlayStore) async throws -> Void
    ) async throws {
        let folder = try ServerBench.Folder()
        for (name, pem) in try keys.get() {
            try Data(pem.utf8).write(to: folder.url.appendingPathComponent("play-\(name)-key.pem"))
        }
        var configuration = SimulatedAppStore.Configuration(
            catalogue: try Catalogue(parsing: Array(appStore.utf8), file: "shop.storekit"),
            bundleID: ServerBench.app, dataDirectory: folder.url.path)
        configuration.timeRate = .frozen
        configuration.start = start
        configuration.baseClock = base
        configuration.seed = 0
        configuration.playCatalogue = try PlayCatalogue(parsing: Array(catalogue.utf8), file: "play.json")
        configuration.notificationTransport = sender
        if sender != nil {
            configuration.playNotificationsURL = pushURL
            configuration.notificationsURL = "https://souk.example/v1/notifications/app-store"
        }
        let store = try await SimulatedAppStore.open(configuration)
        do {
            let line = try store.announcement(listeningAt: url)["googlePlay"]
            let path = line?["serviceAccount"]?.stringValue ?? ""
            try await body(
                PlayStore(
                    store: store,
                    key: try ServiceAccountKey(parsing: Array(Data(contentsOf: URL(fileURLWithPath: path)))),
                    publicKey: line?["publicKey"]?.stringValue ?? "",
                    push: PushToken(audience: pushURL, email: pushEmail)))
        } catch {
            await store.close()
            throw error
        }
        await store.close()
    }

    /// A transport to the store's endpoints.
    var transport: any HTTPTransport { InProcessTransport(store.handler) }

    /// Returns a client of the store, whose requests `transport` sends.
    func client(
        over transport: (any HTTPTransport)? = nil, clock: any WallClock = ManualClock(),
        _ change: (inout GooglePlayClient.Configuration) -> Void = { _ in }
    ) -> GooglePlayClient {
        var configuration = GooglePlayClient.Configuration(
            packageName: Self.packageName, key: key, baseURL: Self.url)
        configuration.clock = clock
        configuration.random = { 1 }
        change(&configuration)
        return GooglePlayClient(configuration: configuration, transport: transport ?? self.transport)
    }

    /// Buys a product of the catalogue.
    @discardableResult
    func buy(
        _ product: ProductID, _ plan: String? = nil, account: AccountName = "anna",
        _ change: (inout StoreControlWire.PlayBuy) -> Void = { _ in }
    ) async throws -> StoreControlWire.SignedPlayPurchase {
        if try !store.accounts().contains(account) { try await store.createAccount(account) }
        var buy = StoreControlWire.PlayBuy(productID: product, basePlanID: plan)
        change(&buy)
        return try await store.playBuy(buy, for: account)
    }

    func advance(_ period: SubscriptionPeriod) async throws { _ = try await store.advance(.init(period: period)) }

    private static let catalogue = """
        {"packageName": "\(packageName)", "regionCode": "US",
         "oneTimeProducts": [\(product("coins")), \(product("tools"))],
         "subscriptions": [
           {"productId": "pro.monthly", "basePlans": [
             \(plan("monthly", "autoRenewingBasePlanType", "P1M", "4", grace)),
             \(plan("prepaid", "prepaidBasePlanType", "P1M", "5"))],
            "offers": [
              {"basePlanId": "monthly", "offerId": "trial", "state": "ACTIVE",
               "regionalConfigs": [{"regionCode": "US", "newSubscriberAvailability": true}],
               "targeting": {"acquisitionRule": {"scope": {"thisSubscription": {}}}},
               "phases": [
                 {"duration": "P1W", "recurrenceCount": 1, "regionalConfigs": [{"regionCode": "US", "free": {}}]}]}]},
           {"productId": "pro.yearly", "basePlans": [\(plan("yearly", "autoRenewingBasePlanType", "P1Y", "40"))]}]}
        """

    private static let grace = #", "gracePeriodDuration": "P7D", "accountHoldDuration": "P30D""#

    private static func product(_ id: String) -> String {
        """
        {"productId": "\(id)", "purchaseOptions": [
          {"purchaseOptionId": "buy", "state": "ACTIVE", "buyOption": {"multiQuantityEnabled": true},
           "regionalPricingAndAvailabilityConfigs": [
             {"regionCode": "US", "availability": "AVAILABLE",
              "price": {"currencyCode": "USD", "units": "1", "nanos": 990000000}}]}]}
        """
    }

    private static func plan(
        _ id: String, _ type: String, _ period: String, _ units: String, _ more: String = ""
    ) -> String {
        """
        {"basePlanId": "\(id)", "state": "ACTIVE", "\(type)": {"billingPeriodDuration": "\(period)"\(more)},
         "regionalConfigs": [{"regionCode": "US", "newSubscriberAvailability": true,
           "price": {"currencyCode": "USD", "units": "\(units)"}}]}
        """
    }
}

/// A transport that records its requests and can answer some of them itself.
final class SteeredTransport: HTTPTransport {
    typealias Answer = @Sendable (HTTPRequest) async throws -> HTTPResponse?

    private let inner: any HTTPTransport
    private let state = Locked((requests: [HTTPRequest](), answer: Answer?.none))

    init(_ inner: any HTTPTransport) { self.inner = inner }

    var requests: [HTTPRequest] { state.withLock { $0.requests } }

    /// Returns the number of requests whose path ends with `suffix`.
    func count(_ suffix: String) -> Int { requests.count { $0.path.hasSuffix(suffix) } }

    /// Answers later requests with `answer`. Requests for which it returns `nil` are sent.
    func steer(_ answer: Answer?) { state.withLock { $0.answer = answer } }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let answer = state.withLock { state in
            state.requests.append(request)
            return state.answer
        }
        if let response = try await answer?(request) { return response }
        return try await inner.send(request)
    }
}
