import Foundation
import Primitives
import SQLStorage

/// A database that can pause before a statement, or behave like a faulty server, to test the concurrency of several
/// servers.
///
///     let database = SteeredDatabase(inner, fault: .customerNotLocked)
///     database.pause(before: "UPDATE customer")
///
/// A fault changes or omits certain statements. Tests use faults to prove that they would detect such a server. Only
/// test programs contain this type.
package final class SteeredDatabase: SQLDatabase {
    /// A fault of a server.
    package enum Fault: String, Sendable, CaseIterable {
        /// The row of an app account token is not locked.
        case tokenNotLocked
        /// An idempotency key is searched first, and inserted at the end.
        case keyInsertedLast
        /// A fact is inserted even if it exists.
        case factInsertedTwice
        /// A customer's row is not locked before the answer is computed.
        case customerNotLocked
        /// The redemptions of a promotion are read, and the incremented number is written.
        case promotionReadFirst
        /// A delivery is inserted even if the webhook has one of the same event. Its cursors are not locked.
        case deliveryNotUnique
        /// Events are numbered before the commit.
        case eventsNumberedFirst
        /// The cursors of a webhook are not locked.
        case cursorsNotLocked
    }

    private struct State {
        var text: String?
        var isPaused = false
    }

    private let inner: any SQLDatabase
    private let fault: Fault?
    private let state = Locked(State())
    private let gate = DispatchSemaphore(value: 0)

    /// - Parameter fault: `nil` for a server without a fault.
    package init(_ inner: any SQLDatabase, fault: Fault? = nil) {
        self.inner = inner
        self.fault = fault
    }

    /// Pauses a body of `write` before the next statement that contains `text`. The database has then executed the
    /// body's earlier statements, including those that `perform` deferred. Statements of `each`, `queries` and
    /// `lockRows` do not count.
    package func pause(before text: String) { state.withLock { $0.text = text } }

    /// Whether a body is paused.
    package var isPaused: Bool { state.withLock(\.isPaused) }

    /// Resumes the paused body.
    package func resume() {
        let wasPaused = state.withLock { state in
            defer { state = State() }
            return state.isPaused
        }
        if wasPaused { gate.signal() }
    }

    package var dialect: SQLDialect { inner.dialect }

    package func migrate(_ migrations: [SQLMigration]) throws { try inner.migrate(migrations) }

    /// Removes the constraints of the schema that would prevent the fault. Call it after the migrations.
    package func removeConstraints() async throws {
        let statements: [String] =
            switch fault {
            case .factInsertedTwice:
                ["ALTER TABLE fact DROP CONSTRAINT fact_app_environment_original_transaction_id_source_digest_key"]
            case .deliveryNotUnique: ["DROP INDEX webhook_delivery_of_event"]
            case .eventsNumberedFirst: ["ALTER TABLE event ALTER COLUMN sequence SET DEFAULT nextval('event_arrival')"]
            default: []
            }
        for statement in statements { try await inner.write { try $0.execute(statement) } }
    }

    package func read<T: Sendable>(_ body: (any SQLConnection) throws -> T) throws -> T { try inner.read(body) }

    package func lookup(_ sql: String, _ values: [SQLValue]) async throws -> SQLRow? {
        try await inner.lookup(sql, values)
    }

    package func write<T: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> T) async throws -> T {
        try await inner.write { try body(Connection(inner: $0, database: self)) }
    }

    package func removeDeleted() async throws -> Bool { try await inner.removeDeleted() }
    package func compact(upTo bytes: Int64) async throws -> Bool { try await inner.compact(upTo: bytes) }
    package func checkFiles() throws { try inner.checkFiles() }
    package func checkRoom() throws { try inner.checkRoom() }
    package func close() async { await inner.close() }

    private func pauseIfDue(_ sql: String, _ connection: any SQLConnection) throws {
        let isDue = state.withLock { state in
            guard let text = state.text, sql.contains(text) else { return false }
            state.text = nil
            return true
        }
        guard isDue else { return }
        _ = try connection.query("SELECT 1 AS one", [])
        state.withLock { $0.isPaused = true }
        gate.wait()
    }

    private final class Connection: SQLConnection {
        private let inner: any SQLConnection
        private let database: SteeredDatabase
        /// The key that is inserted at the end.
        private var late: SQLQuery?

        init(inner: any SQLConnection, database: SteeredDatabase) {
            self.inner = inner
            self.database = database
        }

        var isConcurrent: Bool { inner.isConcurrent }

        func execute(_ sql: String, _ values: [SQLValue]) throws -> Int {
            try database.pauseIfDue(sql, inner)
            switch database.fault {
            case .keyInsertedLast where sql.hasPrefix("INSERT INTO idempotency_key"):
                let known = try inner.first(
                    "SELECT 1 AS one FROM idempotency_key WHERE app = ?1 AND environment = ?2 AND asker = ?3 AND key = ?4",
                    Array(values.prefix(4)))
                late = SQLQuery(sql, values)
                return known == nil ? 1 : 0
            case .factInsertedTwice where sql.hasPrefix("INSERT INTO fact"):
                return try inner.execute(Self.withoutConflict(sql), values)
            case .promotionReadFirst where sql.hasPrefix("UPDATE promotion SET redemptions"):
                let row = try inner.first(
                    """
                    SELECT redemptions, redemption_limit FROM promotion
                    WHERE app = ?1 AND environment = ?2 AND code = ?3
                    """, values)
                guard let row else { return 0 }
                let (count, limit): (Int64, Int64?) = (try row["redemptions"], try row["redemption_limit"])
                guard limit.map({ count < $0 }) ?? true else { return 0 }
                return try inner.execute(
                    "UPDATE promotion SET redemptions = ?4 WHERE app = ?1 AND environment = ?2 AND code = ?3",
                    values + [.integer(count + 1)])
            default: return try inner.execute(sql, values)
            }
        }

        func perform(_ sql: String, _ values: [SQLValue]) throws {
            try database.pauseIfDue(sql, inner)
            if let late, sql.hasPrefix("UPDATE idempotency_key SET status") {
                self.late = nil
                try inner.perform(late.sql, late.values)
            }
            let isDelivery = database.fault == .deliveryNotUnique && sql.hasPrefix("INSERT INTO webhook_delivery")
            try inner.perform(isDelivery ? Self.withoutConflict(sql) : sql, values)
        }

        func query(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow] {
            try database.pauseIfDue(sql, inner)
            return try inner.query(sql, values)
        }

        func first(_ sql: String, _ values: [SQLValue]) throws -> SQLRow? {
            try database.pauseIfDue(sql, inner)
            return try inner.first(sql, values)
        }

        func each(_ sql: String, _ values: [SQLValue], _ body: (SQLRow) throws -> Void) throws {
            try inner.each(sql, values, body)
        }

        func queries(_ queries: [SQLQuery]) throws -> [[SQLRow]] {
            guard database.fault == .tokenNotLocked else { return try inner.queries(queries) }
            let isToken = queries.map { $0.sql.hasPrefix("INSERT INTO token") }
            var rows = try inner.queries(zip(queries, isToken).filter { !$1 }.map(\.0))[...]
            return isToken.map { $0 ? [] : rows.removeFirst() }
        }

        func lockRows(_ sql: String, _ values: [SQLValue]) throws {
            let isLeftOut =
                switch database.fault {
                case .customerNotLocked: sql.contains("FROM customer ")
                case .cursorsNotLocked, .deliveryNotUnique: sql.contains("FROM webhook_cursor ")
                default: false
                }
            if !isLeftOut { try inner.lockRows(sql, values) }
        }

        private static func withoutConflict(_ sql: String) -> String {
            sql.range(of: "ON CONFLICT").map { String(sql[..<$0.lowerBound]) } ?? sql
        }
    }
}
