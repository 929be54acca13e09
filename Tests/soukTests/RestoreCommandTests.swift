import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import SQLStorage
import Testing

/// Data that survives a restore, a revocation during a stream, and the permissions of a server's files.
@Suite struct RestoreCommandTests {
    private static let app = "com.example.darkroom"
    private let folder: TemporaryFolder
    /// A separate folder for backups, because they contain customers that are erased later.
    private let elsewhere: TemporaryFolder

    init() throws { (folder, elsewhere) = (try TemporaryFolder(), try TemporaryFolder()) }

    private var database: String { "sqlite:" + folder.file("ledger.sqlite") }

    private func serve() async throws -> SoukService {
        try await SoukService(["serve", "--database", database, "--bundle-id", Self.app])
    }

    private func souk(_ words: String...) async throws -> SoukExecutable.Outcome {
        try await SoukExecutable.run(words + ["--database", database, "--json"])
    }

    private func key(_ file: JSONValue?) throws -> String {
        try String(contentsOfFile: try #require(file?.stringValue), encoding: .utf8)
            .trimmingCharacters(in: .newlines)
    }

    private func makeKey() async throws -> (id: String, key: String) {
        let made = try await souk("keys", "create", "--bundle-id", Self.app).json
        return (try #require(made?["id"]?.stringValue), try key(made?["keyFile"]))
    }

    private func send(
        _ method: HTTPRequest.Method, _ path: String, _ server: SoukService, key: String, _ body: JSONValue? = nil
    ) async throws -> HTTPResponse {
        try await CurlTransport.platformDefault().send(
            HTTPRequest(
                method: method, url: server.url + path, headers: ["Authorization": "Bearer \(key)"],
                body: body.map { .json($0) } ?? .empty))
    }

    @Test func `a restore keeps revocations, keys and erasures, and reports them`() async throws {
        let name = "customer-of-whom-nothing-is-to-stay"
        var server = try await serve()
        let secret = try key(server.greeting["secretKeyFile"])
        let leaked = try await makeKey()
        let grant: JSONValue = ["feature": "pro", "reason": "support"]
        #expect(try await send(.post, "/v1/customers/\(name)/grants", server, key: secret, grant).status == 201)
        let backup = elsewhere.file("backup")
        #expect(try await souk("backup", backup).status == 0)
        #expect(try await souk("keys", "revoke", leaked.id).status == 0)
        let new = try await makeKey()
        #expect(try await send(.delete, "/v1/customers/\(name)", server, key: secret).status == 200)
        #expect(await server.stop() == 0)

        let restored = try await souk("restore", backup)
        #expect(restored.status == 0, "\(restored.errors)")
        #expect(restored.json?["keysAdded"] == [.string(new.id)])
        #expect(restored.json?["keysRevoked"] == [.string(leaked.id)])
        #expect(restored.json?["customersErased"] == 1 && restored.json?["erasuresUnknown"] == 0)
        for running in [false, true] {
            if running { server = try await serve() }
            for file in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
                let bytes = try Data(contentsOf: URL(fileURLWithPath: folder.file(file)))
                #expect(bytes.range(of: Data(name.utf8)) == nil, "\(file)")
            }
        }
        #expect(try await send(.get, "/v1/customers/ben", server, key: leaked.key).status == 401)
        #expect(try await send(.get, "/v1/customers/ben", server, key: new.key).status == 200)
        #expect(await server.stop() == 0)
        let text = try await SoukExecutable.run(["restore", backup, "--database", database])
        #expect(
            text.output.contains("revoked the secret key \(leaked.id)") && text.output.contains("erased 1 customer"))
    }

    @Test func `a restore over a missing, empty or damaged ledger needs --accept-revived`() async throws {
        #expect(try await serve().stop() == 0)
        let backup = elsewhere.file("backup")
        #expect(try await souk("backup", backup).status == 0)
        let ledger = folder.file("ledger.sqlite")
        for spoil in [
            { try FileManager.default.removeItem(atPath: ledger) },
            { try Data().write(to: URL(fileURLWithPath: ledger)) },
            {
                let damaged = Data("SQLite format 3\0".utf8) + Data(repeating: 7, count: 9000)
                try damaged.write(to: URL(fileURLWithPath: ledger))
            },
        ] {
            try spoil()
            let refused = try await souk("restore", backup)
            #expect(refused.status == 2 && refused.errors.contains("--accept-revived"), "\(refused.errors)")
            let restored = try await souk("restore", backup, "--accept-revived")
            #expect(restored.status == 0 && restored.errors.contains("souk keys list"), "\(restored.errors)")
            #expect(try await souk("keys", "list").json?["keys"]?.arrayValue?.count == 2)
        }
    }

