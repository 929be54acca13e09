import COpenSSL
import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

/// Known attacks on implementations of CMS and of RSA signatures, each on an otherwise valid receipt.
@Suite struct ReceiptAttackTests {
    let store: ReceiptStore

    init() throws { store = try ReceiptStore() }

    // MARK: - The container

    /// Signed attributes are a SET, as is a receipt's content. Neither may be accepted as the other, although RFC 5652
    /// section 5.4 signs both with the same key.
    @Test func `a signature over attributes is not accepted for content, nor one over content for attributes`() throws {
        var container = try store.container()
        let attributes = try container.usualAttributes()
        container.payload = DERWriter.element(BERTag.set, attributes.joined())
        #expect(OpenSSLJudge.accepts(try container.bytes(), root: store.chain.root))
        #expect(refusal { try store.verifier.verify(try container.bytes()) } == .payloadMalformed)

        let receipt = ReceiptStore.receipt().der
        var reader = try store.container()
        reader.signature = try ReceiptContainer.sign(receipt, reader.key, .sha256)
        // The receipt's own attributes, signed by the store, in the place of signed attributes.
        reader.signedAttributes = [Array(receipt.dropFirst(receipt[1] < 0x80 ? 2 : Int(receipt[1] & 0x7F) + 2))]
        reader.payload = ReceiptStore.receipt(purchases: 9).der
        #expect(refusal { try store.verifier.verify(try reader.bytes()) } == .malformed)
    }

    @Test func `a receipt has exactly one content, of the type data`() throws {
        let container = try store.container()
        let whole = try container.bytes()
        let data = DERWriter.objectIdentifier(CMSIdentifier.data)
        let octets = DERWriter.element(BERTag.octetString, container.payload)
        func refused(_ encapsulated: [UInt8]...) throws -> SignedDataError.Code? {
            let usual = DERWriter.sequence(data, DERWriter.element(BERTag.context(0), octets))
            let place = try #require(whole.firstRange(of: usual))
            let start = try #require(whole.firstRange(of: [2, 1, 1])).lowerBound
            let body = Array(whole[start..<place.lowerBound] + encapsulated.joined() + whole[place.upperBound...])
            let signed = DERWriter.element(BERTag.context(0), DERWriter.element(BERTag.sequence, body))
            let bytes = DERWriter.sequence(DERWriter.objectIdentifier(CMSIdentifier.signedData), signed)
            return refusal { try store.verifier.verify(bytes) }
        }
        let explicit = DERWriter.element(BERTag.context(0), octets)
        #expect(try refused(DERWriter.sequence(data, explicit)) == nil)
        let malformed: [(String, [UInt8])] = [
            ("detached", DERWriter.sequence(data)),
            ("detached by an empty field", DERWriter.sequence(data, DERWriter.element(BERTag.context(0), []))),
            ("twice in one field", DERWriter.sequence(data, DERWriter.element(BERTag.context(0), octets + octets))),
            ("twice in two fields", DERWriter.sequence(data, explicit, explicit)),
            ("not wrapped", DERWriter.sequence(data, octets)),
            ("no octet string", DERWriter.sequence(data, DERWriter.element(BERTag.context(0), container.payload))),
            (
                "pieces that are no octet strings",
                DERWriter.sequence(
                    data,
                    DERWriter.element(
                        BERTag.context(0), DERWriter.element(BERTag.constructedOctetString, container.payload)))
            ),
            ("a NULL after the content", DERWriter.sequence(data, explicit, DERWriter.null)),
        ]
        for (name, encapsulated) in malformed { #expect(try refused(encapsulated) == .malformed, "\(name)") }
        let usual = DERWriter.sequence(data, explicit)
        #expect(try refused(usual, usual) == .malformed, "two contents")
    }

    @Test func `only one form of signers and certificates is accepted`() throws {
        let keyIdentifier = DERWriter.element(0x80, [UInt8](repeating: 7, count: 20))
        let whole = try store.container().bytes()
        let identity = try store.container().signerIdentity
        let named = DERWriter.element(BERTag.sequence, identity)
        // A key identifier in place of issuer and serial number, in version 3 (RFC 5652 section 5.3).
        for version: UInt8 in [1, 3] {
            var bytes = whole
            let place = try #require(bytes.lastRange(of: [2, 1, 1] + named))
            bytes.replaceSubrange(place, with: [2, 1, version] + keyIdentifier)
            #expect(refusal { try store.verifier.verify(bytes) } == .malformed)
        }
        let cases: [(String, SignedDataError.Code, (inout ReceiptContainer) throws -> Void)] = [
            ("two good signers", .malformed, { $0.moreSigners = [try Self.signer(of: $0)] }),
            ("a NULL after the signer's name", .chainInvalid, { $0.signerIdentity += DERWriter.null }),
            ("another form of certificate", .certificateMalformed, { $0.certificates[1][0] = 0xA0 }),
            ("a certificate of indefinite length", .certificateMalformed, { $0.certificates[1][1] = 0x80 }),
            ("signed attributes after the signature", .malformed, { $0.afterSignature = [0xA0, 0] }),
            ("a second set of signers", .malformed, { $0.afterCertificates = [0x31, 0] }),
        ]
        for (name, code, change) in cases {
            let refused = try store.refusal(change)
            #expect(refused == code, "\(name)")
        }
    }

    private static func signer(of container: ReceiptContainer) throws -> [UInt8] {
        let bytes = try container.bytes()
        let place = try #require(
            bytes.lastRange(of: [2, 1, 1] + DERWriter.element(BERTag.sequence, container.signerIdentity)))
        return DERWriter.element(BERTag.sequence, Array(bytes[place.lowerBound...]))
    }

