import Foundation
import Primitives
import Testing

@testable import SQLStorage

/// Comparison, checks, copies and replacement of a file that another process may have open.
@Suite struct SQLiteFileTests {
    private static let migrations = [
        SQLMigration("0001 rooms", [.sqlite: "CREATE TABLE room (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT"]),
        SQLMigration(
            "0002 keys",
            [
                .sqlite: """
                CREATE TABLE key (id INTEGER PRIMARY KEY, room INTEGER NOT NULL REFERENCES room (id)) STRICT;
                CREATE INDEX key_of_room ON key (room);
                """
            ]),
    ]

    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func database(
        _ name: String = "test.sqlite", rooms: Int = 3, configuration: SQLiteDatabase.Configuration = .init()
    ) async throws -> SQLiteDatabase {
        let database = try SQLiteDatabase(path: folder.file(name), configuration: configuration)
        try database.migrate(Self.migrations)
        try await database.write { connection in
            for number in 0..<rooms {
                try connection.execute("INSERT INTO room (name) VALUES (?1)", [.text("room \(number)")])
            }
        }
        return database
    }

    private func file(_ name: String = "test.sqlite") throws -> SQLiteFile {
        try SQLiteFile(path: folder.file(name), busyTimeout: .milliseconds(50))
    }

    /// The files of the folder, without logs and shared memory, which remain beside a file that was only read.
    private var files: [String] {
        get throws { try folder.contents.filter { !$0.hasSuffix(".sqlite-wal") && !$0.hasSuffix("-shm") } }
    }

    private func rooms(_ name: String) async throws -> Int64 {
        let database = try SQLiteDatabase(path: folder.file(name))
        let count: Int64 = try database.read { try #require(try $0.first("SELECT count(*) FROM room"))[0] }
        await database.close()
        return count
    }

    // MARK: - Checks

    @Test func `the unfinished transaction of a killed process is rolled back before a file is read`() async throws {
        await (try database(rooms: 3)).close()
        let connection = try SQLiteConnection(
            path: folder.file(), mode: .plain, limits: .init(SQLiteDatabase.Configuration()))
        try connection.leaveWriteAheadLog(within: .seconds(1))
        // The small cache spills pages of the transaction into the file, and their former content into the journal.
        try connection.runInternal("PRAGMA cache_size = 2")
        try connection.runInternal("BEGIN IMMEDIATE")
        for number in 0..<2000 {
            try connection.runInternal("INSERT INTO room (name) VALUES ('room \(number) of many')")
        }
        for suffix in ["", "-journal"] {
            try FileManager.default.copyItem(
                atPath: folder.file() + suffix, toPath: folder.file("killed.sqlite") + suffix)
        }
        try connection.runInternal("ROLLBACK")
        connection.close()
        let killed = try file("killed.sqlite")
        #expect(try killed.schema(Self.migrations).pending == [])
        #expect(try killed.damage() == [])
        #expect(try await rooms("killed.sqlite") == 3)
        #expect(try !folder.contents.contains("killed.sqlite-journal"))
    }

    @Test func `a missing file is refused and not created`() throws {
        let error = #expect(throws: SQLError.self) { try file() }
        #expect(error?.code == .cannotOpen && error?.message.contains("there is no such file") == true)
        #expect(try files == [])
    }

    @Test func `the schema status can be read while the database is open, after each migration`() async throws {
        let database = try SQLiteDatabase(path: folder.file())
        #expect(try file().schema(Self.migrations) == .init(applied: [], pending: ["0001 rooms", "0002 keys"]))
        try database.migrate(Array(Self.migrations.prefix(1)))
        #expect(try file().schema(Self.migrations) == .init(applied: ["0001 rooms"], pending: ["0002 keys"]))
        try database.migrate(Self.migrations)
        #expect(try file().schema(Self.migrations) == .init(applied: ["0001 rooms", "0002 keys"], pending: []))
        let older = #expect(throws: SQLError.self) { try file().schema(Array(Self.migrations.prefix(1))) }
        #expect(older?.code == .newerSchema)
        await database.close()
    }

    @Test func `a schema that was changed by hand is distinguished from one of migrations`() async throws {
        let database = try await database()
        #expect(try await file().deviations(from: Self.migrations) == [])
        try await database.write { connection in
            try connection.execute("DROP INDEX key_of_room")
            try connection.execute("ALTER TABLE room ADD COLUMN colour TEXT")
            try connection.execute("CREATE VIEW names AS SELECT name FROM room")
        }
        let found = try await file().deviations(from: Self.migrations)
        #expect(
            found == [
                "The index key_of_room of key with room at 0 is missing.",
                "The column room.colour TEXT is not from a migration.", "The view names is not from a migration.",
            ])
        await database.close()
    }

