import Foundation
import Primitives
import StoreModel

/// Verifies app receipts, the PKCS #7 files of the App Store (RFC 5652; Apple: Validating receipts on the device).
///
/// In this order: the size and form; the certificates up to a trusted root; the signature; the creation date, at which the
/// certificates must have been valid; environment, bundle, and what else was asked for. The first thing that does not hold
/// is thrown as a `SignedDataError`; its code is one of WIRE's list.
///
/// The profile is strict: every byte of a receipt has one possible value, given the others. OpenSSL is laxer in places;
/// what it refuses is refused here too.
///
/// One verifier serves any number of threads. Certificates it accepted are kept by their bytes; when they were valid is
/// judged anew for each receipt, and a failure is never kept.
///
///     let verifier = ReceiptVerifier(
///         configuration: .init(bundleIDs: ["com.example"], environments: [.production, .sandbox]))
///     let verified = try verifier.verify(receipt, for: DeviceIdentifier(identifierForVendor))
///     verified.receipt.inAppPurchases
public final class ReceiptVerifier: Sendable {
    public let configuration: Configuration
    private let chains: Locked<BoundedCache<CertificateSetKey, ReceiptSignerChain>>

    public init(configuration: Configuration) {
        self.configuration = configuration
        chains = Locked(BoundedCache(capacity: configuration.rememberedChains))
    }

    /// Verifies a receipt in DER or BER (`ReceiptEncoding.bytes(of:)` makes it of base64).
    ///
    /// - Parameters:
    ///   - receipt: The bytes of the receipt.
    ///   - device: The device the receipt must have been made for; `nil` does not check it.
    ///   - appVersion: The version of the app the receipt must name; `nil` does not check it.
    public func verify(
        _ receipt: [UInt8], for device: DeviceIdentifier? = nil, appVersion: String? = nil
    ) throws(SignedDataError) -> VerifiedReceipt {
        let verified = try judge(receipt)
        try configuration.check(verified.receipt)
        if let appVersion, verified.receipt.appVersion != appVersion {
            throw SignedDataError(
                .wrongAppVersion,
                "The receipt is for version \(Excerpt(verified.receipt.appVersion ?? "")) of the app, not for this one."
            )
        }
        if let device { try verified.check(device) }
        return verified
    }

    // MARK: - The way of one receipt

    private func judge(_ document: [UInt8]) throws(SignedDataError) -> VerifiedReceipt {
        try ReceiptVerifier.checkForm(document, maximumLength: configuration.maximumLength)
        let result = document.withUnsafeBytes { bytes in
            Result<ReceiptSignature, SignedDataError> { () throws(SignedDataError) in
                try judgeSignature(of: document, bytes)
            }
        }
        let signature = try result.get()
        let payload = try ReceiptPayload(signature.payload, maximumAttributes: configuration.maximumAttributes)
        guard let creationDate = payload.receipt.creationDate else { throw Configuration.missing("creation date") }
        let chain = signature.signer.chain
        try chain.check(at: configuration.chainDate ?? creationDate)
        try chain.check(signing: payload.receipt.environment)
        if let key = signature.newKey { chains.withLock { $0.insert(signature.signer, for: key) } }
        return VerifiedReceipt(
            payload, payloadBytes: signature.payload, sha256: signature.sha256, creationDate: creationDate, chain: chain
        )
    }

    /// What was found before the content was read.
    private struct ReceiptSignature {
        let signer: ReceiptSignerChain
        /// The key to keep `signer` under, when it was judged just now.
        let newKey: CertificateSetKey?
        let payload: ArraySlice<UInt8>
        /// The payload's SHA-256, when the signature is over that.
        let sha256: [UInt8]?
    }

    private func judgeSignature(
        of document: [UInt8], _ bytes: UnsafeRawBufferPointer
    ) throws(SignedDataError) -> ReceiptSignature {
        let container = try CMSSignedData(bytes)
        let (signer, newKey) = try signer(of: container, in: document, bytes)
        try signer.check(signerIdentity: container.signerIdentity, in: bytes)
        let payload = container.content(of: document, bytes)
        let digest = try container.algorithm.digest.hash(
            container.contentPieces.map { UnsafeRawBufferPointer(rebasing: bytes[$0]) })
        try container.checkSignature(over: digest, with: signer.key, in: bytes)
        return ReceiptSignature(
            signer: signer, newKey: newKey, payload: payload,
            sha256: container.algorithm.digest == .sha256 ? digest : nil)
    }

