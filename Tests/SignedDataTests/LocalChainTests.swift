import AppStorePayloads
import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

/// Documents of StoreKit Testing in Xcode. Their one certificate signs itself. It is trusted only if it or its key is a
/// trust anchor of the verifier, and only for local environments.
@Suite struct LocalChainTests {
    /// The certificate of Xcode, which signs itself and is not an authority.
    static let template = CertificateTemplate(
        commonName: "StoreKit Testing in Xcode", organization: "StoreKit Testing in Xcode",
        keyUsage: "critical,digitalSignature", notBefore: "20231019014049Z", notAfter: "20241018014049Z")

    let key: SigningKey
    let certificate: Certificate
    let store: TestStore

    init() throws {
        key = try SigningKey.generate()
        certificate = try Self.template.issue(for: key, by: nil)
        store = try TestStore()
    }

    private func transaction(_ environment: AppStoreEnvironment?) -> JWSTransactionDecodedPayload {
        var payload = TestStore.transaction()
        payload.environment = environment
        return payload
    }

    private func sign(_ payload: JWSTransactionDecodedPayload) throws -> String {
        try JWSSigner(key: key, certificates: [certificate.der]).sign(payload)
    }

    private func verifier(
        _ environments: Set<AppStoreEnvironment>?, trusting anchors: [TrustAnchor]
    ) -> SignedDataVerifier {
        SignedDataVerifier(
            configuration: .init(bundleIDs: ["com.example"], environments: environments, trustAnchors: anchors))
    }

    @Test(arguments: [AppStoreEnvironment.xcode, .localTesting])
    func `a given certificate or key is accepted for its environment`(environment: AppStoreEnvironment) throws {
        let jws = try sign(transaction(environment))
        for anchor in [TrustAnchor(certificate), TrustAnchor(localKey: key.verificationKey)] {
            for environments: Set<AppStoreEnvironment> in [[environment], [.production, .sandbox, environment]] {
                let verifier = verifier(environments, trusting: TrustAnchor.apple + [anchor])
                for _ in 1...2 {
                    let verified = try verifier.transaction(jws)
                    #expect(verified.chain.isLocal && verified.chain.intermediate == nil)
                    #expect(verified.chain.certificates == [certificate])
                }
            }
        }
    }

    @Test func `a chain of one certificate is refused unless the verifier names a local environment`() throws {
        for environment in [AppStoreEnvironment.xcode, .localTesting, .sandbox, .production, nil] {
            let jws = try sign(transaction(environment))
            for environments: Set<AppStoreEnvironment>? in [nil, [], [.sandbox], [.production, .sandbox]] {
                let verifier = verifier(environments, trusting: [TrustAnchor(certificate)])
                #expect(refusal { try verifier.transaction(jws) } == .chainLength)
            }
        }
    }

    @Test func `a certificate that was not given is refused`() throws {
        let other = try Self.template.issue(for: SigningKey.generate(), by: nil)
        let jws = try sign(transaction(.xcode))
        let others = [
            TrustAnchor(other), TrustAnchor(localKey: try SigningKey.generate().verificationKey),
            try TrustAnchor(fingerprint: Hex.encode(certificate.fingerprint)), TrustAnchor(store.chain.root),
        ]
        let refusing = verifier([.xcode], trusting: TrustAnchor.apple + others)
        #expect(refusal { try refusing.transaction(jws) } == .untrustedRoot)
    }

