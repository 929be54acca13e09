import BaseTestSupport
import Foundation
import HTTPCore
import HostTestSupport
import PostgresStorage
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

/// Conflicts of two servers on one PostgreSQL. One server pauses between a read and a write, until the other is done or
/// waits for a lock.
@Suite(.enabled(if: PostgresCluster.isAvailable, "PostgreSQL is not installed"))
struct TwoServerTests {
    typealias Fault = SteeredDatabase.Fault

    /// Two servers on one database, with one clock.
    struct Pair {
        let first: ServerBench
        let second: ServerBench
        let steered: SteeredDatabase

        func close() async {
            await first.close()
            await second.close()
        }
    }

    /// A conflict of two servers, and its expected result.
    enum Conflict: String, CaseIterable, CustomTestStringConvertible {
        case requestsWithOneKey, customerAndPurchase, purchasesOfOneCustomer, oneFact, redemptionsOfOneCredit
        case redemptionsOfOneCode, mergeAndPurchase, paymentsOfTwoPurchases, deliveriesOfOneCustomer,
            deliveriesOfOneEvent
        case eventsOfTwoCustomers

        var testDescription: String { rawValue }

        /// The fault with which this conflict gives a wrong result. `nil` if the tests have none.
        var fault: Fault? {
            switch self {
            case .requestsWithOneKey: .keyInsertedLast
            case .customerAndPurchase, .mergeAndPurchase, .paymentsOfTwoPurchases: .tokenNotLocked
            case .purchasesOfOneCustomer: .customerNotLocked
            case .oneFact: .factInsertedTwice
            case .redemptionsOfOneCredit: nil
            case .redemptionsOfOneCode: .promotionReadFirst
            case .deliveriesOfOneCustomer: .cursorsNotLocked
            case .deliveriesOfOneEvent: .deliveryNotUnique
            case .eventsOfTwoCustomers: .eventsNumberedFirst
            }
        }
    }

    enum Isolation: String, CaseIterable {
        case serializable, readCommitted
        var level: PostgresDatabase.Isolation { self == .serializable ? .serializable : .readCommitted }
    }

    private static let secret = "0123456789abcdef0123456789abcdef"
    private static let webhook = WebhookName(app: ServerBench.app, name: "crm")

    private static func withPair(
        _ isolation: Isolation, fault: Fault? = nil, lockTimeout: Duration = .seconds(5),
        _ body: (Pair) async throws -> Void
    ) async throws {
        var postgres = PostgresDatabase.Configuration()
        postgres.isolation = isolation.level
        postgres.lockTimeout = lockTimeout
        try await ServerBench.$engine.withValue(.postgreSQL) {
            try await ServerBench.$postgres.withValue(postgres) {
                let steered = Locked<[SteeredDatabase]>([])
                func bench(_ folder: ServerBench.Folder? = nil, _ other: ServerBench? = nil) async throws -> ServerBench
                {
                    let shop = try WebhookSecret(secret)
                    return try await ServerBench(
                        folder: folder, keys: other?.keys ?? [:],
                        configure: { configuration in
                            configuration.apps[0].credits = CreditTests.table
                            configuration.webPurchases = [
                                .init(name: "shop", app: ServerBench.app, environment: .sandbox, secrets: [shop])
                            ]
                            if let other { configuration.clock = other.clock }
                        },
                        wrapping: { inner in
                            let database = SteeredDatabase(inner, fault: fault)
                            steered.withLock { $0.append(database) }
                            return database
                        })
                }
                let first = try await bench()
                let second = try await bench(first.folder, first)
                let database = try #require(steered.withLock { $0.first })
                try await database.removeConstraints()
                let pair = Pair(first: first, second: second, steered: database)
                try await body(pair)
                await pair.close()
            }
        }
    }

    /// Pauses the first server before a statement that contains `text`, until the second is done or waits for a lock.
    private static func interleave<A: Sendable, B: Sendable>(
        _ pair: Pair, before text: String, _ one: @escaping @Sendable (ServerBench) async throws -> A,
        _ other: @escaping @Sendable (ServerBench) async throws -> B
    ) async throws -> (A, B) {
        pair.steered.pause(before: text)
        let (first, second) = (pair.first, pair.second)
        let slow = Task { try await one(first) }
        try await until("the first server stops") { pair.steered.isPaused }
        let isDone = Locked(false)
        let quick = Task {
            defer { isDone.withLock { $0 = true } }
            return try await other(second)
        }
        try await until("the second server is done or waits") {
            if isDone.withLock(\.self) { return true }
            return try second.database.read { connection in
                try connection.first(
                    """
                    SELECT 1 AS one FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event_type = 'Lock'
                    """, []) != nil
            }
        }
        pair.steered.resume()
        return (try await slow.value, try await quick.value)
    }

