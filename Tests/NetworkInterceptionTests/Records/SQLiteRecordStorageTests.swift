import Foundation
import HTTPCore
import HostTestSupport
import NetworkInterception
import Primitives
import Testing

/// The behaviour of a storage in a file.
@Suite struct SQLiteRecordStorageTests {
    private let place = TemporaryRecords()

    private func record(_ number: Int) -> Record { Record(HTTPRequest(method: .get, url: "http://a/\(number)")) }

    @Test func `stored records are found after the file is reopened`() async throws {
        let storage = try SQLiteRecordStorage(path: place.path)
        for number in 1...3 { await storage.store(record(number)) }
        await storage.close()
        let again = try SQLiteRecordStorage(path: place.path, capacity: RecordCapacity(records: 2))
        #expect(await again.records(9, after: nil).count == 3, "opening removes nothing")
        await again.store(record(4))
        #expect(await again.records(9, after: nil).map(\.originalRequest.url) == ["http://a/4", "http://a/3"])
    }

    @Test func `files that were copied during use, as after a crash, contain all settled records`() async throws {
        let storage = try SQLiteRecordStorage(path: place.path)
        for number in 1...20 { await storage.store(record(number)) }
        await storage.settled()
        let copy = place.folder + "/copy.sqlite"
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: place.path + suffix, toPath: copy + suffix)
        }
        let survivor = try SQLiteRecordStorage(path: copy)
        #expect(await survivor.records(99, after: nil).count == 20)
        await survivor.store(record(21))
        #expect(await survivor.records(1, after: nil).first?.originalRequest.url == "http://a/21")
        await survivor.close()
        await storage.close()
    }

    @Test func `a file of another format is refused and stays unchanged`() async throws {
        try Data("no database, but long enough to be looked at as one of them".utf8).write(
            to: URL(fileURLWithPath: place.path))
        #expect(throws: InterceptionError(.storageFailed, "")) { try SQLiteRecordStorage(path: place.path) }
        #expect(throws: InterceptionError(.storageFailed, "")) { try SQLiteRecordStorage(path: "/nowhere/at/all") }
        #expect(FileManager.default.contents(atPath: place.path)?.first == UInt8(ascii: "n"))
    }

    @Test func `a closed storage stores nothing and finds nothing, and its updates end`() async throws {
        let failures = Locked(0)
        let storage = try SQLiteRecordStorage(path: place.path) { _ in failures.withLock { $0 += 1 } }
        let updates = storage.updates
        await storage.store(record(1))
        await storage.close()
        await storage.store(record(2))
        #expect(await storage.records(9, after: nil).isEmpty)
        #expect(failures.withLock { $0 } == 1, "the failed read is reported")
        var heard = 0
        for await _ in updates { heard += 1 }
        #expect(heard == 1)
    }

    /// Executes SQL on the file in another process.
    private func execute(_ statements: String) async throws {
        let script =
            "import sqlite3, sys\nsqlite3.connect(sys.argv[1], isolation_level=None).executescript(sys.stdin.read())"
        let outcome = try await OutsideJudge.run(
            "/usr/bin/python3", ["-c", script, place.path], input: statements)
        try #require(outcome.status == 0, "\(outcome.errors)")
    }

    private static func copy(_ id: Record.ID) -> String {
        """
        INSERT INTO record (id, bytes, started, head, original, designated, response)
        SELECT '\(id.uuidString)', bytes, started, head, original, designated, response FROM record LIMIT 1;
        """
    }

    @Test func `a follower reports the records of another process, and own records once`() async throws {
        let storage = try SQLiteRecordStorage(path: place.path, following: .milliseconds(2))
        var updates = storage.updates.makeAsyncIterator()
        let own = record(1)
        await storage.store(own)
        await storage.settled()
        #expect(await updates.next()?.id == own.id)
        let theirs = [UUID(), UUID(), UUID(), UUID()]
        try await execute(Self.copy(theirs[0]) + Self.copy(theirs[1]))
        #expect(await updates.next()?.id == theirs[0])
        #expect(await updates.next()?.id == theirs[1])
        try await execute("UPDATE record SET bytes = bytes + 1 WHERE id = '\(theirs[0])'")
        #expect(await updates.next()?.id == theirs[0])
        try await execute(Self.copy(theirs[2]) + "DELETE FROM record WHERE id <> '\(theirs[2])'")
        #expect(await updates.next()?.id == theirs[2])
        try await execute("UPDATE record SET number = 1;" + Self.copy(theirs[3]))
        #expect(await updates.next()?.id == theirs[2])
        #expect(await updates.next()?.id == theirs[3])
        await storage.close()
        #expect(await updates.next() == nil)
    }

    @Test func `a storage at its capacity limits the size of its file`() async throws {
        let storage = try SQLiteRecordStorage(path: place.path, capacity: RecordCapacity(records: 50))
        for number in 0..<6000 {
            var record = record(number)
            record.result = .success(Response(status: 200, body: .bytes([UInt8](repeating: 65, count: 4000))))
            await storage.store(record)
        }
        #expect(await storage.records(100, after: nil).count == 50)
        await storage.close()
        let size = try FileManager.default.attributesOfItem(atPath: place.path)[.size] as? Int ?? 0
        // The file holds the waiting and the kept bytes, not all 24 MB that were stored.
        #expect(size < 8 << 20)
    }
}
