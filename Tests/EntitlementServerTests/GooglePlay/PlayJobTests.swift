import AppStoreSimulator
import BaseTestSupport
import Foundation
import GooglePlay
import HTTPCore
import Primitives
import SignedData
import SimulatorControl
import StoreModel
import StoreTestSupport
import Testing

@testable import EntitlementServer

/// A server in the time of a simulated Google Play, whose jobs run only when the test says so.
struct PlayBench: Sendable {
    let play: PlayStore
    /// The connection of the server to Google Play.
    let network: SteeredTransport
    let bench: ServerBench

    init(
        _ play: PlayStore, folder: ServerBench.Folder? = nil, keys: [BundleID: IssuedKeys] = [:],
        features: FeatureMap = ServerBench.map, refundPolicy: RefundPolicy? = nil
    ) async throws {
        self.play = play
        let network = SteeredTransport(play.transport)
        self.network = network
        let root = try Data(contentsOf: URL(fileURLWithPath: play.store.summary.rootCertificate))
        let anchors = try TrustAnchor.certificates(in: Array(root))
        bench = try await ServerBench(folder: folder, keys: keys) { configuration in
            configuration.clock = play.store.clock
            configuration.trustAnchors += anchors
            configuration.apps[0].features = features
            configuration.apps[0].refundPolicy = refundPolicy
            var app = GooglePlayApp(client: play.client(over: network) { $0.backoff = .none })
            app.consumables = ["coins"]
            app.notifications = .init(
                verifier: GooglePlayPushVerifier(
                    keysURL: PlayStore.keysURL, transport: play.transport, clock: ManualClock()), token: play.push)
            configuration.apps[0].googlePlay = app
            configuration.random = { 1 }
            configuration.console = .loopback
        }
    }

    /// Starts another server on the same ledger, after the first one has ended.
    func restarted() async throws -> PlayBench {
        await bench.close()
        return try await PlayBench(play, folder: bench.folder, keys: bench.keys)
    }

