import COpenSSL
import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

@Suite struct RefusedContainerTests {
    let store: ReceiptStore

    init() throws { store = try ReceiptStore() }

    @Test func `a container with one wrong part is refused`() throws {
        let data = DERWriter.objectIdentifier(CMSIdentifier.data)
        let md5 = ReceiptContainer.algorithm([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x02, 0x05], null: true)
        let sha1 = ReceiptContainer.algorithm(CMSIdentifier.sha1, null: true)
        let plain = ReceiptContainer.algorithm(CMSIdentifier.sha256, null: false)
        let cases: [(String, SignedDataError.Code, (inout ReceiptContainer) throws -> Void)] = [
            ("version 3", .malformed, { $0.version = DERWriter.integer(3) }),
            ("version in two octets", .malformed, { $0.version = [2, 2, 0, 1] }),
            ("signer of version 3", .malformed, { $0.signerVersion = DERWriter.integer(3) }),
            ("another content type", .malformed, { $0.contentType = CMSIdentifier.signedData }),
            ("two digests in the set", .malformed, { $0.digestSet = [plain, sha1] }),
            ("no digest in the set", .malformed, { $0.digestSet = [] }),
            ("another digest in the set", .malformed, { $0.digestSet = [sha1] }),
            ("parameters unlike the signer's", .malformed, { $0.digestSet = [plain] }),
            (
                "parameters that are no NULL", .malformed,
                { $0.digestAlgorithm = DERWriter.sequence(DERWriter.objectIdentifier(CMSIdentifier.sha256), data) }
            ),
            (
                "a second NULL after the parameters", .malformed,
                {
                    $0.digestAlgorithm = DERWriter.sequence(
                        DERWriter.objectIdentifier(CMSIdentifier.sha256), DERWriter.null, DERWriter.null)
                }
            ),
            ("MD5", .unsupportedAlgorithm, { $0.digestAlgorithm = md5 }),
            (
                "ECDSA with parameters", .malformed,
                { $0.signatureAlgorithm = ReceiptContainer.algorithm(CMSIdentifier.ecdsaWithSHA256, null: true) }
            ),
            (
                "a signature over another digest", .unsupportedAlgorithm,
                { $0.signatureAlgorithm = ReceiptContainer.algorithm(CMSIdentifier.ecdsaWithSHA1, null: false) }
            ),
            (
                "a signature of another kind", .unsupportedAlgorithm,
                { $0.signatureAlgorithm = ReceiptContainer.algorithm(CMSIdentifier.rsaEncryption, null: true) }
            ),
            ("an unknown signature", .unsupportedAlgorithm, { $0.signatureAlgorithm = md5 }),
            ("another signer", .chainInvalid, { $0.signerIdentity[20] ^= 1 }),
            ("no signer", .chainInvalid, { $0.signerIdentity = [] }),
            ("two signers", .malformed, { $0.moreSigners = [DERWriter.sequence(DERWriter.integer(1))] }),
            ("revocation lists", .malformed, { $0.afterCertificates = [0xA1, 0] }),
            ("unsigned attributes", .malformed, { $0.afterSignature = [0xA1, 0] }),
            ("a byte after the end", .malformed, { $0.afterEnd = [0] }),
            ("end of contents at the end", .malformed, { $0.afterEnd = [0, 0] }),
            ("an empty signature", .signatureInvalid, { $0.signature = [] }),
            ("a long signature", .signatureInvalid, { $0.signature = [UInt8](repeating: 1, count: 2000) }),
            ("no content", .payloadMalformed, { $0.payload = [] }),
            ("content that is no set", .payloadMalformed, { $0.payload = [0x30, 0] }),
            ("content with a byte after it", .payloadMalformed, { $0.payload += [0] }),
            ("a NULL in place of an attribute", .payloadMalformed, { $0.payload = [0x31, 2, 5, 0] }),
            ("an attribute without value", .payloadMalformed, { $0.payload = [0x31, 8, 0x30, 6, 2, 1, 1, 2, 1, 1] }),
        ]
        for (name, code, change) in cases {
            let refused = try store.refusal(change)
            #expect(refused == code, "\(name)")
        }
        #expect(try store.refusal { _ in } == nil)
    }

