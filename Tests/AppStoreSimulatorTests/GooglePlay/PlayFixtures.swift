import BaseTestSupport
import Foundation
import GooglePlay
import HTTPCore
import Primitives
import SignedData
import SimulatorControl
import StoreModel
import Testing

@testable import AppStoreSimulator

/// A catalogue of Google Play with a product of each kind.
enum PlayFixtures {
    static let text = """
        {"packageName": "com.example.souk_play", "regionCode": "US",
         "oneTimeProducts": [
           {"productId": "coins", "listings": [{"languageCode": "en-US", "title": "Coins"}],
            "purchaseOptions": [{"purchaseOptionId": "buy", "state": "ACTIVE",
              "buyOption": {"multiQuantityEnabled": true},
              "regionalPricingAndAvailabilityConfigs": [
                {"regionCode": "US", "availability": "AVAILABLE",
                 "price": {"currencyCode": "USD", "nanos": 990000000}},
                {"regionCode": "DE", "price": {"currencyCode": "EUR", "units": "1"}}]}]}],
         "subscriptions": [
           {"productId": "plus", "listings": [{"languageCode": "en-US", "title": "Plus"}],
            "basePlans": [
              \(plan("monthly", "autoRenewingBasePlanType", "P1M", "4", more: grace)),
              \(plan("yearly", "autoRenewingBasePlanType", "P1Y", "40")),
              \(plan("prepaid", "prepaidBasePlanType", "P1M", "5")),
              \(plan("short", "prepaidBasePlanType", "P1D", "1")),
              \(plan("instalments", "installmentsBasePlanType", "P1M", "3", more: committed))],
            "offers": [
              {"basePlanId": "monthly", "offerId": "trial", "offerTags": [{"tag": "new"}],
               "regionalConfigs": [{"regionCode": "US", "newSubscriberAvailability": true}],
               "targeting": {"acquisitionRule": {"scope": {"thisSubscription": {}}}},
               "phases": [
                 {"duration": "P1W", "recurrenceCount": 1, "regionalConfigs": [{"regionCode": "US", "free": {}}]},
                 {"duration": "P1M", "recurrenceCount": 2, "regionalConfigs": [
                    {"regionCode": "US", "relativeDiscount": 0.5}]}]}]},
           {"productId": "pro", "basePlans": [\(plan("monthly", "autoRenewingBasePlanType", "P1M", "8"))]}]}
        """

    private static let grace = #", "gracePeriodDuration": "P7D", "accountHoldDuration": "P30D""#
    private static let committed =
        #", "committedPaymentsCount": 3, "renewalType": "RENEWAL_TYPE_RENEWS_WITHOUT_COMMITMENT""#

    private static func plan(
        _ id: String, _ type: String, _ period: String, _ units: String, more: String = ""
    ) -> String {
        """
        {"basePlanId": "\(id)", "state": "ACTIVE", "\(type)": {"billingPeriodDuration": "\(period)"\(more)},
         "regionalConfigs": [{"regionCode": "US", "newSubscriberAvailability": true,
           "price": {"currencyCode": "USD", "units": "\(units)"}}]}
        """
    }

    static func catalogue() throws -> PlayCatalogue {
        try PlayCatalogue(parsing: Array(text.utf8), file: "play.json")
    }

    /// Keys that the stores of all tests share, because creating an RSA key takes long.
    private static let keys = ["licence", "push", "account"].map { ($0, try! RSASigningKey.generate().pem) }

    /// Writes the shared keys into the data folder of a new store.
    static func writeKeys(to folder: ScratchFolder) throws {
        for (name, pem) in keys {
            try Data(pem.utf8).write(to: URL(fileURLWithPath: "\(folder.path)/play-\(name)-key.pem"))
        }
    }

    /// Rows for every table of Google Play. The purchases belong to the first account.
    static func rows() async throws -> [(table: String, rows: JSONValue)] {
        let found = Locked<[(String, JSONValue)]>([])
        try await TestStore.withPlay(
            change: {
                $0.playNotificationsURL = "http://127.0.0.1:1/push"
                $0.notificationTransport = Receiver { _ in 500 }
            }
        ) { test, _ in
            let token = try await test.playBuy("coins").purchaseToken
            _ = try await test.store.refundPlayPurchase(token, .init(), chargeback: true)
            try await test.playBuy("plus", "monthly", offer: "trial")
            let several = try await test.playBuy("coins", account: "anna") { $0.quantity = 3 }.purchaseToken
            _ = try await test.store.refundPlayPurchase(several, .init(quantity: 1))
            _ = try await test.store.requestPlayChargeback(several)
            try await test.store.deliverPlayNotifications()
            let tables = try await test.store.exportState()["tables"]?.objectValue ?? [:]
            found.withLock { $0 = tables.filter { $0.key.hasPrefix("play_") }.map { ($0.key, $0.value) } }
        }
        return found.withLock { $0 }
    }

