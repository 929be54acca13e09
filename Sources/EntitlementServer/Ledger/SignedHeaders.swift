import Primitives
import SQLStorage

/// The headers of what stores signed. A header names the certificates, is most of the text, says nothing about anybody and
/// is the same in thousands of them; so each is kept once, and the sources of facts without it.
struct SignedHeaders: Sendable {
    private let database: any SQLDatabase
    /// Those that are in the ledger for good. A header that a transaction has only just written may be undone with it. A few,
    /// which are compared faster than one is hashed.
    private let committed = Locked<[(bytes: [UInt8], number: Int64)]>([])

    init(database: any SQLDatabase) { self.database = database }

    /// The facts, with the number of their header where the ledger has it. To be asked before a transaction, so that the
    /// transaction need not look.
    func numbered(_ facts: [PresentedFact]) throws -> [PresentedFact] {
        try facts.map { fact in
            guard let header = fact.header else { return fact }
            var fact = fact
            fact.headerNumber = try number(of: Array(header))
            return fact
        }
    }

    private func number(of header: [UInt8]) throws -> Int64? {
        if let known = committed.withLock({ $0 }).first(where: { $0.bytes == header }) { return known.number }
        let number = try database.read { try Self.number(of: header, in: $0) }
        if let number { committed.withLock { $0.append((header, number)) } }
        return number
    }

    /// There are as many headers as the stores have certificates to sign with: a few. A row whose bytes were changed does not
    /// count.
    static func number(of header: [UInt8], in connection: any SQLConnection) throws -> Int64? {
        let row = try connection.first(
            "SELECT number, bytes FROM signed_header WHERE digest = ?1", [.blob(SHA256.hash(header))])
        guard let row, try row["bytes"] == header else { return nil }
        return try row["number"]
    }
}

extension LedgerTransaction {
    /// The number of the header of a fact's source, if it has one; the header is kept from now on.
    func number(ofHeaderOf fact: PresentedFact) throws -> Int64? {
        try fact.headerNumber ?? fact.header.map { try number(of: Array($0)) }
    }

    private func number(of header: [UInt8]) throws -> Int64 {
        if let known = try SignedHeaders.number(of: header, in: connection) { return known }
        // Another transaction was first, or the bytes were changed: then these are the right ones.
        let row = try connection.first(
            """
            INSERT INTO signed_header (digest, bytes) VALUES (?1, ?2)
            ON CONFLICT (digest) DO UPDATE SET bytes = excluded.bytes RETURNING number
            """, [.blob(SHA256.hash(header)), .blob(header)])
        guard let row else {
            throw EntitlementServerError(.internalInconsistency, "The ledger did not keep a header.")
        }
        return try row["number"]
    }

    /// The bytes of the header of this number. Throws `internalInconsistency` where they do not have their digest.
    func header(_ number: Int64) throws -> [UInt8] {
        let row = try connection.first("SELECT bytes, digest FROM signed_header WHERE number = ?1", [.integer(number)])
        guard let row else {
            throw EntitlementServerError(.internalInconsistency, "The ledger lost a header.")
        }
        let bytes: [UInt8] = try row["bytes"]
        guard try row["digest"] == SHA256.hash(bytes) else {
            throw EntitlementServerError(.internalInconsistency, "A header in the ledger was damaged.")
        }
        return bytes
    }
}

extension Schema {
    /// Headers apart from sources, and no entries in an index for what a row does not have.
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