    @Test func `damage and rows without their parents are found`() async throws {
        let database = try await database(rooms: 2000)
        #expect(try file().damage() == [])
        await database.close()
        let connection = try SQLiteConnection(path: folder.file(), mode: .plain, limits: .init(.init()))
        try connection.runInternal("PRAGMA foreign_keys = OFF; INSERT INTO key (id, room) VALUES (1, 99999)")
        connection.close()
        #expect(try file().damage() == ["A row of key refers to a missing row of room."])
        try damage(folder.file())
        let found = try? file().damage(limit: 2)
        #expect(found?.isEmpty != true, "The damage is reported in sentences, or thrown as corrupt.")
    }

    private func damage(_ path: String) throws {
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes.replaceSubrange(4096..<bytes.count, with: Data(repeating: 0xA5, count: bytes.count - 4096))
        try bytes.write(to: URL(fileURLWithPath: path))
    }

    // MARK: - Backups

    @Test func `a backup during writes is complete and has the state of one instant`() async throws {
        let database = try await database(rooms: 5000)
        try await database.write { try $0.execute("INSERT INTO key (id, room) VALUES (0, 1)") }
        // Each write moves a row between two tables, so the sum is constant.
        func move(_ number: Int64) throws {
            try database.writeAndWait { connection in
                try connection.execute("DELETE FROM room WHERE id = ?1", [.integer(number)])
                try connection.execute("INSERT INTO key (id, room) VALUES (?1, 1)", [.integer(number)])
            }
        }
        var number: Int64 = 2
        for copy in 0..<5 {
            var progress: [Double] = []
            try file().backUp(to: folder.file("copy \(copy)"), pagesAtOnce: 4) { part in
                progress.append(part)
                #expect(throws: Never.self) { try move(number) }
                number += 1
            }
            #expect(progress.last == 1 && progress == progress.sorted() && progress.count > 5)
        }
        for copy in 0..<5 {
            let copied = try SQLiteDatabase(path: folder.file("copy \(copy)"))
            let count: Int64 = try copied.read {
                try #require(try $0.first("SELECT (SELECT count(*) FROM room) + (SELECT count(*) FROM key)"))[0]
            }
            #expect(count == 5001)
            await copied.close()
        }
        await database.close()
    }

