import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import NetworkTestSupport
import Primitives
import SignedData
import StoreModel
import Testing

/// A simulated store, and an entitlement server that trusts it and has received nothing.
private struct IngestionWorld {
    static let app = "com.example.darkroom"
    static let plus = "com.example.darkroom.plus.monthly"

    let folder: TemporaryFolder
    let store: SoukService
    let server: SoukService

    init(asksAppStore: Bool = false) async throws {
        folder = try TemporaryFolder()
        store = try await SoukService([
            "simulate", "--catalog", TestFiles.darkroom, "--data", folder.file("store"), "--time-rate", "frozen",
            "--bundle-id", Self.app, "--notifications-url", "http://127.0.0.1:9/nobody",
        ])
        let root = store.greeting["rootCertificate"]?.stringValue ?? ""
        server = try await SoukService(
            [
                "serve", "--database", "sqlite:" + folder.file("souk.sqlite"), "--bundle-id", Self.app, "--root", root,
                "--environment", "sandbox", "--clock", store.url,
            ] + (asksAppStore ? Self.appStore(of: store) : []))
    }

    var key: String { server.greeting["secretKeyFile"]?.stringValue ?? "" }

    /// The options for the simulator's App Store Server API.
    var appStore: [String] { Self.appStore(of: store) }

    private static func appStore(of store: SoukService) -> [String] {
        let api = store.greeting["serverAPI"]
        return [
            "--app-store-key", api?["privateKey"]?.stringValue ?? "", "--key-id", api?["keyID"]?.stringValue ?? "",
            "--issuer-id", api?["issuerID"]?.stringValue ?? "", "--app-store-url", store.url,
        ]
    }

    @discardableResult
    func store(_ words: String...) async throws -> JSONValue {
        let outcome = try await SoukExecutable.run(["store", "--url", store.url, "--json"] + words)
        #expect(outcome.status == 0, "\(outcome.errors)")
        return outcome.json ?? .null
    }

    func buy(_ account: String, _ product: String = plus) async throws -> String {
        try #require(try await store("buy", account, product)["signedTransaction"]?.stringValue)
    }

    func run(_ words: [String]) async throws -> SoukExecutable.Outcome {
        try await SoukExecutable.run(words + ["--url", server.url, "--key-file", key, "--json"])
    }

    func sync(_ more: [String]) async throws -> SoukExecutable.Outcome {
        try await run(["sync", "--bundle-id", Self.app, "--environment", "sandbox"] + appStore + more)
    }

    func get(_ path: String) async throws -> [UInt8] {
        let secret = try String(contentsOfFile: key, encoding: .utf8).trimmingCharacters(in: .newlines)
        let response = try await CurlTransport().send(
            HTTPRequest(method: .get, url: server.url + path, headers: ["Authorization": "Bearer \(secret)"]))
        return try await response.body.collect(upTo: 1 << 20)
    }

    func customer(_ id: String) async throws -> Customer {
        try WireJSON.decode(Customer.self, from: try await get("/v1/customers/\(id)"))
    }

    /// Waits for a result, because the server follows the store's time with a delay.
    func eventually(
        _ id: String, sourceLocation: SourceLocation = #_sourceLocation, _ holds: (Customer) -> Bool
    ) async throws {
        try await until("the answer about \(id) is as expected", sourceLocation: sourceLocation) {
            holds(try await customer(id))
        }
    }

    /// The simulator's time.
    func now() async throws -> Date {
        try #require(try await store("clock")["now"]?.stringValue.flatMap { RFC3339.date(from: $0) })
    }
}

/// A line of a file to import.
private func line(_ customer: String, _ signed: String) -> String {
    let line: JSONValue = ["customer": .string(customer), "signedTransaction": .string(signed)]
    return line.text()
}

@Suite struct ImportCommandTests {

