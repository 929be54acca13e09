import BaseTestSupport
import Foundation
import HostTestSupport
import PostgresStorage
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

/// The daily sums follow from the facts, in any order and in steps of any size.
@Suite(.onBothEngines) struct FigureAggregatorTests {
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `facts in any order and steps of any size give the sums of a recomputation`(seed: UInt64) async throws {
        var numbers = SeededNumbers(state: seed)
        let lives = (0..<3).map { _ in RandomLife(using: &numbers) }
        var results: [[String]] = []
        for _ in 0..<3 {
            let bench = try await ServerBench()
            var facts: [(customer: String, fact: SignedFact)] = []
            for (index, life) in lives.enumerated() {
                // Each life has ids of its own.
                facts += try life.signed(by: bench, offset: index * 10_000).map { ("customer-\(index)", $0) }
            }
            facts.shuffle(using: &numbers)
            var waiting: [(customer: String, fact: SignedFact)] = []
            while !facts.isEmpty {
                for (customer, fact) in facts {
                    let reply =
                        fact.isRenewal
                        ? try await bench.post([bench.purchase("unrelated")], renewals: [fact.text], for: customer)
                        : try await bench.post([fact.text], for: customer)
                    #expect(reply.status == 200)
                    if reply.json["rejected"]?.arrayValue?.isEmpty == false { waiting.append((customer, fact)) }
                    guard Int.random(in: 0..<3, using: &numbers) == 0 else { continue }
                    let size = Int64.random(in: 1...7, using: &numbers)
                    let job = FigureAggregator(database: bench.database, batchSize: size)
                    for _ in 0..<Int.random(in: 1...4, using: &numbers) { _ = try await job.step() }
                    if Int.random(in: 0..<10, using: &numbers) == 0 { #expect(try bench.checkedFigures() == []) }
                }
                (facts, waiting) = (waiting, [])
            }
            try await bench.addAllFactsToFigures()
            #expect(try bench.checkedFigures() == [])
            results.append(try bench.figureRows())
            await bench.close()
        }
        #expect(results[0].count > 20)
        for result in results.dropFirst() { #expect(result == results[0]) }
    }

    @Test func `a changed, a missing and an additional sum are found`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.period("1"))
        _ = try await bench.post(
            bench.purchase("2") {
                $0.price = 990; $0.currency = "USD"
            })
        try await bench.addAllFactsToFigures()
        let report = try FigureCheck.run(on: bench.database)
        #expect(report.differences == [])
        #expect(report.facts == 2)
        #expect(report.position == report.lastFact)
        try await bench.database.write { connection in
            try connection.perform("UPDATE figure SET value = value + 1 WHERE measure = 'new'", [])
            try connection.perform("DELETE FROM figure WHERE measure = 'lost'", [])
            try connection.perform(
                """
                INSERT INTO figure (app, environment, measure, day, age, product, country, source, offer, currency, value)
                VALUES ('a', 'production', 'revenue', 0, 0, '', '', '', '', '', 5),
                    ('a', 'production', 'later', 0, 0, '', '', '', '', '', 5)
                """, [])
        }
        #expect(
            try bench.checkedFigures() == [
                "a, production: revenue on 1970-01-01 () is 5, and the facts give 0",
                "a, production: the measure later is unknown",
                "com.example.darkroom, sandbox: lost on 2026-01-31 (pro.monthly, appStore, USD) is 0, and the facts give 1",
                "com.example.darkroom, sandbox: new on 2026-01-01 (pro.monthly, appStore, USD) is 2, and the facts give 1",
            ])
        await bench.close()
    }

    @Test func `sums of earlier definitions are computed again, and those of later ones stay`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.period("1"))
        try await bench.addAllFactsToFigures()
        let rows = try bench.figureRows()
        try await bench.database.write { connection in
            try connection.perform("UPDATE figure SET value = 7", [])
            try connection.perform("UPDATE figure_position SET version = 0", [])
        }
        try await bench.addAllFactsToFigures()
        #expect(try bench.figureRows() == rows)
        try await bench.database.write { try $0.perform("UPDATE figure_position SET version = 9, position = 0", []) }
        try await bench.addAllFactsToFigures()
        #expect(try bench.figureRows() == rows)
        await bench.close()
    }

    @Test func `two servers count a fact once`() async throws {
        let bench = try await ServerBench()
        for number in 1...40 { _ = try await bench.post(bench.period("\(number)"), for: "customer-\(number)") }
        let jobs = (1...2).map { _ in FigureAggregator(database: bench.database, batchSize: 3) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for job in jobs { group.addTask { for _ in 0..<20 { _ = try await job.step() } } }
            try await group.waitForAll()
        }
        try await bench.addAllFactsToFigures()
        #expect(try bench.checkedFigures() == [])
        await bench.close()
    }

    @Test func `payments whose sum exceeds 64 bits are counted exactly`() async throws {
        let bench = try await ServerBench()
        // 9,300 of the largest payments in one purchase, and then 20 purchases, one of which is refunded.
        try await bench.insertPayments((0..<9300).map { (id: "large-\($0)", original: "large", isRevoked: false) })
        let job = FigureAggregator(database: bench.database, batchSize: 10_000)
        try await until("the payments of one purchase are counted") {
            _ = try await job.step()
            return try bench.figureRows().contains { $0.hasPrefix("revenue ") }
        }
        try await bench.insertPayments((0..<20).map { (id: "\($0)", original: "\($0)", isRevoked: $0 == 0) })
        try await bench.addAllFactsToFigures()
        #expect(try bench.checkedFigures() == [])
        let reply = try await bench.send(
            .get, "/v1/figures/revenue?from=1970-01-01&to=1970-01-02", as: .secret)
        #expect(reply.json["rows"]?.arrayValue?.map { $0["value"] } == ["9320000000000", "-1000000000"])
        let grouped = try await bench.send(
            .get, "/v1/figures/revenue?from=1970-01-01&to=1970-01-02&by=week&group=product", as: .secret)
        #expect(grouped.json["rows"]?.arrayValue?.map { $0["value"] } == ["9319000000000"])
        // The refunds of the large payments have a sum below the smallest number of 64 bits.
        try await bench.insertPayments(
            (0..<9300).map { (id: "large-\($0)", original: "large", isRevoked: true) }, signedAt: 1)
        try await bench.addAllFactsToFigures(by: job)
        #expect(try bench.checkedFigures() == [])
        let refunded = try await bench.send(
            .get, "/v1/figures/revenue?from=1970-01-01&to=1970-01-02", as: .secret)
        #expect(refunded.json["rows"]?.arrayValue?.map { $0["value"] } == ["9320000000000", "-9301000000000"])
        await bench.close()
    }

    @Test func `a fact whose summary cannot be read counts nothing, and does not stop the others`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.period("1"))
        _ = try await bench.post(bench.period("2"))
        try await bench.database.write { connection in
            try connection.perform("UPDATE fact SET summary = '{' WHERE original_transaction_id = '1'", [])
        }
        try await bench.addAllFactsToFigures()
        #expect(try bench.figureRows().contains { $0.hasPrefix("new") && $0.hasSuffix("=1") })
        #expect(try bench.checkedFigures() == [])
        await bench.close()
    }

    @Test func `an erasure keeps the figures`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.period("1") { $0.storefront = "USA" })
        try await bench.addAllFactsToFigures()
        let rows = try bench.figureRows()
        #expect(rows.contains { $0.contains("USA") })
        _ = try await bench.send(.delete, "/v1/customers/anna", as: .secret)
        try await bench.database.write { try $0.perform("UPDATE figure_position SET version = 0", []) }
        try await bench.addAllFactsToFigures()
        #expect(try bench.figureRows() == rows)
        await bench.close()
    }

    @Test func `a replay accepts the summaries of earlier versions`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(
            bench.period("1") {
                $0.storefront = "USA"
                $0.offerType = .promotional
                $0.offerIdentifier = "spring"
            })
        #expect(try bench.replay().differences == [])
        let row = try bench.database.read { try $0.first("SELECT summary FROM fact", []) }
        let summary: String = try #require(row)["summary"]
        #expect(summary.hasSuffix(#","storefront":"USA","offerType":2,"offerIdentifier":"spring"}"#))
        let former = summary.replacing(#","storefront":"USA","offerType":2,"offerIdentifier":"spring""#, with: "")
        try await bench.database.write { try $0.perform("UPDATE fact SET summary = ?1", [.text(former)]) }
        #expect(try bench.replay().differences == [])
        let other = summary.replacing("USA", with: "DEU")
        try await bench.database.write { try $0.perform("UPDATE fact SET summary = ?1", [.text(other)]) }
        #expect(try bench.replay().differences.count == 1)
        await bench.close()
    }
}

