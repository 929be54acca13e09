import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@Suite(.serialized) struct DemoTests {
    private static let steps = [
        "products", "subscription", "nonConsumable", "consumable", "grant", "sources", "renewal", "cancellation",
        "expiry", "googlePlay", "serverKilled", "repeated", "tampered", "forged", "otherBundle", "otherRoot", "restore",
    ]

    @Test func `every step passes with the catalogue that comes with Souk`() async throws {
        let outcome = try await SoukExecutable.run(["demo", "--json"])
        try expectEverythingHeld(outcome)
        let skipped = outcome.json?["steps"]?.arrayValue?.filter { $0["skipped"] == true } ?? []
        #expect(skipped.isEmpty)
    }

    @Test(.enabled(if: TestFiles.conformance != nil, "SOUK_CONFORMANCE is not set"), arguments: TestFiles.catalogues)
    func `every step passes with catalogues of other programs`(file: String) async throws {
        try expectEverythingHeld(
            try await SoukExecutable.run(["demo", "--json", "--catalog", file, "--bundle-id", "com.example.other"]))
    }

    private func expectEverythingHeld(_ outcome: SoukExecutable.Outcome) throws {
        let report = try #require(outcome.json, "\(outcome.errors)")
        let steps = try #require(report["steps"]?.arrayValue)
        #expect(steps.compactMap { $0["name"]?.stringValue } == Self.steps)
        for step in steps { #expect(step["ok"] == true, "\(step)") }
        #expect(report["ok"] == true)
        #expect(outcome.status == 0)
    }

    @Test func `the demonstration prints lines and ends with a table`() async throws {
        let outcome = try await SoukExecutable.run(["demo"])
        #expect(outcome.status == 0)
        for step in Self.steps { #expect(outcome.output.contains("✓ \(step)")) }
        #expect(outcome.output.contains("because"))
        #expect(outcome.output.contains("Every check held"))
    }

    @Test func `content is fetched and checked, and its progress is printed in lines without a terminal`() async throws
    {
        let folder = try TemporaryFolder()
        let outcome = try await ChildProgram.run(
            "/bin/sh",
            ["-c", "umask 000; exec \"$@\"", "sh", SoukExecutable.path(), "demo", "--data", folder.file("data")])
        #expect(outcome.status == 0)
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.file(name))
            #expect((attributes[.posixPermissions] as? Int).map { $0 & 0o022 } == 0, "\(name)")
        }
        let progress = outcome.errors.split(separator: "\n").filter { $0.contains("fetching content:") }
        #expect(
            progress.map { $0.split(separator: ":").last }
                == [" 0.0", " 0.8", " 1.6", " 2.4", " 3.0"].map { "\($0) of 3.0 MB" })
        #expect(!outcome.errors.contains("\r"), "no progress bar")
        #expect(outcome.output.contains("its content fetched, 3.0 MB, SHA-256 as the product list says"))
        let list = try JSONValue(parsing: folder.text("data/products.json")).arrayValue ?? []
        let content = list.compactMap { $0["contentFetcherParameters"] }
        #expect(content.count == 1 && content.first?["sha256"]?.stringValue?.count == 64)
    }

    @Test func `content that differs from the product list fails the demonstration`() async throws {
        let folder = try TemporaryFolder()
        let demo = try await demoWithLog("simulator.log", in: folder)
        let archive = folder.file("data/content/filters.zip")
        var bytes = try Data(contentsOf: URL(fileURLWithPath: archive))
        bytes[1000] ^= 1
        try bytes.write(to: URL(fileURLWithPath: archive))
        let report = try JSONValue(parsing: await demo.output.text())
        let step = report["steps"]?.arrayValue?.first { $0["name"] == "nonConsumable" }
        #expect(step?["ok"] == false && step?["detail"]?.stringValue?.contains("SHA-256") == true)
        #expect(await demo.end() == 1)
    }

    @Test func `the processes of a kept demonstration answer, and end with the demonstration`() async throws {
        let demo = try await KeptDemo()
        let store = try #require(demo.urls.first)
        let products = try await SoukExecutable.run(["store", "--url", store, "products", "--json"])
        #expect(products.json?["products"]?.arrayValue?.count == 6)
        #expect(await demo.end() == 0)
        let after = try await SoukExecutable.run(["store", "--url", store, "products", "--json"])
        #expect(after.status == 1)
        #expect(after.errors.contains("cannot be reached"))
        #expect(after.json?["error"]?["reason"] != nil)
    }

    @Test func `the front desk and the console answer, and the customer gets what the front desk sells`() async throws {
        let demo = try await KeptDemo()
        let transport = CurlTransport()
        func page(_ url: String) async throws -> (status: Int, text: String) {
            let request = HTTPRequest(method: .get, url: url, headers: ["Accept": "text/html"])
            let response = try await transport.send(request)
            return (response.status, String(decoding: try await response.body.collect(upTo: 4 << 20), as: UTF8.self))
        }
        let store = try #require(demo.address(after: "The store's front desk: "))
        let desk = try await page(store)
        #expect(desk.status == 200 && desk.text.contains("<h1>App Store simulator</h1>"))
        let console = try await page(try #require(demo.address(after: "The server's console: ")))
        #expect([200, 303].contains(console.status), "\(console)")
        let signIn = try await page(try #require(demo.address(after: "The server's console: ")) + "/sign-in")
        #expect(signIn.status == 200 && signIn.text.contains("type=\"password\""), "\(signIn)")
        let file = try #require(demo.output.firstMatch(of: /cat '(.+)'/)?.output.1)
        #expect(try String(contentsOfFile: String(file), encoding: .utf8).hasPrefix("souk_secret_"))
        #expect(!demo.output.contains("souk_secret_"))

        // The requests of the page: buy, advance a month, refund.
        func run(_ words: [String]) async throws -> SoukExecutable.Outcome {
            try await SoukExecutable.run(["store", "--url", String(store.dropLast())] + words + ["--json"])
        }
        let customer = try #require(demo.output.firstMatch(of: /curl (-H '.+') (http.+)/)).output
        func active() async throws -> Set<String> {
            let key = customer.1.dropFirst(4).dropLast().split(separator: ": ")[1]
            let answer = try await transport.send(
                HTTPRequest(method: .get, url: String(customer.2), headers: ["Authorization": String(key)]))
            let features = try await answer.body.json(upTo: 1 << 20)["features"]?.arrayValue ?? []
            return Set(features.filter { $0["isActive"] == true }.compactMap { $0["name"]?.stringValue })
        }
        let before = try await active()
        let bought = try await run(["buy", "ada", "com.example.darkroom.plus.yearly"])
        let id = try #require(bought.json?["transactionID"]?.stringValue, "\(bought.errors)")
        try await until("the server knows the purchase") { try await active().contains("plus") }
        #expect(!before.contains("plus"))
        #expect(try await run(["advance", "P1M"]).status == 0)
        #expect(try await run(["refund", id]).status == 0)
        try await until("the server knows the refund") { try await !active().contains("plus") }
        let sent = try await run(["notifications", "list", "--type", "REFUND"])
        #expect(sent.json?["notifications"]?.arrayValue?.count == 1)
        #expect(await demo.end() == 0)
    }

    @Test(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with playwright"))
    func `a newcomer buys, advances a month and refunds on the front desk, and the figures of the console change`()
        async throws
    {
        let demo = try await KeptDemo()
        let store = try #require(demo.address(after: "The store's front desk: "))
        let console = try #require(demo.address(after: "The server's console: "))
        let file = try #require(demo.output.firstMatch(of: /cat '(.+)'/)?.output.1)
        let key = try String(contentsOfFile: String(file), encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        func browse(_ url: String, _ steps: [JSONValue]) async throws -> [JSONValue] {
            let verdict = try await OutsideJudge.judge(
                "browser.py", ["url": .string(url), "width": 1280, "height": 900, "steps": .array(steps)])
            try #require(verdict.status == 0, "\(verdict.errors) \(verdict.output)")
            #expect(verdict.json?["console"] == [])
            return verdict.json?["answers"]?.arrayValue ?? []
        }
        /// Signs in to the console, opens the figures, and returns three of them with their tables.
        func figures() async throws -> [String] {
            let sections = ["new-subscriptions", "revenue", "refunds"].map { name -> JSONValue in
                ["text": "[aria-labelledby=figure-\(name)]"]
            }
            let steps: [JSONValue] = [
                ["fill": "#key", "with": .string(key)], ["click": "button.main"],
                ["click": "a:has-text(\"Figures\")"], ["until": "document.title.startsWith('Figures')"],
            ]
            return try await browse(console, steps + sections).compactMap(\.stringValue)
        }
        func press(_ name: String) -> JSONValue { ["click": .string("role=button[name=\"\(name)\"]")] }
        func result(_ text: String) -> JSONValue {
            ["until": .string("document.querySelector('#outcome').textContent.includes('\(text)')")]
        }

        let before = try await figures()
        try #require(before.count == 3)
        #expect(!before[1].contains("44.99 USD") && !before[2].contains("44.99 USD"), "\(before)")
        let sold = try await browse(
            store,
            [
                press("Buy Darkroom Plus (yearly)"), ["click": "#sheet-go"], result("Sold "), ["text": "#outcome"],
                press("Advance by +1 month"), result("The time is "),
            ])
        let id = try #require(sold.first?.stringValue?.firstMatch(of: /transaction ([0-9]+)/)?.output.1, "\(sold)")
        let isRefunded =
            "[...document.querySelectorAll('#transactions .pill')].some((pill) => pill.textContent === 'revoked')"
        _ = try await browse(
            store,
            [
                press("Details of transaction \(id)"), press("Refund \(id)"), ["click": "#sheet-go"],
                result("is refunded"), ["until": .string(isRefunded)],
            ])
        let transport = CurlTransport()
        try await until("the server computes the figures") {
            let request = HTTPRequest(
                method: .get, url: console.dropLast("/console".count) + "/v1/figures/refunds",
                headers: ["Authorization": "Bearer \(key)"])
            return try await transport.send(request).body.json(upTo: 1 << 20).text().contains("44.99")
        }
        let after = try await figures()
        try #require(after.count == 3)
        #expect(after[0] != before[0] && after[1].contains("44.99 USD") && after[2].contains("44.99 USD"), "\(after)")
        #expect(await demo.end() == 0)
    }

    @Test func `the inspector shows the requests of the apps and the decisions of their hubs`() async throws {
        let demo = try await KeptDemo("--inspect")
        let inspector = try #require(demo.urls.first)
        let transport = CurlTransport()
        func ask(_ path: String) async throws -> JSONValue {
            try await transport.send(HTTPRequest(method: .get, url: inspector + path)).body.json(upTo: 8 << 20)
        }
        let paths =
            try await ask("/api/records?limit=1000&method=post")["records"]?.arrayValue?
            .compactMap { $0["path"]?.stringValue } ?? []
        #expect(paths.contains("/v1/customers/customer-1042/transactions"))
        #expect(paths.contains { $0.hasSuffix("/finish") })
        let messages =
            try await ask("/api/trace")["entries"]?.arrayValue?.compactMap { $0["message"]?.stringValue } ?? []
        #expect(messages.contains("store.purchase") && messages.contains("store.restore"))
        let posts = try await ask("/api/records?limit=1000&method=post")["records"]?.arrayValue ?? []
        let presented = try #require(posts.first { $0["path"]?.stringValue?.hasSuffix("/transactions") == true })
        let signed = try await ask("/api/records/" + (presented["id"]?.stringValue ?? ""))["signed"]?[0]
        #expect(signed?["notice"]?.stringValue?.contains("Souk Test Root CA") == true, "the simulator's root is known")
        #expect(signed?["claims"]?.stringValue?.contains("com.example.darkroom") == true)
        #expect(demo.urls.count { $0 == inspector } == 2, "its address is printed again at the end")
        #expect(await demo.end() == 0)
        await #expect(throws: HTTPError.self) { try await ask("/api/state") }
    }

    @Test func `a demonstration ends and names the process if one of its kept processes dies`() async throws {
        let demo = try await KeptDemo()
        let server = try #require(try await demo.child(running: "serve"))
        kill(server, SIGKILL)
        #expect(await demo.status() == 1)
        #expect(await demo.errorsContain("the server has ended"))
        #expect(try await demo.child(running: "simulate") == nil)
    }

    @Test func `an interrupted demonstration reports its steps and leaves no process behind`() async throws {
        let folder = try TemporaryFolder()
        let demo = try await demoWithLog("server.log", in: folder)
        demo.terminate()
        let report = try JSONValue(parsing: await demo.output.text())
        #expect(await demo.end() == 128 + SIGTERM)
        #expect(report["ok"] == false)
        #expect(report["steps"]?.arrayValue?.count == Self.steps.count)
    }

    /// Starts a demonstration, and waits until one of its processes has created this log.
    private func demoWithLog(_ log: String, in folder: TemporaryFolder) async throws -> ChildProgram {
        let demo = try ChildProgram(
            SoukExecutable.path(), ["demo", "--json", "--data", folder.file("data")], output: .captured, errors: .null)
        try await until("the demonstration has written \(log)") {
            FileManager.default.fileExists(atPath: folder.file("data/\(log)"))
        }
        return demo
    }
}

/// `souk demo --keep` or `--inspect` at the end of its scenario.
private final class KeptDemo {
    let urls: [String]
    let output: String
    private let demo: ChildProgram
    private let folder: TemporaryFolder

    init(_ flag: String = "--keep") async throws {
        folder = try TemporaryFolder()
        demo = try ChildProgram(
            SoukExecutable.path(), ["demo", flag, "--data", folder.file("data")], output: .captured, errors: .captured)
        try #require(await demo.output.contains("Bearer"), "\(demo.errors.soFar)")
        output = demo.output.soFar
        urls = output.matches(of: /http:\/\/127\.0\.0\.1:[0-9]+/).map { String($0.output) }
    }

    /// Returns the address in the line that begins with these words.
    func address(after words: String) -> String? {
        output.split(separator: "\n").first { $0.hasPrefix(words) }.map { String($0.dropFirst(words.count)) }
    }

    /// Waits for a text on standard error.
    func errorsContain(_ text: String) async -> Bool { await demo.errors.contains(text) }

    /// Sends Ctrl-C, and returns the exit status.
    func end() async -> Int32 {
        demo.signal(SIGINT)
        return await status()
    }

    func status() async -> Int32 { await demo.end() }

    /// Returns the id of the process `souk WORD` with this demonstration's folder.
    func child(running word: String) async throws -> Int32? {
        let names = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { Int32($0) }
        return names.first { number in
            let words = (try? String(contentsOfFile: "/proc/\(number)/cmdline", encoding: .utf8)) ?? ""
            return words.contains("souk\0\(word)\0") && words.contains(folder.path)
        }
    }
}

@Suite struct CrashLoopTests {
    @Test(.timeLimit(.minutes(10)))
    func `a purchase survives kills of the app and of the server`() async throws {
        let every = ProcessInfo.processInfo.environment["SOUK_CRASH_EVERY"] ?? "1"
        let outcome = try await SoukExecutable.run(["purchases", every], program: "CrashLoop")
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.contains("acknowledged and finished once"))
    }

    @Test(.timeLimit(.minutes(10)))
    func `a purchase and its content survive kills of the device, and failing disks`() async throws {
        let every = ProcessInfo.processInfo.environment["SOUK_CRASH_EVERY"] ?? "11"
        let outcome = try await SoukExecutable.run(["devices", every], program: "CrashLoop")
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.contains("the content whole and resumed"))
    }

    @Test(.timeLimit(.minutes(10)))
    func `a simulated store that is killed repeats no effect, and gives the same answers`() async throws {
        let every = ProcessInfo.processInfo.environment["SOUK_CRASH_EVERY"] ?? "23"
        let outcome = try await SoukExecutable.run(["stores", every], program: "CrashLoop")
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.contains("had its effect once"))
    }

    @Test(.timeLimit(.minutes(10)))
    func `a server that is killed while its customers buy loses nothing and counts nothing twice`() async throws {
        let kills = ProcessInfo.processInfo.environment["SOUK_KILLS"] ?? "20"
        let outcome = try await SoukExecutable.run(["chaos", kills], program: "CrashLoop")
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.contains("every answer as the store says"))
    }
}
