import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

/// Apple's own Python library judges what we sign. `SOUK_PYTHON` names an interpreter that has the package
/// `app-store-server-library`.
@Suite(.enabled(if: AppleVerifier.interpreter != nil, "SOUK_PYTHON names no interpreter with Apple's library"))
struct AppleVerifierTests {
    let store: TestStore

    init() throws { store = try TestStore() }

    @Test func `Apple's verifier accepts all five kinds`() throws {
        let renewal = JWSRenewalInfoDecodedPayload(
            originalTransactionId: "1", autoRenewProductId: "com.example.pro.monthly", autoRenewStatus: .on,
            signedDate: TestStore.signedDate, environment: .sandbox)
        let transaction = try store.signer.sign(TestStore.transaction())
        let signedRenewal = try store.signer.sign(renewal)
        let notification = ResponseBodyV2DecodedPayload(
            notificationType: .didRenew, notificationUUID: "9f2b6c1e-0000-4000-8000-000000000001",
            data: .init(
                bundleId: "com.example", environment: .sandbox, signedTransactionInfo: transaction,
                signedRenewalInfo: signedRenewal, status: .active), version: "2.0", signedDate: TestStore.signedDate)
        let appTransaction = AppTransaction(
            receiptType: .sandbox, bundleId: "com.example", receiptCreationDate: TestStore.signedDate,
            originalPlatform: .iOS)
        let (status, answer) = try AppleVerifier.judge(
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

    @Test func `Apple's verifier refuses what is refused here`() throws {
        var other = TestStore.transaction()
        other.bundleId = "com.example.other"
        var production = TestStore.transaction()
        production.environment = .production
        let forged = try store.signed(signature: { [UInt8]($0.reversed()) })
        let documents = [try store.signer.sign(other), try store.signer.sign(production), forged]
        for jws in documents {
            let (status, _) = try AppleVerifier.judge(store.chain, ["transaction": .string(jws)])
            #expect(status == 1)
            #expect(refusal { try store.verifier.transaction(jws) } != nil)
        }
    }

    @Test(arguments: [0.0, 4_000_000_000, 200_000_000_000])
    func `Apple's verifier accepts any virtual date`(seconds: Double) throws {
        var payload = TestStore.transaction()
        payload.signedDate = Date(timeIntervalSince1970: seconds)
        let jws = try store.signer.sign(payload)
        let (status, answer) = try AppleVerifier.judge(store.chain, ["transaction": .string(jws)])
        #expect(status == 0, "\(answer)")
    }

    @Test func `Apple's verifier refuses another root`() throws {
        let jws = try store.signer.sign(TestStore.transaction())
        let (status, answer) = try AppleVerifier.judge(SigningChain.generate(), ["transaction": .string(jws)])
        #expect(status == 1)
        #expect(answer["transaction"]?["ok"] == false)
    }
}

/// What others sign, with other libraries: PyJWT and cryptography, which Apple's library is built on.
@Suite(.enabled(if: AppleVerifier.interpreter != nil, "SOUK_PYTHON names no interpreter with Apple's library"))
struct OutsideSignerTests {
    private func documents() throws -> (answer: JSONValue, verifier: SignedDataVerifier) {
        let request: JSONObject = [
            "transaction": TestStore.transaction().json, "renewal": TestStore.renewalInfo().json,
            "appTransaction": TestStore.appTransaction().json, "realtimeRequest": TestStore.realtimeRequest().json,
            "notification": TestStore.notification(.init(bundleId: "com.example", environment: .sandbox)).json,
        ]
        let (status, answer) = try AppleVerifier.run("outside_signer.py", .object(request))
        #expect(status == 0)
        let root = try Certificate(der: try #require(answer["root"]?.stringValue.flatMap { Base64.decode($0) }))
        return (
            answer,
            SignedDataVerifier(
                configuration: .init(
                    bundleIDs: ["com.example"], environments: [.sandbox], trustAnchors: [TrustAnchor(root)]))
        )
    }

    @Test func `every kind is accepted under a chain like Apple's, of P-384 above and P-256 below`() throws {
        let (answer, verifier) = try documents()
        func jws(_ kind: String) throws -> String { try #require(answer[kind]?.stringValue) }
        #expect(try verifier.transaction(jws("transaction")).payload == TestStore.transaction())
        #expect(try verifier.renewalInfo(jws("renewal")).payload == TestStore.renewalInfo())
        #expect(try verifier.appTransaction(jws("appTransaction")).payload == TestStore.appTransaction())
        #expect(try verifier.realtimeRequest(jws("realtimeRequest")).payload == TestStore.realtimeRequest())
        #expect(try verifier.notification(jws("notification")).payload.notificationType == .didRenew)
    }

    @Test func `the same under another algorithm or without the chain is refused`() throws {
        let (answer, verifier) = try documents()
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
    static var interpreter: String? { ProcessInfo.processInfo.environment["SOUK_PYTHON"] }

    static func judge(
        _ chain: SigningChain, _ documents: JSONObject, script: String = #filePath
    ) throws -> (status: Int32, answer: JSONValue) {
        var request = documents
        request["root"] = .string(Base64.encode(chain.root.der))
        request["bundleID"] = "com.example"
        request["environment"] = "Sandbox"
        return try run("apple_verifier.py", .object(request), script: script)
    }

    static func run(
        _ judge: String, _ request: JSONValue, script: String = #filePath
    ) throws -> (status: Int32, answer: JSONValue) {
        let tests = URL(fileURLWithPath: script).deletingLastPathComponent().deletingLastPathComponent()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(interpreter))
        process.arguments = [tests.appendingPathComponent("Judges/\(judge)").path]
        let input = Pipe()
        let output = Pipe()
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        input.fileHandleForWriting.write(Data(request.encoded()))
        try input.fileHandleForWriting.close()
        let answer = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, try JSONValue(parsing: answer))
    }
}
