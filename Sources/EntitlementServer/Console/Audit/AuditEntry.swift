import Foundation
import Primitives
import SQLStorage
import StoreModel

/// An action of an operator, as the audit log names it.
enum AuditAction: String, Sendable, CaseIterable {
    case signIn, grant, withdraw, transfer, merge, redeem, giveCredit, export, erase, refresh, replay, refund
}

/// The part of an entry that is known before the action: who does what, and why. An action that changes the ledger
/// writes its entry in the database transaction of the change, so that there is no change without an entry.
struct AuditNote: Sendable {
    let action: AuditAction
    /// The id of the key that opened the session or sent the request, or another name of the operator.
    let keyID: String
    let role: ConsoleSession.Role
    /// Identifies the review, or `nil` for an action without one. A ledger has at most one entry of each review.
    var request: String?
    /// The changed values, as an object. It contains no names of customers and no text that a person wrote about one,
    /// because it remains after an erasure.
    var detail: JSONValue = [:]
    /// The item that was redeemed. It is deleted when the customer is erased.
    var item: String?
    /// The reason that the operator gave. It is replaced when one of the customers is erased.
    var reason: String?
    /// The real time.
    let now: Date
}

/// An entry of the audit log.
struct AuditEntry: Sendable {
    let sequence: Int64
    /// The environment; `nil` for an action that concerns the whole app.
    let environment: StoreEnvironment?
    /// The name of the action, which a later version may have added.
    let action: String
    let customer: CustomerID?
    /// The receiver of a transfer, or the name that was merged.
    let other: CustomerID?
    let keyID: String
    let role: String
    let detail: JSONValue
    let item: String?
    let reason: String?
    let at: Date

    fileprivate init(_ row: SQLRow) throws {
        let (environment, customer, other): (String?, String?, String?) = (
            try row["environment"], try row["customer"], try row["other_customer"]
        )
        sequence = try row["sequence"]
        self.environment = environment.map { StoreEnvironment(rawValue: $0) }
        action = try row["action"]
        self.customer = customer.map { CustomerID(unchecked: $0) }
        self.other = other.map { CustomerID(unchecked: $0) }
        keyID = try row["key_id"]
        role = try row["role"]
        let detail: String = try row["detail"]
        self.detail = try JSONValue(parsing: detail)
        item = try row["item"]
        reason = try row["reason"]
        at = Date(milliseconds: try row["created_at"])
    }
}

/// A page of the audit log, newest first.
struct AuditList: Sendable {
    let entries: [AuditEntry]
    /// The position of the next page, if there is one.
    let next: Int64?
    /// The keys of the app, which give the entries their labels.
    let keys: [APIKeys.Entry]

    /// Returns a page with the first `count` entries.
    func prefix(_ count: Int) -> AuditList {
        guard entries.count > count else { return self }
        let shown = Array(entries.prefix(count))
        return AuditList(entries: shown, next: shown.last?.sequence, keys: keys)
    }
}

extension AuditNote {
    /// Writes the entry. If the same review already has an entry, keeps that one if `isRepeatable`, and throws
    /// otherwise.
    func write(
        _ connection: any SQLConnection, app: BundleID, environment: StoreEnvironment? = nil,
        customer: CustomerID? = nil, other: CustomerID? = nil, isRepeatable: Bool = false
    ) throws {
        try connection.perform(
            """
            INSERT INTO audit_entry (app, environment, action, customer, other_customer, key_id, role, request, detail,
                item, reason, created_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
            \(isRepeatable ? "ON CONFLICT (app, environment, request) DO NOTHING" : "")
            """,
            [
                .text(app.rawValue), SQLValue(environment?.rawValue), .text(action.rawValue),
                SQLValue(customer?.rawValue), SQLValue(other?.rawValue), .text(keyID), .text(role.rawValue),
                SQLValue(request), .text(detail.text()), SQLValue(item), SQLValue(reason),
                .integer(now.milliseconds),
            ])
    }
}

extension LedgerTransaction {
    private static let columns = """
        sequence, environment, action, customer, other_customer, key_id, role, detail, item, reason, created_at
        """