    var reader: PlayReader {
        get throws { try #require(bench.service.parts.playReaders[ServerBench.app]) }
    }

    @discardableResult
    func post(
        _ purchase: StoreControlWire.SignedPlayPurchase, for customer: String = "anna"
    ) async throws -> ServerBench.Reply {
        let reply = try await bench.send(
            .post, "/v1/customers/\(customer)/play-purchases",
            body: .json([
                "packageName": .string(purchase.packageName), "productId": .string(purchase.productId.rawValue),
                "purchaseToken": .string(purchase.purchaseToken),
            ]))
        #expect(reply.status == 200, "\(reply.json)")
        return reply
    }

    /// Stores what Google states about a purchase, as after a notification.
    func notify(_ token: String) async throws {
        let presented = try await reader.fetch(.init(unchecked: token))
        try await bench.service.ledger.record(
            presented, of: ServerBench.app, by: nil, answering: presented.environment, as: nil
        ) { _, _ in KeptAnswer(status: 200, contentType: "application/json", body: []) }
    }

    func row(_ token: String) throws -> PlayPurchase {
        let original = PlayFetch.original(.init(unchecked: token), of: PlayStore.packageName)
        let ledgerID = LedgerID(app: ServerBench.app, environment: .sandbox)
        return try #require(try bench.service.ledger.playPurchase(original, in: ledgerID)).purchase
    }

    /// Runs the job of acknowledgements until nothing is due. Returns the failures.
    @discardableResult
    func acknowledge() async throws -> [PlayAcknowledger.Failed] {
        var failures: [PlayAcknowledger.Failed] = []
        var isDone = false
        while !isDone {
            do { isDone = try await !bench.service.parts.playAcknowledger.step() } catch let failed
                as PlayAcknowledger.Failed
            {
                failures.append(failed)
            }
        }
        return failures
    }

    func sweep() async throws { _ = try await bench.service.parts.voidedPurchaseSweep.step() }

    /// Polls the subscriptions whose date has come.
    func poll() async throws {
        let poller = try #require(bench.service.statusPoller)
        while try await poller.stepGooglePlay() {}
    }

    func waiting() throws -> PlayAcknowledger.Waiting { try bench.service.parts.playAcknowledger.waiting() }

    /// Advances the time of the stores and the real time.
    func advance(_ period: SubscriptionPeriod) async throws {
        try await play.advance(period)
        bench.realClock.advance(by: 3600)
    }

    static func with(_ body: (PlayBench, PlayStore) async throws -> Void) async throws {
        try await PlayStore.with { play in
            let bench = try await PlayBench(play)
            try await body(bench, play)
            await bench.bench.close()
        }
    }
}

/// Refuses each request except those for access tokens.
private let outage: SteeredTransport.Answer = { $0.path == "/token" ? nil : HTTPResponse(status: 503) }

@Suite(.onBothEngines) struct PlayAcknowledgementTests {
    @Test func `a purchase is acknowledged after it is in the ledger, and a consumable is consumed`() async throws {
        try await PlayBench.with { bench, play in
            let bought = [
                try await play.buy("pro.monthly", "monthly"), try await play.buy("tools"), try await play.buy("coins"),
            ]
            #expect(try await bench.acknowledge().isEmpty)
            #expect(bench.network.requests.isEmpty)
            for purchase in bought { try await bench.post(purchase) }
            #expect(try await play.store.playPurchases(of: "anna").allSatisfy { !$0.isAcknowledged })
            #expect(try bench.waiting().pending == 3 && bench.waiting().urgent == 0)
            #expect(try await bench.acknowledge().isEmpty)
            let purchases = try await play.store.playPurchases(of: "anna")
            #expect(purchases.map(\.isAcknowledged) == [true, true, true])
            #expect(purchases.map(\.isConsumed) == [nil, false, true])
            #expect(try bench.waiting().pending == 0)
            let requests = bench.network.requests.count
            #expect(try await bench.acknowledge().isEmpty)
            #expect(bench.network.requests.count == requests)
            let metrics = try await bench.bench.send(.get, "/metrics", as: .none)
            for line in [
                #"souk_play_acknowledgements_total{result="acknowledged"} 2"#,
                #"souk_play_acknowledgements_total{result="consumed"} 1"#, "souk_play_acknowledgements_pending 0",
                "souk_play_acknowledgements_urgent 0", "souk_play_acknowledgement_lag_seconds 0",
            ] {
                #expect(String(decoding: metrics.bytes, as: UTF8.self).contains(line + "\n"), "\(line)")
            }
        }
    }

    @Test func `a consumable is consumed only when a customer holds it`() async throws {
        try await PlayBench.with { bench, play in
            let coins = try await play.buy("coins")
            try await bench.notify(coins.purchaseToken)
            try await bench.acknowledge()
            var state = try await play.store.playPurchase(coins.purchaseToken)
            #expect(state.isAcknowledged && state.isConsumed == false)
            #expect(try bench.waiting().pending == 0)
            for _ in 1...2 {
                try await bench.notify(coins.purchaseToken)
                try await bench.acknowledge()
            }
            #expect(try await play.store.playPurchase(coins.purchaseToken).isConsumed == false)
            try await bench.post(coins)
            #expect(try await bench.acknowledge().isEmpty)
            state = try await play.store.playPurchase(coins.purchaseToken)
            #expect(state.isConsumed == true)
            #expect(try bench.row(coins.purchaseToken).acknowledgement == .done)
        }
    }

