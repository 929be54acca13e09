import BaseTestSupport
import Foundation
import Primitives
import StoreModel
import Testing

@testable import StoreKitAdapter

struct SystemVerifierTests {
    private static func jws(_ payload: String) -> String {
        "\(Base64.encodeURL(Array("{}".utf8))).\(Base64.encodeURL(Array(payload.utf8))).c2lnbmF0dXJl"
    }

    @Test func `only transactions that the system has verified are accepted`() async throws {
        let verifier = SystemVerifier()
        let jws = Self.jws(#"{"transactionId": "100", "productId": "pack", "type": "Non-Consumable"}"#)
        await #expect(throws: SystemVerifier.Unverified.self) { try await verifier.verify(jws) }
        verifier.recordVerified(jws)
        let verified = try await verifier.verify(jws)
        #expect(verified.id == "100" && verified.productID == "pack" && verified.kind == .nonConsumable)
        let other = Self.jws(#"{"transactionId": "101", "productId": "pack", "type": "Non-Consumable"}"#)
        await #expect(throws: SystemVerifier.Unverified.self) { try await verifier.verify(other) }
    }

    @Test(arguments: [
        "", "a.b", "a.b.c.d", "e30.!!.e30", "e30.bm8ganNvbg.e30", #"e30.eyJ0cmFuc2FjdGlvbklkIjogMX0.e30"#,
    ])
    func `text that is not a signed transaction of Apple is refused`(text: String) async {
        let verifier = SystemVerifier()
        verifier.recordVerified(text)
        await #expect(throws: (any Error).self) { try await verifier.verify(text) }
    }

    @Test func `the newest thousand verified transactions are remembered`() async throws {
        let verifier = SystemVerifier()
        let all = (0...1000).map { Self.jws(#"{"transactionId": "\#($0)"}"#) }
        for jws in all { verifier.recordVerified(jws) }
        await #expect(throws: SystemVerifier.Unverified.self) { try await verifier.verify(all[0]) }
        #expect(try await verifier.verify(all[1]).id == "1")
        #expect(try await verifier.verify(all[1000]).id == "1000")
    }
}
