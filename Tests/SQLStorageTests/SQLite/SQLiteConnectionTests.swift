import BaseTestSupport
import Dispatch
import Foundation
import Primitives
import Testing

@testable import SQLStorage

@Suite struct SQLiteConnectionTests {
    @Test func `the number of cached statements is limited, and the last used ones stay`() throws {
        let folder = try TestFolder()
        var configuration = SQLiteDatabase.Configuration()
        configuration.cachedStatements = 3
        let connection = try SQLiteConnection(path: folder.file(), mode: .write(.none), limits: .init(configuration))
        defer { connection.close() }
        try connection.session { session in
            for number in 0..<100 {
                try #expect(session.first("SELECT \(number)")?.values == [SQLValue(number)])
                try #expect(session.first("SELECT 'often'")?.values == ["often"])
                #expect(connection.cachedStatements.count <= 3)
            }
        }
        #expect(connection.cachedStatements == ["SELECT 'often'", "SELECT 98", "SELECT 99"])
    }

    @Test func `a statement in use twice is cached once`() throws {
        let folder = try TestFolder()
        let connection = try SQLiteConnection(path: folder.file(), mode: .write(.none), limits: .init(.init()))
        defer { connection.close() }
        try connection.session { session in
            try session.each("SELECT 1") { _ in
                try session.each("SELECT 1") { _ in #expect(connection.cachedStatements.isEmpty) }
            }
        }
        #expect(connection.cachedStatements == ["SELECT 1"])
    }

    @Test func `a cached statement follows a changed schema`() async throws {
        let database = try SQLiteDatabase.temporary()
        try await database.write { connection in
            try connection.execute("CREATE TABLE t (a INTEGER)")
            try connection.execute("INSERT INTO t VALUES (1)")
        }
        func columns() throws -> [String]? { try database.read { try $0.first("SELECT * FROM t")?.columns } }
        #expect(try columns() == ["a"])
        try await database.write { try $0.execute("ALTER TABLE t RENAME COLUMN a TO b") }
        #expect(try columns() == ["b"])
        try await database.write { try $0.execute("ALTER TABLE t ADD COLUMN c INTEGER") }
        #expect(try columns() == ["b", "c"])
        await database.close()
    }

    @Test func `the count of changed rows is that of the statement`() async throws {
        let database = try SQLiteDatabase.temporary()
        let counts = try await database.write { connection in
            [
                try connection.execute("CREATE TABLE t (v INTEGER)"),
                try connection.execute("INSERT INTO t VALUES (1), (2), (3)"),
                try connection.execute("SELECT v FROM t"),
                try connection.execute("UPDATE t SET v = 0 WHERE v > 1"),
                try connection.execute("UPDATE t SET v = 0 WHERE v > 1"),
                try connection.execute("CREATE INDEX i ON t (v)"),
                try connection.execute("DELETE FROM t"),
            ]
        }
        #expect(counts == [0, 3, 0, 2, 0, 0, 3])
        await database.close()
    }

    @Test func `pragmas that write, attached files and strings in double quotes are refused`() async throws {
        let database = try SQLiteDatabase.temporary()
        let refused: [(String, SQLError.Code)] = [
            ("PRAGMA synchronous = OFF", .misuse), ("PRAGMA foreign_keys = OFF", .misuse),
            ("PRAGMA journal_mode = DELETE", .misuse), ("PRAGMA writable_schema = ON", .misuse),
            ("ATTACH ':memory:' AS other", .misuse), ("SELECT \"no such column\"", .invalidStatement),
        ]
        for (sql, code) in refused {
            await #expect(throws: SQLError(code, ""), "\(sql)") { try await database.write { try $0.query(sql) } }
            #expect(throws: SQLError(code, ""), "\(sql)") { try database.read { try $0.query(sql) } }
        }
        await database.close()
    }

    @Test func `a connection cannot be used after the read that passed it`() async throws {
        let database = try SQLiteDatabase.temporary()
        var kept: (any SQLConnection)?
        try database.read { kept = $0 }
        #expect(throws: SQLError(.misuse, "")) { try kept?.query("SELECT 1") }
        await database.close()
    }

    @Test func `a migration may rebuild a table that others refer to, but not delete the parent of a row`() async throws
    {
        let database = try SQLiteDatabase.temporary()
        let schema = SQLMigration(
            "0001",
            [
                .sqlite: """
                CREATE TABLE parent (id INTEGER PRIMARY KEY);
                CREATE TABLE child (parent INTEGER NOT NULL REFERENCES parent (id) ON DELETE CASCADE);
                INSERT INTO parent VALUES (1), (2);
                INSERT INTO child VALUES (1), (2);
                """
            ])
        let rebuild = SQLMigration(
            "0002",
            [
                .sqlite: """
                CREATE TABLE rebuilt (id INTEGER PRIMARY KEY, name TEXT);
                INSERT INTO rebuilt SELECT id, 'n' || id FROM parent;
                DROP TABLE parent;
                ALTER TABLE rebuilt RENAME TO parent;
                """
            ])
        let orphan = SQLMigration("0003", [.sqlite: "DELETE FROM parent WHERE id = 2"])
        try database.migrate([schema, rebuild])
        let error = #expect(throws: SQLError.self) { try database.migrate([schema, rebuild, orphan]) }
        #expect(error?.code == .foreignKeyViolation)
        #expect(error?.message.contains("rows of child") == true)
        let counts = try database.read { connection in
            try ["parent", "child"].map { table -> Int? in
                try connection.first("SELECT count(*) AS n FROM \(table)")?["n"]
            }
        }
        #expect(counts == [2, 2])
        await #expect(throws: SQLError(.foreignKeyViolation, "")) {
            try await database.write { try $0.execute("INSERT INTO child VALUES (99)") }
        }
        await database.close()
    }

