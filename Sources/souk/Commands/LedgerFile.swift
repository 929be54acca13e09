import EntitlementServer
import Foundation
import SQLStorage

/// The database that `--database` names, for the commands that look after a ledger.
struct LedgerFile: Sendable {
    static let option = Command.Option(
        name: "database", value: "sqlite:PATH", help: "where the ledger lies (sqlite:souk.sqlite)")

    /// Absolute.
    let path: String

    init(_ arguments: Arguments) throws { try self.init(naming: arguments.text("database") ?? "sqlite:souk.sqlite") }

    init(naming text: String) throws {
        guard !text.hasPrefix("postgres") else {
            throw Misuse("PostgreSQL is not built yet; give --database sqlite:PATH")
        }
        guard text.hasPrefix("sqlite:"), text.count > "sqlite:".count else {
            throw Misuse("--database is sqlite:PATH, not \"\(text)\"")
        }
        path = InputFile.absolute(String(text.dropFirst("sqlite:".count)))
        // Whatever this process makes beside a ledger is its owner's alone, whichever mask it was started with.
        umask(0o077)
    }

    /// The path of the ledger itself where `path` is a symbolic link. Its log, its lock and its former files are beside
    /// it, not beside the link.
    var resolvedPath: String { SQLiteFile.resolvingLinks(path) }

    var exists: Bool { FileManager.default.fileExists(atPath: path) }

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

    /// Runs `body` on the database beside whoever serves from it. Refuses a file that is missing, and one whose schema is
    /// not this program's.
    func beside<Value: Sendable>(_ body: (SQLiteDatabase) async throws -> Value) async throws -> Value {
        let status = try Self.refusing { try file().schema(EntitlementService.migrations(for: .sqlite)) }
        guard status.pending.isEmpty else {
            throw Misuse("\(path) lacks \(status.pending.joined(separator: ", ")); run souk migrate apply first")
        }
        let database = try open(exclusively: false)
        do {
            let value = try await body(database)
            await database.close()
            return value
        } catch {
            await database.close()
            throw error
        }
    }
}
