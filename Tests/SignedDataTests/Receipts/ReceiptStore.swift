import COpenSSL
import Foundation
import Primitives
import StoreModel

@testable import SignedData

/// A small store that makes receipts for `com.example` in the sandbox, with or without faults.
struct ReceiptStore {
    static let creationDate = Date(timeIntervalSince1970: 1_700_000_000)
    static let device = DeviceIdentifier(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)))

    let chain: SigningChain

    init(leafKey: SigningKey? = nil) throws { chain = try TestStore(leafKey: leafKey).chain }
    init(_ store: TestStore) { chain = store.chain }

    /// One RSA key for all tests, because generating one is slow.
    static let rsaKey = SigningKey(owning: souk_generate_rsa_key(2048)!)

    static func purchase(_ number: Int) -> AppReceipt.InAppPurchase {
        let date = creationDate.addingTimeInterval(Double(number - 1000) * 86400)
        return AppReceipt.InAppPurchase(
            quantity: 1, productID: "com.example.pro.monthly",
            transactionID: TransactionID(unchecked: "\(2_000_000_000 + number)"),
            purchaseDate: date, originalTransactionID: "2000000001", originalPurchaseDate: creationDate,
            productType: .autoRenewableSubscription, expiresDate: date.addingTimeInterval(86400),
            webOrderLineItemID: "\(340_000_558_053_130 + number)", isTrialPeriod: false, isInIntroOfferPeriod: true,
            promotionalOfferID: "com.example.offer", otherAttributes: [ReceiptAttribute(type: 1709, text: "")])
    }

    static func receipt(purchases: Int = 1) -> AppReceipt {
        AppReceipt(
            receiptType: "ProductionSandbox", bundleID: "com.example", appVersion: "42", originalAppVersion: "1.0",
            creationDate: creationDate, opaqueValue: [UInt8](0..<16),
            inAppPurchases: (0..<purchases).map { purchase($0 + 1) },
            otherAttributes: [ReceiptAttribute(type: 6, value: [0xDE, 0xAD]), ReceiptAttribute(type: 1, integer: 0)])
    }

    var configuration: ReceiptVerifier.Configuration {
        .init(bundleIDs: ["com.example"], environments: [.sandbox], trustAnchors: [TrustAnchor(chain.root)])
    }

    var verifier: ReceiptVerifier { ReceiptVerifier(configuration: configuration) }

    func sign(_ receipt: AppReceipt = receipt(), for device: DeviceIdentifier? = nil) throws -> [UInt8] {
        try ReceiptSigner(chain).sign(receipt, for: device)
    }

    /// The parts of a receipt's container, which tests change before they are signed and encoded.
    func container(_ receipt: AppReceipt = receipt()) throws -> ReceiptContainer {
        try ReceiptContainer(payload: receipt.der, certificates: chain.certificates, key: chain.leafKey)
    }

    func refusal(
        of receipt: AppReceipt = receipt(), _ change: (inout ReceiptContainer) throws -> Void
    ) throws -> SignedDataError.Code? {
        var container = try container(receipt)
        try change(&container)
        let bytes = try container.bytes()
        return SignedDataTests.refusal { try verifier.verify(bytes) }
    }
}

/// A container of signed data (RFC 5652) with replaceable parts.
struct ReceiptContainer {
    /// The encoding of the wrappers around the content.
    enum Form { case distinguished, indefinite, pieces }

    var payload: [UInt8]
    var certificates: [[UInt8]]
    var key: SigningKey
    var isRSA: Bool
    var digest = ReceiptDigest.sha256
    var form = Form.distinguished
    var contentType = CMSIdentifier.data
    var version = DERWriter.integer(1)
    var digestSet: [[UInt8]]?
    var signerVersion = DERWriter.integer(1)
    var signerIdentity: [UInt8]
    var digestAlgorithm: [UInt8]?
    var signatureAlgorithm: [UInt8]?
    /// The signed attributes in their set, or `nil` to sign the content itself.
    var signedAttributes: [[UInt8]]?
    var signature: [UInt8]?
    var afterCertificates: [UInt8] = []
    var afterSignature: [UInt8] = []
    var moreSigners: [[UInt8]] = []
    var afterEnd: [UInt8] = []

    init(payload: [UInt8], certificates: [Certificate], key: SigningKey) throws {
        self.payload = payload
        self.certificates = certificates.map(\.der)
        self.key = key
        isRSA = EVP_PKEY_get_base_id(key.pointer) == EVP_PKEY_RSA
        let leaf = certificates[0].der
        signerIdentity = try leaf.withUnsafeBytes { bytes in
            let outline = try CertificateOutline(0..<bytes.count, in: bytes)
            return Array(bytes[outline.issuer]) + bytes[outline.serialNumber]
        }
    }

    static func algorithm(_ identifier: [UInt8], null: Bool) -> [UInt8] {
        let identifier = DERWriter.objectIdentifier(identifier)
        return null ? DERWriter.sequence(identifier, DERWriter.null) : DERWriter.sequence(identifier)
    }

