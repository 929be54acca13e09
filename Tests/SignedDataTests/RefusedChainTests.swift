import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

/// Certificate chains with one fault each.
@Suite struct RefusedChainTests {
    @Test func `documents of a store that is not trusted are refused`() throws {
        let store = try TestStore()
        var named = CertificateTemplate.root
        named.commonName = "Another Root CA"
        let other = try TestStore(root: named)
        let sameSubject = try TestStore()
        #expect(sameSubject.chain.root.subject == store.chain.root.subject)
        for stranger in [other, sameSubject] {
            let jws = try stranger.signer.sign(TestStore.transaction())
            #expect(refusal { try store.verifier.transaction(jws) } == .untrustedRoot)
            var apple = store.configuration
            apple.trustAnchors = TrustAnchor.apple
            #expect(refusal { try SignedDataVerifier(configuration: apple).transaction(jws) } == .untrustedRoot)
        }
    }

    @Test func `a trusted root does not cover certificates of another store`() throws {
        let store = try TestStore()
        let stranger = try TestStore()
        let root = store.certificates[2]
        let foreign = try stranger.sign(certificates: [stranger.certificates[0], stranger.certificates[1], root])
        #expect(refusal { try store.verifier.transaction(foreign) } == .chainInvalid)
        let foreignLeaf = try stranger.sign(certificates: [stranger.certificates[0], store.certificates[1], root])
        #expect(refusal { try store.verifier.transaction(foreignLeaf) } == .chainInvalid)
    }

    @Test func `the leaf must come through the intermediate`() throws {
        let store = try TestStore()
        let issuer = CertificateTemplate.Issuer(certificate: store.chain.root, key: store.chain.rootKey)
        let direct = try CertificateTemplate.leaf.issue(for: store.chain.leafKey, by: issuer)
        let jws = try store.sign(certificates: [direct.der, store.certificates[1], store.certificates[2]])
        #expect(refusal { try store.verifier.transaction(jws) } == .chainInvalid)
    }

    @Test func `only three certificates in their order are a chain`() throws {
        let store = try TestStore()
        let (leaf, intermediate, root) = (store.certificates[0], store.certificates[1], store.certificates[2])
        let cases: [([[UInt8]], SignedDataError.Code)] = [
            ([leaf], .chainLength), ([leaf, root], .chainLength), ([leaf, intermediate], .chainLength),
            ([leaf, intermediate, root, root], .chainLength), ([root, intermediate, leaf], .untrustedRoot),
            ([intermediate, leaf, root], .notACertificateAuthority), ([leaf, leaf, root], .notACertificateAuthority),
            ([leaf, intermediate, intermediate], .untrustedRoot), ([root, root, root], .chainInvalid),
        ]
        for (certificates, code) in cases {
            let jws = try store.sign(certificates: certificates)
            #expect(refusal { try store.verifier.transaction(jws) } == code)
        }
    }

    @Test func `a developer's certificate from the right intermediate is refused`() throws {
        var developer = CertificateTemplate.leaf
        developer.commonName = "Apple Development: Somebody"
        // iOS development and distribution (Apple: WWDR certification practice statement).
        for marker in ["1.2.840.113635.100.6.1.2", "1.2.840.113635.100.6.1.4"] {
            developer.markers = [marker]
            let store = try TestStore(leaf: developer)
            #expect(store.chain.intermediate.hasExtension(CertificateChain.intermediateMarker))
            let jws = try store.signer.sign(TestStore.transaction())
            #expect(refusal { try store.verifier.transaction(jws) } == .missingMarkerOID)
        }
    }

    @Test func `the markers of leaf and intermediate are required`() throws {
        var leaf = CertificateTemplate.leaf
        leaf.markers = [CertificateChain.intermediateMarker]
        var intermediate = CertificateTemplate.intermediate
        intermediate.markers = [CertificateChain.leafMarker]
        for store in [try TestStore(leaf: leaf), try TestStore(intermediate: intermediate)] {
            let jws = try store.signer.sign(TestStore.transaction())
            #expect(refusal { try store.verifier.transaction(jws) } == .missingMarkerOID)
        }
    }