    @Test func `a server that ends between the commit and the acknowledgement leaves it to the next one`() async throws
    {
        try await PlayStore.with { play in
            let first = try await PlayBench(play)
            let bought = try await play.buy("pro.monthly", "monthly")
            try await first.post(bought)
            // The server ends while Google does not answer.
            let isReached = Locked(false)
            first.network.steer { request in
                guard request.path.hasSuffix(":acknowledge") else { return nil }
                isReached.withLock { $0 = true }
                let never = Promise<HTTPResponse?>()
                return try await never.valueUnlessCancelled()
            }
            let attempt = Task { try await first.bench.service.parts.playAcknowledger.step() }
            try await until("Google is asked") { isReached.withLock { $0 } }
            attempt.cancel()
            _ = await attempt.result
            let second = try await first.restarted()
            second.bench.realClock.advance(by: PlayAcknowledger.lease)
            #expect(try await second.acknowledge().isEmpty)
            #expect(try await play.store.playPurchase(bought.purchaseToken).isAcknowledged)
            await second.bench.close()
        }
    }

    @Test func `an acknowledgement whose answer was lost is repeated`() async throws {
        try await PlayBench.with { bench, play in
            let bought = [try await play.buy("tools"), try await play.buy("coins")]
            for purchase in bought { try await bench.post(purchase) }
            bench.network.steer { request in
                guard request.method == .post, request.path != "/token" else { return nil }
                _ = try await play.transport.send(request)
                throw HTTPError(.connectionLost, "The connection ended.")
            }
            #expect(try await bench.acknowledge().count == 1)
            #expect(try bench.waiting().pending == 2)
            bench.network.steer(nil)
            bench.bench.realClock.advance(by: 10)
            #expect(try await bench.acknowledge().isEmpty)
            #expect(try bench.waiting().pending == 0)
            #expect(try await play.store.playPurchase(bought[1].purchaseToken).isConsumed == true)
        }
    }

    @Test func `an outage of Google for two days refunds nothing, and is alarmed`() async throws {
        try await PlayBench.with { bench, play in
            let bought = [try await play.buy("pro.monthly", "monthly"), try await play.buy("tools")]
            for purchase in bought { try await bench.post(purchase) }
            let forgotten = try await play.buy("pro.yearly", "yearly", account: "ben")
            bench.network.steer(outage)
            for hour in 1...49 {
                _ = try await play.store.advance(to: PlayStore.start.addingTimeInterval(Double(hour) * 3600))
                bench.bench.realClock.advance(by: 3600)
                let failures = try await bench.acknowledge()
                #expect(!failures.isEmpty)
                for failure in failures {
                    #expect(!"\(failure)".contains(bought[0].purchaseToken) && "\(failure)".contains("2026-01-04"))
                }
                #expect(try bench.waiting().urgent == (hour > 47 ? 2 : 0), "hour \(hour)")
                #expect(try bench.waiting().lag == Double(hour) * 3600)
            }
            bench.network.steer(nil)
            bench.bench.realClock.advance(by: 300)
            #expect(try await bench.acknowledge().isEmpty)
            try await bench.advance(.days(2))
            for purchase in bought {
                let state = try await play.store.playPurchase(purchase.purchaseToken)
                #expect(state.isAcknowledged)
            }
            let lost = try await play.client().subscription(.init(unchecked: forgotten.purchaseToken))
            #expect(lost["subscriptionState"] == "SUBSCRIPTION_STATE_EXPIRED")
            #expect(try await bench.bench.get().active().contains("pro"))
        }
    }

