import Foundation
import Primitives
import SQLStorage

/// A `SQLDatabase` in PostgreSQL 14 or newer, over libpq. Any number of programs can share it.
///
///     let database = try PostgresDatabase(url: "postgres://souk@db.example.com/ledger?sslmode=verify-full")
///
/// The URL has libpq's format (https://www.postgresql.org/docs/current/libpq-connect.html), with parameters for several
/// hosts, TLS and files. The password comes from the file that `PGPASSFILE` names or from `PGPASSWORD`.
///
/// Bodies of `write` run concurrently on their own threads. They are serializable unless `Configuration.isolation` says
/// otherwise. After a conflict a body runs again. A body whose connection is lost before its commit runs again on
/// another connection.
public final class PostgresDatabase: SQLDatabase, ConnectionPool {
    /// The settings of a database; the defaults are for a server.
    public struct Configuration: Sendable {
        /// The largest number of concurrent bodies of `write`, each with its own connection.
        public var writers = 8
        /// The number of reading connections that are kept open between reads. More are opened when more threads read
        /// at once.
        public var idleReaders = 8
        /// The number of connections for lookups.
        public var lookupConnections = 2
        /// The timeout of connecting, in whole seconds; at least one.
        public var connectTimeout: Duration = .seconds(5)
        /// The timeout of the response to statements that are sent together.
        public var timeout: Duration = .seconds(30)
        /// The longest time that a statement waits for a row that another transaction has locked.
        public var lockTimeout: Duration = .seconds(5)
        /// The longest time in which a body is repeated after conflicts or lost connections.
        public var retryTimeout: Duration = .seconds(10)
        /// The isolation of transactions that write.
        public var isolation = Isolation.serializable
        /// Whether the database is a standby, which takes no writes. It may become the primary. The connection is
        /// opened with the first read.
        public var isStandby = false
        /// Whether connections keep prepared statements. Set it to `false` with a pooler that shares connections
        /// between transactions, such as PgBouncer.
        public var keepsStatements = true
        /// Whether the URL may contain the password, for a URL from a private file.
        public var allowsPasswordInURL = false

        /// Creates the default settings.
        public init() {}
    }

    /// The isolation of transactions that write.
    public enum Isolation: Sendable {
        /// Transactions have the same effect as if they ran one at a time.
        case serializable
        /// Protects only locked rows and unique values, for programs in which every conflict concerns one of these.
        case readCommitted
    }

    public let dialect = SQLDialect.postgreSQL
    let settings: PostgresSettings
    private let readers: PostgresReaders
    private let writers: PostgresWriters
    private let lookups: PostgresLookups
    let statements = PostgresStatements()
    private let asyncReads = DispatchQueue(label: "PostgreSQL reads", attributes: .concurrent)

    /// Connects to the database at `url`. The connection to a standby is opened with the first read.
    ///
    /// - Parameters:
    ///   - url: A URL in libpq's format.
    ///   - configuration: The settings.
    /// - Throws: `SQLError` with `cannotOpen` for a malformed URL, a wrong password, a server that is missing or too
    ///   old, or a database of another encoding; with `readOnly` when no server takes writes.
    public init(url: String, configuration: Configuration = Configuration()) throws {
        let settings = try PostgresSettings(url: url, configuration)
        let first = configuration.isStandby ? nil : try PostgresConnection(settings, for: .transactions)
        self.settings = settings
        readers = try PostgresReaders(settings, statements, first: first)
        writers = try PostgresWriters(settings, statements)
        lookups = try PostgresLookups(settings)
    }

    deinit {
        readers.close()
        lookups.finish()
        writers.finish()
    }

    /// The number of round trips since the start, without those of lookups and of migration scripts.
    package var roundTrips: Int { settings.roundTrips.withLock { $0 } }

    /// The use of the connections now.
    package var poolUsage: ConnectionPoolUsage {
        let (writing, queued, waits) = writers.usage
        return ConnectionPoolUsage(
            openConnections: settings.openConnections.withLock(\.self), connectionsInUse: readers.inUse + writing,
            queuedWrites: queued, writeWaits: waits)
    }

    public func migrate(_ migrations: [SQLMigration]) throws {
        let plan = try MigrationPlan(migrations, dialect: dialect)
        guard !readers.isClosed else { throw SQLError.closed(settings.place) }
        let connection = try PostgresConnection(settings, for: .transactions)
        defer { connection.close() }
        try plan.apply(to: connection, statements)
    }

    /// Waits for the server on this thread. Throws as `SQLDatabase.read`.
    public func read<T: Sendable>(_ body: (any SQLConnection) throws -> T) throws -> T {
        try readers.read(body)
    }

    /// Waits for the server on another thread. Throws as `SQLDatabase.read`.
    public func readAsync<T: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> T
    ) async throws -> T {
        try await LockedContinuation.wait { continuation in
            asyncReads.async { [self] in continuation.resume(with: Result { try read(body) }) }
        }
    }

    /// Runs the query `sql` with `values`. Lookups of concurrent callers are sent together over a few connections.
    /// Throws as `SQLDatabase.lookup`, and `misuse` for a statement other than `SELECT` and `VALUES`.
    public func lookup(_ sql: String, _ values: [SQLValue]) async throws -> SQLRow? {
        let statement = try statements.statement(sql)
        guard statement.isQuery else {
            throw SQLError(.misuse, "A lookup in the database \(settings.place) must be a SELECT.")
        }
        return try await lookups.first(PostgresQuery(statement: statement, values: values))
    }

    @discardableResult
    public func write<T: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> T) async throws -> T {
        try await writers.write(body)
    }

    /// The server and the database, for messages, without a password.
    public var place: String { settings.place }

    /// Returns a URL without the password and other parameters, for display.
    ///
    /// - Parameter url: A URL in libpq's format.
    /// - Returns: `postgres://user@host:port/name`, with `?host=` for the folder of a socket.
    /// - Throws: `SQLError` with `cannotOpen` for an invalid URL.
    public static func address(of url: String) throws -> String {
        var configuration = Configuration()
        configuration.allowsPasswordInURL = true
        return try PostgresSettings(url: url, configuration).address
    }

    public func close() async {
        readers.close()
        await lookups.close()
        await writers.close()
    }
}
