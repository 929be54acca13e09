import BaseTestSupport
import Foundation
import HostTestSupport
import NetworkTestSupport
import Primitives
import SQLStorage
import Testing

/// Ctrl-C and SIGTERM: an unfinished command ends by the signal and leaves nothing that looks complete. A service ends
/// with 0.
@Suite struct InterruptionTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Commands that wait for a server at `PORT`. `LEDGER` is a ledger in SQLite.
    static let commands = [
        "export --what facts --format csv --database postgres://anna@127.0.0.1:PORT/ledger",
        "figures --database postgres://anna@127.0.0.1:PORT/ledger",
        "figures --database sqlite:LEDGER --clock http://127.0.0.1:PORT",
        "figures verify --database postgres://anna@127.0.0.1:PORT/ledger",
        "ledger replay --database postgres://anna@127.0.0.1:PORT/ledger",
        "customer export anna --database postgres://anna@127.0.0.1:PORT/ledger",
        "customer erase anna --yes --url http://127.0.0.1:PORT --key-file KEY",
        "customer refund anna GPA.1 --url http://127.0.0.1:PORT --key-file KEY",
        "migrate copy --from sqlite:LEDGER --to postgres://anna@127.0.0.1:PORT/ledger",
        "migrate copy --from sqlite:LEDGER --to postgres://anna@127.0.0.1:1/ledger --clock http://127.0.0.1:PORT",
        "import LINES --url http://127.0.0.1:PORT --key-file KEY --state FOLDER/state",
        "store --url http://127.0.0.1:PORT advance 1d", "store --url http://127.0.0.1:PORT export FOLDER/new",
        "wait http://127.0.0.1:PORT",
    ]

    @Test(arguments: commands, [SIGINT, SIGTERM])
    func `an unfinished command ends by the signal`(command: String, number: Int32) async throws {
        let ledger = try await ledger()
        let key = try folder.write("key", "souk_secret_any")
        let lines = try folder.write("lines.jsonl", #"{"customer": "a", "signedTransaction": "x"}"# + "\n")
        let before = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        let isConnected = Locked(false)
        let server = try ScriptedServer { peer in
            isConnected.withLock { $0 = true }
            peer.waitForEnd()
        }
        var words = command
        for (name, value) in [
            ("PORT", String(server.port)), ("LEDGER", ledger), ("KEY", key), ("LINES", lines), ("FOLDER", folder.path),
        ] { words = words.replacingOccurrences(of: name, with: value) }
        let child = try ChildProgram(
            SoukExecutable.path(), words.split(separator: " ").map(String.init), output: .captured, errors: .captured)
        try await until("the command has connected") { isConnected.withLock { $0 } }
        child.signal(number)
        #expect(await child.end() == 128 + number)
        #expect(await child.output.text().isEmpty)
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(left.filter { !$0.hasPrefix("ledger.sqlite") } == before.filter { !$0.hasPrefix("ledger.sqlite") })
    }

    private func ledger() async throws -> String {
        let path = folder.file("ledger.sqlite")
        #expect(try await SoukExecutable.run(["migrate", "apply", "--database", "sqlite:" + path]).status == 0)
        return path
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `an unfinished backup has another name than a complete one`(number: Int32) async throws {
        let ledger = try await ledger()
        let database = try SQLiteDatabase(path: ledger)
        try await database.write { connection in
            try connection.perform("CREATE TABLE filler (content BLOB)", [])
            for _ in 0..<150 { try connection.perform("INSERT INTO filler VALUES (zeroblob(1000000))", []) }
        }
        await database.close()
        let copy = folder.file("copy.sqlite")
        let backup = ["backup", copy, "--database", "sqlite:" + ledger]
        let child = try ChildProgram(SoukExecutable.path(), backup, output: .captured)
        try await until("the backup has begun") { FileManager.default.fileExists(atPath: copy + ".partial") }
        child.signal(number)
        #expect(await child.end() == 128 + number)
        #expect(await child.output.text().isEmpty)
        #expect(!FileManager.default.fileExists(atPath: copy))
        #expect(try await SoukExecutable.run(backup).status == 0)
        #expect(FileManager.default.fileExists(atPath: copy))
        #expect(!FileManager.default.fileExists(atPath: copy + ".partial"))
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `unfinished scenarios end by the signal, and write no report of JUnit`(number: Int32) async throws {
        func scenario(_ name: String, years: Int) throws -> String {
            let steps =
                [
                    #"{"createAccount": "anna"}"#,
                    #"{"buy": {"account": "anna", "productID": "com.example.darkroom.plus.monthly"}}"#,
                    #"{"expect": {"notifications": ["SUBSCRIBED INITIAL_BUY"]}}"#,
                ] + Array(repeating: #"{"advance": "1y"}"#, count: years)
            return try folder.write(
                "\(name).json",
                #"{"name": "\#(name)", "catalogue": "\#(TestFiles.darkroom)", "steps": ["#
                    + steps.joined(separator: ",") + "]}")
        }
        let report = folder.file("report.xml")
        let child = try ChildProgram(
            SoukExecutable.path(),
            [
                "scenario", "run", try scenario("short", years: 1), try scenario("long", years: 990), "--junit",
                report,
            ], output: .captured, errors: .captured)
        #expect(await child.output.contains("short"))
        child.signal(number)
        #expect(await child.end() == 128 + number)
        #expect(await child.errors.text().hasSuffix("souk: interrupted\n"))
        #expect(!FileManager.default.fileExists(atPath: report))
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func `an unfinished demonstration ends by the signal`(number: Int32) async throws {
        let child = try ChildProgram(
            SoukExecutable.path(), ["demo", "--data", folder.file("data")], output: .captured, errors: .captured)
        #expect(await child.errors.contains("Starting an App Store simulator"))
        child.signal(number)
        #expect(await child.end() == 128 + number)
        #expect(await child.errors.text().hasSuffix("souk: interrupted\n"))
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `a service ends with 0`(number: Int32) async throws {
        for arguments in [
            ["simulate", "--catalog", TestFiles.darkroom],
            ["serve", "--bundle-id", "com.example.a", "--database", "sqlite:" + folder.file("\(number).sqlite")],
            ["inspect"], ["intercept", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:1"],
        ] {
            let service = try await SoukService(arguments)
            service.signal(number)
            #expect(await service.waitForEnd() == 0, "\(arguments)")
        }
    }
}
