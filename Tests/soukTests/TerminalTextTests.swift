import Foundation
import HTTPCore
import NetworkInterception
import NetworkTestSupport
import Primitives
import SQLStorage
import Testing

/// Text from outside cannot move a terminal's cursor, set a colour, begin a line or change the writing direction,
/// whichever command prints it. JSON output keeps its meaning.
@Suite struct TerminalTextTests {
    /// C0, DEL, C1, line separators and the characters of bidirectional formatting.
    static let dangerous: [UnicodeScalar] = {
        let ranges: [ClosedRange<UInt32>] = [
            0x01...0x1F, 0x7F...0x9F, 0x061C...0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069,
        ]
        return ranges.flatMap { $0.compactMap { UnicodeScalar($0) } }
    }()
    /// All dangerous characters, and a line break that would begin the line `FORGED`.
    static let planted = "plant" + dangerous.map { String($0) }.joined(separator: "x") + "\nFORGED"

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Fails when a dangerous character was printed, or nothing of the planted text.
    private func expectHarmless(
        _ outcome: SoukExecutable.Outcome, _ command: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let text = outcome.output + outcome.errors
        let found = text.unicodeScalars.filter { $0 != "\n" && Self.dangerous.contains($0) }
        #expect(
            found.isEmpty, "\(command): \(found.map { String($0.value, radix: 16) })", sourceLocation: sourceLocation)
        #expect(
            !text.split(separator: "\n").contains { $0.hasPrefix("FORGED") }, "\(command)",
            sourceLocation: sourceLocation)
        #expect(text.contains("plant"), "\(command) printed nothing of it: \(text)", sourceLocation: sourceLocation)
    }

    /// Also checks that every character is printed in its escaped form.
    private func expectEscaped(
        _ outcome: SoukExecutable.Outcome, _ command: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        expectHarmless(outcome, command, sourceLocation: sourceLocation)
        let text = outcome.output + outcome.errors
        for escape in [
            #"\u{1B}"#, #"\u{7F}"#, #"\u{9B}"#, #"\u{202E}"#, #"\u{2066}"#, #"\u{61C}"#, #"\r"#, #"\nFORGED"#,
        ] {
            #expect(text.contains(escape), "\(command): \(escape) is not in it", sourceLocation: sourceLocation)
        }
    }

    private func write(_ name: String, _ json: JSONValue) throws -> String { try folder.write(name, json.encoded()) }

    private func archive(_ url: String = "http://127.0.0.1:9/") throws -> String {
        let text = Self.planted
        let body = text.replacingOccurrences(of: "\n", with: " ")
        var record = Record(HTTPRequest(method: .init(text), url: url + text, headers: [text: text], body: .text(body)))
        record.result = .success(Response(status: 200, headers: [text: text], body: .json([text: .string(text)])))
        var failed = Record(HTTPRequest(method: .get, url: url))
        failed.result = .failure(HTTPError(.connectionFailed, text))
        var har = try JSONValue(parsing: HARDocument([failed, record]).encoded())
        har["log"]?["creator"]?["name"] = .string(text)
        return try write("traffic.har", har)
    }

    @Test func `har show escapes the control characters of a recording`() async throws {
        let file = try archive()
        for words in [[], ["--entry", "1"], ["--entry", "2"]] {
            let outcome = try await SoukExecutable.run(["har", "show", file] + words)
            #expect(outcome.status == 0)
            expectEscaped(outcome, "har show \(words)")
            let json = try await SoukExecutable.run(["har", "show", "--json", file] + words)
            expectHarmless(json, "har show --json \(words)")
            #expect(json.json?.text().contains("plant") == true, "it is JSON")
        }
    }

    @Test func `har lint and har replay escape the control characters of a recording`() async throws {
        _ = try archive()
        var har = try JSONValue(parsing: try folder.text("traffic.har"))
        var entry = try #require(har["log"]?["entries"]?[0])
        entry["response"]?[Self.planted] = 1
        entry["startedDateTime"] = .string(Self.planted)
        har["log"]?["entries"] = [entry]
        let broken = try write("broken.har", har)
        let lint = try await SoukExecutable.run(["har", "lint", broken])
        #expect(lint.status == 1)
        let text = lint.output + lint.errors
        #expect(!text.unicodeScalars.contains { $0 != "\n" && Self.dangerous.contains($0) })
        let replay = try await SoukExecutable.run(["har", "replay", try archive(), "--timeout", "5"])
        expectHarmless(replay, "har replay")
    }

    /// A service that returns the planted text in all texts.
    private static func service(refusing isRefusing: Bool) -> AnyHTTPHandler {
        AnyHTTPHandler { request in
            let text = JSONValue.string(planted)
            if isRefusing {
                return .ready(
                    HTTPProblem(status: 422, code: planted, title: planted, detail: planted, field: planted).response)
            }
            let account: JSONValue = ["name": text, "storefront": text, "family": text]
            let family: JSONValue = ["name": text, "organizer": text, "members": [text, text]]
            let setting: JSONValue = ["name": text, "value": text]
            let answers: [(String, JSONValue)] = [
                ("/accounts/a", account), ("/accounts", ["accounts": [account]]), ("/families", ["families": [family]]),
                ("/settings/a", setting), ("/settings", ["settings": [setting]]),
            ]
            let answer = answers.first { request.path.hasSuffix($0.0) }?.1 ?? text
            return .ready(HTTPResponse(json: answer))
        }
    }

    @Test(arguments: [
        ["account", "list"], ["account", "show", "a"], ["family", "list"], ["settings", "list"],
        ["settings", "get", "a"],
    ])
    func `the answers of a store are escaped in souk store`(words: [String]) async throws {
        try await withLoopbackServer(Self.service(refusing: false)) { url in
            let outcome = try await SoukExecutable.run(["store", "--url", url] + words)
            #expect(outcome.status == 0, "\(outcome.errors)")
            expectHarmless(outcome, words.joined(separator: " "))
            let json = try await SoukExecutable.run(["store", "--json", "--url", url] + words)
            expectHarmless(json, words.joined(separator: " ") + " --json")
            #expect(json.json?.text().contains("plant") == true, "it is JSON")
        }
    }

    @Test(arguments: [
        ["store", "account", "list"], ["store", "advance", "1h"], ["store", "export", "-"], ["store", "products"],
        ["import", "--key-file", "KEY", "FACTS"],
    ])
    func `the error messages of a service are escaped`(words: [String]) async throws {
        try await withLoopbackServer(Self.service(refusing: true)) { url in
            let key = try folder.write("key", "sk_test")
            let facts = try folder.write("facts.jsonl", #"{"customer":"a","signedTransaction":"x.y.z"}"# + "\n")
            let typed = words.map { ["KEY": key, "FACTS": facts][$0] ?? $0 } + ["--url", url]
            let outcome = try await SoukExecutable.run(typed)
            #expect(outcome.status != 0)
            expectHarmless(outcome, words.joined(separator: " "))
            let json = try await SoukExecutable.run(typed + ["--json"])
            expectHarmless(json, words.joined(separator: " ") + " --json")
            #expect(json.json != nil, "it is JSON: \(json.output)")
        }
    }

    @Test func `arguments are escaped in the messages about them`() async throws {
        let text = Self.planted
        // A value with line ends is treated as a key, and not printed.
        let path = text.filter { !$0.isNewline }
        for words in [
            [text], ["keys", text], ["version", text], ["version", "--" + text], ["store", text],
            ["har", "show", "/nowhere/" + path], ["hub", "graph", "--format", text, "x"],
            ["inspect", "--records", path],
            ["intercept", "--listen", text, "--upstream", "http://127.0.0.1:1"], ["simulate", "--catalog", path],
            ["jws", "verify", "-", "--type", text], ["receipt", "verify", path], ["scenario", "run", path],
            ["ledger", "replay", "--database", "sqlite:" + text], ["restore", text, "--database", "sqlite:/nowhere/x"],
        ] {
            let outcome = try await SoukExecutable.run(words)
            #expect(outcome.status == 2, "\(words.first ?? "")")
            expectHarmless(outcome, words.first ?? "")
        }
    }

    @Test func `text from files is escaped in the findings of linters`() async throws {
        let text = Self.planted
        let catalogue = try write(
            "a.storekit",
            ["identifier": .string(text), "products": [["productID": .string(text), "type": .string(text)]]])
        let policy = try write(
            "a.policy.json", ["name": .string(text), "send": ["commands": [.string(text)]], text: .string(text)])
        let scenario = try write(
            "a.json", ["name": .string(text), "catalogue": .string(text), "steps": [[text: [text: .string(text)]]]])
        let florets = try write("florets.json", ["florets": [["floret": .string(text), text: .string(text)]]])
        for words in [
            ["catalog", "lint", catalogue], ["policy", "lint", policy], ["hub", "graph", "--format", "dot", policy],
            ["scenario", "run", scenario], ["simulate", "--catalog", catalogue],
            ["intercept", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:1", "--florets", florets],
        ] {
            let outcome = try await SoukExecutable.run(words)
            #expect(outcome.status != 0, "\(words[0])")
            let printed = outcome.output + outcome.errors
            let found = printed.unicodeScalars.filter { $0 != "\n" && Self.dangerous.contains($0) }
            #expect(found.isEmpty, "\(words[0]): \(found.map { String($0.value, radix: 16) })")
            #expect(!printed.isEmpty, "\(words[0])")
        }
    }

    @Test func `text from a ledger is escaped`() async throws {
        let ledger = folder.file("ledger.sqlite")
        let database = ["--database", "sqlite:" + ledger]
        let server = try await SoukService(["serve", "--bundle-id", "com.example.a"] + database)
        #expect(await server.stop() == 0)
        // The command that creates keys refuses it; a program with write access can insert it.
        let file = try SQLiteDatabase(path: ledger)
        try await file.write { _ = try $0.execute("UPDATE api_key SET label = ?1", [.text(Self.planted)]) }
        await file.close()
        let list = try await SoukExecutable.run(["keys", "list"] + database)
        expectEscaped(list, "keys list")
        let json = try await SoukExecutable.run(["keys", "list", "--json"] + database)
        expectHarmless(json, "keys list --json")
        let labels = json.json?["keys"]?.arrayValue?.compactMap { $0["label"]?.stringValue }
        #expect(labels?.contains(Self.planted) == true, "JSON keeps what it says")
    }

    @Test func `the content of a JWS is printed as JSON with the same meaning`() async throws {
        let claims: JSONValue = ["transactionId": .string(Self.planted)]
        let parts = [JSONValue.object(["alg": "ES256", "x5c": []]).encoded(), claims.encoded(), [1, 2, 3]]
        let file = try folder.write("a.jws", parts.map { Base64.encodeURL($0) }.joined(separator: "."))
        for words in [["jws", "inspect", file], ["jws", "inspect", "--json", file]] {
            let outcome = try await SoukExecutable.run(words)
            #expect(outcome.status == 0, "\(outcome.errors)")
            expectHarmless(outcome, words.joined(separator: " "))
            #expect(outcome.json?["payload"] == claims)
        }
    }
}
