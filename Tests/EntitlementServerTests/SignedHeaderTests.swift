import Foundation
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

@Suite struct SignedHeaderTests {
    @Test func `a JWS header is stored once, and sources are read whole`() async throws {
        let bench = try await ServerBench()
        let signed = try (1...3).map { try bench.purchase("\($0)") }
        for text in signed { #expect(try await bench.post(text).status == 200) }
        #expect(try bench.count("signed_header") == 1)
        #expect(try bench.sources() == signed)
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `a stored source is little more than its payload and signature`() async throws {
        let bench = try await ServerBench()
        let signed = try bench.purchase("1")
        _ = try await bench.post(signed)
        let header = try #require(signed.firstIndex(of: "."))
        let kept = try bench.database.read { connection in
            try #require(try connection.first("SELECT length(source_bytes) AS size FROM fact"))["size"] as Int64
        }
        #expect(kept < signed[header...].utf8.count + 64)
        await bench.close()
    }

    @Test func `a JWS header that was rolled back is stored by the next transaction`() async throws {
        let bench = try await ServerBench()
        let signed = try bench.purchase("1")
        let fact = PresentedFact(
            content: .transaction(try TransactionFact(bench.purchasePayload("1"), digest: [1])), environment: .sandbox,
            source: Array(signed.utf8), index: 0)
        struct Undone: Error {}
        await #expect(throws: Undone.self) {
            _ = try await bench.service.ledger.record(
                [fact], of: ServerBench.app, by: nil, answering: .sandbox, as: nil
            ) { _, _ in throw Undone() }
        }
        #expect(try bench.count("signed_header") == 0 && bench.count("fact") == 0)
        #expect(try await bench.post(signed).status == 200)
        #expect(try await bench.post(bench.purchase("2")).status == 200)
        #expect(try bench.count("signed_header") == 1)
        #expect(try bench.sources().count == 2)
        await bench.close()
    }

    @Test func `facts of an older ledger remain readable beside new ones`() async throws {
        let bench = try await ServerBench()
        let old = try bench.purchase("1")
        _ = try await bench.post(old)
        try await bench.database.write { connection in
            let ledger = bench.service.ledger
            let transaction = ledger.transaction(connection, on: LedgerID(app: ServerBench.app, environment: .sandbox))
            let row = try #require(try connection.first("SELECT * FROM fact"))
            let key = try #require(try transaction.key(try row["data_key"]))
            let whole = try key.seal(Array(old.utf8), authenticating: try row["digest"])
            try connection.execute("UPDATE fact SET header = NULL, source_bytes = ?1", [.blob(whole)])
        }
        let new = try bench.purchase("2")
        _ = try await bench.post(new)
        #expect(try bench.sources() == [old, new])
        #expect(try bench.replay().differences == [])
        await bench.close()
    }
}

@Suite struct NewcomerTests {
    @Test func `a new customer gets waiting purchases and the presented ones`() async throws {
        let bench = try await ServerBench()
        let token = CustomerID("anna").appAccountToken
        try await bench.append(bench.purchase("1") { $0.appAccountToken = token })
        #expect(try await bench.post(bench.purchase("2", product: "more")).active() == ["more", "tools"])
        #expect(try await bench.get("anna").active() == ["more", "tools"])
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `a new customer can present several facts about one purchase at once`() async throws {
        let bench = try await ServerBench()
        let reply = try await bench.post([bench.period("1"), bench.period("2", of: "1")], for: "anna")
        #expect(reply.status == 200 && reply.acknowledged == ["1", "2"])
        #expect(try bench.count("fact") == 2 && bench.count("claim") == 1 && bench.count("customer") == 1)
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `a new customer that presents another customer's purchase and a new one gets only the new one`()
        async throws
    {
        let bench = try await ServerBench()
        let signed = try bench.purchase("1") { $0.appAccountToken = CustomerID("anna").appAccountToken }
        _ = try await bench.post(signed, for: "anna")
        let among = try await bench.post([signed, bench.purchase("2", product: "more")], for: "ben")
        #expect(among.acknowledged == ["2"])
        #expect(try await bench.get("ben").active() == ["more"])
        #expect(try bench.count("customer") == 2)
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `a new customer's first revision is the same after a purchase and after a grant`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.purchase("1"), for: "anna")
        _ = try await bench.grant("pro", to: "ben")
        let rows = try bench.database.read { connection in
            try connection.query("SELECT id, revision, first_seen_at FROM customer ORDER BY id").map {
                (try $0["id"] as String, try $0["revision"] as Int64, try $0["first_seen_at"] as Int64)
            }
        }
        #expect(rows.map(\.0) == ["anna", "ben"] && rows.map(\.1) == [1, 1])
        #expect(rows.allSatisfy { $0.2 == bench.clock.now().milliseconds })
        #expect(try bench.count("event") == 2)
        await bench.close()
    }
}

extension ServerBench {
    /// Returns the sources of all facts as they were signed, in the order of their arrival.
    fileprivate func sources() throws -> [String] {
        try database.read { connection in
            let transaction = service.ledger.transaction(
                connection, on: LedgerID(app: Self.app, environment: .sandbox))
            return try connection.query("SELECT * FROM fact ORDER BY sequence").map { row in
                String(decoding: try #require(try transaction.source(in: row)), as: UTF8.self)
            }
        }
    }
}
