import CurlTransport
import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import Testing

@Suite struct ServiceTests {
    @Test func `the simulator prints its URL, sells, and continues with its data after a restart`() async throws {
        let folder = try TemporaryFolder()
        let arguments = [
            "simulate", "--catalog", TestFiles.darkroom, "--data", folder.file("store"), "--time-rate", "frozen",
            "--bundle-id", "com.example.darkroom",
        ]
        var service = try await SoukService(arguments)
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
        #expect(await service.stop() == 0)

        service = try await SoukService(arguments)
        let after = try await store(service, "transactions", "ada").json?["transactions"]?.arrayValue
        #expect(after?.map { $0["transactionID"] } == before?.map { $0["transactionID"] })
        let unknown = try await store(service, "buy", "ada", "com.example.nothing")
        #expect(unknown.status == 1)
        #expect(unknown.errors.contains("com.example.nothing"))
    }

    @Test func `the simulator answers to its configured names and to no others`() async throws {
        let service = try await SoukService([
            "simulate", "--catalog", TestFiles.darkroom, "--host-name", "ci.example", "--host-name", "fd00::1",
        ])
        for (host, status) in [
            (nil, 200), ("ci.example:80", 200), ("[fd00::1]", 200), ("localhost", 200), ("evil.example", 403),
        ] as [(String?, Int)] {
            var request = HTTPRequest(method: .get, url: service.url + "/control/v1/accounts")
            request.headers["Host"] = host
            #expect(try await CurlTransport.platformDefault().send(request).status == status, "\(host ?? "its own")")
        }
        #expect(await service.stop() == 0)
    }

    private func store(_ service: SoukService, _ words: String...) async throws -> SoukExecutable.Outcome {
        try await SoukExecutable.run(["store", "--url", service.url, "--json"] + words)
    }

