import Foundation
import SQLStorage
import StoreModel

/// The stored deliveries to one webhook. Each step is one transaction. So a crash between two steps can repeat a
/// delivery, but loses none.
///
/// Each customer's deliveries are made in order: one is `due`, and later ones are `waiting`.
struct DeliveryQueue: Sendable {
    /// A delivery that was claimed for an attempt.
    struct Claimed: Sendable {
        let id: Int64
        /// The number of this attempt, from 1.
        let attempt: Int
        let event: LedgerEvent
    }

    /// The result of an attempt.
    enum Outcome: Sendable {
        case delivered(status: Int)
        /// The attempt failed. The next one is at `retryAt`; with `nil` the delivery is dead.
        case failed(status: Int?, error: String?, retryAt: Date?)
    }

    /// The largest number of events that one transaction reads.
    private static let batchSize = 500
    /// The time in seconds after which another server may repeat an attempt without a result, because the sender of the
    /// attempt has probably ended.
    static let lease: TimeInterval = 60

    let webhook: WebhookName
    let environments: [StoreEnvironment]
    let database: any SQLDatabase

    /// The key of the webhook in all environments.
    private var appAndName: [SQLValue] { [.text(webhook.app.rawValue), .text(webhook.name)] }

    private func webhookKey(_ environment: SQLValue) -> [SQLValue] {
        [.text(webhook.app.rawValue), environment, .text(webhook.name)]
    }

    /// Locks the deliveries of the webhook through the rows of its cursors. So no other server changes the first
    /// delivery of a customer after it was read here.
    private func lock(_ connection: any SQLConnection, _ only: StoreEnvironment? = nil) throws {
        for environment in (only.map { [$0] } ?? environments).map(\.rawValue).sorted() {
            try connection.lockRows(Self.cursorLock, webhookKey(.text(environment)))
        }
    }

    /// Selects the row that locks the deliveries of a webhook in an environment.
    static let cursorLock = "SELECT 1 FROM webhook_cursor WHERE app = ?1 AND environment = ?2 AND webhook = ?3"

    /// Creates the cursors of a new webhook, after the last event.
    func open() async throws {
        try await database.write { connection in
            for environment in environments.map({ SQLValue.text($0.rawValue) }) {
                try connection.perform(
                    """
                    INSERT INTO webhook_cursor (app, environment, webhook, sequence) VALUES (?1, ?2, ?3,
                        coalesce((SELECT sequence FROM event WHERE app = ?1 AND environment = ?2 AND sequence > 0
                            ORDER BY sequence DESC LIMIT 1), 0))
                    ON CONFLICT (app, environment, webhook) DO NOTHING
                    """, webhookKey(environment))
            }
        }
    }

    // MARK: - New Deliveries

    /// Creates deliveries of new events. Returns whether there may be more.
    func enqueueEvents(at now: Date) async throws -> Bool {
        let isNew = try database.read { connection in
            try environments.contains { try !events(of: .text($0.rawValue), limit: 1, connection).isEmpty }
        }
        guard isNew else { return false }
        return try await database.write { connection in
            try lock(connection)
            var isFull = false
            for environment in environments.map({ SQLValue.text($0.rawValue) }) {
                let rows = try events(of: environment, limit: Self.batchSize, connection)
                guard let last = rows.last else { continue }
                for row in rows {
                    try add(try row["sequence"], of: .text(try row["customer"]), environment, now, connection)
                }
                try connection.perform(
                    """
                    UPDATE webhook_cursor SET sequence = ?4 WHERE app = ?1 AND environment = ?2 AND webhook = ?3
                    """, webhookKey(environment) + [.integer(try last["sequence"])])
                isFull = isFull || rows.count == Self.batchSize
            }
            return isFull
        }
    }

    /// Returns events after the cursor.
    private func events(
        of environment: SQLValue, limit: Int, _ connection: any SQLConnection
    ) throws -> [SQLRow] {
        try connection.query(
            """
            SELECT event.sequence AS sequence, event.customer AS customer FROM webhook_cursor CROSS JOIN event
            WHERE webhook_cursor.app = ?1 AND webhook_cursor.environment = ?2 AND webhook_cursor.webhook = ?3
                AND event.app = ?1 AND event.environment = ?2 AND event.sequence > webhook_cursor.sequence
            ORDER BY event.sequence LIMIT ?4
            """, webhookKey(environment) + [.integer(Int64(limit))])
    }

    private func add(
        _ event: Int64, of customer: SQLValue, _ environment: SQLValue, _ now: Date, _ connection: any SQLConnection
    ) throws {
        let isFirst = try first(of: webhookKey(environment) + [customer], ["due", "waiting"], connection) == nil
        try connection.perform(
            """
            INSERT INTO webhook_delivery (app, environment, webhook, customer, event, state, attempts, due_at, created_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?7) ON CONFLICT (event, webhook) DO NOTHING
            """,
            webhookKey(environment) + [
                customer, .integer(event), .text(isFirst ? "due" : "waiting"), .integer(now.milliseconds),
            ])
    }

    /// Returns the id of a customer's first delivery in the first state that has one. `customerKey` is
    /// `[app, environment, webhook, customer]`.
    private func first(
        of customerKey: [SQLValue], _ states: [String], _ connection: any SQLConnection
    ) throws -> Int64? {
        for state in states {
            let row = try connection.first(
                """
                SELECT id FROM webhook_delivery WHERE app = ?1 AND environment = ?2 AND webhook = ?3
                    AND customer = ?4 AND state = ?5 ORDER BY id LIMIT 1
                """, customerKey + [.text(state)])
            if let row { return try row["id"] }
        }
        return nil
    }

