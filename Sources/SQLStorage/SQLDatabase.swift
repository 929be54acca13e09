import Primitives

/// A SQL database: many readers at once, one writer, nothing answered before it is durable.
///
/// The same code runs on every dialect; only the texts of migrations (and a query that wants a dialect's own words) ask
/// for `dialect`. Statements use numbered placeholders, `?1`, `?2`.
///
///     try database.migrate([SQLMigration("0001 customers", [.sqlite: "CREATE TABLE customer (id TEXT PRIMARY KEY) STRICT"])])
///     try await database.write { try $0.execute("INSERT INTO customer VALUES (?1)", [.text(id)]) }
///     let known = try database.read { try $0.first("SELECT id FROM customer WHERE id = ?1", [.text(id)]) != nil }
///
/// A decorator that counts, delays or fails calls conforms to this protocol and passes them on.
public protocol SQLDatabase: Sendable {
    /// Which SQL the database speaks.
    var dialect: SQLDialect { get }

    /// Brings the schema up to date: applies, in order, the migrations the database does not have yet, each in a
    /// transaction of its own. Blocks until done; call it once, before the first read and write.
    ///
    /// Throws `SQLError` with `otherSchema` when the first migration of the database is not in the list, so it is of another
    /// kind. Throws `newerSchema` when a later one is not in the list, and `migrationChanged` when the text or the place of
    /// an applied migration differs from then. Throws `invalidMigration` when the list itself is wrong: a name twice, or
    /// no text for this dialect. In these cases nothing is changed. When a migration's own SQL fails, that migration
    /// leaves nothing behind and those before it stay.
    func migrate(_ migrations: [SQLMigration]) throws

    /// Runs `body` on this thread and on one snapshot of the database: every query in it sees the same state, whatever
    /// is written meanwhile, and all of what was awaited from `write` before.
    ///
    /// Throws what `body` throws; `closed` after `close()`; `readOnly` when a statement would change something.
    func read<T: Sendable>(_ body: (any SQLConnection) throws -> T) throws -> T

    /// `read` for callers whose thread must not wait, where the database is on another machine.
    func readAsync<T: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> T) async throws -> T

    /// The first row of one `SELECT`, nil when it has none, of the newest state. What many callers look up at the same time
    /// goes together where the database is on another machine, and no thread waits for it.
    ///
    /// Throws as `read`.
    func lookup(_ sql: String, _ values: [SQLValue]) async throws -> SQLRow?

    /// Runs `body` in a transaction and returns once that transaction is durable. Bodies act as if they ran one at a time;
    /// in SQLite they do, in the order in which they were queued.
    ///
    /// If `body` throws, all it did is undone, and only that; the error is thrown here. A body in which a statement
    /// failed is undone even if it caught the error. If the commit fails, nobody's write in it happened, and the
    /// commit's error is thrown: busy, full or failing storage. A caller cancelled before its body started gets
    /// `CancellationError` and the body never runs; from then on cancellation is ignored and the caller gets the outcome.
    ///
    /// A body acts only through its connection, because a database may run it again: when another body failed in the
    /// transaction they share, or when one that ran at the same time was first. What it did before is then undone.
    @discardableResult
    func write<T: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> T) async throws -> T

    /// Removes rows that were deleted or overwritten before this call from every file of the database. Returns whether that
    /// is done: `false` while an older state is still read or copied; ask again later.
    ///
    /// Copies of such rows can be left in free room, where a database moved the rows while they were there: see
    /// `compact(upTo:)`.
    func removeDeleted() async throws -> Bool

    /// Writes the database anew, without free room and what lies in it. Returns `false`, and does nothing, when it has more
    /// than `bytes`. Keeps writers waiting: for about a second for each 100 MB.
    func compact(upTo bytes: Int64) async throws -> Bool

    /// Throws `storageFailed` when the files are no longer those that were opened: they were removed, replaced or cut,
    /// and writes would be lost. `write` throws it too.
    func checkFiles() throws

    /// Throws `storageFull` when the disk has too little room for a large write.
    func checkRoom() throws

    /// Lets the queued writes and running reads end and closes the files; everything afterwards throws `closed`.
    func close() async
}

