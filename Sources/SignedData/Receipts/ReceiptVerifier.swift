import Foundation
import Primitives
import StoreModel

/// Verifies app receipts, the PKCS #7 files of the App Store (RFC 5652; Apple: Validating receipts on the device).
///
/// The verifier checks the size and form first, and then the certificates up to a trusted root. The signature follows,
/// and the creation date, at which the certificates must have been valid. The environment, the bundle and the requested
/// conditions come last. The first failure is thrown as a `SignedDataError`.
///
/// The profile is strict: a receipt has one accepted encoding, so that no byte can be changed without a new signature.
/// OpenSSL accepts more encodings. Receipts that OpenSSL refuses are also refused here.
///
/// All threads can share one verifier. It caches accepted certificates. It checks their dates for each receipt, and
/// never caches a failure.
///
///     let verifier = ReceiptVerifier(
///         configuration: .init(bundleIDs: ["com.example"], environments: [.production, .sandbox]))
///     let verified = try verifier.verify(receipt, for: DeviceIdentifier(identifierForVendor))
///     verified.receipt.inAppPurchases
public final class ReceiptVerifier: Sendable {
    /// The trusted roots and accepted receipts.
    public let configuration: Configuration
    private let chains: Locked<BoundedCache<CertificateSetKey, ReceiptSignerChain>>

    /// Creates a verifier.
    ///
    /// - Parameter configuration: The trusted roots and accepted receipts.
    public init(configuration: Configuration) {
        self.configuration = configuration
        chains = Locked(BoundedCache(capacity: configuration.chainCacheCapacity))
    }

    /// Verifies a receipt in DER or BER. `ReceiptEncoding.bytes(of:)` decodes base64.
    ///
    /// - Parameters:
    ///   - receipt: The bytes of the receipt.
    ///   - device: The device that the receipt must be for, or `nil` for any.
    ///   - appVersion: The version of the app that the receipt must be for, or `nil` for any.
    /// - Returns: The verified receipt.
    /// - Throws: `SignedDataError` for the first check that fails.
    public func verify(
        _ receipt: [UInt8], for device: DeviceIdentifier? = nil, appVersion: String? = nil
    ) throws(SignedDataError) -> VerifiedReceipt {
        let verified = try verifySigned(receipt)
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

    private func verifySigned(_ document: [UInt8]) throws(SignedDataError) -> VerifiedReceipt {
        try ReceiptVerifier.checkForm(document, maximumLength: configuration.maximumLength)
        let result = document.withUnsafeBytes { bytes in
            Result<ReceiptSignature, SignedDataError> { () throws(SignedDataError) in
                try verifySignature(of: document, bytes)
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

    /// The result of the checks before the content is decoded.
    private struct ReceiptSignature {
        let signer: ReceiptSignerChain
        /// The key under which `signer` is cached, if it is new.
        let newKey: CertificateSetKey?
        let payload: ArraySlice<UInt8>
        /// The SHA-256 of the payload, if the signature is over it.
        let sha256: [UInt8]?
    }

    private func verifySignature(
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
        // A copy, because a slice would keep the whole receipt in memory.
        return (chain, CertificateSetKey(Array(document[container.certificateSet])[...]))
    }

    /// Checks the size and the first bytes. Throws `tooLarge`, `legacyReceipt` or `malformed`.
    static func checkForm(_ document: [UInt8], maximumLength: Int) throws(SignedDataError) {
        guard document.count <= maximumLength else {
            throw SignedDataError(
                .tooLarge, "The receipt has \(document.count) bytes; at most \(maximumLength) are accepted.")
        }
        if document.first == BERTag.sequence { return }
        guard !ReceiptEncoding.isLegacy(document) else {
            throw SignedDataError(
                .legacyReceipt, "This is a transaction receipt from before iOS 7; send the app receipt instead.")
        }
        throw SignedDataError(.malformed, "The receipt is not a PKCS #7 container.")
    }
}

extension CMSSignedData {
    /// Returns the content: a part of the document, or the joined pieces.
    func content(of document: [UInt8], _ bytes: UnsafeRawBufferPointer) -> ArraySlice<UInt8> {
        if contentPieces.count == 1 { return document[contentPieces[0]] }
        var content: [UInt8] = []
        content.reserveCapacity(contentPieces.reduce(0) { $0 + $1.count })
        for piece in contentPieces { content.append(contentsOf: bytes[piece]) }
        return content[...]
    }

    /// Verifies the signature (RFC 5652 section 5.6). With signed attributes, the signature is over them, and they must
    /// contain the digest of the content. Without them, it is over the content.
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
        throw SignedDataError(.signatureInvalid, "The signature does not match the receipt and the leaf certificate.")
    }

    private static let digestMismatch = SignedDataError(
        .digestMismatch, "The receipt's content was changed: its digest is not the signed one.")
}

/// The certificates of a receipt as a key. Whole keys are compared; the hash uses the part in which leaves differ.
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

    /// Hashes the first octets, which contain the leaf's serial number. Only accepted certificates are cached, so an
    /// attacker cannot fill the cache with keys of one hash.
    func hash(into hasher: inout Hasher) { bytes.prefix(64).withUnsafeBytes { hasher.combine(bytes: $0) } }
}
