import Foundation
import Primitives

/// A `SQLDatabase` in a SQLite file: write-ahead log, readers that never wait for the writer, group commit.
///
///     let database = try SQLiteDatabase(path: "/var/lib/souk/ledger.sqlite")
///
/// A file is open once in a process (`alreadyOpen` otherwise): share the database. Another process may open the same
/// file; the two then wait for each other's commits, up to `Configuration.busyTimeout`. Who keeps in memory what the
/// database says must keep others from writing it: see `Configuration.isExclusive`. The file must be on a local file
/// system, where the log and the shared memory (`-wal`, `-shm`) lie beside it while it is open. A file that is made here
/// can be read by its owner alone.
///
/// Text in double quotes is a name, never a string. Of the pragmas, only those that inspect may be used.
public final class SQLiteDatabase: SQLDatabase {
    /// What may be set; the defaults suit a server.
    public struct Configuration: Sendable {
        /// How long to wait for another process that holds the database locked before throwing `busy`.
        public var busyTimeout: Duration = .seconds(5)
        /// How many connections for reading are kept open between reads. More are opened when more threads read at once.
        public var idleReaders = 8
        /// How many prepared statements each connection keeps; the least recently used goes first.
        public var cachedStatements = 128
        /// How many queued writes share one commit at most.
        public var groupLimit = 256
        /// Whether to refuse, with `alreadyOpen`, a file that another process has open with this set, and to be the one
        /// that has it open until `close`. The locks are advisory, on the file and on `<file>.lock`, and end with the
        /// process however that ends. Tools that read or copy the file are not kept out.
        public var isExclusive = false

        /// How many pages are written to the log until it is folded into the file: 48 MiB, so that a page which many
        /// writes touch is copied once for all of them.
        var checkpointPages = 12_000

        public init() {}
    }

    public let dialect = SQLDialect.sqlite
    /// The file, as given.
    public let path: String

    private let readers: SQLiteReaders
    private let file: OpenFile
    let writer: SQLiteWriter

    /// Opens the file at `path` and makes it if there is none; its folder must exist.
    ///
    /// Throws `SQLError` with `cannotOpen`, `notADatabase`, `corrupt`, `busy` or `alreadyOpen`, naming the path and the
    /// reason.
    public convenience init(path: String, configuration: Configuration = Configuration()) throws {
        try self.init(path: path, configuration: configuration, durability: .full, folderToRemove: nil)
    }

    /// A database that is gone once closed or forgotten, for tests and demonstrations: the same in everything but
    /// durability, which it has none of. Lies in memory where the system has a file system for that, else in the
    /// temporary folder; or in a new folder inside `folder`.
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
        /// Another connection to the file that is open.
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
            // The readers go first: the last connection to close must be one that may fold the log into the file.
            readers.close()
            checkpointer.close()
            // While the file is open still: a number that a removed file gives up belongs to the next one at once.
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

    /// `write` for a thread that may block, as a command line tool's; not to be called from a body.
    @discardableResult
    public func writeAndWait<T: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> T) throws -> T {
        try writer.writeAndWait(body)
    }

    /// What is deleted is overwritten in the file; the log still has the pages of before, until it is cut off here.
    public func removeDeleted() async throws -> Bool {
        try await writer.runBetweenCommits { try $0.truncateLog() }
    }

    /// Looks at the names and sizes of the file and its log, and at nothing in them. Every write does the same.
    public func checkFiles() throws { try file.check() }

    public func checkRoom() throws { try file.checkRoom() }

    /// Takes as much of the disk again for as long as it runs.
    public func compact(upTo bytes: Int64) async throws -> Bool {
        try await writer.runBetweenCommits { [file] connection in
            guard try connection.size() <= bytes else { return false }
            try connection.runInternal("VACUUM")
            // Learns that the file becomes smaller.
            try file.check()
            return true
        }
    }

    /// Writes the file anew, however large it is, and removes what was deleted.
    public func compact() async throws {
        _ = try await compact(upTo: .max)
        _ = try await removeDeleted()
    }

    public func close() async {
        readers.refuse()
        await writer.close()
    }
}