    /// Writes the audit entry of this transaction's change; `note` is `nil` for a change that gets none.
    ///
    /// Throws `Refusal.idempotencyMismatch` if the review already has an entry.
    func write(_ note: AuditNote?, about customer: CustomerID, and other: CustomerID? = nil) throws {
        guard let note else { return }
        if let request = note.request, try auditEntry(of: request) != nil { throw Refusal.idempotencyMismatch }
        try note.write(
            connection, app: ledgerID.app, environment: ledgerID.environment, customer: customer, other: other)
    }

    /// Returns the newest entries about a customer before a position, at most `limit`.
    func auditEntries(about customer: CustomerID, before position: Int64, limit: Int) throws -> [AuditEntry] {
        let entries = try ["customer", "other_customer"].flatMap { column in
            try connection.query(
                """
                SELECT \(Self.columns) FROM audit_entry
                WHERE app = ?1 AND environment = ?2 AND \(column) = ?3 AND sequence < ?4
                ORDER BY sequence DESC LIMIT ?5
                """, values(.text(customer.rawValue), .integer(position), .integer(Int64(limit)))
            ).map(AuditEntry.init)
        }
        let bySequence = Dictionary(entries.map { ($0.sequence, $0) }) { first, _ in first }
        return Array(bySequence.values.sorted { $0.sequence > $1.sequence }.prefix(limit))
    }

    /// Returns the entry of a review; `nil` if its action was not done.
    func auditEntry(of request: String) throws -> AuditEntry? {
        try connection.first(
            """
            SELECT \(Self.columns) FROM audit_entry WHERE app = ?1 AND environment = ?2 AND request = ?3
            """, values(.text(request))
        ).map(AuditEntry.init)
    }

    /// Gives the entries of a customer to the customer that it was merged into.
    func moveAuditEntries(from old: CustomerID, to new: CustomerID) throws {
        for column in ["customer", "other_customer"] {
            try connection.perform(
                """
                UPDATE audit_entry SET \(column) = ?4 WHERE app = ?1 AND environment = ?2 AND \(column) = ?3
                """, values(.text(old.rawValue), .text(new.rawValue)))
        }
    }

    /// Replaces the names and the reasons in the entries about an erased customer, and deletes the items.
    func eraseAuditEntries(about names: [CustomerID], leaving pseudonym: CustomerID) throws {
        for name in names {
            for column in ["customer", "other_customer"] {
                try connection.perform(
                    """
                    UPDATE audit_entry SET \(column) = ?4, item = NULL,
                        reason = CASE WHEN reason IS NULL THEN NULL ELSE 'erased' END
                    WHERE app = ?1 AND environment = ?2 AND \(column) = ?3
                    """, values(.text(name.rawValue), .text(pseudonym.rawValue)))
            }
        }
    }

    fileprivate static func auditEntries(
        of app: BundleID, before position: Int64, limit: Int, _ connection: any SQLConnection
    ) throws -> [AuditEntry] {
        try connection.query(
            """
            SELECT \(columns) FROM audit_entry WHERE app = ?1 AND sequence < ?2 ORDER BY sequence DESC LIMIT ?3
            """, [.text(app.rawValue), .integer(position), .integer(Int64(limit))]
        ).map(AuditEntry.init)
    }
}

extension Ledger {
    /// The number of entries on a page of the audit log.
    static let auditEntriesPerPage = 50

    /// Returns a page of the log of an app, in all environments.
    func auditEntries(of app: BundleID, before position: Int64?) throws -> AuditList {
        let limit = Self.auditEntriesPerPage
        let entries = try database.read { connection in
            try LedgerTransaction.auditEntries(of: app, before: position ?? .max, limit: limit + 1, connection)
        }
        return AuditList(entries: entries, next: nil, keys: try APIKeys(database: database).list(of: app))
            .prefix(limit)
    }