    @Test func `a ledger with a damaged page is replaced, if necessary with --accept-revived`() async throws {
        let server = try await serve()
        let backup = elsewhere.file("backup")
        #expect(try await souk("backup", backup).status == 0)
        #expect(await server.stop() == 0)
        let ledger = URL(fileURLWithPath: folder.file("ledger.sqlite"))
        let whole = try Data(contentsOf: ledger)
        var refusals = 0
        for page in stride(from: 1, to: whole.count / 4096, by: 5) {
            var damaged = whole
            damaged.replaceSubrange(page * 4096..<(page + 1) * 4096, with: Data(repeating: 0, count: 4096))
            for file in try FileManager.default.contentsOfDirectory(atPath: folder.path) where file.contains("sqlite") {
                if !file.hasSuffix("-key") { try FileManager.default.removeItem(atPath: folder.file(file)) }
            }
            try damaged.write(to: ledger)
            var restored = try await souk("restore", backup)
            if restored.status != 0 {
                refusals += 1
                #expect(
                    restored.status == 2 && restored.errors.contains("--accept-revived"), "\(restored)")
                #expect(try Data(contentsOf: ledger) == damaged)
                restored = try await souk("restore", backup, "--accept-revived")
            }
            #expect(restored.status == 0 && restored.json != nil, "\(page): \(restored)")
        }
        #expect(refusals > 0)
    }

    @Test func `a restore never replaces a file that is not a ledger, even with --accept-revived`() async throws {
        #expect(try await serve().stop() == 0)
        let backup = elsewhere.file("backup")
        #expect(try await souk("backup", backup).status == 0)
        let (text, pipe, other) = (folder.file("notes"), folder.file("pipe"), folder.file("other.sqlite"))
        try Data("the only copy of my notes".utf8).write(to: URL(fileURLWithPath: text))
        #expect(mkfifo(pipe, 0o600) == 0)
        let database = try SQLiteDatabase(path: other)
        try await database.write { try $0.execute("CREATE TABLE note (text TEXT)") }
        await database.close()
        // Reading a database may leave SQLite's files beside it.
        func files() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
                !$0.hasSuffix("-shm") && !$0.hasSuffix("-wal")
            }.sorted()
        }
        let before = try files()
        for (path, reason) in [
            (text, "no SQLite database; name another file"), (pipe, "no regular file"), (folder.path, "folder"),
            (other, "no ledger"),
        ] {
            for flags in [[], ["--accept-revived"]] {
                let refused = try await SoukExecutable.run(["restore", backup, "--database", "sqlite:" + path] + flags)
                #expect(refused.status == 2 && refused.errors.contains(reason), "\(refused.errors)")
                #expect(!refused.errors.contains("Pass --accept-revived"))
                #expect(refused.errors.split(separator: "\n").count == 1)
            }
        }
        #expect(try files() == before)
        #expect(try await SoukExecutable.run(["restore", pipe, "--database", self.database]).status == 2)
        #expect(try String(contentsOfFile: text, encoding: .utf8) == "the only copy of my notes")
    }

    @Test func `a restore through a link replaces the ledger and leaves the link`() async throws {
        #expect(try await serve().stop() == 0)
        let backup = elsewhere.file("backup")
        #expect(try await souk("backup", backup).status == 0)
        let made = try await makeKey()
        func inode(_ path: String) -> UInt64? {
            var status = stat()
            return stat(path, &status) == 0 ? UInt64(status.st_ino) : nil
        }
        let ledger = folder.file("ledger.sqlite")
        let link = elsewhere.file("link.sqlite")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: ledger)
        let old = try #require(inode(ledger))

        let restored = try await SoukExecutable.run(["restore", backup, "--database", "sqlite:" + link, "--json"])
        #expect(restored.status == 0, "\(restored.errors)")
        #expect(restored.json?["keysAdded"] == [.string(made.id)])
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == ledger)
        #expect(inode(ledger) != old)
        let former = try #require(restored.json?["former"]?.stringValue?.split(separator: "/").last)
        #expect(former.hasPrefix("ledger.sqlite.before-"))
        #expect(inode(folder.file(String(former))) == old)
        #expect(try await souk("keys", "list").json?["keys"]?.arrayValue?.count == 3)
    }

    @Test func `a server whose ledger is behind a link refuses writes after the removal of the log`() async throws {
        #expect(try await serve().stop() == 0)
        let link = elsewhere.file("link.sqlite")
        try FileManager.default.createSymbolicLink(
            atPath: link, withDestinationPath: folder.file("ledger.sqlite"))
        let secret = try await makeKey().key
        let server = try await SoukService(["serve", "--database", "sqlite:" + link, "--bundle-id", Self.app])
        let grant: JSONValue = ["feature": "pro", "reason": "support"]
        #expect(try await send(.post, "/v1/customers/anna/grants", server, key: secret, grant).status == 201)
        try FileManager.default.removeItem(atPath: folder.file("ledger.sqlite-wal"))
        #expect(try await send(.post, "/v1/customers/anna/grants", server, key: secret, grant).status >= 500)
        _ = await server.stop()
    }

    @Test func `a restore over a ledger that was created after the backup needs --accept-revived`() async throws {
        var server = try await serve()
        let leaked = try await makeKey()
        #expect(await server.stop() == 0)
        let backup = elsewhere.file("backup")
        #expect(try await souk("backup", backup).status == 0)
        #expect(try await souk("keys", "revoke", leaked.id).status == 0)
        for file in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            try FileManager.default.removeItem(atPath: folder.file(file))
        }
        server = try await serve()
        #expect(await server.stop() == 0)
        let before = try await souk("keys", "list").json
        let refused = try await souk("restore", backup)
        #expect(refused.status == 2 && refused.errors.contains("created later"), "\(refused.errors)")
        #expect(refused.errors.contains("--accept-revived"))
        #expect(try await souk("keys", "list").json == before)
        let restored = try await souk("restore", backup, "--accept-revived")
        #expect(restored.status == 0 && restored.errors.contains("souk keys list"), "\(restored.errors)")
        #expect(try await souk("restore", backup).status == 0)
    }

    @Test func `the stream of a key ends soon after another command revokes the key`() async throws {
        let server = try await serve()
        let leaked = try await makeKey()
        let response = try await send(.get, "/v1/events", server, key: leaked.key)
        guard case .stream(let stream) = response.body else { throw HTTPError(.bodyFailed, "This is no stream.") }
        #expect(try await stream.next() != nil)
        #expect(try await souk("keys", "revoke", leaked.id).status == 0)
        // Comments every 15 seconds would prevent a timeout.
        let last = try await stream.next()
        #expect(last == nil, "\(String(decoding: last ?? [], as: UTF8.self))")
        #expect(await server.stop() == 0)
    }

    @Test func `only their owner can read the files of a server, whatever the umask`() async throws {
        let server = try await SoukService(
            ["serve", "--database", database, "--bundle-id", Self.app, "--stop-with-parent"], mask: "000")
        let backup = folder.file("backup")
        for words in [
            ["backup", backup, "--database", database],
            ["keys", "create", "--bundle-id", Self.app, "--database", database],
            ["keys", "create", "--signing", folder.file("signing.pem")],
        ] {
            let command = [SoukExecutable.path()] + words
            let outcome = try await ChildProgram.run("/bin/sh", ["-c", "umask 000; exec \"$@\"", "sh"] + command)
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
        func expectPrivate() throws {
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
                let attributes = try FileManager.default.attributesOfItem(atPath: folder.file(name))
                #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
            }
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        for suffix in [".sqlite", "-wal", "-shm", ".lock", ".secret-key", ".public-key", "backup", ".pem"] {
            #expect(names.contains { $0.hasSuffix(suffix) }, "\(suffix) of \(names)")
        }
        try expectPrivate()
        #expect(await server.stop() == 0)
        let restore = [SoukExecutable.path(), "restore", backup, "--database", database]
        let outcome = try await ChildProgram.run("/bin/sh", ["-c", "umask 000; exec \"$@\"", "sh"] + restore)
        #expect(outcome.status == 0, "\(outcome.errors)")
        try expectPrivate()
    }
}
