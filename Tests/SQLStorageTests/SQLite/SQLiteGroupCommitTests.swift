import BaseTestSupport
import CSQLite
import Dispatch
import Foundation
import Primitives
import Testing

@testable import SQLStorage

/// Internal behaviour: the writes that share a commit as members of a group, and the effects of its failure.
@Suite struct SQLiteGroupCommitTests {
    private struct Refusal: Error {}

    private let folder: TestFolder
    private let database: SQLiteDatabase

    init() async throws {
        folder = try TestFolder()
        database = try SQLiteDatabase(path: folder.file())
        try await database.write { connection in
            try connection.execute("CREATE TABLE parent (id INTEGER PRIMARY KEY) STRICT")
            try connection.execute(
                """
                CREATE TABLE child (id INTEGER PRIMARY KEY,
                    parent INTEGER NOT NULL REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED) STRICT
                """)
        }
    }

    /// Holds the writer in the first member of a group until all `bodies` are queued in order, so that they become
    /// members too; returns their results.
    private func inOneGroup(
        _ bodies: [@Sendable (any SQLConnection) throws -> Void], of other: SQLiteDatabase? = nil
    ) async throws -> [Result<Void, any Error>] {
        let database = other ?? self.database
        let isHeld = Gate()
        let mayGo = DispatchSemaphore(value: 0)
        let holder = Task {
            try await database.write { _ in
                isHeld.open()
                mayGo.wait()
                mayGo.signal()
            }
        }
        try await isHeld.pass()
        let results = CallLog<(index: Int, result: Result<Void, any Error>)>()
        do {
            for (index, body) in bodies.enumerated() {
                Thread {
                    results.record((index, Result { try database.writeAndWait(body) }))
                }.start()
                try await until("write \(index) is queued") { database.queuedWrites > index }
            }
            mayGo.signal()
        } catch {
            mayGo.signal()
            throw error
        }
        await results.wait { $0.count == bodies.count }
        _ = await holder.result
        return results.all.sorted { $0.index < $1.index }.map(\.result)
    }

    private func parents(in other: SQLiteDatabase? = nil) throws -> [Int] {
        try (other ?? database).read {
            try $0.query("SELECT id FROM parent ORDER BY rowid").map { row in try row["id"] }
        }
    }

    /// The 50 bodies are queued while the first member runs. Eleven of them join it, and the next commit has all others.
    @Test(arguments: [(limit: 256, commits: 2), (limit: 12, commits: 5), (limit: 10, commits: 6)])
    func `queued writes share commits, up to the limit`(limit: Int, expected: Int) async throws {
        var configuration = SQLiteDatabase.Configuration()
        configuration.groupLimit = limit
        await database.close()
        let limited = try SQLiteDatabase(path: folder.file(), configuration: configuration)
        let commits = Counter()
        try await limited.write { connection in try commits.countCommits(of: connection) }
        let before = commits.count
        let results = try await inOneGroup(
            (0..<50).map { id in { try $0.execute("INSERT INTO parent VALUES (?1)", [SQLValue(id)]) } }, of: limited)
        #expect(results.allSatisfy { (try? $0.get()) != nil })
        #expect(try parents(in: limited) == Array(0..<50))
        #expect(commits.count - before == expected)
        await limited.close()
    }

