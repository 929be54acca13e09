import Foundation
import Primitives
import SQLStorage
import SignedData
import StoreModel

/// A notification or receipt. The ledger stores it once as a whole, and the facts in it separately.
struct PresentedDocument: Sendable {
    enum Kind: String, Sendable {
        /// The compact JWS of a notification, identified by its `notificationUUID`.
        case notification
        /// The bytes of an app receipt, identified by the digest of its content.
        case receipt
    }

    let kind: Kind
    let identity: String
    /// The type of the notification or receipt, for people who read the table.
    let about: String
    let environment: StoreEnvironment
    let signedAt: Date
    /// The document, byte for byte.
    let source: [UInt8]
}

extension Schema {
    /// The tables of notifications and receipts, and of the purchases in them.
    static let ingestion = SQLMigration(
        "0003 ingestion",
        [
            .sqlite: """
            CREATE TABLE document (
                sequence INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
                app TEXT NOT NULL REFERENCES app (bundle_id),
                environment TEXT NOT NULL,
                kind TEXT NOT NULL CHECK (kind IN ('notification', 'receipt')),
                identity TEXT NOT NULL,
                about TEXT NOT NULL,
                signed_at INTEGER NOT NULL,
                received_at INTEGER NOT NULL,
                data_key INTEGER,
                source_bytes BLOB NOT NULL,
                UNIQUE (app, environment, kind, identity)
            ) STRICT;

            CREATE TABLE document_purchase (
                app TEXT NOT NULL REFERENCES app (bundle_id),
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                document INTEGER NOT NULL REFERENCES document (sequence),
                PRIMARY KEY (app, environment, original_transaction_id, document)
            ) STRICT;
            CREATE INDEX document_purchase_of_document ON document_purchase (document);
            """
        ])
}

/// Documents are encrypted like the sources of facts. Each has a key of its own, because a receipt can concern several
/// purchases. The erasure of any of these purchases erases the document.
extension LedgerTransaction {
    /// Stores a document if it is new. If it concerns an erased purchase, it is stored without its content.
    func keep(_ document: PresentedDocument, about purchases: Set<TransactionID>) throws {
        let existing = try connection.first(
            """
            SELECT 1 AS one FROM document WHERE app = ?1 AND environment = ?2 AND kind = ?3 AND identity = ?4
            """, values(.text(document.kind.rawValue), .text(document.identity)))
        guard existing == nil else { return }
        let sealed = try purchases.contains(where: isErased) ? nil : try seal(document)
        let sequence = try connection.insert(
            """
            INSERT INTO document (app, environment, kind, identity, about, signed_at, received_at, data_key, source_bytes)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
            ON CONFLICT (app, environment, kind, identity) DO NOTHING
            """,
            values(
                .text(document.kind.rawValue), .text(document.identity), .text(document.about),
                .integer(document.signedAt.milliseconds), .integer(now.milliseconds), SQLValue(sealed?.key),
                .blob(sealed?.bytes ?? [])), key: "sequence")
        guard let sequence else {
            if let sealed { try connection.execute("DELETE FROM data_key WHERE id = ?1", [.integer(sealed.key)]) }
            return
        }
        for purchase in purchases.sorted() {
            try connection.perform(
                """
                INSERT INTO document_purchase (app, environment, original_transaction_id, document)
                VALUES (?1, ?2, ?3, ?4)
                """, values(.text(purchase.rawValue), .integer(sequence)))
        }
    }

    /// Deletes the keys of all documents about a purchase, which makes the documents unreadable.
    func eraseDocuments(about purchase: TransactionID) throws {
        try connection.perform(
            """
            DELETE FROM data_key WHERE id IN (
                SELECT document.data_key FROM document_purchase CROSS JOIN document
                WHERE document_purchase.app = ?1 AND document_purchase.environment = ?2
                    AND document_purchase.original_transaction_id = ?3
                    AND document.sequence = document_purchase.document)
            """, values(.text(purchase.rawValue)))
    }

    /// Returns the documents about a customer's purchases for an export: a notification as it was signed, a receipt in
    /// base64.
    func documents(about customer: CustomerID) throws -> [JSONValue] {
        let rows = try connection.query(
            """
            SELECT DISTINCT document.sequence AS sequence, document.kind AS kind, document.identity AS identity,
                document.about AS about, document.signed_at AS signed_at, document.received_at AS received_at,
                document.data_key AS data_key, document.source_bytes AS source_bytes
            FROM holder CROSS JOIN document_purchase CROSS JOIN document
            WHERE holder.app = ?1 AND holder.environment = ?2 AND holder.customer = ?3
                AND document_purchase.app = ?1 AND document_purchase.environment = ?2
                AND document_purchase.original_transaction_id = holder.original_transaction_id
                AND document.sequence = document_purchase.document
            ORDER BY document.sequence
            """, values(.text(customer.rawValue)))
        return try rows.map { row in
            let identity: String = try row["identity"]
            var document: JSONValue = [
                "kind": .string(try row["kind"]), "identity": .string(identity), "about": .string(try row["about"]),
                "signedAt": .string(RFC3339.string(from: Date(milliseconds: try row["signed_at"]))),
                "receivedAt": .string(RFC3339.string(from: Date(milliseconds: try row["received_at"]))),
            ]
            guard let source = try source(ofDocument: row) else { return document }
            let isText = PresentedDocument.Kind(rawValue: try row["kind"]) == .notification
            document["sourceBytes"] = .string(isText ? String(decoding: source, as: UTF8.self) : Base64.encode(source))
            return document
        }
    }

    /// Returns the decrypted source of a document, from its columns data_key, identity and source_bytes; `nil` if it
    /// was erased.
    func source(ofDocument row: SQLRow) throws -> [UInt8]? {
        let id: Int64? = try row["data_key"]
        guard let id, let key = try key(id) else { return nil }
        let identity: String = try row["identity"]
        return try key.open(try row["source_bytes"], authenticating: Array(identity.utf8))
    }

    private func seal(_ document: PresentedDocument) throws -> Sealed {
        try keep(SealedSource(document.source, authenticating: Array(document.identity.utf8)))
    }

    private func isErased(_ purchase: TransactionID) throws -> Bool {
        try connection.first(
            """
            SELECT 1 AS one FROM purchase
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3 AND is_erased = 1
            """, values(.text(purchase.rawValue))) != nil
    }
}