    // MARK: - Attempts

    /// Claims due deliveries, at most one per customer. Their number exceeds `limit` only if deliveries of erased
    /// events were found, and is below twice `limit`.
    func claim(upTo limit: Int, at now: Date) async throws -> [Claimed] {
        let due = """
            SELECT id, environment, customer, event, attempts FROM webhook_delivery
            WHERE app = ?1 AND webhook = ?2 AND state = 'due' AND due_at <= ?3 ORDER BY due_at LIMIT ?4
            """
        let bounds = appAndName + [.integer(now.milliseconds), .integer(Int64(limit))]
        guard try database.read({ try $0.first(due, bounds) }) != nil else { return [] }
        return try await database.write { connection in
            try lock(connection)
            var claimed: [Claimed] = []
            var rows = try connection.query(due, bounds)
            while !rows.isEmpty {
                for row in rows {
                    if let delivery = try claim(row, at: now, connection) { claimed.append(delivery) }
                }
                // A deleted delivery can make the next one of its customer due.
                rows = claimed.count < limit ? try connection.query(due, bounds) : []
            }
            return claimed
        }
    }

    /// Claims one delivery. If its event was erased, deletes the delivery and returns `nil`.
    private func claim(_ row: SQLRow, at now: Date, _ connection: any SQLConnection) throws -> Claimed? {
        let id: Int64 = try row["id"]
        guard let event = try event(try row["event"], connection) else {
            try connection.perform("DELETE FROM webhook_delivery WHERE id = ?1", [.integer(id)])
            try advance(webhookKey(.text(try row["environment"])) + [.text(try row["customer"])], at: now, connection)
            return nil
        }
        let before: Int = try row["attempts"]
        let attempt = min(max(before, 0), .max - 1) + 1
        try connection.perform(
            "UPDATE webhook_delivery SET attempts = ?2, due_at = ?3 WHERE id = ?1",
            [.integer(id), .integer(Int64(attempt)), .integer(now.addingTimeInterval(Self.lease).milliseconds)])
        return Claimed(id: id, attempt: attempt, event: event)
    }

    private func event(_ sequence: Int64, _ connection: any SQLConnection) throws -> LedgerEvent? {
        let row = try connection.first(
            "SELECT sequence, environment, customer, type, body, created_at, digest FROM event WHERE sequence = ?1",
            [.integer(sequence)])
        return try row.map { row in
            let environment = StoreEnvironment(rawValue: try row["environment"])
            return try LedgerEvent(row, in: LedgerID(app: webhook.app, environment: environment))
        }
    }

    /// Stores the result of an attempt, unless another server has claimed the delivery meanwhile.
    func finish(_ claimed: Claimed, _ outcome: Outcome, at now: Date) async throws {
        let (state, status, error, due): (String, Int?, String?, Date?) =
            switch outcome {
            case .delivered(let status): ("delivered", status, nil, nil)
            case .failed(let status, let error, let retryAt): (retryAt == nil ? "dead" : "due", status, error, retryAt)
            }
        let webhookKey = webhookKey(.text(claimed.event.ledgerID.environment.rawValue))
        try await database.write { connection in
            if due == nil { try lock(connection, claimed.event.ledgerID.environment) }
            let count = try connection.execute(
                """
                UPDATE webhook_delivery SET state = ?3, due_at = ?4, finished_at = ?5, last_status = ?6, last_error = ?7
                WHERE id = ?1 AND attempts = ?2 AND state = 'due'
                """,
                [
                    .integer(claimed.id), .integer(Int64(claimed.attempt)), .text(state),
                    .integer((due ?? now).milliseconds), SQLValue(due == nil ? now.milliseconds : nil),
                    SQLValue(status), SQLValue(error),
                ])
            guard count > 0, due == nil else { return }
            try advance(webhookKey + [.text(claimed.event.customer.rawValue)], at: now, connection)
        }
    }

    /// Makes the first waiting delivery of a customer due, if none is due.
    private func advance(_ customerKey: [SQLValue], at now: Date, _ connection: any SQLConnection) throws {
        guard try first(of: customerKey, ["due"], connection) == nil,
            let next = try first(of: customerKey, ["waiting"], connection)
        else { return }
        try connection.perform(
            "UPDATE webhook_delivery SET state = 'due', due_at = ?2 WHERE id = ?1",
            [.integer(next), .integer(now.milliseconds)])
    }

    // MARK: - Metrics

    /// Returns the creation time of the oldest due delivery; `nil` if there is none.
    func oldestCreation() throws -> Date? {
        let row = try database.read { connection in
            try connection.first(
                """
                SELECT created_at FROM webhook_delivery WHERE app = ?1 AND webhook = ?2 AND state = 'due'
                ORDER BY created_at LIMIT 1
                """, appAndName)
        }
        return try row.map { Date(milliseconds: try $0["created_at"]) }
    }

    /// Returns the number of dead deliveries.
    func deadCount() throws -> Int {
        let row = try database.read { connection in
            try connection.first(
                "SELECT count(*) AS n FROM webhook_delivery WHERE app = ?1 AND webhook = ?2 AND state = 'dead'",
                appAndName)
        }
        return try row.map { try $0["n"] } ?? 0
    }
}
