import EntitlementServer
import Foundation
import SQLStorage

/// A ledger in a SQLite file.
struct LedgerFile: Sendable {
    static let option = Command.Option(
        name: "database", value: "sqlite:PATH", help: "where the ledger is (sqlite:souk.sqlite)")

    /// Absolute.
    let path: String

    init(_ arguments: Arguments) throws { try self.init(naming: arguments.text("database") ?? "sqlite:souk.sqlite") }

    static func isPostgres(_ text: String) -> Bool {
        text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
    }

    init(naming text: String, called name: String = "--database") throws {
        guard !Self.isPostgres(text) else {
            throw Misuse(
                "This command is for a ledger in a SQLite file; PostgreSQL has programs of its own for it, such as pg_dump"
            )
        }
        guard text.hasPrefix("sqlite:"), text.count > "sqlite:".count else {
            throw Misuse("\(name) is sqlite:PATH or postgres://user@host:port/name, not \(text.quoted)")
        }
        path = InputFile.absolute(String(text.dropFirst("sqlite:".count)))
        // Whatever this process makes beside a ledger is its owner's alone, whichever mask it was started with.
        umask(0o077)
    }

    /// The path of the ledger itself where `path` is a symbolic link. Its log, its lock and its former files are beside
    /// it, not beside the link.
    var resolvedPath: String { SQLiteFile.resolvingLinks(path) }

    var exists: Bool { FileManager.default.fileExists(atPath: path) }

    /// Throws `Misuse` when the file is missing and its log is not: a new ledger is not made there.
    func requireNoLogAlone() throws {
        let log = try? FileManager.default.attributesOfItem(atPath: resolvedPath + "-wal")[.size] as? Int
        guard !exists, let log, log > 0 else { return }
        throw Misuse(
            "\(path) is missing, and there is a write-ahead log beside it; put the file back, or restore it from a backup"
        )
    }

    /// Whether the file is empty, cannot be read or begins as every SQLite database does: so it can be a ledger that was
    /// damaged. A file of another beginning can be anything that a user keeps.
    var canBeDamagedLedger: Bool {
        guard let file = FileHandle(forReadingAtPath: path) else { return false }
        let start = (try? file.read(upToCount: 16)) ?? Data()
        return start.isEmpty || start == Data("SQLite format 3\0".utf8)
    }

    /// The file, for what does not change it. Throws `Misuse` when there is none.
    func file() throws -> SQLiteFile { try Self.refusing { try SQLiteFile(path: path) } }

    /// The database: to be the only one that has it, or beside a server that does. Throws `Misuse` when it cannot be had.
    func open(exclusively: Bool) throws -> SQLiteDatabase {
        var configuration = SQLiteDatabase.Configuration()
        configuration.isExclusive = exclusively
        return try Self.refusing { try SQLiteDatabase(path: resolvedPath, configuration: configuration) }
    }

    /// Runs `work`; a file that cannot be had or is none of this program's becomes a `Misuse`.
    static func refusing<Value>(_ reasons: Set<SQLError.Code> = reasons, _ work: () throws -> Value) throws -> Value {
        do {
            return try work()
        } catch let error as SQLError where reasons.contains(error.code) {
            throw Misuse(error.description)
        }
    }

    static let reasons: Set<SQLError.Code> = [
        .cannotOpen, .notADatabase, .alreadyOpen, .busy, .otherSchema, .newerSchema, .migrationChanged, .storageFull,
        .readOnly,
    ]

    /// Runs `body` on the database beside a server that has it. Throws `Misuse` for a file that is missing, and one whose
    /// schema is not this program's.
    func beside<Value: Sendable>(_ body: (SQLiteDatabase) async throws -> Value) async throws -> Value {
        let status = try Self.refusing { try file().schema(EntitlementService.migrations(for: .sqlite)) }
        try Self.requireComplete(status, path)
        let database = try open(exclusively: false)
        return try await database.closing { try await body(database) }
    }

    static func requireComplete(_ status: SQLSchemaStatus, _ place: String) throws {
        guard status.pending.isEmpty else {
            throw Misuse("\(place) lacks \(status.pending.joined(separator: ", ")); run souk migrate apply first")
        }
    }
}
