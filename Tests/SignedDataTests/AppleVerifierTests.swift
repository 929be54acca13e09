import AppStorePayloads
import Foundation
import HostTestSupport
import Primitives
import StoreModel
import Testing

@testable import SignedData

/// Verifies our signatures with Apple's own Python library. `SOUK_PYTHON` is an interpreter with the package
/// `app-store-server-library`.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with Apple's library"))
struct AppleVerifierTests {
    let store: TestStore

    init() throws { store = try TestStore() }

    @Test func `Apple's verifier accepts each kind of document that is signed here`() async throws {
        let renewal = JWSRenewalInfoDecodedPayload {
            $0.originalTransactionId = "1"
            $0.autoRenewProductId = "com.example.pro.monthly"
            $0.autoRenewStatus = .on
            $0.signedDate = TestStore.signedDate
            $0.environment = .sandbox
        }
        let transaction = try store.signer.sign(TestStore.transaction())
        let signedRenewal = try store.signer.sign(renewal)
        let notification = ResponseBodyV2DecodedPayload {
            $0.notificationType = .didRenew
            $0.notificationUUID = "9f2b6c1e-0000-4000-8000-000000000001"
            $0.data = .init {
                $0.bundleId = "com.example"
                $0.environment = .sandbox
                $0.signedTransactionInfo = transaction
                $0.signedRenewalInfo = signedRenewal
                $0.status = .active
            }
            $0.version = "2.0"
            $0.signedDate = TestStore.signedDate
        }
        let appTransaction = AppTransaction {
            $0.receiptType = .sandbox
            $0.bundleId = "com.example"
            $0.receiptCreationDate = TestStore.signedDate
            $0.originalPlatform = .iOS
        }
        let (status, answer) = try await AppleVerifier.judge(
            store.chain,
            [
                "transaction": .string(transaction), "renewal": .string(signedRenewal),
                "notification": .string(store.signer.sign(notification)),
                "appTransaction": .string(store.signer.sign(appTransaction)),
                "realtimeRequest": .string(store.signer.sign(TestStore.realtimeRequest())),
            ])
        #expect(status == 0, "\(answer)")
        #expect(answer["transaction"]?["payload"]?["productId"] == "com.example.pro.monthly")
        #expect(answer["renewal"]?["payload"]?["autoRenewStatus"] == 1)
        #expect(answer["notification"]?["payload"]?["notificationType"] == "DID_RENEW")
        #expect(answer["appTransaction"]?["payload"]?["originalPlatform"] == "iOS")
        #expect(answer["realtimeRequest"]?["payload"]?["userLocale"] == "en-US")
        #expect(answer["realtimeRequest"]?["payload"]?["requestIdentifier"] == "3db5c98d-8acf-4e29-831e-8e1f82f9f6e9")
    }

    @Test func `Apple's verifier refuses another bundle, another environment and a forged signature`() async throws {
        var other = TestStore.transaction()
        other.bundleId = "com.example.other"
        var production = TestStore.transaction()
        production.environment = .production
        let forged = try store.signed(signature: { [UInt8]($0.reversed()) })
        let documents = [try store.signer.sign(other), try store.signer.sign(production), forged]
        for jws in documents {
            let (status, _) = try await AppleVerifier.judge(store.chain, ["transaction": .string(jws)])
            #expect(status == 1)
            #expect(refusal { try store.verifier.transaction(jws) } != nil)
        }
    }

    @Test(arguments: [0.0, 4_000_000_000, 200_000_000_000])
    func `Apple's verifier accepts virtual dates of the past and the future`(seconds: Double) async throws {
        var payload = TestStore.transaction()
        payload.signedDate = Date(timeIntervalSince1970: seconds)
        let jws = try store.signer.sign(payload)
        let (status, answer) = try await AppleVerifier.judge(store.chain, ["transaction": .string(jws)])
        #expect(status == 0, "\(answer)")
    }

    @Test func `Apple's verifier refuses another root`() async throws {
        let jws = try store.signer.sign(TestStore.transaction())
        let (status, answer) = try await AppleVerifier.judge(SigningChain.generate(), ["transaction": .string(jws)])
        #expect(status == 1)
        #expect(answer["transaction"]?["ok"] == false)
    }
}

/// Verifies signatures of other libraries: PyJWT and cryptography, which Apple's library uses.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with Apple's library"))
struct OutsideSignerTests {
    private func documents() async throws -> (answer: JSONValue, verifier: SignedDataVerifier) {
        let request: JSONObject = [
            "transaction": TestStore.transaction().json, "renewal": TestStore.renewalInfo().json,
            "appTransaction": TestStore.appTransaction().json, "realtimeRequest": TestStore.realtimeRequest().json,
            "notification": TestStore.notification(
                .init {
                    $0.bundleId = "com.example"
                    $0.environment = .sandbox
                }
            ).json,
        ]
        let (status, answer) = try await AppleVerifier.run("outside_signer.py", .object(request))
        #expect(status == 0)
        let root = try Certificate(der: try #require(answer["root"]?.stringValue.flatMap { Base64.decode($0) }))
        return (
            answer,
            SignedDataVerifier(
                configuration: .init(
                    bundleIDs: ["com.example"], environments: [.sandbox], trustAnchors: [TrustAnchor(root)]))
        )
    }

    @Test func `every kind is accepted with keys like Apple's, P-384 for the authorities and P-256 for the leaf`()
        async throws
    {
        let (answer, verifier) = try await documents()
        func jws(_ kind: String) throws -> String { try #require(answer[kind]?.stringValue) }
        #expect(try verifier.transaction(jws("transaction")).payload == TestStore.transaction())
        #expect(try verifier.renewalInfo(jws("renewal")).payload == TestStore.renewalInfo())
        #expect(try verifier.appTransaction(jws("appTransaction")).payload == TestStore.appTransaction())
        #expect(try verifier.realtimeRequest(jws("realtimeRequest")).payload == TestStore.realtimeRequest())
        #expect(try verifier.notification(jws("notification")).payload.notificationType == .didRenew)
    }

    @Test func `documents with another algorithm or without the chain are refused`() async throws {
        let (answer, verifier) = try await documents()
        let expected: [(String, SignedDataError.Code)] = [
            ("algorithm none", .malformed), ("algorithm HS256", .unsupportedAlgorithm),
            ("algorithm ES384", .unsupportedAlgorithm), ("algorithm RS256", .unsupportedAlgorithm),
            ("without chain", .missingCertificateChain),
        ]
        for (name, code) in expected {
            let jws = try #require(answer[name]?.stringValue)
            #expect(refusal { try verifier.transaction(jws) } == code, "\(name)")
        }
    }
}

enum AppleVerifier {
    static func judge(
        _ chain: SigningChain, _ documents: JSONObject
    ) async throws -> (status: Int32, answer: JSONValue) {
        var request = documents
        request["root"] = .string(Base64.encode(chain.root.der))
        request["bundleID"] = "com.example"
        request["environment"] = "Sandbox"
        return try await run("apple_verifier.py", .object(request))
    }

    static func run(_ judge: String, _ request: JSONValue) async throws -> (status: Int32, answer: JSONValue) {
        let verdict = try await OutsideJudge.judge(judge, request)
        return (verdict.status, try #require(verdict.json, "\(verdict.errors)"))
    }
}
