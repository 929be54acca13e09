import Foundation
import StoreModel

/// A receipt whose signature and certificates were verified. Only `ReceiptVerifier` creates it, so a function that
/// takes one needs no check of its own.
public struct VerifiedReceipt: Sendable {
    /// The receipt.
    public let receipt: AppReceipt
    /// The bytes of the content as they were signed.
    public let payloadBytes: ArraySlice<UInt8>
    /// The date on which the store made the receipt, as the receipt states it.
    public let creationDate: Date
    /// The certificates of the signer.
    package let chain: CertificateChain

    private let encodedBundleID: ArraySlice<UInt8>
    private let sha256: [UInt8]?

    init(
        _ payload: ReceiptPayload, payloadBytes: ArraySlice<UInt8>, sha256: [UInt8]?, creationDate: Date,
        chain: CertificateChain
    ) {
        receipt = payload.receipt
        self.payloadBytes = payloadBytes
        self.creationDate = creationDate
        self.chain = chain
        encodedBundleID = payload.encodedBundleID
        self.sha256 = sha256
    }

    /// The SHA-256 of `payloadBytes`, which identifies the receipt. It does not depend on the signature.
    public var payloadDigest: [UInt8] { sha256 ?? payloadBytes.withUnsafeBytes { MessageDigest.sha256($0) } }

    /// Checks that the receipt is for a device: its hash (attribute 5) is the SHA-1 of the device identifier, the
    /// opaque value (4) and the attribute with the bundle id (2) (Apple: Validating receipts on the device).
    ///
    /// - Parameter device: The device.
    /// - Throws: `SignedDataError` with `deviceMismatch` if the receipt is for another device or for none.
    public func check(_ device: DeviceIdentifier) throws(SignedDataError) {
        guard let hash = receipt.sha1Hash, let opaqueValue = receipt.opaqueValue, !encodedBundleID.isEmpty else {
            throw SignedDataError(
                .deviceMismatch,
                "The receipt is not bound to a device: it lacks the hash (5), the opaque value (4) or the bundle id (2)."
            )
        }
        let expected = try device.receiptHash(opaqueValue: opaqueValue, encodedBundleID: encodedBundleID)
        guard hash == expected else {
            throw SignedDataError(.deviceMismatch, "The receipt was made for another device.")
        }
    }
}

extension VerifiedReceipt: Equatable {
    /// Returns whether the same bytes were signed.
    public static func == (left: VerifiedReceipt, right: VerifiedReceipt) -> Bool {
        left.payloadBytes == right.payloadBytes
    }
}

/// The content of a receipt that was not verified. Show it to developers, but never base a decision on it.
package struct UnverifiedReceipt: Sendable {
    /// The content.
    package let unverifiedReceipt: AppReceipt
    /// The bytes of the content.
    package let unverifiedPayloadBytes: ArraySlice<UInt8>
    /// The bytes of the certificates, as in the container.
    private let encodedCertificates: [[UInt8]]

    /// The readable certificates, the leaf first. They are parsed at each access.
    package var unverifiedCertificates: [Certificate] { encodedCertificates.compactMap { try? Certificate(der: $0) } }

    /// Decodes a receipt in DER or BER. Throws `malformed`, `unsupportedAlgorithm`, `legacyReceipt`,
    /// `payloadMalformed`, or `tooLarge` above 4 MiB or 100,000 attributes.
    package init(unverified document: [UInt8]) throws(SignedDataError) {
        let limits = ReceiptVerifier.Configuration(bundleIDs: nil, environments: nil)
        try ReceiptVerifier.checkForm(document, maximumLength: limits.maximumLength)
        let result = document.withUnsafeBytes { bytes in
            Result<(ArraySlice<UInt8>, [[UInt8]]), SignedDataError> { () throws(SignedDataError) in
                let container = try CMSSignedData(bytes)
                let places = (try? container.certificates(in: bytes)) ?? []
                return (container.content(of: document, bytes), places.map { Array(bytes[$0]) })
            }
        }
        let (content, certificates) = try result.get()
        let payload = try ReceiptPayload(content, maximumAttributes: limits.maximumAttributes)
        unverifiedReceipt = payload.receipt
        unverifiedPayloadBytes = content
        encodedCertificates = certificates
    }
}
