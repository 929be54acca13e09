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

    @Test func `Apple's verifier accepts all four kinds`() throws {
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
            ])
        #expect(status == 0, "\(answer)")
        #expect(answer["transaction"]?["payload"]?["productId"] == "com.example.pro.monthly")
        #expect(answer["renewal"]?["payload"]?["autoRenewStatus"] == 1)
        #expect(answer["notification"]?["payload"]?["notificationType"] == "DID_RENEW")
        #expect(answer["appTransaction"]?["payload"]?["originalPlatform"] == "iOS")
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

enum AppleVerifier {
    static var interpreter: String? { ProcessInfo.processInfo.environment["SOUK_PYTHON"] }

    static func judge(
        _ chain: SigningChain, _ documents: JSONObject, script: String = #filePath
    ) throws -> (status: Int32, answer: JSONValue) {
        var request = documents
        request["root"] = .string(Base64.encode(chain.root.der))
        request["bundleID"] = "com.example"
        request["environment"] = "Sandbox"
        let tests = URL(fileURLWithPath: script).deletingLastPathComponent().deletingLastPathComponent()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(interpreter))
        process.arguments = [tests.appendingPathComponent("Judges/apple_verifier.py").path]
        let input = Pipe()
        let output = Pipe()
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        input.fileHandleForWriting.write(Data(JSONValue.object(request).encoded()))
        try input.fileHandleForWriting.close()
        let answer = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, try JSONValue(parsing: answer))
    }
}
