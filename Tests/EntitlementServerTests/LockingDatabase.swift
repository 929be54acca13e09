import SQLStorage

@testable import EntitlementServer

/// A SQLite database that reports itself as concurrent, with row locks, as PostgreSQL does. Bodies of `write` still run
/// one at a time.
final class LockingDatabase: SQLDatabase {
    private let inner: any SQLDatabase

    init(_ inner: any SQLDatabase) { self.inner = inner }

    var dialect: SQLDialect { .postgreSQL }
    func migrate(_ migrations: [SQLMigration]) throws {
        try inner.migrate(migrations.filter { $0 != Schema.programs }.map(\.onSQLite))
    }
    func removeDeleted() async throws -> Bool { try await inner.removeDeleted() }
    func compact(upTo bytes: Int64) async throws -> Bool { try await inner.compact(upTo: bytes) }
    func checkFiles() throws { try inner.checkFiles() }
    func checkRoom() throws { try inner.checkRoom() }
    func close() async { await inner.close() }

    func read<T: Sendable>(_ body: (any SQLConnection) throws -> T) throws -> T {
        try inner.read { try body(Connection(inner: $0, isWriting: false)) }
    }

    func write<T: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> T) async throws -> T {
        try await inner.write { try body(Connection(inner: $0, isWriting: true)) }
    }

    private struct Connection: SQLConnection {
        let inner: any SQLConnection
        let isWriting: Bool

        var isConcurrent: Bool { true }

        /// Returns whether a statement is about the registered servers. Such statements are in PostgreSQL's dialect, so
        /// they are not executed.
        private static func isOfServers(_ sql: String) -> Bool {
            sql.contains("INTO server ") || sql.contains("FROM server")
        }

        func execute(_ sql: String, _ values: [SQLValue]) throws -> Int {
            Self.isOfServers(sql) ? 0 : try inner.execute(sql, values)
        }
        func query(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow] {
            Self.isOfServers(sql) ? [] : try inner.query(sql, values)
        }
        func first(_ sql: String, _ values: [SQLValue]) throws -> SQLRow? {
            Self.isOfServers(sql) ? nil : try inner.first(sql, values)
        }

        func each(_ sql: String, _ values: [SQLValue], _ body: (SQLRow) throws -> Void) throws {
            try inner.each(sql, values, body)
        }

        func lockRows(_ sql: String, _ values: [SQLValue]) throws {
            guard isWriting else { throw SQLError(.readOnly, "A read tried to lock a row.") }
            _ = try inner.query(sql, values)
        }
    }
}
