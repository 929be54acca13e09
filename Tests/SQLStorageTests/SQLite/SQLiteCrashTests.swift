import Foundation
import Primitives
import Testing

@testable import SQLStorage

/// Killed processes, and processes that share a file.
@Suite struct SQLiteCrashTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    @Test(arguments: [(1, 12_000), (2, 12_000), (10, 12_000), (100, 12_000), (500, 12_000), (500, 5), (2000, 5)])
    func `a killed process loses nothing that was acknowledged and leaves nothing half done`(
        _ acknowledgements: Int, checkpointPages: Int
    ) async throws {
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [
                path = folder.file() as String, journal = folder.file("journal") as String, acknowledgements,
                checkpointPages
            ]
            in
            try await Victim(path: path, journal: journal, checkpointPages: checkpointPages)
                .writeUntilKilled(after: acknowledgements)
        }
        let acknowledged = try Victim.acknowledged(in: folder.file("journal"))
        #expect(acknowledged.count >= acknowledgements)
        #expect(
            try folder.contents.contains("test.sqlite-wal"), "The killed process must leave a log without a checkpoint."
        )

        let database = try SQLiteDatabase(path: folder.file())
        try database.migrate([Victim.schema])
        let (check, first, second): (String?, Set<Int>, Set<Int>) = try database.read { connection in
            let check: String? = try connection.first("PRAGMA integrity_check")?[0]
            let ids = try ["first_half", "second_half"].map { table in
                Set(try connection.query("SELECT id FROM \(table)").map { row -> Int in try row["id"] })
            }
            return (check, ids[0], ids[1])
        }
        #expect(check == "ok")
        #expect(acknowledged.isSubset(of: first))
        #expect(first == second)
        try await database.write { try $0.execute("INSERT INTO first_half VALUES (-1)") }
        await database.close()
    }

    @Test func `another process reads and writes the same file`() async throws {
        let database = try SQLiteDatabase(path: folder.file())
        try database.migrate([Victim.schema])
        try await database.write { try $0.execute("INSERT INTO first_half VALUES (1)") }
        await #expect(processExitsWith: .success) { [path = folder.file() as String] in
            let database = try SQLiteDatabase(path: path)
            try database.migrate([Victim.schema])
            try await database.write { try $0.execute("INSERT INTO first_half VALUES (2)") }
            let count: Int? = try database.read { try $0.first("SELECT count(*) AS n FROM first_half")?["n"] }
            #expect(count == 2)
            await database.close()
        }
        let ids: [Int] = try database.read { connection in
            try connection.query("SELECT id FROM first_half ORDER BY id").map { try $0["id"] }
        }
        #expect(ids == [1, 2])
        await database.close()
    }

    @Test func `a file that another connection has locked is busy after the busy timeout`() async throws {
        let database = try SQLiteDatabase(path: folder.file())
        try database.migrate([Victim.schema])
        try await database.write { [path = folder.file()] _ in
            var impatient = SQLiteDatabase.Configuration()
            impatient.busyTimeout = .milliseconds(1)
            let other = try SQLiteConnection(path: path, mode: .write(.full), limits: .init(impatient))
            let error = #expect(throws: SQLError.self) { try other.run(.beginImmediate) }
            #expect(error?.code == .busy)
            #expect(error?.message.contains(path) == true)
            other.close()
        }
        await database.close()
    }

    @Test func `connections that migrate the same file at once apply each migration once`() async throws {
        let steps = (0..<200).map { SQLMigration("\($0)", [.sqlite: "CREATE TABLE t\($0) (v INTEGER)"]) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { [path = folder.file()] in
                    try await onThread {
                        let connection = try SQLiteConnection(path: path, mode: .write(.none), limits: .init(.init()))
                        try MigrationPlan(steps, dialect: .sqlite).apply(to: connection, at: path)
                        connection.close()
                    }
                }
            }
            try await group.waitForAll()
        }
        let database = try SQLiteDatabase(path: folder.file())
        let names: [String] = try database.read { connection in
            try connection.query("SELECT name FROM schema_migrations ORDER BY position").map { try $0["name"] }
        }
        #expect(names == steps.map(\.name))
        await database.close()
    }
}

/// A process that writes from many tasks at once, records the acknowledged writes, and kills itself.
private struct Victim: Sendable {
    static let schema = SQLMigration(
        "0001",
        [
            .sqlite: """
            CREATE TABLE first_half (id INTEGER PRIMARY KEY) STRICT;
            CREATE TABLE second_half (id INTEGER PRIMARY KEY) STRICT;
            """
        ])

    let path: String
    let journal: String
    let checkpointPages: Int

    func writeUntilKilled(after limit: Int) async throws {
        var configuration = SQLiteDatabase.Configuration()
        configuration.checkpointPages = checkpointPages
        let database = try SQLiteDatabase(path: path, configuration: configuration)
        try database.migrate([Self.schema])
        // Written data survives the process, though not a power failure.
        let file = open(journal, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        try #require(file >= 0)
        let count = Locked(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for caller in 0..<64 {
                group.addTask {
                    for step in 0... {
                        let id = step * 64 + caller
                        try await database.write { connection in
                            try connection.execute("INSERT INTO first_half VALUES (?1)", [SQLValue(id)])
                            try connection.execute("INSERT INTO second_half VALUES (?1)", [SQLValue(id)])
                        }
                        let line = Array("\(id)\n".utf8)
                        try #require(write(file, line, line.count) == line.count)
                        let isLast = count.withLock { count in
                            count += 1
                            return count == limit
                        }
                        if isLast { kill(getpid(), SIGKILL) }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    static func acknowledged(in journal: String) throws -> Set<Int> {
        let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: journal)), as: UTF8.self)
        return Set(text.split(separator: "\n").compactMap { Int($0) })
    }
}
