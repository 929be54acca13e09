import Primitives

/// A SQL database with concurrent readers and serializable writes. A write returns when it is durable.
///
/// The same code runs on every dialect. Only the texts of migrations, and queries in a dialect's own SQL, depend on
/// `dialect`. Statements use numbered placeholders, `?1`, `?2`.
///
///     try database.migrate([SQLMigration("0001 customers", [.sqlite: "CREATE TABLE customer (id TEXT PRIMARY KEY) STRICT"])])
///     try await database.write { try $0.execute("INSERT INTO customer VALUES (?1)", [.text(id)]) }
///     let exists = try database.read { try $0.first("SELECT id FROM customer WHERE id = ?1", [.text(id)]) != nil }
///
/// A decorator that counts, delays or fails calls conforms to this protocol and forwards them.
public protocol SQLDatabase: Sendable {
    /// The SQL dialect of the database.
    var dialect: SQLDialect { get }

    /// Applies the missing migrations in order, each in its own transaction. Blocks the thread. Call it once, before
    /// the first read and write.
    ///
    /// When the SQL of a migration fails, that migration has no effect, and those before it stay applied. With the
    /// errors below, nothing is changed.
    ///
    /// - Parameter migrations: all migrations of the program.
    /// - Throws: ``SQLError`` with one of these codes:
    ///   - `otherSchema` when the tables or the first migration of the database belong to another program;
    ///   - `newerSchema` when a later migration of the database is not in the list, unless it permits older programs,
    ///     and when the database was moved or is an unfinished copy;
    ///   - `migrationChanged` when the text or the position of an applied migration differs;
    ///   - `invalidMigration` when the list has a name twice, no text for this dialect, or a `minimumProgram` that
    ///     names no earlier step.
    func migrate(_ migrations: [SQLMigration]) throws

    /// Runs `body` on this thread and on one snapshot: all its queries see the same state, including every write that
    /// was awaited before.
    ///
    /// - Parameter body: the queries; a statement that would change data fails.
    /// - Returns: the result of `body`.
    /// - Throws: what `body` throws; ``SQLError`` with `closed` after `close()`, and with `readOnly` for a statement
    ///   that would change data.
    func read<T: Sendable>(_ body: (any SQLConnection) throws -> T) throws -> T

    /// Runs `body` as `read` does, without blocking the calling thread while a database on another machine responds.
    ///
    /// - Parameter body: the queries; a statement that would change data fails.
    /// - Returns: the result of `body`.
    /// - Throws: the errors of `read`.
    func readAsync<T: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> T) async throws -> T

    /// Returns the first row of a `SELECT` on the newest state. A database on another machine combines concurrent
    /// lookups into one round trip, and no thread waits for it.
    ///
    /// - Parameters:
    ///   - sql: one `SELECT` with placeholders `?1` to `?n`.
    ///   - values: the values of the placeholders.
    /// - Returns: the first row, `nil` when there is none.
    /// - Throws: the errors of `read`.
    func lookup(_ sql: String, _ values: [SQLValue]) async throws -> SQLRow?

    /// Runs `body` in a transaction and returns when it is durable. Transactions are serializable unless the database
    /// is configured otherwise. In SQLite they run one at a time, in the order of the calls.
    ///
    /// If `body` throws, only its own changes are rolled back. A body in which a statement failed is rolled back even
    /// if it caught the error. A caller that is cancelled before its body starts gets `CancellationError`, and the body
    /// never runs. Later cancellation is ignored.
    ///
    /// A body must have no effects outside the connection, because a database may run it again. This happens after
    /// another body failed in the same transaction, or after a conflict with a concurrent one. Before the body runs
    /// again, its earlier changes are rolled back.
    ///
    /// - Parameter body: the statements of the transaction.
    /// - Returns: the result of `body`.
    /// - Throws: what `body` throws; `CancellationError`; ``SQLError`` when the commit fails, for example because the
    ///   disk is full. Then no write of the transaction took effect; with `outcomeUnknown` that is not known.
    @discardableResult
    func write<T: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> T) async throws -> T

    /// Erases the rows that were deleted or overwritten before this call from every file of the database, except copies
    /// in free pages, which `compact(upTo:)` removes.
    ///
    /// - Returns: `false` while a reader or a copy uses an older state, or another program uses the log; call it again
    ///   later.
    /// - Throws: ``SQLError``.
    func removeDeleted() async throws -> Bool

    /// Rewrites the database without free pages and their content. Writers wait for about a second per 100 MB.
    ///
    /// - Parameter bytes: the largest size of a database that is rewritten.
    /// - Returns: `false`, without a change, for a larger database.
    /// - Throws: ``SQLError``.
    func compact(upTo bytes: Int64) async throws -> Bool

    /// Checks that the files are those that were opened. If they were removed, replaced or truncated, writes would be
    /// lost, so `write` throws the same error.
    ///
    /// - Throws: ``SQLError`` with `storageFailed`.
    func checkFiles() throws

    /// Checks that the disk has room for a large write.
    ///
    /// - Throws: ``SQLError`` with `storageFull`.
    func checkRoom() throws

    /// Waits for queued writes and running reads, and closes the files. Later calls throw `closed`.
    func close() async
}