    static let url = "http://127.0.0.1:1"
    static let base = "/androidpublisher/v3/applications/com.example.souk_play"
}

/// A client of Google's API of a store, without a network.
struct PlayClient {
    let store: SimulatedAppStore
    var token: String

    init(_ test: TestStore) async throws {
        store = test.store
        let line = try #require(try store.announceGooglePlay(listeningAt: PlayFixtures.url))
        let path = try #require(line["serviceAccount"]?.stringValue)
        let key = try ServiceAccountKey(parsing: Array(Data(contentsOf: URL(fileURLWithPath: path))))
        let assertion = try key.assertion(scope: AndroidPublisher.scope, at: test.base.now())
        token = try #require(store.googlePlay).accessToken(for: assertion)
    }

    func send(
        _ method: HTTPRequest.Method, _ path: String, _ body: JSONValue? = nil, base: String = PlayFixtures.base
    ) async throws -> (status: Int, json: JSONValue) {
        var request = HTTPRequest(
            method: method, url: base + path, headers: ["Host": "127.0.0.1", "Authorization": "Bearer \(token)"])
        if let body {
            request.headers["Content-Type"] = "application/json"
            request.body = .json(body)
        }
        let response = await store.handler.respond(to: request).response()
        let bytes = try await response.body.collect(upTo: 1 << 20)
        return (response.status, bytes.isEmpty ? .null : try JSONValue(parsing: bytes))
    }

    func subscription(_ token: String) async throws -> AndroidPublisher.SubscriptionPurchaseV2 {
        let answer = try await send(.get, "/purchases/subscriptionsv2/tokens/\(token)")
        #expect(answer.status == 200, "\(answer.json)")
        return try WireJSON.decode(AndroidPublisher.SubscriptionPurchaseV2.self, from: answer.json)
    }

    func order(_ id: String) async throws -> AndroidPublisher.Order {
        let answer = try await send(.get, "/orders/\(id)")
        #expect(answer.status == 200, "\(answer.json)")
        return try WireJSON.decode(AndroidPublisher.Order.self, from: answer.json)
    }

    /// Expects a refusal with a status and a reason.
    func refuses(
        _ status: Int, _ reason: String, _ method: HTTPRequest.Method, _ path: String, _ body: JSONValue? = nil,
        base: String = PlayFixtures.base, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let answer = try await send(method, path, body, base: base)
        let error = GoogleAPIError(answer.json)
        #expect(answer.status == status, "\(answer.json)", sourceLocation: sourceLocation)
        #expect(error?.reason == reason, sourceLocation: sourceLocation)
        #expect(error?.httpStatus == status, sourceLocation: sourceLocation)
    }
}

extension TestStore {
    /// Opens a store with a Google Play for `body`.
    static func withPlay(
        in folder: ScratchFolder? = nil, base: ManualClock = ManualClock(),
        change: @escaping (inout SimulatedAppStore.Configuration) -> Void = { _ in },
        _ body: (TestStore, PlayClient) async throws -> Void
    ) async throws {
        let catalogue = try PlayFixtures.catalogue()
        let folder = try folder ?? ScratchFolder()
        try PlayFixtures.writeKeys(to: folder)
        try await with(
            in: folder, base: base,
            change: {
                $0.playCatalogue = catalogue
                change(&$0)
            }
        ) { test in try await body(test, try await PlayClient(test)) }
    }

    @discardableResult
    func playBuy(
        _ product: ProductID, _ plan: String? = nil, offer: String? = nil, account: AccountName = "anna",
        change: (inout StoreControlWire.PlayBuy) -> Void = { _ in }
    ) async throws -> StoreControlWire.SignedPlayPurchase {
        if try !store.accounts().contains(account) { try await store.createAccount(account) }
        var buy = StoreControlWire.PlayBuy(productID: product, basePlanID: plan, offerID: offer)
        change(&buy)
        return try await store.playBuy(buy, for: account)
    }

    /// Buys and acknowledges. Returns the token.
    func playSubscribe(
        _ product: ProductID, _ plan: String, offer: String? = nil, account: AccountName = "anna",
        change: (inout StoreControlWire.PlayBuy) -> Void = { _ in }
    ) async throws -> String {
        let token = try await playBuy(product, plan, offer: offer, account: account, change: change).purchaseToken
        _ = try await store.perform(.acknowledge, onPlayPurchase: token)
        return token
    }
}