    @Test func `a backup is one file that only its owner can read, and never replaces another file`() async throws {
        let database = try await database()
        try file().backUp(to: folder.file("backup"))
        #expect(try folder.contents.filter { $0.hasPrefix("backup") } == ["backup"])
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.file("backup"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let error = #expect(throws: SQLError.self) { try file().backUp(to: folder.file("backup")) }
        #expect(error?.message.contains("the file exists") == true)
        await database.close()
        #expect(try await rooms("backup") == 3)
    }

    @Test func `nothing is left of a backup that failed`() async throws {
        let database = try await database(rooms: 2000)
        await database.close()
        try damage(folder.file())
        let error = #expect(throws: SQLError.self) { try file().backUp(to: folder.file("backup")) }
        #expect(error?.code == .corrupt)
        let unreachable = #expect(throws: SQLError.self) { try file().backUp(to: folder.path + "/none/backup") }
        #expect(unreachable?.code == .cannotOpen)
        #expect(try files == ["test.sqlite"])
    }

    // MARK: - Replacement

    @Test func `a backup replaces a database, which is kept`() async throws {
        let old = try await database(rooms: 3)
        try file().backUp(to: folder.file("backup.sqlite"))
        try await old.write { try $0.execute("DELETE FROM room") }
        await old.close()
        try await file("backup.sqlite").replace(folder.file(), keepingItAs: folder.file("former"))
        #expect(try files == ["backup.sqlite", "former", "test.sqlite"])
        #expect(try await rooms("test.sqlite") == 3)
        #expect(try await rooms("former") == 0)
    }

    @Test func `a backup is restored where there is no database yet`() async throws {
        await (try database()).close()
        try await file().replace(folder.file("new.sqlite"), keepingItAs: folder.file("former"))
        #expect(try files == ["new.sqlite", "test.sqlite"])
        #expect(try await rooms("new.sqlite") == 3)
        try FileManager.default.removeItem(atPath: folder.file("new.sqlite"))
        try Data(repeating: 7, count: 9000).write(to: URL(fileURLWithPath: folder.file("new.sqlite-wal")))
        try await file().replace(folder.file("new.sqlite"), keepingItAs: folder.file("former"))
        #expect(try files == ["former-wal", "new.sqlite", "test.sqlite"])
        #expect(try await rooms("new.sqlite") == 3)
    }

    @Test func `the log of a killed process is kept with the replaced database`() async throws {
        await (try database("backup.sqlite", rooms: 1)).close()
        let killed = try await database(rooms: 7)
        // The state after a kill: the file with its log, which no process has open.
        for name in ["test.sqlite", "test.sqlite-wal"] {
            try FileManager.default.copyItem(atPath: folder.file(name), toPath: folder.file("left " + name))
        }
        await killed.close()
        try await file("backup.sqlite").replace(folder.file("left test.sqlite"), keepingItAs: folder.file("former"))
        #expect(try files == ["backup.sqlite", "former", "left test.sqlite", "test.sqlite"])
        #expect(try await rooms("former") == 7)
        #expect(try await rooms("left test.sqlite") == 1)
    }

    @Test func `a database that is open is not replaced`() async throws {
        await (try database("backup.sqlite", rooms: 1)).close()
        for isExclusive in [true, false] {
            var configuration = SQLiteDatabase.Configuration()
            configuration.isExclusive = isExclusive
            let server = try await database(rooms: 1, configuration: configuration)
            let error = await #expect(throws: SQLError.self) {
                try await file("backup.sqlite").replace(folder.file(), keepingItAs: folder.file("former"))
            }
            #expect(error?.code == (isExclusive ? .alreadyOpen : .busy), "\(error?.message ?? "")")
            let count: Int64 = try server.read { try #require(try $0.first("SELECT count(*) FROM room"))[0] }
            #expect(count > 0)
            await server.close()
            #expect(try files == ["backup.sqlite", "test.sqlite"])
        }
    }

    @Test(arguments: [true, false])
    func `a link stays, and its target is replaced`(exists: Bool) async throws {
        await (try database("backup.sqlite", rooms: 3)).close()
        if exists { await (try database(rooms: 1)).close() }
        let links = folder.file("links")
        let link = links + "/ledger.sqlite"
        try FileManager.default.createDirectory(atPath: links, withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "../test.sqlite")
        try await file("backup.sqlite").replace(link, keepingItAs: folder.file("former"))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "../test.sqlite")
        #expect(try FileManager.default.contentsOfDirectory(atPath: links) == ["ledger.sqlite"])
        #expect(try files == ["backup.sqlite"] + (exists ? ["former"] : []) + ["links", "test.sqlite"])
        #expect(try await rooms("test.sqlite") == 3)
        if exists { #expect(try await rooms("former") == 1) }
    }

    @Test func `a backup is written to the target of a link`() async throws {
        await (try database(rooms: 3)).close()
        let link = folder.file("backup")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "elsewhere")
        try file().backUp(to: link)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "elsewhere")
        #expect(try await rooms("elsewhere") == 3)
    }

    @Test func `a damaged database is replaced and kept`() async throws {
        await (try database("backup.sqlite", rooms: 2)).close()
        try Data(String(repeating: "No database. ", count: 1000).utf8).write(to: URL(fileURLWithPath: folder.file()))
        try await file("backup.sqlite").replace(folder.file(), keepingItAs: folder.file("former"))
        #expect(try files == ["backup.sqlite", "former", "test.sqlite"])
        #expect(try await rooms("test.sqlite") == 2)
    }

    @Test func `a damaged backup replaces nothing`() async throws {
        await (try database("backup.sqlite", rooms: 2000)).close()
        try damage(folder.file("backup.sqlite"))
        await (try database(rooms: 1)).close()
        await #expect(throws: SQLError.self) {
            try await file("backup.sqlite").replace(folder.file(), keepingItAs: folder.file("former"))
        }
        #expect(try files == ["backup.sqlite", "test.sqlite"])
        #expect(try await rooms("test.sqlite") == 1)
    }

    @Test func `rows that must survive a restore are copied from the old database`() async throws {
        await (try database("backup.sqlite", rooms: 2)).close()
        await (try database(rooms: 5)).close()
        try await file("backup.sqlite").replace(folder.file(), keepingItAs: folder.file("former")) { old in
            try old.query("SELECT name FROM room WHERE id > 2").map { try $0["name"] as String }
        } amending: { copy, kept in
            #expect(kept == ["room 2", "room 3", "room 4"])
            for name in kept ?? [] {
                try await copy.write { try $0.execute("INSERT INTO room (name) VALUES (?1)", [.text(name)]) }
            }
        }
        #expect(try files == ["backup.sqlite", "former", "test.sqlite"])
        #expect(try await rooms("test.sqlite") == 5)
        #expect(try await rooms("backup.sqlite") == 2)
    }

    @Test func `an error while the copy is changed leaves the old database unchanged`() async throws {
        struct Refused: Error {}
        await (try database("backup.sqlite", rooms: 2)).close()
        await (try database(rooms: 5)).close()
        await #expect(throws: Refused.self) {
            try await file("backup.sqlite").replace(folder.file(), keepingItAs: folder.file("former")) { _ in
            } amending: { copy, _ in
                try await copy.write { try $0.execute("DELETE FROM room") }
                throw Refused()
            }
        }
        #expect(try files == ["backup.sqlite", "test.sqlite"])
        #expect(try await rooms("test.sqlite") == 5)
    }

    // MARK: - Deleted data

    /// The files that contain a word.
    private func filesHolding(_ word: String) throws -> [String] {
        try folder.contents.filter { name in
            try Data(contentsOf: URL(fileURLWithPath: folder.file(name))).range(of: Data(word.utf8)) != nil
        }
    }

    @Test func `deleted data is in no file after removeDeleted`() async throws {
        let database = try await database(rooms: 2000)
        try await database.write { connection in
            try connection.execute("INSERT INTO room (id, name) VALUES (5000, 'the secret room')")
        }
        try await database.write { try $0.execute("DELETE FROM room WHERE id = 5000") }
        #expect(try filesHolding("the secret room") == ["test.sqlite-wal"], "The log still has it.")
        #expect(try await database.removeDeleted())
        #expect(try filesHolding("the secret room") == [])
        await database.close()
        #expect(try filesHolding("the secret room") == [])
        #expect(try await rooms("test.sqlite") == 2000)
    }

    @Test func `a database above the size limit is not compacted, and one below it keeps its rows`() async throws {
        let database = try await database(rooms: 2000)
        #expect(try await database.compact(upTo: 4096) == false)
        #expect(try await database.compact(upTo: 1 << 30))
        await database.close()
        #expect(try await rooms("test.sqlite") == 2000)
    }

    @Test func `while a reader uses an older state, deleted data is not removed, and no caller waits`() async throws {
        let database = try await database()
        let reader = try SQLiteConnection(path: folder.file(), mode: .read, limits: .init(.init()))
        try reader.run(.begin)
        _ = try reader.session { try $0.query("SELECT * FROM room") }
        try await database.write { try $0.execute("UPDATE room SET name = 'other'") }
        #expect(try await database.removeDeleted() == false)
        try await database.write { try $0.execute("UPDATE room SET name = 'third'") }
        reader.endQuietly()
        #expect(try await database.removeDeleted())
        reader.close()
        await database.close()
    }

    /// Creates a database of 500 rooms, of which "room 76" was deleted by a program that does not overwrite deleted
    /// data.
    private func leaveDeletedRoom() async throws {
        await (try database(rooms: 500)).close()
        let careless = try SQLiteConnection(path: folder.file(), mode: .plain, limits: .init(.init()))
        try careless.runInternal("PRAGMA secure_delete = OFF; DELETE FROM room WHERE id = 77")
        careless.close()
        #expect(try filesHolding("room 76").contains("test.sqlite"))
    }

    @Test func `a backup omits deleted data if the caller reports that there is some`() async throws {
        try await leaveDeletedRoom()
        try file().backUp(to: folder.file("as it is"))
        #expect(try filesHolding("room 76").contains("as it is"))
        try file().backUp(to: folder.file("anew"), holdsDeleted: { try $0.first("SELECT 1 FROM room") != nil })
        #expect(try !filesHolding("room 76").contains("anew"))
        #expect(try await rooms("anew") == 499)
    }

    /// A process may be killed at any moment after the exchange.
    @Test func `the former database never contains deleted data`() async throws {
        await (try database("backup.sqlite", rooms: 2)).close()
        try await leaveDeletedRoom()
        let (former, found) = (folder.file("former"), Promise<Data>())
        Thread.detachNewThread {
            while access(former, F_OK) != 0 {}
            found.resolve(Result { try Data(contentsOf: URL(fileURLWithPath: former)) })
        }
        let failure = try await file("backup.sqlite").replace(
            folder.file(), keepingItAs: former, reading: { _ in }, holdsDeleted: { true }, amending: { _, _ in })
        #expect(failure == nil)
        let bytes = try await found.value()
        #expect(bytes.range(of: Data("room 75".utf8)) != nil && bytes.range(of: Data("room 76".utf8)) == nil)
        #expect(try files == ["backup.sqlite", "former", "test.sqlite"])
        #expect(try await rooms("former") == 499)
        #expect(try await rooms("test.sqlite") == 2)
    }

    @Test func `a compacted file contains no deleted data`() async throws {
        try await leaveDeletedRoom()
        try file().compact()
        #expect(try filesHolding("room 76") == [])
        #expect(try await rooms("test.sqlite") == 499)
    }
}

extension SQLiteFile {
    fileprivate func replace(_ target: String, keepingItAs former: String) async throws {
        try await replace(target, keepingItAs: former, reading: { _ in }, amending: { _, _ in })
    }
}
