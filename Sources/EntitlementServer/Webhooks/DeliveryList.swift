import Foundation
import Primitives
import SQLStorage
import StoreModel

/// The deliveries of one ledger to all webhooks of its app, for the operator.
struct DeliveryList {
    /// The state of a delivery, by its wire name.
    enum State: String, CaseIterable {
        case pending, delivered, dead

        /// The values of this state in the table.
        var stored: [String] { self == .pending ? ["due", "waiting"] : [rawValue] }
    }

    private static let columns = """
        SELECT delivery.id AS id, delivery.webhook AS webhook, delivery.customer AS customer, delivery.event AS event,
            delivery.state AS state, delivery.attempts AS attempts, delivery.due_at AS due_at,
            delivery.created_at AS created_at, delivery.finished_at AS finished_at,
            delivery.last_status AS last_status, delivery.last_error AS last_error, event.type AS type
        FROM webhook_delivery AS delivery LEFT JOIN event ON event.sequence = delivery.event
        """

    let connection: any SQLConnection
    let ledgerID: LedgerID

    private var values: [SQLValue] { [.text(ledgerID.app.rawValue), .text(ledgerID.environment.rawValue)] }

    /// Returns deliveries before `id`, newest first.
    func page(_ states: [State], before id: Int64, limit: Int) throws -> [SQLRow] {
        let rows = try states.flatMap(\.stored).flatMap { state in
            try connection.query(
                """
                \(Self.columns)
                WHERE delivery.app = ?1 AND delivery.environment = ?2 AND delivery.state = ?3 AND delivery.id < ?4
                ORDER BY delivery.id DESC LIMIT ?5
                """, values + [.text(state), .integer(id), .integer(Int64(limit))])
        }
        let ordered = try rows.map { (id: try $0["id"] as Int64, row: $0) }.sorted { $0.id > $1.id }
        return ordered.prefix(limit).map(\.row)
    }

    /// Returns the oldest dead deliveries in their order.
    func dead(limit: Int) throws -> [SQLRow] {
        try connection.query(
            """
            \(Self.columns)
            WHERE delivery.app = ?1 AND delivery.environment = ?2 AND delivery.state = 'dead'
            ORDER BY delivery.id LIMIT ?3
            """, values + [.integer(Int64(limit))])
    }

    func delivery(_ id: Int64) throws -> SQLRow? {
        try connection.first(
            "\(Self.columns) WHERE delivery.id = ?3 AND delivery.app = ?1 AND delivery.environment = ?2",
            values + [.integer(id)])
    }

    /// Queues a finished delivery again, with no attempts. It is due unless the webhook has other open deliveries of
    /// the customer.
    func replay(_ row: SQLRow, at now: Date) throws {
        let webhook = SQLValue.text(try row["webhook"])
        try connection.lockRows(DeliveryQueue.cursorLock, values + [webhook])
        let customerKey = values + [webhook, .text(try row["customer"])]
        let isFirst = try ["due", "waiting"].allSatisfy { state in
            try connection.first(
                """
                SELECT 1 AS one FROM webhook_delivery WHERE app = ?1 AND environment = ?2 AND webhook = ?3
                    AND customer = ?4 AND state = ?5
                """, customerKey + [.text(state)]) == nil
        }
        try connection.perform(
            """
            UPDATE webhook_delivery SET state = ?2, attempts = 0, due_at = ?3, finished_at = NULL WHERE id = ?1
            """, [.integer(try row["id"]), .text(isFirst ? "due" : "waiting"), .integer(now.milliseconds)])
    }

    static func state(of row: SQLRow) throws -> State {
        let stored: String = try row["state"]
        return State.allCases.first { $0.stored.contains(stored) } ?? .pending
    }

    /// Returns a delivery in its wire format.
    static func json(_ row: SQLRow) throws -> JSONValue {
        let state = try state(of: row)
        let (id, event): (Int64, Int64) = (try row["id"], try row["event"])
        func date(_ column: String) throws -> JSONValue {
            .string(RFC3339.string(from: Date(milliseconds: try row[column])))
        }
        var delivery: JSONValue = [
            "id": .string(String(id)), "webhook": .string(try row["webhook"]), "eventID": .string(String(event)),
            "customer": .string(try row["customer"]), "state": .string(state.rawValue),
            "attempts": .number(try row["attempts"] as Int), "createdAt": try date("created_at"),
        ]
        let (type, error): (String?, String?) = (try row["type"], try row["last_error"])
        let (status, finished): (Int?, Int64?) = (try row["last_status"], try row["finished_at"])
        delivery["type"] = type.map { .string($0) }
        if try row["state"] == "due" { delivery["nextAttemptAt"] = try date("due_at") }
        if finished != nil { delivery["finishedAt"] = try date("finished_at") }
        delivery["lastStatus"] = status.map { .number($0) }
        delivery["lastError"] = error.map { .string($0) }
        return delivery
    }
}
