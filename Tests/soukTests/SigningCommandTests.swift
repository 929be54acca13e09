import Foundation
import HostTestSupport
import Primitives
import SignedData
import StoreModel
import Testing

/// `souk offer sign` and `souk token create`, and the use of their signatures.
@Suite struct SigningCommandTests {
    private let folder: TemporaryFolder
    private let key: SigningKey
    private let file: String
    private let keyID = "2X9R4HXF34"
    private let issuerID = "57246542-96fe-1a63-e053-0824d011072a"

    init() throws {
        folder = try TemporaryFolder()
        key = try SigningKey.generate()
        file = try folder.write("AuthKey_2X9R4HXF34.p8", key.pem)
    }

    private var identity: [String] { ["--key", file, "--issuer-id", issuerID, "--bundle-id", "com.example"] }
    private var identityV1: [String] { ["--version", "1", "--key", file, "--bundle-id", "com.example"] }
    private let offer = ["--product", "com.example.pro", "--offer", "comeback"]

    private func run(_ arguments: [String], line: Int = #line) async throws -> SoukExecutable.Outcome {
        let outcome = try await SoukExecutable.run(arguments)
        let secret = key.pem.split(separator: "\n")[1]
        #expect(!outcome.output.contains(secret) && !outcome.errors.contains(secret), "line \(line)")
        return outcome
    }

    private func request(_ jws: String?, at instant: Date = Date()) throws -> SignedAppStoreRequest {
        try AppStoreRequestVerifier(keys: [keyID: key.verificationKey], issuerID: issuerID, bundleID: "com.example")
            .verify(#require(jws), at: instant)
    }

    @Test func `a token is valid at the App Store Server API for the requested time`() async throws {
        let verifier = AppStoreServerTokenVerifier(
            keys: [keyID: key.verificationKey], issuerID: issuerID, bundleID: "com.example")
        let plain = try await run(["token", "create"] + identity)
        #expect(plain.status == 0)
        try verifier.verify(plain.output.trimmingCharacters(in: .newlines), at: Date())

        let outcome = try await run(["token", "create"] + identity + ["--lifetime", "90s", "--json"])
        let json = try #require(outcome.json)
        #expect(outcome.status == 0 && json["keyIdentifier"]?.stringValue == keyID)
        let token = try #require(json["token"]?.stringValue)
        let issued = try #require(json["issuedAt"]?.stringValue.flatMap { RFC3339.date(from: $0) })
        let end = try #require(json["expiresAt"]?.stringValue.flatMap { RFC3339.date(from: $0) })
        #expect(end.timeIntervalSince(issued) == 90)
        try verifier.verify(token, at: issued)
        #expect(throws: SignedDataError(.notCurrent, "")) {
            try verifier.verify(token, at: end.addingTimeInterval(60))
        }
    }