    @Test func `a local certificate is refused for production and the sandbox`() throws {
        let every: Set<AppStoreEnvironment> = [.production, .sandbox, .xcode, .localTesting]
        for anchor in [TrustAnchor(certificate), TrustAnchor(localKey: key.verificationKey)] {
            let verifier = verifier(every, trusting: [anchor])
            for environment in [AppStoreEnvironment.production, .sandbox] {
                let jws = try sign(transaction(environment))
                for _ in 1...2 { #expect(refusal { try verifier.transaction(jws) } == .untrustedRoot) }
            }
            let renewal = try JWSSigner(key: key, certificates: [certificate.der]).sign(TestStore.renewalInfo())
            #expect(refusal { try verifier.renewalInfo(renewal) } == .untrustedRoot)
        }
        let xcodeOnly = verifier([.xcode], trusting: [TrustAnchor(certificate)])
        #expect(refusal { try xcodeOnly.transaction(sign(transaction(.production))) } == .wrongEnvironment)
    }

    @Test func `a local certificate is not the root of a chain of three`() throws {
        var template = Self.template
        template.basicConstraints = "critical,CA:TRUE"
        template.keyUsage = "critical,keyCertSign,digitalSignature"
        let authority = try TestStore(root: template)
        let plain = try TestStore(root: Self.template)
        let every: Set<AppStoreEnvironment> = [.production, .sandbox, .xcode]
        let production = TestStore.transaction()
        var jws = try plain.signer.sign(production)
        let byCertificate = verifier(every, trusting: [TrustAnchor(plain.chain.root)])
        #expect(refusal { try byCertificate.transaction(jws) } == .notACertificateAuthority)
        jws = try authority.signer.sign(production)
        let byKey = verifier(every, trusting: [TrustAnchor(localKey: authority.chain.rootKey.verificationKey)])
        #expect(refusal { try byKey.transaction(jws) } == .untrustedRoot)
    }

    @Test func `a local certificate that another certificate signed is refused`() throws {
        let issuer = CertificateTemplate.Issuer(certificate: store.chain.root, key: store.chain.rootKey)
        let issued = try Self.template.issue(for: key, by: issuer)
        let jws = try JWSSigner(key: key, certificates: [issued.der]).sign(transaction(.xcode))
        let byKey = verifier([.xcode], trusting: [TrustAnchor(localKey: key.verificationKey)])
        #expect(refusal { try byKey.transaction(jws) } == .chainInvalid)
        var broken = certificate.der
        broken[broken.count - 1] ^= 1
        let spoilt = try JWSSigner(key: key, certificates: [broken]).sign(transaction(.xcode))
        #expect(refusal { try byKey.transaction(spoilt) } == .chainInvalid)
    }

    @Test func `the validity of a local certificate is checked`() throws {
        var payload = transaction(.xcode)
        payload.signedDate = Date(timeIntervalSince1970: 1_760_000_000)
        let verifier = verifier([.xcode], trusting: [TrustAnchor(certificate)])
        #expect(refusal { try verifier.transaction(sign(payload)) } == .certificateExpired)
        #expect(refusal { try verifier.transaction(sign(transaction(.xcode))) } == nil)
    }

    @Test func `a root limited to an environment signs for no other`() throws {
        let every: Set<AppStoreEnvironment> = [.production, .sandbox, .xcode]
        let limited = verifier(every, trusting: [TrustAnchor(store.chain.root, for: [.sandbox])])
        let free = verifier(every, trusting: [TrustAnchor(store.chain.root)])
        let byFingerprint = verifier(
            every, trusting: [try TrustAnchor(fingerprint: Hex.encode(store.chain.root.fingerprint))])
        let cases: [(AppStoreEnvironment, SignedDataVerifier, SignedDataError.Code?)] = [
            (.sandbox, limited, nil), (.production, limited, .untrustedRoot), (.xcode, limited, .untrustedRoot),
            (.sandbox, free, nil), (.production, free, nil), (.xcode, free, nil),
            (.sandbox, byFingerprint, nil), (.production, byFingerprint, nil), (.xcode, byFingerprint, .untrustedRoot),
        ]
        for (environment, verifier, code) in cases {
            let jws = try store.signer.sign(transaction(environment))
            #expect(refusal { try verifier.transaction(jws) } == code, "\(environment)")
        }
        let anything = verifier(nil, trusting: [TrustAnchor(store.chain.root, for: [.sandbox])])
        #expect(refusal { try anything.transaction(store.signer.sign(transaction(nil))) } == .untrustedRoot)
        let both = verifier(
            every,
            trusting: [TrustAnchor(store.chain.root, for: [.sandbox]), TrustAnchor(store.chain.root, for: [.xcode])])
        #expect(refusal { try both.transaction(store.signer.sign(transaction(.xcode))) } == nil)
    }
}
