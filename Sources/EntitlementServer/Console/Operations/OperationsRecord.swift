import Foundation
import Primitives
import SQLStorage
import StoreModel

/// Everything that the console shows about the operation of a server, for one app and environment.
struct OperationsRecord: Sendable {
    /// The number at which a count ends, so that the page does not read a whole table.
    static let countLimit = 10_000
    /// The largest number of rows in a list of deliveries or requests.
    static let listLimit = 50

    /// A delivery to a webhook.
    struct Delivery: Sendable {
        let id: Int64
        let webhook: String
        let customer: String
        let type: String?
        let attempts: Int
        let createdAt: Date
        let nextAttemptAt: Date?
        let lastStatus: Int?
        let lastError: String?

        fileprivate init(_ row: SQLRow) throws {
            let state: String = try row["state"]
            let dueAt: Int64 = try row["due_at"]
            id = try row["id"]
            webhook = try row["webhook"]
            customer = try row["customer"]
            type = try row["type"]
            attempts = try row["attempts"]
            createdAt = Date(milliseconds: try row["created_at"])
            nextAttemptAt = state == "due" ? Date(milliseconds: dueAt) : nil
            lastStatus = try row["last_status"]
            lastError = try row["last_error"]
        }
    }

    /// The number of events that are not yet queued for a webhook, or were not delivered to a webhook that gets batches.
    struct WebhookLag: Sendable {
        let name: String
        let isBatched: Bool
        let events: Int
        /// The last failure of the current batch.
        let failure: String?
    }

    /// The time of the last notification of the App Store; `nil` if none ever came.
    let lastNotificationAt: Date?
    /// The number of notifications in the last 24 hours.
    let notifications: Int
    let pendingCount: Int
    let deadCount: Int
    let pending: [Delivery]
    let dead: [Delivery]
    let webhooks: [WebhookLag]
    /// The time of the oldest event without a final number; `nil` if all are numbered.
    let oldestUnnumberedAt: Date?
    /// Whether a background job numbers the events.
    let isNumberedLater: Bool
    let keys: [APIKeys.Entry]
    /// The size of the database in bytes, with all apps; `nil` if it is not known.
    let databaseBytes: Int64?
    /// The free bytes on the file system of the database; `nil` if the server cannot see them.
    let freeBytes: Int64?
}

extension Ledger {
    /// Returns the time of the last notification of the App Store; `nil` if none ever came.
    func lastNotificationAt(in ledgerID: LedgerID) throws -> Date? {
        try database.read { try OperationsQuery(connection: $0, ledgerID: ledgerID).lastNotificationAt() }
    }

    /// Returns the size of the database in bytes, with all apps; `nil` if it is not known.
    func databaseBytes() throws -> Int64? {
        isShared ? try database.read { try Self.sharedBytes($0) } : fileBytes
    }

    /// The free bytes on the file system of the database; `nil` for PostgreSQL, or if they cannot be read.
    var freeBytes: Int64? { (database as? SQLiteDatabase)?.freeBytes }

    private static func sharedBytes(_ connection: any SQLConnection) throws -> Int64? {
        try connection.first("SELECT pg_database_size(current_database()) AS bytes")?["bytes"]
    }

    /// The size of the files of a SQLite database: the database and its log.
    private var fileBytes: Int64? {
        guard let path = (database as? SQLiteDatabase)?.path else { return nil }
        return ["", "-wal"].reduce(0) { sum, suffix in
            let size = try? FileManager.default.attributesOfItem(atPath: path + suffix)[.size] as? Int64
            return sum + (size ?? 0)
        }
    }

    /// Returns what the console shows about the operation of a server.
    ///
    /// - Parameter webhooks: The webhooks of the app.
    func operations(of ledgerID: LedgerID, webhooks: [WebhookName]) throws -> OperationsRecord {
        let keys = try APIKeys(database: database).list(of: ledgerID.app)
        let dayAgo = clock.now().addingTimeInterval(-86400).milliseconds
        return try database.read { connection in
            let query = OperationsQuery(connection: connection, ledgerID: ledgerID)
            let list = DeliveryList(connection: connection, ledgerID: ledgerID)
            return OperationsRecord(
                lastNotificationAt: try query.lastNotificationAt(),
                notifications: try query.notifications(since: dayAgo),
                pendingCount: try ["due", "waiting"].reduce(0) { try $0 + query.deliveries($1) },
                deadCount: try query.deliveries("dead"),
                pending: try list.page([.pending], before: .max, limit: OperationsRecord.listLimit)
                    .map(OperationsRecord.Delivery.init),
                dead: try list.page([.dead], before: .max, limit: OperationsRecord.listLimit)
                    .map(OperationsRecord.Delivery.init),
                webhooks: try webhooks.map { try query.lag(of: $0) },
                oldestUnnumberedAt: isShared ? try query.oldestUnnumberedAt() : nil, isNumberedLater: isShared,
                keys: keys, databaseBytes: isShared ? try Self.sharedBytes(connection) : fileBytes,
                freeBytes: freeBytes)
        }
    }

    /// The largest number of deliveries that one action repeats.
    private static let repeatLimit = 500

    /// Returns the delivery that a replay would queue again; none if it is unknown. If `id` is `nil`, returns the
    /// oldest 500 dead deliveries, without those whose id is above `last`.
    ///
    /// Throws `ConsoleRefusal` for a pending delivery.
    func repeatable(_ id: Int64?, upTo last: Int64, in ledgerID: LedgerID) throws -> [OperationsRecord.Delivery] {
        try database.read { connection in
            try Self.repeatable(id, upTo: last, DeliveryList(connection: connection, ledgerID: ledgerID))
                .map(OperationsRecord.Delivery.init)
        }
    }