    @Test func `signed attributes must contain the content type and the digest, each once`() throws {
        let type = ReceiptContainer.attribute(CMSIdentifier.contentType, DERWriter.objectIdentifier(CMSIdentifier.data))
        let wrongType = ReceiptContainer.attribute(
            CMSIdentifier.contentType, DERWriter.objectIdentifier(CMSIdentifier.signedData))
        func digest(_ bytes: [UInt8]) throws -> [UInt8] {
            ReceiptContainer.attribute(CMSIdentifier.messageDigest, DERWriter.element(BERTag.octetString, bytes))
        }
        let container = try store.container()
        let right = try digest(SHA256.hash(container.payload))
        let usual = try container.usualAttributes()
        #expect(try store.refusal { $0.signedAttributes = usual } == nil)
        #expect(try store.refusal { $0.signedAttributes = [type, right] } == nil)
        #expect(try store.refusal { $0.signedAttributes = [type, try digest(SHA256.hash([]))] } == .digestMismatch)
        #expect(try store.refusal { $0.signedAttributes = [try digest([]), type] } == .digestMismatch)
        let malformed: [[[UInt8]]] = [
            [], [type], [right], [right, type], [type, type, right], [wrongType, right], [type, right, right],
            [type, ReceiptContainer.attribute(CMSIdentifier.messageDigest)],
            [
                ReceiptContainer.attribute(
                    CMSIdentifier.contentType, DERWriter.objectIdentifier(CMSIdentifier.data),
                    DERWriter.objectIdentifier(CMSIdentifier.data)), right,
            ],
        ]
        for (index, attributes) in malformed.enumerated() {
            #expect(try store.refusal { $0.signedAttributes = attributes } == .malformed, "\(index)")
        }
        #expect(
            try store.refusal {
                $0.signedAttributes = usual
                $0.payload = ReceiptStore.receipt(purchases: 2).der
            } == .digestMismatch)
        #expect(
            try store.refusal {
                $0.signature = try ReceiptContainer.sign($0.payload, $0.key, .sha256)
                $0.signedAttributes = usual
            } == .signatureInvalid)
    }

    @Test func `changed content is distinguished from a changed signature with RSA`() throws {
        let store = try ReceiptStore(leafKey: ReceiptStore.rsaKey)
        let other = ReceiptStore.receipt(purchases: 2).der
        for digest in ReceiptDigest.allCases {
            let signature = try ReceiptContainer.sign(ReceiptStore.receipt().der, ReceiptStore.rsaKey, digest)
            #expect(
                try store.refusal {
                    $0.digest = digest
                    $0.payload = other
                    $0.signature = signature
                } == .digestMismatch)
            #expect(
                try store.refusal {
                    $0.digest = digest
                    $0.signature = signature.dropLast() + [signature[255] ^ 1]
                } == .signatureInvalid)
        }
        #expect(
            try store.refusal {
                $0.signature = try ReceiptContainer.sign($0.payload, $0.key, .sha1)
            } == .signatureInvalid)
    }

    @Test func `ECDSA signatures with a high s are accepted, because Apple creates them`() throws {
        var found = (high: false, low: false)
        for _ in 0..<64 where found != (true, true) {
            let bytes = try store.sign()
            #expect(refusal { try store.verifier.verify(bytes) } == nil)
            let signature = try bytes.withUnsafeBytes { Array($0[try CMSSignedData($0).signature]) }
            let raw = try #require(ECDSASignature.raw(fromDER: signature))
            if raw[32] >= 0x80 { found.high = true } else { found.low = true }
        }
        #expect(found == (true, true))
    }
}

@Suite struct RefusedReceiptChainTests {
    let store: ReceiptStore

    init() throws { store = try ReceiptStore() }

    @Test func `certificates dropped, doubled, added or in another order are refused`() throws {
        let (leaf, intermediate, root) = (store.chain.leaf.der, store.chain.intermediate.der, store.chain.root.der)
        let other = try ReceiptStore().chain
        let cases: [([[UInt8]], SignedDataError.Code)] = [
            ([], .chainLength), ([leaf], .chainLength), ([leaf, root], .chainLength),
            ([leaf, intermediate], .chainLength), ([leaf, intermediate, root, root], .chainLength),
            ([leaf, intermediate, root, other.leaf.der], .chainLength),
            ([intermediate, leaf, root], .chainInvalid), ([leaf, root, intermediate], .untrustedRoot),
            ([root, intermediate, leaf], .untrustedRoot), ([leaf, leaf, root], .chainInvalid),
            ([leaf, other.intermediate.der, root], .chainInvalid),
            ([other.leaf.der, intermediate, root], .chainInvalid),
            ([leaf, intermediate, other.root.der], .untrustedRoot),
            ([leaf, intermediate, Array(root.dropLast())], .malformed),
            ([leaf, DERWriter.null, root], .certificateMalformed), ([leaf, [0x30, 0], root], .certificateMalformed),
            ([leaf, intermediate, root + [0, 0]], .certificateMalformed),
            (Array(repeating: leaf, count: 100), .certificateMalformed),
        ]
        for (index, (certificates, code)) in cases.enumerated() {
            let refused = try store.refusal { $0.certificates = certificates }
            if code == .chainInvalid {
                // The first broken rule depends on the certificate in the wrong place.
                let rules: [SignedDataError.Code] = [.chainInvalid, .notACertificateAuthority, .missingMarkerOID]
                #expect(refused.map { rules.contains($0) } == true, "\(index): \(String(describing: refused))")
            } else if code == .malformed {
                #expect(refused != nil, "\(index)")
            } else {
                #expect(refused == code, "\(index)")
            }
        }
    }