    @Test func `a migration with a transaction, a placeholder or an invalid statement is refused`() async throws {
        let database = try SQLiteDatabase.temporary()
        let refused: [(String, SQLError.Code)] = [
            ("CREATE TABLE t (v INTEGER); COMMIT", .misuse), ("INSERT INTO t VALUES (?1)", .invalidStatement),
            ("CREATE TABLE t (v INTEGER); SELECT ?1", .invalidStatement),
            ("CREATE TABLE t (v INTEGER); x", .invalidStatement),
        ]
        for (text, code) in refused {
            #expect(throws: SQLError(code, ""), "\(text)") {
                try database.migrate([SQLMigration("1", [.sqlite: text])])
            }
        }
        try database.migrate([SQLMigration("1", [.sqlite: "CREATE TABLE t (v INTEGER);;; -- the end\n"])])
        await database.close()
    }

    @Test func `a write that is cancelled in the queue ends at once, and its body never runs`() async throws {
        let database = try SQLiteDatabase.temporary()
        let isHeld = Gate()
        let mayGo = DispatchSemaphore(value: 0)
        let holder = Task {
            try await database.write { _ in
                isHeld.open()
                mayGo.wait()
            }
        }
        try await isHeld.pass()
        let runs = Counter()
        let cancelled = Task { try await database.write { _ in runs.add() } }
        try await until("the write is queued") { database.queuedWrites == 1 }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        mayGo.signal()
        try await holder.value
        try await database.write { _ in }
        #expect(runs.count == 0)
        await database.close()
    }

    @Test func `close waits for a read that runs`() async throws {
        let database = try SQLiteDatabase.temporary()
        let isReading = Gate()
        let mayGo = DispatchSemaphore(value: 0)
        let order = Locked<[String]>([])
        let read = Task {
            try await onThread {
                try database.read { connection in
                    isReading.open()
                    mayGo.wait()
                    _ = try connection.query("SELECT 1")
                    order.withLock { $0.append("read") }
                }
            }
        }
        try await isReading.pass()
        let close = Task {
            await database.close()
            order.withLock { $0.append("closed") }
        }
        try await until("the database is closing") { database.isClosing }
        #expect(throws: SQLError(.closed, "")) { try database.read { try $0.query("SELECT 1") } }
        mayGo.signal()
        try await read.value
        await close.value
        #expect(order.withLock { $0 } == ["read", "closed"])
    }
}

/// Runs a blocking body on its own thread, because task threads must not be blocked.
func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    let result: Result<T, any Error> = await withCheckedContinuation { continuation in
        Thread { continuation.resume(returning: Result { try body() }) }.start()
    }
    return try result.get()
}
