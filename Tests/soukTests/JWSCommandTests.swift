import AppStorePayloads
import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

/// `souk jws verify` and `souk jws inspect` on every kind of document.
@Suite struct JWSCommandTests {
    private let folder: TemporaryFolder
    private let chain: SigningChain
    private let root: [String]
    private static let date = Date(timeIntervalSince1970: 1_700_000_000)

    init() throws {
        folder = try TemporaryFolder()
        chain = try SigningChain.generate()
        root = ["--root", try folder.write("root.der", chain.root.der)]
    }

    private static let transaction = JWSTransactionDecodedPayload {
        $0.transactionId = "1"
        $0.originalTransactionId = "1"
        $0.bundleId = "com.example"
        $0.signedDate = date
        $0.environment = .sandbox
    }
    private static let renewal = JWSRenewalInfoDecodedPayload {
        $0.originalTransactionId = "1"
        $0.autoRenewStatus = .on
        $0.signedDate = date
        $0.environment = .sandbox
    }
    private static let appTransaction = AppTransaction {
        $0.receiptType = .sandbox
        $0.appAppleId = 7
        $0.bundleId = "com.example"
        $0.receiptCreationDate = date
    }
    private static let realtime = DecodedRealtimeRequestBody {
        $0.originalTransactionId = "1"
        $0.appAppleId = 7
        $0.productId = "pro"
        $0.userLocale = "en-US"
        $0.requestIdentifier = UUID()
        $0.environment = .sandbox
        $0.signedDate = date
    }
    private static let notification = ResponseBodyV2DecodedPayload {
        $0.notificationType = .test
        $0.notificationUUID = "9ad56bd2-0bc6-42e0-af24-fd996d87a1e6"
        $0.data = .init {
            $0.bundleId = "com.example"
            $0.environment = .sandbox
        }
        $0.version = "2.0"
        $0.signedDate = date
    }

    private static let documents: [(type: String, payload: JSONValue)] = [
        ("transaction", transaction.json), ("renewal", renewal.json), ("app-transaction", appTransaction.json),
        ("realtime", realtime.json), ("notification", notification.json),
    ]

    private func file(_ payload: JSONValue) throws -> String {
        try folder.write("document.jws", try JWSSigner(chain).sign(payload.encoded()) + "\n")
    }

    private func verify(_ file: String, _ type: String, _ options: [String] = []) async throws -> SoukExecutable.Outcome
    {
        try await SoukExecutable.run(["jws", "verify", file, "--type", type, "--json"] + options)
    }

    @Test func `a document of each kind is verified as that kind and as no other`() async throws {
        for (type, payload) in Self.documents {
            let file = try file(payload)
            for (other, _) in Self.documents {
                let outcome = try await verify(file, other, root + ["--environment", "sandbox"])
                if other == type {
                    #expect(outcome.status == 0, "\(type): \(outcome.output)")
                    #expect(outcome.json == payload)
                } else {
                    #expect(outcome.status == 1 && outcome.json?["error"]?["code"] == "payloadMalformed", "\(other)")
                }
            }
            let untrusted = try await verify(file, type)
            #expect(untrusted.status == 1 && untrusted.json?["error"]?["code"] == "untrustedRoot")
            #expect(untrusted.json?["error"]?["retryable"] == false)
        }
    }

    @Test func `missing checks are reported, also for documents that have no bundle`() async throws {
        for (type, payload) in Self.documents {
            let file = try file(payload)
            let unchecked = try await verify(file, type, root)
            #expect(unchecked.errors.contains("The bundle was not checked"), "\(type)")
            #expect(unchecked.errors.contains("The environment was not checked"), "\(type)")
            let checked = try await verify(
                file, type, root + ["--bundle-id", "com.example", "--environment", "sandbox"])
            #expect(checked.status == 0)
            #expect(checked.errors.isEmpty == !["renewal", "realtime"].contains(type), "\(type): \(checked.errors)")
            let other = try await verify(file, type, root + ["--environment", "production"])
            #expect(other.json?["error"]?["code"] == "wrongEnvironment", "\(type)")
        }
        let realtime = try file(Self.realtime.json)
        #expect(try await verify(realtime, "realtime", root + ["--app-apple-id", "7"]).status == 0)
        let foreign = try await verify(realtime, "realtime", root + ["--app-apple-id", "8"])
        #expect(foreign.json?["error"]?["code"] == "wrongAppID")
    }

    @Test(arguments: [AppStoreEnvironment.xcode, .localTesting])
    func `a document of a development machine is valid only with its environment and its certificate`(
        environment: AppStoreEnvironment
    ) async throws {
        let key = try SigningKey.generate()
        let certificate = try CertificateTemplate(
            commonName: "StoreKit Testing in Xcode", keyUsage: "critical,digitalSignature"
        ).issue(for: key, by: nil)
        var transaction = Self.transaction
        transaction.environment = environment
        let jws = try JWSSigner(key: key, certificates: [certificate.der]).sign(transaction)
        let file = try folder.write("local.jws", jws)
        let given = ["--root", try folder.write("local.pem", certificate.pem)]
        let name = StoreEnvironment(apple: environment.rawValue).rawValue
        #expect(try await verify(file, "transaction", given + ["--environment", name]).status == 0)
        #expect(try await verify(file, "transaction", given).json?["error"]?["code"] == "chainLength")
        let untrusted = try await verify(file, "transaction", ["--environment", name])
        #expect(untrusted.json?["error"]?["code"] == "untrustedRoot" && untrusted.errors.contains("without --root"))
    }

    @Test func `inspecting prints an unverified document with a warning`() async throws {
        let forged = try JWSSigner(chain).sign(Self.transaction).dropLast(4) + "AAAA"
        let outcome = try await SoukExecutable.run(
            ["jws", "inspect", try folder.write("forged.jws", String(forged)), "--type", "transaction", "--json"] + root
        )
        #expect(outcome.status == 0 && outcome.errors.hasPrefix("NOT VERIFIED"))
        #expect(outcome.json?["verified"] == false && outcome.json?["payload"] == Self.transaction.json)
        #expect(outcome.json?["header"]?["alg"] == "ES256")
        #expect(outcome.json?["certificates"]?.arrayValue?.count == 3)
    }
}
