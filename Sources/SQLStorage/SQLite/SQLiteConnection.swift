import CSQLite
import Foundation

/// One connection to a file, with its prepared statements.
///
/// Sendable because a connection is handed from thread to thread under a lock (the readers') or stays on one thread (the
/// writer's), and is used by one at a time; SQLite's own mutex is off.
final class SQLiteConnection: @unchecked Sendable {
    enum Durability { case full, none }

    enum Mode {
        case read
        case write(Durability)
        /// Durable, without a log beside the file: for copies.
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

    /// What only the engine itself may say; bodies are refused it.
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
    /// In milliseconds.
    private(set) var busyTimeout: CInt = 0
    /// How many statements of bodies were run that may change something.
    var writes = 0
    /// Pages in the log after the last commit.
    var logLength = 0
    /// Read by the authorizer: whether what is being prepared comes from the engine.
    fileprivate var isEngineSpeaking = false

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

    /// Whether rows wait for the commit to see whether what they refer to exists.
    var hasUnresolvedForeignKeys: Bool {
        var current: CInt = 0
        var highest: CInt = 0
        sqlite3_db_status(handle, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
        return current != 0
    }

    func run(_ control: Control) throws(SQLError) {
        isEngineSpeaking = true
        defer { isEngineSpeaking = false }
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

    /// Leaves whatever transaction there is without keeping anything of it; says nothing, as there is no way back.
    func endQuietly() {
        if isInTransaction { try? run(.rollback) }
    }

    /// Runs SQL of the engine's own, results ignored.
    func runInternal(_ sql: String) throws(SQLError) {
        isEngineSpeaking = true
        defer { isEngineSpeaking = false }
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure() }
    }

    /// The size of the database in bytes, with the pages that only the log has.
    func size() throws(SQLError) -> Int64 {
        try internalNumber("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
    }

    /// A number that changes when another connection commits.
    func dataVersion() throws(SQLError) -> Int64 { try internalNumber("PRAGMA data_version") }

    private func internalNumber(_ sql: String) throws(SQLError) -> Int64 {
        isEngineSpeaking = true
        defer { isEngineSpeaking = false }
        var prepared: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &prepared, nil) == SQLITE_OK else { throw failure() }
        defer { sqlite3_finalize(prepared) }
        guard sqlite3_step(prepared) == SQLITE_ROW else { throw failure() }
        return sqlite3_column_int64(prepared, 0)
    }

    /// Gives `body` this connection for as long as it runs, and throws its first failed statement's error even if `body`
    /// caught it.
    func session<T>(_ body: (any SQLConnection) throws -> T) throws -> T {
        let session = SQLiteSession(self)
        defer { session.end() }
        let result = try body(session)
        if let failure = session.failure { throw failure }
        return result
    }

    // MARK: - Statements

    /// A statement ready to run, from the cache or new. Give it back with `keep`.
    func statement(_ sql: String) throws(SQLError) -> SQLiteStatement {
        if let cached = cache.take(sql) { return cached }
        let (statement, rest) = try prepare(sql, from: 0, isPersistent: true)
        guard let statement else {
            throw SQLError(.invalidStatement, "An empty statement was given to the database \(path).")
        }
        do throws(SQLError) {
            if let rest, try prepare(sql, from: rest, isPersistent: false).statement != nil {
                throw SQLError(.invalidStatement, "One statement at a time is run, but two were given.")
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

    /// The texts of the statements that are kept.
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
                throw SQLError(.invalidStatement, "A migration has no placeholders.")
            }
            var result = SQLITE_ROW
            while result == SQLITE_ROW { result = sqlite3_step(statement) }
            guard result == SQLITE_DONE else { throw failure() }
        }
    }

    /// The first statement of `sql` from the UTF-8 offset on, nil if there is none, and the offset of what follows it.
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

    /// The error of the call that failed last.
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
        // SQLite would found a new database here and throw the log away, with all that was committed into it.
        if !isThere || status.st_size == 0, Self.hasLog(path) {
            throw SQLError(
                .corrupt,
                "The database \(path) is \(isThere ? "empty" : "missing"), and there is a write-ahead log beside it. "
                    + "Put the file back, or restore it from a backup.")
        }
        if isThere {
            if status.st_mode & S_IFMT == S_IFDIR { throw refusal("it is a folder; name a file in it") }
            // Opening a pipe would wait for its other end.
            guard status.st_mode & S_IFMT == S_IFREG else { throw refusal("it is no regular file; name another") }
            // SQLite takes a file of one byte for an empty one and would write over it.
            if status.st_size == 1 {
                throw SQLError(.notADatabase, "The file \(path) is not a database; name another file.")
            }
        } else if reason == ENOENT {
            let folder = (path as NSString).deletingLastPathComponent
            if access(folder.isEmpty ? "." : folder, F_OK) != 0 { throw refusal("there is no folder \(folder)") }
            if access(folder.isEmpty ? "." : folder, W_OK) != 0 { throw refusal("its folder may not be written") }
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

    /// Whether something lies in the log of the database at `path`, which is beside the file that links lead to.
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
                throw SQLError(.cannotOpen, "The database \(path) cannot be opened: the file may not be written.")
            }
            guard try setJournalMode("wal", within: limits.busyTimeout) == "wal" else {
                throw SQLError(
                    .cannotOpen,
                    "The database \(path) cannot be opened: its file system cannot hold a write-ahead log.")
            }
            // The log is cut back to 64 MiB after a long reader made it grow; `SQLiteCheckpointer` sees to the rest. What is
            // deleted is overwritten, and what is set aside to undo one member of a group stays in memory: a file would
            // cost more than all else of a write. On Apple systems only F_FULLFSYNC reaches the disk; elsewhere those two
            // lines do nothing.
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

    /// Folds the log into the file and does without one from now on. Throws `busy` when somebody else has the file open.
    func leaveWriteAheadLog(within timeout: Duration) throws(SQLError) {
        isEngineSpeaking = true
        defer { isEngineSpeaking = false }
        guard try setJournalMode("delete", within: timeout) == "delete" else {
            throw SQLError(.busy, "The database \(path) is in use by another process; end that one and try again.")
        }
    }

    /// SQLite does not wait by itself where another connection changes the mode of the same new file: this waits.
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

/// Once in a process, before its first connection.
private let memoryIsNotCounted: Void = csqlite_stop_counting_memory()

/// Pragmas that look and do not touch.
private let inspectingPragmas: Set<String> = [
    "compile_options", "foreign_key_check", "foreign_key_list", "index_info", "index_list", "index_xinfo",
    "integrity_check", "quick_check", "table_info", "table_list", "table_xinfo",
]

/// SQLite asks, while it prepares a statement, whether that may be done. A function of its own, because a closure could
/// be bound to an actor that SQLite's thread is not on.
private func authorize(
    context: UnsafeMutableRawPointer?, action: CInt, first: UnsafePointer<CChar>?, second: UnsafePointer<CChar>?,
    database: UnsafePointer<CChar>?, trigger: UnsafePointer<CChar>?
) -> CInt {
    guard let context else { return SQLITE_DENY }
    // The connection outlives its handle, which is what calls this.
    let connection = Unmanaged<SQLiteConnection>.fromOpaque(context).takeUnretainedValue()
    if connection.isEngineSpeaking { return SQLITE_OK }
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
