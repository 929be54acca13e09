import Foundation
import Primitives

/// A `SQLDatabase` in a SQLite file: a write-ahead log, readers that never wait for the writer, and group commit.
///
///     let database = try SQLiteDatabase(path: "/var/lib/souk/ledger.sqlite")
///
/// While a process has a file open, it cannot open the file a second time: `init` throws `alreadyOpen`. Another process
/// may open the same file; the two processes wait for each other's commits, up to `Configuration.busyTimeout`. A
/// program that caches the content must keep others from writing: see `Configuration.isExclusive`. The file must be on
/// a local file system. The log and the shared memory (`-wal`, `-shm`) are beside it while it is open. A file that is
/// created here can be read only by its owner.
///
/// Text in double quotes is a name, never a string. Only pragmas that read are allowed.
public final class SQLiteDatabase: SQLDatabase {
    /// The settings of a database; the defaults are for a server.
    public struct Configuration: Sendable {
        /// The longest time to wait for another process that has locked the database, before `busy` is thrown.
        public var busyTimeout: Duration = .seconds(5)
        /// The number of reading connections that are kept open between reads. More are opened when more threads read
        /// at once.
        public var idleReaders = 8
        /// The number of prepared statements that each connection keeps; the least recently used is removed first.
        public var cachedStatements = 128
        /// The largest number of queued writes that share one commit. A commit of 12 or more takes no write that arrived
        /// after its transaction began.
        public var groupLimit = 256
        /// Whether to lock the file until `close`, against other processes that also set this. If another process has
        /// the lock, `init` throws `alreadyOpen`. The locks are advisory, on the file and on `<file>.lock`, and end
        /// with the process. Tools that read or copy the file are not excluded.
        public var isExclusive = false

        /// The number of pages that are written to the log between two checkpoints: 49 MB, so that a page that is
        /// written many times is copied once.
        var checkpointPages = 12_000

        /// Creates the default settings.
        public init() {}
    }

    public let dialect = SQLDialect.sqlite
    /// The path of the file, as given.
    public let path: String

    private let readers: SQLiteReaders
    private let file: OpenFile
    let writer: SQLiteWriter

    /// Opens the file at `path`, and creates it if it is missing; its folder must exist.
    ///
    /// - Parameters:
    ///   - path: the path of the file.
    ///   - configuration: the settings.
    /// - Throws: ``SQLError`` with `cannotOpen`, `notADatabase`, `corrupt`, `busy` or `alreadyOpen`.
    public convenience init(path: String, configuration: Configuration = Configuration()) throws {
        try self.init(path: path, configuration: configuration, durability: .full, folderToRemove: nil)
    }

    /// Creates a database for tests and demonstrations that is removed when it is closed or deallocated. It is not
    /// durable, and otherwise works like any database. It is in memory if the system has a file system for that, else
    /// in the temporary folder.
    ///
    /// - Parameters:
    ///   - folder: the folder in which a new folder with the database is created instead.
    ///   - configuration: the settings.
    /// - Returns: the open database.
    /// - Throws: ``SQLError``.
    public static func temporary(
        in folder: String? = nil, configuration: Configuration = Configuration()
    ) throws -> SQLiteDatabase {
        let own = try TemporaryFolder.make(in: folder)
        do {
            return try SQLiteDatabase(
                path: own + "/database.sqlite", configuration: configuration, durability: .none, folderToRemove: own)
        } catch {
            TemporaryFolder.remove(own)
            throw error
        }
    }

    private init(
        path: String, configuration: Configuration, durability: SQLiteConnection.Durability, folderToRemove: String?
    ) throws {
        self.path = path
        let limits = SQLiteConnection.Limits(configuration)
        DamagedFiles.forget(path)
        let connection = try SQLiteConnection(path: path, mode: .write(durability), limits: limits)
        let file: OpenFile
        let lock: ProcessLock?
        do {
            file = try OpenFile(path: path)
            do {
                lock = configuration.isExclusive ? try ProcessLock(database: path) : nil
                if lock != nil { SQLiteFile.removeUnfinishedCopies(of: SQLiteFile.resolvingLinks(path)) }
            } catch {
                file.release()
                connection.close()
                file.closeDescriptor()
                throw error
            }
        } catch {
            connection.close()
            throw error
        }
        self.file = file
        let connect = { @Sendable (mode: SQLiteConnection.Mode) in
            let another = try SQLiteConnection(path: path, mode: mode, limits: limits)
            try file.check()
            return another
        }
        readers = SQLiteReaders(path: path, idleLimit: configuration.idleReaders) { try connect(.read) }
        let checkpointer = SQLiteCheckpointer(pages: configuration.checkpointPages, check: file.check) {
            try connect(.write(durability))
        }
        writer = SQLiteWriter(
            connection: connection, file: file, groupLimit: configuration.groupLimit,
            whenCommitted: checkpointer.committed
        ) { [readers] in
            // The last connection to close must be one that can write the file, for the final checkpoint.
            readers.close()
            checkpointer.close()
            // Before the descriptor is closed, because the system may reuse the file's number at once.
            file.release()
            connection.close()
            file.closeDescriptor()
            lock?.release()
            if let folderToRemove { TemporaryFolder.remove(folderToRemove) }
        }
    }

    deinit {
        writer.finish()
    }

    public func migrate(_ migrations: [SQLMigration]) throws {
        let plan = try MigrationPlan(migrations, dialect: dialect)
        try writer.runAlone { [path] connection in try plan.apply(to: connection, at: path) }
    }

    public func read<T: Sendable>(_ body: (any SQLConnection) throws -> T) throws -> T {
        try readers.read(body)
    }

    @discardableResult
    public func write<T: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> T) async throws -> T {
        try await writer.write(body)
    }

    /// Runs `body` as `write` does, and blocks the thread, for command line tools. Must not be called from a body.
    ///
    /// - Parameter body: the statements of the transaction.
    /// - Returns: the result of `body`.
    /// - Throws: the errors of `write`.
    @discardableResult
    public func writeAndWait<T: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> T) throws -> T {
        try writer.writeAndWait(body)
    }

    /// Truncates the log, which still has old pages. The file itself needs no change, because SQLite overwrites deleted
    /// data in it at once. Throws ``SQLError``.
    public func removeDeleted() async throws -> Bool {
        try await writer.runBetweenCommits { try $0.truncateLog() }
    }

    /// Checks the identities and sizes of the file and its log, and the new part of the log. Every write does the same.
    /// Throws ``SQLError`` with `storageFailed`.
    public func checkFiles() throws { try file.check() }

    public func checkRoom() throws { try file.checkRoom() }

    /// The free space in bytes for this process on the file system of the database; `nil` if it cannot be read.
    package var freeBytes: Int64? { file.freeBytes }

    /// The number of writes that wait for the thread that writes.
    package var queuedWrites: Int { writer.queuedCount }

    /// Needs free disk space and memory, each as large as the database. Throws ``SQLError``.
    public func compact(upTo bytes: Int64) async throws -> Bool {
        try await writer.runBetweenCommits { [file] connection in
            guard try connection.size() <= bytes else { return false }
            try file.check()
            try connection.runInternal("VACUUM")
            try file.check()
            return true
        }
    }

    /// Rewrites a file of any size without deleted data. The log keeps deleted data while a reader uses an older state.
    ///
    /// - Throws: ``SQLError``.
    public func compact() async throws {
        _ = try await compact(upTo: .max)
        _ = try await removeDeleted()
    }

    public func close() async {
        readers.refuse()
        await writer.close()
    }
}
