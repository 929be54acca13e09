import CurlTransport
import Foundation
import HTTPCore
import HostTestSupport
import NetworkInterception
import Primitives
import SignedData
import Testing

/// `souk keys`, `souk migrate`, `souk backup` and `souk restore` beside a server and without one.
@Suite struct LedgerCommandTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var database: String { "sqlite:" + folder.file("ledger.sqlite") }

    private func serve() async throws -> SoukService {
        try await SoukService(["serve", "--database", database, "--bundle-id", "com.example.darkroom"])
    }

    private func souk(_ words: String..., database: String? = nil) async throws -> SoukExecutable.Outcome {
        try await SoukExecutable.run(words + ["--database", database ?? self.database, "--json"])
    }

    private func status(_ url: String, key: String) async throws -> Int {
        let request = HTTPRequest(
            method: .get, url: url + "/v1/customers/anna", headers: ["Authorization": "Bearer \(key)"])
        return try await CurlTransport.platformDefault().send(request).status
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `a key that is created beside a running server is accepted, and refused after its revocation`()
        async throws
    {
        let server = try await serve()
        let made = try await souk("keys", "create", "--bundle-id", "com.example.darkroom", "--label", "backend").json
        let id = try #require(made?["id"]?.stringValue)
        #expect(made?["kind"] == "secret" && made?["label"] == "backend" && made?["key"] == nil)
        let file = try #require(made?["keyFile"]?.stringValue)
        #expect(try mode(file) == 0o600)
        let key = try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .newlines)
        #expect(try await status(server.url, key: key) == 200)

        let listed = try await souk("keys", "list").json
        #expect(listed?["keys"]?.arrayValue?.count == 3)
        #expect(listed?.text().contains(key) == false)

        let revoked = try await souk("keys", "revoke", id)
        #expect(revoked.status == 0 && revoked.json?["revokedAt"] != nil)
        var last = 200
        while last == 200 { last = try await status(server.url, key: key) }
        #expect(last == 401)
        #expect(await server.stop() == 0)
        let after = try await souk("keys", "list").json?["keys"]?.arrayValue ?? []
        #expect(after.filter { $0["usedAt"] != nil }.map { $0["id"] } == [.string(id)])
    }

    @Test func `a server that creates a ledger in place of a missing one renames the key files of the missing ledger`()
        async throws
    {
        let (secret, open) = (
            "ledger.sqlite.com.example.darkroom.secret-key", "ledger.sqlite.com.example.darkroom.public-key"
        )
        #expect(try await serve().stop() == 0)
        let before = [secret: try folder.text(secret), open: try folder.text(open)]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where before[name] == nil {
            try FileManager.default.removeItem(atPath: folder.file(name))
        }
        let server = try ChildProgram(
            SoukExecutable.path(),
            ["serve", "--database", database, "--bundle-id", "com.example.darkroom", "--stop-with-parent"],
            input: .captured, output: .captured, errors: .captured)
        let greeting = try JSONValue(parsing: await server.output.firstLine() ?? "")
        let url = try #require(greeting["listening"]?.stringValue)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        for (name, text) in before {
            let former = try #require(names.first { $0.hasPrefix("\(name).before-") }, "\(names)")
            #expect(try folder.text(former) == text && mode(folder.file(former)) == 0o600)
            let key = try folder.text(name)
            #expect(key != text)
            #expect(try await status(url, key: key.trimmingCharacters(in: .newlines)) == 200)
            #expect(try await status(url, key: text.trimmingCharacters(in: .newlines)) == 401)
        }
        server.terminate()
        #expect(await server.end() == 0)
        let log = await server.errors.text()
        for name in before.keys {
            let warning = log.split(separator: "\n").first {
                $0.contains("\(name) belongs to a ledger that is missing")
            }
            #expect(warning?.contains("\(name).before-") == true, "\(log)")
        }
        for text in before.values { #expect(!log.contains(text.trimmingCharacters(in: .newlines))) }
    }

    @Test func `if the key files of a missing ledger cannot be renamed, they stay and no key is created`() async throws
    {
        // A file name has 255 bytes at most: those of the keys fit, their former names do not.
        let ledger = folder.file(String(repeating: "l", count: 215))
        let app = "com.example.darkroom"
        let files = ["\(ledger).\(app).secret-key", "\(ledger).\(app).public-key"]
        for file in files { try Data("former\n".utf8).write(to: URL(fileURLWithPath: file)) }
        let outcome = try await SoukExecutable.run([
            "serve", "--database", "sqlite:" + ledger, "--bundle-id", app, "--stop-with-parent",
        ])
        #expect(outcome.status == 2 && outcome.errors.contains("No key was created"), "\(outcome)")
        for file in files { #expect(try String(contentsOfFile: file, encoding: .utf8) == "former\n") }
        let listed = try await souk("keys", "list", database: "sqlite:" + ledger).json
        #expect(listed?["keys"]?.arrayValue?.isEmpty == true)
    }

    @Test func `a public key is printed, and a signing key is written to its own file`() async throws {
        #expect(try await serve().stop() == 0)
        let made = try await souk("keys", "create", "--bundle-id", "com.example.darkroom", "--kind", "public").json
        #expect(made?["key"]?.stringValue?.hasPrefix("souk_public_") == true)
        let file = folder.file("signing.pem")
        let signing = try await SoukExecutable.run(["keys", "create", "--signing", file, "--json"])
        #expect(signing.json?["publicKey"]?.stringValue?.contains("BEGIN PUBLIC KEY") == true)
        #expect(try mode(file) == 0o600)
        let again = try await SoukExecutable.run(["keys", "create", "--signing", file])
        #expect(again.status == 2 && again.errors.contains(file))
    }

    @Test func `a signing key is printed if its file is standard output`() async throws {
        let made = try await SoukExecutable.run(["keys", "create", "--signing", "-"], in: folder.path)
        #expect(made.status == 0 && made.errors.contains("BEGIN PUBLIC KEY"))
        let key = try Ed25519.PrivateKey(Array(made.output.utf8))
        #expect(made.errors.contains(key.publicKey.pem.trimmingCharacters(in: .newlines)))
        let json = try await SoukExecutable.run(["keys", "create", "--signing", "-", "--json"], in: folder.path).json
        let other = try Ed25519.PrivateKey(Array((json?["key"]?.stringValue ?? "").utf8))
        #expect(json?["publicKey"]?.stringValue == other.publicKey.pem)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    @Test func `a missing ledger, an unknown app, an unknown key and an unknown kind are usage errors`() async throws {
        #expect(try await souk("keys", "list").errors.contains("there is no such file"))
        #expect(try await serve().stop() == 0)
        let app = try await souk("keys", "create", "--bundle-id", "com.example.nobody")
        #expect(app.status == 2 && app.errors.contains("com.example.darkroom"))
        let id = try await souk("keys", "revoke", "0000000000000000")
        #expect(id.status == 2 && id.errors.contains("souk keys list"))
        let kind = try await souk("keys", "create", "--bundle-id", "com.example.darkroom", "--kind", "private")
        #expect(kind.status == 2 && kind.errors.contains("public or secret"))
    }

    @Test func `a schema is planned, applied and verified`() async throws {
        let planned = try await souk("migrate", "plan").json
        #expect(planned?["applied"] == [] && planned?["pending"]?.arrayValue?.isEmpty == false)
        #expect(!FileManager.default.fileExists(atPath: folder.file("ledger.sqlite")), "A plan creates no file.")
        let applied = try await souk("migrate", "apply").json
        #expect(applied?["pending"] == [] && applied?["applied"] == planned?["pending"])
        let verified = try await souk("migrate", "verify")
        #expect(verified.status == 0 && verified.json?["faults"] == [])
        let server = try await serve()
        #expect(try await souk("migrate", "verify").status == 0, "Beside a server too.")
        let refused = try await souk("migrate", "apply")
        #expect(refused.status == 2 && refused.errors.contains("in use by another process"))
        #expect(await server.stop() == 0)
    }

    @Test func `a plan for a log without its ledger is refused`() async throws {
        _ = try folder.write("ledger.sqlite-wal", "anything")
        let refused = try await souk("migrate", "plan")
        #expect(refused.status == 2 && refused.errors.contains("write-ahead log"), "\(refused)")
    }

    @Test func `the verification and the backup of a damaged ledger fail`() async throws {
        #expect(try await serve().stop() == 0)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: folder.file("ledger.sqlite")))
        bytes.replaceSubrange(8192..<12288, with: Data(repeating: 0xA5, count: 4096))
        try bytes.write(to: URL(fileURLWithPath: folder.file("ledger.sqlite")))
        #expect(try await souk("migrate", "verify").status == 1)
        #expect(try await souk("backup", folder.file("backup")).status == 1)
        #expect(!FileManager.default.fileExists(atPath: folder.file("backup")))
    }

    @Test func `a backup of a running server is restored after the server has ended`() async throws {
        let server = try await serve()
        let key = try #require(server.greeting["publicKey"]?.stringValue)
        let backup = try await souk("backup", folder.file("backup"))
        #expect(backup.status == 0 && backup.json?["backup"]?.stringValue == folder.file("backup"))
        #expect(try mode(folder.file("backup")) == 0o600)
        #expect(try await souk("backup", folder.file("backup")).status == 2, "An existing file is not overwritten.")
        let id = try #require(
            try await souk("keys", "create", "--bundle-id", "com.example.darkroom", "--kind", "public").json?["id"])

        let early = try await souk("restore", folder.file("backup"))
        #expect(early.status == 2 && early.errors.contains("in use by another process"))
        #expect(await server.stop() == 0)

        let restored = try await souk("restore", folder.file("backup"))
        #expect(restored.status == 0)
        let former = try #require(restored.json?["former"]?.stringValue)
        let now = try await souk("keys", "list").json?["keys"]?.arrayValue?.map { $0["id"] }
        let before = try await souk("keys", "list", database: "sqlite:" + former).json?["keys"]?.arrayValue?.map {
            $0["id"]
        }
        #expect(now == before && now?.contains(id) == true && restored.json?["keysAdded"] == [id])
        let again = try await serve()
        #expect(try await status(again.url, key: key) == 200)
        #expect(await again.stop() == 0)
    }

    @Test func `the error for a file of another part of Souk says that it is not a ledger`() async throws {
        let records = try SQLiteRecordStorage(path: folder.file("records"))
        await records.close()
        let simulator = try await SoukService([
            "simulate", "--catalog", TestFiles.darkroom, "--data", folder.file("store"),
        ])
        #expect(await simulator.stop() == 0)
        let database = try #require(
            try FileManager.default.contentsOfDirectory(atPath: folder.file("store")).first { $0.hasSuffix(".sqlite") })
        #expect(try await serve().stop() == 0)
        #expect(try await souk("backup", folder.file("backup")).status == 0)
        for file in ["records", "store/" + database] {
            let path = folder.file(file)
            let before = FileManager.default.contents(atPath: path)
            for words in [
                ["keys", "list"], ["migrate", "plan"], ["migrate", "apply"], ["migrate", "verify"],
                ["ledger", "replay"], ["ledger", "compact"], ["restore", folder.file("backup"), "--accept-revived"],
                ["serve", "--bundle-id", "com.example.darkroom"],
            ] {
                let outcome = try await SoukExecutable.run(words + ["--database", "sqlite:" + path])
                #expect(outcome.status == 2, "\(words): \(outcome)")
                #expect(outcome.errors.contains("of another kind") && outcome.errors.contains("Name another file"))
                #expect(outcome.errors.split(separator: "\n").count == 1 && outcome.output.isEmpty, "\(outcome)")
            }
            let source = try await souk("restore", path)
            #expect(source.status == 2 && source.errors.contains("of another kind"), "\(source)")
            #expect(FileManager.default.contents(atPath: path) == before)
        }
    }

    @Test func `a file that is not a ledger is not restored`() async throws {
        let text = try folder.write("notes.txt", String(repeating: "No database at all. ", count: 100))
        let refused = try await souk("restore", text)
        #expect(refused.status == 2 && refused.errors.contains("not a database"))
        #expect(try await souk("restore", folder.file("nothing")).status == 2)
        #expect(!FileManager.default.fileExists(atPath: folder.file("ledger.sqlite")))
    }

    @Test func `a ledger is replayed beside its server, with the server's own rules`() async throws {
        let store = try await SoukService(["simulate", "--catalog", TestFiles.darkroom, "--data", folder.file("store")])
        let root = try #require(store.greeting["rootCertificate"]?.stringValue)
        let server = try await SoukService([
            "serve", "--database", database, "--bundle-id", "com.example.souk", "--environment", "sandbox", "--root",
            root,
        ])
        let buy = ["store", "--url", store.url, "--json"]
        #expect(try await SoukExecutable.run(buy + ["account", "create", "ada"]).status == 0)
        let bought = try await SoukExecutable.run(buy + ["buy", "ada", "com.example.darkroom.plus.monthly"]).json
        let key = try #require(server.greeting["publicKey"]?.stringValue)
        let request = HTTPRequest(
            method: .post, url: server.url + "/v1/customers/anna/transactions",
            headers: ["Authorization": "Bearer \(key)"],
            json: ["signedTransaction": try #require(bought?["signedTransaction"])])
        #expect(try await CurlTransport.platformDefault().send(request).status == 200)

        let whole = try await souk("ledger", "replay")
        #expect(whole.status == 0 && whole.json?["ok"] == true)
        #expect(whole.json?["facts"] == 1 && whole.json?["customers"] == 1 && whole.json?["differenceCount"] == 0)
        let compacted = try await souk("ledger", "compact")
        #expect(compacted.status == 0 && (compacted.json?["bytes"]?.intValue ?? 0) > 0, "\(compacted)")
        #expect(try await souk("ledger", "replay").json?["facts"] == 1)
        #expect(try await souk("ledger", "compact", database: "sqlite:" + folder.file("none")).status == 2)
        let features = TestFiles.repository + "/Examples/darkroom.features.json"
        let other = try await souk("ledger", "replay", "--features", features)
        #expect(other.status == 2 && other.errors.contains("another feature map"))
        #expect(try await souk("ledger", "replay", database: "sqlite:" + folder.file("none")).status == 2)
    }
}
