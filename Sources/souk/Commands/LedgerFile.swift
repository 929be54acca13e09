import EntitlementServer
import Foundation
import SQLStorage

/// A ledger in a SQLite file.
struct LedgerFile: Sendable {
    static let option = Command.Option(
        name: "database", value: "sqlite:PATH", help: "the ledger (sqlite:souk.sqlite)")

    /// The absolute path.
    let path: String

    init(_ arguments: Arguments) throws { try self.init(naming: arguments.text("database") ?? "sqlite:souk.sqlite") }

    static func isPostgres(_ text: String) -> Bool {
        text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
    }

    init(naming text: String, called name: String = "--database") throws {
        guard !Self.isPostgres(text) else {
            throw UsageError(
                "This command is for a ledger in a SQLite file; use the tools of PostgreSQL, such as pg_dump"
            )
        }
        guard text.hasPrefix("sqlite:"), text.count > "sqlite:".count else {
            throw UsageError("\(name) is sqlite:PATH or postgres://user@host:port/name, not \(text.quoted)")
        }
        path = InputFile.absolute(String(text.dropFirst("sqlite:".count)))
        // Files beside a ledger are readable by their owner only, whatever the umask was.
        umask(0o077)
    }

    /// The path of the ledger itself if `path` is a symbolic link. Its log, lock and former files are beside it, not
    /// beside the link.
    var resolvedPath: String { SQLiteFile.resolvingLinks(path) }

    var exists: Bool { FileManager.default.fileExists(atPath: path) }

    /// Throws `UsageError` when the file is missing but its write-ahead log exists: a new ledger would destroy the log.
    func requireNoLogAlone() throws {
        let log = try? FileManager.default.attributesOfItem(atPath: resolvedPath + "-wal")[.size] as? Int
        guard !exists, let log, log > 0 else { return }
        throw UsageError(
            "\(path) is missing, and there is a write-ahead log beside it; put the file back, or restore it from a backup"
        )
    }

    /// Whether the file can be a damaged ledger: it can be opened, and its first bytes are those of a SQLite database,
    /// are missing or cannot be read. Any other file can be the user's own.
    var canBeDamagedLedger: Bool {
        guard let file = FileHandle(forReadingAtPath: path) else { return false }
        let start = (try? file.read(upToCount: 16)) ?? Data()
        return start.isEmpty || start == Data("SQLite format 3\0".utf8)
    }

    /// The file, for read-only use. Throws `UsageError` when there is none.
    func file() throws -> SQLiteFile { try Self.refusing { try SQLiteFile(path: path) } }

    /// Opens the database, exclusively or beside a server. Throws `UsageError` when it cannot be opened.
    func open(exclusively: Bool) throws -> SQLiteDatabase {
        var configuration = SQLiteDatabase.Configuration()
        configuration.isExclusive = exclusively
        return try Self.refusing { try SQLiteDatabase(path: resolvedPath, configuration: configuration) }
    }

    /// Runs `work`, and replaces errors with one of `codes` by `UsageError`.
    static func refusing<Value>(_ codes: Set<SQLError.Code> = usageErrorCodes, _ work: () throws -> Value) throws
        -> Value
    {
        do {
            return try work()
        } catch let error as SQLError where codes.contains(error.code) {
            throw UsageError(error.description)
        }
    }

    /// The codes of errors that the user can correct: the file cannot be opened or written, or has another schema.
    static let usageErrorCodes: Set<SQLError.Code> = [
        .cannotOpen, .notADatabase, .alreadyOpen, .busy, .otherSchema, .newerSchema, .migrationChanged, .storageFull,
        .readOnly,
    ]

    /// Runs `body` on the database, which a server may have open. Throws `UsageError` for a missing file, and for one
    /// with another schema.
    func withSharedDatabase<Value: Sendable>(_ body: (SQLiteDatabase) async throws -> Value) async throws -> Value {
        let status = try Self.refusing { try file().schema(EntitlementService.migrations(for: .sqlite)) }
        try Self.requireComplete(status, path)
        let database = try open(exclusively: false)
        return try await database.closing { try await body(database) }
    }

    /// Runs `body` on the database while no server has it open. Throws `UsageError` if one has, for a missing file, and
    /// for one with another schema.
    func withExclusiveDatabase<Value: Sendable>(_ body: (SQLiteDatabase) async throws -> Value) async throws -> Value {
        let status = try Self.refusing { try file().schema(EntitlementService.migrations(for: .sqlite)) }
        try Self.requireComplete(status, path)
        var configuration = SQLiteDatabase.Configuration()
        configuration.isExclusive = true
        let database = try Self.refusing {
            do {
                return try SQLiteDatabase(path: resolvedPath, configuration: configuration)
            } catch let error as SQLError where error.code == .alreadyOpen {
                throw UsageError("a server has \(path) open: name the server with --url and --key-file, or stop it")
            }
        }
        return try await database.closing { try await body(database) }
    }

    static func requireComplete(_ status: SQLSchemaStatus, _ place: String) throws {
        guard status.pending.isEmpty else {
            throw UsageError("\(place) lacks \(status.pending.joined(separator: ", ")); run souk migrate apply first")
        }
    }
}
