import AppStoreSimulator
import BaseTestSupport
import Foundation
import GooglePlay
import HTTPCore
import Primitives
import SignedData
import SimulatorControl
import StoreModel
import Testing

@testable import EntitlementServer

/// A customer of both stores in one virtual time, and a server that learns about the purchases from the app and from the
/// notifications of both stores.
struct TwoStores {
    static let account: AccountName = "anna"
    static let customer: CustomerID = "anna"
    /// Which products give which feature. The products of Google Play have no prefix.
    static let features = FeatureMap(features: [
        "pro": ["pro.monthly", "pro.yearly", "apple.pro.monthly", "apple.pro.yearly"],
        "tools": ["tools", "apple.tools"],
    ])

    let play: PlayStore
    let server: PlayBench
    private let receiver: Receiver

    var store: SimulatedAppStore { play.store }
    var bench: ServerBench { server.bench }

    /// The connection over which both stores send notifications to the server.
    private final class Receiver: HTTPTransport {
        private let state = Locked((server: EntitlementService?.none, isDown: false))

        func connect(to server: EntitlementService) { state.withLock { $0.server = server } }

        var isDown: Bool {
            get { state.withLock { $0.isDown } }
            set { state.withLock { $0.isDown = newValue } }
        }

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            let (server, isDown) = state.withLock { $0 }
            guard let server, !(isDown && request.path.hasSuffix("/google-play")) else {
                throw HTTPError(.connectionFailed, "The server is down.")
            }
            return await server.respond(to: request).response()
        }
    }

    static func with(refundPolicy: RefundPolicy? = nil, _ body: (TwoStores) async throws -> Void) async throws {
        let receiver = Receiver()
        try await PlayStore.with(appStore: products, sender: receiver) { play in
            let server = try await PlayBench(play, features: features, refundPolicy: refundPolicy)
            receiver.connect(to: server.bench.service)
            do {
                try await play.store.createAccount(account)
                try await body(TwoStores(play: play, server: server, receiver: receiver))
            } catch {
                await server.bench.close()
                throw error
            }
            await server.bench.close()
        }
    }

    // MARK: - What happens

    func buyOnAndroid(
        _ product: ProductID, _ plan: String? = nil,
        _ change: (inout StoreControlWire.PlayBuy) -> Void = { _ in }
    ) async throws -> String {
        let bought = try await play.buy(product, plan, account: Self.account) { buy in
            buy.obfuscatedAccountID = Self.customer.rawValue
            change(&buy)
        }
        try await server.post(bought, for: Self.customer.rawValue)
        return bought.purchaseToken
    }

    @discardableResult
    func buyOnIPhone(_ product: ProductID) async throws -> StoreControlWire.Transaction {
        let bought = try await store.buy(product, for: Self.account)
        let reply = try await bench.send(
            .post, "/v1/customers/\(Self.customer)/transactions",
            body: .json(["signedTransaction": .string(bought.signedTransaction)]))
        #expect(reply.status == 200, "\(reply.json)")
        return bought
    }

    func perform(_ action: SimulatedAppStore.PlayAction, on token: String) async throws {
        _ = try await store.perform(action, onPlayPurchase: token)
    }

    func refund(_ token: String, isChargeback: Bool = false) async throws {
        _ = try await store.refundPlayPurchase(token, .init(), chargeback: isChargeback)
    }

    func advance(_ period: SubscriptionPeriod) async throws { try await server.advance(period) }

    /// Sets whether the notifications of Google Play are lost.
    func setNotificationsLost(_ isLost: Bool) { receiver.isDown = isLost }

    /// Lets both stores send what is due, and the server's jobs do what is due.
    func settle() async throws {
        try await store.deliverNotifications()
        try await store.deliverPlayNotifications()
        #expect(try await server.acknowledge().isEmpty)
        try await server.poll()
        try await server.sweep()
    }

    // MARK: - What is known

    func answer() async throws -> Customer { try await bench.get(Self.customer.rawValue).customer() }

    /// The features by the books of both stores: what the simulators say about the purchases now.
    func bookedFeatures() async throws -> [String] {
        let now = store.clock.now()
        let android = try await store.playPurchases(of: Self.account).filter { purchase in
            purchase.expiryTime.map {
                $0 > now && ["active", "canceled", "inGracePeriod"].contains(purchase.state)
            }
                ?? (purchase.state == "purchased")
        }
        let iPhone = try await store.entitlements(of: Self.account)
        return named(android.map(\.productID) + iPhone.map(\.productID))
    }

    /// The features by a naive model, which reads nothing but Google's and Apple's answers.
    func naiveFeatures() async throws -> [String] {
        let (client, now) = (play.client(), store.clock.now())
        var products: [ProductID] = []
        for purchase in try await store.playPurchases(of: Self.account) {
            let token = PurchaseToken(unchecked: purchase.purchaseToken)
            if purchase.kind == "subscription" {
                let json: JSONValue
                do { json = try await client.subscription(token) } catch let failure as GooglePlayFailure
                    where failure.kind == .expiredToken
                {
                    // Google forgets a subscription 60 days after its end.
                    continue
                }
                let item = json["lineItems"]?[0]
                let end = item?["expiryTime"]?.stringValue.flatMap(RFC3339.date(from:)) ?? .distantPast
                guard now < end, json["subscriptionState"]?.stringValue?.hasSuffix("_PENDING") == false
                else { continue }
                products += [item?["productId"]?.stringValue].compactMap { $0.flatMap(ProductID.init) }
            } else {
                let json = try await client.product(token)
                guard json["purchaseStateContext"]?["purchaseState"] == "PURCHASED" else { continue }
                products += [json["productLineItem"]?[0]?["productId"]?.stringValue].compactMap {
                    $0.flatMap(ProductID.init)
                }
            }
        }
        let transactions = try await store.transactions(of: Self.account)
        for transaction in transactions where transaction.revocationDate == nil {
            if let end = transaction.expiresDate, end <= now { continue }
            products.append(transaction.productID)
        }
        return named(products)
    }

    /// The features whose reason warns of several payments, one for each subscription.
    func warnedFeatures() async throws -> [String] {
        try await answer().features.filter { $0.because.contains("subscriptions pay for this") }.map(\.name)
    }

    /// The features that several subscriptions pay for by the books of both stores, one for each subscription.
    func featuresPaidTwice() async throws -> [String] {
        let now = store.clock.now()
        var payers: [ProductID] = []
        let client = play.client()
        for purchase in try await store.playPurchases(of: Self.account) where purchase.kind == "subscription" {
            guard ["active", "inGracePeriod"].contains(purchase.state), let end = purchase.expiryTime, end > now,
                let json = try? await client.subscription(PurchaseToken(unchecked: purchase.purchaseToken)),
                json["lineItems"]?[0]?["autoRenewingPlan"]?["autoRenewEnabled"] == true
            else { continue }
            payers.append(purchase.productID)
        }
        payers += try await store.subscriptions(of: Self.account).filter { subscription in
            subscription.autoRenews
                && (subscription.status == .active || subscription.status == .gracePeriod)
        }.map(\.productID)
        let names = payers.flatMap { Self.features.features(of: $0, kind: .autoRenewableSubscription) }
        return names.filter { name in names.count { $0 == name } > 1 }.sorted()
    }

    /// The differences that a replay of the ledger finds.
    func replayDifferences() throws -> [LedgerReplay.Difference] {
        try LedgerReplay(
            database: bench.database,
            apps: [.init(bundleID: ServerBench.app, features: Self.features), .init(bundleID: ServerBench.otherApp)],
            clock: store.clock
        ).run().differences
    }

    private func named(_ products: [ProductID]) -> [String] {
        Set(products.flatMap { Self.features.features(of: $0, kind: $0 == "coins" ? .consumable : .nonConsumable) })
            .sorted()
    }

    /// The App Store's products: the subscription, its year, and the tools.
    private static let products = """
        {"products": [
           {"productID": "apple.tools", "type": "NonConsumable", "displayPrice": "9.99", "localizations": []}],
         "subscriptionGroups": [{"id": "group", "name": "Pro", "subscriptions": [
           {"productID": "apple.pro.monthly", "groupNumber": 1, "recurringSubscriptionPeriod": "P1M",
            "displayPrice": "4.99", "localizations": [], "type": "RecurringSubscription", "subscriptionGroupID": "group"},
           {"productID": "apple.pro.yearly", "groupNumber": 1, "recurringSubscriptionPeriod": "P1Y",
            "displayPrice": "39.99", "localizations": [], "type": "RecurringSubscription",
            "subscriptionGroupID": "group"}]}]}
        """
}