/// On PostgreSQL, facts are not committed in the order of their numbers.
@Suite(.enabled(if: PostgresCluster.isAvailable, "PostgreSQL is not installed"))
struct FigureHorizonTests {
    @Sendable private static func insert(_ id: String, _ connection: any SQLConnection) throws {
        try connection.execute(
            """
            INSERT INTO fact (app, environment, source, digest, kind, format, original_transaction_id, signed_at,
                received_at, summary, source_bytes)
            VALUES ('a', 'sandbox', 'appStore', ?1, 'transaction', 'jws', ?2, 0, 0, ?3, '')
            """,
            [
                .blob(Array(id.utf8)), .text(id),
                .text(
                    """
                    {"transactionId":"\(id)","productId":"p","type":"Consumable","purchaseDate":0,\
                    "originalPurchaseDate":0,"price":"1","currency":"EUR"}
                    """),
            ])
    }

    private static func payments(_ database: PostgresDatabase) throws -> Int64 {
        try database.read { connection in
            let row = try connection.first(
                "SELECT CAST(COALESCE(SUM(value), 0) AS BIGINT) AS sum FROM figure WHERE measure = 'payments'", [])
            return try row.map { try $0["sum"] } ?? 0
        }
    }

    @Test(arguments: [false, true])
    func `a fact that is committed last is counted, although its number is smaller`(isReadCommitted: Bool) async throws
    {
        var configuration = PostgresDatabase.Configuration()
        configuration.isolation = isReadCommitted ? .readCommitted : .serializable
        let database = try PostgresDatabase(
            url: try await PostgresCluster.shared().makeDatabase(), configuration: configuration)
        try database.migrate(Schema.migrations(for: .postgreSQL))
        let job = FigureAggregator(database: database)
        try await database.write { try Self.insert("first", $0) }
        try await until("the first fact is counted") {
            _ = try await job.step()
            return try Self.payments(database) == 1
        }

        let (began, goOn) = (Locked(false), DispatchSemaphore(value: 0))
        let slow = Task {
            try await database.write { connection in
                try Self.insert("slow", connection)
                began.withLock { $0 = true }
                goOn.wait()
            }
        }
        try await until("the slow fact has its number") { began.withLock(\.self) }
        try await database.write { try Self.insert("quick", $0) }
        for _ in 0..<5 { #expect(try await !job.step()) }
        #expect(try Self.payments(database) == 1)
        goOn.signal()
        try await slow.value
        try await until("both facts are counted") {
            _ = try await job.step()
            return try Self.payments(database) == 3
        }
        #expect(try FigureCheck.run(on: database).differences == [])
        await database.close()
    }
}

extension ServerBench {
    /// Adds all facts to the figures.
    func addAllFactsToFigures(by aggregator: FigureAggregator? = nil) async throws {
        let job = aggregator ?? FigureAggregator(database: database)
        try await until("all facts are in the figures") {
            while try await job.step() {}
            return try database.read { connection in
                try connection.first(
                    """
                    SELECT 1 AS one FROM figure_position WHERE version > ?1 OR NOT EXISTS
                        (SELECT 1 FROM fact WHERE sequence > figure_position.position)
                    """, [.integer(FigureAggregator.version)]) != nil
            }
        }
    }