    @Test func `a purchase that ended meanwhile is fetched again instead`() async throws {
        try await PlayBench.with { bench, play in
            let bought = [try await play.buy("pro.monthly", "monthly"), try await play.buy("coins")]
            for purchase in bought {
                try await bench.post(purchase)
                _ = try await play.store.refundPlayPurchase(purchase.purchaseToken, .init())
            }
            #expect(try await bench.acknowledge().isEmpty)
            for purchase in bought { #expect(try bench.row(purchase.purchaseToken).acknowledgement == .done) }
            let customer = try await bench.bench.get().customer()
            #expect(customer.features.allSatisfy { !$0.isActive })
            #expect(customer.subscriptions.map(\.state) == [.revoked])
        }
    }

    @Test func `an account without access keeps the purchase waiting`() async throws {
        try await PlayBench.with { bench, play in
            let bought = try await play.buy("tools")
            try await bench.post(bought)
            bench.network.steer { request in
                request.path == "/token"
                    ? nil : GoogleAPIError(.permissionDenied, reason: "permissionDenied", "No access.").response
            }
            #expect(try await bench.acknowledge().count == 1)
            try await bench.advance(.days(5))
            #expect(try await bench.acknowledge().count == 1)
            #expect(try bench.waiting().urgent == 1)
            bench.network.steer(nil)
            bench.bench.realClock.advance(by: 300)
            // Google refunded the purchase after three days.
            #expect(try await bench.acknowledge().isEmpty)
            #expect(try bench.waiting().pending == 0)
        }
    }

    @Test func `two servers make one attempt`() async throws {
        try await PlayBench.with { bench, play in
            for account in ["anna", "ben", "cleo"] as [AccountName] {
                try await bench.post(try await play.buy("coins", account: account))
            }
            let acknowledger = bench.bench.service.parts.playAcknowledger
            async let first = acknowledger.step()
            async let second = acknowledger.step()
            _ = try await (first, second)
            #expect(try await bench.acknowledge().isEmpty)
            #expect(bench.network.requests.count { $0.path.hasSuffix(":consume") } == 3)
        }
    }

    @Test func `an erased customer's purchase is not acknowledged`() async throws {
        try await PlayBench.with { bench, play in
            try await bench.post(try await play.buy("tools"))
            let erased = try await bench.bench.send(.delete, "/v1/customers/anna", as: .secret)
            #expect((200..<300).contains(erased.status), "\(erased.json)")
            let requests = bench.network.requests.count
            #expect(try await bench.acknowledge().isEmpty)
            #expect(bench.network.requests.count == requests)
            #expect(try bench.waiting().pending == 0)
        }
    }
}

@Suite(.onBothEngines) struct VoidedPurchaseTests {
    @Test func `refunds and chargebacks without a notification end access`() async throws {
        try await PlayBench.with { bench, play in
            let plus = try await play.buy("pro.monthly", "monthly")
            let tools = try await play.buy("tools")
            let kept = try await play.buy("coins")
            let foreign = try await play.buy("pro.yearly", "yearly", account: "ben")
            for purchase in [plus, tools, kept] { try await bench.post(purchase) }
            try await bench.acknowledge()
            try await bench.sweep()
            #expect(try await bench.bench.get().active().contains("pro"))
            try await bench.advance(.days(1))
            _ = try await play.store.refundPlayPurchase(plus.purchaseToken, .init())
            _ = try await play.store.refundPlayPurchase(tools.purchaseToken, .init(), chargeback: true)
            _ = try await play.store.refundPlayPurchase(foreign.purchaseToken, .init())
            try await bench.advance(.days(1))
            try await bench.sweep()
            let customer = try await bench.bench.get().customer()
            #expect(customer.features.map(\.isActive) == [false, false])
            #expect(customer.subscriptions.map(\.state) == [.revoked])
            let revoked = Dictionary(
                uniqueKeysWithValues: customer.purchases.map { ($0.productID, $0.revokedAt != nil) })
            #expect(revoked == ["tools": true, "coins": false])
            #expect(bench.network.requests.allSatisfy { !$0.path.contains(foreign.purchaseToken) })
            #expect(try bench.bench.count("fact") > 0)
        }
    }

    @Test func `the list begins an hour before the end of the last one, and at most 30 days ago`() async throws {
        try await PlayBench.with { bench, play in
            try await bench.sweep()
            #expect(bench.network.requests.isEmpty, "the ledger has no purchase")
            try await bench.post(try await play.buy("tools"))
            func start() async throws -> String? {
                try await bench.sweep()
                return bench.network.requests.last?.query?["startTime"]
            }
            #expect(try await start() == nil)
            let first = play.store.clock.now()
            #expect(try await start() == "\(first.addingTimeInterval(-3600).milliseconds)")
            bench.network.steer(outage)
            try await bench.advance(.days(2))
            await #expect(throws: GooglePlayFailure.self) { try await bench.sweep() }
            bench.network.steer(nil)
            #expect(try await start() == "\(first.addingTimeInterval(-3600).milliseconds)")
            try await bench.advance(.days(40))
            #expect(try await start() == nil)
        }
    }

