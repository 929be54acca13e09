import Foundation
import SQLStorage
import StoreModel

/// The position of a webhook that gets the events of its app in batches. Each step is one transaction. So a crash between
/// two steps can repeat a batch, but loses none.
///
/// A batch that was attempted is repeated with the same events and the same id, until it is delivered. Only an erasure
/// removes events from it.
struct BatchQueue: Sendable {
    /// A batch that was claimed for an attempt.
    struct Claimed: Sendable {
        /// The last event that was delivered before.
        let cursor: Int64
        /// The last event of the batch, even if it was erased.
        let last: Int64
        /// The number of this attempt, from 1.
        let attempt: Int
        /// A JSON array of events.
        let body: [UInt8]

        /// The id of the message, which is the same in each attempt.
        var id: String { "\(cursor + 1)-\(last)" }
    }

    /// The number of bytes above which no further event is added to a batch.
    private static let maximumBytes = 1 << 20

    let webhook: WebhookName
    let environments: [StoreEnvironment]
    /// The largest number of events in a batch.
    let size: Int
    let database: any SQLDatabase

    private var key: [SQLValue] { [.text(webhook.app.rawValue), .text(webhook.name)] }

    private var ledgerIDs: [LedgerID] { environments.map { LedgerID(app: webhook.app, environment: $0) } }

    /// Creates the position of a new webhook, before the oldest event.
    func open() async throws {
        try await database.write { connection in
            try connection.perform(
                """
                INSERT INTO webhook_batch (app, webhook, sequence, attempts, due_at) VALUES (?1, ?2, 0, 0, 0)
                ON CONFLICT (app, webhook) DO NOTHING
                """, key)
        }
    }

    private static let position = """
        SELECT sequence, last, attempts, due_at FROM webhook_batch WHERE app = ?1 AND webhook = ?2
        """

    /// Claims the next batch; `nil` if there are no further events, or if the batch is not due.
    ///
    /// - Parameters:
    ///   - now: The real time.
    ///   - storeNow: The time of the store's clock, for notices about deleted events.
    func claim(at now: Date, storeNow: Date) async throws -> Claimed? {
        let isDue = try database.read { connection in
            guard let row = try connection.first(Self.position, key), try row["due_at"] <= now.milliseconds else {
                return false
            }
            return try !EventLog.entries(after: try row["sequence"], of: ledgerIDs, limit: 1, connection).isEmpty
        }
        guard isDue else { return nil }
        return try await database.write { connection -> Claimed? in
            try connection.lockRows("SELECT 1 FROM webhook_batch WHERE app = ?1 AND webhook = ?2", key)
            guard let row = try connection.first(Self.position, key), try row["due_at"] <= now.milliseconds else {
                return nil
            }
            let (cursor, before): (Int64, Int) = (try row["sequence"], try row["attempts"])
            let attempted: Int64? = try row["last"]
            // The size may have been reduced since the first attempt.
            let limit = attempted == nil ? size : Webhook.maximumBatchSize
            let entries = try EventLog.entries(after: cursor, of: ledgerIDs, limit: limit, connection)
            let repeated: ArraySlice<EventLog.Entry> =
                attempted.map { last in entries.prefix { $0.sequence <= last } } ?? []
            // If all events of the attempted batch were erased, the next ones are a new batch.
            let chosen = repeated.isEmpty ? entries.prefix(size) : repeated
            guard let batch = Self.batch(of: chosen, at: storeNow) else { return nil }
            let last = batch.last == repeated.last?.sequence ? attempted ?? batch.last : batch.last
            let attempt = repeated.isEmpty ? 1 : min(max(before, 0), .max - 1) + 1
            try connection.perform(
                "UPDATE webhook_batch SET last = ?3, attempts = ?4, due_at = ?5 WHERE app = ?1 AND webhook = ?2",
                key + [
                    .integer(last), .integer(Int64(attempt)),
                    .integer(now.addingTimeInterval(DeliveryQueue.lease).milliseconds),
                ])
            return Claimed(cursor: cursor, last: last, attempt: attempt, body: batch.body)
        }
    }

