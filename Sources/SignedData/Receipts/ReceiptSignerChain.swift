import COpenSSL
import Foundation
import Primitives

/// The verified certificates of a receipt and the key for its signature. A verifier caches it by the set of
/// certificates.
final class ReceiptSignerChain: Sendable {
    let chain: CertificateChain
    let key: ReceiptKey
    /// The issuer and serial number of the leaf, which `IssuerAndSerialNumber` must contain.
    private let signerIdentity: [UInt8]

    /// Verifies the certificates at these places: leaf, intermediate and root in this order, or one certificate of
    /// Xcode.
    ///
    /// `CertificateChain` verifies the path. This initialiser also checks that no octet outside the signed part of a
    /// certificate can differ (RFC 5280 section 4.1.1), and that each signature below the root uses a digest of the SHA
    /// families. The leaf must be allowed to sign, and all keys must be strong enough.
    init(
        _ places: [Range<Int>], in bytes: UnsafeRawBufferPointer, configuration: ReceiptVerifier.Configuration
    ) throws(SignedDataError) {
        var identity: [UInt8] = []
        for (index, place) in places.enumerated() {
            let outline: CertificateOutline
            do {
                outline = try CertificateOutline(place, in: bytes)
            } catch {
                throw SignedDataError(
                    .certificateMalformed, "A certificate is not in DER: \(error).", underlying: error)
            }
            if index == 0 { identity = Array(bytes[outline.issuer]) + bytes[outline.serialNumber] }
        }
        signerIdentity = identity
        let certificates = places.map { Array(bytes[$0]) }
        chain = try CertificateChain(
            certificates,
            trusting: try Self.anchors(
                for: certificates, among: configuration.trustAnchors, acceptsLocal: configuration.acceptsLocalReceipts),
            acceptsLocal: configuration.acceptsLocalReceipts, use: .receipts)
        for certificate in chain.certificates.dropLast() where !certificate.isSignedOverSHA {
            throw SignedDataError(.chainInvalid, "A certificate is signed with a digest that is not of the SHA family.")
        }
        guard chain.leaf.maySign else {
            throw SignedDataError(.chainInvalid, "The key usage of the leaf does not allow signing.")
        }
        for certificate in chain.certificates.dropFirst() { _ = try ReceiptKey(of: certificate) }
        key = try ReceiptKey(of: chain.leaf)
    }

    /// Returns the anchors that can match the last certificate: those with its fingerprint or its bytes, and keys.
    /// Returns all anchors if the number of certificates is wrong, which `CertificateChain` reports.
    private static func anchors(
        for certificates: [[UInt8]], among anchors: [TrustAnchor], acceptsLocal: Bool
    ) throws(SignedDataError) -> [TrustAnchor] {
        guard let last = certificates.last, certificates.count == 3 || (certificates.count == 1 && acceptsLocal)
        else { return anchors }
        let fingerprint = MessageDigest.sha256(last)
        let exact = anchors.filter { anchor in
            switch anchor.form {
            case .fingerprint(let trusted): trusted == fingerprint
            case .certificate(let trusted): trusted.fingerprint == fingerprint
            case .key: true
            }
        }
        guard !exact.isEmpty else {
            throw SignedDataError(
                .untrustedRoot,
                "The last certificate, with the SHA-256 \(Hex.encode(fingerprint)), is not trusted.")
        }
        return exact
    }

    /// Throws `chainInvalid` unless the receipt names the leaf as its signer.
    func check(signerIdentity place: Range<Int>, in bytes: UnsafeRawBufferPointer) throws(SignedDataError) {
        guard bytes[place].elementsEqual(signerIdentity) else {
            throw SignedDataError(.chainInvalid, "The receipt names another signer than its first certificate.")
        }
    }
}

/// The parts of a certificate as places in its DER (RFC 5280 section 4.1).
struct CertificateOutline {
    let issuer: Range<Int>
    let serialNumber: Range<Int>

    /// Throws unless everything outside the signed part has its only possible encoding.
    init(_ place: Range<Int>, in bytes: UnsafeRawBufferPointer) throws(BERError) {
        var reader = BERReader(bytes, in: place, rules: .distinguished)
        let certificate = try reader.read(BERTag.sequence)
        try reader.requireEnd()
        var parts = reader.inside(certificate)
        let signed = try parts.read(BERTag.sequence)
        let algorithm = try parts.read(BERTag.sequence)
        let signature = try parts.read(BERTag.bitString)
        try parts.requireEnd()
        guard let unused = signature.content.first, bytes[unused] == 0 else {
            throw BERError(position: signature.start, problem: "a signature does not end with a whole octet")
        }
        var fields = parts.inside(signed)
        _ = try fields.readIfPresent(BERTag.context(0))
        serialNumber = try fields.read(BERTag.integer).whole
        let signedAlgorithm = try fields.read(BERTag.sequence)
        guard bytes[algorithm.whole].elementsEqual(bytes[signedAlgorithm.whole]) else {
            throw BERError(position: algorithm.start, problem: "the algorithm is not the one that is signed")
        }
        issuer = try fields.read(BERTag.sequence).whole
    }
}

extension Certificate {
    /// Whether the signature of the certificate uses a digest of the SHA families.
    fileprivate var isSignedOverSHA: Bool {
        var digest: Int32 = 0
        guard X509_get_signature_info(pointer, &digest, nil, nil, nil) == 1 else {
            OpenSSL.clearErrors()
            return false
        }
        return [NID_sha1, NID_sha256, NID_sha384, NID_sha512].contains(digest)
    }

    /// Whether the key usage of the certificate (RFC 5280 section 4.2.1.3), if any, allows signing documents.
    fileprivate var maySign: Bool {
        X509_get_key_usage(pointer) & UInt32(KU_DIGITAL_SIGNATURE | KU_NON_REPUDIATION) != 0
    }
}