    @Test func `a certificate with the signer's name and number but another key proves nothing`() throws {
        let chain = store.chain
        let copy = try #require(X509_dup(chain.leaf.pointer))
        defer { X509_free(copy) }
        let key = try SigningKey.generate()
        #expect(X509_set_pubkey(copy, key.pointer) == 1)
        #expect(X509_sign(copy, chain.intermediateKey.pointer, EVP_sha256()) > 0)
        let otherKeyed = try #require(OpenSSL.der { i2d_X509(copy, $0) })
        #expect(try store.refusal { $0.certificates[0] = otherKeyed } == .signatureInvalid)
        #expect(try store.refusal { $0.certificates.insert(otherKeyed, at: 0) } == .chainLength)
        #expect(X509_sign(copy, key.pointer, EVP_sha256()) > 0)
        let forged = try #require(OpenSSL.der { i2d_X509(copy, $0) })
        #expect(
            try store.refusal {
                $0.certificates[0] = forged
                $0.key = key
            } == .chainInvalid)
    }

    // MARK: - The signature

    /// PKCS #1 version 1.5 (RFC 8017 section 8.2.2) compares the whole encoded message. An implementation that parses it
    /// accepts signatures that anyone can compute for small exponents.
    @Test func `only one form of RSA padding is accepted`() throws {
        let store = try ReceiptStore(leafKey: ReceiptStore.rsaKey)
        let container = try store.container()
        let digest = SHA256.hash(container.payload)
        let null = ReceiptContainer.algorithm(CMSIdentifier.sha256, null: true)
        func info(_ algorithm: [UInt8], _ digest: [UInt8]) -> [UInt8] {
            DERWriter.sequence(algorithm, DERWriter.element(BERTag.octetString, digest))
        }
        let right = info(null, digest)
        func message(_ info: [UInt8], type: UInt8 = 1, filler: UInt8 = 0xFF, after: Int = 0) -> [UInt8] {
            let count = 256 - 3 - info.count - after
            return [0, type] + [UInt8](repeating: filler, count: count) + [0] + info
                + [UInt8](repeating: 0xFF, count: after)
        }
        func refused(_ message: [UInt8]) throws -> SignedDataError.Code? {
            try store.refusal { $0.signature = try Self.rawRSA(message) }
        }
        #expect(try refused(message(right)) == nil)
        let extra = DERWriter.sequence(DERWriter.objectIdentifier(CMSIdentifier.sha256), DERWriter.null, DERWriter.null)
        let long: [UInt8] = [0x30, 0x81, UInt8(right.count - 2)] + right.dropFirst(2)
        let forged: [(String, [UInt8])] = [
            ("bytes after the digest", message(right, after: 100)),
            ("eight bytes of padding", message(right, after: 256 - 3 - right.count - 8)),
            ("another block type", message(right, type: 2)), ("another padding byte", message(right, filler: 0xFE)),
            ("no NULL", message(info(ReceiptContainer.algorithm(CMSIdentifier.sha256, null: false), digest))),
            ("more than NULL", message(info(extra, digest))), ("a length in the long form", message(long)),
            (
                "the name of another digest",
                message(info(ReceiptContainer.algorithm(CMSIdentifier.sha1, null: true), digest))
            ),
            ("a longer digest", message(info(null, digest + [0]))),
            ("a shorter digest", message(info(null, digest.dropLast()))),
            ("the digest alone", message(digest)), ("no digest", message([])),
            ("the digest before the padding", [0, 1] + right + [UInt8](repeating: 0xFF, count: 254 - right.count)),
        ]
        for (name, message) in forged {
            let code = try refused(message)
            #expect(code == .signatureInvalid || code == .digestMismatch, "\(name): \(String(describing: code))")
        }
        for count in [0, 1, 255] {
            #expect(
                try store.refusal { $0.signature = [UInt8](repeating: 0, count: count) } == .signatureInvalid)
        }
        let signature = try Self.rawRSA(message(right))
        #expect(try store.refusal { $0.signature = [0] + signature } == .signatureInvalid)
    }

    /// Applies the private key to a message of 256 bytes.
    private static func rawRSA(_ message: [UInt8]) throws -> [UInt8] {
        let context = EVP_PKEY_CTX_new_from_pkey(nil, ReceiptStore.rsaKey.pointer, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: 256)
        var count = signature.count
        guard EVP_PKEY_sign_init(context) == 1, EVP_PKEY_CTX_set_rsa_padding(context, RSA_NO_PADDING) == 1,
            EVP_PKEY_sign(context, &signature, &count, message, message.count) == 1
        else { throw OpenSSL.failed("sign for a test") }
        return signature
    }

    @Test func `only one encoding of an ECDSA signature is accepted`() throws {
        let container = try store.container()
        let der = try ReceiptContainer.sign(container.payload, container.key, .sha256)
        let raw = try #require(ECDSASignature.raw(fromDER: der))
        func number(_ bytes: some Sequence<UInt8>) -> [UInt8] { DERWriter.element(BERTag.integer, Array(bytes)) }
        let (r, s) = (Array(raw.prefix(32)), Array(raw.suffix(32)))
        let forms: [[UInt8]] = [
            raw, der + [0], DERWriter.sequence(number([0, 0] + r), number([0] + s)),
            DERWriter.sequence(number([0] + r), number([0] + s), DERWriter.null), [0x30, 0x81] + der.dropFirst(),
            [0x30, 0x80] + der.dropFirst(2) + [0, 0], DERWriter.sequence(number([]), number([])),
            DERWriter.sequence(number([0]), number([0])),
        ]
        for (index, form) in forms.enumerated() {
            #expect(try store.refusal { $0.signature = form } == .signatureInvalid, "\(index)")
        }
        #expect(try store.refusal { $0.signature = der } == nil)
    }

    // MARK: - The content

    @Test func `extreme types are not truncated, and invalid dates are kept unread`() throws {
        func attribute(_ type: [UInt8], _ value: [UInt8], version: [UInt8] = [2, 1, 1]) -> [UInt8] {
            DERWriter.sequence(type, version, DERWriter.element(BERTag.octetString, value))
        }
        let date = DERWriter.ia5String("2023-11-14T22:13:20Z")
        let good = [
            attribute([2, 1, 0], DERWriter.utf8String("ProductionSandbox")),
            attribute([2, 1, 2], DERWriter.utf8String("com.example")), attribute([2, 1, 12], date),
        ]
        func verified(_ more: [UInt8]...) throws -> AppReceipt {
            var container = try store.container()
            container.payload = DERWriter.element(BERTag.set, (more + good).joined())
            return try store.verifier.verify(try container.bytes()).receipt
        }
        // 2⁶³ − 1, −2⁶³, 2³² + 2 and −254 must not be truncated to 2.
        let far: [[UInt8]] = [
            DERWriter.integer(.max), DERWriter.integer(.min), DERWriter.integer(1 << 32 + 2),
            DERWriter.integer(-254), DERWriter.integer(1 << 16 + 2), DERWriter.integer(-1),
        ]
        for type in far {
            let receipt = try verified(attribute(type, DERWriter.utf8String("com.attacker")))
            #expect(receipt.bundleID == "com.example")
            #expect(receipt.otherAttributes.count == 1)
        }
        #expect(throws: SignedDataError(.payloadMalformed, "")) {
            try verified(attribute([2, 9, 1, 0, 0, 0, 0, 0, 0, 0, 2], DERWriter.utf8String("com.attacker")))
        }
        #expect(try verified(attribute([2, 1, 3], DERWriter.utf8String("7"), version: far[0])).appVersion == "7")
        for text in [
            "2023-02-30T00:00:00Z", "2023-13-01T00:00:00Z", "0000-00-00T00:00:00Z", "2023-11-14T24:00:00Z",
            "-2023-11-14T22:13:20Z", "12023-11-14T22:13:20Z", "2023-11-14T22:13:20", "2023-11-14T22:13:20+99:00",
            "٢٠٢٣-11-14T22:13:20Z", "2023-11-14T22:13:20Z\0", "令和5年11月14日",
        ] {
            let receipt = try verified(attribute([2, 1, 21], DERWriter.ia5String(text)))
            #expect(receipt.expirationDate == nil, "\(text)")
            #expect(receipt.otherAttributes.count == 1, "kept unread")
        }
        for (text, seconds) in [
            ("9999-12-31T23:59:59-23:59", 253_402_387_139.0), ("0001-01-01T00:00:00+00:00", -62_135_596_800),
            ("2566-11-14T22:13:20Z", 18_835_452_800),
        ] {
            let receipt = try verified(attribute([2, 1, 21], DERWriter.ia5String(text)))
            #expect(receipt.expirationDate == Date(timeIntervalSince1970: seconds), "\(text)")
        }
    }
}
