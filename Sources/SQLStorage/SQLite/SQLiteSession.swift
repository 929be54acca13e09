import CSQLite

/// The connection that one body gets. It is invalid after the body, and after the first failed statement.
final class SQLiteSession: RowKeyConnection {
    private var connection: SQLiteConnection?
    private let path: String
    private(set) var failure: SQLError?

    init(_ connection: SQLiteConnection) {
        self.connection = connection
        path = connection.path
    }

    /// SQLite's own connection; `nil` after the body.
    var handle: OpaquePointer? { connection?.handle }

    var lastRowKey: Int64 { connection.map { sqlite3_last_insert_rowid($0.handle) } ?? 0 }

    func end() { connection = nil }

    @discardableResult
    func execute(_ sql: String, _ values: [SQLValue]) throws -> Int {
        try run(sql, values) { statement, connection throws(SQLError) in
            let before = sqlite3_total_changes64(connection.handle)
            while try statement.advance(on: connection) {}
            // `sqlite3_changes` keeps the count of an earlier statement if this one changed no rows.
            return sqlite3_total_changes64(connection.handle) == before
                ? 0 : Int(sqlite3_changes64(connection.handle))
        }
    }

    func query(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow] {
        try run(sql, values) { statement, connection throws(SQLError) in
            var rows: [SQLRow] = []
            while let row = try statement.step(on: connection) { rows.append(row) }
            return rows
        }
    }

    func first(_ sql: String, _ values: [SQLValue]) throws -> SQLRow? {
        try run(sql, values) { statement, connection throws(SQLError) in
            // A statement changes all its rows before it returns the first.
            try statement.step(on: connection)
        }
    }

    func each(_ sql: String, _ values: [SQLValue], _ body: (SQLRow) throws -> Void) throws {
        var refusal: (any Error)?
        try run(sql, values) { statement, connection throws(SQLError) in
            while refusal == nil, let row = try statement.step(on: connection) {
                do { try body(row) } catch { refusal = error }
            }
        }
        if let refusal { throw refusal }
    }

    private func run<T>(
        _ sql: String, _ values: [SQLValue], _ body: (SQLiteStatement, SQLiteConnection) throws(SQLError) -> T
    ) throws(SQLError) -> T {
        guard let connection else {
            throw SQLError(.misuse, "A connection to the database \(path) was used after its body returned.")
        }
        if let failure { throw failure }
        do throws(SQLError) {
            let statement = try connection.statement(sql)
            defer { connection.keep(statement) }
            try statement.bind(values, on: connection)
            if !statement.isReadOnly { connection.writes += 1 }
            return try body(statement, connection)
        } catch {
            failure = failure ?? error
            throw error
        }
    }
}