    /// Returns the customer, which an alias may name, and a page of the log about the customer; `nil` for an unknown
    /// customer.
    func auditEntries(about key: CustomerKey, before position: Int64?) throws -> (CustomerID, AuditList)? {
        let limit = Self.auditEntriesPerPage
        let found = try database.read { connection -> (CustomerID, [AuditEntry])? in
            let transaction = transaction(connection, on: key.ledgerID)
            let customer = try transaction.customer(named: key.customer) ?? key.customer
            guard try transaction.isKnown(customer) else { return nil }
            return (
                customer,
                try transaction.auditEntries(about: customer, before: position ?? .max, limit: limit + 1)
            )
        }
        guard let (customer, entries) = found else { return nil }
        let keys = try APIKeys(database: database).list(of: key.ledgerID.app)
        return (customer, AuditList(entries: entries, next: nil, keys: keys).prefix(limit))
    }

    /// Returns the entry of a review; `nil` if its action was not done.
    func auditEntry(of request: String, in ledgerID: LedgerID) throws -> AuditEntry? {
        try database.read { try transaction($0, on: ledgerID).auditEntry(of: request) }
    }

    /// Writes an entry about an action that changes nothing else in the ledger. A second call for the same review
    /// writes none.
    ///
    /// Throws `Refusal.idempotencyMismatch` if the review belongs to another action or customer.
    func record(_ note: AuditNote, of app: BundleID, about key: CustomerKey? = nil) async throws {
        try await database.write { connection in
            if let key, let request = note.request,
                let entry = try transaction(connection, on: key.ledgerID).auditEntry(of: request)
            {
                guard entry.action == note.action.rawValue, entry.customer == key.customer else {
                    throw Refusal.idempotencyMismatch
                }
                return
            }
            try note.write(
                connection, app: app, environment: key?.ledgerID.environment, customer: key?.customer,
                isRepeatable: true)
        }
    }
}

extension Schema {
    /// The log of actions in the console.
    ///
    /// Names of customers are only in two columns, and texts of people only in `item` and `reason`, so that an erasure
    /// finds them.
    static let auditLog = SQLMigration(
        "0020 audit log",
        [
            .sqlite: """
            CREATE TABLE audit_entry (
                sequence INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
                app TEXT NOT NULL REFERENCES app (bundle_id),
                environment TEXT,
                action TEXT NOT NULL,
                customer TEXT,
                other_customer TEXT,
                key_id TEXT NOT NULL,
                role TEXT NOT NULL,
                request TEXT,
                detail TEXT NOT NULL,
                item TEXT,
                reason TEXT,
                created_at INTEGER NOT NULL
            ) STRICT;
            CREATE INDEX audit_entry_of_app ON audit_entry (app, sequence);
            CREATE INDEX audit_entry_of_customer ON audit_entry (app, environment, customer, sequence);
            CREATE INDEX audit_entry_of_other_customer ON audit_entry (app, environment, other_customer, sequence);
            CREATE UNIQUE INDEX audit_entry_of_request ON audit_entry (app, environment, request);
            """,
            .postgreSQL: """
            CREATE TABLE audit_entry (
                sequence BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
                app TEXT COLLATE "C" NOT NULL REFERENCES app (bundle_id),
                environment TEXT COLLATE "C",
                action TEXT COLLATE "C" NOT NULL,
                customer TEXT COLLATE "C",
                other_customer TEXT COLLATE "C",
                key_id TEXT COLLATE "C" NOT NULL,
                role TEXT COLLATE "C" NOT NULL,
                request TEXT COLLATE "C",
                detail TEXT COLLATE "C" NOT NULL,
                item TEXT COLLATE "C",
                reason TEXT COLLATE "C",
                created_at BIGINT NOT NULL
            );
            CREATE INDEX audit_entry_of_app ON audit_entry (app, sequence);
            CREATE INDEX audit_entry_of_customer ON audit_entry (app, environment, customer, sequence);
            CREATE INDEX audit_entry_of_other_customer ON audit_entry (app, environment, other_customer, sequence);
            CREATE UNIQUE INDEX audit_entry_of_request ON audit_entry (app, environment, request);
            """,
        ],
        minimumProgram: programs.name)
}
