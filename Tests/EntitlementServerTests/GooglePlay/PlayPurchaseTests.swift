import BaseTestSupport
import Foundation
import GooglePlay
import HTTPCore
import Primitives
import SignedData
import StoreModel
import Testing

@testable import EntitlementServer

@Suite(.onBothEngines) struct PlayPurchaseTests {
    private typealias Subscription = AndroidPublisher.SubscriptionPurchaseV2
    private typealias Product = AndroidPublisher.ProductPurchaseV2

    @Test func `a purchase that Google confirms gives its feature`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        let start = bench.clock.now()
        try play.set("token-1", Subscription.plus(from: start))
        try play.set(.paid("GPA.1", from: start, to: start.addingTimeInterval(30 * 86400)))
        let reply = try await bench.postPlay()
        #expect(reply.status == 200, "\(reply.json)")
        #expect(reply.json["acknowledgedPurchaseTokens"] == ["token-1"] && reply.json["rejected"] == [])
        #expect(try reply.active() == ["pro"])
        let subscription = try #require(try reply.customer().subscriptions.first)
        #expect(
            subscription.source == .googlePlay
                && subscription.price == Price(amount: Decimal(499) / 100, currency: "USD"))
        #expect(subscription.managementURL?.hasSuffix("sku=plus&package=com.example.darkroom") == true)
        let facts = try await bench.send(.get, "/v1/customers/anna/facts", as: .secret).json["facts"]?.arrayValue
        #expect(facts?.count == 2 && facts?.allSatisfy { $0["source"] == "googlePlay" } == true)
        #expect(facts?.contains { "\($0)".contains("token-1") } == false)
        for query in ["GPA.1", PlayFetch.original("token-1", of: FakeGooglePlay.packageName).rawValue] {
            let found = try await bench.send(.get, "/v1/customers?query=\(query)", as: .secret).json["customers"]
            #expect(found?[0]?["customer"] == "anna", "\(query)")
        }
        #expect(try bench.playDifferences() == [])
        await bench.close()
    }

    @Test func `an unchanged fetch adds nothing, and what changes back is a new fact`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        let purchase = Subscription.plus(from: bench.clock.now())
        var paused = purchase
        paused.subscriptionState = .paused
        paused.item.expiryTime = bench.clock.now()
        var revisions: [Int] = []
        for (number, state) in [purchase, purchase, paused, purchase].enumerated() {
            var state = state
            state.etag = "etag-\(number)"
            try play.set("token-1", state)
            #expect(try await bench.postPlay().status == 200)
            revisions.append(try bench.playFacts)
        }
        #expect(revisions == [2, 2, 4, 6])
        #expect(try await bench.get().active() == ["pro"])
        #expect(try bench.playDifferences() == [])
        await bench.close()
    }

    @Test func `a repetition with its key has the same answer and asks nothing`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        try play.set("token-1", Subscription.plus(from: bench.clock.now()))
        let first = try await bench.postPlay(headers: ["Idempotency-Key": "k"])
        let requests = play.requestCount
        let second = try await bench.postPlay(headers: ["Idempotency-Key": "k"])
        #expect(first.status == 200 && second.bytes == first.bytes)
        #expect(second.json["acknowledgedPurchaseTokens"] == ["token-1"])
        #expect(play.requestCount == requests)
        await bench.close()
    }

    @Test(.onSQLite) func `no table has the token in clear`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        let token = "a-token-that-is-a-credential"
        try play.set(PurchaseToken(unchecked: token), Subscription.plus(from: bench.clock.now()))
        _ = try await bench.postPlay(token, headers: ["Idempotency-Key": "k"])
        #expect(try bench.count("kept_answer") + bench.count("idempotency_key") > 0)
        await bench.close()
        let files = try FileManager.default.contentsOfDirectory(at: bench.folder.url, includingPropertiesForKeys: nil)
        #expect(!files.isEmpty)
        for file in files { #expect(try Data(contentsOf: file).range(of: Data(token.utf8)) == nil, "\(file)") }
    }

    // MARK: - What is refused

    @Test func `a token that Google does not know is refused, and stores nothing`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        let reply = try await bench.postPlay("token-7")
        #expect(reply.status == 422 && reply.code == "unknownPurchaseToken" && reply.field == "purchaseToken")
        #expect(play.state.withLock(\.requested) == ["token-7", "token-7"])
        #expect(try bench.playFacts == 0 && bench.count("customer") == 0 && bench.count("purchase") == 0)
        await bench.close()
    }

    @Test func `Google's failures are 503 with its pause, and store nothing`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        try play.set("token-1", Subscription.plus(from: bench.clock.now()))
        for (status, pause, expected) in [(503, nil, "1"), (429, 120, "120"), (403, nil, "1"), (500, nil, "1")] {
            play.state.withLock { $0.outage = (status, pause) }
            let reply = try await bench.postPlay(headers: ["Idempotency-Key": "k"])
            #expect(reply.status == 503 && reply.headers["Retry-After"] == expected, "\(status) \(reply.json)")
            #expect(reply.json["retryable"] == true)
        }
        #expect(try bench.playFacts == 0 && bench.count("customer") == 0)
        play.state.withLock { $0.outage = nil }
        #expect(try await bench.postPlay(headers: ["Idempotency-Key": "k"]).status == 200)
        await bench.close()
    }

    @Test func `a pending purchase is refused until it is paid, also with the same key`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        try play.set("token-1", Subscription.plus(from: bench.clock.now()) { $0.subscriptionState = .pending })
        let pending = try await bench.postPlay(headers: ["Idempotency-Key": "k"])
        #expect(pending.status == 409 && pending.code == "purchasePending" && pending.json["retryable"] == true)
        #expect(try bench.playFacts == 0 && bench.count("customer") == 0)
        try play.set("token-1", Subscription.plus(from: bench.clock.now()))
        #expect(try await bench.postPlay(headers: ["Idempotency-Key": "k"]).status == 200)
        await bench.close()
    }

    @Test func `a deferred replacement is accepted with either product`() async throws {
        for product in ["plus", "gold"] {
            let (bench, play) = try await ServerBench.withPlay()
            try play.set(
                "token-1",
                Subscription.plus(from: bench.clock.now()) {
                    $0.item.deferredItemReplacement = .init { $0.productId = "gold" }
                    $0.lineItems?.append(AndroidPublisher.SubscriptionLineItem { $0.productId = "gold" })
                })
            #expect(try await bench.postPlay(product: product).status == 200)
            await bench.close()
        }
    }

    @Test func `a purchase of another product or app is refused`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        try play.set("token-1", Subscription.plus(from: bench.clock.now()))
        #expect(try await bench.postPlay(product: "gold").code == "wrongProduct")
        let requests = play.requestCount
        #expect(try await bench.postPlay { $0["packageName"] = "com.example.other" }.code == "wrongBundle")
        #expect(try play.requestCount == requests && bench.playFacts == 0)
        for (field, value) in [
            ("packageName", JSONValue.null), ("productId", ""), ("purchaseToken", "a b"), ("purchaseToken", 7),
            ("purchaseToken", .string(String(repeating: "a", count: 1025))), ("signedData", "{}"),
            ("signature", "AA=="),
        ] {
            let reply = try await bench.postPlay { $0[field] = value }
            #expect(reply.status == 400, "\(field) \(reply.json)")
        }
        #expect(play.requestCount == requests)
        let other = try await bench.send(
            .post, "/v1/customers/anna/play-purchases", of: ServerBench.otherApp,
            body: .json(["packageName": "a.b", "productId": "plus", "purchaseToken": "t"]))
        #expect(other.status == 501 && other.code == "unsupported")
        await bench.close()
    }

    @Test func `signed data is verified before Google is asked`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        try play.set("token-1", Subscription.plus(from: bench.clock.now()))
        func post(
            key: Int = 2, _ change: (inout SignedPurchaseData) -> Void = { _ in }
        ) async throws -> ServerBench.Reply {
            var data = SignedPurchaseData {
                $0.packageName = FakeGooglePlay.packageName.rawValue
                $0.productId = "plus"
                $0.purchaseToken = "token-1"
            }
            change(&data)
            let signed = try data.signed(by: FakeGooglePlay.keys.get()[key])
            return try await bench.postPlay {
                $0["signedData"] = .string(signed.data)
                $0["signature"] = .string(signed.signature)
            }
        }
        #expect(try await post(key: 0).code == "signatureInvalid")
        #expect(try await post { $0.packageName = "com.example.other" }.code == "wrongBundle")
        #expect(try await post { $0.productId = "gold" }.code == "wrongProduct")
        #expect(try await post { $0.purchaseToken = "token-2" }.code == "wrongPurchaseToken")
        #expect(try await post { $0.purchaseToken = nil }.code == "wrongPurchaseToken")
        let noSignature = try await bench.postPlay {
            $0["signedData"] = "{}"
            $0["signature"] = "no base64"
        }
        #expect(noSignature.code == "malformed")
        #expect(try play.requestCount == 0 && bench.playFacts == 0)
        #expect(try await post().status == 200)
        await bench.close()
    }

    @Test func `a test purchase is accepted only where production is not all there is`() async throws {
        for (environments, isTest, expected) in [
            ([StoreEnvironment.production], true, nil), ([.production], false, "production"),
            ([.production, .sandbox], true, "sandbox"), ([.production, .sandbox], false, "production"),
            ([.sandbox], true, "sandbox"), ([.sandbox], false, "sandbox"),
        ] as [([StoreEnvironment], Bool, String?)] {
            let (bench, play) = try await ServerBench.withPlay(environments)
            try play.set(
                "token-1",
                Subscription.plus(from: bench.clock.now()) { $0.testPurchase = isTest ? .init() : nil })
            let reply = try await bench.postPlay()
            if let expected {
                #expect(reply.status == 200, "\(reply.json)")
                let answer = try await bench.get(headers: ["Souk-Environment": expected])
                #expect(try answer.active() == ["pro"])
            } else {
                #expect(reply.status == 422 && reply.code == "environmentNotAccepted")
                #expect(try bench.playFacts == 0)
            }
            await bench.close()
        }
    }

    // MARK: - Customers

    @Test(arguments: TransferMode.allCases)
    func `a purchase that two customers present follows the transfer mode`(mode: TransferMode) async throws {
        let (bench, play) = try await ServerBench.withPlay { $0.apps[0].transferMode = mode }
        try play.set("token-1", Subscription.plus(from: bench.clock.now()))
        #expect(try await bench.postPlay().status == 200)
        let second = try await bench.postPlay(for: "ben")
        let isRefused = mode == .keepWithOriginal || mode == .transferIfInactive
        #expect(second.code == (isRefused ? "boundToAnotherCustomer" : nil))
        let holders = try await [bench.get("anna").active(), bench.get("ben").active()]
        #expect(
            holders
                == [mode == .transfer ? [] : ["pro"], isRefused ? [] : ["pro"]])
        #expect(try bench.playFacts == 2 && bench.playDifferences() == [])
        await bench.close()
    }

    @Test func `one token that two customers present at once has one holder`() async throws {
        let (bench, play) = try await ServerBench.withPlay { $0.apps[0].transferMode = .keepWithOriginal }
        try play.set("token-1", Subscription.plus(from: bench.clock.now()))
        let customers = (0..<6).map { "customer-\($0)" }
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for customer in customers { group.addTask { try await bench.postPlay(for: customer).status } }
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(statuses.filter { $0 == 200 }.count == 1 && statuses.filter { $0 == 422 }.count == 5)
        var holders = 0
        for customer in customers { holders += try await bench.get(customer).active().count }
        #expect(try holders == 1 && bench.playFacts == 2)
        #expect(try bench.playDifferences() == [])
        await bench.close()
    }

    @Test func `the account that the app named takes the purchase, and others are refused`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        _ = try await bench.grant("gift")
        try play.set("token-1", Subscription.plus(from: bench.clock.now(), account: "anna"))
        #expect(try await bench.postPlay(for: "ben").code == "boundToAnotherCustomer")
        #expect(try await bench.postPlay(for: "anna").status == 200)
        #expect(try await bench.get("anna").active() == ["gift", "pro"])
        await bench.close()
    }

    @Test func `a customer who was erased and returns has the purchase again`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        try play.set("token-1", Subscription.plus(from: bench.clock.now(), account: "anna"))
        _ = try await bench.postPlay()
        #expect(try await bench.send(.delete, "/v1/customers/anna", as: .secret).status == 200)
        #expect(try bench.count("play_purchase WHERE acknowledgement_due_at IS NOT NULL") == 0)
        #expect(try bench.playDifferences() == [])
        #expect(try await bench.postPlay().status == 200)
        #expect(try await bench.get().active() == ["pro"])
        let facts = try bench.playFacts
        #expect(try await bench.postPlay().status == 200)
        #expect(try bench.playFacts == facts && bench.playDifferences() == [])
        await bench.close()
    }

    @Test func `an alias, an export and a transfer work as for other purchases`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        try play.set("token-1", Subscription.plus(from: bench.clock.now()))
        _ = try await bench.postPlay(for: "anonymous-1")
        #expect(try await bench.alias("anonymous-1").status == 200)
        #expect(try await bench.get().active() == ["pro"])
        let export = try await bench.send(.get, "/v1/customers/anna/export", as: .secret).json
        #expect(export["facts"]?[0]?["format"] == "googlePlay")
        let original = PlayFetch.original("token-1", of: FakeGooglePlay.packageName)
        #expect(try await bench.transfer(original.rawValue, to: "ben").status == 200)
        #expect(try await bench.get("ben").active() == ["pro"])
        #expect(try await bench.postPlay(for: "ben").status == 200)
        #expect(try bench.playFacts == 2 && bench.playDifferences() == [])
        await bench.close()
    }

    // MARK: - Order and replacement

    @Test func `of two fetches the one that began last wins, whichever ends first`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        let start = bench.clock.now()
        try play.set("token-1", Subscription.plus(from: start))
        play.state.withLock { $0.gated = 0 }
        async let early = bench.postPlay()
        await play.gate.wait()
        try play.set("token-1", Subscription.plus(from: start, days: 60, order: "GPA.1..0"))
        let late = try await bench.postPlay()
        play.gate.open()
        let earlyReply = try await early
        #expect(late.status == 200 && earlyReply.status == 200)
        let subscription = try await bench.get().customer().subscriptions[0]
        #expect(subscription.expiresAt == start.addingTimeInterval(60 * 86400))
        #expect(try earlyReply.customer().subscriptions == [subscription])
        #expect(try bench.playFacts == 2 && bench.playDifferences() == [])
        await bench.close()
    }

    @Test func `an older fetch of another customer still makes its claim`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        try play.set("token-1", Subscription.plus(from: bench.clock.now()))
        play.state.withLock { $0.gated = 0 }
        async let early = bench.postPlay(for: "ben")
        await play.gate.wait()
        #expect(try await bench.postPlay(for: "anna").status == 200)
        play.gate.open()
        #expect(try await early.status == 200)
        #expect(try await bench.get("ben").active() == ["pro"])
        #expect(try await bench.get("anna").active() == [])
        await bench.close()
    }

    @Test func `the begin of a fetch is later than that of each earlier one, whatever the clock says`() async throws {
        let (bench, _) = try await ServerBench.withPlay()
        let ledger = bench.service.ledger
        var begins = [try await ledger.beginPlayFetch(of: ServerBench.app)]
        for step in [0.0, 0, 60] {
            bench.clock.advance(by: step)
            begins.append(try await ledger.beginPlayFetch(of: ServerBench.app))
        }
        // Another server, whose clock is an hour ahead.
        try await bench.database.write { try $0.execute("UPDATE play_app SET fetched_at = fetched_at + 3600000", []) }
        for _ in 0..<2 { begins.append(try await ledger.beginPlayFetch(of: ServerBench.app)) }
        #expect(zip(begins, begins.dropFirst()).allSatisfy(<))
        let other = try await ledger.beginPlayFetch(of: ServerBench.otherApp)
        #expect(other == bench.clock.now())
        await bench.close()
    }

    @Test(arguments: 0..<12) func `any order of fetches gives the answer of the last one alone`(seed: Int) async throws
    {
        var random = SeededNumbers(state: UInt64(seed))
        let (bench, _) = try await ServerBench.withPlay()
        let start = bench.clock.now()
        var fetches: [PlayFetch] = []
        for number in 0..<8 {
            let states: [AndroidPublisher.SubscriptionState] = [
                .active, .inGracePeriod, .onHold, .paused, .canceled, .expired,
            ]
            let state = states.randomElement(using: &random) ?? .active
            let order = "GPA.1..\(Int.random(in: 0...2, using: &random))"
            let end = start.addingTimeInterval(Double(Int.random(in: 1...4, using: &random)) * 30 * 86400)
            let isFirst = Bool.random(using: &random)
            fetches.append(
                try PlayFetch(
                    Subscription.plus(from: start, order: order) {
                        $0.subscriptionState = state
                        $0.item.expiryTime = end
                        $0.item.offerPhase = isFirst ? .init { $0.freeTrial = .init() } : nil
                    }, order: Bool.random(using: &random) ? .paid(order, from: start, to: end) : nil,
                    at: start.addingTimeInterval(Double(number))))
        }
        bench.clock.advance(to: start.addingTimeInterval(45 * 86400))
        let last = fetches[7]
        for fetch in (fetches + fetches.prefix(4)).shuffled(using: &random) {
            try await bench.service.ledger.record(
                .init(fetch: fetch, environment: .sandbox, replaced: nil), of: ServerBench.app, by: "anna",
                answering: .sandbox, as: nil
            ) { _, _ in KeptAnswer(status: 200, contentType: "", body: []) }
        }
        let now = bench.clock.now()
        var expected = try last.answer(at: now)
        expected.features = expected.features.map { feature in
            var feature = feature
            feature.name = "pro"
            return feature
        }
        let answer = try await bench.get().customer()
        #expect(answer.subscriptions == expected.subscriptions && answer.features == expected.features)
        #expect(answer.validUntil == expected.validUntil)
        #expect(try bench.playDifferences() == [])
        await bench.close()
    }

    @Test func `a replaced subscription ends exactly when the new one begins`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        let start = bench.clock.now()
        try play.set("token-1", Subscription.plus(from: start))
        _ = try await bench.postPlay()
        bench.clock.advance(by: 10 * 86400)
        let replaced = bench.clock.now()
        // Google has not ended the old one yet.
        try play.set(
            "token-2", Subscription.plus(from: replaced, order: "GPA.2") { $0.linkedPurchaseToken = "token-1" })
        let reply = try await bench.postPlay("token-2")
        #expect(reply.json["acknowledgedPurchaseTokens"] == ["token-2"])
        let subscriptions = try reply.customer().subscriptions
        #expect(subscriptions.map(\.state) == [.expired, .active])
        #expect(subscriptions[0].effectiveUntil == replaced && subscriptions[1].startedAt == replaced)
        #expect(try reply.customer().features.filter(\.isActive).count == 1)
        // A later fetch of the old one does not change its end.
        bench.clock.advance(by: 60)
        try play.set("token-1", Subscription.plus(from: start) { $0.subscriptionState = .canceled })
        #expect(try await bench.postPlay("token-1").status == 200)
        #expect(try await bench.get().customer().subscriptions[0].effectiveUntil == replaced)
        #expect(try bench.playDifferences() == [])
        await bench.close()
    }

    @Test func `a replaced subscription stays with its customer as history`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        let start = bench.clock.now()
        try play.set("token-1", Subscription.plus(from: start))
        _ = try await bench.postPlay(for: "anna")
        bench.clock.advance(by: 86400)
        try play.set(
            "token-2",
            Subscription.plus(from: bench.clock.now(), order: "GPA.2") { $0.linkedPurchaseToken = "token-1" })
        #expect(try await bench.postPlay("token-2", for: "ben").status == 200)
        #expect(try await bench.get("anna").active() == [])
        #expect(try await bench.get("anna").customer().subscriptions.map(\.state) == [.expired])
        #expect(try await bench.get("ben").active() == ["pro"])
        #expect(try bench.playDifferences() == [])
        await bench.close()
    }

    @Test func `a replaced subscription that Google forgot does not stop the new one`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        try play.set("token-2", Subscription.plus(from: bench.clock.now()) { $0.linkedPurchaseToken = "token-1" })
        #expect(try await bench.postPlay("token-2").status == 200)
        #expect(try bench.playFacts == 2 && bench.playDifferences() == [])
        await bench.close()
    }

    // MARK: - One-time products

    @Test func `a consumable gives its credit for each unit, and a refund takes it back`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        let start = bench.clock.now()
        try play.set("token-9", Product.coins(at: start, quantity: 3))
        #expect(try await bench.postPlay("token-9", product: "coins").status == 200)
        func balance() async throws -> JSONValue? {
            try await bench.send(.get, "/v1/customers/anna/credits/gold", as: .secret).json["balance"]
        }
        #expect(try await balance() == 300)
        bench.clock.advance(by: 1)
        try play.set("token-9", Product.coins(at: start, quantity: 3) { $0.offer.refundableQuantity = 1 })
        _ = try await bench.postPlay("token-9", product: "coins")
        #expect(try await balance() == 100)
        bench.clock.advance(by: 1)
        // The order id of a one-time purchase cannot make it count twice.
        try play.set(
            "token-9",
            Product.coins(at: start, order: nil, quantity: 3) { $0.purchaseStateContext?.purchaseState = .cancelled })
        _ = try await bench.postPlay("token-9", product: "coins")
        #expect(try await balance() == 0)
        #expect(try await bench.get().customer().purchases.count == 1)
        #expect(try bench.playDifferences() == [])
        await bench.close()
    }

    @Test(arguments: 1...6)
    func `units that were spent before a refund of a part become a debt, and never more is spent than is left`(
        seed: Int
    ) async throws {
        var random = SeededNumbers(state: UInt64(seed))
        let (bench, play) = try await ServerBench.withPlay()
        let (start, quantity) = (bench.clock.now(), Int.random(in: 1...5, using: &random))
        var (rest, spent, item) = (quantity, 0, 0)
        try play.set("token-9", Product.coins(at: start, quantity: quantity))
        #expect(try await bench.postPlay("token-9", product: "coins").status == 200)
        for _ in 0..<25 {
            bench.clock.advance(by: 1)
            if rest > 1, Int.random(in: 0..<6, using: &random) == 0 {
                rest -= Int.random(in: 1..<rest, using: &random)
                let left = rest
                try play.set(
                    "token-9", Product.coins(at: start, quantity: quantity) { $0.offer.refundableQuantity = left })
                _ = try await bench.postPlay("token-9", product: "coins")
            } else {
                item += 1
                let reply = try await bench.send(
                    .post, "/v1/customers/anna/credits/gold/redeem", as: .secret,
                    body: .json(["items": [["id": .string("hat-\(item)"), "type": "hat"]]]))
                let isCovered = rest * 100 - spent >= 30
                #expect(reply.status == (isCovered ? 200 : 409), "\(reply.json)")
                if isCovered { spent += 30 }
            }
            let credit = try await bench.send(.get, "/v1/customers/anna/credits/gold", as: .secret).json
            #expect(credit["balance"]?.intValue == rest * 100 - spent)
        }
        let purchase = try await bench.get().customer().purchases[0]
        #expect(purchase.quantity == rest)
        #expect(purchase.refundedQuantity == (rest == quantity ? nil : quantity - rest))
        #expect(try bench.playDifferences() == [])
        await bench.close()
    }

    // MARK: - The row of the purchase

    @Test func `a purchase awaits its acknowledgement until Google says that it has it`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        func due(at instant: Date) throws -> PlayPurchase? {
            try bench.database.read { connection in
                let ledgerID = LedgerID(app: ServerBench.app, environment: .sandbox)
                return try bench.service.ledger.transaction(connection, on: ledgerID)
                    .duePlayAcknowledgements(at: instant, limit: 1).first
            }
        }
        let start = bench.clock.now()
        try play.set("token-1", Subscription.plus(from: start))
        _ = try await bench.postPlay()
        let row = try #require(try due(at: bench.realClock.now()))
        #expect(row.productID == "plus" && row.acknowledgeBy == start.addingTimeInterval(3 * 86400))
        await #expect(throws: PlayAcknowledger.Failed.self) { try await bench.service.parts.playAcknowledger.step() }
        #expect(try due(at: bench.realClock.now()) == nil)
        // Another fetch keeps the attempts.
        bench.clock.advance(by: 1)
        try play.set("token-1", Subscription.plus(from: start, days: 31))
        _ = try await bench.postPlay()
        #expect(try due(at: .distantFuture)?.acknowledgementAttempts == 1)
        bench.clock.advance(by: 1)
        try play.set("token-1", Subscription.plus(from: start) { $0.acknowledgementState = .acknowledged })
        _ = try await bench.postPlay()
        #expect(try due(at: .distantFuture) == nil)
        await bench.close()
    }

    @Test func `an account without access to orders gets facts without them`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        play.state.withLock { $0.refusesOrders = true }
        try play.set("token-1", Subscription.plus(from: bench.clock.now()))
        let reply = try await bench.postPlay()
        #expect(try reply.active() == ["pro"])
        #expect(try reply.customer().subscriptions[0].price == Price(amount: Decimal(499) / 100, currency: "USD"))
        #expect(try bench.playDifferences() == [])
        await bench.close()
    }

    @Test func `a web shop cannot use the ids of Google Play`() throws {
        for (transaction, original) in [("GPA.1", nil), ("order-1", "play.00"), ("play.1", nil)] as [(String, String?)]
        {
            let purchase = WebPurchase(
                customer: "anna", transactionID: TransactionID(unchecked: transaction),
                originalTransactionID: original.map { TransactionID(unchecked: $0) }, productID: "plus",
                kind: .nonConsumable, purchasedAt: .distantPast, occurredAt: .distantPast)
            let refusal = #expect(throws: Refusal.self) { try purchase.check() }
            #expect(refusal?.problem.status == 400)
        }
    }
}