    /// Inserts facts about payments of 1,000,000,000 EUR on 1970-01-01. With `isRevoked` the payment is refunded on the
    /// next day.
    func insertPayments(_ payments: [(id: String, original: String, isRevoked: Bool)], signedAt: Int64 = 0) async throws
    {
        try await database.write { connection in
            for payment in payments {
                let revocation = payment.isRevoked ? ",\"revocationDate\":86400000" : ""
                try connection.execute(
                    """
                    INSERT INTO fact (app, environment, source, digest, kind, format, original_transaction_id, signed_at,
                        received_at, summary, source_bytes)
                    VALUES (?1, 'sandbox', 'appStore', ?2, 'transaction', 'jws', ?3, ?4, 0, ?5, ?6)
                    """,
                    [
                        .text(ServerBench.app.rawValue), .blob(Array("\(payment.id) \(signedAt)".utf8)),
                        .text(payment.original), .integer(signedAt),
                        .text(
                            """
                            {"transactionId":"\(payment.id)","productId":"p","type":"Consumable","purchaseDate":0,\
                            "originalPurchaseDate":0\(revocation),"price":"1000000000","currency":"EUR"}
                            """), .blob([]),
                    ])
            }
        }
    }

    func checkedFigures() throws -> [String] { try FigureCheck.run(on: database).differences }

    /// Returns the sums that are not 0, without the app and the environment.
    func figureRows() throws -> [String] {
        try database.read { connection in
            try connection.query("SELECT * FROM figure WHERE value <> 0 OR high <> 0", []).map { row in
                let key = try #require(try FigureKey(row))
                let dimensions = [key.product, key.country, key.source, key.offer, key.currency]
                let value = try FigureValue(row)
                return "\(key.measure.rawValue) \(key.day)/\(key.age) \(dimensions)=\(value)"
            }.sorted()
        }
    }
}
