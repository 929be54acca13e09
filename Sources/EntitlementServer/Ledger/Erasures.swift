import Foundation
import Primitives
import SQLStorage
import StoreModel

/// The record of an erased name or app account token: the SHA-256 of a salt and the name. A restore of a backup uses it
/// to repeat the erasure.
///
/// A person with the ledger can test whether a name was erased. Without the salt, which is in the ledger, the digests
/// reveal nothing.
struct ErasedName: Sendable, Hashable {
    let ledgerID: LedgerID
    let salt: [UInt8]
    let digest: [UInt8]
    let pseudonym: CustomerID
    let erasedAt: Date

    static func digest(of name: String, _ salt: [UInt8]) -> [UInt8] { SHA256.hash(salt + Array(name.utf8)) }

    init(ledgerID: LedgerID, salt: [UInt8], digest: [UInt8], pseudonym: CustomerID, erasedAt: Date) {
        self.ledgerID = ledgerID
        self.salt = salt
        self.digest = digest
        self.pseudonym = pseudonym
        self.erasedAt = erasedAt
    }

    /// Reads a row of `erased_name`.
    init(_ row: SQLRow) throws {
        self.init(
            ledgerID: LedgerID(
                app: BundleID(unchecked: try row["app"]),
                environment: StoreEnvironment(rawValue: try row["environment"])),
            salt: try row["salt"], digest: try row["digest"], pseudonym: CustomerID(unchecked: try row["pseudonym"]),
            erasedAt: Date(milliseconds: try row["erased_at"]))
    }

    /// Stores the record. Keeps those of earlier erasures of the same name: a customer can return and be erased again.
    func keep(_ connection: any SQLConnection) throws {
        try connection.perform(
            """
            INSERT INTO erased_name (app, environment, salt, digest, pseudonym, erased_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            ON CONFLICT (app, environment, digest, pseudonym) DO UPDATE SET erased_at = excluded.erased_at
            """,
            [
                .text(ledgerID.app.rawValue), .text(ledgerID.environment.rawValue), .blob(salt), .blob(digest),
                .text(pseudonym.rawValue), .integer(erasedAt.milliseconds),
            ])
    }
}

extension LedgerTransaction {
    /// Records the erasure of a customer with these names. An app has one salt, so that a restore computes one digest
    /// for each name.
    func keepErasure(of names: [CustomerID], leaving pseudonym: CustomerID) throws {
        let app = SQLValue.text(ledgerID.app.rawValue)
        try connection.perform(
            "UPDATE app SET erasure_salt = ?2 WHERE bundle_id = ?1 AND erasure_salt IS NULL",
            [app, .blob(KeyText.randomBytes(16))])
        let row = try connection.first("SELECT erasure_salt FROM app WHERE bundle_id = ?1", [app])
        guard let salt: [UInt8] = try row.flatMap({ try $0["erasure_salt"] }) else {
            throw EntitlementServerError(.internalInconsistency, "The ledger did not store a salt.")
        }
        try connection.perform("INSERT INTO compaction_due (since) VALUES (?1)", [.integer(now.milliseconds)])
        // A purchase with the token may have arrived before the customer was known.
        let tokens = try Set(names.map(\.appAccountToken)).filter { try tokenOwner(of: $0) == nil }.map(\.wireText)
        for text in Set((names.map(\.rawValue) + tokens).map { ExactString($0) }) {
            try ErasedName(
                ledgerID: ledgerID, salt: salt, digest: ErasedName.digest(of: text.rawValue, salt),
                pseudonym: pseudonym,
                erasedAt: now
            ).keep(connection)
        }
    }

    /// Returns the last erasure of a customer with this token, and its pseudonym; `nil` if there is none, or if a
    /// customer has the token now.
    func erasure(withToken token: UUID) throws -> (pseudonym: CustomerID, at: Date)? {
        try tokenOwner(of: token) == nil ? lastErasure(withToken: token) : nil
    }