    @Test func `a voided product whose state does not show it is revoked by the list`() async throws {
        try await PlayBench.with { bench, play in
            let tools = try await play.buy("tools")
            try await bench.post(tools)
            try await bench.acknowledge()
            let token = PurchaseToken(unchecked: tools.purchaseToken)
            let before = try await play.client().product(token)
            let order = try await play.client().order(tools.orderId)
            try await bench.advance(.days(1))
            _ = try await play.store.refundPlayPurchase(tools.purchaseToken, .init())
            bench.network.steer { request in
                if request.path.contains("/productsv2/") { return HTTPResponse(json: before) }
                return request.path.contains("/orders/") ? HTTPResponse(json: order) : nil
            }
            for _ in 1...3 {
                try await bench.sweep()
                let customer = try await bench.bench.get().customer()
                #expect(customer.purchases.map { $0.revokedAt != nil } == [true])
                // A later fetch does not know the entry of the list.
                try await bench.notify(tools.purchaseToken)
            }
            #expect(try await bench.bench.get().customer().purchases.map { $0.revokedAt != nil } == [true])
            let fetches = bench.network.requests.count { $0.path.contains("/productsv2/") }
            try await bench.sweep()
            #expect(bench.network.requests.count { $0.path.contains("/productsv2/") } == fetches)
        }
    }

    @Test func `all pages are read, and a list without an end is a failure`() async throws {
        try await PlayBench.with { bench, play in
            let bought = [try await play.buy("tools"), try await play.buy("pro.monthly", "monthly")]
            for purchase in bought {
                try await bench.post(purchase)
                _ = try await play.store.refundPlayPurchase(purchase.purchaseToken, .init())
            }
            let entries = try #require(try await play.client().voidedPurchases(since: nil).voidedPurchases)
            let ends = Locked(false)
            bench.network.steer { request in
                guard request.path.hasSuffix("/voidedpurchases") else { return nil }
                let page = request.query?["token"] == nil ? 0 : 1
                let list = AndroidPublisher.VoidedPurchasesListResponse {
                    $0.voidedPurchases = [entries[page]]
                    guard page == 0 || !ends.withLock({ $0 }) else { return }
                    $0.tokenPagination = .init { $0.nextPageToken = "next" }
                }
                return HTTPResponse(json: try WireJSON.document(list))
            }
            await #expect(throws: GooglePlayFailure.self) { try await bench.sweep() }
            ends.withLock { $0 = true }
            try await bench.sweep()
            let customer = try await bench.bench.get().customer()
            #expect(customer.purchases.map { $0.revokedAt != nil } == [true])
            #expect(customer.subscriptions.map(\.state) == [.revoked])
        }
    }
}

@Suite(.onBothEngines) struct PlayPollTests {
    @Test func `a renewal without a notification is found when the period ends`() async throws {
        try await PlayBench.with { bench, play in
            try await bench.post(try await play.buy("pro.monthly", "monthly"))
            try await bench.acknowledge()
            let requests = bench.network.requests.count
            try await bench.poll()
            #expect(bench.network.requests.count == requests, "nothing is due")
            for _ in 1...3 {
                try await bench.advance(.months(1))
                #expect(try await bench.bench.get().active() == [])
                try await bench.poll()
                #expect(try await bench.bench.get().active() == ["pro"])
            }
        }
    }