    @Test func `exactly the certificates above the leaf must be authorities`() throws {
        var leaf = CertificateTemplate.leaf
        leaf.basicConstraints = "critical,CA:TRUE"
        leaf.keyUsage = "critical,digitalSignature,keyCertSign"
        var plainIntermediate = CertificateTemplate.intermediate
        plainIntermediate.basicConstraints = "critical,CA:FALSE"
        plainIntermediate.keyUsage = nil
        var silentIntermediate = CertificateTemplate.intermediate
        silentIntermediate.basicConstraints = nil
        var root = CertificateTemplate.root
        root.basicConstraints = "critical,CA:FALSE"
        root.keyUsage = nil
        var narrowRoot = CertificateTemplate.root
        narrowRoot.basicConstraints = "critical,CA:TRUE,pathlen:0"
        var idleIntermediate = CertificateTemplate.intermediate
        idleIntermediate.keyUsage = "critical,digitalSignature"
        let cases: [(TestStore, SignedDataError.Code)] = [
            (try TestStore(leaf: leaf), .chainInvalid),
            (try TestStore(intermediate: plainIntermediate), .notACertificateAuthority),
            (try TestStore(intermediate: silentIntermediate), .notACertificateAuthority),
            (try TestStore(root: root), .notACertificateAuthority),
            (try TestStore(root: narrowRoot), .notACertificateAuthority),
            (try TestStore(intermediate: idleIntermediate), .notACertificateAuthority),
        ]
        for (store, code) in cases {
            let jws = try store.signer.sign(TestStore.transaction())
            #expect(refusal { try store.verifier.transaction(jws) } == code)
        }
    }

    @Test func `key usage and basic constraints of the leaf may be absent`() throws {
        var leaf = CertificateTemplate.leaf
        leaf.keyUsage = nil
        leaf.basicConstraints = nil
        var intermediate = CertificateTemplate.intermediate
        intermediate.keyUsage = nil
        let store = try TestStore(intermediate: intermediate, leaf: leaf)
        let jws = try store.signer.sign(TestStore.transaction())
        #expect(refusal { try store.verifier.transaction(jws) } == nil)
    }

    @Test func `a chain is judged at the instant of signing, to the second`() throws {
        var leaf = CertificateTemplate.leaf
        leaf.notBefore = "20230101000000Z"
        leaf.notAfter = "20231231235959Z"
        let store = try TestStore(leaf: leaf)
        let verifier = store.verifier
        let cases: [(String, SignedDataError.Code?)] = [
            ("2022-12-31T23:59:59.999Z", .certificateExpired), ("2023-01-01T00:00:00Z", nil),
            ("2023-12-31T23:59:58.999Z", nil), ("2023-12-31T23:59:59Z", .certificateExpired),
            ("2024-01-01T00:00:00Z", .certificateExpired),
        ]
        for _ in 1...2 {
            for (instant, code) in cases {
                var payload = TestStore.transaction()
                let date = try #require(RFC3339.date(from: instant))
                payload.signedDate = date
                let jws = try store.signer.sign(payload)
                #expect(refusal { try verifier.transaction(jws) } == code, "\(instant)")
            }
        }
    }

    @Test func `the validity of intermediate and root is checked`() throws {
        var intermediate = CertificateTemplate.intermediate
        intermediate.notAfter = "20200101000000Z"
        var root = CertificateTemplate.root
        root.notBefore = "20300101000000Z"
        for store in [try TestStore(intermediate: intermediate), try TestStore(root: root)] {
            let jws = try store.signer.sign(TestStore.transaction())
            #expect(refusal { try store.verifier.transaction(jws) } == .certificateExpired)
        }
        let never = try TestStore(root: root, intermediate: intermediate)
        let jws = try never.signer.sign(TestStore.transaction())
        #expect(refusal { try never.verifier.transaction(jws) } == .certificateExpired)
    }

    @Test func `a chain can be verified at a given instant instead`() throws {
        var leaf = CertificateTemplate.leaf
        leaf.notAfter = "20231231235959Z"
        let store = try TestStore(leaf: leaf)
        let jws = try store.signer.sign(TestStore.transaction())
        var later = store.configuration
        later.chainDate = RFC3339.date(from: "2026-01-01T00:00:00Z")
        #expect(refusal { try store.verifier.transaction(jws) } == nil)
        #expect(refusal { try SignedDataVerifier(configuration: later).transaction(jws) } == .certificateExpired)
    }

    @Test func `a leaf with a key of another curve is refused`() throws {
        let store = try TestStore(leafKey: SigningKey.generate(onCurve: "P-384"))
        let jws = try JWSSigner(key: SigningKey.generate(), certificates: store.certificates).sign(
            TestStore.transaction())
        #expect(refusal { try store.verifier.transaction(jws) } == .unsupportedAlgorithm)
    }
}
