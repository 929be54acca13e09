import Foundation
import SQLStorage
import StoreModel

/// What has to be delivered to one webhook, as the ledger holds it. Every step is one transaction, so that a crash
/// between two of them repeats a delivery and loses none.
struct DeliveryQueue: Sendable {
    /// A delivery that was taken out to be attempted.
    struct Claimed: Sendable {
        let id: Int64
        /// Which attempt this is, from 1.
        let attempt: Int
        let event: LedgerEvent
    }

    /// What came of an attempt.
    enum Outcome: Sendable {
        case delivered(status: Int)
        /// To be tried again at an instant; never again without one.
        case failed(status: Int?, error: String?, again: Date?)
    }

    /// Events taken in by one transaction.
    private static let batch = 500
    /// How long an attempt may take before another server may think that its sender has died.
    private static let lease: TimeInterval = 60

    let webhook: WebhookName
    let environments: [StoreEnvironment]
    let database: any SQLDatabase

    private var names: [SQLValue] { [.text(webhook.app.rawValue), .text(webhook.name)] }

    private func line(_ environment: SQLValue) -> [SQLValue] {
        [.text(webhook.app.rawValue), environment, .text(webhook.name)]
    }

    /// Locks the lines of a webhook: which delivery is first in a line is read, and written only then.
    private func lock(_ connection: any SQLConnection, _ only: StoreEnvironment? = nil) throws {
        for environment in (only.map { [$0] } ?? environments).map(\.rawValue).sorted() {
            try connection.lockRows(Self.lineLock, line(.text(environment)))
        }
    }

    /// Finds the row that is locked for the lines of a webhook in an environment.
    static let lineLock = "SELECT 1 FROM webhook_cursor WHERE app = ?1 AND environment = ?2 AND webhook = ?3"

    /// Begins a webhook that is new with what happens from now on.
    func open() async throws {
        try await database.write { connection in
            for environment in environments.map({ SQLValue.text($0.rawValue) }) {
                try connection.perform(
                    """
                    INSERT INTO webhook_cursor (app, environment, webhook, sequence) VALUES (?1, ?2, ?3,
                        coalesce((SELECT sequence FROM event WHERE app = ?1 AND environment = ?2 AND sequence > 0
                            ORDER BY sequence DESC LIMIT 1), 0))
                    ON CONFLICT (app, environment, webhook) DO NOTHING
                    """, line(environment))
            }
        }
    }

    // MARK: - In

    /// Takes in events that are new. Returns whether there may be more.
    func takeIn(at now: Date) async throws -> Bool {
        let isNew = try database.read { connection in
            try environments.contains { try !events(of: .text($0.rawValue), limit: 1, connection).isEmpty }
        }
        guard isNew else { return false }
        return try await database.write { connection in
            try lock(connection)
            var isFull = false
            for environment in environments.map({ SQLValue.text($0.rawValue) }) {
                let rows = try events(of: environment, limit: Self.batch, connection)
                guard let last = rows.last else { continue }
                for row in rows {
                    try add(try row["sequence"], of: .text(try row["customer"]), environment, now, connection)
                }
                try connection.perform(
                    """
                    UPDATE webhook_cursor SET sequence = ?4 WHERE app = ?1 AND environment = ?2 AND webhook = ?3
                    """, line(environment) + [.integer(try last["sequence"])])
                isFull = isFull || rows.count == Self.batch
            }
            return isFull
        }
    }

    /// Events behind the cursor.
    private func events(
        of environment: SQLValue, limit: Int, _ connection: any SQLConnection
    ) throws -> [SQLRow] {
        try connection.query(
            """
            SELECT event.sequence AS sequence, event.customer AS customer FROM webhook_cursor CROSS JOIN event
            WHERE webhook_cursor.app = ?1 AND webhook_cursor.environment = ?2 AND webhook_cursor.webhook = ?3
                AND event.app = ?1 AND event.environment = ?2 AND event.sequence > webhook_cursor.sequence
            ORDER BY event.sequence LIMIT ?4
            """, line(environment) + [.integer(Int64(limit))])
    }

    private func add(
        _ event: Int64, of customer: SQLValue, _ environment: SQLValue, _ now: Date, _ connection: any SQLConnection
    ) throws {
        let isFirst = try first(in: line(environment) + [customer], ["due", "waiting"], connection) == nil
        try connection.perform(
            """
            INSERT INTO webhook_delivery (app, environment, webhook, customer, event, state, attempts, due_at, created_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?7) ON CONFLICT (event, webhook) DO NOTHING
            """,
            line(environment) + [
                customer, .integer(event), .text(isFirst ? "due" : "waiting"), .integer(now.milliseconds),
            ])
    }

