import Foundation
import Primitives
import SQLStorage

/// A `SQLDatabase` in PostgreSQL 14 or newer, over libpq: any number of programs share it.
///
///     let database = try PostgresDatabase(url: "postgres://souk@db.example.com/ledger?sslmode=verify-full")
///
/// The URL is libpq's (https://www.postgresql.org/docs/current/libpq-connect.html): several hosts, TLS, and names of
/// files are parameters in it. The password comes from the file that `PGPASSFILE` names or from `PGPASSWORD`.
///
/// Bodies of `write` run at the same time, on threads of their own, and act as if they ran one at a time
/// (`SERIALIZABLE`). One that another was faster than runs again. A body whose connection is lost before its commit
/// runs again on another.
public final class PostgresDatabase: SQLDatabase {
    /// Settings; the defaults suit a server.
    public struct Configuration: Sendable {
        /// How many bodies of `write` run at the same time at most, each on a connection of its own.
        public var writers = 8
        /// How many connections for reading are kept open between reads. More are opened when more threads read at once.
        public var idleReaders = 8
        /// How many connections share the look-ups.
        public var lookupConnections = 2
        /// How long to wait for a connection.
        public var connectTimeout: Duration = .seconds(5)
        /// How long to wait for the answer to what is sent in one go.
        public var timeout: Duration = .seconds(30)
        /// How long a statement waits for a row that another transaction has locked.
        public var lockTimeout: Duration = .seconds(5)
        /// For how long a body is run again that others were faster than, or that lost its connection.
        public var retryTimeout: Duration = .seconds(10)
        /// How transactions that write are kept apart.
        public var isolation = Isolation.serializable
        /// Whether the database is a copy that follows another and takes no writes. It may become the primary, and is
        /// connected to when it is first read.
        public var isStandby = false
        /// Whether connections keep statements prepared. `false` behind a pooler that shares connections between
        /// transactions, such as PgBouncer.
        public var keepsStatements = true
        /// Whether the URL may hold the password, as one out of a private file may.
        public var allowsPasswordInURL = false

        /// The defaults.
        public init() {}
    }

    /// How transactions that write are kept apart from each other.
    public enum Isolation: Sendable {
        /// As if they ran one at a time, whatever they read and write.
        case serializable
        /// Only what is locked or unique is safe. For programs that decide every conflict by a row.
        case readCommitted
    }

    public let dialect = SQLDialect.postgreSQL
    let settings: PostgresSettings
    private let readers: PostgresReaders
    private let writers: PostgresWriters
    private let lookups: PostgresLookups
    let statements = PostgresStatements()
    private let waiting = DispatchQueue(label: "PostgreSQL reads", attributes: .concurrent)

    /// Connects to the database that `url` names.
    ///
    /// Throws `SQLError` with `cannotOpen` for a malformed URL, a refused password, a server that is missing or too old, or
    /// a database of another encoding; with `readOnly` when no server takes writes. A standby is not connected to yet.
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

    /// How many times the server was asked something and answered, since the start: the cost of what was done.
    package var roundTrips: Int { settings.trips.withLock { $0 } }

    public func migrate(_ migrations: [SQLMigration]) throws {
        let plan = try MigrationPlan(migrations, dialect: dialect)
        guard !readers.isClosed else { throw SQLError.closed(settings.place) }
        let connection = try PostgresConnection(settings, for: .transactions)
        defer { connection.close() }
        try plan.apply(to: connection, statements)
    }

    /// Waits for the server on this thread.
    public func read<T: Sendable>(_ body: (any SQLConnection) throws -> T) throws -> T {
        try readers.read(body)
    }

    /// Waits for the server on a thread of its own.
    public func readAsync<T: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> T
    ) async throws -> T {
        try await LockedContinuation.wait { continuation in
            waiting.async { [self] in continuation.resume(with: Result { try read(body) }) }
        }
    }

    /// Sends what many callers ask at the same time together, over a few connections.
    public func lookup(_ sql: String, _ values: [SQLValue]) async throws -> SQLRow? {
        let statement = try statements.statement(sql)
        guard statement.isQuery else {
            throw SQLError(.misuse, "A look-up in the database \(settings.place) is a SELECT.")
        }
        return try await lookups.first(PostgresQuery(statement: statement, values: values))
    }

    @discardableResult
    public func write<T: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> T) async throws -> T {
        try await writers.write(body)
    }

    /// The server and the database, for messages; without a password.
    public var place: String { settings.place }

    /// A URL without the password and other parameters, for people to read. Throws `cannotOpen` for what is no URL of a
    /// database.
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
