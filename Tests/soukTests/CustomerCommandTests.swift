import CurlTransport
import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import SQLStorage
import Testing

/// `souk customer`, at a running server and in a ledger.
@Suite struct CustomerCommandTests {
    private let shop: SignedShop

    init() throws { shop = try SignedShop() }

    private var features: String {
        get throws { try shop.folder.write("features.json", #"{"features": {"pro": ["tools", "plus"]}}"#) }
    }

    /// Starts a server with the feature map, and presents purchases as `anna`.
    private func serve(buying ids: String...) async throws -> SoukService {
        let server = try await shop.serve("--features", try features)
        for id in ids {
            let request = try shop.presentation(of: try shop.purchase(id), by: "anna", to: server)
            #expect(try await CurlTransport.platformDefault().send(request).status == 200)
        }
        return server
    }

    private func souk(_ words: [String], input: String? = nil) async throws -> SoukExecutable.Outcome {
        let outcome = try await SoukExecutable.run(
            ["customer"] + words, input: try input.map { try shop.folder.write("input", $0) })
        #expect(!(outcome.output + outcome.errors).contains("souk_secret_"))
        return outcome
    }

    private func remote(_ server: SoukService) -> [String] { ["--url", server.url, "--key-file", shop.secretKeyFile] }

    private var local: [String] { get throws { ["--database", shop.database, "--features", try features] } }

    /// Returns the response of the endpoint to which the command corresponds.
    private func get(_ path: String, at server: SoukService) async throws -> JSONValue {
        let key = try String(contentsOfFile: shop.secretKeyFile, encoding: .utf8).trimmingCharacters(in: .newlines)
        let response = try await CurlTransport.platformDefault().send(
            HTTPRequest(method: .get, url: server.url + path, headers: ["Authorization": "Bearer \(key)"]))
        return try JSONValue(parsing: try await response.body.collect(upTo: 1 << 20))
    }

    /// Returns the entries of the audit log, such as `export anna`, with their keys.
    private func entries() async throws -> [(text: String, key: String)] {
        let database = try SQLiteDatabase(path: String(shop.database.dropFirst("sqlite:".count)))
        let rows = try database.read { connection in
            try connection.query("SELECT action, customer, key_id, detail FROM audit_entry ORDER BY sequence").map {
                ("\(try $0["action"] as String) \(try $0["customer"] as String)", try $0["key_id"] as String)
            }
        }
        await database.close()
        return rows
    }

    /// Returns whether the state of the ledger follows from its facts.
    private func replays() async throws -> Bool {
        try await SoukExecutable.run(["ledger", "replay", "--json"] + local).json?["ok"] == true
    }

    /// Checks an export, apart from the members that change with time and with each export.
    private func expect(_ outcome: SoukExecutable.Outcome, equals expected: JSONValue, line: Int = #line) throws {
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "line \(line): \(outcome.errors)")
        var exported = try #require(outcome.json)
        var expected = expected
        #expect(exported["exportedAt"]?.stringValue.flatMap { RFC3339.date(from: $0) } != nil)
        for name in ["exportedAt", "actions"] {
            exported[name] = nil
            expected[name] = nil
        }
        #expect(exported == expected, "line \(line)")
    }

    @Test func `at a running server, an export is that of the endpoint, and an erasure is in force at once`()
        async throws
    {
        let server = try await serve(buying: "1", "2")
        let expected = try await get("/v1/customers/anna/export", at: server)
        #expect(expected["facts"]?.arrayValue?.count == 2)
        try expect(try await souk(["export", "anna"] + remote(server)), equals: expected)
        try expect(try await souk(["export", "anna", "--json"] + remote(server)), equals: expected)
        let nobody = try await souk(["export", "nobody"] + remote(server))
        #expect(nobody.status == 1 && nobody.output.isEmpty)
        #expect(nobody.errors == "souk: there is no customer \"nobody\"\n")

        for input in [nil, "", "\n", "Anna\n", "anna \n", "yes\n"] {
            let unconfirmed = try await souk(["erase", "anna"] + remote(server), input: input)
            #expect(unconfirmed.status == 2 && unconfirmed.output.isEmpty, "\(unconfirmed)")
            #expect(unconfirmed.errors.contains("nothing was erased"), "\(unconfirmed)")
        }
        #expect(try await shop.purchases(of: "anna", at: server) == ["1", "2"])
        let erased = try await souk(["erase", "anna"] + remote(server), input: "anna\n")
        #expect(erased.status == 0, "\(erased)")
        #expect(erased.output.hasPrefix("anna was erased, and the signed data of 2 purchases. What remains has the"))
        #expect(try await shop.purchases(of: "anna", at: server) == [])
        let again = try await souk(["erase", "anna", "--yes", "--json"] + remote(server))
        #expect(again.status == 1 && again.json?["error"]?["reason"] != nil, "\(again)")
        #expect(await server.stop() == 0)

        let pseudonym = try #require(erased.output.split(separator: " ").last).trimmingCharacters(in: .newlines)
        let entries = try await entries()
        #expect(entries.map(\.text) == Array(repeating: "export \(pseudonym)", count: 2) + ["erase \(pseudonym)"])
        let keys = try await SoukExecutable.run(["keys", "list", "--json", "--database", shop.database])
        let ids = keys.json?["keys"]?.arrayValue?.compactMap { $0["id"]?.stringValue } ?? []
        #expect(entries.allSatisfy { ids.contains($0.key) }, "\(entries)")
        #expect(try await replays())
    }

    @Test func `in a ledger without a server, both commands do the same`() async throws {
        let server = try await serve(buying: "1")
        let expected = try await get("/v1/customers/anna/export", at: server)
        for words in [["export", "anna"], ["erase", "anna", "--yes"]] {
            let open = try await souk(words + local)
            #expect(open.status == 2 && open.errors.contains("--url"), "\(open)")
        }
        #expect(await server.stop() == 0)

        for words in [["export", "anna"], ["erase", "anna", "--yes"]] {
            let other = try await souk(words + ["--database", shop.database])
            #expect(other.status == 2 && other.errors.contains("other features"), "\(other)")
        }
        try expect(try await souk(["export", "anna"] + local), equals: expected)
        let nobody = try await souk(["erase", "nobody", "--yes"] + local)
        #expect(nobody.status == 1 && nobody.errors == "souk: there is no customer \"nobody\"\n")
        let missing = try await souk(["export", "anna", "--database", "sqlite:" + shop.folder.file("none")])
        #expect(missing.status == 2 && !FileManager.default.fileExists(atPath: shop.folder.file("none")))
        let erased = try await souk(["erase", "anna", "--yes", "--json"] + local)
        #expect(erased.status == 0 && erased.json?["erasedPurchases"] == 1, "\(erased)")
        let pseudonym = try #require(erased.json?["pseudonym"]?.stringValue)
        #expect(pseudonym.hasPrefix("erased-"))
        #expect(try await entries().map(\.text) == ["export \(pseudonym)", "erase \(pseudonym)"])
        #expect(try await entries().allSatisfy { $0.key == "command line" })
        let file = try Data(contentsOf: URL(fileURLWithPath: shop.folder.file("ledger.sqlite")))
        #expect(file.range(of: Data("anna".utf8)) == nil, "the name remains in the file")

        let next = try await serve()
        #expect(try await shop.purchases(of: "anna", at: next) == [])
        #expect(try await shop.purchases(of: pseudonym, at: next) == ["1"])
        #expect(await next.stop() == 0)
        #expect(try await replays())
    }

    @Test func `an alias names its customer, and the audit log names the customer`() async throws {
        let server = try await serve(buying: "1")
        let key = try String(contentsOfFile: shop.secretKeyFile, encoding: .utf8).trimmingCharacters(in: .newlines)
        let merged = try await CurlTransport.platformDefault().send(
            HTTPRequest(
                method: .post, url: server.url + "/v1/customers/anna/aliases",
                headers: ["Authorization": "Bearer \(key)", "Content-Type": "application/json"],
                body: .json(["alias": "a/b c"])))
        #expect(merged.status == 200)
        let remote = try await souk(["export", "a/b c"] + remote(server))
        #expect(remote.json?["customer"] == "anna" && remote.json?["aliases"] == ["a/b c"], "\(remote)")
        #expect(await server.stop() == 0)
        let local = try await souk(["export", "a/b c"] + local)
        #expect(local.json?["customer"] == "anna", "\(local)")
        #expect(try await entries().map(\.text) == ["export anna", "export anna"])
    }

    @Test func `a name in two environments or a ledger of two apps needs a choice`() async throws {
        let server = try await shop.serve("--environment", "production", "--bundle-id", "com.example.other")
        for environment in ["sandbox", "production"] {
            let request = try shop.presentation(
                of: try shop.subscription(
                    environment, from: Date(), until: Date().addingTimeInterval(86400),
                    environment: environment == "sandbox" ? .sandbox : .production),
                by: "anna", to: server, headers: ["Souk-Environment": environment])
            #expect(try await CurlTransport.platformDefault().send(request).status == 200)
        }
        #expect(await server.stop() == 0)
        let ledger = ["--database", shop.database]
        let apps = try await souk(["export", "anna"] + ledger)
        #expect(apps.status == 2 && apps.errors.contains("com.example.other") && apps.errors.contains("--bundle-id"))
        let own = ledger + ["--bundle-id", SignedShop.app]
        let both = try await souk(["erase", "anna", "--yes"] + own)
        #expect(both.status == 2 && both.errors.contains("production and sandbox"), "\(both)")
        let production = try await souk(["erase", "anna", "--yes", "--environment", "production"] + own)
        #expect(production.status == 0, "\(production)")
        let left = try await souk(["export", "anna"] + own)
        #expect(left.status == 0 && left.json?["environment"] == "sandbox", "\(left)")
        let unknown = try await souk(["export", "anna", "--bundle-id", "com.example.none"] + ledger)
        #expect(unknown.status == 2 && unknown.errors.contains("no app"), "\(unknown)")
    }

    @Test func `options of the other place, a wrong key and a server that is none are refused`() async throws {
        let server = try await serve()
        for options in [
            ["--database", "sqlite:x"], ["--features", "x"], ["--bundle-id", "b"], ["--transfer-mode", "share"],
        ] {
            let outcome = try await souk(["export", "anna"] + remote(server) + options)
            #expect(outcome.status == 2 && outcome.errors.contains(options[0]), "\(outcome)")
        }
        let keyOnly = try await souk(["export", "anna", "--key-file", shop.secretKeyFile])
        #expect(keyOnly.status == 2 && keyOnly.errors.contains("--url"), "\(keyOnly)")
        let publicKey = try shop.folder.write("public", try shop.publicKey)
        let weak = try await souk(["erase", "anna", "--yes", "--url", server.url, "--key-file", publicKey])
        #expect(weak.status == 2 && weak.errors.contains("secret key"), "\(weak)")
        #expect(await server.stop() == 0)
        let store = try await SoukService(["simulate", "--catalog", TestFiles.darkroom])
        let other = try await souk(["export", "anna"] + remote(store))
        #expect([1, 2].contains(other.status) && other.output.isEmpty, "\(other)")
        #expect(await store.stop() == 0)
    }

    @Test(.enabled(if: PostgresCluster.isAvailable, "PostgreSQL is not installed"))
    func `a ledger in PostgreSQL knows its features, and its server may run`() async throws {
        let url = try await PostgresCluster.shared().makeDatabase()
        let server = try await SoukService(
            [
                "serve", "--database", url, "--bundle-id", SignedShop.app, "--features", try features,
                "--transfer-mode", "share",
            ], in: shop.folder.path)
        let key = try String(contentsOfFile: server.greeting["secretKeyFile"]?.stringValue ?? "", encoding: .utf8)
            .trimmingCharacters(in: .newlines)
        func send(_ method: HTTPRequest.Method, _ path: String, _ body: String = "") async throws -> JSONValue {
            let response = try await CurlTransport.platformDefault().send(
                HTTPRequest(
                    method: method, url: server.url + path,
                    headers: ["Authorization": "Bearer \(key)", "Content-Type": "application/json"],
                    body: .bytes(Array(body.utf8))))
            return try JSONValue(parsing: try await response.body.collect(upTo: 1 << 20))
        }
        _ = try await send(.post, "/v1/customers/anna/grants", #"{"feature": "pro", "reason": "support"}"#)
        let refused = try await souk(["export", "anna", "--database", url, "--features", try features])
        #expect(refused.status == 2 && refused.errors.contains("PostgreSQL"), "\(refused)")
        try expect(
            try await souk(["export", "anna", "--database", url]),
            equals: try await send(.get, "/v1/customers/anna/export"))
        let erased = try await souk(["erase", "anna", "--yes", "--json", "--database", url])
        #expect(erased.status == 0, "\(erased)")
        #expect(try await send(.get, "/v1/customers/anna")["features"] == [])
        let pseudonym = try #require(erased.json?["pseudonym"]?.stringValue)
        let actions = try await send(.get, "/v1/customers/\(pseudonym)/export")["actions"]?.arrayValue
        #expect(actions?.compactMap { $0["action"]?.stringValue }.sorted() == ["erase", "export"])
        #expect(await server.stop() == 0)
    }
}