    @Test(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with Apple's library"))
    func `Apple's own verifier accepts what the simulator signed`() async throws {
        let folder = try TemporaryFolder()
        let service = try await SoukService([
            "simulate", "--catalog", TestFiles.darkroom, "--data", folder.file("store"),
        ])
        #expect(try await store(service, "account", "create", "ada").status == 0)
        let bought = try await store(service, "buy", "ada", "com.example.darkroom.plus.monthly").json
        let request: JSONValue = [
            "root": try #require(service.greeting["rootCertificate"]), "bundleID": "com.example.souk",
            "environment": "Sandbox", "transaction": try #require(bought?["signedTransaction"]),
            "renewal": try #require(bought?["signedRenewalInfo"]),
        ]
        let verdict = try #require(try await OutsideJudge.judge("apple_verifier.py", request).json)
        #expect(verdict["transaction"]?["ok"] == true, "\(verdict)")
        #expect(verdict["renewal"]?["ok"] == true, "\(verdict)")
        #expect(verdict["transaction"]?["payload"]?["productId"] == "com.example.darkroom.plus.monthly")

        var wrong = request
        wrong["bundleID"] = "com.example.other"
        #expect(try await OutsideJudge.judge("apple_verifier.py", wrong).json?["transaction"]?["ok"] == false)
    }

    @Test func `the server creates its keys once, only their owner can read the secret ones, and it stops on request`()
        async throws
    {
        let folder = try TemporaryFolder()
        let database = folder.file("ledger.sqlite")
        let arguments = [
            "serve", "--bundle-id", "com.example.one", "--bundle-id", "com.example.two", "--database",
            "sqlite:\(database)",
        ]
        var service = try await SoukService(arguments)
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
        #expect(await service.stop() == 0)
        service = try await SoukService(arguments)
        #expect(service.greeting["publicKey"] == nil)
    }

    @Test func `responses of the server have a request id, also the refusal of a body over the limit`() async throws {
        let folder = try TemporaryFolder()
        let service = try await SoukService([
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
        #expect(await service.stop() == 0)
    }

    @Test(.enabled(if: TestFiles.conformance != nil, "SOUK_CONFORMANCE is not set"))
    func `documents that Apple signed for its own tests are verified`() async throws {
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

    // MARK: - souk version

    /// Returns the output of a program without its line end; `nil` when it fails.
    private func word(of program: String, _ arguments: [String]) async throws -> String? {
        let outcome = try await ChildProgram.run("/usr/bin/env", [program] + arguments, in: TestFiles.repository)
        return outcome.status == 0 ? outcome.output.trimmingCharacters(in: .whitespacesAndNewlines) : nil
    }

    /// The gates build without the commit (Package.swift), so the test reads the manifest of a release.
    @Test func `a release names the commit of its checkout`() async throws {
        let outcome = try await SoukExecutable.run(["version", "--json"])
        let built = try #require(outcome.json?["commit"]?.stringValue)
        #expect(try built == "unknown" || built.wholeMatch(of: Regex("[0-9a-f]{40}\\+?")) != nil, "\(built)")
        guard let head = try await word(of: "git", ["rev-parse", "--verify", "HEAD"]) else {
            #expect(built == "unknown")
            return
        }
        let folder = try TemporaryFolder()
        let reading = ["swift", "package", "--manifest-cache", "none", "--scratch-path", folder.file("build")]
        let manifest = try #require(
            try await word(of: "env", ["-u", "SOUK_STRICT"] + reading + ["dump-package"]))
        #expect(manifest.contains(#"SOUK_COMMIT=\"\#(head)"#))
    }

    @Test func `version names the linked libraries as the system does, in JSON and in lines`() async throws {
        let json = try #require(try await SoukExecutable.run(["version", "--json"]).json)
        var libraries = try #require(json["libraries"]?.objectValue)
        let lines = try await SoukExecutable.run(["version"]).output.split(separator: "\n").map(String.init)
        let (version, commit) = (json["version"]?.stringValue ?? "", json["commit"]?.stringValue ?? "")
        #expect(version.wholeMatch(of: /\d+\.\d+\.\d+/) != nil)
        #expect(lines.first == "souk \(version) (\(commit))")
        #expect(
            Set(lines.dropFirst()) == Set(libraries.map { "\($0.key) \($0.value.stringValue ?? "")" })
                && lines.count == libraries.count + 1)
        libraries["mimalloc"] = nil
        let packages = [
            "openssl": "libcrypto", "sqlite": "sqlite3", "libmicrohttpd": "libmicrohttpd", "libcurl": "libcurl",
            "libarchive": "libarchive",
        ]
        #expect(Set(libraries.keys) == Set(packages.keys))
        let hasPackages = OutsideJudge.path(of: "pkg-config") != nil
        for (name, package) in packages {
            let named = libraries[name]?.stringValue ?? ""
            #expect(named.wholeMatch(of: /\d+(\.\d+)+/) != nil, "\(name) \(named)")
            if hasPackages { #expect(try await word(of: "pkg-config", ["--modversion", package]) == named, "\(name)") }
        }
    }

    /// The library that Package.swift links if it is installed.
    private static let mimalloc = ["aarch64", "x86_64"].map { "/usr/lib/\($0)-linux-gnu/libmimalloc.so" }
        .first { FileManager.default.fileExists(atPath: $0) }

    @Test func `version prints the version of mimalloc if the process uses it`() async throws {
        let outcome = try await SoukExecutable.run(["version"], environment: ["MIMALLOC_VERBOSE": "1"])
        let lines = outcome.output.split(separator: "\n").filter { $0.hasPrefix("mimalloc") }.map(String.init)
        let isInUse = outcome.errors.contains("mimalloc: process init")
        guard let mimalloc = Self.mimalloc else {
            #expect(lines.isEmpty && !isInUse)
            return
        }
        let script = "import ctypes; print(ctypes.CDLL('\(mimalloc)').mi_version())"
        let number = try #require(try await word(of: "python3", ["-c", script]).flatMap { Int($0) })
        #expect(lines == ["mimalloc \(number / 100).\(number / 10 % 10).\(number % 10)"] && isInUse)
    }
}
