import Foundation
import StoreModel

/// A receipt whose signature and certificates hold. Only `ReceiptVerifier` makes one, so a function that takes one needs
/// no check of its own.
public struct VerifiedReceipt: Sendable {
    /// What was signed.
    public let receipt: AppReceipt
    /// The content's bytes as they were signed.
    public let payloadBytes: ArraySlice<UInt8>
    /// When the store made it, by its own word.
    public let creationDate: Date
    /// Who signed it.
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

    /// SHA-256 of `payloadBytes`: the identity of the receipt, whoever signed it and how often.
    public var payloadDigest: [UInt8] { sha256 ?? payloadBytes.withUnsafeBytes { MessageDigest.sha256($0) } }

    /// Throws `deviceMismatch` unless the receipt was made for this device: its hash (attribute 5) is SHA-1 over the
    /// device, the opaque value (4) and the bundle id's attribute (2) (Apple: Validating receipts on the device).
    public func check(_ device: DeviceIdentifier) throws(SignedDataError) {
        guard let hash = receipt.sha1Hash, let opaqueValue = receipt.opaqueValue, !encodedBundleID.isEmpty else {
            throw SignedDataError(
                .deviceMismatch, "The receipt is bound to no device: it lacks what the hash is made of.")
        }
        let expected = try device.receiptHash(opaqueValue: opaqueValue, encodedBundleID: encodedBundleID)
        guard hash == expected else {
            throw SignedDataError(.deviceMismatch, "The receipt was made for another device.")
        }
    }
}

extension VerifiedReceipt: Equatable {
    /// Equal when the same bytes were signed.
    public static func == (left: VerifiedReceipt, right: VerifiedReceipt) -> Bool {
        left.payloadBytes == right.payloadBytes
    }
}

/// What a receipt says without anybody having checked that it is true: for showing to people, never for deciding.
package struct UnverifiedReceipt: Sendable {
    /// The content, whatever it says.
    package let unverifiedReceipt: AppReceipt
    /// The content's bytes.
    package let unverifiedPayloadBytes: ArraySlice<UInt8>
    /// The certificates' bytes as they stand in the container.
    private let encodedCertificates: [[UInt8]]

    /// The certificates that can be read, the leaf first. They are read at each call.
    package var unverifiedCertificates: [Certificate] { encodedCertificates.compactMap { try? Certificate(der: $0) } }

    /// Takes a receipt in DER or BER apart. Throws `malformed`, `unsupportedAlgorithm`, `legacyReceipt`,
    /// `payloadMalformed`, or `tooLarge` beyond 4 megabytes or 100 000 attributes.
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