    @Test func `an import accepts valid lines and reports the numbers of invalid lines`() async throws {
        let world = try await IngestionWorld()
        for account in ["ada", "ben"] { try await world.store("account", "create", account) }
        let (one, other) = (try await world.buy("ada"), try await world.buy("ben"))
        let file = try world.folder.write(
            "purchases.jsonl",
            [
                line("anna", one), "", "{", line("anna", String(other.dropLast(8)) + "AAAAAAAA"), #"{"customer":""}"#,
                line("ben", other), #"{"customer":"carl"}"#,
            ].joined(separator: "\n"))
        let outcome = try await world.run(["import", file])
        #expect(outcome.status == 1)
        #expect(outcome.json?["lines"] == 7 && outcome.json?["accepted"] == 2 && outcome.json?["rejected"] == 4)
        let rejections = try #require(outcome.json?["rejections"]?.arrayValue)
        #expect(
            rejections.map { $0["code"]?.stringValue } == ["invalid_field", "malformedLine", "signatureInvalid"])
        #expect(
            rejections.map { $0["places"]?.arrayValue?.compactMap(\.stringValue) } == [
                ["line 7"], ["line 3", "line 5"], ["line 4"],
            ])
        #expect(!outcome.output.contains(other.suffix(40)) && !outcome.errors.contains(other.suffix(40)))
        #expect(try await world.customer("anna").features.contains(where: \.isActive))
        #expect(try await world.customer("ben").features.contains(where: \.isActive))
        #expect(!FileManager.default.fileExists(atPath: file + ".import-state"))

        let text = try await SoukExecutable.run([
            "import", file, "--url", world.server.url, "--key-file", world.key, "--parallel", "4",
        ])
        #expect(text.output.hasPrefix("7 lines: 2 transactions accepted, 4 rejected\n") && text.status == 1)
        #expect(text.output.contains("  malformedLine: 2 at line 3, line 5\n"))
    }

    @Test func `an interrupted import continues where it stopped, and only with the same file`() async throws {
        let world = try await IngestionWorld()
        try await world.store("account", "create", "ada")
        let signed = try await world.buy("ada")
        let (first, second) = (line("anna", "x"), line("anna", signed))
        let file = try world.folder.write("purchases.jsonl", first + "\n" + second + "\n")
        let state: JSONValue = [
            "mark": [
                "lines": 1, "bytes": .number(first.utf8.count + 1),
                "digest": .string(Hex.encode(SHA256.hash((first + "\n").utf8))),
            ],
            "report": [
                "accepted": 0, "rejections": ["malformed": ["count": 1, "places": ["line 1"], "detail": "no JWS"]],
            ],
        ]
        let place = try world.folder.write("state.json", state.text())
        let outcome = try await world.run(["import", file, "--state", place])
        #expect(outcome.json?["lines"] == 2 && outcome.json?["accepted"] == 1 && outcome.json?["rejected"] == 1)

        _ = try world.folder.write("state.json", state.text())
        let other = try world.folder.write("other.jsonl", second + "\n" + first + "\n")
        let refused = try await world.run(["import", other, "--state", place])
        #expect(refused.status == 2 && refused.errors.contains("remove the state file"))
    }

    @Test func `a request is repeated after the pause that the server requires`() async throws {
        let folder = try TemporaryFolder()
        let answer = #"{"acknowledgedTransactionIDs":["1"],"rejected":[]}"#
        let busy = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        let done = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: \(answer.utf8.count)\r\n\r\n\(answer)"
        let server = try ScriptedServer(
            [busy, busy, done].map { text in
                { peer in
                    _ = peer.receive(until: #"{"signedTransaction":"x"}"#)
                    peer.send(text)
                }
            })
        let outcome = try await SoukExecutable.run([
            "import", try folder.write("p.jsonl", line("anna", "x")), "--url", server.url, "--key-file",
            try folder.write("key", "souk_secret_any"), "--json",
        ])
        #expect(outcome.status == 0 && outcome.json?["accepted"] == 1, "\(outcome.errors)")
    }

    @Test func `a wrong key or a missing file exits 2`() async throws {
        let world = try await IngestionWorld()
        let key = try world.folder.write("key", "souk_secret_nobody")
        let file = try world.folder.write("purchases.jsonl", line("anna", "x"))
        let wrong = try await SoukExecutable.run(["import", file, "--url", world.server.url, "--key-file", key])
        #expect(wrong.status == 2 && !wrong.errors.contains("souk_secret_nobody"))
        #expect(try await world.run(["import", world.folder.file("missing")]).status == 2)
    }

    /// A state with `count` malformed lines, without their places.
    private static func rejections(count: String) -> String {
        #"{"report":{"accepted":0,"rejections":{"malformedLine":{"count":\#(count),"places":[],"detail":""}}}}"#
    }

    /// Imports from `path` into a server that does not exist. No line leads to a request.
    private func importOffline(
        _ path: String, state: String? = nil, in folder: TemporaryFolder
    ) async throws -> SoukExecutable.Outcome {
        let key = try folder.write("key", "souk_secret_any")
        let place = try state.map { try folder.write("state.json", $0) } ?? folder.file("state.json")
        return try await SoukExecutable.run([
            "import", path, "--url", "http://127.0.0.1:9", "--key-file", key, "--state", place,
        ])
    }

    @Test(arguments: [
        #"{"report":{"accepted":9223372036854775807,"rejections":{}}}"#,
        #"{"report":{"accepted":-1,"rejections":{}}}"#,
        Self.rejections(count: "9223372036854775807"), Self.rejections(count: "-1"), Self.rejections(count: "2"),
        #"{"mark":{"lines":3,"bytes":0,"digest":""},"report":{"accepted":0,"rejections":{}}}"#, "{",
    ])
    func `a state file that no import wrote is refused`(state: String) async throws {
        let folder = try TemporaryFolder()
        let outcome = try await importOffline(try folder.write("p.jsonl", "{\n"), state: state, in: folder)
        #expect(outcome.status == 2 && outcome.errors.contains("this is no state file of this command"), "\(outcome)")
        #expect(outcome.errors.split(separator: "\n").count == 1 && outcome.output.isEmpty, "\(outcome)")
    }

    @Test(arguments: ["", "{", "a line of a list", #"{"since":"2026-01-01T00:00:00Z","report":{"accepted":0}}"#])
    func `the error for a file that is not a state file does not suggest its removal`(text: String) async throws {
        let folder = try TemporaryFolder()
        let outcome = try await importOffline(try folder.write("p.jsonl", "{\n"), state: text, in: folder)
        #expect(outcome.status == 2 && outcome.errors.contains("name another file"), "\(outcome)")
        #expect(!outcome.errors.contains("remove") && outcome.errors.split(separator: "\n").count == 1, "\(outcome)")
        #expect(try String(contentsOfFile: folder.file("state.json"), encoding: .utf8) == text)
    }

    @Test func `a state file that is the file to import is refused, by a link too`() async throws {
        let folder = try TemporaryFolder()
        let text = #"{"report":{"accepted":0,"rejections":{}}}"#
        let file = try folder.write("state.json", text)
        let link = folder.file("link.jsonl")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        for path in [file, link] {
            let outcome = try await importOffline(path, state: nil, in: folder)
            #expect(outcome.status == 2 && outcome.errors.contains("--state is the file to import"), "\(outcome)")
            #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
        }
    }

    @Test func `counts of a state file whose sum is too large are refused`() async throws {
        let folder = try TemporaryFolder()
        let places = JSONValue.array((1...20).map { .string("line \($0)") })
        let most: Int = 1 << 53
        let half: JSONValue = ["count": .number(most), "places": places, "detail": ""]
        let state: JSONValue = ["report": ["accepted": 0, "rejections": ["a": half, "b": half]]]
        let file = try folder.write("p.jsonl", "{\n")
        let outcome = try await importOffline(file, state: state.text(), in: folder)
        #expect(outcome.status == 2 && outcome.errors.contains("this is no state file of this command"), "\(outcome)")
    }

    @Test func `a folder or a file that cannot be read exits 2 with one sentence`() async throws {
        let folder = try TemporaryFolder()
        let directory = (folder.path, "this is a folder, not a file")
        #if os(Linux)
            // This file can be opened but not read, because no memory is mapped at its start.
            let cases = [directory, ("/proc/self/mem", "the file cannot be read")]
        #else
            let cases = [directory]
        #endif
        for (path, sentence) in cases {
            let outcome = try await importOffline(path, in: folder)
            #expect(outcome.status == 2 && outcome.errors.contains("\(path): \(sentence)"), "\(outcome)")
            #expect(outcome.errors.split(separator: "\n").count == 1 && outcome.output.isEmpty, "\(outcome)")
        }
    }
}

@Suite struct SyncCommandTests {
    @Test func `a sync sends missed notifications, and continues from there`() async throws {
        let world = try await IngestionWorld()
        try await world.store("account", "create", "ada")
        let signed = try await world.buy("ada")
        let began = try await world.now()
        let file = try world.folder.write(
            "p.jsonl", line("anna", signed))
        #expect(try await world.run(["import", file]).status == 0)
        try await world.store("advance", "40d")
        try await world.eventually("anna") { $0.features.allSatisfy { !$0.isActive } }

        let end = RFC3339.string(from: try await world.now().addingTimeInterval(60))
        let span = ["--since", RFC3339.string(from: began.addingTimeInterval(-86400)), "--until", end]
        let state = ["--state", world.folder.file("sync.json")]
        let outcome = try await world.sync(span + state)
        #expect(outcome.status == 0, "\(outcome.errors)\(outcome.output)")
        #expect((outcome.json?["accepted"]?.intValue ?? 0) >= 2 && outcome.json?["rejected"] == 0)
        try await world.eventually("anna") {
            $0.subscriptions.first?.state == .active && $0.subscriptions.first?.autoRenews == true
        }

        try await world.store("cancel", "ada", IngestionWorld.plus)
        let later = RFC3339.string(from: try await world.now().addingTimeInterval(120))
        #expect(try await world.sync(["--until", later] + state).status == 0)
        #expect(try await world.customer("anna").subscriptions.first?.autoRenews == false)
    }

    @Test func `a sync by customer fetches the App Store's data about their purchases`() async throws {
        let world = try await IngestionWorld()
        for account in ["ada", "ben"] { try await world.store("account", "create", account) }
        let signed = try await world.buy("ada")
        let file = try world.folder.write(
            "p.jsonl", line("anna", signed))
        #expect(try await world.run(["import", file]).status == 0)
        _ = try await world.buy("ada", "com.example.darkroom.filmpack")
        try await world.store("advance", "40d")
        let outcome = try await world.sync(["--customer", "anna"])
        #expect(outcome.status == 0, "\(outcome.errors)\(outcome.output)")
        try await world.eventually("anna") {
            $0.subscriptions.first?.state == .active && $0.subscriptions.first?.autoRenews == true
        }
        let answer = try await world.customer("anna")
        #expect(answer.purchases.map(\.productID) == ["com.example.darkroom.filmpack"])
    }

    @Test func `a sync by customer finds the owner among many ids that begin like the purchase's`() async throws {
        let world = try await IngestionWorld()
        let filmPack: ProductID = "com.example.darkroom.filmpack"
        try await world.store("account", "create", "ada")
        let bought = try await world.store("buy", "ada", filmPack.rawValue)
        let purchase = try #require(bought["originalTransactionID"]?.stringValue)
        let signed = try #require(bought["signedTransaction"]?.stringValue)
        let own = try await world.buy("ada")
        let file = try world.folder.write(
            "p.jsonl", [line("victim", signed), line("mallory", own)].joined(separator: "\n"))
        #expect(try await world.run(["import", file]).status == 0)

        // Each valid purchase creates a customer; the victim is listed after the longest page.
        try await world.store("account", "create", "eve")
        let another = try await world.buy("eve")
        let names = (100..<220).map { line("\(purchase)-\($0)", another) }
        let junk = try world.folder.write("junk.jsonl", names.joined(separator: "\n"))
        #expect(try await world.run(["import", junk, "--parallel", "8"]).status == 0)
        let found = try JSONValue(parsing: try await world.get("/v1/customers?limit=100&query=\(purchase)"))
        #expect(found["customers"]?.arrayValue?.count == 100 && found["nextCursor"]?.stringValue != nil)

        let outcome = try await world.sync(["--customer", "mallory"])
        #expect(outcome.status == 0, "\(outcome.errors)\(outcome.output)")
        #expect(try await world.customer("victim").purchases.map(\.productID) == [filmPack])
        #expect(try await world.customer("mallory").purchases.isEmpty)
    }

    @Test func `a state file with counts that no sync made is refused`() async throws {
        let world = try await IngestionWorld()
        let state: JSONValue = [
            "since": .string(RFC3339.string(from: try await world.now())),
            "report": ["accepted": .number(Int.max), "rejections": [:]],
        ]
        let outcome = try await world.sync(["--state", try world.folder.write("sync.json", state.text())])
        #expect(outcome.status == 2 && outcome.errors.contains("this is no state file of this command"), "\(outcome)")
    }

    @Test func `an interrupted sync completes its time span, and counts its earlier results`() async throws {
        let world = try await IngestionWorld()
        try await world.store("account", "create", "ada")
        _ = try await world.buy("ada")
        let now = try await world.now()
        let (since, until) = (now.addingTimeInterval(-3600), now.addingTimeInterval(3600))
        let state: JSONValue = [
            "since": .string(RFC3339.string(from: since)), "until": .string(RFC3339.string(from: until)),
            "report": ["accepted": 100, "rejections": [:]],
        ]
        let file = try world.folder.write("sync.json", state.text())
        let outcome = try await world.sync(["--state", file])
        #expect(outcome.status == 0 && (outcome.json?["accepted"]?.intValue ?? 0) > 100, "\(outcome.errors)")
        let kept = try JSONValue(parsing: try String(contentsOfFile: file, encoding: .utf8))
        #expect(kept["until"] == nil && kept["since"]?.stringValue == RFC3339.string(from: now))
    }

    @Test func `a sync requires a key of App Store Connect`() async throws {
        let outcome = try await SoukExecutable.run([
            "sync", "--url", "http://127.0.0.1:9", "--key-file", "/dev/null", "--bundle-id", "com.example.darkroom",
        ])
        #expect(outcome.status == 2 && outcome.errors.contains("--app-store-key"))
    }
}

@Suite struct ServerPullTests {
    @Test func `a server with an App Store key fetches renewals without a notification`() async throws {
        let world = try await IngestionWorld(asksAppStore: true)
        try await world.store("account", "create", "ada")
        let signed = try await world.buy("ada")
        let file = try world.folder.write("p.jsonl", line("anna", signed))
        #expect(try await world.run(["import", file]).status == 0)
        let expiry = try #require(try await world.customer("anna").subscriptions.first?.expiresAt)
        try await world.store("advance", "40d")
        try await world.eventually("anna") {
            ($0.subscriptions.first?.expiresAt ?? .distantPast) > expiry && $0.features.contains(where: \.isActive)
        }
    }
}
