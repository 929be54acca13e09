import Foundation
import HostTestSupport
import Primitives
import Testing

/// Invalid input gets one sentence and the right exit status, and changes nothing.
@Suite struct UsageErrorTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let arguments: [String]
        let status: Int32
        let sentence: String
        var testDescription: String { arguments.joined(separator: " ") }
    }

    @Test(arguments: [
        Case(arguments: ["nonsense"], status: 2, sentence: "no command \"nonsense\""),
        Case(arguments: ["jws", "nonsense"], status: 2, sentence: "jws has no command \"nonsense\""),
        Case(arguments: ["version", "--colour"], status: 2, sentence: "no option --colour"),
        Case(arguments: ["version", "extra"], status: 2, sentence: "does not take \"extra\""),
        Case(arguments: ["jws", "verify"], status: 2, sentence: "needs FILE"),
        Case(arguments: ["jws", "verify", "/nowhere", "--type", "transaction"], status: 2, sentence: "no such file"),
        Case(arguments: ["jws", "verify", "/tmp", "--type", "transaction"], status: 2, sentence: "a folder"),
        Case(arguments: ["jws", "verify", TestFiles.darkroom], status: 2, sentence: "needs --type"),
        Case(
            arguments: ["jws", "verify", TestFiles.darkroom, "--type", "receipt"], status: 2,
            sentence: "--type is one of transaction"),
        Case(
            arguments: ["jws", "verify", TestFiles.darkroom, "--type", "transaction"], status: 1, sentence: "malformed"),
        Case(
            arguments: ["jws", "verify", TestFiles.darkroom, "--type", "transaction", "--at", "noon"], status: 2,
            sentence: "--at is a time"),
        Case(
            arguments: ["jws", "verify", TestFiles.darkroom, "--type", "transaction", "--root", TestFiles.darkroom],
            status: 2, sentence: "darkroom.storekit"),
        Case(
            arguments: ["jws", "verify", TestFiles.darkroom, "--type", "transaction", "--environment", "moon"],
            status: 2,
            sentence: "production, sandbox, xcode or localTesting"),
        Case(arguments: ["policy", "lint"], status: 2, sentence: "needs FILE"),
        Case(arguments: ["policy", "lint", "/nowhere"], status: 2, sentence: "no such file"),
        Case(
            arguments: ["policy", "lint", "-", "-"], status: 2, sentence: "standard input, which can be read once only"),
        Case(arguments: ["hub", "graph", "--format", "dot"], status: 2, sentence: "needs FILE"),
        Case(arguments: ["simulate"], status: 2, sentence: "needs --catalog"),
        Case(arguments: ["simulate", "--catalog", "/nowhere"], status: 2, sentence: "no such file"),
        Case(
            arguments: ["simulate", "--catalog", TestFiles.darkroom, "--port", "70000"], status: 2,
            sentence: "--port is a whole number from 0 to 65535"),
        Case(
            arguments: ["simulate", "--catalog", TestFiles.darkroom, "--host-name", "http://ci.example"], status: 2,
            sentence: "--host-name is a name such as ci.example"),
        Case(
            arguments: ["simulate", "--catalog", TestFiles.darkroom, "--time-rate", "fast"], status: 2,
            sentence: "--time-rate is one of"),
        Case(arguments: ["serve"], status: 2, sentence: "needs --bundle-id"),
        Case(
            arguments: ["serve", "--bundle-id", "b", "--database", "postgres:x"], status: 2,
            sentence: "sqlite:PATH or postgres://"),
        Case(arguments: ["serve", "--bundle-id", "b", "--database", "x"], status: 2, sentence: "sqlite:PATH"),
        Case(
            arguments: ["serve", "--bundle-id", "b", "--database", "sqlite:/nowhere/x/y.sqlite"], status: 2,
            sentence: "/nowhere/x/y.sqlite"),
        Case(
            arguments: ["serve", "--bundle-id", "b", "--clock", "http://127.0.0.1:1"], status: 2, sentence: "--root"),
        Case(
            arguments: [
                "serve", "--bundle-id", "b", "--features", TestFiles.darkroom, "--database", "sqlite:/tmp/never",
            ],
            status: 2, sentence: "darkroom.storekit"),
        Case(arguments: ["serve", "--bundle-id", "../b"], status: 2, sentence: "--bundle-id should have"),
        Case(arguments: ["serve", "--bundle-id", "b", "--tls-key", "x"], status: 2, sentence: "go together"),
        Case(arguments: ["store", "products", "--url", "http://h", "--profile", "a"], status: 2, sentence: "not both"),
        Case(
            arguments: ["store", "--url", "http://127.0.0.1:1/?a=b", "products"], status: 2, sentence: "without ? and #"
        ),
        Case(
            arguments: ["store", "--url", "http://127.0.0.1:1#a", "products"], status: 2, sentence: "without ? and #"),
        Case(arguments: ["store", "--url", "http://127.0.0.1:1", "dance"], status: 2, sentence: "no action \"dance\""),
        Case(
            arguments: ["store", "--url", "http://127.0.0.1:1", "buy", "ada"], status: 2,
            sentence: "souk store buy needs PRODUCT"),
        Case(
            arguments: ["store", "--url", "http://127.0.0.1:1", "cancel", "ada", "p", "--quantity", "2"], status: 2,
            sentence: "souk store cancel has no option --quantity"),
        Case(
            arguments: ["store", "account", "--url", "http://127.0.0.1:1", "delete", "ada"], status: 2,
            sentence: "it has account create"),
        Case(arguments: ["store", "--url", "ftp://x", "clock"], status: 2, sentence: "http or https URL"),
        Case(
            arguments: ["store", "--url", "http://127.0.0.1:1", "buy", "a", "p", "--offer-kind", "gift"], status: 2,
            sentence: "promotional or winBack"),
        Case(
            arguments: ["store", "--url", "http://127.0.0.1:1", "refund", "1", "--percentage", "101"], status: 2,
            sentence: "--percentage is a number above 0"),
        Case(
            arguments: ["store", "--url", "http://127.0.0.1:1", "refund", "1", "--reason", "mood"], status: 2,
            sentence: "--reason is other or appIssue"),
        Case(
            arguments: ["store", "--url", "http://127.0.0.1:1", "account", "set", "ada"], status: 2,
            sentence: "changes nothing without an option"),
        Case(
            arguments: ["store", "--url", "http://127.0.0.1:1", "account", "set", "ada", "--payments", "maybe"],
            status: 2, sentence: "--payments is on or off"),
        Case(
            arguments: ["store", "--url", "http://127.0.0.1:1", "import", "/nowhere"], status: 2,
            sentence: "no such file"),
        Case(
            arguments: ["simulate", "--catalog", TestFiles.darkroom, "--content", "/nowhere"], status: 2,
            sentence: "--content: /nowhere is not a folder"),
        Case(
            arguments: ["store", "--url", "http://127.0.0.1:1", "products"], status: 1, sentence: "cannot be reached"),
        Case(
            arguments: ["store", "--url", "http://127.0.0.1:1", "advance", "soon"], status: 2,
            sentence: "a duration is written"),
        Case(arguments: ["catalog", "convert", "/nowhere"], status: 2, sentence: "no such file"),
        Case(arguments: ["demo", "--catalog", "/nowhere"], status: 2, sentence: "no such file"),
        Case(arguments: ["receipt", "verify"], status: 2, sentence: "needs FILE"),
        Case(arguments: ["receipt", "inspect", "/nowhere"], status: 2, sentence: "no such file"),
        Case(arguments: ["receipt", "verify", "/nowhere"], status: 2, sentence: "no such file"),
        Case(
            arguments: ["receipt", "verify", TestFiles.darkroom, "--device-id", "a-b"], status: 2,
            sentence: "--device-id is a UUID"),
        Case(
            arguments: ["receipt", "verify", TestFiles.darkroom, "--device-id", "a4:83:e7"], status: 2,
            sentence: "--device-id is a UUID"),
        Case(
            arguments: ["receipt", "verify", TestFiles.darkroom, "--device-id", "a?"], status: 2,
            sentence: "--device-id is a UUID"),
        Case(
            arguments: ["receipt", "verify", TestFiles.darkroom, "--environment", "moon"], status: 2,
            sentence: "production, sandbox, xcode or localTesting"),
        Case(
            arguments: ["receipt", "verify", TestFiles.darkroom, "--bundle-id", "../b"], status: 2,
            sentence: "--bundle-id should have"),
        Case(
            arguments: ["receipt", "verify", TestFiles.darkroom, "--at", "2020"], status: 2,
            sentence: "--at is a time"),
        Case(
            arguments: ["receipt", "verify", TestFiles.darkroom, "--root", TestFiles.darkroom], status: 2,
            sentence: "darkroom.storekit"),
        Case(arguments: ["receipt", "verify", TestFiles.darkroom], status: 1, sentence: "malformed"),
        Case(arguments: ["receipt", "inspect", TestFiles.darkroom], status: 1, sentence: "malformed"),
        Case(arguments: ["receipt", "sign", TestFiles.darkroom], status: 2, sentence: "it has inspect, verify"),
        Case(
            arguments: ["serve", "--bundle-id", "b", "--config", "x"], status: 2, sentence: "x: there is no such file"),
        Case(arguments: ["inspect", "--port", "x"], status: 2, sentence: "--port is a whole number"),
        Case(arguments: ["inspect", "--host", "nowhere.invalid"], status: 2, sentence: "nowhere.invalid"),
        Case(arguments: ["demo", "--data", TestFiles.repository], status: 2, sentence: "not empty"),
    ])
    func `a usage error is explained in one sentence`(_ example: Case) async throws {
        let outcome = try await SoukExecutable.run(example.arguments)
        #expect(outcome.status == example.status, "\(outcome.errors)")
        #expect(outcome.errors.contains(example.sentence), "\(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome.errors)")
        #expect(outcome.output.isEmpty)
    }

    private static let pem = "-----BEGIN PRIVATE KEY-----\nMIGHAgPLANTED\n-----END PRIVATE KEY-----\n"
    private static let serve = ["serve", "--bundle-id", "a.b", "--database", "sqlite:/nowhere/never"]

    @Test(arguments: [
        (serve, ["SOUK_APP_STORE_KEY": pem, "SOUK_KEY_ID": "K", "SOUK_ISSUER_ID": "I"]),
        (serve, ["SOUK_APP_STORE_KEY": pem]), (serve, ["SOUK_SIGNING_KEY": pem]),
        (serve, ["SOUK_SIGNING_KEY": String(repeating: "PLANTED", count: 40)]),
        (serve + ["--webhook", "http://h/", "--webhook-secret", "whsec_PLANTED"], [:]),
        (serve + ["--config", #"{"webhookSecret":"PLANTED"}"#], [:]),
        (["import", TestFiles.darkroom, "--url", "http://127.0.0.1:1", "--key-file", "sk_PLANTED"], [:]),
        (["har", "replay", "souk_secret_PLANTED"], [:]),
        (["token", "create", "--key", pem, "--key-id", "K", "--issuer-id", "I", "--bundle-id", "a.b"], [:]),
        (["offer", "sign", "--key", pem, "--bundle-id", "a.b", "--offer", "o", "--product", "p"], [:]),
        (["inspect", "--records", "souk_secret_PLANTED"], [:]), (["wait", "souk_secret_PLANTED"], [:]),
        (
            [
                "intercept", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:9", "--florets",
                #"{"password":"PLANTED"}"#,
            ], [:]
        ),
    ])
    func `a key in the place of a path is not printed`(arguments: [String], environment: [String: String]) async throws
    {
        let outcome = try await SoukExecutable.run(arguments, environment: environment)
        #expect(outcome.status == 2 && outcome.output.isEmpty)
        #expect(outcome.errors.contains("takes the path of a file") && !outcome.errors.contains("PLANTED"))
    }

    /// A key without a known format.
    private static let key = "kQ9PLANTEDx2mV7t4rB8nL5w"

    @Test(
        arguments: [
            ["har", "lint", key], ["jws", "inspect", key], ["inspect", "--records", key + "0a/b+c8="],
            ["import", "a-\(key)_b", "--url", "http://127.0.0.1:1", "--key-file", TestFiles.darkroom],
            ["simulate", "--catalog", "PLANTED-x8_Kd03jf-pQ29vmZl4r_TbN7w-5yHcA1eR0g"], ["wait", key],
            ["version", key], [key], ["keys", key], ["store", "--url", "http://127.0.0.1:1", key],
            ["store", "--url", "http://127.0.0.1:1", "account", key],
            ["inspect", "--port", key], ["keys", "list", "--database", key],
            ["jws", "verify", TestFiles.darkroom, "--type", key], ["version", "sk_PLANTED"],
            ["version", String(repeating: "PLANTED ", count: 40)],
        ] as [[String]])
    func `an error does not repeat an argument that looks like a key`(arguments: [String]) async throws {
        let outcome = try await SoukExecutable.run(arguments)
        #expect(outcome.status == 2 && outcome.output.isEmpty && !outcome.errors.isEmpty)
        #expect(!outcome.errors.contains("PLANTED"), "\(outcome.errors)")
    }

    @Test func `file names are repeated in errors, long names and the names of existing files too`() async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.file(Self.key), withIntermediateDirectories: false)
        for name in [
            Self.key, "my-long-export-of-2026-11-20.har", "com.example.darkroom.products.v2", "a/\(Self.key)",
            "internationalisation20", "550e8400-e29b-41d4-a716-446655440000",
        ] {
            let outcome = try await SoukExecutable.run(["har", "lint", name], in: folder.path)
            #expect(outcome.status == 2 && outcome.errors.contains(name), "\(outcome.errors)")
        }
    }

    @Test(arguments: [
        ["backup", "-"], ["scenario", "run", "a.json", "--junit", "-"],
    ])
    func `backup and --junit do not accept - for standard output`(arguments: [String]) async throws {
        let folder = try TemporaryFolder()
        let outcome = try await SoukExecutable.run(arguments, in: folder.path)
        #expect(outcome.status == 2 && outcome.errors.contains("standard output"), "\(outcome.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    @Test func `a malformed file is named with the place and the reason`() async throws {
        let folder = try TemporaryFolder()
        let catalogue = try folder.write("broken.storekit", #"{"identifier":"1","products":[{"type":"Consumable"}]}"#)
        let simulate = try await SoukExecutable.run(["simulate", "--catalog", catalogue])
        #expect(simulate.status == 2)
        #expect(simulate.errors.contains("broken.storekit") && simulate.errors.contains("/products/0"))

        let list = try folder.write("list.json", #"[{"identifier":"a","productType":"magic"}]"#)
        let lint = try await SoukExecutable.run(["catalog", "lint", list, "--json"])
        #expect(lint.status == 1)
        #expect(lint.json?["findings"]?[0]?["pointer"] == "/0/productType")

        let features = try folder.write("features.json", #"{"features":{"pro":[1]}}"#)
        let serve = try await SoukExecutable.run([
            "serve", "--bundle-id", "b", "--features", features, "--database", "sqlite:\(folder.file("l.sqlite"))",
        ])
        #expect(serve.status == 2)
        #expect(serve.errors.contains("features.json") && serve.errors.contains("/features/pro/0"))
    }

    @Test func `a command whose port is in use creates no file`() async throws {
        let folder = try TemporaryFolder()
        let service = try await SoukService([
            "simulate", "--catalog", TestFiles.darkroom, "--data", folder.file("store"),
        ])
        let port = String(try #require(service.url.split(separator: ":").last))
        let serve = try await SoukExecutable.run([
            "serve", "--bundle-id", "b", "--database", "sqlite:\(folder.file("ledger.sqlite"))", "--port", port,
        ])
        let simulate = try await SoukExecutable.run([
            "simulate", "--catalog", TestFiles.darkroom, "--data", folder.file("other"), "--port", port,
        ])
        for outcome in [serve, simulate] {
            #expect(outcome.status == 2)
            #expect(outcome.errors.contains(port))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["store"])
    }

    @Test func `a file that is not a database is refused and stays unchanged`() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("notes.txt", String(repeating: "not a database. ", count: 100))
        let outcome = try await SoukExecutable.run(["serve", "--bundle-id", "b", "--database", "sqlite:\(path)"])
        #expect(outcome.status == 2)
        #expect(outcome.errors.contains("notes.txt"))
        #expect(try folder.text("notes.txt").hasPrefix("not a database."))
    }

    @Test func `fourteen commands have help texts, and the overview lists them`() async throws {
        let overview = try await SoukExecutable.run(["--help"])
        #expect(overview.status == 0)
        for words in [
            "demo", "serve", "simulate", "store", "jws inspect", "jws verify", "receipt inspect", "receipt verify",
            "offer sign", "token create",
            "catalog lint", "policy lint", "hub graph", "version",
        ] {
            #expect(overview.output.contains("  \(words) "))
            let help = try await SoukExecutable.run(words.split(separator: " ").map(String.init) + ["--help"])
            #expect(help.status == 0)
            #expect(help.output.contains("Usage: souk \(words)"))
        }
    }

    @Test(arguments: [#"\377"#, #"a\303"#, #"\355\240\200"#])
    func `an argument that is not UTF-8 is refused, because a repair would make two names equal`(
        bytes: String
    ) async throws {
        // Arguments in Swift are strings, so a shell passes the bytes.
        let outcome = try await ChildProgram.run(
            "/bin/sh",
            [
                "-c", #"exec "$0" store --url http://127.0.0.1:1 subscriptions "$(printf "$1")""#,
                SoukExecutable.path(),
                bytes,
            ])
        #expect(outcome.status == 2)
        #expect(outcome.errors.contains("argument 5 is not UTF-8"))
    }
}