    /// The first delivery of a line in one of the states: `[app, environment, webhook, customer]`.
    private func first(
        in line: [SQLValue], _ states: [String], _ connection: any SQLConnection
    ) throws -> Int64? {
        for state in states {
            let row = try connection.first(
                """
                SELECT id FROM webhook_delivery WHERE app = ?1 AND environment = ?2 AND webhook = ?3
                    AND customer = ?4 AND state = ?5 ORDER BY id LIMIT 1
                """, line + [.text(state)])
            if let row { return try row["id"] }
        }
        return nil
    }

    // MARK: - Out

    /// Takes out what is due, about `limit` deliveries, each of another line.
    func claim(upTo limit: Int, at now: Date) async throws -> [Claimed] {
        let due = """
            SELECT id, environment, customer, event, attempts FROM webhook_delivery
            WHERE app = ?1 AND webhook = ?2 AND state = 'due' AND due_at <= ?3 ORDER BY due_at LIMIT ?4
            """
        let bounds = names + [.integer(now.milliseconds), .integer(Int64(limit))]
        guard try database.read({ try $0.first(due, bounds) }) != nil else { return [] }
        return try await database.write { connection in
            try lock(connection)
            var claimed: [Claimed] = []
            var rows = try connection.query(due, bounds)
            while !rows.isEmpty {
                for row in rows {
                    if let delivery = try claim(row, at: now, connection) { claimed.append(delivery) }
                }
                // What was dropped may have made room for the next of its line.
                rows = claimed.count < limit ? try connection.query(due, bounds) : []
            }
            return claimed
        }
    }

    /// Takes one out; `nil` for what was erased with its customer: there is nothing left to tell.
    private func claim(_ row: SQLRow, at now: Date, _ connection: any SQLConnection) throws -> Claimed? {
        let id: Int64 = try row["id"]
        guard let event = try event(try row["event"], connection) else {
            try connection.perform("DELETE FROM webhook_delivery WHERE id = ?1", [.integer(id)])
            try advance(line(.text(try row["environment"])) + [.text(try row["customer"])], at: now, connection)
            return nil
        }
        // Changed by hand, the column can hold any number.
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

    /// Writes down what came of an attempt. Nothing, when another server took the delivery over meanwhile.
    func finish(_ claimed: Claimed, _ outcome: Outcome, at now: Date) async throws {
        let (state, status, error, due): (String, Int?, String?, Date?) =
            switch outcome {
            case .delivered(let status): ("delivered", status, nil, nil)
            case .failed(let status, let error, let again): (again == nil ? "dead" : "due", status, error, again)
            }
        let line = line(.text(claimed.event.ledgerID.environment.rawValue))
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
            try advance(line + [.text(claimed.event.customer.rawValue)], at: now, connection)
        }
    }

    /// Makes the first that waits in a line due, if nothing of the line is.
    private func advance(_ line: [SQLValue], at now: Date, _ connection: any SQLConnection) throws {
        guard try first(in: line, ["due"], connection) == nil,
            let next = try first(in: line, ["waiting"], connection)
        else { return }
        try connection.perform(
            "UPDATE webhook_delivery SET state = 'due', due_at = ?2 WHERE id = ?1",
            [.integer(next), .integer(now.milliseconds)])
    }

    // MARK: - Figures

    /// Since when the oldest delivery waits that was not made yet.
    func oldest() throws -> Date? {
        // What waits is younger than what is due in its line.
        let row = try database.read { connection in
            try connection.first(
                """
                SELECT created_at FROM webhook_delivery WHERE app = ?1 AND webhook = ?2 AND state = 'due'
                ORDER BY created_at LIMIT 1
                """, names)
        }
        return try row.map { Date(milliseconds: try $0["created_at"]) }
    }

    /// How many deliveries are attempted no more.
    func dead() throws -> Int {
        let row = try database.read { connection in
            try connection.first(
                "SELECT count(*) AS n FROM webhook_delivery WHERE app = ?1 AND webhook = ?2 AND state = 'dead'", names)
        }
        return try row.map { try $0["n"] } ?? 0
    }
}
