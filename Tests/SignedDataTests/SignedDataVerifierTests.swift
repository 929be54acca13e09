import AppStorePayloads
import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

@Suite struct SignedDataVerifierTests {
    let store: TestStore

    init() throws { store = try TestStore() }

    @Test func `a verified transaction has its signed content`() throws {
        let payload = TestStore.transaction()
        let verified = try store.verifier.transaction(store.signer.sign(payload))
        #expect(verified.payload == payload)
        #expect(verified.payloadBytes == payload.json.encoded())
        #expect(verified.payloadDigest == SHA256.hash(verified.payloadBytes))
        #expect(verified.signedDate == TestStore.signedDate)
        #expect(verified.chain.leaf == store.chain.leaf)
        #expect(verified.chain.anchor == store.chain.root)
    }

    @Test func `unknown members survive verification`() throws {
        var payload = TestStore.transaction()
        payload.fields["invented"] = ["deep": [1, 2.50]]
        let verified = try store.verifier.transaction(store.signer.sign(payload))
        #expect(verified.payload.fields["invented"]?["deep"]?[1]?.doubleValue == 2.5)
    }

    @Test func `a renewal info is verified without a bundle`() throws {
        let verified = try store.verifier.renewalInfo(store.signer.sign(TestStore.renewalInfo()))
        #expect(verified.payload.autoRenewStatus == .on)
    }

    @Test func `the signed date of an app transaction without signedDate is its creation date`() throws {
        let verified = try store.verifier.appTransaction(store.signer.sign(TestStore.appTransaction()))
        #expect(verified.signedDate == TestStore.signedDate)
        #expect(verified.payload.receiptType == .sandbox)
    }

    @Test func `a root can be trusted by its fingerprint`() throws {
        let digits = Hex.encode(store.chain.root.fingerprint).uppercased()
        var configuration = store.configuration
        configuration.trustAnchors = TrustAnchor.apple + [try TrustAnchor(fingerprint: digits)]
        let jws = try store.signer.sign(TestStore.transaction())
        #expect(refusal { try SignedDataVerifier(configuration: configuration).transaction(jws) } == nil)
    }

    @Test func `a given root may be another certificate of the same subject and key`() throws {
        let reissued = try CertificateTemplate.root.issue(for: store.chain.rootKey, by: nil)
        #expect(reissued != store.chain.root)
        let jws = try store.sign(certificates: [store.certificates[0], store.certificates[1], reissued.der])
        #expect(try store.verifier.transaction(jws).chain.anchor == store.chain.root)

        var strict = store.configuration
        strict.trustAnchors = [try TrustAnchor(fingerprint: Hex.encode(store.chain.root.fingerprint))]
        #expect(refusal { try SignedDataVerifier(configuration: strict).transaction(jws) } == .untrustedRoot)
    }

    @Test func `roots are read from DER, and from several PEM blocks in one file`() throws {
        let other = try TestStore().chain.root
        let pem = Array((store.chain.root.pem + other.pem).utf8)
        #expect(try TrustAnchor.certificates(in: pem) == [TrustAnchor(store.chain.root), TrustAnchor(other)])
        #expect(try TrustAnchor.certificates(in: store.chain.root.der) == [TrustAnchor(store.chain.root)])
        #expect(refusal { try TrustAnchor.certificates(in: Array("no root".utf8)) } == .certificateMalformed)
        #expect(refusal { try TrustAnchor.certificates(in: []) } == .certificateMalformed)
        #expect(refusal { try TrustAnchor(fingerprint: "12:34") } == .malformed)
    }

    /// A damaged root in a file must not shorten the list of trusted roots without an error.
    @Test func `a damaged certificate after a valid one in PEM is an error`() throws {
        let first = store.chain.root.pem
        let damaged = [
            first.replacingOccurrences(of: "MII", with: "AAA"), String(first.dropLast(40)),
            first.replacingOccurrences(of: "END CERTIFICATE", with: "END CERTIFICATION"),
        ]
        for second in damaged {
            #expect(refusal { try TrustAnchor.certificates(in: Array((first + second).utf8)) } == .certificateMalformed)
        }
        #expect(try TrustAnchor.certificates(in: Array((first + "A comment.\n").utf8)).count == 1)
    }

    @Test func `bundle and environment are checked only when configured`() throws {
        let anything = SignedDataVerifier(
            configuration: .init(
                bundleIDs: nil, environments: nil, trustAnchors: [TrustAnchor(store.chain.root)]))
        let jws = try store.signer.sign(JWSTransactionDecodedPayload { $0.signedDate = TestStore.signedDate })
        #expect(refusal { try anything.transaction(jws) } == nil)
        #expect(refusal { try store.verifier.transaction(jws) } == .payloadMalformed)
    }

    @Test func `a document must have the App Store number of its own app`() throws {
        var configuration = store.configuration
        configuration.bundleIDs = ["com.example", "com.example.two"]
        configuration.environments = [.production]
        configuration.appAppleIDs = ["com.example": 1, "com.example.two": 2]
        let verifier = SignedDataVerifier(configuration: configuration)
        for (bundle, number, expected) in [
            ("com.example", 1, nil), ("com.example.two", 2, nil), ("com.example", 2, SignedDataError.Code.wrongAppID),
        ] {
            var payload = TestStore.appTransaction()
            payload.receiptType = .production
            payload.bundleId = bundle
            payload.appAppleId = number
            let jws = try store.signer.sign(payload)
            #expect(refusal { try verifier.appTransaction(jws) } == expected)
        }
    }

    @Test func `an unverified JWS is decoded without a check`() throws {
        let jws = try store.signed(signature: { _ in [UInt8](repeating: 1, count: 64) })
        let unverified = try UnverifiedJWS(unverified: jws)
        #expect(unverified.unverifiedPayload["bundleId"] == "com.example")
        #expect(unverified.unverifiedHeader["alg"] == "ES256")
        #expect(unverified.unverifiedCertificates == store.chain.certificates)
        #expect(refusal { try UnverifiedJWS(unverified: "a.b") } == .malformed)
    }
}
