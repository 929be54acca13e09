import CurlTransport
import Foundation
import HTTPCore
import Primitives
import Testing

@Suite struct ServiceTests {
    @Test func `the simulator says where it is, sells, and takes its books up again`() async throws {
        let folder = try TemporaryFolder()
        let arguments = [
            "simulate", "--catalog", TestFiles.darkroom, "--data", folder.file("store"), "--time-rate", "frozen",
            "--bundle-id", "com.example.darkroom",
        ]
        var service = try SoukService(arguments)
        #expect(service.greeting["bundleID"] == "com.example.darkroom")
        #expect(service.greeting["rootFingerprint"]?.stringValue?.count == 64)
        let root = try #require(service.greeting["rootCertificate"]?.stringValue)
        #expect(try await store(service, "account", "create", "ada").status == 0)
        let bought = try await store(service, "buy", "ada", "com.example.darkroom.plus.monthly")
        let jws = try #require(bought.json?["signedTransaction"]?.stringValue)
        #expect(bought.json?["state"] == "purchased")

        let file = try folder.write("transaction.jws", jws + "\n")
        let verified = try await SoukExecutable.run([
            "jws", "verify", file, "--type", "transaction", "--root", root, "--bundle-id", "com.example.darkroom",
            "--environment", "sandbox", "--json",
        ])
        #expect(verified.status == 0)
        #expect(verified.json?["productId"] == "com.example.darkroom.plus.monthly")
        let foreign = try await SoukExecutable.run([
            "jws", "verify", file, "--type", "transaction", "--bundle-id", "com.example.darkroom", "--json",
        ])
        #expect(foreign.status == 1)
        #expect(foreign.json?["error"]?["code"] == "untrustedRoot")

        #expect(try await store(service, "advance", "40d").status == 0)
        #expect(try await store(service, "cancel", "ada", "com.example.darkroom.plus.monthly").status == 0)
        let before = try await store(service, "transactions", "ada").json?["transactions"]?.arrayValue
        #expect((before?.count ?? 0) > 1)
        #expect(service.stop() == 0)

        service = try SoukService(arguments)
        let after = try await store(service, "transactions", "ada").json?["transactions"]?.arrayValue
        #expect(after?.map { $0["transactionID"] } == before?.map { $0["transactionID"] })
        let unknown = try await store(service, "buy", "ada", "com.example.nothing")
        #expect(unknown.status == 1)
        #expect(unknown.errors.contains("com.example.nothing"))
    }

    private func store(_ service: SoukService, _ words: String...) async throws -> SoukExecutable.Outcome {
        try await SoukExecutable.run(["store", "--url", service.url, "--json"] + words)
    }

    @Test(
        .enabled(
            if: ProcessInfo.processInfo.environment["SOUK_PYTHON"] != nil,
            "SOUK_PYTHON names no interpreter with Apple's library"))
    func `Apple's own verifier accepts what the simulator signed`() async throws {
        let folder = try TemporaryFolder()
        let service = try SoukService(["simulate", "--catalog", TestFiles.darkroom, "--data", folder.file("store")])
        #expect(try await store(service, "account", "create", "ada").status == 0)
        let bought = try await store(service, "buy", "ada", "com.example.darkroom.plus.monthly").json
        let request: JSONValue = [
            "root": try #require(service.greeting["rootCertificate"]), "bundleID": "com.example.souk",
            "environment": "Sandbox", "transaction": try #require(bought?["signedTransaction"]),
            "renewal": try #require(bought?["signedRenewalInfo"]),
        ]
        let verdict = try judge(request)
        #expect(verdict["transaction"]?["ok"] == true, "\(verdict)")
        #expect(verdict["renewal"]?["ok"] == true, "\(verdict)")
        #expect(verdict["transaction"]?["payload"]?["productId"] == "com.example.darkroom.plus.monthly")

        var wrong = request
        wrong["bundleID"] = "com.example.other"
        #expect(try judge(wrong)["transaction"]?["ok"] == false)
    }