    @Test(arguments: Conflict.allCases, Isolation.allCases)
    func `conflicting requests at two servers have the result of one after the other`(
        conflict: Conflict, isolation: Isolation
    )
        async throws
    {
        try await Self.withPair(isolation) { pair in
            let wrong = try await Self.wrong(after: conflict, pair)
            #expect(wrong.isEmpty, "\(wrong)")
        }
    }

    /// At READ COMMITTED PostgreSQL detects none of these conflicts by itself.
    @Test(arguments: Conflict.allCases.filter { $0.fault != nil })
    func `a fault makes the result of a conflict wrong`(conflict: Conflict) async throws {
        try await Self.withPair(.readCommitted, fault: conflict.fault) { pair in
            let wrong = try await Self.wrong(after: conflict, pair)
            #expect(!wrong.isEmpty)
        }
    }

    /// Provokes a conflict, and returns sentences about its wrong results.
    private static func wrong(after conflict: Conflict, _ pair: Pair) async throws -> [String] {
        switch conflict {
        case .requestsWithOneKey: try await requestsWithOneKey(pair)
        case .customerAndPurchase: try await customerAndPurchase(pair)
        case .purchasesOfOneCustomer: try await purchasesOfOneCustomer(pair)
        case .oneFact: try await oneFact(pair)
        case .redemptionsOfOneCredit: try await redemptionsOfOneCredit(pair)
        case .redemptionsOfOneCode: try await redemptionsOfOneCode(pair)
        case .mergeAndPurchase: try await mergeAndPurchase(pair)
        case .paymentsOfTwoPurchases: try await paymentsOfTwoPurchases(pair)
        case .deliveriesOfOneCustomer: try await deliveriesOfOneCustomer(pair)
        case .deliveriesOfOneEvent: try await deliveriesOfOneEvent(pair)
        case .eventsOfTwoCustomers: try await eventsOfTwoCustomers(pair)
        }
    }

    private static func requestsWithOneKey(_ pair: Pair) async throws -> [String] {
        _ = try await pair.first.grant("other")
        let (one, other) = try await interleave(pair, before: "UPDATE idempotency_key") {
            try await $0.grant(headers: ["Idempotency-Key": "k"])
        } _: {
            try await $0.grant(headers: ["Idempotency-Key": "k"])
        }
        let count = try pair.first.count("customer_grant")
        return (count == 2 ? [] : ["\(count) grants"]) + (one.bytes == other.bytes ? [] : ["\(one) is not \(other)"])
    }

    private static func customerAndPurchase(_ pair: Pair) async throws -> [String] {
        _ = try await interleave(pair, before: "UPDATE customer SET revision") {
            try await $0.grant("gift")
        } _: { bench in
            let bought = try bench.purchase("1") { $0.appAccountToken = CustomerID("anna").appAccountToken }
            return try await bench.notify(bench.notification(transaction: bought))
        }
        let active = try await pair.second.get().active().sorted()
        return active == ["gift", "tools"] ? [] : ["anna has \(active)"]
    }

    private static func purchasesOfOneCustomer(_ pair: Pair) async throws -> [String] {
        _ = try await pair.first.post([pair.first.purchase("1"), pair.first.purchase("2", product: "brushes")])
        pair.first.clock.advance(by: 60)
        @Sendable func refund(_ id: String, _ product: String, _ bench: ServerBench) async throws -> Int {
            let refunded = try bench.purchase(id, product: product) { $0.revocationDate = $0.signedDate }
            return try await bench.notify(bench.notification("n-\(id)", .refund, transaction: refunded)).status
        }
        _ = try await interleave(pair, before: "UPDATE customer SET revision") {
            try await refund("1", "tools", $0)
        } _: {
            try await refund("2", "brushes", $0)
        }
        let active = try await pair.second.get().active()
        return active.isEmpty ? [] : ["anna has \(active)"]
    }