    private func signer(
        of container: CMSSignedData, in document: [UInt8], _ bytes: UnsafeRawBufferPointer
    ) throws(SignedDataError) -> (ReceiptSignerChain, newKey: CertificateSetKey?) {
        let key = CertificateSetKey(document[container.certificateSet])
        if let known = chains.withLock({ $0.value(for: key) }) { return (known, nil) }
        let places: [Range<Int>]
        do { places = try container.certificates(in: bytes) } catch {
            throw SignedDataError(
                .certificateMalformed, "The certificates cannot be read: \(error).", underlying: error)
        }
        let chain = try ReceiptSignerChain(places, in: bytes, configuration: configuration)
        // A copy: what is kept must not keep the whole receipt.
        return (chain, CertificateSetKey(Array(document[container.certificateSet])[...]))
    }

    /// Throws `tooLarge`, `legacyReceipt` or `malformed` for what is no receipt at the first look.
    static func checkForm(_ document: [UInt8], maximumLength: Int) throws(SignedDataError) {
        guard document.count <= maximumLength else {
            throw SignedDataError(
                .tooLarge, "The receipt has \(document.count) bytes; at most \(maximumLength) are accepted.")
        }
        if document.first == BERTag.sequence { return }
        guard !ReceiptEncoding.isLegacy(document) else {
            throw SignedDataError(
                .legacyReceipt, "This is a transaction receipt of before iOS 7; send the app receipt instead.")
        }
        throw SignedDataError(.malformed, "The receipt is not a PKCS #7 container.")
    }
}

extension CMSSignedData {
    /// The content: a part of the document, or put together where it is cut into pieces.
    func content(of document: [UInt8], _ bytes: UnsafeRawBufferPointer) -> ArraySlice<UInt8> {
        if contentPieces.count == 1 { return document[contentPieces[0]] }
        var content: [UInt8] = []
        content.reserveCapacity(contentPieces.reduce(0) { $0 + $1.count })
        for piece in contentPieces { content.append(contentsOf: bytes[piece]) }
        return content[...]
    }

    /// RFC 5652 section 5.6: with signed attributes the content's digest must be the one they name, and the signature is
    /// over them; without, it is over the content.
    fileprivate func checkSignature(
        over digest: [UInt8], with key: ReceiptKey, in bytes: UnsafeRawBufferPointer
    ) throws(SignedDataError) {
        var signed = digest
        if let signedAttributes {
            guard bytes[signedAttributes.messageDigest].elementsEqual(digest) else { throw Self.digestMismatch }
            signed = try algorithm.digest.hash(signedAttributes.signedBytes(in: bytes))
        }
        let signature = UnsafeRawBufferPointer(rebasing: bytes[signature])
        if try key.isValid(signature: signature, ofDigest: signed, by: algorithm) { return }
        if signedAttributes == nil, key.isValid(signature: signature, ofAnyDigest: algorithm.digest) {
            throw Self.digestMismatch
        }
        throw SignedDataError(.signatureInvalid, "The signature is not the leaf certificate's over this receipt.")
    }

    private static let digestMismatch = SignedDataError(
        .digestMismatch, "The receipt's content is not what was signed: its digest is another one.")
}

/// The certificates of a receipt as a key: compared whole, hashed by the part in which leaves differ.
private struct CertificateSetKey: Hashable {
    private let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    static func == (left: CertificateSetKey, right: CertificateSetKey) -> Bool {
        left.bytes.withUnsafeBytes { left in
            right.bytes.withUnsafeBytes { right in
                guard left.count == right.count else { return false }
                guard let one = left.baseAddress, let other = right.baseAddress else { return true }
                return memcmp(one, other, left.count) == 0
            }
        }
    }

    /// The first octets hold the leaf's serial number. Only accepted certificates are kept, so nobody can fill the cache
    /// with keys of one hash.
    func hash(into hasher: inout Hasher) { bytes.prefix(64).withUnsafeBytes { hasher.combine(bytes: $0) } }
}
