import Foundation
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

@Suite struct MigrationTests {
    /// Creates a ledger of the first version: anna's subscription with its renewal info, and a purchase without a
    /// claim.
    private func firstLedger(_ folder: ServerBench.Folder, _ signed: [(kind: String, jws: String)]) async throws {
        let database = try SQLiteDatabase(path: folder.databasePath)
        try database.migrate(Array(Schema.migrations(for: .sqlite).prefix(1)))
        try await database.write { connection in
            try connection.execute(
                "INSERT INTO app (bundle_id, rules_digest, created_at) VALUES (?1, ?2, 0)",
                [.text(ServerBench.app.rawValue), .blob([])])
            for (kind, jws) in signed {
                let payload = try FactFormat.jws.payload(of: Array(jws.utf8))
                let members = try JSONValue(parsing: payload)
                try connection.execute(
                    """
                    INSERT INTO fact (app, environment, source, digest, kind, transaction_id, original_transaction_id,
                        signed_at, received_at, payload, signed) VALUES (?1, 'sandbox', 'appStore', ?2, ?3, ?4, ?5, ?6, 0, ?7, ?8)
                    """,
                    [
                        .text(ServerBench.app.rawValue), .blob(SHA256.hash(payload)), .text(kind),
                        SQLValue(members["transactionId"]?.stringValue),
                        SQLValue(members["originalTransactionId"]?.stringValue),
                        .integer(Int64(members["signedDate"]?.intValue ?? 0)), .blob(payload), .blob(Array(jws.utf8)),
                    ])
            }
            let ledgerID: [SQLValue] = [.text(ServerBench.app.rawValue), .text("sandbox")]
            for (original, owner) in [("1", "anna"), ("2", nil)] {
                try connection.execute(
                    "INSERT INTO purchase (app, environment, original_transaction_id, owner) VALUES (?1, ?2, ?3, ?4)",
                    ledgerID + [.text(original), SQLValue(owner)])
            }
            try connection.execute(
                """
                INSERT INTO claim (app, environment, original_transaction_id, customer, claimed_at)
                VALUES (?1, ?2, '1', 'anna', 0)
                """, ledgerID)
            try connection.execute(
                """
                INSERT INTO customer (app, environment, id, app_account_token, first_seen_at, revision, answer, etag,
                    content_digest, valid_from, valid_until) VALUES (?1, ?2, 'anna', ?3, 0, 0, ?4, '', ?4, 0, 0)
                """, ledgerID + [.text(CustomerID("anna").appAccountToken.wireText), .blob([])])
        }
        await database.close()
    }

    @Test(.onSQLite)
    func `a ledger of the first version is migrated with its customers, and its sources are encrypted`()
        async throws
    {
        let store = try await ServerBench()
        let period = try store.period("1")
        let signed = [
            ("transaction", period), ("renewal", try store.renewalInfo()), ("transaction", try store.purchase("2")),
        ]
        await store.close()
        let folder = try ServerBench.Folder()
        try await firstLedger(folder, signed)

        let bench = try await ServerBench(folder: folder)
        let customer = try await bench.get().customer()
        #expect(customer.features.map(\.because) == ["active subscription, renews"])
        #expect(try await bench.post(period).acknowledged == ["1"])
        #expect(try await bench.post(bench.purchase("2"), for: "ben").active() == ["tools"])
        #expect(try bench.count("fact") == 3)
        let facts = try await bench.send(.get, "/v1/customers/anna/facts", as: .secret)
        #expect(facts.json["facts"]?[1]?["payload"]?["transactionId"]?.stringValue == "1")
        let open = try bench.database.read { connection in
            try connection.query("SELECT source_bytes FROM fact WHERE data_key IS NULL OR summary IS NULL").count
        }
        #expect(open == 0)
        await bench.close()
    }

    @Test(.onSQLite) func `a ledger of every version is migrated, and a second start applies no migration`()
        async throws
    {
        for count in 0...Schema.migrations(for: .sqlite).count {
            let folder = try ServerBench.Folder()
            let database = try SQLiteDatabase(path: folder.databasePath)
            try database.migrate(Array(Schema.migrations(for: .sqlite).prefix(count)))
            await database.close()
            for _ in 0..<2 {
                let bench = try await ServerBench(folder: folder)
                #expect(try bench.count("schema_migrations") == Schema.migrations(for: .sqlite).count)
                await bench.close()
            }
        }
    }
}
