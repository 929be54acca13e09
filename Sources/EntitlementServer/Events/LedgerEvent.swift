import Foundation
import Primitives
import SQLStorage
import SignedData
import StoreModel

/// A record of a change to a customer: a new answer about its access, a merge, an erasure, or credit from an operator.
struct LedgerEvent: Sendable {
    /// The number of the event. It grows across all ledgers of a database.
    let sequence: Int64
    let ledgerID: LedgerID
    let customer: CustomerID
    let type: String
    /// The data as one line of JSON.
    let body: [UInt8]
    let createdAt: Date
    /// Whether the event matches its digest. Events without a digest, from older versions, count as intact.
    let isIntact: Bool

    /// Returns the digest of an event. The number is not part of it, because it is assigned later.
    static func digest(
        of type: String, _ body: [UInt8], about customer: CustomerID, in ledgerID: LedgerID, at milliseconds: Int64
    ) -> [UInt8] {
        let parts = [
            ledgerID.app.rawValue, ledgerID.environment.rawValue, customer.rawValue, type, String(milliseconds),
        ]
        var bytes: [UInt8] = []
        bytes.reserveCapacity(parts.reduce(body.count) { $0 + $1.utf8.count + 1 })
        for part in parts {
            bytes.append(contentsOf: part.utf8)
            bytes.append(0)
        }
        bytes.append(contentsOf: body)
        return MessageDigest.sha256(bytes)
    }

    var id: String { String(sequence) }

    /// The event for webhooks and streams, in one line: `{"id","type","app","environment","createdAt","data"}`.
    var wire: [UInt8] {
        Self.envelope(id: id, type: type, ledgerID: ledgerID, at: createdAt).dropLast() + Self.data(body)
    }

    private static func data(_ body: [UInt8]) -> [UInt8] { Array(",\"data\":".utf8) + body + [UInt8(ascii: "}")] }

    private static func envelope(id: String, type: String, ledgerID: LedgerID, at instant: Date) -> [UInt8] {
        let envelope: JSONValue = [
            "id": .string(id), "type": .string(type), "app": .string(ledgerID.app.rawValue),
            "environment": .string(ledgerID.environment.rawValue), "createdAt": .string(RFC3339.string(from: instant)),
        ]
        return envelope.encoded()
    }

    /// The type of a notice that events were deleted or damaged.
    static let expiredType = "events.expired"

    /// Returns the event `events.expired`: events after the number `sequence` were deleted, or the event with this
    /// number is damaged.
    static func expired(after sequence: Int64, in ledgerID: LedgerID, at instant: Date) -> [UInt8] {
        envelope(id: String(sequence), type: expiredType, ledgerID: ledgerID, at: instant)
    }
}

extension Ledger {
    /// Returns the events of a ledger after `sequence`, oldest first.
    func events(of ledgerID: LedgerID, after sequence: Int64, limit: Int) throws -> [LedgerEvent] {
        try database.read { connection in
            try connection.query(
                """
                SELECT sequence, app, environment, customer, type, body, created_at, digest FROM event
                WHERE app = ?1 AND environment = ?2 AND sequence > ?3 ORDER BY sequence LIMIT ?4
                """,
                [
                    .text(ledgerID.app.rawValue), .text(ledgerID.environment.rawValue), .integer(sequence),
                    .integer(Int64(limit)),
                ]
            ).map { try LedgerEvent($0, in: ledgerID) }
        }
    }

    /// Returns the numbers of the last event of a ledger and of its last deleted event; 0 if there is none.
    func span(of ledgerID: LedgerID) throws -> (last: Int64, expired: Int64) {
        let values: [SQLValue] = [.text(ledgerID.app.rawValue), .text(ledgerID.environment.rawValue)]
        return try database.read { connection in
            let expired = try connection.first(
                "SELECT sequence FROM event_horizon WHERE app = ?1 AND environment = ?2", values)
            let last = try connection.first(
                """
                SELECT sequence FROM event WHERE app = ?1 AND environment = ?2 AND sequence > 0
                ORDER BY sequence DESC LIMIT 1
                """, values)
            return (try last.map { try $0["sequence"] } ?? 0, try expired.map { try $0["sequence"] } ?? 0)
        }
    }

    /// Deletes up to `limit` events from before `instant`, except those that must still be delivered to one of
    /// `webhooks`.
    ///
    /// - Returns: The number of deleted events.
    func expireEvents(before instant: Date, keptFor webhooks: [WebhookName], limit: Int) async throws -> Int {
        let first =
            "SELECT sequence, app, environment, created_at FROM event WHERE sequence > 0 ORDER BY sequence LIMIT ?1"
        let oldest = try database.read { try $0.first(first, [.integer(1)]) }
        guard let oldest, try oldest["created_at"] < instant.milliseconds else { return 0 }
        return try await database.write { connection in
            var deleted = 0
            for row in try connection.query(first, [.integer(Int64(limit))]) {
                guard try row["created_at"] < instant.milliseconds else { break }
                let sequence: Int64 = try row["sequence"]
                let ledgerID: [SQLValue] = [.text(try row["app"]), .text(try row["environment"])]
                let isAwaited = try webhooks.contains { webhook in
                    try webhook.awaits(sequence, of: ledgerID, connection)
                }
                guard !isAwaited else { continue }
                try connection.perform("DELETE FROM webhook_delivery WHERE event = ?1", [.integer(sequence)])
                try connection.perform("DELETE FROM event WHERE sequence = ?1", [.integer(sequence)])
                try connection.perform(
                    """
                    INSERT INTO event_horizon (app, environment, sequence) VALUES (?1, ?2, ?3)
                    ON CONFLICT (environment, app) DO UPDATE SET sequence = excluded.sequence
                    WHERE excluded.sequence > event_horizon.sequence
                    """, ledgerID + [.integer(sequence)])
                deleted += 1
            }
            return deleted
        }
    }
}

extension LedgerEvent {
    /// Reads a row of `event`.
    init(_ row: SQLRow, in ledgerID: LedgerID) throws {
        let (customer, type, body): (String, String, [UInt8]) = (try row["customer"], try row["type"], try row["body"])
        let (createdAt, digest): (Int64, [UInt8]?) = (try row["created_at"], try row["digest"])
        let name = CustomerID(unchecked: customer)
        self.init(
            sequence: try row["sequence"], ledgerID: ledgerID, customer: name, type: type, body: body,
            createdAt: Date(milliseconds: createdAt),
            isIntact: digest.map { $0 == Self.digest(of: type, body, about: name, in: ledgerID, at: createdAt) } ?? true
        )
    }

    /// The digests that show whether an event was changed. Older programs leave the column empty.
    static let digests = SQLMigration(
        "0018 digests of events",
        [
            .sqlite: "ALTER TABLE event ADD COLUMN digest BLOB",
            .postgreSQL: "ALTER TABLE event ADD COLUMN digest BYTEA",
        ],
        minimumProgram: Schema.programs.name)
}
