import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer
@testable import SQLStorage

/// Answers that are stored for repeated requests: their size, their owner and their integrity.
@Suite(.onBothEngines) struct KeptAnswerTests {
    private func size(of folder: ServerBench.Folder) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: folder.url.path).reduce(0) { size, name in
            try size + Data(contentsOf: folder.url.appendingPathComponent(name)).count
        }
    }

    @Test func `a fact repeated with new idempotency keys has one stored answer`() async throws {
        let folder = try ServerBench.Folder()
        let bench = try await ServerBench(folder: folder) { $0.apps[0].customerRateLimit = nil }
        _ = try await bench.post((0..<100).map { try bench.purchase("\($0)", product: "product-\($0)") })
        let fact = try bench.purchase("7", product: "product-7")
        let first = try await bench.post(fact, headers: ["Idempotency-Key": "first"])
        #expect(first.bytes.count > 15_000)
        for round in 0..<4 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<50 {
                    group.addTask {
                        let key: HTTPHeaders = ["Idempotency-Key": "\(round).\(number)"]
                        let reply = try await bench.post(fact, headers: key)
                        #expect(reply.status == 200 && reply.bytes == first.bytes)
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect(try bench.count("idempotency_key") == 201 && bench.count("kept_answer") == 1)
        #expect(try await bench.post(fact, headers: ["Idempotency-Key": "3.7"]).bytes == first.bytes)
        await bench.close()
        #expect(try size(of: folder) < 2 << 20)
    }

    /// An answer lists the facts in the order of the request, so reversed facts have another answer.
    @Test func `stored answers of a customer are limited, under all of its names`()
        async throws
    {
        let bench = try await ServerBench { $0.apps[0].customerRateLimit = nil }
        let facts = try (0..<10).map { try bench.purchase("\($0)") }
        let first = try await bench.post(facts, headers: ["Idempotency-Key": "first"])
        #expect(first.status == 200)
        _ = try await bench.alias("visitor", to: "anna")
        try await bench.database.write { connection in
            try connection.execute(
                """
                INSERT INTO kept_answer (app, environment, customer, digest, body)
                SELECT app, environment, customer, ?1, ?2 FROM kept_answer WHERE customer = 'anna' LIMIT 1
                """, [.blob([1]), .blob([UInt8](repeating: 1, count: IdempotentRequest.maximumBytes))])
        }
        for name in ["anna", "visitor"] {
            let refused = try await bench.post(facts.reversed(), for: name, headers: ["Idempotency-Key": "next"])
            #expect(refused.status == 429 && refused.code == "rate_limited")
            #expect(refused.headers["Retry-After"] == "3600")
        }
        #expect(try await bench.post(facts, headers: ["Idempotency-Key": "first"]).bytes == first.bytes)
        #expect(
            try await bench.post(facts.reversed()).status == 200, "Without an idempotency key, no answer is stored.")
        #expect(try await bench.post(facts, for: "ben", headers: ["Idempotency-Key": "next"]).status == 200)
        #expect(
            try await bench.grant(headers: ["Idempotency-Key": "next"]).status == 201,
            "The limit does not apply to a secret key.")
        await bench.close()
    }

    @Test(.onSQLite)
    func `a receipt validated with new idempotency keys has one stored answer, and a time for each key`()
        async throws
    {
        let folder = try ServerBench.Folder()
        let bench = try await ServerBench(folder: folder)
        let receipt = try bench.receipt(
            (0..<100).map { number in
                bench.receiptPurchase(TransactionID(unchecked: "\(number)")) {
                    $0.productID = ProductID(unchecked: "product-\(number)")
                }
            })
        let body: HTTPBody = .json(["receipt": .string(receipt)])
        var answers: [[UInt8]] = []
        for number in 0..<20 {
            bench.clock.advance(by: 1)
            let key: HTTPHeaders = ["Idempotency-Key": "\(number)"]
            answers.append(try await bench.send(.post, "/v1/receipts/validate", headers: key, body: body).bytes)
        }
        #expect(Set(answers).count == 20 && answers[0].count > 15_000)
        #expect(try bench.count("idempotency_key") == 20 && bench.count("kept_answer") == 1)
        for number in [0, 7, 19] {
            let key: HTTPHeaders = ["Idempotency-Key": "\(number)"]
            let again = try await bench.send(.post, "/v1/receipts/validate", headers: key, body: body)
            #expect(again.bytes == answers[number])
        }
        try await bench.database.write {
            try $0.execute("UPDATE idempotency_key SET ending = CAST('no time' AS BLOB) WHERE key LIKE '%:7'")
        }
        let damaged = try await bench.send(
            .post, "/v1/receipts/validate", headers: ["Idempotency-Key": "7"], body: body)
        #expect(damaged.status == 500)
        await bench.close()
    }

    @Test(.onSQLite) func `stored answers are deleted with their last idempotency key`() async throws {
        let bench = try await ServerBench()
        let signed = try bench.purchase("1")
        for key in ["a", "b"] { _ = try await bench.post(signed, headers: ["Idempotency-Key": key]) }
        bench.realClock.advance(by: 80_000)
        _ = try await bench.post(signed, headers: ["Idempotency-Key": "c"])
        _ = try await bench.post(bench.purchase("2"), headers: ["Idempotency-Key": "d"])
        #expect(try bench.count("idempotency_key") == 4 && bench.count("kept_answer") == 2)
        bench.realClock.advance(by: 10_000)
        _ = try await bench.grant(headers: ["Idempotency-Key": "e"])
        #expect(try bench.count("idempotency_key") == 3 && bench.count("kept_answer") == 3)
        bench.realClock.advance(by: 86_400)
        _ = try await bench.grant(headers: ["Idempotency-Key": "e"])
        #expect(try bench.count("idempotency_key") == 1 && bench.count("kept_answer") == 1)
        await bench.close()
    }

    @Test func `each customer has separate stored answers, and an erasure deletes only those of its customer`()
        async throws
    {
        let bench = try await ServerBench()
        for name in ["anna", "ben"] {
            _ = try await bench.post("no signature", for: name, headers: ["Idempotency-Key": name])
        }
        #expect(try bench.count("kept_answer") == 2)
        _ = try await bench.get()
        _ = try await bench.post(bench.purchase("1"))
        #expect(try await bench.send(.delete, "/v1/customers/anna", as: .secret).status == 200)
        #expect(try bench.count("kept_answer") == 1 && bench.count("idempotency_key") == 1)
        await bench.close()
    }

    @Test func `an idempotency key belongs to the customer of its token`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.period("1"), for: "anna")
        let receipt = try bench.receipt([bench.receiptPurchase("1")])
        let (anna, ben) = (try await bench.token(), try await bench.token(for: "ben"))
        var shown: [String: String?] = [:]
        for (name, token) in [("anna", anna), ("ben", ben)] {
            let headers: HTTPHeaders = ["Souk-Customer-Token": token, "Idempotency-Key": "same"]
            let reply = try await bench.validate(receipt, headers: headers)
            shown[name] = try reply.validation().customer?.customer.rawValue
            #expect(try await bench.validate(receipt, headers: headers).bytes == reply.bytes)
        }
        #expect(shown == ["anna": "anna", "ben": "unclaimed"])
        #expect(try bench.count("idempotency_key") == 2)
        // An erasure deletes the answers to requests with the customer's token, whichever customer they are about.
        #expect(try await bench.send(.get, "/v1/customers/ben", as: .secret).status == 200)
        _ = try await bench.grant(to: "ben")
        #expect(try await bench.send(.delete, "/v1/customers/ben", as: .secret).status == 200)
        #expect(try bench.count("idempotency_key") == 1)
        await bench.close()
    }

    @Test(.onSQLite) func `a stored answer with a flipped bit is an error, and nothing is done twice`() async throws {
        let bench = try await ServerBench()
        let key: HTTPHeaders = ["Idempotency-Key": "k"]
        let first = try await bench.grant(headers: key)
        var numbers = SeededNumbers(state: 11)
        for _ in 0..<20 {
            var bytes = first.bytes
            bytes[Int.random(in: bytes.indices, using: &numbers)] ^= 1 << UInt8.random(in: 0..<8, using: &numbers)
            try bench.elsewhere("UPDATE kept_answer SET body = ?1", [.blob(bytes)])
            let reply = try await bench.grant(headers: key)
            #expect(reply.status == 500 && reply.code == "internal")
        }
        #expect(bench.failures.withLock { $0.allSatisfy { $0.contains("ledger is damaged") } && $0.count == 20 })
        try bench.elsewhere("DELETE FROM kept_answer")
        #expect(try await bench.grant(headers: key).status == 500)
        #expect(try bench.count("customer_grant") == 1)
        await bench.close()
    }

    @Test(arguments: [
        "UPDATE idempotency_key SET status = 200 WHERE key LIKE '%:k'",
        "UPDATE idempotency_key SET content_type = 'text/html' WHERE key LIKE '%:k'",
        "UPDATE idempotency_key SET answer = (SELECT max(id) FROM kept_answer) WHERE key LIKE '%:k'",
        """
        UPDATE idempotency_key SET answer = other.answer, answer_digest = other.answer_digest
        FROM (SELECT answer, answer_digest FROM idempotency_key WHERE key LIKE '%:other') AS other
        WHERE idempotency_key.key LIKE '%:k'
        """,
    ])
    func `an idempotency key whose stored status, type or answer was changed causes an error`(change: String)
        async throws
    {
        let bench = try await ServerBench()
        let key: HTTPHeaders = ["Idempotency-Key": "k"]
        let first = try await bench.grant(headers: key)
        #expect(first.status == 201)
        _ = try await bench.grant("another", headers: ["Idempotency-Key": "other"])
        #expect(try await bench.grant(headers: key).bytes == first.bytes)
        try await bench.database.write { try #expect($0.execute(change) == 1) }
        let damaged = try await bench.grant(headers: key)
        #expect(damaged.status == 500 && damaged.code == "internal")
        #expect(try bench.count("customer_grant") == 2)
        await bench.close()
    }

    @Test func `an answer in the row of another customer is recomputed`() async throws {
        let bench = try await ServerBench { $0.answerMemory = 0 }
        _ = try await bench.post(bench.period("1"))
        _ = try await bench.grant(to: "ben")
        let (anna, ben) = (try await bench.get(), try await bench.get("ben"))
        try await bench.database.write { connection in
            let changed = try connection.execute(
                """
                UPDATE customer SET answer = other.answer, etag = other.etag, content_digest = other.content_digest,
                    valid_from = other.valid_from, valid_until = other.valid_until
                FROM (SELECT answer, etag, content_digest, valid_from, valid_until FROM customer WHERE id = 'anna') AS other
                WHERE customer.id = 'ben'
                """)
            #expect(changed == 1)
        }
        #expect(try await bench.get("ben").active() == ben.active())
        #expect(try await bench.get("ben").customer().customer == "ben")
        #expect(try await bench.get().bytes == anna.bytes)
        await bench.close()
    }

    @Test(arguments: ["NULL", "valid_until + 86400000", "valid_until - 1000"])
    func `an answer with a changed end is recomputed`(end: String) async throws {
        let bench = try await ServerBench { $0.answerMemory = 0 }
        _ = try await bench.post(bench.period("1"))
        let first = try await bench.get()
        #expect(try !first.active().isEmpty)
        try await bench.database.write { try #expect($0.execute("UPDATE customer SET valid_until = \(end)") == 1) }
        #expect(try await bench.get().bytes == first.bytes)
        try await bench.database.write { try #expect($0.execute("UPDATE customer SET valid_until = \(end)") == 1) }
        bench.clock.advance(by: 400 * 86_400)
        #expect(try await bench.get().active().isEmpty)
        await bench.close()
    }

    @Test(.onSQLite) func `a customer's answer with a flipped bit is recomputed`() async throws {
        let bench = try await ServerBench { $0.answerMemory = 0 }
        _ = try await bench.post([bench.period("1"), bench.purchase("2")])
        let first = try await bench.get()
        var numbers = SeededNumbers(state: 12)
        for round in 0..<60 {
            let column = round % 3 == 0 ? "etag" : "answer"
            let row = try bench.database.read {
                try $0.first("SELECT answer, CAST(etag AS BLOB) AS etag FROM customer")
            }
            var bytes: [UInt8] = try #require(row)[column]
            bytes[Int.random(in: bytes.indices, using: &numbers)] ^= 1 << UInt8.random(in: 0..<7, using: &numbers)
            try bench.elsewhere(
                "UPDATE customer SET \(column) = \(column == "etag" ? "CAST(?1 AS TEXT)" : "?1")", [.blob(bytes)])
            let reply = try await bench.get()
            #expect(reply.status == 200 && reply.bytes == first.bytes && reply.headers["ETag"] == first.headers["ETag"])
        }
        #expect(try bench.count("event") == 1, "A recomputed answer without a change is no event.")
        await bench.close()
    }

    @Test(.onSQLite) func `answers that were stored before a migration are returned`() async throws {
        let folder = try ServerBench.Folder()
        let before = try await ServerBench(folder: folder)
        let first = try await before.grant(headers: ["Idempotency-Key": "k"])
        let key = try #require(before.keys[ServerBench.app]).secretKey
        let row = try #require(try before.database.read { try $0.first("SELECT * FROM idempotency_key") })
        await before.close()

        let old = try ServerBench.Folder()
        let database = try SQLiteDatabase(path: old.databasePath)
        let count = try #require(Schema.migrations(for: .sqlite).firstIndex { $0.name.hasSuffix("kept answers") })
        try database.migrate(Array(Schema.migrations(for: .sqlite).prefix(count)))
        let (requestDigest, keyText): ([UInt8], String) = (try row["request_digest"], try row["key"])
        try await database.write { connection in
            try connection.execute(
                "INSERT INTO app (bundle_id, rules_digest, created_at) VALUES (?1, ?2, 0)",
                [.text(ServerBench.app.rawValue), .blob([])])
            try connection.execute(
                "INSERT INTO api_key (digest, app, kind, created_at) VALUES (?1, ?2, 'secret', 0)",
                [.blob(SHA256.hash(key.utf8)), .text(ServerBench.app.rawValue)])
            try connection.execute(
                """
                INSERT INTO idempotency_key (app, environment, key, request_digest, status, content_type, body,
                    created_at, customer) VALUES (?1, 'sandbox', ?2, ?3, 201, 'application/json', ?4, ?5, 'anna')
                """,
                [
                    .text(ServerBench.app.rawValue), .text(keyText), .blob(requestDigest), .blob(first.bytes),
                    .integer(ManualClock().now().milliseconds),
                ])
        }
        await database.close()
        let bench = try await ServerBench(folder: old)
        let again = try await bench.send(
            .post, "/v1/customers/anna/grants", as: .other("Bearer \(key)"), headers: ["Idempotency-Key": "k"],
            body: .json(["feature": "pro", "reason": "support"]))
        #expect(again.status == 201 && again.bytes == first.bytes)
        #expect(try bench.count("customer_grant") == 0)
        await bench.close()
    }
}
