import CurlTransport
import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import Testing

/// Commands with a PostgreSQL database, as a user runs them.
@Suite(.enabled(if: PostgresCluster.isAvailable, "PostgreSQL is not installed"))
struct PostgresCommandTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var file: String { "sqlite:" + folder.file("ledger.sqlite") }

    private func souk(
        _ words: String..., environment: [String: String] = [:]
    ) async throws -> SoukExecutable.Outcome {
        try await SoukExecutable.run(words, environment: environment, in: folder.path)
    }

    private func serve(_ database: String) async throws -> SoukService {
        try await SoukService(["serve", "--database", database, "--bundle-id", "com.example.a"], in: folder.path)
    }

    private func send(
        _ method: HTTPRequest.Method, _ path: String, _ body: String = "", to server: SoukService, key: String
    ) async throws -> HTTPResponse {
        try await CurlTransport.platformDefault().send(
            HTTPRequest(
                method: method, url: server.url + path,
                headers: [
                    "Authorization": "Bearer \(key)", "Content-Type": "application/json", "Idempotency-Key": "k",
                    "Souk-Environment": "sandbox",
                ],
                body: .bytes(Array(body.utf8))))
    }

    private func text(_ response: HTTPResponse) async throws -> String {
        String(decoding: try await response.body.collect(upTo: 1 << 20), as: UTF8.self)
    }

    @Test func `a ledger moves from SQLite to PostgreSQL, and is then served only from PostgreSQL`() async throws {
        let url = try await PostgresCluster.shared().makeDatabase()
        let sqlite = try await serve(file)
        let key = try String(contentsOfFile: sqlite.greeting["secretKeyFile"]?.stringValue ?? "", encoding: .utf8)
            .trimmingCharacters(in: .newlines)
        let grant = #"{"feature": "pro", "reason": "support"}"#
        let granted = try await send(.post, "/v1/customers/anna/grants", grant, to: sqlite, key: key)
        #expect(granted.status == 201 || granted.status == 200)
        let answer = try await text(granted)

        let early = try await souk("migrate", "copy", "--from", file, "--to", url)
        #expect(early.status == 2 && early.errors.contains("stop it and run this again"), "\(early)")
        let unfinished = try await souk("keys", "list", "--database", url)
        #expect(unfinished.status == 2 && unfinished.errors.contains("not finished"), "\(unfinished)")
        #expect(await sqlite.stop() == 0)

        let moved = try await souk("migrate", "copy", "--from", file, "--to", url, "--json")
        #expect(moved.status == 0 && moved.json?["verified"] == true && moved.json?["customers"] == 1, "\(moved)")
        let again = try await souk("migrate", "copy", "--from", file, "--to", url)
        #expect(again.status == 2 && again.errors.contains("moved"), "\(again)")
        for words in [["serve", "--bundle-id", "com.example.a"], ["keys", "list"], ["ledger", "replay"]] {
            let refused = try await SoukExecutable.run(words + ["--database", file])
            #expect(refused.status == 2 && refused.errors.contains("was moved to"), "\(refused)")
        }

        let server = try await serve(url)
        #expect(server.greeting["keys"] == nil && server.greeting["database"]?.stringValue?.contains("@") == true)
        let repeated = try await send(.post, "/v1/customers/anna/grants", grant, to: server, key: key)
        #expect(try await text(repeated) == answer, "The answer of the key's first request.")
        let second = try await serve(url)
        let other = try await send(.post, "/v1/customers/anna/grants", grant, to: second, key: key)
        #expect(try await text(other) == answer, "The same answer from another server.")
        #expect(await second.stop() == 0)
        for words in [["migrate", "plan"], ["migrate", "verify"], ["ledger", "replay"], ["keys", "list"]] {
            let outcome = try await SoukExecutable.run(words + ["--database", url])
            #expect(outcome.status == 0, "\(words): \(outcome)")
        }
        #expect(await server.stop() == 0)
    }

    @Test func `a schema is planned, applied and verified`() async throws {
        let cluster = try await PostgresCluster.shared()
        let url = try await cluster.makeDatabase()
        #expect(try await souk("migrate", "plan", "--database", url).output.contains("pending"))
        #expect(try await souk("migrate", "verify", "--database", url).status == 1)
        #expect(try await souk("migrate", "apply", "--database", url).status == 0)
        #expect(try await souk("migrate", "verify", "--database", url).status == 0)
        let name = String(url.split(separator: "/")[2].prefix { $0 != "?" })
        try await cluster.run("DROP INDEX claim_of_customer; ALTER TABLE fact ADD COLUMN mine TEXT", in: name)
        let changed = try await souk("migrate", "verify", "--database", url)
        #expect(changed.status == 1 && changed.output.contains("claim_of_customer"), "\(changed)")
        #expect(changed.output.contains("fact.mine") && changed.output.split(separator: "\n").count == 2, "\(changed)")
    }

    /// One sentence, exit status 2, and no password.
    @Test func `a database that cannot be opened is refused in one line without the password`() async throws {
        let cluster = try await PostgresCluster.shared()
        let name = try await cluster.makeDatabase().split(separator: "/")[2].prefix { $0 != "?" }
        let locked = cluster.url(of: String(name), as: "locked")
        let secret = "postgres://locked:hush@/\(name)?host=\(cluster.folder)"
        let cases: [(url: String, environment: [String: String])] = [
            ("postgres://souk@127.0.0.1:1/none", [:]), ("postgres://souk@[", [:]), ("postgres:none", [:]),
            (cluster.url(of: "missing"), [:]), (locked, ["PGPASSWORD": "hush"]), (secret, [:]),
        ]
        for (url, environment) in cases {
            for words in [["serve", "--bundle-id", "com.example.a"], ["migrate", "apply"], ["keys", "list"]] {
                let outcome = try await SoukExecutable.run(
                    words + ["--database", url], environment: environment, in: folder.path)
                #expect(outcome.status == 2 && outcome.output.isEmpty, "\(outcome)")
                #expect(
                    outcome.errors.split(separator: "\n").count == 1 && !outcome.errors.contains("hush"), "\(outcome)")
            }
        }
        for words in [["backup", "copy"], ["restore", "copy"], ["ledger", "compact"]] {
            let outcome = try await SoukExecutable.run(words + ["--database", locked], in: folder.path)
            #expect(outcome.status == 2 && outcome.errors.contains("SQLite"), "\(outcome)")
        }
        let mayNot = try await souk(
            "migrate", "apply", "--database", locked, environment: ["PGPASSWORD": "open sesame"])
        #expect(mayNot.status == 2 && mayNot.errors.contains("lacks a privilege"), "\(mayNot)")
        try await cluster.run("GRANT ALL ON SCHEMA public TO locked", in: String(name))
        let server = try await SoukService(
            [
                "serve", "--bundle-id", "com.example.a", "--config",
                try folder.write(
                    "souk.json",
                    #"{"database": "postgres://locked:open%20sesame@/\#(name)?host=\#(cluster.folder)"}"#),
            ], in: folder.path)
        #expect(server.greeting.text().contains("sesame") == false)
        #expect(await server.stop() == 0)
    }
}