extension SQLDatabase {
    /// The implementation for a database in this process: calls `read`, and throws its errors.
    public func readAsync<T: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> T
    ) async throws -> T { try read(body) }

    /// The implementation for a database in this process: reads the first row of `sql` with `values`. Throws as `read`.
    public func lookup(_ sql: String, _ values: [SQLValue]) async throws -> SQLRow? {
        try read { try $0.first(sql, values) }
    }

    /// The implementation for a database that keeps no deleted data. Never throws.
    public func removeDeleted() async throws -> Bool { true }

    /// The implementation for a database that leaves no copies in free pages. Never throws.
    public func compact(upTo bytes: Int64) async throws -> Bool { true }

    /// The implementation for a database without files of its own. Never throws.
    public func checkFiles() throws {}

    /// The implementation for a database on another machine's disk. Never throws.
    public func checkRoom() throws {}
}

/// The connection of a body of `read` or `write`. It is invalid after the body returned.
///
/// A statement is one SQL statement with placeholders `?1` to `?n` and exactly `n` values. `BEGIN`, `COMMIT`,
/// `SAVEPOINT` and similar statements are refused with `misuse`, because transactions belong to `read` and `write`.
/// After a statement failed, every later one throws the same error.
public protocol SQLConnection {
    /// Runs a statement.
    ///
    /// - Parameters:
    ///   - sql: one statement with placeholders `?1` to `?n`.
    ///   - values: the values of the placeholders.
    /// - Returns: the number of rows that the statement itself inserted, updated or deleted, without triggers and
    ///   cascades.
    /// - Throws: ``SQLError``.
    @discardableResult
    func execute(_ sql: String, _ values: [SQLValue]) throws -> Int

    /// Returns all rows of a statement, in its order.
    ///
    /// - Parameters:
    ///   - sql: one statement with placeholders `?1` to `?n`.
    ///   - values: the values of the placeholders.
    /// - Returns: the rows.
    /// - Throws: ``SQLError``.
    func query(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow]

    /// Returns the first row of a statement.
    ///
    /// - Parameters:
    ///   - sql: one statement with placeholders `?1` to `?n`.
    ///   - values: the values of the placeholders.
    /// - Returns: the row, `nil` when there is none.
    /// - Throws: ``SQLError``.
    func first(_ sql: String, _ values: [SQLValue]) throws -> SQLRow?

    /// Calls `body` with each row as it is read, for results that do not fit into memory.
    ///
    /// - Parameters:
    ///   - sql: one statement with placeholders `?1` to `?n`.
    ///   - values: the values of the placeholders.
    ///   - body: receives a row. An error that it throws ends the statement.
    /// - Throws: ``SQLError``, and what `body` throws.
    func each(_ sql: String, _ values: [SQLValue], _ body: (SQLRow) throws -> Void) throws

    /// Whether other bodies of `write` may run at the same time and change rows that this one reads without a lock.
    var isConcurrent: Bool { get }

    /// Runs a statement without a result. A database on another machine may send it together with the next query or the
    /// commit, which then throws the error of this statement.
    ///
    /// - Parameters:
    ///   - sql: one statement with placeholders `?1` to `?n`.
    ///   - values: the values of the placeholders.
    /// - Throws: ``SQLError``.
    func perform(_ sql: String, _ values: [SQLValue]) throws

    /// Returns the rows of several statements, in their order. A database on another machine needs one round trip for
    /// all.
    ///
    /// - Parameter queries: the statements.
    /// - Returns: the rows of each statement.
    /// - Throws: ``SQLError``.
    func queries(_ queries: [SQLQuery]) throws -> [[SQLRow]]

    /// Locks the rows that a `SELECT` from one table finds. Until the transaction ends, other transactions that lock or
    /// change these rows wait. Does nothing in a database whose writes run one at a time.
    ///
    /// - Parameters:
    ///   - sql: a `SELECT` from one table, with placeholders `?1` to `?n`.
    ///   - values: the values of the placeholders.
    /// - Throws: ``SQLError``.
    func lockRows(_ sql: String, _ values: [SQLValue]) throws
}

/// A statement and the values of its placeholders.
public struct SQLQuery: Sendable, Hashable {
    /// One statement with placeholders `?1` to `?n`.
    public let sql: String
    /// As many values as placeholders.
    public let values: [SQLValue]

    /// Creates a statement.
    ///
    /// - Parameters:
    ///   - sql: one statement with placeholders `?1` to `?n`.
    ///   - values: the values of the placeholders.
    public init(_ sql: String, _ values: [SQLValue] = []) {
        self.sql = sql
        self.values = values
    }
}

/// The implementations for a database in this process, which has one writer at a time.
extension SQLConnection {
    public var isConcurrent: Bool { false }

    public func perform(_ sql: String, _ values: [SQLValue]) throws { try execute(sql, values) }

    public func queries(_ queries: [SQLQuery]) throws -> [[SQLRow]] { try queries.map { try query($0.sql, $0.values) } }

    public func lockRows(_ sql: String, _ values: [SQLValue]) throws {}
}

extension SQLConnection {
    /// Calls `execute` with a statement without placeholders, and throws its errors.
    @discardableResult
    public func execute(_ sql: String) throws -> Int { try execute(sql, []) }

    /// Calls `query` with a statement without placeholders, and throws its errors.
    public func query(_ sql: String) throws -> [SQLRow] { try query(sql, []) }

    /// Calls `first` with a statement without placeholders, and throws its errors.
    public func first(_ sql: String) throws -> SQLRow? { try first(sql, []) }

    /// Calls `each` with a statement without placeholders, `sql`, and `body`. Throws its errors.
    public func each(_ sql: String, _ body: (SQLRow) throws -> Void) throws { try each(sql, [], body) }
}

/// The SQL dialect of a database.
public typealias SQLDialect = OpenEnum<SQLMigration>

extension SQLDialect {
    public static var sqlite: Self { Self(rawValue: "sqlite") }
    public static var postgreSQL: Self { Self(rawValue: "postgresql") }
}