extension SQLDatabase {
    /// Of a database in this process.
    public func readAsync<T: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> T
    ) async throws -> T { try read(body) }

    /// Of a database in this process.
    public func lookup(_ sql: String, _ values: [SQLValue]) async throws -> SQLRow? {
        try read { try $0.first(sql, values) }
    }

    /// Of a database that keeps nothing that was deleted.
    public func removeDeleted() async throws -> Bool { true }

    /// Of a database that leaves no copies in free room.
    public func compact(upTo bytes: Int64) async throws -> Bool { true }

    /// Of a database without files of its own.
    public func checkFiles() throws {}

    /// Of a database whose disk is another machine's.
    public func checkRoom() throws {}
}

/// What a body of `read` or `write` works with; of no use after the body returned.
///
/// A statement is one SQL statement with placeholders `?1` to `?n` for exactly the values given. Transactions belong
/// to `read` and `write`: `BEGIN`, `COMMIT`, `SAVEPOINT` and their like are refused with `misuse`. After a statement
/// failed every further one throws the same error.
public protocol SQLConnection {
    /// Runs a statement and returns how many rows it inserted, updated or deleted itself (triggers and cascades aside).
    @discardableResult
    func execute(_ sql: String, _ values: [SQLValue]) throws -> Int

    /// All rows of a statement, in its order.
    func query(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow]

    /// The first row of a statement, nil when it has none.
    func first(_ sql: String, _ values: [SQLValue]) throws -> SQLRow?

    /// Calls `body` with each row as it is read, for results too large to hold; an error it throws ends the statement.
    func each(_ sql: String, _ values: [SQLValue], _ body: (SQLRow) throws -> Void) throws

    /// Whether other bodies of `write` may run at the same time: what this one reads, they may change, unless its row is
    /// locked.
    var isConcurrent: Bool { get }

    /// Runs a statement of which nothing is asked. A database on another machine may send it with the next statement that
    /// is asked something, or with the commit; its error is thrown there.
    func perform(_ sql: String, _ values: [SQLValue]) throws

    /// The rows of several statements, in their order. A database on another machine is asked once for all of them.
    func queries(_ queries: [SQLQuery]) throws -> [[SQLRow]]

    /// Locks the rows that a `SELECT` from one table finds until the transaction ends: others who lock or change them
    /// wait. Does nothing where bodies of `write` run one at a time anyway.
    func lockRows(_ sql: String, _ values: [SQLValue]) throws
}

/// A statement and the values of its placeholders.
public struct SQLQuery: Sendable, Hashable {
    /// One statement with placeholders `?1` to `?n`.
    public let sql: String
    /// As many values as placeholders.
    public let values: [SQLValue]

    /// A statement with `values` for `?1` to `?n`.
    public init(_ sql: String, _ values: [SQLValue] = []) {
        self.sql = sql
        self.values = values
    }
}

/// Connections to a database in this process, which has one writer at a time.
extension SQLConnection {
    public var isConcurrent: Bool { false }

    public func perform(_ sql: String, _ values: [SQLValue]) throws { try execute(sql, values) }

    public func queries(_ queries: [SQLQuery]) throws -> [[SQLRow]] { try queries.map { try query($0.sql, $0.values) } }

    public func lockRows(_ sql: String, _ values: [SQLValue]) throws {}
}

extension SQLConnection {
    /// `execute` of a statement without placeholders.
    @discardableResult
    public func execute(_ sql: String) throws -> Int { try execute(sql, []) }

    /// `query` of a statement without placeholders.
    public func query(_ sql: String) throws -> [SQLRow] { try query(sql, []) }

    /// `first` of a statement without placeholders.
    public func first(_ sql: String) throws -> SQLRow? { try first(sql, []) }

    /// `each` of a statement without placeholders.
    public func each(_ sql: String, _ body: (SQLRow) throws -> Void) throws { try each(sql, [], body) }
}

/// Which SQL a database speaks.
public typealias SQLDialect = OpenEnum<SQLMigration>

extension SQLDialect {
    public static var sqlite: Self { Self(rawValue: "sqlite") }
    public static var postgreSQL: Self { Self(rawValue: "postgresql") }
}