    private static func oneFact(_ pair: Pair) async throws -> [String] {
        _ = try await pair.first.post(pair.first.period("1"))
        pair.first.clock.advance(by: 86400)
        let renewed = try pair.first.period("2", of: "1")
        _ = try await interleave(pair, before: "UPDATE customer SET") {
            try await $0.post(renewed)
        } _: {
            try await $0.post(renewed)
        }
        let count = try pair.first.count("fact")
        return count == 2 ? [] : ["\(count) facts"]
    }

    private static func redemptionsOfOneCredit(_ pair: Pair) async throws -> [String] {
        _ = try await pair.first.post(pair.first.coins("1"))
        let (one, other) = try await interleave(pair, before: "INSERT INTO spending") {
            try await $0.redeem([("a", "frame")])
        } _: {
            try await $0.redeem([("b", "frame")])
        }
        let balance = try await pair.first.credit().json["balance"]?.intValue
        let isRight = balance == 40 && one.status == 200 && other.status != 200
        return isRight ? [] : ["\(balance ?? 0) are left after \(one.status) and \(other.status)"]
    }

    private static func redemptionsOfOneCode(_ pair: Pair) async throws -> [String] {
        _ = try await pair.first.send(
            .post, "/v1/promotions", as: .secret, body: .json(["code": "RARE", "feature": "gift", "limit": 1]))
        @Sendable func redeem(_ customer: String, _ bench: ServerBench) async throws -> Int {
            try await bench.send(
                .post, "/v1/customers/\(customer)/promotions", as: .secret, body: .json(["code": "RARE"])
            ).status
        }
        let (one, other) = try await interleave(pair, before: "INSERT INTO customer_grant") {
            try await redeem("anna", $0)
        } _: {
            try await redeem("ben", $0)
        }
        let count = try pair.first.count("promotion_redemption")
        return count == 1 ? [] : ["\(count) redemptions after \(one) and \(other)"]
    }

    private static func mergeAndPurchase(_ pair: Pair) async throws -> [String] {
        _ = try await pair.first.grant("gift")
        _ = try await interleave(pair, before: "INSERT INTO alias") {
            try await $0.alias("visitor")
        } _: {
            try await $0.post($0.purchase("1"), for: "visitor")
        }
        let answers = try await (pair.first.get().active().sorted(), pair.second.get("visitor").active().sorted())
        return answers.0 == ["gift", "tools"] && answers.1 == answers.0
            ? [] : ["anna has \(answers.0), the visitor \(answers.1)"]
    }

    private static func paymentsOfTwoPurchases(_ pair: Pair) async throws -> [String] {
        @Sendable func report(_ original: TransactionID, _ customer: CustomerID, _ bench: ServerBench) async throws
            -> Int
        {
            let now = bench.clock.now()
            let purchase = WebPurchase(
                customer: customer, transactionID: "order", originalTransactionID: original, productID: "coins.100",
                kind: .consumable, purchasedAt: now, occurredAt: now)
            let body = try WireJSON.encode(purchase)
            let header = WebhookSignature.header(
                for: body, at: bench.realClock.now(), secrets: [try WebhookSecret(secret)])
            return try await bench.send(
                .post, "/v1/webhooks/shop", as: .none, headers: [WebhookSignature.field: header], body: .bytes(body)
            ).status
        }
        let (one, other) = try await interleave(pair, before: "INSERT INTO customer") {
            try await report("first", "anna", $0)
        } _: {
            try await report("second", "ben", $0)
        }
        let count = try pair.first.count("purchase")
        return [one, other] == [200, 422] && count == 1 ? [] : ["\(count) purchases after \(one) and \(other)"]
    }

    private static func deliveriesOfOneCustomer(_ pair: Pair) async throws -> [String] {
        let (first, second) = queues(pair)
        try await first.open()
        let now = pair.first.clock.now()
        _ = try await pair.first.grant("one")
        try await pair.first.numberEvents()
        _ = try await first.enqueueEvents(at: now)
        let claimed = try #require(try await first.claim(upTo: 1, at: now).first)
        _ = try await pair.first.grant("two")
        try await pair.first.numberEvents()
        _ = try await interleave(pair, before: "INSERT INTO webhook_delivery") { _ in
            try await first.enqueueEvents(at: now)
        } _: { _ in
            try await second.finish(claimed, .delivered(status: 200), at: now)
        }
        let next = try await second.claim(upTo: 10, at: now)
        return next.count == 1 ? [] : ["\(next.count) deliveries are due"]
    }