    /// Returns the last erasure of a customer with this token, even if a customer has the token now.
    func lastErasure(withToken token: UUID) throws -> (pseudonym: CustomerID, at: Date)? {
        let app = try connection.first(
            "SELECT erasure_salt FROM app WHERE bundle_id = ?1", [.text(ledgerID.app.rawValue)])
        guard let salt: [UInt8] = try app.flatMap({ try $0["erasure_salt"] }) else { return nil }
        return try connection.first(
            """
            SELECT pseudonym, erased_at FROM erased_name WHERE app = ?1 AND environment = ?2 AND digest = ?3
            ORDER BY erased_at DESC LIMIT 1
            """, values(.blob(ErasedName.digest(of: token.wireText, salt)))
        ).map { (CustomerID(unchecked: try $0["pseudonym"]), Date(milliseconds: try $0["erased_at"])) }
    }
}

extension EntitlementService {
    /// Returns whether the file of a ledger may still contain names of erased customers. A compaction removes them.
    ///
    /// - Parameter connection: A connection to the ledger. A ledger of a version without erasures contains no such
    ///   names.
    /// - Returns: Whether a compaction is due.
    /// - Throws: The errors of the database.
    public static func holdsErased(_ connection: any SQLConnection) throws -> Bool {
        let table = try connection.first("SELECT 1 AS one FROM sqlite_schema WHERE name = 'compaction_due'")
        return try table != nil && Schema.erasureToCompact(connection) != nil
    }
}

extension Schema {
    /// Returns the number of the last erasure in `compaction_due`; `nil` if no compaction is due.
    static func erasureToCompact(_ connection: any SQLConnection) throws -> Int64? {
        try connection.first("SELECT MAX(number) AS last FROM compaction_due").flatMap { try $0["last"] }
    }

    /// Records a compaction after an erasure. A later erasure, committed meanwhile, remains due.
    static func noteCompaction(after erasure: Int64, _ connection: any SQLConnection) throws {
        try connection.perform("DELETE FROM compaction_due WHERE number <= ?1", [.integer(erasure)])
    }

    /// The digests of erased customers' names. Earlier erasures have none.
    static let erasures = SQLMigration(
        "0009 erasures",
        [
            .sqlite: """
            ALTER TABLE app ADD COLUMN erasure_salt BLOB;
            CREATE TABLE erased_name (
                app TEXT NOT NULL,
                environment TEXT NOT NULL,
                digest BLOB NOT NULL,
                salt BLOB NOT NULL,
                pseudonym TEXT NOT NULL,
                erased_at INTEGER NOT NULL,
                PRIMARY KEY (app, environment, digest)
            ) STRICT, WITHOUT ROWID;
            """
        ])

    /// `is_erased` is 1 for an erased purchase, and 2 after it was claimed again: its earlier facts have no source.
    static let erasedBefore = SQLMigration(
        "0015 erased before",
        [
            .sqlite: """
            UPDATE purchase SET is_erased = 2 WHERE is_erased = 0 AND EXISTS (
                SELECT 1 FROM fact
                WHERE fact.app = purchase.app AND fact.environment = purchase.environment
                    AND fact.original_transaction_id = purchase.original_transaction_id
                    AND NOT EXISTS (SELECT 1 FROM data_key WHERE data_key.id = fact.data_key));
            """
        ])

    /// A name that was erased several times keeps each pseudonym, and a restore looks for all of them.
    ///
    /// `compaction_due` has a row for each erasure until the next compaction.
    static let repeatedErasures = SQLMigration(
        "0013 repeated erasures",
        [
            .sqlite: """
            CREATE TABLE repeated_erasure (
                app TEXT NOT NULL,
                environment TEXT NOT NULL,
                digest BLOB NOT NULL,
                salt BLOB NOT NULL,
                pseudonym TEXT NOT NULL,
                erased_at INTEGER NOT NULL,
                PRIMARY KEY (app, environment, digest, pseudonym)
            ) STRICT, WITHOUT ROWID;
            INSERT INTO repeated_erasure (app, environment, digest, salt, pseudonym, erased_at)
                SELECT app, environment, digest, salt, pseudonym, erased_at FROM erased_name;
            CREATE TABLE compaction_due (number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, since INTEGER NOT NULL)
                STRICT;
            INSERT INTO compaction_due (since) SELECT 0 WHERE EXISTS (SELECT 1 FROM erased_name);
            DROP TABLE erased_name;
            ALTER TABLE repeated_erasure RENAME TO erased_name;
            """
        ])
}
