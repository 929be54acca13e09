import CSQLite
import Dispatch
import Primitives

/// Folds the log of a database into its file, most of it beside the writer: on a queue and a connection of its own, so that
/// no write waits until pages are copied and the file is synced.
///
/// What is written meanwhile stays in the log, which begins anew only when all of it is in the file. So the writer folds
/// the rest itself, between two commits; there is little left then. And it waits where the log grows faster than it is
/// folded.
final class SQLiteCheckpointer: Sendable {
    /// What the writer has to do after a commit.
    enum Step: Equatable {
        case goOn
        /// To have the log folded beside it.
        case start
        /// To wait for that.
        case wait
        /// To fold the rest.
        case finish
    }

    /// When which step is due, of the length of the log in pages.
    struct Schedule {
        /// How much is written until the log is folded again.
        let pages: Int
        private(set) var isRunning = false
        var isDone = false
        /// The length at the last folding; a log that is shorter began anew.
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

    /// - Parameters:
    ///   - check: throws where the log is damaged: SQLite would copy what is left of it.
    ///   - open: makes the connection, when it is needed first.
    init(
        pages: Int, check: @escaping @Sendable () throws -> Void,
        open: @escaping @Sendable () throws -> SQLiteConnection
    ) {
        schedule = Locked(Schedule(pages: pages))
        self.check = check
        self.open = open
    }

    /// To be called by the writer after each commit, with its own connection.
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

    /// Without a connection nothing is folded here, and everything by the writer.
    private func runCheckpoint() {
        let present = connection.withLock { $0 }
        if let own = present ?? (try? open()) {
            connection.withLock { $0 = own }
            if (try? check()) != nil { own.checkpoint() }
        }
        schedule.withLock { $0.isDone = true }
    }

    /// Waits for the end of what is being folded and closes the connection. Called once, after the last commit.
    func close() {
        queue.sync {}
        connection.withLock { $0 }?.close()
    }
}

extension SQLiteConnection {
    /// Copies what it can of the log into the file, without waiting for anybody. What fails is tried again with the next
    /// pages: until then the log has them.
    fileprivate func checkpoint() {
        guard !DamagedFiles.contains(path) else { return }
        sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
    }

    /// Copies all of the log into the file and cuts the log to nothing. Waits for nobody: `false` when somebody reads an
    /// older state or is at the log.
    func truncateLog() throws(SQLError) -> Bool {
        sqlite3_busy_timeout(handle, 0)
        defer { sqlite3_busy_timeout(handle, busyTimeout) }
        let result = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
        if result & 0xFF == SQLITE_BUSY || result & 0xFF == SQLITE_LOCKED { return false }
        guard result == SQLITE_OK else { throw failure() }
        logLength = 0
        return true
    }

    /// Has `logLength` set by each commit, and the log not folded by SQLite itself.
    func observeLog() {
        _ = sqlite3_wal_hook(handle, noteLogLength, Unmanaged.passUnretained(self).toOpaque())
    }
}

/// A function of its own, as the authorizer is.
private func noteLogLength(
    context: UnsafeMutableRawPointer?, handle: OpaquePointer?, database: UnsafePointer<CChar>?, pages: CInt
) -> CInt {
    if let context { Unmanaged<SQLiteConnection>.fromOpaque(context).takeUnretainedValue().logLength = Int(pages) }
    return SQLITE_OK
}