    @Test func `a failed poll is repeated until Google answers`() async throws {
        try await PlayBench.with { bench, play in
            try await bench.post(try await play.buy("pro.monthly", "monthly"))
            try await bench.acknowledge()
            try await bench.advance(.months(1))
            bench.network.steer(outage)
            for _ in 1...20 {
                await #expect(throws: GooglePlayFailure.self) { try await bench.poll() }
                try await bench.poll()
                bench.bench.realClock.advance(by: StatusPoller.pause)
            }
            bench.network.steer(nil)
            try await bench.poll()
            #expect(try await bench.bench.get().active() == ["pro"])
        }
    }

    @Test func `a poll within the pause is made up for later`() async throws {
        try await PlayBench.with { bench, play in
            try await bench.post(try await play.buy("pro.monthly", "monthly"))
            try await bench.acknowledge()
            try await bench.advance(.months(1))
            try await bench.poll()
            // The next period ends in the same minute of real time.
            try await play.advance(.months(1))
            try await bench.poll()
            #expect(try await bench.bench.get().active() == [])
            bench.bench.realClock.advance(by: StatusPoller.pause)
            try await bench.poll()
            #expect(try await bench.bench.get().active() == ["pro"])
        }
    }

    @Test func `hold, recovery and the end of a pause are found without notifications`() async throws {
        try await PlayBench.with { bench, play in
            let bought = try await play.buy("pro.monthly", "monthly")
            let token = bought.purchaseToken
            try await bench.post(bought)
            try await bench.acknowledge()
            func expect(_ state: CustomerSubscription.State, after days: Int) async throws {
                for _ in 0..<days {
                    try await bench.advance(.days(1))
                    try await bench.poll()
                }
                #expect(try await bench.bench.get().customer().subscriptions.map(\.state) == [state])
            }
            _ = try await play.store.perform(.hold, onPlayPurchase: token)
            try await expect(.inGracePeriod, after: 31)
            try await expect(.inBillingRetry, after: 8)
            _ = try await play.store.perform(.recover, onPlayPurchase: token)
            try await expect(.active, after: 2)
            _ = try await play.store.perform(.pause(.weeks(1)), onPlayPurchase: token)
            try await expect(.paused, after: 31)
            try await expect(.active, after: 8)
            _ = try await play.store.perform(.cancel, onPlayPurchase: token)
            try await expect(.expired, after: 32)
        }
    }

    @Test func `an operator's refresh asks Google Play, at most once in five minutes`() async throws {
        try await PlayBench.with { bench, play in
            try await bench.post(try await play.buy("pro.monthly", "monthly"))
            try await bench.acknowledge()
            try await bench.advance(.months(1))
            #expect(try await bench.bench.get().active() == [])
            let original = try #require(
                try await bench.bench.get().customer().subscriptions.first?.originalTransactionID.rawValue)
            let visitor = try await ConsoleVisitor.signedIn(at: bench.bench)
            #expect(try await visitor.customer().text.contains("Refresh a subscription"))
            let review = try await visitor.review("/refreshes", [("id", "anna"), ("purchase", original)])
            #expect(try await visitor.post("/refreshes", review.fields).location?.hasSuffix("done=refreshed") == true)
            #expect(try await bench.bench.get().active() == ["pro"])
            let second = try await visitor.review("/refreshes", [("id", "anna"), ("purchase", original)]).fields
            #expect(try await visitor.post("/refreshes", second).status == 409)
            bench.bench.realClock.advance(by: 301)
            bench.network.steer(outage)
            let third = try await visitor.review("/refreshes", [("id", "anna"), ("purchase", original)]).fields
            #expect(try await visitor.post("/refreshes", third).status == 502)
        }
    }

    @Test func `a subscription that Google no longer knows stays as it is`() async throws {
        try await PlayBench.with { bench, play in
            try await bench.post(try await play.buy("pro.monthly", "monthly"))
            bench.network.steer { request in
                request.path.contains("/subscriptionsv2/")
                    ? GoogleAPIError(.gone, reason: "purchaseTokenNoLongerValid", "It ended.").response : nil
            }
            try await bench.advance(.months(6))
            try await bench.poll()
            #expect(try await bench.bench.get().customer().subscriptions.map(\.state) == [.expired])
            let requests = bench.network.requests.count
            bench.bench.realClock.advance(by: StatusPoller.pause)
            try await bench.poll()
            #expect(bench.network.requests.count == requests)
        }
    }