    @Test(.outsideJudge(OutsideJudge.path(of: "curl") != nil, "curl is not installed"))
    func `a simulator answers curl only with a valid token`() async throws {
        let service = try await SoukService([
            "simulate", "--catalog", TestFiles.darkroom, "--data", folder.file("store"),
        ])
        let created = try await SoukExecutable.run(["store", "--url", service.url, "account", "create", "ada"])
        #expect(created.status == 0)
        let bought = try await SoukExecutable.run([
            "store", "--url", service.url, "--json", "buy", "ada", "com.example.darkroom.prints.10",
        ])
        let transaction = try #require(bought.json?["transactionID"]?.stringValue)
        let api = try #require(service.greeting["serverAPI"])
        func member(_ name: String) throws -> String { try #require(api[name]?.stringValue) }
        let token = try await SoukExecutable.run([
            "token", "create", "--key", member("privateKey"), "--key-id", member("keyID"), "--issuer-id",
            member("issuerID"), "--bundle-id", "com.example.souk",
        ])
        func curl(_ token: String) async throws -> ChildProgram.Outcome {
            let program = try #require(OutsideJudge.path(of: "curl"))
            let url = "\(service.url)/inApps/v1/transactions/\(transaction)"
            return try await OutsideJudge.run(
                program, ["-s", "-f", "-H", "Authorization: Bearer \(token)", url], input: "")
        }
        let answer = try await curl(token.output.trimmingCharacters(in: .newlines))
        #expect(answer.status == 0)
        let jws = try #require(answer.json?["signedTransactionInfo"]?.stringValue)
        #expect(jws.split(separator: ".").count == 3)
        #expect(try await curl("x.y.z").status != 0)
        #expect(await service.stop() == 0)
    }

    @Test func `the data folder of a simulator has everything for a token, also after the simulator has stopped`()
        async throws
    {
        let data = folder.file("store")
        let service = try await SoukService([
            "simulate", "--catalog", TestFiles.darkroom, "--data", data, "--bundle-id", "com.example.darkroom",
        ])
        let api = try #require(service.greeting["serverAPI"])
        let key = try SigningKey(Array(Data(contentsOf: URL(fileURLWithPath: api["privateKey"]?.stringValue ?? ""))))
        let verifier = AppStoreServerTokenVerifier(
            keys: [try #require(api["keyID"]?.stringValue): key.verificationKey],
            issuerID: try #require(api["issuerID"]?.stringValue), bundleID: "com.example.darkroom")
        let before = try FileManager.default.contentsOfDirectory(atPath: data).sorted()
        for isRunning in [true, false] {
            if !isRunning { #expect(await service.stop() == 0) }
            let outcome = try await run(["token", "create", "--simulator", data, "--json"])
            #expect(outcome.status == 0, "\(outcome)")
            #expect(outcome.json?["keyIdentifier"] == api["keyID"])
            try verifier.verify(try #require(outcome.json?["token"]?.stringValue), at: Date())
            if isRunning { #expect(try FileManager.default.contentsOfDirectory(atPath: data).sorted() == before) }
        }
    }

    @Test func `a folder that no simulator wrote is a usage error, and gets no files`() async throws {
        let empty = folder.file("empty")
        try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: false)
        let other = folder.file("other")
        let service = try await SoukService(["simulate", "--catalog", TestFiles.darkroom, "--data", other])
        #expect(await service.stop() == 0)
        try Data("no database".utf8).write(to: URL(fileURLWithPath: other + "/store.sqlite"))
        for path in [empty, other] {
            let before = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
            let outcome = try await run(["token", "create", "--simulator", path])
            #expect(outcome.status == 2 && outcome.output.isEmpty)
            #expect(outcome.errors.contains(path) && outcome.errors.contains("souk simulate"), "\(outcome.errors)")
            #expect(outcome.errors.split(separator: "\n").count == 1)
            #expect(try FileManager.default.contentsOfDirectory(atPath: path).sorted() == before)
        }
        let both = try await run(["token", "create", "--simulator", other, "--key", file])
        #expect(both.status == 2 && both.errors.contains("--key"))
    }

    @Test func `an offer of version 1 is valid for its customer`() async throws {
        let customer = UUID()
        let nonce = UUID().uuidString
        let outcome = try await run(
            ["offer", "sign"] + identityV1 + offer + [
                "--account-token", customer.uuidString, "--nonce", nonce, "--timestamp", "2026-11-20T14:40:00.5Z",
                "--json",
            ])
        let json = try #require(outcome.json, "\(outcome.errors)")
        #expect(json["nonce"]?.stringValue == nonce.lowercased())
        #expect(json["timestamp"]?.intValue == 1_795_185_600_500)
        #expect(json["applicationUsername"]?.stringValue == customer.uuidString.lowercased())
        let signature = PromotionalOfferSignature(
            keyID: try #require(json["keyIdentifier"]?.stringValue), nonce: try #require(UUID(uuidString: nonce)),
            timestamp: 1_795_185_600_500,
            signature: try #require(json["signature"]?.stringValue.flatMap { Base64.decode($0) }))
        let its = PromotionalOffer(
            bundleID: "com.example", productID: "com.example.pro", offerID: "comeback", appAccountToken: customer)
        let others = PromotionalOffer(bundleID: "com.example", productID: "com.example.pro", offerID: "comeback")
        #expect(signature.isValid(for: its, key: key.verificationKey))
        #expect(!signature.isValid(for: others, key: key.verificationKey))
    }

    @Test func `the text output of version 1 has all values that StoreKit requires`() async throws {
        let outcome = try await run(
            ["offer", "sign"] + identityV1 + offer
                + ["--application-username", "Ada", "--timestamp", "1700000000123", "--key-id", "OTHER"])
        let rows = outcome.output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(rows.map(\.first) == ["keyIdentifier", "nonce", "timestamp", "signature"])
        #expect(rows[0][1] == "OTHER" && rows[2][1] == "1700000000123")
        let signature = PromotionalOfferSignature(
            keyID: "OTHER", nonce: try #require(UUID(uuidString: rows[1][1])), timestamp: 1_700_000_000_123,
            signature: try #require(Base64.decode(rows[3][1])))
        let its = PromotionalOffer(
            bundleID: "com.example", productID: "com.example.pro", offerID: "comeback", applicationUsername: "Ada")
        #expect(signature.isValid(for: its, key: key.verificationKey))
    }

    @Test func `offers of version 2, eligibility and commerce requests are one JWS each`() async throws {
        let json = try folder.write("request.json", #"{"operation": "CREATE_ONE_TIME_CHARGE"}"#)
        for (arguments, expected) in [
            (offer, .promotionalOffer("comeback", for: "com.example.pro")),
            (
                offer + ["--version", "2", "--transaction-id", "2000000012"],
                .promotionalOffer("comeback", for: "com.example.pro", transactionID: "2000000012")
            ),
            (
                ["--intro-eligibility", "true", "--product", "com.example.pro", "--transaction-id", "2000000012"],
                .introductoryOfferEligibility(true, for: "com.example.pro", transactionID: "2000000012")
            ),
            (
                ["--advanced-commerce", json],
                .advancedCommerce(Array(#"{"operation": "CREATE_ONE_TIME_CHARGE"}"#.utf8))
            ),
        ] as [([String], AppStoreRequest)] {
            let plain = try await run(["offer", "sign"] + identity + arguments)
            #expect(plain.status == 0, "\(plain.errors)")
            let jws = plain.output.trimmingCharacters(in: .newlines)
            #expect(try request(jws).request == expected)
            let answer = try await run(["offer", "sign"] + identity + arguments + ["--json"])
            let presented = try request(answer.json?["jws"]?.stringValue)
            #expect(presented.request == expected)
            #expect(answer.json?["nonce"]?.stringValue == presented.nonce.uuidString.lowercased())
            #expect(answer.json?["audience"]?.stringValue == expected.audience.rawValue)
        }
    }

    @Test func `two signatures have different nonces`() async throws {
        let first = try await run(["offer", "sign"] + identity + offer + ["--json"])
        let second = try await run(["offer", "sign"] + identity + offer + ["--json"])
        #expect(first.json?["nonce"] != nil && first.json?["nonce"] != second.json?["nonce"])
    }

    @Test func `the error for an invalid value is one sentence without the key`() async throws {
        let publicKey =
            "-----BEGIN PUBLIC KEY-----\n\(Base64.encode(key.verificationKey.der))\n-----END PUBLIC KEY-----\n"
        let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIGj\n-----END ENCRYPTED PRIVATE KEY-----\n"
        let other = try Ed25519.PrivateKey.generate().pem
        func given(_ name: String, _ text: String) throws -> [String] {
            ["--key", try folder.write(name, text), "--key-id", "K", "--issuer-id", "I", "--bundle-id", "com.example"]
        }
        let list = try folder.write("list.json", "[]")
        let sign = ["offer", "sign"]
        let create = ["token", "create"]
        for (arguments, sentence) in [
            (create + (try given("public.pem", publicKey)), "public.pem: This is a public key"),
            (create + (try given("encrypted.pem", encrypted)), "decrypt it first"),
            (create + (try given("other.pem", other)), "of Ed25519"),
            (create + (try given("empty.pem", "")), "PKCS#8"),
            (create + ["--key", "/nowhere", "--key-id", "K", "--bundle-id", "b"], "no such file"),
            (create + ["--key", try folder.write("key.p8", key.pem), "--bundle-id", "b"], "--key-id"),
            (create + ["--simulator", list], "this is not the first line of souk simulate"),
            (create + ["--simulator", "/nowhere"], "no such file"),
            (create + ["--simulator", list, "--key", file], "--key cannot be given here"),
            (create, "needs --key"), (create + ["--key", file], "needs --bundle-id"),
            (create + ["--key", file, "--bundle-id", "b"], "needs --issuer-id"),
            (create + ["--key", file, "--bundle-id", "b", "--issuer-id", ""], "issuer id"),
            (create + identity + ["--lifetime", "61m"], "at most 60m"),
            (create + identity + ["--lifetime", "2h"], "at most 60m"),
            (create + identity + ["--lifetime", "1d"], "at most 60m"),
            (create + identity + ["--lifetime", "soon"], "a duration is written"),
            (sign + identity, "--advanced-commerce"),
            (sign + identity + offer + ["--intro-eligibility", "true"], "needs one of"),
            (sign + identity + offer + ["--version", "3"], "from 1 to 2"),
            (sign + identity + offer + ["--account-token", UUID().uuidString], "--transaction-id"),
            (sign + identity + ["--offer", "o"], "needs --product"),
            (sign + identity + ["--offer", "", "--product", "p"], "offer"),
            (sign + identityV1 + offer + ["--transaction-id", "1"], "version 1 does not contain it"),
            (sign + identityV1 + offer + ["--account-token", "ada"], "--account-token is a UUID"),
            (
                sign + identityV1 + offer + ["--account-token", UUID().uuidString, "--application-username", "a"],
                "give one"
            ),
            (sign + identityV1 + offer + ["--application-username", "a\u{2063}b"], "U+2063"),
            (sign + identity + offer + ["--nonce", "1"], "--nonce is a UUID"),
            (sign + identity + offer + ["--timestamp", "noon"], "--timestamp is a time"),
            (sign + identity + ["--intro-eligibility", "maybe", "--product", "p"], "true or false"),
            (sign + identity + ["--intro-eligibility", "true", "--product", "p"], "needs --transaction-id"),
            (sign + identity + ["--advanced-commerce", list], "JSON object"),
            (sign + identity + ["--advanced-commerce", list, "--product", "p"], "--product cannot be given"),
        ] as [([String], String)] {
            let outcome = try await run(arguments)
            #expect(outcome.status == 2 && outcome.output.isEmpty, "\(arguments)")
            #expect(outcome.errors.contains(sentence), "\(arguments): \(outcome.errors)")
            #expect(outcome.errors.split(separator: "\n").count == 1)
        }
    }
}
