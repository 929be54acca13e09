import CSQLite
import Foundation

/// One connection to a file, with its prepared statements.
///
/// It is `Sendable`, because one thread uses it at a time: a lock protects the transfer of readers' connections between
/// threads, and the writer's connection stays on its thread. SQLite's own mutex is off.
final class SQLiteConnection: @unchecked Sendable {
    enum Durability { case full, none }

    enum Mode {
        case read
        case write(Durability)
        /// Durable, in the journal mode that the file has; for copies, compaction and recovery.
        case plain
    }

    struct Limits: Sendable {
        var busyTimeout: Duration
        var cachedStatements: Int

        init(_ configuration: SQLiteDatabase.Configuration) {
            busyTimeout = configuration.busyTimeout
            cachedStatements = configuration.cachedStatements
        }
    }

    /// The statements that control transactions. The closures of `read` and `write` (bodies) must not run them.
    enum Control: String, CaseIterable {
        case begin = "BEGIN"
        case beginImmediate = "BEGIN IMMEDIATE"
        case beginExclusive = "BEGIN EXCLUSIVE"
        case commit = "COMMIT"
        case rollback = "ROLLBACK"
        case savepoint = "SAVEPOINT member"
        case release = "RELEASE member"
        case rollbackToSavepoint = "ROLLBACK TO member"
    }

    let path: String
    let handle: OpaquePointer
    private let isReader: Bool
    private var cache: StatementCache
    private var controls: [Control: OpaquePointer] = [:]
    private var isClosed = false
    /// The time to wait for a lock, in milliseconds.
    private(set) var busyTimeout: CInt = 0
    /// The number of statements of bodies that could change data.
    var writes = 0
    /// The number of pages in the log after the last commit.
    var logLength = 0
    /// Whether the current statement comes from this class, not from a body. The authorizer then allows it.
    fileprivate var isInternalStatement = false

    init(path: String, mode: Mode, limits: Limits) throws(SQLError) {
        self.path = path
        if case .read = mode { isReader = true } else { isReader = false }
        cache = StatementCache(limit: limits.cachedStatements)
        handle = try Self.openHandle(path: path, isReader: isReader)
        do throws(SQLError) {
            try configure(mode, limits)
        } catch {
            close()
            throw error
        }
    }

