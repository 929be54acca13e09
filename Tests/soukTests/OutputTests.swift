import CurlTransport
import Foundation
import HTTPCore
import HostTestSupport
import NetworkInterception
import NetworkTestSupport
import Primitives
import Testing

/// A command whose output cannot be written ends with status 2 and one sentence. A closed pipe ends it silently.
@Suite(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
struct OutputTests {
    private static let noSpace = "souk: standard output cannot be written: No space left on device"

    struct Ending: Sendable {
        let status: Int32
        let errors: String
        /// The sentences with the reason.
        var reasons: [String] { errors.split(separator: "\n").filter { $0.hasPrefix("souk: ") }.map(String.init) }
    }

    private func run(
        _ arguments: [String], output: ChildProgram.Stream, in folder: String? = nil
    ) async throws -> Ending {
        let child = try ChildProgram(
            SoukExecutable.path(), arguments, in: folder, output: output, errors: .captured)
        let errors = await child.errors.text()
        return Ending(status: await child.end(), errors: errors)
    }

    /// Runs a line of a shell in which `"$@"` is a command.
    private func shell(_ line: String, _ arguments: [String]) async throws -> Ending {
        let outcome = try await ChildProgram.run(
            "/bin/sh", ["-c", line, "sh", SoukExecutable.path()] + arguments)
        return Ending(status: outcome.status, errors: outcome.errors)
    }

    @Test func `every command exits 2 if its help cannot be written`() async throws {
        let all =
            try await CommandList.commands() + CommandList.actions() + [[], ["keys"], ["help"], ["help", "serve"]]
        #expect(all.count > 80)
        for words in all {
            let ending = try await run(words + ["--help"], output: .file("/dev/full"))
            #expect(ending.status == 2 && ending.errors == Self.noSpace + "\n", "\(words): \(ending)")
        }
    }

    @Test func `every command exits 2 if its answer cannot be written`() async throws {
        let workshop = try await Workshop()
        let before = try await workshop.keys()
        let commands = try await workshop.withCommands { commands in
            for arguments in commands {
                let ending = try await run(arguments, output: .file("/dev/full"), in: workshop.folder.path)
                #expect(ending.status == 2 && ending.reasons == [Self.noSpace], "\(arguments): \(ending)")
                if ["inspect", "intercept"].contains(arguments[0]) {
                    #expect(
                        ending.errors == Self.noSpace + "\n",
                        "an address is repeated at the end only if it was printed at the start")
                }
            }
            return commands
        }
        #expect(try await workshop.keys() == before, "a key that was not printed is not kept")
        let files = try FileManager.default.contentsOfDirectory(atPath: workshop.folder.path)
        #expect(!files.contains { $0.hasSuffix(".secret-key") && $0 != Workshop.secretKey }, "\(files)")
        #expect(!files.contains("signing.pem"))
        // The test fails for a new command that is not listed here.
        for words in try await CommandList.commands() where words != ["migrate", "copy"] || PostgresCluster.isAvailable
        {
            #expect(commands.contains { $0.starts(with: words) }, "\(words) is not tried")
        }
    }

    @Test func `a closed pipe ends every command without a message`() async throws {
        let workshop = try await Workshop()
        try await workshop.withCommands { commands in
            for arguments in commands + [["--help"], ["keys", "--help"]] {
                let ending = try await run(arguments, output: .closedPipe, in: workshop.folder.path)
                #expect(ending.status == 128 + 13 && ending.reasons.isEmpty, "\(arguments): \(ending)")
            }
        }
    }

    @Test func `a closed standard output is detected, and no file takes its place`() async throws {
        let ending = try await shell(#"exec "$@" >&-"#, ["version"])
        #expect(ending.status == 2)
        #expect(ending.reasons == ["souk: standard output cannot be written: Bad file descriptor"])
        let folder = try TemporaryFolder()
        let list = try folder.write("list.json", "[]")
        let lint = try await shell(#"exec "$@" <&- >&-"#, ["catalog", "lint", list])
        #expect(lint.status == 2 && lint.reasons.count == 1, "\(lint)")
    }

    @Test func `a closed standard input is reported`() async throws {
        let lint = try await shell(#"exec "$@" <&-"#, ["catalog", "lint", "-"])
        #expect(lint.status == 2 && lint.reasons == ["souk: standard input cannot be read"], "\(lint)")
    }

    /// Only these two types check whether output was written.
    @Test func `apart from the child processes of the demonstration, only Terminal and OutputFile write output`() throws
    {
        let sources = TestFiles.repository + "/Sources/souk"
        let pattern = #"FileHandle\.standard(Output|Error)|\bfputs\(|\bputs\(|[^.\w]print\("|\.write\(to:|createFile\("#
        let writers = ["CommandLine/Terminal.swift", "CommandLine/OutputFile.swift"]
        let others = ["Demo/ChildProcess.swift"]
        for file in try FileManager.default.subpathsOfDirectory(atPath: sources)
        where file.hasSuffix(".swift") && !(writers + others).contains(file) {
            let text = try String(contentsOfFile: "\(sources)/\(file)", encoding: .utf8)
            #expect(text.range(of: pattern, options: .regularExpression) == nil, "\(file)")
        }
    }

    @Test func `a command that has a message fails if it cannot write to standard error`() async throws {
        let workshop = try await Workshop()
        let inspect = ["jws", "inspect", workshop.folder.file("bought.jws"), "--type", "transaction"]
        #expect(try await shell(#"exec "$@" 2>/dev/full"#, inspect).status == 2)
        #expect(try await shell(#"exec "$@" 2>/dev/full"#, ["version"]).status == 0)
        #expect(try await shell(#"exec "$@" 2>/dev/full"#, ["nonsense"]).status == 2)
    }

    @Test func `a command whose output file cannot be written exits 2 and leaves no file`() async throws {
        let workshop = try await Workshop()
        let folder = workshop.folder
        for (option, arguments) in try workshop.writing() {
            let file = folder.file("\(option).out")
            let ending = try await shell(#"ulimit -f 0; exec "$@""#, arguments + [file])
            let written = option == "junit" ? "/signing-chain.pem" : file
            #expect(ending.status == 2 && ending.reasons.count == 1, "\(arguments): \(ending)")
            #expect(
                ending.reasons.first?.contains("\(written) cannot be written: File too large") == true,
                "\(arguments): \(ending)")
            let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(!left.contains { $0.hasPrefix("\(option).out") }, "\(left)")
            let nowhere = try await run(arguments + ["/nowhere/file"], output: .null)
            #expect(nowhere.status == 2 && nowhere.reasons.count == 1, "\(arguments): \(nowhere)")
        }
    }

    @Test func `temporary files of a killed process are removed by the next process`() async throws {
        let workshop = try await Workshop()
        let folder = workshop.folder
        let ended = try ChildProgram("/bin/sh", ["-c", "echo $$"], output: .captured)
        let number = await ended.output.text().trimmingCharacters(in: .newlines)
        _ = await ended.end()
        let others = [
            "export.out.\(getpid()).souk-new", "export.out.2024.new", "export.out.a.souk-new",
            "other.out.\(number).souk-new",
        ]
        for name in others + ["export.out.\(number).souk-new"] { _ = try folder.write(name, "half") }
        let export = ["store", "--url", workshop.simulator.url, "export"]
        let ending = try await run(export + [folder.file("export.out")], output: .null)
        #expect(ending.status == 0, "\(ending)")
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.contains(".out") }
        #expect(left.sorted() == (others + ["export.out"]).sorted())
    }

    @Test func `a device is written and not replaced; a link is kept, and its target is replaced`() async throws {
        let workshop = try await Workshop()
        let folder = workshop.folder
        let (full, link, target) = (folder.file("full"), folder.file("link"), folder.file("target"))
        try FileManager.default.createSymbolicLink(atPath: full, withDestinationPath: "/dev/full")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        for (option, arguments) in try workshop.writing().filter({ !$0.arguments.contains("--signing") }) {
            let ending = try await run(arguments + [full], output: .null)
            #expect(ending.status == 2, "\(arguments): \(ending)")
            #expect(ending.reasons == ["souk: \(full) cannot be written: No space left on device"], "\(ending)")
            _ = try folder.write("target", "before")
            try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: target)
            let overwriting = arguments.first == "catalog" ? ["--force"] : []
            let written = try await run(
                Array(arguments.dropLast()) + overwriting + [arguments[arguments.count - 1], link], output: .null)
            #expect(written.status == 0, "\(arguments): \(written)")
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == target)
            #expect(FileManager.default.contents(atPath: target) != Data("before".utf8))
            let mode = try FileManager.default.attributesOfItem(atPath: target)[.posixPermissions] as? Int
            #expect(mode == (option == "export" ? 0o600 : 0o640))
        }
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: full) == "/dev/full")
    }
}

