import Foundation
import HostTestSupport
import Primitives
import SQLStorage
import Testing

@testable import EntitlementServer

/// A ledger with events, and a folder to which `souk export` writes them.
final class ExportLedger: Sendable {
    static let app = "com.example.darkroom"

    let temporary: TemporaryFolder

    var database: String { "sqlite:" + temporary.file("ledger.sqlite") }
    var folder: String { temporary.file("exported") }

    /// Creates a ledger with this number of events.
    init(events: Int) async throws {
        temporary = try TemporaryFolder()
        let database = try SQLiteDatabase(path: temporary.file("ledger.sqlite"))
        let configuration = EntitlementService.Configuration(
            database: database, apps: [.init(bundleID: "com.example.darkroom")], environments: [.sandbox])
        _ = try await EntitlementService(configuration: configuration)
        await database.close()
        if events > 0 { try await add(1...events) }
    }

    /// Adds an event about each customer `c<number>`.
    func add(_ numbers: ClosedRange<Int>) async throws {
        try await write { connection in
            for number in numbers {
                try connection.perform(
                    """
                    INSERT INTO event (app, environment, customer, type, body, created_at)
                    VALUES (?1, 'sandbox', ?2, 'customer.updated', ?3, ?4)
                    """,
                    [
                        .text(Self.app), .text("c\(number)"),
                        .blob(Array(#"{"customer":"c\#(number)","note":"Größe 1.50"}"#.utf8)),
                        .integer(1_763_650_000_000 + Int64(number)),
                    ])
            }
        }
    }

    func write(_ body: @escaping @Sendable (any SQLConnection) throws -> Void) async throws {
        let database = try SQLiteDatabase(path: temporary.file("ledger.sqlite"))
        try await database.write(body)
        await database.close()
    }

    func arguments(_ words: [String] = [], what: String = "feed") -> [String] {
        ["export", "--database", database, "--what", what, "--to", folder] + words
    }

    /// Runs an export to the folder.
    func export(
        _ words: String..., what: String = "feed", environment: [String: String] = [:]
    ) async throws -> SoukExecutable.Outcome {
        try await SoukExecutable.run(arguments(words, what: what), environment: environment)
    }

    /// Returns what `souk export` writes to standard output.
    func lines(_ what: String = "feed") async throws -> [String] {
        let outcome = try await SoukExecutable.run([
            "export", "--database", database, "--what", what, "--format", "jsonl",
        ])
        #expect(outcome.status == 0, "\(outcome.errors)")
        return outcome.output.split(separator: "\n").map(String.init)
    }

    /// The names in the folder, sorted.
    func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }

    /// The names of the completed files, in their order.
    func completed() throws -> [String] { try names().filter { $0.hasSuffix(".jsonl.gz") } }

    /// Returns the lines of all completed files in their order, as gzip decompresses them.
    func exported() async throws -> [String] {
        let names = try completed()
        guard !names.isEmpty else { return [] }
        let outcome = try await ChildProgram.run("/bin/sh", ["-c", "gzip -dc -- *.jsonl.gz"], in: folder)
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.isEmpty || outcome.output.hasSuffix("\n"))
        return outcome.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }
}
