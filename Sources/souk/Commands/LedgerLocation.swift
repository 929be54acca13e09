import EntitlementServer
import Foundation
import PostgresStorage
import Primitives
import SQLStorage

/// The database that `--database` names: a SQLite file, or a PostgreSQL database.
enum LedgerLocation: Sendable {
    case file(LedgerFile)
    case postgres(Postgres)

    static let option = Command.Option(
        name: "database", value: "URL",
        help: "the ledger: sqlite:PATH or postgres://user@host/name (sqlite:souk.sqlite)")

    static let isolation = Command.Option(
        name: "database-isolation", value: "LEVEL",
        help: "PostgreSQL: serializable, or read-committed, which is correct too and retries less (serializable)",
        choices: ["serializable", "read-committed"])

    static let preparedStatements = Command.Option(
        name: "prepared-statements", value: "WHAT",
        help: "PostgreSQL: on, or off behind a transaction pooler such as PgBouncer (on)",
        choices: ["on", "off"])

    static let standby = Command.Option(
        name: "standby", value: "URL", help: "PostgreSQL: a standby for reads, used when the database does not answer")
    static let standbyLag = Command.Option(
        name: "standby-lag", value: "DURATION", help: "the longest lag of a standby that is read (10s)")

    /// A PostgreSQL database, by its URL.
    struct Postgres: Sendable {
        let url: String
        /// Whether the URL may contain the password: only if it comes from a file or an environment variable.
        let allowsPassword: Bool
        /// The URL without its password and its other parameters, except the folder of a socket.
        let address: String
        var isolation = PostgresDatabase.Isolation.serializable
        var keepsStatements = true

        /// Throws `UsageError` for an invalid URL.
        init(url: String, allowsPassword: Bool) throws {
            self.url = url
            self.allowsPassword = allowsPassword
            address = try LedgerFile.refusing { try PostgresDatabase.address(of: url) }
        }

        func open(isStandby: Bool = false) throws -> PostgresDatabase {
            var configuration = PostgresDatabase.Configuration()
            configuration.isolation = isolation
            configuration.keepsStatements = keepsStatements
            configuration.isStandby = isStandby
            configuration.allowsPasswordInURL = allowsPassword
            return try LedgerFile.refusing { try PostgresDatabase(url: url, configuration: configuration) }
        }
    }

    /// - Parameter typed: the arguments of the command line alone. A password in a URL among them is rejected, because
    ///   other users of the machine can see it in the list of processes.
    init(_ arguments: Arguments, typed: Arguments) throws {
        try self.init(
            naming: arguments.text("database") ?? "sqlite:souk.sqlite", allowsPassword: typed.text("database") == nil)
        let level = arguments.text(Self.isolation.name)
        let postgresOnly = [Self.isolation.name, Self.preparedStatements.name, Self.standbyLag.name, "former-features"]
        for name in postgresOnly where arguments.text(name) != nil {
            guard case .postgres = self else {
                throw UsageError("--\(name) is for PostgreSQL; --database names a SQLite file")
            }
        }
        guard case .postgres(var postgres) = self else { return }
        postgres.keepsStatements = try Self.keepsStatements(arguments)
        switch level {
        case nil: break
        case "serializable": postgres.isolation = .serializable
        case "read-committed": postgres.isolation = .readCommitted
        default: throw UsageError("--database-isolation is serializable or read-committed")
        }
        self = .postgres(postgres)
    }

    private static func keepsStatements(_ arguments: Arguments) throws -> Bool {
        switch arguments.text(preparedStatements.name) {
        case nil, "on": return true
        case "off": return false
        default: throw UsageError("--prepared-statements is on or off")
        }
    }

    init(_ arguments: Arguments) throws { try self.init(arguments, typed: arguments) }

    /// Opens the standby that `--standby` names; `nil` without the option. Throws `UsageError`.
    func standby(_ arguments: Arguments, typed: Arguments) throws -> PostgresDatabase? {
        guard let url = arguments.text(Self.standby.name) else { return nil }
        guard case .postgres = self, LedgerFile.isPostgres(url),
            case .postgres(var copy) = try LedgerLocation(
                naming: url, allowsPassword: typed.text(Self.standby.name) == nil)
        else { throw UsageError("--standby is postgres://user@host/name, and needs a PostgreSQL --database") }
        copy.keepsStatements = try Self.keepsStatements(arguments)
        return try copy.open(isStandby: true)
    }