    /// The lives of customers: what happens to their purchases on each day.
    @Test(.onSQLite, arguments: 1...6 as ClosedRange<UInt64>)
    func `without notifications the answer becomes the same as with them`(seed: UInt64) async throws {
        try await PlayStore.with { play in
            let (informed, uninformed) = (try await PlayBench(play), try await PlayBench(play))
            var numbers = SeededNumbers(state: seed)
            var bought: [StoreControlWire.SignedPlayPurchase] = []
            for _ in 0..<60 {
                if bought.isEmpty || Int.random(in: 0..<8, using: &numbers) == 0 {
                    let sale: (ProductID, String?) =
                        [("pro.monthly", "monthly"), ("tools", nil), ("pro.yearly", "yearly"), ("coins", nil)]
                        .randomElement(using: &numbers)!
                    // A customer cannot own a product twice.
                    if let purchase = try? await play.buy(sale.0, sale.1) {
                        bought.append(purchase)
                        for bench in [informed, uninformed] {
                            try await bench.post(purchase)
                            try await bench.acknowledge()
                        }
                    }
                } else if let token = bought.randomElement(using: &numbers)?.purchaseToken {
                    // The state may not allow what happens.
                    switch Int.random(in: 0..<40, using: &numbers) {
                    case 0: _ = try? await play.store.perform(.cancel, onPlayPurchase: token)
                    case 1...6: _ = try? await play.store.perform(.restart, onPlayPurchase: token)
                    case 7...8: _ = try? await play.store.perform(.hold, onPlayPurchase: token)
                    case 9...16: _ = try? await play.store.perform(.recover, onPlayPurchase: token)
                    case 17...20: _ = try? await play.store.perform(.pause(.weeks(2)), onPlayPurchase: token)
                    case 21...24: _ = try? await play.store.perform(.resume, onPlayPurchase: token)
                    case 25: _ = try? await play.store.refundPlayPurchase(token, .init())
                    default: break
                    }
                }
                let days = Int.random(in: 1...12, using: &numbers)
                try await play.advance(.days(days))
                for bench in [informed, uninformed] {
                    bench.bench.realClock.advance(by: 3600)
                    try await bench.acknowledge()
                }
                // This server fetches each purchase on every day, as after a notification.
                for purchase in bought { try await informed.notifyIfKnown(purchase.purchaseToken) }
                try await uninformed.poll()
                try await uninformed.sweep()
            }
            // What happened since the last date of a subscription is known at its next one.
            for _ in 0..<14 {
                try await play.advance(.days(31))
                for bench in [informed, uninformed] { bench.bench.realClock.advance(by: 3600) }
                for purchase in bought { try await informed.notifyIfKnown(purchase.purchaseToken) }
                try await uninformed.poll()
                try await uninformed.sweep()
            }
            func answer(_ bench: PlayBench) async throws -> [String] {
                let customer = try await bench.bench.get().customer()
                return customer.features.map { "\($0.name) \($0.isActive) \($0.effectiveUntil as Date?)" }.sorted()
                    + customer.subscriptions.map { "\($0.originalTransactionID) \($0.state) \($0.expiresAt)" }.sorted()
                    + customer.purchases.map { "\($0.originalTransactionID) \($0.revokedAt as Date?)" }.sorted()
            }
            #expect(!bought.isEmpty)
            #expect(try await answer(informed) == answer(uninformed))
            await informed.bench.close()
            await uninformed.bench.close()
        }
    }
}

extension PlayBench {
    /// Stores what Google states about a purchase, unless Google no longer knows it.
    fileprivate func notifyIfKnown(_ token: String) async throws {
        do { try await notify(token) } catch is PlayReader.Rejection {}
    }
}