    private static func repeatable(_ id: Int64?, upTo last: Int64, _ list: DeliveryList) throws -> [SQLRow] {
        guard let id else { return try list.dead(limit: repeatLimit).filter { try $0["id"] <= last } }
        let rows = try list.delivery(id).map { [$0] } ?? []
        guard try rows.allSatisfy({ try DeliveryList.state(of: $0) != .pending }) else {
            throw ConsoleRefusal.deliveryPending
        }
        return rows
    }

    /// Queues the deliveries of `repeatable(_:upTo:in:)` again, with an entry in the audit log.
    ///
    /// Returns the number of deliveries. Throws `ConsoleRefusal` if there is none, or if the delivery is pending.
    /// Throws `Refusal.idempotencyMismatch` if the review already has an entry.
    func replay(
        _ id: Int64?, upTo last: Int64, in ledgerID: LedgerID, at now: Date, noting note: AuditNote
    ) async throws -> Int {
        try await write { connection, _ in
            let list = DeliveryList(connection: connection, ledgerID: ledgerID)
            let rows = try Self.repeatable(id, upTo: last, list)
            guard let first = rows.first else { throw ConsoleRefusal.unknownDelivery }
            let transaction = transaction(connection, on: ledgerID)
            var note = note
            if let request = note.request, try transaction.auditEntry(of: request) != nil {
                throw Refusal.idempotencyMismatch
            }
            for row in rows { try list.replay(row, at: now) }
            note.detail["deliveries"] = .number(rows.count)
            note.detail["webhook"] = id == nil ? nil : .string(try first["webhook"])
            var customer: CustomerID?
            if id != nil {
                let named = CustomerID(unchecked: try first["customer"])
                let current = try transaction.customer(named: named) ?? named
                customer = try transaction.isKnown(current) ? current : nil
            }
            try note.write(connection, app: ledgerID.app, environment: ledgerID.environment, customer: customer)
            return rows.count
        }
    }
}

/// The queries of the operations page. None reads a whole table.
private struct OperationsQuery {
    let connection: any SQLConnection
    let ledgerID: LedgerID

    private func values(_ more: SQLValue...) -> [SQLValue] {
        [.text(ledgerID.app.rawValue), .text(ledgerID.environment.rawValue)] + more
    }

    private var limit: SQLValue { .integer(Int64(OperationsRecord.countLimit)) }

    func lastNotificationAt() throws -> Date? {
        try connection.first(
            """
            SELECT received_at FROM document
            WHERE app = ?1 AND environment = ?2 AND kind = 'notification' AND received_at > ?3
            ORDER BY received_at DESC LIMIT 1
            """, values(.integer(.min))
        ).map { Date(milliseconds: try $0["received_at"]) }
    }

    func notifications(since instant: Int64) throws -> Int {
        try connection.query(
            """
            SELECT 1 AS one FROM document
            WHERE app = ?1 AND environment = ?2 AND kind = 'notification' AND received_at > ?3 LIMIT ?4
            """, values(.integer(instant), limit)
        ).count
    }

    func deliveries(_ state: String) throws -> Int {
        try connection.query(
            """
            SELECT 1 AS one FROM webhook_delivery
            WHERE app = ?1 AND environment = ?2 AND state = ?3 AND id > 0 LIMIT ?4
            """, values(.text(state), limit)
        ).count
    }

    func lag(of webhook: WebhookName) throws -> OperationsRecord.WebhookLag {
        let name = SQLValue.text(webhook.name)
        let position =
            try webhook.isBatched
            ? connection.first(
                "SELECT sequence, last, last_status, last_error FROM webhook_batch WHERE app = ?1 AND webhook = ?2",
                [.text(ledgerID.app.rawValue), name])
            : connection.first(
                "SELECT sequence FROM webhook_cursor WHERE app = ?1 AND environment = ?2 AND webhook = ?3",
                values(name))
        var (events, failure) = (0, nil as String?)
        if let position {
            let sequence: Int64 = try position["sequence"]
            events = try connection.query(
                "SELECT 1 AS one FROM event WHERE app = ?1 AND environment = ?2 AND sequence > ?3 LIMIT ?4",
                values(.integer(max(0, sequence)), limit)
            ).count
            if webhook.isBatched, let _: Int64 = try position["last"] {
                let (status, error): (Int?, String?) = (try position["last_status"], try position["last_error"])
                failure = error ?? status.map { "status \($0)" }
            }
        }
        return .init(name: webhook.name, isBatched: webhook.isBatched, events: events, failure: failure)
    }

    /// Returns the time of the oldest event without a final number. Such events have negative numbers, and the oldest
    /// event has the largest of these.
    func oldestUnnumberedAt() throws -> Date? {
        try connection.first(
            """
            SELECT created_at FROM event WHERE app = ?1 AND environment = ?2 AND sequence < 0
            ORDER BY sequence DESC LIMIT 1
            """, values()
        ).map { Date(milliseconds: try $0["created_at"]) }
    }
}

extension Schema {
    /// The last use of each key, and an index of notifications by time.
    static let operations = SQLMigration(
        "0021 operations",
        [
            .sqlite: """
            ALTER TABLE api_key ADD COLUMN used_at INTEGER;
            CREATE INDEX document_notification ON document (app, environment, received_at)
                WHERE kind = 'notification';
            """,
            .postgreSQL: """
            ALTER TABLE api_key ADD COLUMN used_at BIGINT;
            CREATE INDEX document_notification ON document (app, environment, received_at)
                WHERE kind = 'notification';
            """,
        ],
        minimumProgram: programs.name)
}