    init(naming text: String, allowsPassword: Bool = false) throws {
        self =
            LedgerFile.isPostgres(text)
            ? .postgres(try Postgres(url: text, allowsPassword: allowsPassword)) : .file(try LedgerFile(naming: text))
        umask(0o077)
    }

    /// Opens the database; a SQLite file exclusively or beside a server. Throws `UsageError` when it cannot be opened.
    func open(exclusively: Bool) throws -> any SQLDatabase {
        switch self {
        case .file(let file): try file.open(exclusively: exclusively)
        case .postgres(let postgres): try postgres.open()
        }
    }

    /// The database in the form of `--database`, without a password.
    var name: String {
        switch self {
        case .file(let file): "sqlite:\(file.path)"
        case .postgres(let postgres): postgres.address
        }
    }

    /// The path prefix of key files: beside a SQLite file, else in the working directory.
    var keyFilePrefix: String {
        switch self {
        case .file(let file): file.path
        case .postgres: InputFile.absolute("souk")
        }
    }

    /// Returns the applied and the pending migrations of the ledger. Throws `UsageError` when it cannot be read, or has
    /// migrations of another or a newer program.
    func schema() throws -> SQLSchemaStatus {
        switch self {
        case .file(let file):
            return try LedgerFile.refusing { try file.file().schema(EntitlementService.migrations(for: .sqlite)) }
        case .postgres(let postgres):
            return try postgres.reading { database in
                try database.schema(EntitlementService.migrations(for: .postgreSQL))
            }
        }
    }

    /// Returns the migrations that a server would apply, and changes nothing, also while a server runs. Throws
    /// `UsageError` when a server could not use the database.
    func pendingMigrations() throws -> [String] {
        let folder = (keyFilePrefix as NSString).deletingLastPathComponent
        guard access(folder, W_OK | X_OK) == 0 else {
            throw UsageError("\(FileFailure("write to", folder, errno))")
        }
        guard case .file(let file) = self else { return try schema().pending }
        guard file.exists else {
            try file.requireNoLogAlone()
            return EntitlementService.migrations(for: .sqlite).map(\.name)
        }
        guard access(file.path, W_OK) == 0 else { throw UsageError("\(FileFailure("write to", file.path, errno))") }
        return try schema().pending
    }

    /// Runs `body` on the database as its only writer: no server may have a SQLite file open. Throws `UsageError` as
    /// `withSharedDatabase` does.
    func withOwnDatabase<Value: Sendable>(_ body: (any SQLDatabase) async throws -> Value) async throws -> Value {
        guard case .file(let file) = self else { return try await withSharedDatabase(body) }
        return try await file.withExclusiveDatabase { try await body($0) }
    }

    /// Runs `body` on the database, which a server may have open. Throws `UsageError` for a missing database and for one
    /// with another schema.
    func withSharedDatabase<Value: Sendable>(_ body: (any SQLDatabase) async throws -> Value) async throws -> Value {
        switch self {
        case .file(let file): return try await file.withSharedDatabase { try await body($0) }
        case .postgres(let postgres):
            let database = try postgres.open()
            return try await database.closing {
                let status = try LedgerFile.refusing {
                    try database.schema(EntitlementService.migrations(for: .postgreSQL))
                }
                try LedgerFile.requireComplete(status, database.place)
                return try await body(database)
            }
        }
    }
}

extension LedgerLocation.Postgres {
    /// Runs `body` on the database. Throws `UsageError` when it cannot be opened or is not a ledger of this version.
    func reading<Value>(_ body: (PostgresDatabase) throws -> Value) throws -> Value {
        let database = try open()
        return try LedgerFile.refusing { try body(database) }
    }
}

extension SQLDatabase {
    /// Runs `body`, then closes the database, also when `body` throws.
    func closing<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            let value = try await body()
            await close()
            return value
        } catch {
            await close()
            throw error
        }
    }
}
