import BaseTestSupport
import Foundation
import Testing

@testable import SQLStorage

@Suite struct SQLiteOpeningTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func refusal(of path: String) -> SQLError? {
        #expect(throws: SQLError.self) { _ = try SQLiteDatabase(path: path) }
    }

    @Test func `written rows are there after the file is closed and opened again`() async throws {
        let first = try SQLiteDatabase(path: folder.file())
        try await first.write { connection in
            try connection.execute("CREATE TABLE t (v INTEGER)")
            try connection.execute("INSERT INTO t VALUES (7)")
        }
        await first.close()
        #expect(try folder.contents == ["test.sqlite"], "A closed database has its log merged into the file.")
        let second = try SQLiteDatabase(path: folder.file())
        let value: Int? = try second.read { try $0.first("SELECT v FROM t")?["v"] }
        #expect(value == 7)
        await second.close()
    }

    @Test func `a folder, a file in a missing folder and a string that is no path are refused with the reason`() throws
    {
        let cases = [
            (folder.path, "folder"), (folder.path + "/none/test.sqlite", "there is no folder"), ("", "empty"),
            (":memory:", "not the path of a file"), (folder.file("a\0b"), "not the path of a file"),
        ]
        for (path, reason) in cases {
            let error = refusal(of: path)
            #expect(error?.code == .cannotOpen)
            #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
            #expect(error?.message.hasPrefix("The database \(path) cannot be opened: ") == true)
        }
        #expect(try folder.contents.isEmpty, "A refusal makes no file.")
    }

    @Test(.timeLimit(.minutes(1))) func `a named pipe is refused at once, and no file is created beside it`() throws {
        let pipe = folder.file("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        for isExclusive in [true, false] {
            var configuration = SQLiteDatabase.Configuration()
            configuration.isExclusive = isExclusive
            let error = #expect(throws: SQLError.self) {
                _ = try SQLiteDatabase(path: pipe, configuration: configuration)
            }
            #expect(error?.code == .cannotOpen && error?.message.contains("no regular file") == true)
        }
        let error = #expect(throws: SQLError.self) { _ = try SQLiteFile(path: pipe).schema([]) }
        #expect(error?.code == .cannotOpen)
        #expect(try folder.contents == ["pipe"])
    }

    @Test(arguments: [("x", 1), ("This is a text.\n", 1), ("No database at all. ", 1000)])
    func `a file that is not a database is refused and stays unchanged`(_ words: String, times: Int) throws {
        let text = String(repeating: words, count: times)
        let path = folder.file("notes.txt")
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        let error = refusal(of: path)
        #expect(error?.code == .notADatabase)
        #expect(error?.message.contains(path) == true)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(text.utf8))
        #expect(try folder.contents == ["notes.txt"])
    }

    @Test func `an empty file becomes a database`() async throws {
        try Data().write(to: URL(fileURLWithPath: folder.file()))
        let database = try SQLiteDatabase(path: folder.file())
        try await database.write { try $0.execute("CREATE TABLE t (v INTEGER)") }
        await database.close()
    }

    @Test(arguments: [false, true])
    func `a file that is empty or missing beside a log with content is refused, and nothing is created`(isLinked: Bool)
        async throws
    {
        let folder = try TestFolder()
        let database = try SQLiteDatabase(path: folder.file())
        try await database.write { try $0.execute("CREATE TABLE t (a INTEGER)") }
        let log = try Data(contentsOf: URL(fileURLWithPath: folder.file("test.sqlite-wal")))
        #expect(!log.isEmpty)
        await database.close()
        for isMissing in [false, true] {
            let path = folder.file("left \(isMissing)")
            try log.write(to: URL(fileURLWithPath: path + "-wal"))
            if !isMissing { try Data().write(to: URL(fileURLWithPath: path)) }
            let opened = isLinked ? folder.file("link \(isMissing)") : path
            if isLinked { try FileManager.default.createSymbolicLink(atPath: opened, withDestinationPath: path) }
            let error = #expect(throws: SQLError.self) { try SQLiteDatabase(path: opened) }
            #expect(error?.code == .corrupt && error?.message.contains("write-ahead log") == true)
            #expect(FileManager.default.fileExists(atPath: path) == !isMissing)
            #expect(try Data(contentsOf: URL(fileURLWithPath: path + "-wal")) == log)
            try Data().write(to: URL(fileURLWithPath: path + "-wal"))
            let new = try SQLiteDatabase(path: opened)
            await new.close()
        }
    }

    @Test(arguments: ["", "-wal", "-shm"], [false, true])
    func `nothing is written to a renamed file, and nothing is read from another file of its name`(
        _ suffix: String, isLinked: Bool
    ) async throws {
        let folder = try TestFolder()
        var configuration = SQLiteDatabase.Configuration()
        configuration.idleReaders = 0
        let opened = isLinked ? folder.file("link.sqlite") : folder.file()
        if isLinked { try FileManager.default.createSymbolicLink(atPath: opened, withDestinationPath: folder.file()) }
        let database = try SQLiteDatabase(path: opened, configuration: configuration)
        try await database.write { try $0.execute("CREATE TABLE t (v INTEGER NOT NULL) STRICT") }
        try await database.write { try $0.execute("INSERT INTO t (v) VALUES (1)") }
        try database.checkFiles()
        let (path, moved) = (folder.file() + suffix, folder.file("moved" + suffix))
        func expectRefused() async throws {
            let error = #expect(throws: SQLError.self) { try database.checkFiles() }
            #expect(error?.code == .storageFailed && error?.message.contains("put the file back") == true)
            await #expect(throws: SQLError(.storageFailed, "")) {
                try await database.write { try $0.execute("INSERT INTO t (v) VALUES (2)") }
            }
        }
        try FileManager.default.moveItem(atPath: path, toPath: moved)
        try await expectRefused()
        try FileManager.default.copyItem(atPath: moved, toPath: path)
        try await expectRefused()
        #expect(throws: SQLError(.storageFailed, "")) { try database.read { try $0.query("SELECT v FROM t") } }
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: moved, toPath: path)
        try database.checkFiles()
        try await database.write { try $0.execute("INSERT INTO t (v) VALUES (3)") }
        await database.close()
        let again = try SQLiteDatabase(path: folder.file())
        let values: [Int64] = try again.read { try $0.query("SELECT v FROM t ORDER BY v", []).map { try $0["v"] } }
        #expect(values == [1, 3])
        await again.close()
    }

    @Test func `a commit fails if the file was renamed during its transaction`() async throws {
        let folder = try TestFolder()
        let database = try SQLiteDatabase(path: folder.file())
        try await database.write { try $0.execute("CREATE TABLE t (v INTEGER NOT NULL) STRICT") }
        let (path, moved) = (folder.file(), folder.file("moved"))
        await #expect(throws: SQLError(.storageFailed, "")) {
            try await database.write { connection in
                try connection.execute("INSERT INTO t (v) VALUES (1)")
                try FileManager.default.moveItem(atPath: path, toPath: moved)
            }
        }
        await database.close()
    }

    @Test func `a read of a damaged database fails with the code corrupt, and names the file`() async throws {
        let database = try SQLiteDatabase(path: folder.file())
        try await database.write { connection in
            try connection.execute("CREATE TABLE t (v TEXT)")
            for _ in 0..<100 {
                try connection.execute("INSERT INTO t VALUES (?1)", [.text(String(repeating: "x", count: 1000))])
            }
        }
        await database.close()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: folder.file()))
        bytes.replaceSubrange(4096..<bytes.count, with: Data(repeating: 0xA5, count: bytes.count - 4096))
        try bytes.write(to: URL(fileURLWithPath: folder.file()))
        let damaged = try SQLiteDatabase(path: folder.file())
        let error = #expect(throws: SQLError.self) { try damaged.read { try $0.query("SELECT * FROM t") } }
        #expect(error?.code == .corrupt)
        #expect(error?.message.contains(folder.file()) == true)
        await damaged.close()
    }

    @Test(arguments: [0, 2048, 4096])
    func `the log beside a damaged file stays unchanged`(kept: Int) async throws {
        let database = try SQLiteDatabase(path: folder.file())
        try await database.write { connection in
            try connection.execute("CREATE TABLE t (v TEXT)")
            for _ in 0..<100 {
                try connection.execute("INSERT INTO t VALUES (?1)", [.text(String(repeating: "x", count: 1000))])
            }
        }
        _ = try await database.removeDeleted()
        try await database.write { try $0.execute("UPDATE t SET v = 'y' WHERE rowid = 90") }
        let folder = try TestFolder()
        // The state after a crash, before a checkpoint.
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(
                atPath: self.folder.file() + suffix, toPath: folder.file() + suffix)
        }
        await database.close()
        let log = try Data(contentsOf: URL(fileURLWithPath: folder.file() + "-wal"))
        let bytes = try Data(contentsOf: URL(fileURLWithPath: folder.file()))
        let damage = kept == 0 ? Data(repeating: 0, count: 4096) : bytes.prefix(kept)
        try damage.write(to: URL(fileURLWithPath: folder.file()))
        if let damaged = try? SQLiteDatabase(path: folder.file()) {
            #expect(throws: SQLError.self) { try damaged.read { try $0.query("SELECT count(*) FROM t WHERE v > 'a'") } }
            await damaged.close()
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file() + "-wal")) == log)
        try bytes.write(to: URL(fileURLWithPath: folder.file()))
        let whole = try SQLiteDatabase(path: folder.file())
        let changed: Int? = try whole.read { try $0.first("SELECT count(*) AS n FROM t WHERE v = 'y'")?["n"] }
        #expect(changed == 1)
        await whole.close()
    }

    @Test(arguments: [false, true])
    func `a file that is emptied or gets zeros in its first page while it is open is detected`(isCut: Bool) async throws
    {
        let database = try SQLiteDatabase(path: folder.file())
        try await database.write { try $0.execute("CREATE TABLE t (v TEXT)") }
        _ = try await database.removeDeleted()
        try database.checkFiles()
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.file()))
        if isCut {
            try handle.truncate(atOffset: 0)
        } else {
            try handle.write(contentsOf: Data(repeating: 0, count: 4096))
        }
        #expect(throws: SQLError(.storageFailed, "")) { try database.checkFiles() }
        await #expect(throws: SQLError(.storageFailed, "")) {
            try await database.write { try $0.execute("INSERT INTO t VALUES ('a')") }
        }
        await database.close()
        try handle.close()
    }

    @Test(arguments: ["", "-wal"], [0, 1, 40_000])
    func `a file or log that is truncated while it is open is detected, and nothing is acknowledged`(
        _ suffix: String, kept: UInt64
    ) async throws {
        let database = try SQLiteDatabase(path: folder.file())
        @Sendable func fill(_ connection: any SQLConnection) throws {
            for _ in 0..<100 {
                try connection.execute("INSERT INTO t VALUES (?1)", [.text(String(repeating: "x", count: 1000))])
            }
        }
        try await database.write { try $0.execute("CREATE TABLE t (v TEXT)") }
        try await database.write(fill)
        _ = try await database.removeDeleted()
        try await database.write(fill)
        try database.checkFiles()
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.file() + suffix))
        try handle.truncate(atOffset: kept)
        try handle.close()
        let error = #expect(throws: SQLError.self) { try database.checkFiles() }
        #expect(error?.code == .storageFailed && error?.message.contains("truncated") == true)
        await #expect(throws: SQLError(.storageFailed, "")) {
            try await database.write { try $0.execute("INSERT INTO t VALUES ('a')") }
        }
        await database.close()
    }

    /// The test does not check the files before the write. The write reads truncated pages, and must not report them
    /// as damaged.
    @Test(arguments: ["", "-wal"], [0, 1, 8192])
    func `a write to a truncated file or log fails with the code storageFailed`(
        _ suffix: String, kept: UInt64
    ) async throws {
        let database = try SQLiteDatabase(path: folder.file())
        @Sendable func fill(_ connection: any SQLConnection) throws {
            for _ in 0..<100 {
                try connection.execute("INSERT INTO t VALUES (?1)", [.text(String(repeating: "x", count: 1000))])
            }
        }
        try await database.write { try $0.execute("CREATE TABLE t (v TEXT)") }
        try await database.write(fill)
        _ = try await database.removeDeleted()
        try await database.write(fill)
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.file() + suffix))
        try handle.truncate(atOffset: kept)
        try handle.close()
        await #expect(throws: SQLError(.storageFailed, "")) {
            try await database.write { connection in
                _ = try connection.query("SELECT sum(length(v)) FROM t")
                try connection.execute("INSERT INTO t VALUES ('a')")
            }
        }
        await database.close()
    }

    /// A truncation between two checks. The next frames are written at their old place, so the log has its former size
    /// and zeros in the gap. A negative number is the number of bytes that are removed from the end.
    @Test(arguments: [0, 40_000, -1000, -5000])
    func `a log that was truncated during a write is detected despite its size, and nothing is acknowledged`(
        kept: Int
    ) async throws {
        let database = try SQLiteDatabase(path: folder.file())
        try await database.write { connection in
            try connection.execute("CREATE TABLE t (v TEXT)")
            for _ in 0..<100 {
                try connection.execute("INSERT INTO t VALUES (?1)", [.text(String(repeating: "x", count: 1000))])
            }
        }
        let log = folder.file() + "-wal"
        await #expect(throws: SQLError(.storageFailed, "")) {
            try await database.write { connection in
                try connection.execute("INSERT INTO t VALUES ('lost')")
                let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
                let size = try handle.seekToEnd()
                try handle.truncate(atOffset: kept < 0 ? size - UInt64(-kept) : UInt64(kept))
                try handle.close()
            }
        }
        for _ in 0..<2 {
            await #expect(throws: SQLError(.storageFailed, "")) {
                try await database.write { try $0.execute("INSERT INTO t VALUES ('later')") }
            }
            #expect(throws: SQLError(.storageFailed, "")) { try database.checkFiles() }
        }
        await database.close()
    }

    @Test func `zeros in place of the beginning of a log are detected`() async throws {
        let database = try SQLiteDatabase(path: folder.file())
        try await database.write { try $0.execute("CREATE TABLE t (v TEXT)") }
        try await database.write { try $0.execute("INSERT INTO t VALUES ('a')") }
        try database.checkFiles()
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.file() + "-wal"))
        try handle.write(contentsOf: Data(repeating: 0, count: 32))
        try handle.close()
        #expect(throws: SQLError(.storageFailed, "")) { try database.checkFiles() }
        await #expect(throws: SQLError(.storageFailed, "")) {
            try await database.write { try $0.execute("INSERT INTO t VALUES ('b')") }
        }
        await database.close()
    }

    @Test func `the checks accept a database that shrinks by compaction, also of another connection, and grows again`()
        async throws
    {
        let database = try SQLiteDatabase(path: folder.file())
        try await database.write { try $0.execute("CREATE TABLE t (v TEXT)") }
        for round in 1...3 {
            for count in [40, 3] {
                for _ in 0..<count {
                    try await database.write { connection in
                        for _ in 0..<10 {
                            try connection.execute(
                                "INSERT INTO t VALUES (?1)", [.text(String(repeating: "x", count: 4000))])
                        }
                    }
                }
                if count == 40 { try await database.write { try $0.execute("DELETE FROM t") } }
                switch round {
                case 1: try await database.compact()
                case 2: #expect(try await database.compact(upTo: .max))
                default: #expect(try await database.removeDeleted())
                }
                try database.checkFiles()
            }
        }
        let another = try SQLiteConnection(
            path: folder.file(), mode: .write(.full), limits: .init(SQLiteDatabase.Configuration()))
        try another.runInternal("DELETE FROM t")
        try another.runInternal("VACUUM")
        try database.checkFiles()
        #expect(try another.truncateLog())
        try database.checkFiles()
        try await database.write { try $0.execute("INSERT INTO t VALUES ('a')") }
        try database.checkFiles()
        another.close()
        await database.close()
    }

    @Test func `a file can be open only once in a process, also through a symbolic link`() async throws {
        let first = try SQLiteDatabase(path: folder.file())
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link.sqlite"), withDestinationPath: folder.file())
        for path in [folder.file(), folder.path + "/./test.sqlite", folder.file("link.sqlite")] {
            #expect(refusal(of: path)?.code == .alreadyOpen)
        }
        try await first.write { try $0.execute("CREATE TABLE t (v INTEGER)") }
        await first.close()
        let second = try SQLiteDatabase(path: folder.file("link.sqlite"))
        await second.close()
    }

    @Test func `a released database is closed`() async throws {
        for step in 0..<20 {
            let database = try SQLiteDatabase(path: folder.file())
            try await database.write { connection in
                try connection.execute("CREATE TABLE IF NOT EXISTS t (v INTEGER)")
                try connection.execute("INSERT INTO t VALUES (?1)", [SQLValue(step)])
            }
            let count: Int? = try database.read { try $0.first("SELECT count(*) AS n FROM t")?["n"] }
            #expect(count == step + 1)
        }
        #expect(try folder.contents == ["test.sqlite"])
    }

    @Test(.timeLimit(.minutes(1)))
    func `a database whose last reference is in a body is closed too`() async throws {
        func writeAndForget() async throws {
            let database = try SQLiteDatabase(path: folder.file())
            try await database.write { connection in
                try connection.execute("CREATE TABLE IF NOT EXISTS t (v INTEGER)")
                #expect(database.dialect == .sqlite)
            }
        }
        for _ in 0..<20 {
            // The writer's thread may release the last reference, and then closes the database later.
            try await until("the database is closed") {
                do {
                    try await writeAndForget()
                    return true
                } catch let error as SQLError where error.code == .alreadyOpen {
                    return false
                }
            }
        }
    }

    @Test func `a new file that has the inode of a removed one can be opened`() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask { [path = folder.file("\(worker)") as String] in
                    for _ in 0..<100 {
                        let database = try SQLiteDatabase(path: path)
                        try FileManager.default.removeItem(atPath: path)
                        await database.close()
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `a temporary database leaves no file when it is closed or released`() async throws {
        let closed = try SQLiteDatabase.temporary(in: folder.path)
        try await closed.write { try $0.execute("CREATE TABLE t (v INTEGER)") }
        #expect(try folder.contents.count == 1)
        await closed.close()
        #expect(try folder.contents.isEmpty)
        do {
            let forgotten = try SQLiteDatabase.temporary(in: folder.path)
            try await forgotten.write { try $0.execute("CREATE TABLE t (v INTEGER)") }
        }
        #expect(try folder.contents.isEmpty)
        let error = #expect(throws: SQLError.self) { _ = try SQLiteDatabase.temporary(in: folder.file("none")) }
        #expect(error?.code == .cannotOpen)
    }

    @Test func `a read-only file, and a new file in a read-only folder, are refused`() async throws {
        let database = try SQLiteDatabase(path: folder.file())
        try await database.write { try $0.execute("CREATE TABLE t (v INTEGER)") }
        await database.close()
        chmod(folder.file(), 0o444)
        chmod(folder.path, 0o555)
        defer { chmod(folder.path, 0o755) }
        // In a child process without root's rights, because root may write everything.
        await #expect(processExitsWith: .success) { [path = folder.file() as String] in
            if getuid() == 0 { try #require(setuid(65534) == 0) }
            let error = #expect(throws: SQLError.self) { _ = try SQLiteDatabase(path: path) }
            #expect(error?.code == .cannotOpen)
            #expect(error?.message.contains("read-only") == true)
            let fresh = #expect(throws: SQLError.self) { _ = try SQLiteDatabase(path: path + "-new") }
            #expect(fresh?.code == .cannotOpen)
            #expect(fresh?.message.contains("its folder is not writable") == true)
        }
    }

    private var exclusive: SQLiteDatabase.Configuration {
        var configuration = SQLiteDatabase.Configuration()
        configuration.isExclusive = true
        return configuration
    }

    @Test func `an exclusive database refuses other exclusive users under every path until it is closed`() async throws
    {
        let database = try SQLiteDatabase(path: folder.file(), configuration: exclusive)
        try await database.write { try $0.execute("CREATE TABLE t (v INTEGER)") }
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link.sqlite"), withDestinationPath: folder.file())
        try FileManager.default.linkItem(atPath: folder.file(), toPath: folder.file("hard.sqlite"))
        await #expect(processExitsWith: .success) { [folder = folder.path as String] in
            var exclusive = SQLiteDatabase.Configuration()
            exclusive.isExclusive = true
            for name in ["test.sqlite", "link.sqlite", "hard.sqlite"] {
                let path = "\(folder)/\(name)"
                let error = #expect(throws: SQLError.self) {
                    _ = try SQLiteDatabase(path: path, configuration: exclusive)
                }
                #expect(error?.code == .alreadyOpen)
                #expect(error?.message.contains("\(path) is in use by another process") == true)
            }
            // A reader that does not request exclusive use can read.
            let reader = try SQLiteDatabase(path: folder + "/test.sqlite")
            #expect(try reader.read { try $0.query("SELECT * FROM t") }.isEmpty)
            await reader.close()
        }
        // A removed lock file allows no other process.
        try FileManager.default.removeItem(atPath: folder.file() + ".lock")
        await #expect(processExitsWith: .success) { [path = folder.file() as String] in
            var exclusive = SQLiteDatabase.Configuration()
            exclusive.isExclusive = true
            let error = #expect(throws: SQLError.self) {
                _ = try SQLiteDatabase(path: path, configuration: exclusive)
            }
            #expect(error?.code == .alreadyOpen)
        }
        let error = #expect(throws: SQLError.self) {
            _ = try SQLiteDatabase(path: folder.file(), configuration: exclusive)
        }
        #expect(error?.code == .alreadyOpen && error?.message.contains("in this process") == true)
        try await database.write { try $0.execute("INSERT INTO t (v) VALUES (1)") }
        await database.close()
        try FileManager.default.removeItem(atPath: folder.file("hard.sqlite"))
        #expect(try folder.contents.filter { !$0.hasPrefix("hard.sqlite") } == ["link.sqlite", "test.sqlite"])
        await #expect(processExitsWith: .success) { [path = folder.file() as String] in
            var exclusive = SQLiteDatabase.Configuration()
            exclusive.isExclusive = true
            await (try SQLiteDatabase(path: path, configuration: exclusive)).close()
        }
    }

    @Test func `a killed process holds no lock`() async throws {
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.file() as String] in
            var exclusive = SQLiteDatabase.Configuration()
            exclusive.isExclusive = true
            let database = try SQLiteDatabase(path: path, configuration: exclusive)
            try await database.write { try $0.execute("CREATE TABLE t (v INTEGER)") }
            kill(getpid(), SIGKILL)
        }
        #expect(try folder.contents.contains("test.sqlite.lock"))
        let database = try SQLiteDatabase(path: folder.file(), configuration: exclusive)
        #expect(try database.read { try $0.query("SELECT * FROM t") }.isEmpty)
        await database.close()
        #expect(try folder.contents == ["test.sqlite"])
    }

    @Test func `only its owner can read a new file, whatever the umask, and an existing file keeps its mode`()
        async throws
    {
        // In child processes, because the umask belongs to the process.
        for mask: mode_t in [0, 0o022, 0o777] {
            await #expect(processExitsWith: .success) {
                [path = folder.file("\(mask).sqlite") as String, mask = mask as mode_t] in
                umask(mask)
                let database = try SQLiteDatabase(path: path)
                try await database.write { try $0.execute("CREATE TABLE t (v INTEGER)") }
                for name in [path, path + "-wal", path + "-shm"] {
                    let attributes = try FileManager.default.attributesOfItem(atPath: name)
                    #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600, "\(name)")
                }
                await database.close()
            }
        }
        try Data().write(to: URL(fileURLWithPath: folder.file()))
        chmod(folder.file(), 0o640)
        let database = try SQLiteDatabase(path: folder.file())
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.file())
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o640)
        await database.close()
    }

    @Test func `a durable connection has the settings that sync every commit to the log and enforce foreign keys`()
        async throws
    {
        let durable = try SQLiteConnection(path: folder.file(), mode: .write(.full), limits: .init(.init()))
        let pragmas = [("synchronous", "2"), ("foreign_keys", "1"), ("journal_mode", "wal")]
        for (name, value) in pragmas {
            #expect(try durable.pragma(name) == value)
        }
        durable.close()
    }
}

extension SQLiteConnection {
    func pragma(_ name: String) throws -> String? {
        try runInternal("DROP TABLE IF EXISTS temp.answer; CREATE TEMP TABLE answer AS SELECT * FROM pragma_\(name)")
        return try session { connection in
            let value = try connection.first("SELECT * FROM temp.answer")?.values.first
            if case .integer(let number) = value { return String(number) }
            if case .text(let text) = value { return text }
            return nil
        }
    }
}
