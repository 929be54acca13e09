import Foundation
import Primitives
import Testing

@testable import SQLStorage

/// The schedule of checkpoints of the write-ahead log, and their effect on readers.
@Suite struct SQLiteCheckpointerTests {
    @Test func `a checkpoint runs beside the writer, and the writer copies the rest of the log`() {
        var schedule = SQLiteCheckpointer.Schedule(pages: 100)
        #expect(schedule.step(at: 99) == .goOn)
        #expect(schedule.step(at: 100) == .start)
        #expect(schedule.step(at: 101) == .goOn)
        #expect(schedule.step(at: 199) == .goOn)
        schedule.isDone = true
        #expect(schedule.step(at: 199) == .finish)
        #expect(schedule.step(at: 3) == .goOn)
        #expect(schedule.step(at: 100) == .start)
    }

    @Test func `a writer that is faster than the checkpoint waits for it`() {
        var schedule = SQLiteCheckpointer.Schedule(pages: 100)
        #expect(schedule.step(at: 120) == .start)
        #expect(schedule.step(at: 200) == .wait)
        schedule.isDone = true
        #expect(schedule.step(at: 200) == .finish)
    }

    @Test func `a log that a reader uses is not checkpointed after every commit`() {
        var schedule = SQLiteCheckpointer.Schedule(pages: 100)
        #expect(schedule.step(at: 100) == .start)
        schedule.isDone = true
        #expect(schedule.step(at: 150) == .finish)
        #expect(schedule.step(at: 151) == .goOn)
        #expect(schedule.step(at: 249) == .goOn)
        #expect(schedule.step(at: 250) == .start)
    }

    private static func database(_ folder: TestFolder, pages: Int) throws -> SQLiteDatabase {
        var configuration = SQLiteDatabase.Configuration()
        configuration.checkpointPages = pages
        let database = try SQLiteDatabase(path: folder.file(), configuration: configuration)
        try database.migrate([
            SQLMigration("0001", [.sqlite: "CREATE TABLE thing (id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT"])
        ])
        return database
    }

    private static func fill(_ database: SQLiteDatabase, _ ids: Range<Int>) async throws {
        for id in ids {
            try await database.write { connection in
                let body = [UInt8](repeating: UInt8(truncatingIfNeeded: id), count: 2000)
                try connection.execute("INSERT INTO thing VALUES (?1, ?2)", [SQLValue(id), .blob(body)])
            }
        }
    }

    private static func ids(_ connection: any SQLConnection) throws -> [Int] {
        try connection.query("SELECT id FROM thing ORDER BY id").map { try $0["id"] }
    }

    @Test func `the log stays short during many writes`() async throws {
        let folder = try TestFolder()
        let database = try Self.database(folder, pages: 10)
        try await Self.fill(database, 0..<1000)
        let log = try FileManager.default.attributesOfItem(atPath: folder.file("test.sqlite-wal"))[.size] as? Int
        // A frame has 4 KiB and a header of 24 bytes. The writer waits when the log has 20 frames; the last write
        // before the wait can make it longer.
        #expect(try #require(log) < 40 * 4120)
        #expect(try database.read(Self.ids) == Array(0..<1000))
        await database.close()
        #expect(try folder.contents == ["test.sqlite"])
        #expect(try SQLiteFile(path: folder.file()).damage() == [])
    }

    @Test func `a reader keeps its snapshot during a checkpoint`() async throws {
        let folder = try TestFolder()
        let database = try Self.database(folder, pages: 10)
        try await Self.fill(database, 0..<20)
        try await onThread {
            try database.read { connection in
                #expect(try Self.ids(connection).count == 20)
                for id in 20..<300 {
                    try database.writeAndWait { connection in
                        let body = [UInt8](repeating: 1, count: 2000)
                        try connection.execute("INSERT INTO thing VALUES (?1, ?2)", [SQLValue(id), .blob(body)])
                    }
                }
                #expect(try Self.ids(connection).count == 20)
            }
        }
        try await Self.fill(database, 300..<400)
        #expect(try database.read(Self.ids) == Array(0..<400))
        await database.close()
        #expect(try SQLiteFile(path: folder.file()).damage() == [])
    }
}