    /// Returns the first entries that fit into a batch, at least one, and the number of the last; `nil` without entries.
    private static func batch(
        of entries: ArraySlice<EventLog.Entry>, at storeNow: Date
    ) -> (body: [UInt8], last: Int64)? {
        guard let first = entries.first else { return nil }
        var (body, last) = ([UInt8(ascii: "[")], first.sequence)
        for (index, entry) in entries.enumerated() {
            let event = entry.wire(at: storeNow)
            // Entries with one number are not separated, because the position is between numbers.
            guard index == 0 || entry.sequence == last || body.count + event.count < maximumBytes else { break }
            if index > 0 { body += Array(",\n".utf8) }
            body += event
            last = entry.sequence
        }
        return (body + [UInt8(ascii: "]")], last)
    }

    /// Stores the result of an attempt, unless another server has claimed the batch meanwhile.
    func finish(_ batch: Claimed, _ outcome: DeliveryQueue.Outcome, at now: Date) async throws {
        let change: String
        let values: [SQLValue]
        switch outcome {
        case .delivered(let status):
            change = "sequence = ?4, last = NULL, attempts = 0, due_at = ?6, last_status = ?7, last_error = NULL"
            values = [.integer(now.milliseconds), .integer(Int64(status))]
        case .failed(let status, let error, let retryAt):
            change = "due_at = ?6, last_status = ?7, last_error = ?8"
            values = [.integer((retryAt ?? now).milliseconds), SQLValue(status), SQLValue(error)]
        }
        try await database.write { connection in
            try connection.perform(
                """
                UPDATE webhook_batch SET \(change)
                WHERE app = ?1 AND webhook = ?2 AND sequence = ?3 AND last = ?4 AND attempts = ?5
                """,
                key + [.integer(batch.cursor), .integer(batch.last), .integer(Int64(batch.attempt))] + values)
        }
    }

    // MARK: - Metrics

    /// Returns the creation time of the oldest event that was not delivered, on the store's clock; `nil` if there is
    /// none.
    func oldestCreation() throws -> Date? {
        try database.read { connection in
            guard let row = try connection.first(Self.position, key) else { return nil }
            let cursor: Int64 = try row["sequence"]
            return try ledgerIDs.compactMap { ledgerID in
                let oldest = try connection.first(
                    """
                    SELECT created_at FROM event WHERE app = ?1 AND environment = ?2 AND sequence > ?3
                    ORDER BY sequence LIMIT 1
                    """, ledgerID.values + [.integer(max(0, cursor))])
                return try oldest.map { Date(milliseconds: try $0["created_at"]) }
            }.min()
        }
    }
}

extension Schema {
    /// The positions of webhooks that get batches. `sequence` is the last event that was delivered, and `last` the last
    /// event of the batch that is being attempted. `due_at` is real time.
    ///
    /// On PostgreSQL, servers of an earlier release can use the database without knowing the table. Their retention of
    /// events does not wait for batches.
    static let batches = SQLMigration(
        "0025 batches of events",
        [
            .sqlite: """
            CREATE TABLE webhook_batch (
                app TEXT NOT NULL REFERENCES app (bundle_id),
                webhook TEXT NOT NULL,
                sequence INTEGER NOT NULL,
                last INTEGER,
                attempts INTEGER NOT NULL,
                due_at INTEGER NOT NULL,
                last_status INTEGER,
                last_error TEXT,
                PRIMARY KEY (app, webhook)
            ) STRICT;
            """,
            .postgreSQL: """
            CREATE TABLE webhook_batch (
                app TEXT COLLATE "C" NOT NULL REFERENCES app (bundle_id),
                webhook TEXT COLLATE "C" NOT NULL,
                sequence BIGINT NOT NULL,
                last BIGINT,
                attempts BIGINT NOT NULL,
                due_at BIGINT NOT NULL,
                last_status BIGINT,
                last_error TEXT COLLATE "C",
                PRIMARY KEY (app, webhook)
            );
            """,
        ],
        minimumProgram: programs.name)
}
