import CSQLite
import Dispatch
import Primitives

/// Copies the write-ahead log into the database file (a checkpoint), mostly on its own queue and connection. So writes do
/// not wait until pages are copied and the file is synced.
///
/// Meanwhile, writes extend the log. The log restarts only after all of it was copied, so the writer itself copies the
/// rest between two commits. If the log grows faster than it is copied, the writer waits.
final class SQLiteCheckpointer: Sendable {
    /// The task of the writer after a commit.
    enum Step: Equatable {
        case goOn
        /// Start a checkpoint on the queue.
        case start
        /// Wait for the running checkpoint.
        case wait
        /// Copy the rest of the log on the writer's thread.
        case finish
    }

    /// Decides about the next step from the length of the log in pages.
    struct Schedule {
        /// The number of pages that are written between two checkpoints.
        let pages: Int
        private(set) var isRunning = false
        var isDone = false
        /// The length at the last checkpoint; a shorter log has restarted.
        private var lastLength = 0

        init(pages: Int) { self.pages = pages }

        mutating func step(at length: Int) -> Step {
            if length < lastLength { lastLength = 0 }
            if isDone {
                (isRunning, isDone) = (false, false)
                lastLength = length
                return .finish
            }
            if isRunning { return length - lastLength >= 2 * pages ? .wait : .goOn }
            guard length - lastLength >= pages else { return .goOn }
            isRunning = true
            return .start
        }
    }

    private let queue = DispatchQueue(label: "SQLite log")
    private let schedule: Locked<Schedule>
    private let open: @Sendable () throws -> SQLiteConnection
    private let check: @Sendable () throws -> Void
    private let connection = Locked<SQLiteConnection?>(nil)

    /// Creates a checkpointer.
    ///
    /// - Parameters:
    ///   - pages: the number of pages that are written between two checkpoints.
    ///   - check: throws if the log is damaged. Then nothing is copied, because SQLite would copy an incomplete log.
    ///   - open: opens the connection, at its first use.
    init(
        pages: Int, check: @escaping @Sendable () throws -> Void,
        open: @escaping @Sendable () throws -> SQLiteConnection
    ) {
        schedule = Locked(Schedule(pages: pages))
        self.check = check
        self.open = open
    }

    /// The writer calls this after each commit, with its own connection.
    func committed(on writer: SQLiteConnection) {
        switch schedule.withLock({ $0.step(at: writer.logLength) }) {
        case .goOn: break
        case .start: queue.async { [self] in runCheckpoint() }
        case .wait:
            queue.sync {}
            committed(on: writer)
        case .finish: writer.checkpoint()
        }
    }

    /// Runs a checkpoint on the queue. If no connection can be opened, the writer later copies the whole log.
    private func runCheckpoint() {
        let present = connection.withLock { $0 }
        if let own = present ?? (try? open()) {
            connection.withLock { $0 = own }
            if (try? check()) != nil { own.checkpoint() }
        }
        schedule.withLock { $0.isDone = true }
    }

    /// Waits for a running checkpoint and closes the connection. Called once, after the last commit.
    func close() {
        queue.sync {}
        connection.withLock { $0 }?.close()
    }
}

extension SQLiteConnection {
    /// Copies as much of the log as possible into the file, without waiting for readers. Ignores errors: the pages stay in
    /// the log, and the next checkpoint copies them.
    fileprivate func checkpoint() {
        guard !DamagedFiles.contains(path) else { return }
        sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
    }

    /// Copies the whole log into the file and truncates the log. Does not wait: returns `false` when a reader uses an
    /// older state, or another connection uses the log.
    func truncateLog() throws(SQLError) -> Bool {
        sqlite3_busy_timeout(handle, 0)
        defer { sqlite3_busy_timeout(handle, busyTimeout) }
        let result = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
        if result & 0xFF == SQLITE_BUSY || result & 0xFF == SQLITE_LOCKED { return false }
        guard result == SQLITE_OK else { throw failure() }
        logLength = 0
        return true
    }

    /// Updates `logLength` after each commit, and disables SQLite's own checkpoints.
    func observeLog() {
        _ = sqlite3_wal_hook(handle, noteLogLength, Unmanaged.passUnretained(self).toOpaque())
    }
}

/// A global function, because a closure could be bound to an actor.
private func noteLogLength(
    context: UnsafeMutableRawPointer?, handle: OpaquePointer?, database: UnsafePointer<CChar>?, pages: CInt
) -> CInt {
    if let context { Unmanaged<SQLiteConnection>.fromOpaque(context).takeUnretainedValue().logLength = Int(pages) }
    return SQLITE_OK
}
