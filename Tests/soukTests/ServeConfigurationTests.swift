import CurlTransport
import Foundation
import HTTPCore
import Primitives
import Testing

@testable import souk

/// `souk serve` with flags, environment variables and a file.
@Suite struct ServeConfigurationTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var document: String {
        get throws {
            try String(contentsOfFile: TestFiles.repository + "/Documentation/Configuration.md", encoding: .utf8)
        }
    }

    @Test func `the documented table of settings has the same options as the command`() async throws {
        let help = try await SoukExecutable.run(["serve", "--help"]).output
        let listed = help.split(separator: "\n").filter { $0.hasPrefix("  --") }.compactMap { Self.row(of: String($0)) }
        let rows = try document.split(separator: "\n").filter { $0.hasPrefix("| `--") }.map(String.init)
        #expect(rows.count > 15 && rows == listed)
    }

    /// Returns the row of an option in the help; `nil` for options that are not settings.
    private static func row(of line: String) -> String? {
        let parts = line.dropFirst(2).components(separatedBy: "  ").filter { !$0.isEmpty }
        let words = parts[0].split(separator: " ")
        let name = words[0].dropFirst(2)
        guard !["help", "config", "check"].contains(name), parts.count > 1 else { return nil }
        let variable = "SOUK_" + name.uppercased().replacingOccurrences(of: "-", with: "_")
        let humps = name.split(separator: "-")
        let member = humps.dropFirst().reduce(String(humps[0])) { $0 + $1.capitalized }
        let repeats = words.last == "…" ? " …" : ""
        let text = parts[1...].joined(separator: "  ").trimmingCharacters(in: .whitespaces)
        let value = words.count > 1 ? " \(words[1])" : ""
        return "| `--\(name)\(value)`\(repeats) | `\(variable)` | `\(member)` | \(text) |"
    }

    private func configuration(_ json: JSONValue) throws -> String { try folder.write("souk.json", json.text()) }

    private func status(_ url: String, _ path: String, key: String? = nil) async throws -> Int {
        var headers: HTTPHeaders = [:]
        if let key { headers.add("Authorization", "Bearer \(key)") }
        let request = HTTPRequest(method: .get, url: url + path, headers: headers)
        return try await CurlTransport.platformDefault().send(request).status
    }

    @Test func `several apps of a file have settings of their own, and a flag adds another app`() async throws {
        let file = try configuration([
            "database": .string("sqlite:" + folder.file("ledger.sqlite")), "port": 0, "metricsPort": 0,
            "apps": [
                ["bundleId": "com.example.one", "customerTokens": "required"], ["bundleId": "com.example.two"],
            ],
        ])
        let server = try await SoukService(["serve", "--config", file, "--bundle-id", "com.example.three"])
        let keys = server.greeting["keys"]?.arrayValue ?? []
        #expect(keys.map { $0["bundleID"] } == ["com.example.one", "com.example.two", "com.example.three"])
        let statuses = try await keys.asyncMap { key in
            try await status(server.url, "/v1/customers/anna", key: try #require(key["publicKey"]?.stringValue))
        }
        #expect(statuses == [401, 200, 200])
        let metrics = try #require(server.greeting["metrics"]?.stringValue)
        #expect(try await status(metrics, "") == 200)
        #expect(try await status(server.url, "/metrics") == 404)
        #expect(await server.stop() == 0)
    }

    @Test func `a flag wins over the environment, which wins over the file`() async throws {
        let file = try configuration(["bundleId": "com.example.file", "transferMode": "share", "log": "loud"])
        func refusal(_ flags: [String], _ environment: [String: String]) async throws -> String {
            try await SoukExecutable.run(
                ["serve", "--config", file, "--database", "sqlite:" + folder.file("ledger.sqlite")] + flags,
                environment: environment
            ).errors
        }
        #expect(try await refusal([], [:]).contains("not \"loud\""))
        #expect(try await refusal([], ["SOUK_LOG": "quiet"]).contains("not \"quiet\""))
        #expect(try await refusal(["--log", "silent"], ["SOUK_LOG": "quiet"]).contains("not \"silent\""))
        #expect(!FileManager.default.fileExists(atPath: folder.file("ledger.sqlite")), "No file was created.")
    }

    @Test func `the console is off unless a flag, a variable or the file turns it on`() async throws {
        let on = try configuration(["bundleId": "com.example.souk", "console": true])
        let cases: [(flags: [String], environment: [String: String], isOn: Bool)] = [
            (["--bundle-id", "com.example.souk"], [:], false),
            (["--bundle-id", "com.example.souk", "--console"], [:], true),
            (["--bundle-id", "com.example.souk"], ["SOUK_CONSOLE": "on"], true),
            (["--config", on], [:], true), (["--config", on], ["SOUK_CONSOLE": "off"], false),
        ]
        for (index, test) in cases.enumerated() {
            let server = try await SoukService(
                ["serve", "--database", "sqlite:" + folder.file("\(index).sqlite")] + test.flags,
                environment: test.environment)
            #expect(try await status(server.url, "/console/sign-in") == (test.isOn ? 200 : 404), "\(test)")
            #expect(server.greeting["console"]?.stringValue == (test.isOn ? server.url + "/console" : nil))
            #expect(await server.stop() == 0)
        }
    }

    @Test func `behind a proxy the console has the proxy's origin, from a flag, a variable or the file`() async throws {
        let origin = "https://console.example.com"
        let named = try configuration(["bundleId": "com.example.souk", "consoleOrigin": .string(origin)])
        let bundle = ["--bundle-id", "com.example.souk"]
        let cases: [(flags: [String], environment: [String: String], isOn: Bool)] = [
            (bundle + ["--console-origin", origin], [:], true), (bundle, ["SOUK_CONSOLE_ORIGIN": origin], true),
            (["--config", named], [:], true), (["--config", named], ["SOUK_CONSOLE": "off"], false),
        ]
        for (index, test) in cases.enumerated() {
            let server = try await SoukService(
                ["serve", "--database", "sqlite:" + folder.file("origin-\(index).sqlite")] + test.flags,
                environment: test.environment)
            #expect(server.greeting["console"]?.stringValue == (test.isOn ? origin + "/console" : nil))
            // The test's own request has another host than the proxy's.
            #expect(try await status(server.url, "/console/sign-in") == (test.isOn ? 403 : 404), "\(test)")
            #expect(await server.stop() == 0)
        }
        for (flags, words) in [
            (["--host", "0.0.0.0", "--console-origin", origin], "that only the proxy reaches"),
            (["--host", "192.0.2.1", "--console-origin", origin], "that only the proxy reaches"),
            (["--console-origin", "http://console.example.com"], "should be https:// and a host in lower case"),
        ] {
            let refused = try await SoukExecutable.run(
                ["serve", "--database", "sqlite:" + folder.file("none.sqlite")] + bundle + flags)
            #expect(refused.status == 2 && refused.errors.contains(words), "\(refused.errors)")
        }
        for (address, isPrivate) in [
            ("10.0.0.7", true), ("172.16.0.1", true), ("172.31.255.255", true), ("172.32.0.1", false),
            ("192.168.1.1", true), ("192.169.1.1", false), ("fd12::1", true), ("[fc00::1]", true), ("fe80::1", false),
            ("2001:db8::1", false), ("localhost", false), ("", false), ("010.0.0.7", false), ("0.0.0.0", false),
        ] { #expect(PrivateAddress.contains(address) == isPrivate, "\(address)") }
    }

    @Test func `without TLS the console needs a loopback address, and nothing starts`() async throws {
        let ledger = folder.file("ledger.sqlite")
        func refusal(_ flags: [String], _ environment: [String: String] = [:]) async throws -> String {
            let refused = try await SoukExecutable.run(
                ["serve", "--database", "sqlite:" + ledger, "--bundle-id", "com.example.souk"] + flags,
                environment: environment)
            #expect(refused.status == 2)
            return refused.errors
        }
        for host in ["0.0.0.0", "::", "192.0.2.1"] {
            let sentence = try await refusal(["--console", "--host", host])
            #expect(sentence.contains("--console needs TLS or a loopback address"), "\(sentence)")
        }
        #expect(try await refusal(["--console=on"]).contains("takes no value"))
        #expect(try await refusal([], ["SOUK_CONSOLE": "maybe"]).contains("--console is on or off"))
        let wrong = try configuration(["bundleId": "com.example.souk", "console": "yes"])
        #expect(try await refusal(["--config", wrong]).contains("/console: this should be true or false"))
        #expect(!FileManager.default.fileExists(atPath: ledger), "No file was created.")
    }

    @Test func `an error in a file is named with its place`() async throws {
        let cases: [(JSONValue, String)] = [
            (["bundleID": "com.example.one"], "/bundleID: there is no such setting"),
            (["bundleId": ["com.example.one"], "port": true], "/port: this should be a string or a number"),
            (["apps": [["bundleId": "com.example.one", "port": 1]]], "/apps/0/port: there is no such setting"),
            (["apps": [["features": "x"]]], "/apps/0/bundleId: this should be a string"),
            (["webhooks": [["name": "crm"]]], "/webhooks/0/bundleId: this should be a string"),
            (["bundleId": "com.example.one", "rateLimit": "fast"], "--rate-limit is N or N:BURST"),
            (["bundleId": "com.example.one", "transferMode": "keep"], "--transfer-mode is transfer,"),
            ([], "this should be a JSON object"),
        ]
        for (json, sentence) in cases {
            let refused = try await SoukExecutable.run(["serve", "--config", try configuration(json)], in: folder.path)
            #expect(refused.status == 2 && refused.errors.contains(sentence), "\(refused.errors)")
        }
        let secret = try folder.write("secret", "short")
        let short = try configuration([
            "webhooks": [
                [
                    "name": "crm", "bundleId": "com.example.one", "url": "https://example.com",
                    "secretFiles": [.string(secret)],
                ]
            ]
        ])
        let refused = try await SoukExecutable.run(["serve", "--config", short], in: folder.path)
        #expect(refused.status == 2 && refused.errors.contains("fewer than 16 bytes"))
        #expect(!refused.errors.contains("\"short\""))
    }

    @Test func `the documentation's example is a valid configuration, except for its missing files`() async throws {
        let text = try document
        let start = try #require(text.range(of: "```json\n")).upperBound
        let end = try #require(text.range(of: "```", range: start..<text.endIndex)).lowerBound
        let example = try folder.write("example.json", String(text[start..<end]))
        // The files of the example do not exist here; all other settings are valid.
        let refused = try await SoukExecutable.run(["serve", "--config", example])
        #expect(refused.status == 2 && refused.errors.contains("/etc/souk/shop.secret: there is no such file"))
    }
}

extension Array {
    fileprivate func asyncMap<Value>(_ change: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await change(element)) }
        return values
    }
}