/// A simulator, a ledger and files for the output of every command.
private struct Workshop {
    static let secretKey = "ledger.sqlite.com.example.souk.secret-key"

    let folder: TemporaryFolder
    let simulator: SoukService
    /// The id of a key that may be revoked.
    private let revocable: String
    /// The command that moves a ledger to PostgreSQL, if that is installed.
    private let move: [[String]]

    init() async throws {
        folder = try TemporaryFolder()
        simulator = try await SoukService([
            "simulate", "--catalog", TestFiles.darkroom, "--data", folder.file("store"), "--time-rate", "frozen",
        ])
        let store = ["store", "--url", simulator.url, "--json"]
        _ = try await SoukExecutable.run(store + ["account", "create", "ada"])
        let bought = try await SoukExecutable.run(store + ["buy", "ada", "com.example.darkroom.plus.monthly"])
        _ = try folder.write("bought.jws", try #require(bought.json?["signedTransaction"]?.stringValue))
        _ = try folder.write("empty.jsonl", "")
        _ = try folder.write("products.json", #"[{"identifier": "a", "productType": "consumable"}]"#)
        _ = try folder.write("traffic.har", String(decoding: HARDocument([]).encoded(), as: UTF8.self))
        let ledger = ["--database", "sqlite:" + folder.file("ledger.sqlite")]
        let server = try await SoukService(["serve", "--bundle-id", "com.example.souk"] + ledger)
        let secret = try folder.text(Self.secretKey).trimmingCharacters(in: .newlines)
        for customer in ["anna", "ben"] {
            let granted = try await CurlTransport.platformDefault().send(
                HTTPRequest(
                    method: .post, url: "\(server.url)/v1/customers/\(customer)/grants",
                    headers: ["Authorization": "Bearer \(secret)", "Content-Type": "application/json"],
                    body: .json(["feature": "pro", "reason": "support"])))
            #expect(granted.status == 201)
        }
        #expect(await server.stop() == 0)
        let key = try await SoukExecutable.run(
            ["keys", "create", "--bundle-id", "com.example.souk", "--json", "--out", "-"] + ledger)
        revocable = try #require(key.json?["id"]?.stringValue)
        let backup = try await SoukExecutable.run(["backup", folder.file("backup.sqlite")] + ledger)
        #expect(backup.status == 0)
        let moving = "sqlite:" + folder.file("moving.sqlite")
        #expect(try await SoukExecutable.run(["migrate", "apply", "--database", moving]).status == 0)
        move =
            PostgresCluster.isAvailable
            ? [["migrate", "copy", "--from", moving, "--to", try await PostgresCluster.shared().makeDatabase()]] : []
    }

    private var ledger: [String] { ["--database", "sqlite:" + folder.file("ledger.sqlite")] }

    func keys() async throws -> [String] {
        let list = try await SoukExecutable.run(["keys", "list", "--json"] + ledger).json
        return (list?["keys"]?.arrayValue ?? []).compactMap { $0["id"]?.stringValue }
    }

    private func signer(_ key: String = "--key") throws -> [String] {
        let api = try #require(simulator.greeting["serverAPI"])
        return [
            key, try #require(api["privateKey"]?.stringValue), "--key-id", try #require(api["keyID"]?.stringValue),
            "--issuer-id", try #require(api["issuerID"]?.stringValue), "--bundle-id", "com.example.souk",
        ]
    }

    /// Runs `body` with every command at least once, with arguments that make it print. A server refunds every order.
    func withCommands<Value>(_ body: ([[String]]) async throws -> Value) async throws -> Value {
        try await withLoopbackServer(AnyHTTPHandler { _ in .ready(HTTPResponse(json: ["revision": 1])) }) { url in
            try await body(commands(refundingAt: url))
        }
    }

    private func commands(refundingAt server: String) throws -> [[String]] {
        let policies = ["journey", "domain-model", "network"].map {
            "\(TestFiles.repository)/Examples/FourPlugins/App/Plugins/\($0).policy.json"
        }
        let (darkroom, har) = (TestFiles.darkroom, folder.file("traffic.har"))
        let products = folder.file("products.json")
        let (jws, key) = (folder.file("bought.jws"), folder.file(Self.secretKey))
        let scenario = TestFiles.repository + "/Examples/Scenarios/refund.json"
        let store = ["store", "--url", simulator.url]
        let sender = ["--url", simulator.url, "--key-file", key, "--state", folder.file("state")]
        return move + [
            ["version"], ["version", "--json"], ["help"], ["help", "keys", "create"], ["wait", simulator.url],
            ["wait", simulator.url, "--json"],
            ["catalog", "convert", darkroom], ["catalog", "lint", darkroom], ["catalog", "lint", darkroom, "--json"],
            ["catalog", "encrypt", products, "--key", String(repeating: "0a", count: 32)],
            ["policy", "lint", "--partial"] + policies, ["policy", "lint", "--partial", "--json"] + policies,
        ]
            + ["mermaid", "dot", "asyncapi", "html"].map { ["hub", "graph", "--partial", "--format", $0] + policies }
            + [
                ["jws", "inspect", jws, "--type", "transaction"],
                ["jws", "verify", jws, "--type", "transaction", "--json"],
                ["jws", "verify", jws, "--type", "transaction", "--root", folder.file("store/root.der")],
                ["receipt", "inspect", jws, "--json"], ["receipt", "verify", jws, "--json"],
                ["offer", "sign", "--offer", "o", "--product", "p"] + (try signer()),
                ["token", "create"] + (try signer()), ["token", "create", "--json"] + (try signer()),
                ["scenario", "run", scenario], ["scenario", "run", scenario, "--json"],
                ["har", "lint", har], ["har", "show", har], ["har", "replay", har],
                store + ["products"], store + ["account", "list", "--json"], store + ["export", "-"],
                ["keys", "create", "--bundle-id", "com.example.souk", "--out", "-"] + ledger,
                ["keys", "create", "--bundle-id", "com.example.souk", "--json"] + ledger,
                ["keys", "create", "--signing", folder.file("signing.pem")], ["keys", "list"] + ledger,
                ["keys", "revoke", revocable, "--json"] + ledger,
                ["migrate", "plan"] + ledger, ["migrate", "verify"] + ledger, ["migrate", "apply"] + ledger,
                ["figures"] + ledger, ["figures", "mrr", "--json"] + ledger, ["figures", "verify"] + ledger,
                ["export", "--what", "facts", "--format", "csv"] + ledger,
                ["export", "--what", "figures", "--format", "csv"] + ledger, ["ledger", "replay"] + ledger,
                ["ledger", "compact"] + ledger,
                ["backup", folder.file("backup-\(UUID()).sqlite")] + ledger,
                ["customer", "export", "ben"] + ledger, ["customer", "erase", "anna", "--yes"] + ledger,
                ["customer", "refund", "ben", "GPA.1", "--url", server, "--key-file", key],
                [
                    "restore", folder.file("backup.sqlite"), "--database", "sqlite:" + folder.file("restored.sqlite"),
                    "--accept-revived",
                ],
                ["import", folder.file("empty.jsonl")] + sender,
                ["sync", "--environment", "sandbox", "--app-store-url", simulator.url] + sender
                    + (try signer("--app-store-key")),
                ["simulate", "--catalog", darkroom], ["inspect"],
                ["intercept", "--listen", "127.0.0.1:0", "--upstream", simulator.url],
                ["serve", "--bundle-id", "com.example.souk"] + ledger, ["demo"], ["demo", "--json"],
                ["completion", "bash"], ["completion", "fish"], ["man"], ["man", "serve"], ["man", "--list"],
            ]
    }

    /// Commands to which the name of their output file is appended.
    func writing() throws -> [(option: String, arguments: [String])] {
        [
            ("junit", ["scenario", "run", TestFiles.repository + "/Examples/Scenarios/refund.json", "--junit"]),
            (
                "out",
                [
                    "catalog", "encrypt", folder.file("products.json"), "--key", String(repeating: "0a", count: 32),
                    "--out",
                ]
            ),
            ("export", ["store", "--url", simulator.url, "export"]),
            ("signing", ["keys", "create", "--signing"]),
        ]
    }
}
