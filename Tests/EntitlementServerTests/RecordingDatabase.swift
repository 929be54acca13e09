import Primitives
import SQLStorage

/// Holds the recorder of a bench.
final class RecorderBox {
    private(set) var database: RecordingDatabase?

    func wrap(_ inner: any SQLDatabase) -> any SQLDatabase {
        let recording = RecordingDatabase(inner)
        database = recording
        return recording
    }
}

/// A database that records its statements with their values.
final class RecordingDatabase: SQLDatabase {
    struct Statement: Sendable {
        let sql: String
        let values: [SQLValue]
    }

    private let recorded = Locked<[Statement]>([])
    private let trips = Locked(0)
    private let inner: any SQLDatabase

    /// Changes a row that `first` returns.
    private let amend: @Sendable (String, SQLRow) -> SQLRow

    init(_ inner: any SQLDatabase, amending amend: @escaping @Sendable (String, SQLRow) -> SQLRow = { $1 }) {
        self.inner = inner
        self.amend = amend
    }

    var statements: [Statement] { recorded.withLock { $0 } }

    /// The number of round trips to a remote database, without commits.
    var roundTrips: Int { trips.withLock { $0 } }

    func reset() {
        recorded.withLock { $0 = [] }
        trips.withLock { $0 = 0 }
    }

    var dialect: SQLDialect { inner.dialect }
    func migrate(_ migrations: [SQLMigration]) throws { try inner.migrate(migrations) }
    func close() async { await inner.close() }

    func read<T: Sendable>(_ body: (any SQLConnection) throws -> T) throws -> T {
        try inner.read { try body(Connection(inner: $0, recorded: recorded, trips: trips, amend: amend)) }
    }

    func write<T: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> T) async throws -> T {
        try await inner.write { [recorded, trips, amend] in
            try body(Connection(inner: $0, recorded: recorded, trips: trips, amend: amend))
        }
    }

    private struct Connection: SQLConnection {
        let inner: any SQLConnection
        let recorded: Locked<[Statement]>
        let trips: Locked<Int>
        let amend: @Sendable (String, SQLRow) -> SQLRow

        var isConcurrent: Bool { inner.isConcurrent }

        private func record(_ sql: String, _ values: [SQLValue], isRoundTrip: Bool = true) {
            if isRoundTrip { trips.withLock { $0 += 1 } }
            recorded.withLock { $0.append(Statement(sql: sql, values: values)) }
        }

        func execute(_ sql: String, _ values: [SQLValue]) throws -> Int {
            record(sql, values)
            return try inner.execute(sql, values)
        }

        func query(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow] {
            record(sql, values)
            return try inner.query(sql, values)
        }

        func first(_ sql: String, _ values: [SQLValue]) throws -> SQLRow? {
            record(sql, values)
            return try inner.first(sql, values).map { amend(sql, $0) }
        }

        func each(_ sql: String, _ values: [SQLValue], _ body: (SQLRow) throws -> Void) throws {
            record(sql, values)
            try inner.each(sql, values, body)
        }

        func perform(_ sql: String, _ values: [SQLValue]) throws {
            record(sql, values, isRoundTrip: false)
            try inner.perform(sql, values)
        }

        func queries(_ queries: [SQLQuery]) throws -> [[SQLRow]] {
            for (index, query) in queries.enumerated() { record(query.sql, query.values, isRoundTrip: index == 0) }
            return try inner.queries(queries)
        }

        /// Records the statement with the suffix that a PostgreSQL connection adds.
        func lockRows(_ sql: String, _ values: [SQLValue]) throws {
            if inner.isConcurrent { record("\(sql) FOR UPDATE", values, isRoundTrip: false) }
            try inner.lockRows(sql, values)
        }
    }
}