    private static func deliveriesOfOneEvent(_ pair: Pair) async throws -> [String] {
        let (first, second) = queues(pair)
        try await first.open()
        let now = pair.first.clock.now()
        _ = try await pair.first.grant("one")
        try await pair.first.numberEvents()
        _ = try await interleave(pair, before: "INSERT INTO webhook_delivery") { _ in
            try await first.enqueueEvents(at: now)
        } _: { _ in
            try await second.enqueueEvents(at: now)
        }
        let count = try pair.first.count("webhook_delivery")
        return count == 1 ? [] : ["\(count) deliveries"]
    }

    private static func queues(_ pair: Pair) -> (DeliveryQueue, DeliveryQueue) {
        let queues = [pair.first, pair.second].map {
            DeliveryQueue(webhook: webhook, environments: [.sandbox], database: $0.database)
        }
        return (queues[0], queues[1])
    }

    private static func eventsOfTwoCustomers(_ pair: Pair) async throws -> [String] {
        _ = try await pair.first.grant("gift", to: "anna")
        _ = try await pair.first.grant("gift", to: "ben")
        try await pair.first.numberEvents()
        let ledgerID = LedgerID(app: ServerBench.app, environment: .sandbox)
        let cursor = Locked(
            try pair.second.service.ledger.events(of: ledgerID, after: 0, limit: 10).last?.sequence ?? 0)
        @Sendable func read(_ bench: ServerBench) async throws -> [String] {
            try await bench.numberEvents()
            let events = try bench.service.ledger.events(of: ledgerID, after: cursor.withLock(\.self), limit: 10)
            if let last = events.last { cursor.withLock { $0 = last.sequence } }
            return events.map(\.customer.rawValue)
        }
        let (_, seen) = try await interleave(pair, before: "UPDATE idempotency_key") {
            try await $0.grant("pro", to: "anna", headers: ["Idempotency-Key": "k"])
        } _: { bench in
            _ = try await bench.grant("pro", to: "ben")
            return try await read(bench)
        }
        let all = try await seen + read(pair.second)
        return all.sorted() == ["anna", "ben"] ? [] : ["the reader saw \(all)"]
    }

    @Test func `a request whose idempotency key another server is using waits, and then is refused`() async throws {
        try await Self.withPair(.serializable, lockTimeout: .milliseconds(100)) { pair in
            _ = try await pair.first.grant("other")
            pair.steered.pause(before: "UPDATE idempotency_key")
            let first = pair.first
            let slow = Task { try await first.grant(headers: ["Idempotency-Key": "k"]) }
            try await until("the first server stops") { pair.steered.isPaused }
            let refused = try await pair.second.grant(headers: ["Idempotency-Key": "k"])
            #expect(refused.status == 409 && refused.code == "idempotency_in_progress", "\(refused)")
            pair.steered.resume()
            let answer = try await slow.value
            #expect(answer.status == 201)
            #expect(try await pair.second.grant(headers: ["Idempotency-Key": "k"]).bytes == answer.bytes)
        }
    }

    // MARK: - Shared jobs, limits and streams

    /// Deletes the registrations of the pair's servers.
    private static func forgetServers(_ pair: Pair) async throws {
        try await pair.first.database.write { try $0.perform("DELETE FROM server", []) }
    }

    @Test func `one of several servers runs the shared jobs, and after its end another one`() async throws {
        try await Self.withPair(.serializable) { pair in
            func registry(_ bench: ServerBench) -> ServerRegistry {
                ServerRegistry(database: bench.database, id: UUID().uuidString, clock: MonotonicClock())
            }
            let (first, second) = (registry(pair.first), registry(pair.second))
            try await Self.forgetServers(pair)
            #expect(try await first.leads())
            #expect(try await !second.leads())
            #expect(try await first.leads())
            for server in [first, second, first] { try await server.step() }
            #expect(first.count == 2)
            try await first.leave()
            try await second.step()
            #expect(second.count == 1)
            #expect(try await second.leads())
            #expect(try await !first.leads())
        }
    }

