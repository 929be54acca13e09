import Primitives
import SQLStorage

/// Keeps the recorder a bench was built around.
final class RecorderBox {
    private(set) var database: RecordingDatabase?

    func wrap(_ inner: any SQLDatabase) -> any SQLDatabase {
        let recording = RecordingDatabase(inner)
        database = recording
        return recording
    }
}

/// A database that remembers the statements it was given, and with which values.
final class RecordingDatabase: SQLDatabase {
    struct Statement: Sendable {
        let sql: String
        let values: [SQLValue]
    }

    private let noted = Locked<[Statement]>([])
    private let inner: any SQLDatabase

    /// Changes what `first` returns.
    private let amend: @Sendable (String, SQLRow) -> SQLRow

    init(_ inner: any SQLDatabase, amending amend: @escaping @Sendable (String, SQLRow) -> SQLRow = { $1 }) {
        self.inner = inner
        self.amend = amend
    }

    var statements: [Statement] { noted.withLock { $0 } }

    func forget() { noted.withLock { $0 = [] } }

    var dialect: SQLDialect { inner.dialect }
    func migrate(_ migrations: [SQLMigration]) throws { try inner.migrate(migrations) }
    func close() async { await inner.close() }

    func read<T: Sendable>(_ body: (any SQLConnection) throws -> T) throws -> T {
        try inner.read { try body(Connection(inner: $0, noted: noted, amend: amend)) }
    }

    func write<T: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> T) async throws -> T {
        try await inner.write { [noted, amend] in try body(Connection(inner: $0, noted: noted, amend: amend)) }
    }

    private struct Connection: SQLConnection {
        let inner: any SQLConnection
        let noted: Locked<[Statement]>
        let amend: @Sendable (String, SQLRow) -> SQLRow

        var isConcurrent: Bool { inner.isConcurrent }

        private func note(_ sql: String, _ values: [SQLValue]) {
            noted.withLock { $0.append(Statement(sql: sql, values: values)) }
        }

        func execute(_ sql: String, _ values: [SQLValue]) throws -> Int {
            note(sql, values)
            return try inner.execute(sql, values)
        }

        func query(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow] {
            note(sql, values)
            return try inner.query(sql, values)
        }

        func first(_ sql: String, _ values: [SQLValue]) throws -> SQLRow? {
            note(sql, values)
            return try inner.first(sql, values).map { amend(sql, $0) }
        }

        func each(_ sql: String, _ values: [SQLValue], _ body: (SQLRow) throws -> Void) throws {
            note(sql, values)
            try inner.each(sql, values, body)
        }

        /// Noted with the words that PostgreSQL's connection would add.
        func lockRows(_ sql: String, _ values: [SQLValue]) throws {
            if inner.isConcurrent { note("\(sql) FOR UPDATE", values) }
            try inner.lockRows(sql, values)
        }
    }
}