    static func attribute(_ identifier: [UInt8], _ values: [UInt8]...) -> [UInt8] {
        DERWriter.sequence(DERWriter.objectIdentifier(identifier), DERWriter.set(values))
    }

    /// The usual signed attributes: the type and digest of the content, and the time.
    func usualAttributes() throws -> [[UInt8]] {
        let time: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x05]
        return [
            Self.attribute(CMSIdentifier.contentType, DERWriter.objectIdentifier(CMSIdentifier.data)),
            Self.attribute(time, DERWriter.element(BERTag.utcTime, Array("231114221320Z".utf8))),
            Self.attribute(
                CMSIdentifier.messageDigest, DERWriter.element(BERTag.octetString, try digest.hash(payload))),
        ].sorted { $0.lexicographicallyPrecedes($1) }
    }

    func bytes() throws -> [UInt8] {
        let digestAlgorithm = digestAlgorithm ?? Self.algorithm(digest.objectIdentifier, null: true)
        let signatureAlgorithm =
            signatureAlgorithm
            ?? (isRSA
                ? Self.algorithm(CMSIdentifier.rsaEncryption, null: true)
                : Self.algorithm(digest.withECDSA, null: false))
        let attributes = signedAttributes?.joined()
        let signed = attributes.map { DERWriter.element(BERTag.set, Array($0)) } ?? payload
        let signature = try signature ?? Self.sign(signed, key, digest)
        var signer = signerVersion + DERWriter.element(BERTag.sequence, signerIdentity) + digestAlgorithm
        if let attributes { signer += DERWriter.element(BERTag.context(0), Array(attributes)) }
        signer += signatureAlgorithm + DERWriter.element(BERTag.octetString, signature) + afterSignature
        let signers = DERWriter.set([DERWriter.element(BERTag.sequence, signer)] + moreSigners)
        let content = wrap(
            BERTag.sequence,
            DERWriter.objectIdentifier(contentType) + wrap(BERTag.context(0), octetString(payload)))
        let signedData = wrap(
            BERTag.sequence,
            version + DERWriter.element(BERTag.set, (digestSet ?? [digestAlgorithm]).joined()) + content
                + wrap(BERTag.context(0), Array(certificates.joined())) + afterCertificates + signers)
        return wrap(
            BERTag.sequence,
            DERWriter.objectIdentifier(CMSIdentifier.signedData) + wrap(BERTag.context(0), signedData)) + afterEnd
    }

    private func wrap(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        form == .distinguished ? DERWriter.element(tag, content) : [tag, 0x80] + content + [0, 0]
    }

    /// Encodes octets in pieces, nested pieces and an empty piece.
    private func octetString(_ bytes: [UInt8]) -> [UInt8] {
        func piece(_ range: Range<Int>) -> [UInt8] {
            DERWriter.element(BERTag.octetString, bytes[range.clamped(to: bytes.indices)])
        }
        switch form {
        case .distinguished: return DERWriter.element(BERTag.octetString, bytes)
        case .indefinite: return [0x24, 0x80] + piece(0..<bytes.count) + [0, 0]
        case .pieces:
            return [0x24, 0x80] + piece(0..<3) + [0x24, 0x80] + piece(3..<100) + piece(100..<100) + [0, 0]
                + DERWriter.element(BERTag.constructedOctetString, piece(100..<bytes.count)) + [0, 0]
        }
    }

    static func sign(_ message: [UInt8], _ key: SigningKey, _ digest: ReceiptDigest) throws -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var count = 1024
        var signature = [UInt8](repeating: 0, count: count)
        let name = digest == .sha1 ? "SHA1" : "SHA256"
        guard EVP_DigestSignInit_ex(context, nil, name, nil, nil, key.pointer, nil) == 1,
            EVP_DigestSign(context, &signature, &count, message, message.count) == 1
        else { throw OpenSSL.failed("sign for a test") }
        return Array(signature.prefix(count))
    }
}

/// Verifies receipts with OpenSSL.
enum OpenSSLJudge {
    /// Returns whether `CMS_verify` accepts a receipt with only this root, at its creation date.
    static func accepts(
        _ receipt: [UInt8], root: Certificate, at date: Date = ReceiptStore.creationDate
    ) -> Bool {
        defer { OpenSSL.clearErrors() }
        let container = receipt.withUnsafeBufferPointer { bytes in
            var cursor = bytes.baseAddress
            return d2i_CMS_ContentInfo(nil, &cursor, bytes.count)
        }
        guard let container else { return false }
        defer { CMS_ContentInfo_free(container) }
        guard let store = X509_STORE_new(), let parameters = X509_STORE_get0_param(store),
            let content = BIO_new(BIO_s_mem())
        else { return false }
        defer {
            X509_STORE_free(store)
            BIO_free(content)
        }
        X509_STORE_add_cert(store, root.pointer)
        X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_ANY)
        X509_VERIFY_PARAM_set_time(parameters, time_t(date.timeIntervalSince1970))
        return CMS_verify(container, nil, store, nil, content, UInt32(CMS_BINARY)) == 1
    }
}

/// A generator of the same numbers in every run (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