    private func judge(_ request: JSONValue) throws -> JSONValue {
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: ProcessInfo.processInfo.environment["SOUK_PYTHON"] ?? "")
        process.arguments = [TestFiles.repository + "/Tests/Judges/apple_verifier.py"]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        input.fileHandleForWriting.write(Data(request.encoded()))
        try input.fileHandleForWriting.close()
        let answer = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return try JSONValue(parsing: answer)
    }

    @Test func `the server hands out keys once, keeps the secret one to its owner, and stops when asked`() async throws
    {
        let folder = try TemporaryFolder()
        let database = folder.file("ledger.sqlite")
        let arguments = [
            "serve", "--bundle-id", "com.example.one", "--bundle-id", "com.example.two", "--database",
            "sqlite:\(database)",
        ]
        var service = try SoukService(arguments)
        let keys = try #require(service.greeting["keys"]?.arrayValue)
        #expect(keys.count == 2)
        #expect(keys[0]["publicKey"] == service.greeting["publicKey"])
        for pair in keys {
            let file = try #require(pair["secretKeyFile"]?.stringValue)
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            #expect(!service.greeting.text().contains(try String(contentsOfFile: file, encoding: .utf8).dropLast()))
        }
        let intruder = try await SoukExecutable.run([
            "serve", "--bundle-id", "com.example.one", "--database", "sqlite:\(database)",
        ])
        #expect(intruder.status == 2)
        #expect(intruder.errors.contains("in use by another process"))
        let port = try #require(service.url.split(separator: ":").last)
        let second = try await SoukExecutable.run([
            "serve", "--bundle-id", "b", "--database", "sqlite:\(folder.file("other.sqlite"))", "--port", String(port),
        ])
        #expect(second.status == 2)
        #expect(second.errors.contains(port))
        #expect(service.stop() == 0)
        service = try SoukService(arguments)
        #expect(service.greeting["publicKey"] == nil)
    }

    @Test func `every answer of the server has a request id, a body over the limit too`() async throws {
        let folder = try TemporaryFolder()
        let service = try SoukService([
            "serve", "--bundle-id", "com.example.one", "--database", "sqlite:\(folder.file("ledger.sqlite"))",
        ])
        let network = CurlTransport.platformDefault()
        let path = "/v1/customers/ada/transactions"
        let oversize = HTTPBody.bytes([UInt8](repeating: 0x20, count: (4 << 20) + 1))
        var ids: Set<String> = []
        for (url, body, status) in [("/healthz", HTTPBody.empty, 200), (path, oversize, 413), (path, .empty, 401)] {
            let method: HTTPRequest.Method = status == 200 ? .get : .post
            let answer = try await network.send(HTTPRequest(method: method, url: service.url + url, body: body))
            #expect(answer.status == status)
            ids.insert(try #require(answer.headers["Souk-Request-Id"]))
            guard status != 200 else { continue }
            #expect(answer.headers["Content-Type"] == "application/problem+json")
        }
        #expect(ids.count == 3)
        #expect(service.stop() == 0)
    }

    @Test(.enabled(if: TestFiles.conformance != nil, "SOUK_CONFORMANCE is not set"))
    func `what Apple signed for its own tests is verified`() async throws {
        let folder = (TestFiles.conformance ?? "") + "/apple-jws"
        for (file, type) in [("transactionInfo", "transaction"), ("testNotification", "notification")] {
            let outcome = try await SoukExecutable.run([
                "jws", "verify", "\(folder)/\(file)", "--type", type, "--root", "\(folder)/testCA.der", "--bundle-id",
                "com.example", "--environment", "sandbox", "--json",
            ])
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(outcome.json?["signedDate"] != nil)
        }
    }

    @Test func `version names the commit and the libraries`() async throws {
        let outcome = try await SoukExecutable.run(["version", "--json"])
        #expect(outcome.json?["version"]?.stringValue?.isEmpty == false)
        #expect(outcome.json?["libraries"]?["openssl"]?.stringValue?.hasPrefix("3.") == true)
    }

    @Test func `version names mimalloc where the process has it`() async throws {
        let outcome = try await SoukExecutable.run(["version"], environment: ["MIMALLOC_VERBOSE": "1"])
        let line = outcome.output.split(separator: "\n").first { $0.hasPrefix("mimalloc ") }
        #expect(outcome.errors.contains("mimalloc: process init") == (line != nil))
        #expect(line.map { $0.wholeMatch(of: /mimalloc \d\.\d\.\d/) != nil } != false)
    }
}