    @Test func `a server without a heartbeat for ten seconds no longer counts, and another takes over`() async throws {
        try await Self.withPair(.serializable) { pair in
            let (first, second) = (
                ServerRegistry(database: pair.first.database, id: "first", clock: MonotonicClock()),
                ServerRegistry(database: pair.second.database, id: "second", clock: MonotonicClock())
            )
            try await Self.forgetServers(pair)
            #expect(try await first.leads())
            for server in [first, second] { try await server.step() }
            #expect(second.count == 2)
            try await pair.second.database.write { connection in
                for statement in [
                    "UPDATE server SET seen_at = seen_at - interval '11 seconds'",
                    "UPDATE lease SET until = until - interval '11 seconds'",
                ] {
                    try connection.execute(statement)
                }
            }
            try await second.step()
            #expect(second.count == 1)
            #expect(try await second.leads())
            try await pair.second.database.write { connection in
                try connection.execute("UPDATE server SET seen_at = seen_at - interval '2 days'")
            }
            try await second.step()
            #expect(try pair.first.count("server") == 1)
            #expect(second.count == 1)
        }
    }

    @Test func `a server whose background jobs have ended releases the lease`() async throws {
        try await Self.withPair(.serializable) { pair in
            let first = pair.first
            try await Self.forgetServers(pair)
            let running = Task { try await first.service.run() }
            try await until("the first server has the lease") { try first.count("lease") == 1 }
            try await until("the first server counts itself") { try first.count("server") == 1 }
            running.cancel()
            try await running.value
            #expect(try first.count("lease") == 0 && first.count("server") == 0)
        }
    }

    @Test func `each server admits its share of a limit`() async throws {
        try await Self.withPair(.serializable) { pair in
            var configuration = EntitlementService.Configuration(
                database: pair.first.database, apps: [.init(bundleID: ServerBench.app)], environments: [.sandbox])
            configuration.apps[0].rateLimit = RateLimit(perSecond: 1, burst: 10)
            configuration.monotonicClock = pair.first.realClock.monotonic
            let registry = ServerRegistry(database: pair.first.database, id: "first", clock: MonotonicClock())
            let limiter = RateLimiter(configuration, sharedBy: registry)
            func admittedCount(_ digest: UInt8) -> Int {
                let caller = Caller(app: ServerBench.app, kind: .public, keyDigest: [digest])
                return (0..<20).count { _ in (try? limiter.admit(caller)) != nil }
            }
            try await Self.forgetServers(pair)
            #expect(admittedCount(1) == 10)
            try await ServerRegistry(database: pair.second.database, id: "second", clock: MonotonicClock()).step()
            try await registry.step()
            #expect(registry.count == 2)
            #expect(admittedCount(2) == 5)
        }
    }

    @Test func `a stream continues at another server, with events of the first server`() async throws {
        try await Self.withPair(.serializable) { pair in
            let (first, second) = (pair.first, pair.second)
            _ = try await first.grant("one")
            try await first.numberEvents()
            let ledgerID = LedgerID(app: ServerBench.app, environment: .sandbox)
            let seen = try #require(try second.service.ledger.events(of: ledgerID, after: 0, limit: 10).last)
            let listener = try await EventListener(second, after: seen.id)
            let feed = try #require(second.service.jobs.first { $0.name == "feed" })
            _ = try await feed.step()
            let received = Task { try await listener.block() }
            _ = try await first.grant("two")
            try await first.numberEvents()
            _ = try await feed.step()
            let text = try await received.value
            #expect(!text.contains("id: \(seen.id)\n") && text.contains("two"), "\(text)")
        }
    }

    // MARK: - Rules

    /// Opens a server with another feature map on the database of a pair.
    private static func server(
        beside bench: ServerBench, features: FeatureMap = ServerBench.map, isReturning: Bool = false,
        clock: ManualClock? = nil
    ) async throws -> ServerBench {
        try await ServerBench(
            folder: bench.folder, keys: bench.keys,
            configure: { configuration in
                configuration.clock = clock ?? bench.clock
                configuration.apps[0].features = features
                configuration.apps[0].credits = CreditTests.table
                configuration.activatesFormerRules = isReturning
            })
    }

