import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

/// `/readyz`: the failures that it finds, and the number of its probes.
@Suite struct ReadinessTests {
    /// A database that counts writes, and whose reads, writes, file check or check of free space can fail.
    private final class Failing: SQLDatabase {
        struct State { var (reads, writes, file, room) = (true, true, true, true); var count = 0 }

        let inner: any SQLDatabase
        let state = Locked(State())

        init(_ inner: any SQLDatabase) { self.inner = inner }

        private static let error = SQLError(.storageFailed, "The disk failed.")

        var dialect: SQLDialect { inner.dialect }
        func migrate(_ migrations: [SQLMigration]) throws { try inner.migrate(migrations) }
        func close() async { await inner.close() }

        func read<T: Sendable>(_ body: (any SQLConnection) throws -> T) throws -> T {
            guard state.withLock({ $0.reads }) else { throw Self.error }
            return try inner.read(body)
        }

        func write<T: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> T) async throws -> T {
            let works = state.withLock { state in
                state.count += 1
                return state.writes
            }
            guard works else { throw Self.error }
            return try await inner.write(body)
        }

        func checkFiles() throws {
            guard state.withLock({ $0.file }) else { throw Self.error }
        }

        func checkRoom() throws {
            guard state.withLock({ $0.room }) else { throw Self.error }
        }
    }

    private func ask(_ bench: ServerBench, _ query: String = "") async throws -> ServerBench.Reply {
        try await bench.send(.get, "/readyz\(query)", as: .none)
    }

    @Test func `a server that cannot write is ready for reads`() async throws {
        let bench = try await ServerBench(wrapping: Failing.init)
        let database = try #require(bench.database as? Failing)
        let whole: JSONValue = ["status": "ready", "reads": true, "writes": true]
        for query in ["", "?for=reads", "?for=writes"] { #expect(try await ask(bench, query).json == whole) }
        let reading: JSONValue = ["status": "ready", "reads": true, "writes": false]
        for broken in [\Failing.State.writes, \.room] {
            database.state.withLock { $0 = .init() }
            database.state.withLock { $0[keyPath: broken] = false }
            bench.realClock.advance(by: 1)
            for query in ["", "?for=reads"] { #expect(try await ask(bench, query).json == reading) }
            let refused = try await ask(bench, "?for=writes")
            #expect(refused.status == 503 && refused.code == "unavailable")
            #expect(try await bench.get().status == 200)
        }
        for broken in [\Failing.State.reads, \.file] {
            database.state.withLock { $0 = .init() }
            database.state.withLock { $0[keyPath: broken] = false }
            bench.realClock.advance(by: 1)
            for query in ["", "?for=reads", "?for=writes"] { #expect(try await ask(bench, query).status == 503) }
        }
        database.state.withLock { $0 = .init() }
        bench.realClock.advance(by: 1)
        #expect(try await ask(bench).json == whole)
        #expect(try await ask(bench, "?for=both").status == 400)
        #expect(try bench.count("readiness_probe") == 0)
        await bench.close()
    }

    @Test func `the database is probed at most once a second`() async throws {
        let bench = try await ServerBench(wrapping: Failing.init)
        let database = try #require(bench.database as? Failing)
        let before = database.state.withLock { $0.count }
        for _ in 0..<3 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        let status = try await ask(bench).status
                        #expect(status == 200)
                    }
                }
                try await group.waitForAll()
            }
            bench.realClock.advance(by: 1)
        }
        #expect(database.state.withLock { $0.count } == before + 3)
        await bench.close()
    }

    @Test func `while a write hangs, the server is not ready for writes`() async throws {
        let gate = GateBox()
        let bench = try await ServerBench(wrapping: gate.wrap)
        let database = try #require(gate.database)
        database.shut()
        async let first = ask(bench, "?for=writes")
        await database.waitForWrite()
        async let second = ask(bench)
        async let third = ask(bench, "?for=writes")
        await bench.realClock.waiters(atLeast: 3)
        bench.realClock.advance(by: 1)
        #expect(try await second.json["writes"] == false)
        #expect(try await first.status == 503)
        #expect(try await third.status == 503)
        database.open()
        try await until("writes work again") {
            bench.realClock.advance(by: 1)
            return try await ask(bench, "?for=writes").status == 200
        }
        await bench.close()
    }

    @Test(.onSQLite) func `a ledger whose file was replaced is not ready`() async throws {
        let bench = try await ServerBench()
        #expect(try await ask(bench).status == 200)
        let path = bench.folder.databasePath
        try FileManager.default.moveItem(atPath: path, toPath: path + ".moved")
        bench.realClock.advance(by: 1)
        #expect(try await ask(bench).status == 503)
        try FileManager.default.copyItem(atPath: path + ".moved", toPath: path)
        bench.realClock.advance(by: 1)
        #expect(try await ask(bench, "?for=writes").status == 503)
        #expect(bench.failures.withLock { $0.contains { $0.contains("removed, replaced or truncated") } })
        await bench.close()
    }

    @Test(.onSQLite) func `nothing is acknowledged after the folder of the ledger was replaced`() async throws {
        let bench = try await ServerBench()
        #expect(try await bench.grant("product").status == 201)
        let place = bench.folder.url
        let (copy, former) = (place.appendingPathExtension("copy"), place.appendingPathExtension("former"))
        try FileManager.default.copyItem(at: place, to: copy)
        try FileManager.default.moveItem(at: place, to: former)
        try FileManager.default.moveItem(at: copy, to: place)
        defer { try? FileManager.default.removeItem(at: former) }
        let refused = try await bench.grant("another")
        #expect(refused.status == 503 && refused.code == "unavailable")
        try FileManager.default.removeItem(at: place)
        try FileManager.default.moveItem(at: former, to: place)
        #expect(try await bench.grant("another").status == 201)
        await bench.close()
    }

    @Test(.onSQLite) func `a full disk is found`() async throws {
        let folder = try ServerBench.Folder()
        let disk = try FaultyDisk(folder.url)
        defer { disk.detach() }
        let bench = try await ServerBench(folder: folder)
        #expect(try await ask(bench, "?for=writes").status == 200)
        disk.fail(at: disk.operations + 1, forEver: true)
        bench.realClock.advance(by: 1)
        #expect(try await ask(bench, "?for=writes").status == 503)
        #expect(try await ask(bench).json["writes"] == false)
        await bench.close()
    }
}
