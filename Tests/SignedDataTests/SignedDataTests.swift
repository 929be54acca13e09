import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

/// A small store that signs for `com.example` in the sandbox.
struct TestStore {
    static let signedDate = Date(timeIntervalSince1970: 1_700_000_000)

    let chain: SigningChain
    var signer: JWSSigner { JWSSigner(chain) }

    init() throws { chain = try SigningChain.generate() }

    static func transaction(id: String = "2000000000000001") -> JWSTransactionDecodedPayload {
        JWSTransactionDecodedPayload(
            transactionId: id, originalTransactionId: "2000000000000001", bundleId: "com.example",
            productId: "com.example.pro.monthly", purchaseDate: signedDate, quantity: 1,
            type: .autoRenewableSubscription, signedDate: signedDate, environment: .sandbox)
    }

    var configuration: SignedDataVerifier.Configuration {
        .init(bundleIDs: ["com.example"], environments: [.sandbox], trustAnchors: [TrustAnchor(chain.root)])
    }

    var verifier: SignedDataVerifier { SignedDataVerifier(configuration: configuration) }
}

@Suite struct SignedDataVerifierTests {
    let store: TestStore

    init() throws { store = try TestStore() }

    @Test func `a transaction comes out as it was signed`() throws {
        let jws = try store.signer.sign(TestStore.transaction())
        let verified = try store.verifier.transaction(jws)
        #expect(verified.payload == TestStore.transaction())
        #expect(verified.signedDate == TestStore.signedDate)
        #expect(verified.payloadDigest == SHA256.hash(verified.payloadBytes))
    }
}