    @Test func `markers, authorities and key strength of the chain are required`() throws {
        func refused(_ store: TestStore) throws -> SignedDataError.Code? {
            try ReceiptStore(store).refusal { _ in }
        }
        var developer = CertificateTemplate.leaf
        developer.markers = ["1.2.840.113635.100.6.1.2"]
        #expect(try refused(TestStore(leaf: developer)) == .missingMarkerOID, "a developer's certificate")
        var unmarked = CertificateTemplate.intermediate
        unmarked.markers = []
        #expect(try refused(TestStore(intermediate: unmarked)) == .missingMarkerOID)
        var noAuthority = CertificateTemplate.intermediate
        noAuthority.basicConstraints = "critical,CA:FALSE"
        #expect(try refused(TestStore(intermediate: noAuthority)) == .notACertificateAuthority)
        var encipherment = CertificateTemplate.leaf
        encipherment.keyUsage = "critical,keyEncipherment"
        #expect(try refused(TestStore(leaf: encipherment)) == .chainInvalid)
        let weak = SigningKey(owning: souk_generate_rsa_key(1024))
        #expect(try refused(TestStore(leafKey: weak)) == .unsupportedAlgorithm)
        #expect(try refused(TestStore(leafKey: SigningKey.generate(onCurve: "P-384"))) == nil)
        var young = CertificateTemplate.leaf
        young.notBefore = "20240101000000Z"
        #expect(try refused(TestStore(leaf: young)) == .certificateExpired)
        var old = CertificateTemplate.intermediate
        old.notAfter = "20230101000000Z"
        #expect(try refused(TestStore(intermediate: old)) == .certificateExpired)
    }

    @Test func `a root of the same name is not trusted for receipts, even with the same key`() throws {
        let impostor = try ReceiptStore()
        let bytes = try impostor.sign()
        #expect(refusal { try store.verifier.verify(bytes) } == .untrustedRoot)
        let reissued = try CertificateTemplate.root.issue(for: store.chain.rootKey, by: nil)
        #expect(try store.refusal { $0.certificates[2] = reissued.der } == .untrustedRoot)
        #expect(reissued.isSameAuthority(as: store.chain.root), "what would be enough for a JWS")
        let apple = ReceiptVerifier(configuration: .init(bundleIDs: nil, environments: nil))
        #expect(refusal { try apple.verify(try store.sign()) } == .untrustedRoot)
        var configuration = store.configuration
        configuration.trustAnchors = [try TrustAnchor(fingerprint: Hex.encode(store.chain.root.fingerprint))]
        #expect(refusal { try ReceiptVerifier(configuration: configuration).verify(store.sign()) } == nil)
    }

    @Test func `Xcode's one certificate is accepted only for receipts of Xcode`() throws {
        var template = CertificateTemplate.root
        template.keyUsage = "critical,digitalSignature,keyCertSign"
        let key = try SigningKey.generate()
        let only = try template.issue(for: key, by: nil)
        let signer = try ReceiptSigner(key: key, certificates: [only])
        var receipt = ReceiptStore.receipt()
        receipt.receiptType = "Xcode"
        let bytes = try signer.sign(receipt)
        var configuration = ReceiptVerifier.Configuration(
            bundleIDs: nil, environments: [.xcode, .sandbox], trustAnchors: [TrustAnchor(only)])
        func refused(_ bytes: [UInt8]) -> SignedDataError.Code? {
            refusal { try ReceiptVerifier(configuration: configuration).verify(bytes) }
        }
        #expect(refused(bytes) == nil)
        #expect(
            refused(try signer.sign(ReceiptStore.receipt())) == .untrustedRoot,
            "the certificate is refused for the sandbox")
        configuration.environments = nil
        #expect(refused(bytes) == .chainLength)
        configuration.environments = [.sandbox]
        #expect(refused(bytes) == .chainLength)
        configuration.environments = [.xcode]
        configuration.trustAnchors = [TrustAnchor(try template.issue(for: key, by: nil))]
        #expect(refused(bytes) == .untrustedRoot, "another certificate of the same key")
        configuration.trustAnchors = [TrustAnchor(localKey: key.verificationKey)]
        #expect(refused(bytes) == nil)
        configuration.trustAnchors = [TrustAnchor(localKey: try SigningKey.generate().verificationKey)]
        #expect(refused(bytes) == .untrustedRoot)
    }

    @Test func `a refused chain stays refused`() throws {
        var configuration = store.configuration
        configuration.trustAnchors = []
        let bytes = try store.sign()
        let verifier = ReceiptVerifier(configuration: configuration)
        for _ in 0..<3 { #expect(refusal { try verifier.verify(bytes) } == .untrustedRoot) }
    }
}
