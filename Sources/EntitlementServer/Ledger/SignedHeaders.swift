import Primitives
import SQLStorage

/// The JWS headers of signed sources, each stored once and apart from the sources.
///
/// A header contains the certificates, which make up most of a source. Thousands of sources have the same header,
/// because a store has few certificates. A header contains no personal data.
struct SignedHeaders: Sendable {
    private let database: any SQLDatabase
    /// The cached headers. Only committed ones are cached, because the current transaction may still be rolled back.
    /// There are so few that comparing all is faster than hashing one.
    private let committed = Locked<[(bytes: [UInt8], number: Int64)]>([])

    init(database: any SQLDatabase) { self.database = database }

    /// Returns the facts with the numbers of stored headers, so that the transaction need not query them.
    func numbered(_ facts: [PresentedFact]) throws -> [PresentedFact] {
        try facts.map { fact in
            guard let header = fact.header else { return fact }
            var fact = fact
            fact.headerNumber = try number(of: Array(header))
            return fact
        }
    }

    private func number(of header: [UInt8]) throws -> Int64? {
        if let cached = committed.withLock({ $0 }).first(where: { $0.bytes == header }) { return cached.number }
        let number = try database.read { try Self.number(of: header, in: $0) }
        if let number { committed.withLock { $0.append((header, number)) } }
        return number
    }

    /// Returns the number of a header; `nil` if it is not stored or its row is damaged.
    static func number(of header: [UInt8], in connection: any SQLConnection) throws -> Int64? {
        let row = try connection.first(
            "SELECT number, bytes FROM signed_header WHERE digest = ?1", [.blob(SHA256.hash(header))])
        guard let row, try row["bytes"] == header else { return nil }
        return try row["number"]
    }
}

extension LedgerTransaction {
    /// Returns the number of the header of a fact's source, if it has one, and stores a new header.
    func headerNumber(of fact: PresentedFact) throws -> Int64? {
        try fact.headerNumber ?? fact.header.map { try number(of: Array($0)) }
    }

    private func number(of header: [UInt8]) throws -> Int64 {
        if let number = try SignedHeaders.number(of: header, in: connection) { return number }
        // Replaces the bytes in a row that another transaction inserted first, or that was damaged.
        let row = try connection.first(
            """
            INSERT INTO signed_header (digest, bytes) VALUES (?1, ?2)
            ON CONFLICT (digest) DO UPDATE SET bytes = excluded.bytes RETURNING number
            """, [.blob(SHA256.hash(header)), .blob(header)])
        guard let row else {
            throw EntitlementServerError(.internalInconsistency, "The ledger did not store a header.")
        }
        return try row["number"]
    }

    /// Returns the header with this number. Throws `internalInconsistency` if its bytes are damaged.
    func header(_ number: Int64) throws -> [UInt8] {
        let row = try connection.first("SELECT bytes, digest FROM signed_header WHERE number = ?1", [.integer(number)])
        guard let row else {
            throw EntitlementServerError(.internalInconsistency, "The ledger does not have the JWS header of a fact.")
        }
        let bytes: [UInt8] = try row["bytes"]
        guard try row["digest"] == SHA256.hash(bytes) else {
            throw EntitlementServerError(.internalInconsistency, "A header in the ledger is damaged.")
        }
        return bytes
    }
}

extension Schema {
    /// Stores headers apart from sources, and removes index entries of empty columns.
    static let headers = SQLMigration(
        "0005 headers",
        [
            .sqlite: """
            CREATE TABLE signed_header (
                number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
                digest BLOB NOT NULL UNIQUE,
                bytes BLOB NOT NULL
            ) STRICT;
            ALTER TABLE fact ADD COLUMN header INTEGER;

            DROP INDEX fact_of_order;
            CREATE INDEX fact_of_order ON fact (app, environment, order_id) WHERE order_id IS NOT NULL;
            DROP INDEX purchase_of_token;
            CREATE INDEX purchase_of_token ON purchase (app, environment, app_account_token)
                WHERE app_account_token IS NOT NULL;
            """
        ])
}