    @Test func `only the failed members are undone, even if the error of one rolls back the whole transaction`()
        async throws
    {
        let runs = Counter()
        let results = try await inOneGroup([
            { connection in
                runs.add()
                try connection.execute("INSERT INTO parent VALUES (1)")
            },
            { connection in
                try connection.execute("INSERT INTO parent VALUES (2)")
                throw Refusal()
            },
            { try $0.execute("INSERT OR ROLLBACK INTO parent VALUES (3), (1)") },
            { try $0.execute("INSERT INTO child VALUES (1, 99)") },
            { try $0.execute("INSERT INTO parent VALUES (4)") },
        ])
        #expect((try? results[0].get()) != nil)
        #expect(throws: Refusal.self) { try results[1].get() }
        #expect(throws: SQLError(.uniqueViolation, "")) { try results[2].get() }
        #expect(throws: SQLError(.foreignKeyViolation, "")) { try results[3].get() }
        #expect((try? results[4].get()) != nil)
        #expect(try parents() == [1, 4])
        #expect(
            runs.count == 3, "The first member ran again in a savepoint, and after the rollback of the transaction.")
        await database.close()
    }

    @Test func `a member that fails before it changed anything does not make the others run again`() async throws {
        let runs = Counter()
        let results = try await inOneGroup([
            { connection in
                runs.add()
                try connection.execute("INSERT INTO parent VALUES (1)")
            },
            { connection in
                runs.add()
                _ = try connection.first("SELECT id FROM parent")
                throw Refusal()
            },
            { connection in
                runs.add()
                try connection.execute("INSERT INTO parent VALUES (2)")
            },
        ])
        #expect(throws: Refusal.self) { try results[1].get() }
        #expect(try parents() == [1, 2])
        #expect(runs.count == 3)
        await database.close()
    }

    @Test func `all members of a failed commit get its error, and nothing is written`() async throws {
        let results = try await inOneGroup([
            { try $0.execute("INSERT INTO parent VALUES (1)") },
            { connection in
                try connection.execute("INSERT INTO parent VALUES (2)")
                throw Refusal()
            },
            { connection in
                let handle = try #require((connection as? SQLiteSession)?.handle)
                // A hook that does not return 0 fails the commit, as a failing disk does.
                sqlite3_commit_hook(handle, { _ in 1 }, nil)
            },
        ])
        for result in results {
            #expect(throws: SQLError(.constraint, "")) { try result.get() }
        }
        #expect(try parents().isEmpty)
        database.writeDirectly { sqlite3_commit_hook($0.handle, nil, nil) }
        try await database.write { try $0.execute("INSERT INTO parent VALUES (5)") }
        #expect(try parents() == [5])
        await database.close()
    }

    @Test func `a full disk is reported, and the database stays valid`() async throws {
        database.writeDirectly { connection in
            try? connection.runInternal("CREATE TABLE bulk (v BLOB); PRAGMA max_page_count = 20")
        }
        let fill = String(repeating: "x", count: 3000)
        var written = 0
        let error = await #expect(throws: SQLError.self) {
            while written < 1000 {
                try await database.write { try $0.execute("INSERT INTO bulk VALUES (?1)", [.text(fill)]) }
                written += 1
            }
        }
        #expect(error?.code == .storageFull)
        #expect(error?.message.contains(folder.file()) == true)
        let count: Int? = try database.read { try $0.first("SELECT count(*) AS n FROM bulk")?["n"] }
        #expect(count == written)
        try await database.write { try $0.execute("INSERT INTO parent VALUES (1)") }
        #expect(try parents() == [1])
        await database.close()
    }

    @Test func `writes that are queued when the database closes are committed`() async throws {
        let isHeld = Gate()
        let mayGo = DispatchSemaphore(value: 0)
        async let held: Void = database.write { _ in
            isHeld.open()
            mayGo.wait()
        }
        try await isHeld.pass()
        async let queued: Int = database.write { try $0.execute("INSERT INTO parent VALUES (1)") }
        try await until("the second write is queued") { database.queuedWrites == 1 }
        async let closed: Void = database.close()
        try await until("the database is closing") { database.isClosing }
        await #expect(throws: SQLError(.closed, "")) {
            try await database.write { try $0.execute("INSERT INTO parent VALUES (2)") }
        }
        mayGo.signal()
        try await held
        #expect(try await queued == 1)
        await closed
        let again = try SQLiteDatabase(path: folder.file())
        let ids: [Int] = try again.read { try $0.query("SELECT id FROM parent").map { row in try row["id"] } }
        #expect(ids == [1])
        await again.close()
    }

    @Test func `a body cannot wait for another write or for a migration`() async throws {
        try await database.write { [database] _ in
            #expect(throws: SQLError(.misuse, "")) { try database.writeAndWait { _ in } }
            #expect(throws: SQLError(.misuse, "")) { try database.migrate([]) }
        }
        await database.close()
    }

    @Test func `a reader continues during a write, and does not see its changes`() async throws {
        try await database.write { [database] connection in
            try connection.execute("INSERT INTO parent VALUES (1)")
            let seen: Int? = try database.read { try $0.first("SELECT count(*) AS n FROM parent")?["n"] }
            #expect(seen == 0)
        }
        #expect(try parents() == [1])
        await database.close()
    }

    @Test func `a read keeps its snapshot during later commits`() async throws {
        let counts = try database.read { connection in
            let before: Int = try #require(try connection.first("SELECT count(*) AS n FROM parent"))["n"]
            try database.writeAndWait { try $0.execute("INSERT INTO parent VALUES (1)") }
            let after: Int = try #require(try connection.first("SELECT count(*) AS n FROM parent"))["n"]
            return [before, after]
        }
        #expect(counts == [0, 0])
        #expect(try parents() == [1])
        await database.close()
    }
}

/// A counter for any thread.
final class Counter: Sendable {
    private let value = Locked(0)

    var count: Int { value.withLock { $0 } }

    func add() { value.withLock { $0 += 1 } }

    func countCommits(of connection: any SQLConnection) throws {
        let handle = try #require((connection as? SQLiteSession)?.handle)
        sqlite3_commit_hook(
            handle,
            { context in
                guard let context else { return 1 }
                Unmanaged<Counter>.fromOpaque(context).takeUnretainedValue().add()
                return 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }
}

extension SQLiteDatabase {
    func writeDirectly(_ body: @escaping @Sendable (SQLiteConnection) -> Void) {
        #expect(throws: Never.self) { try writer.runAlone(body) }
    }

    var queuedWrites: Int { writer.queuedCount }
    var isClosing: Bool { writer.isClosing }
}