    @Test func `a server with other features changes the answers of all servers at once`() async throws {
        try await Self.withPair(.serializable) { pair in
            let first = pair.first
            _ = try await first.post(first.period("1"))
            #expect(try await first.get().active() == ["pro"])
            let later = try await Self.server(beside: first, features: FeatureMap(features: ["gold": ["pro.monthly"]]))
            for bench in [later, first, pair.second] { #expect(try await bench.get().active() == ["gold"]) }
            // The first server's own job also loads the rules.
            let job = try #require(first.service.jobs.first { $0.name == "rules" })
            _ = try await job.step()
            _ = try await first.post(first.period("2"), for: "ben")
            #expect(try await first.get("ben").active() == ["gold"])
            #expect(try await first.get("ben").customer().features == later.get("ben").customer().features)
            await later.close()
        }
    }

    @Test func `a server that starts with former features activates them only if configured to`() async throws {
        try await Self.withPair(.serializable) { pair in
            let first = pair.first
            _ = try await first.post(first.period("1"))
            let later = try await Self.server(beside: first, features: FeatureMap(features: ["gold": ["pro.monthly"]]))
            let late = try await Self.server(beside: first, features: ServerBench.map)
            #expect(late.failures.withLock { $0.count { $0.contains("replaced by later ones") } } == 1)
            for bench in [first, late, later] { #expect(try await bench.get().active() == ["gold"]) }
            let back = try await Self.server(beside: first, features: ServerBench.map, isReturning: true)
            #expect(back.failures.withLock { $0.isEmpty })
            for bench in [first, late, later, back] { #expect(try await bench.get().active() == ["pro"]) }
            for bench in [later, late, back] { await bench.close() }
        }
    }

    @Test func `a reload at one server changes the answers of all, and reverts them only if configured to`()
        async throws
    {
        try await Self.withPair(.serializable) { pair in
            let (first, second) = (pair.first, pair.second)
            _ = try await first.post(first.period("1"))
            func reload(
                _ bench: ServerBench, _ features: FeatureMap, isReturning: Bool = false
            ) async throws -> ReloadedRules {
                try await bench.service.reload { configuration in
                    configuration.apps[0].features = features
                    configuration.activatesFormerRules = isReturning
                }
            }
            let gold = FeatureMap(features: ["gold": ["pro.monthly"]])
            #expect(try await reload(first, gold).activated == [ServerBench.app])
            for bench in [first, second] { #expect(try await bench.get().active() == ["gold"]) }
            let ignored = try await reload(second, ServerBench.map)
            #expect(ignored.superseded == [ServerBench.app] && ignored.activated.isEmpty)
            for bench in [first, second] { #expect(try await bench.get().active() == ["gold"]) }
            let same = try await reload(second, gold)
            #expect(same.superseded.isEmpty && same.activated.isEmpty)
            let back = try await reload(second, ServerBench.map, isReturning: true)
            #expect(back.activated == [ServerBench.app])
            for bench in [first, second] { #expect(try await bench.get().active() == ["pro"]) }
        }
    }

    @Test func `answers of former rules are recomputed without a request`() async throws {
        try await Self.withPair(.serializable) { pair in
            let first = pair.first
            for (id, name) in [("1", "anna"), ("2", "ben"), ("3", "zoe")] {
                _ = try await first.post(first.period(id), for: name)
            }
            try await first.numberEvents()
            let ledgerID = LedgerID(app: ServerBench.app, environment: .sandbox)
            let last = try #require(try first.service.ledger.events(of: ledgerID, after: 0, limit: 10).last?.sequence)
            let later = try await Self.server(beside: first, features: FeatureMap(features: ["gold": ["pro.monthly"]]))
            for name in ["answers of former rules", "sweeper"] {
                let job = try #require(later.service.jobs.first { $0.name == name })
                while try await job.step() {}
            }
            try await later.numberEvents()
            let events = try later.service.ledger.events(of: ledgerID, after: last, limit: 10)
            #expect(events.map(\.customer.rawValue).sorted() == ["anna", "ben", "zoe"])
            #expect(events.allSatisfy { String(decoding: $0.body, as: UTF8.self).contains("gold") })
            await later.close()
        }
    }

    @Test func `a server whose clock is behind sends the answers of other servers, and builds on them`() async throws {
        try await Self.withPair(.serializable) { pair in
            let first = pair.first
            let behind = try await Self.server(beside: first, clock: ManualClock())
            first.clock.advance(by: 2)
            let answer = try await first.post(first.period("1"))
            let revision = try answer.customer().asOf
            let read = try await behind.get()
            #expect(read.bytes == (try await first.get()).bytes)
            let later = try await behind.post(first.purchase("2")).customer()
            #expect(later.asOf >= revision && later.features.count == 2)
            #expect(try await first.get().customer() == later)
            await behind.close()
        }
    }
}