    deinit { close() }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        cache.removeAll()
        for statement in controls.values { sqlite3_finalize(statement) }
        if DamagedFiles.contains(path) { _ = csqlite_keep_log(handle) }
        sqlite3_close_v2(handle)
    }

    // MARK: - Transactions

    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Whether the transaction violates foreign keys, which the commit would refuse.
    var hasUnresolvedForeignKeys: Bool {
        var current: CInt = 0
        var highest: CInt = 0
        sqlite3_db_status(handle, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
        return current != 0
    }

    func run(_ control: Control) throws(SQLError) {
        isInternalStatement = true
        defer { isInternalStatement = false }
        let statement: OpaquePointer
        if let prepared = controls[control] {
            statement = prepared
        } else {
            var prepared: OpaquePointer?
            let result = sqlite3_prepare_v3(
                handle, control.rawValue, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
            guard result == SQLITE_OK, let prepared else { throw failure() }
            controls[control] = prepared
            statement = prepared
        }
        defer { sqlite3_reset(statement) }
        guard sqlite3_step(statement) == SQLITE_DONE else { throw failure() }
    }

    /// Rolls back the current transaction, if any. Ignores errors, because there is no other way to end it.
    func endQuietly() {
        if isInTransaction { try? run(.rollback) }
    }

    /// Runs SQL that bodies must not run, and ignores its results.
    func runInternal(_ sql: String) throws(SQLError) {
        isInternalStatement = true
        defer { isInternalStatement = false }
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure() }
    }

    /// The size of the database in bytes, including pages that only the log has.
    func size() throws(SQLError) -> Int64 {
        try internalNumber("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
    }

    /// A number that changes when another connection commits.
    func dataVersion() throws(SQLError) -> Int64 { try internalNumber("PRAGMA data_version") }

    private func internalNumber(_ sql: String) throws(SQLError) -> Int64 {
        isInternalStatement = true
        defer { isInternalStatement = false }
        var prepared: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &prepared, nil) == SQLITE_OK else { throw failure() }
        defer { sqlite3_finalize(prepared) }
        guard sqlite3_step(prepared) == SQLITE_ROW else { throw failure() }
        return sqlite3_column_int64(prepared, 0)
    }

    /// Runs `body` on this connection. Throws the error of the first failed statement even if `body` caught it.
    func session<T>(_ body: (any SQLConnection) throws -> T) throws -> T {
        let session = SQLiteSession(self)
        defer { session.end() }
        let result = try body(session)
        if let failure = session.failure { throw failure }
        return result
    }

    // MARK: - Statements

    /// Returns a statement from the cache, or a new one. Pass it to `keep` after its use.
    func statement(_ sql: String) throws(SQLError) -> SQLiteStatement {
        if let cached = cache.take(sql) { return cached }
        let (statement, rest) = try prepare(sql, from: 0, isPersistent: true)
        guard let statement else {
            throw SQLError(.invalidStatement, "An empty statement was given to the database \(path).")
        }
        do throws(SQLError) {
            if let rest, try prepare(sql, from: rest, isPersistent: false).statement != nil {
                throw SQLError(.invalidStatement, "The text has two statements; run them one at a time.")
            }
            return try SQLiteStatement(statement, sql: sql)
        } catch {
            sqlite3_finalize(statement)
            throw error
        }
    }

    func keep(_ statement: SQLiteStatement) {
        statement.reset()
        if isClosed { statement.finalize() } else { cache.put(statement) }
    }

    /// The texts of the cached statements.
    var cachedStatements: Set<String> { cache.texts }

    /// Runs each statement of a migration.
    func runScript(_ sql: String) throws(SQLError) {
        var offset: Int? = 0
        while let start = offset {
            let (statement, rest) = try prepare(sql, from: start, isPersistent: false)
            offset = rest
            guard let statement else { continue }
            defer { sqlite3_finalize(statement) }
            guard sqlite3_bind_parameter_count(statement) == 0 else {
                throw SQLError(.invalidStatement, "A migration must not have placeholders.")
            }
            var result = SQLITE_ROW
            while result == SQLITE_ROW { result = sqlite3_step(statement) }
            guard result == SQLITE_DONE else { throw failure() }
        }
    }

    /// Prepares the first statement of `sql` after a UTF-8 offset. Returns the statement, or `nil` if there is none, and
    /// the offset of the rest, or `nil` at the end.
    private func prepare(
        _ sql: String, from offset: Int, isPersistent: Bool
    ) throws(SQLError) -> (statement: OpaquePointer?, rest: Int?) {
        var prepared: OpaquePointer?
        var consumed = 0
        var length = 0
        var sql = sql
        let result = sql.withUTF8 { bytes -> CInt in
            length = bytes.count
            guard offset < bytes.count, let base = bytes.baseAddress else { return SQLITE_OK }
            var tail: UnsafePointer<CChar>?
            let flags = isPersistent ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
            return base.withMemoryRebound(to: CChar.self, capacity: bytes.count) { text in
                let result = sqlite3_prepare_v3(
                    handle, text + offset, CInt(bytes.count - offset), flags, &prepared, &tail)
                consumed = tail.map { $0 - text } ?? bytes.count
                return result
            }
        }
        guard result == SQLITE_OK else { throw failure() }
        if isReader, let prepared, sqlite3_stmt_readonly(prepared) == 0 {
            sqlite3_finalize(prepared)
            throw SQLError(.readOnly, "A statement in a read would change the database \(path); use write.")
        }
        return (prepared, consumed > offset && consumed < length ? consumed : nil)
    }

    /// The error of the last failed call.
    func failure() -> SQLError { SQLError(sqlite: handle, path: path) }

    // MARK: - Opening

    private static func openHandle(path: String, isReader: Bool) throws(SQLError) -> OpaquePointer {
        func refusal(_ reason: String) -> SQLError {
            SQLError(.cannotOpen, "The database \(path) cannot be opened: \(reason).")
        }
        guard !path.isEmpty else { throw refusal("the path is empty") }
        guard path != ":memory:", !path.utf8.contains(0) else { throw refusal("that is not the path of a file") }
        var status = stat()
        let isThere = stat(path, &status) == 0
        let reason = errno
        // SQLite would create a database here and discard the log.
        if !isThere || status.st_size == 0, Self.hasLog(path) {
            throw SQLError(
                .corrupt,
                "The database \(path) is \(isThere ? "empty" : "missing"), and there is a write-ahead log beside it. "
                    + "Put the file back, or restore it from a backup.")
        }
        if isThere {
            if status.st_mode & S_IFMT == S_IFDIR { throw refusal("it is a folder; name a file in it") }
            guard status.st_mode & S_IFMT == S_IFREG else { throw refusal("it is no regular file; name another") }
            // SQLite treats a file of one byte as empty and would overwrite it.
            if status.st_size == 1 {
                throw SQLError(.notADatabase, "The file \(path) is not a database; name another file.")
            }
        } else if reason == ENOENT {
            let folder = (path as NSString).deletingLastPathComponent
            if access(folder.isEmpty ? "." : folder, F_OK) != 0 { throw refusal("there is no folder \(folder)") }
            if access(folder.isEmpty ? "." : folder, W_OK) != 0 { throw refusal("its folder is not writable") }
        } else {
            throw refusal(String(cString: strerror(reason)))
        }
        if !isReader { PrivateFile.makeIfMissing(SQLiteFile.resolvingLinks(path)) }
        _ = memoryIsNotCounted
        var opened: OpaquePointer?
        let mode = isReader ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        let result = sqlite3_open_v2(path, &opened, mode | SQLITE_OPEN_NOMUTEX, nil)
        guard let opened else { throw refusal("there is not enough memory") }
        guard result == SQLITE_OK else {
            defer { sqlite3_close_v2(opened) }
            let cause = sqlite3_system_errno(opened)
            throw refusal(cause == 0 ? String(cString: sqlite3_errmsg(opened)) : String(cString: strerror(cause)))
        }
        return opened
    }

    /// Whether the log of the database at `path` has content. The log is beside the target of links.
    private static func hasLog(_ path: String) -> Bool {
        var status = stat()
        return stat(SQLiteFile.resolvingLinks(path) + "-wal", &status) == 0 && status.st_size > 0
    }

    private func configure(_ mode: Mode, _ limits: Limits) throws(SQLError) {
        sqlite3_extended_result_codes(handle, 1)
        let (seconds, attoseconds) = limits.busyTimeout.components
        let milliseconds =
            seconds.multipliedReportingOverflow(by: 1000).partialValue + attoseconds / 1_000_000_000_000_000
        busyTimeout = CInt(clamping: milliseconds)
        sqlite3_busy_timeout(handle, busyTimeout)
        guard csqlite_harden(handle) == SQLITE_OK else { throw failure() }
        switch mode {
        case .read:
            try runInternal("PRAGMA query_only = ON")
        case .write(let durability):
            guard sqlite3_db_readonly(handle, "main") == 0 else {
                throw SQLError(.cannotOpen, "The database \(path) cannot be opened: the file is read-only.")
            }
            guard try setJournalMode("wal", within: limits.busyTimeout) == "wal" else {
                throw SQLError(
                    .cannotOpen,
                    "The database \(path) cannot be opened: its file system cannot hold a write-ahead log.")
            }
            // journal_size_limit truncates a log that grew during a long read; `SQLiteCheckpointer` limits it
            // otherwise. temp_store keeps the journals of savepoints in memory, because a file would cost more than the
            // rest of a write. On Apple systems only F_FULLFSYNC reaches the disk; the two fullfsync pragmas have no
            // effect elsewhere.
            try runInternal(
                """
                PRAGMA synchronous = \(durability == .full ? "FULL" : "OFF");
                PRAGMA fullfsync = \(durability == .full ? "ON" : "OFF");
                PRAGMA checkpoint_fullfsync = \(durability == .full ? "ON" : "OFF");
                PRAGMA journal_size_limit = 67108864;
                PRAGMA cache_size = -32768;
                PRAGMA secure_delete = ON;
                PRAGMA temp_store = MEMORY;
                PRAGMA foreign_keys = ON;
                """)
            observeLog()
        case .plain:
            try runInternal("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA secure_delete = ON")
        }
        sqlite3_set_authorizer(handle, authorize, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Copies the log into the file and disables it. Throws `busy` when another connection has the file open.
    func leaveWriteAheadLog(within timeout: Duration) throws(SQLError) {
        isInternalStatement = true
        defer { isInternalStatement = false }
        guard try setJournalMode("delete", within: timeout) == "delete" else {
            throw SQLError(.busy, "The database \(path) is in use by another process; stop that process and try again.")
        }
    }

    /// Sets the journal mode, and returns the new one. Waits for another connection that sets the mode of the same new
    /// file, because SQLite itself does not wait for it.
    private func setJournalMode(_ mode: String, within timeout: Duration) throws(SQLError) -> String {
        var prepared: OpaquePointer?
        guard sqlite3_prepare_v2(handle, "PRAGMA journal_mode = \(mode)", -1, &prepared, nil) == SQLITE_OK else {
            throw failure()
        }
        defer { sqlite3_finalize(prepared) }
        let deadline = ContinuousClock.now + timeout
        var status = sqlite3_step(prepared)
        while status & 0xFF == SQLITE_BUSY, ContinuousClock.now < deadline {
            sqlite3_reset(prepared)
            Thread.sleep(forTimeInterval: 0.002)
            status = sqlite3_step(prepared)
        }
        guard status == SQLITE_ROW, let answer = sqlite3_column_text(prepared, 0) else { throw failure() }
        return String(cString: answer)
    }
}

/// Stops SQLite's memory statistics. Used once in a process, before its first connection.
private let memoryIsNotCounted: Void = csqlite_stop_counting_memory()

/// Pragmas that only read.
private let inspectingPragmas: Set<String> = [
    "compile_options", "foreign_key_check", "foreign_key_list", "index_info", "index_list", "index_xinfo",
    "integrity_check", "quick_check", "table_info", "table_list", "table_xinfo",
]

/// Decides whether a statement may be prepared. A global function, because a closure could be bound to an actor, and
/// SQLite calls it on any thread.
private func authorize(
    context: UnsafeMutableRawPointer?, action: CInt, first: UnsafePointer<CChar>?, second: UnsafePointer<CChar>?,
    database: UnsafePointer<CChar>?, trigger: UnsafePointer<CChar>?
) -> CInt {
    guard let context else { return SQLITE_DENY }
    let connection = Unmanaged<SQLiteConnection>.fromOpaque(context).takeUnretainedValue()
    if connection.isInternalStatement { return SQLITE_OK }
    switch action {
    case SQLITE_TRANSACTION, SQLITE_SAVEPOINT, SQLITE_ATTACH, SQLITE_DETACH:
        return SQLITE_DENY
    case SQLITE_PRAGMA:
        guard let first else { return SQLITE_DENY }
        return inspectingPragmas.contains(String(cString: first).lowercased()) ? SQLITE_OK : SQLITE_DENY
    default:
        return SQLITE_OK
    }
}
