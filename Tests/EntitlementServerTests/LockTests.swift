import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

/// The locks of database transactions. These tests run the transactions one at a time, and check the statements and the
/// rows.
@Suite struct LockTests {
    private func lockingBench() async throws -> (bench: ServerBench, recorder: RecordingDatabase) {
        let box = RecorderBox()
        let bench = try await ServerBench(
            configure: { $0.answerMemory = 0 }, wrapping: { box.wrap(LockingDatabase($0)) })
        return (bench, try #require(box.database))
    }

    /// Returns the table and the last value of each statement that locks a row.
    private func locks(_ recorder: RecordingDatabase) -> [String] {
        recorder.statements.filter { Self.isLock($0.sql) }.map { statement in
            let table = statement.sql.split(separator: " ").drop { $0 != "INTO" && $0 != "FROM" }.dropFirst().first
            guard case .text(let name)? = statement.values.last else { return "\(table ?? "")" }
            return "\(table ?? "") \(name)"
        }
    }

    private static func isLock(_ sql: String) -> Bool { sql.hasSuffix("FOR UPDATE") || sql.contains("WHERE false") }

    @Test func `a request locks tokens and then purchases, each in order, before it reads them`() async throws {
        let (bench, recorder) = try await lockingBench()
        let (anna, ben) = (CustomerID("anna").appAccountToken, CustomerID("ben").appAccountToken)
        recorder.reset()
        let signed = try ["3", "1", "2"].map { id in
            try bench.purchase(id) { if id == "3" { $0.appAccountToken = ben } }
        }
        #expect(try await bench.post(signed).acknowledged == ["3", "1", "2"])
        let tokens = [anna, ben].map(\.wireText).sorted().map { "token \($0)" }
        #expect(locks(recorder) == tokens + ["purchase 1", "purchase 2", "purchase 3"])
        let place = try #require(recorder.statements.lastIndex { $0.sql.contains("INTO token") })
        for statement in recorder.statements[..<place] {
            for table in ["FROM fact", "FROM claim", "FROM holder", "FROM customer", "FROM purchase"] {
                #expect(!statement.sql.contains(table), "\(statement.sql)")
            }
        }
        await bench.close()
    }

    @Test func `a new customer's purchase takes two round trips and the commit, besides the search of the key`()
        async throws
    {
        let (bench, recorder) = try await lockingBench()
        _ = try await bench.post(bench.purchase("1"), for: "ben")
        _ = try await bench.post(bench.purchase("2"), for: "ben")
        let signed = try bench.purchase("3") { $0.appAccountToken = CustomerID("anna").appAccountToken }
        recorder.reset()
        #expect(try await bench.post(signed).active() == ["tools"])
        let read = recorder.statements.filter { $0.sql.hasPrefix("SELECT") }.map(\.sql)
        #expect(recorder.roundTrips - read.count == 2, "\(recorder.statements.map(\.sql))")
        #expect(read.allSatisfy { $0.contains("FROM api_key") }, "\(read)")
        await bench.close()
    }

    @Test func `customers are locked before their answers are computed, and each once`() async throws {
        let (bench, recorder) = try await lockingBench()
        for name in ["zoe", "anna"] { _ = try await bench.post(bench.purchase("1"), for: name) }
        recorder.reset()
        _ = try await bench.post(bench.purchase("1"), for: "zoe")
        #expect(locks(recorder).filter { $0.hasPrefix("customer") } == ["customer zoe", "customer anna"])
        let lock = try #require(
            recorder.statements.firstIndex { $0.sql.hasSuffix("FOR UPDATE") && $0.values.contains("anna") })
        let read = try #require(
            recorder.statements.firstIndex {
                $0.sql.contains("FROM holder CROSS JOIN fact") && $0.values.contains("anna")
            })
        #expect(lock < read)
        await bench.close()
    }

    @Test func `an engine without concurrent writes locks nothing`() async throws {
        let box = RecorderBox()
        let bench = try await ServerBench(wrapping: box.wrap)
        _ = try await bench.post(bench.purchase("1"))
        _ = try await bench.alias("other")
        _ = try await bench.transfer("1", to: "ben")
        _ = try await bench.send(.delete, "/v1/customers/ben", as: .secret)
        let recorder = try #require(box.database)
        #expect(recorder.statements.count > 20)
        #expect(locks(recorder) == [])
        await bench.close()
    }

    @Test func `a purchase that is refused leaves no row`() async throws {
        let (bench, _) = try await lockingBench()
        _ = try await bench.post(
            bench.purchase("1") { $0.appAccountToken = CustomerID("ben").appAccountToken }, for: "ben")
        #expect(try bench.count("token") == 1)
        let others = try bench.purchase("2") { $0.appAccountToken = CustomerID("ben").appAccountToken }
        // The valid purchase commits the transaction; without it everything would be rolled back.
        let reply = try await bench.post([others, bench.purchase("3")])
        #expect("\(reply.json)".contains("boundToAnotherCustomer"), "\(reply)")
        #expect(try bench.count("purchase") == 2)
        #expect(try bench.count("token") == 2)
        await bench.close()
    }

    @Test func `a fact that is inserted twice is one fact`() async throws {
        let (bench, recorder) = try await lockingBench()
        let signed = try bench.purchase("1")
        let first = try await bench.post(signed)
        recorder.reset()
        let again = try await bench.post(signed)
        #expect(recorder.statements.contains { $0.sql.contains("INSERT INTO fact") })
        #expect(!recorder.statements.contains { $0.sql.contains("FROM holder CROSS JOIN fact") })
        #expect(try first.customer() == again.customer())
        #expect(try bench.count("fact") == 1 && bench.count("event") == 1)
        await bench.close()
    }

    @Test func `a purchase and the customer of its token lock the row of the token`() async throws {
        let (bench, recorder) = try await lockingBench()
        let token = CustomerID("anna").appAccountToken
        _ = try await bench.notify(
            bench.notification(transaction: bench.period("7") { $0.appAccountToken = token }))
        #expect(locks(recorder).contains("token \(token.wireText)"))
        recorder.reset()
        #expect(try await bench.get().active() == ["pro"])
        #expect(locks(recorder) == ["token \(token.wireText)", "customer anna", "purchase 7"])
        await bench.close()
    }

    @Test func `after an erasure only the token of the pseudonym is left`() async throws {
        let (bench, _) = try await lockingBench()
        _ = try await bench.post(bench.purchase("1") { $0.appAccountToken = CustomerID("anna").appAccountToken })
        _ = try await bench.alias("other")
        #expect(try bench.count("token") == 2)
        let reply = try await bench.send(.delete, "/v1/customers/anna", as: .secret)
        let pseudonym = CustomerID(unchecked: try #require(reply.json["pseudonym"]?.stringValue))
        let tokens = try bench.database.read { connection in
            try connection.query("SELECT token FROM token").map { try $0["token"] as String }
        }
        #expect(tokens == [pseudonym.appAccountToken.wireText])
        #expect(try await bench.send(.delete, "/v1/customers/unknown", as: .secret).status == 404)
        #expect(try bench.count("token") == 1)
        bench.clock.advance(by: 1)
        _ = try await bench.notify(
            bench.notification(
                transaction: bench.purchase("1") { $0.appAccountToken = CustomerID("anna").appAccountToken }))
        #expect(try bench.count("token") == 1)
        await bench.close()
    }

    @Test(arguments: [false, true])
    func `an idempotency key that is used twice gets one answer, and a refusal leaves no row`(isLocking: Bool)
        async throws
    {
        let bench = try await ServerBench(wrapping: { isLocking ? LockingDatabase($0) : $0 })
        let ledgerID = LedgerID(app: ServerBench.app, environment: .sandbox)
        let request = IdempotentRequest(
            ledgerID: ledgerID, sender: .secret, requester: nil, key: "1", digest: [1], customer: "anna",
            now: bench.clock.now())
        let answer = KeptAnswer(status: 200, contentType: "text/plain", body: [1, 2, 3])
        let ledger = bench.service.ledger
        await #expect(throws: Ledger.CustomerRefusal.self) {
            _ = try await ledger.write(once: request) { _, _ in throw Ledger.CustomerRefusal.aliasTaken }
        }
        #expect(try bench.count("idempotency_key") == 0)
        let begun = try await bench.database.write { connection in
            let first = try request.begin(connection)
            try request.complete(answer, connection)
            return [first, try request.begin(connection)]
        }
        #expect(begun == [true, false])
        let kept = try await ledger.write(once: request) { _, _ in throw Ledger.CustomerRefusal.aliasTaken }
        #expect(kept == answer)
        #expect(try bench.count("idempotency_key") == 1 && bench.count("kept_answer") == 1)
        var other = request
        other = IdempotentRequest(
            ledgerID: ledgerID, sender: .secret, requester: nil, key: "2", digest: [1], customer: "anna", now: other.now
        )
        _ = try await ledger.write(once: other) { _, _ in answer }
        #expect(try bench.count("idempotency_key") == 2 && bench.count("kept_answer") == 1)
        await bench.close()
    }

    @Test func `a background job deletes old idempotency keys on engines where writes do not`() async throws {
        let (bench, _) = try await lockingBench()
        _ = try await bench.grant(headers: ["Idempotency-Key": "1"])
        bench.realClock.advance(by: 25 * 3600)
        _ = try await bench.grant(headers: ["Idempotency-Key": "2"])
        #expect(try bench.count("idempotency_key") == 2)
        let job = try #require(bench.service.jobs.first { $0.name == "idempotency keys" })
        #expect(try await !job.step())
        #expect(try bench.count("idempotency_key") == 1 && bench.count("kept_answer") == 1)
        bench.realClock.advance(by: 25 * 3600)
        #expect(try await bench.grant("other", headers: ["Idempotency-Key": "2"]).status == 201)
        await bench.close()
    }

    @Test func `an app whose keys another server has created gets no others`() async throws {
        let bench = try await ServerBench()
        let ring = KeyRing(database: bench.database, clock: MonotonicClock())
        let pair = IssuedKeys(bundleID: ServerBench.app, publicKey: "p", secretKey: "s")
        let count = try bench.count("api_key")
        #expect(try await ring.insert([pair], at: bench.clock.now()).isEmpty)
        #expect(try bench.count("api_key") == count)
        await bench.close()
    }

    @Test func `a promotion counts no redemption beyond its limit, whatever was read before`() async throws {
        let bench = try await ServerBench(wrapping: { inner in
            RecordingDatabase(inner) { sql, row in
                guard sql.contains("FROM promotion WHERE") else { return row }
                let values = zip(row.columns, row.values).map { $0 == "redemptions" ? .integer(0) : $1 }
                return SQLRow(columns: row.columns, values: values)
            }
        })
        _ = try await bench.send(
            .post, "/v1/promotions", as: .secret,
            body: .json(["code": "RARE", "feature": "gift", "limit": 1]))
        func redeem(_ customer: String) async throws -> ServerBench.Reply {
            try await bench.send(
                .post, "/v1/customers/\(customer)/promotions", as: .secret, body: .json(["code": "RARE"]))
        }
        #expect(try await redeem("anna").active() == ["gift"])
        #expect(try await redeem("ben").status == 409)
        #expect(try bench.count("promotion_redemption") == 1)
        await bench.close()
    }

    @Test func `the migration keeps one of two deliveries of an event to a webhook`() async throws {
        let folder = try ServerBench.Folder()
        let database = try SQLiteDatabase(path: folder.databasePath)
        let migrations = Schema.migrations(for: .sqlite)
        let index = try #require(migrations.firstIndex { $0.name == Schema.deliveries.name })
        try database.migrate(Array(migrations.prefix(index)))
        try await database.write { connection in
            try connection.execute("INSERT INTO app (bundle_id, rules_digest, created_at) VALUES ('a', x'', 0)")
            for (webhook, event) in [("crm", 1), ("crm", 1), ("crm", 2), ("log", 1)] {
                try connection.execute(
                    """
                    INSERT INTO webhook_delivery (app, environment, webhook, customer, event, state, attempts, due_at,
                        created_at) VALUES ('a', 'sandbox', ?1, 'anna', ?2, 'waiting', 0, 0, 0)
                    """, [.text(webhook), .integer(Int64(event))])
            }
        }
        try database.migrate(migrations)
        let ids = try database.read {
            try $0.query("SELECT id FROM webhook_delivery ORDER BY id").map { try $0["id"] as Int }
        }
        #expect(ids == [1, 3, 4])
        await database.close()
    }
}
