import Foundation
import Primitives
import StoreModel

/// Signs receipts as the App Store does: a PKCS #7 container in DER with the chain and without signed attributes. All
/// threads can share one signer.
///
///     let signer = try ReceiptSigner(chain)
///     let receipt = try signer.sign(
///         AppReceipt(receiptType: "ProductionSandbox", bundleID: "com.example", creationDate: clock.now()))
///
/// The bytes for a receipt are always the same, except for the signature, because ECDSA uses random numbers.
package struct ReceiptSigner: Sendable {
    private let key: SigningKey
    private let certificates: [UInt8]
    private let signerIdentity: [UInt8]

    /// Creates a signer. Throws `certificateMalformed` if a certificate is not in DER.
    package init(_ chain: SigningChain) throws(SignedDataError) {
        try self.init(key: chain.leafKey, certificates: chain.certificates)
    }

    /// Creates a signer. The certificate of the signer is the first.
    init(key: SigningKey, certificates: [Certificate]) throws(SignedDataError) {
        self.key = key
        self.certificates = certificates.flatMap(\.der)
        let leaf = certificates[0].der
        let identity = leaf.withUnsafeBytes { bytes -> [UInt8]? in
            guard let outline = try? CertificateOutline(0..<bytes.count, in: bytes) else { return nil }
            return Array(bytes[outline.issuer]) + bytes[outline.serialNumber]
        }
        guard let identity else {
            throw SignedDataError(.certificateMalformed, "The certificate of the signer is not in DER.")
        }
        signerIdentity = identity
    }

    /// Returns a signed receipt. For a device, it computes the hash that binds the receipt to the device (attribute 5)
    /// from the opaque value and the bundle id. Throws `payloadMalformed` if one of them is missing, and
    /// `cryptographyFailed`.
    package func sign(_ receipt: AppReceipt, for device: DeviceIdentifier? = nil) throws(SignedDataError) -> [UInt8] {
        var receipt = receipt
        if let device {
            guard let opaqueValue = receipt.opaqueValue, let bundleID = receipt.bundleID else {
                throw SignedDataError(
                    .payloadMalformed, "A receipt for a device needs an opaque value and a bundle id.")
            }
            receipt.sha1Hash = try device.receiptHash(
                opaqueValue: opaqueValue, encodedBundleID: DERWriter.utf8String(bundleID.rawValue))
        }
        return try sign(payload: receipt.der)
    }

    /// Returns a container around any content.
    func sign(payload: [UInt8]) throws(SignedDataError) -> [UInt8] {
        let raw = try key.signature(of: payload)
        guard let signature = ECDSASignature.der(fromRaw: raw) else { throw OpenSSL.failed("sign") }
        let digest = DERWriter.sequence(DERWriter.objectIdentifier(CMSIdentifier.sha256), DERWriter.null)
        let signer = DERWriter.sequence(
            DERWriter.integer(1), DERWriter.element(BERTag.sequence, signerIdentity), digest,
            DERWriter.sequence(DERWriter.objectIdentifier(CMSIdentifier.ecdsaWithSHA256)),
            DERWriter.element(BERTag.octetString, signature))
        let content = DERWriter.sequence(
            DERWriter.objectIdentifier(CMSIdentifier.data),
            DERWriter.element(BERTag.context(0), DERWriter.element(BERTag.octetString, payload)))
        let signedData = DERWriter.sequence(
            DERWriter.integer(1), DERWriter.set([digest]), content,
            DERWriter.element(BERTag.context(0), certificates), DERWriter.set([signer]))
        return DERWriter.sequence(
            DERWriter.objectIdentifier(CMSIdentifier.signedData),
            DERWriter.element(BERTag.context(0), signedData))
    }
}

extension AppReceipt {
    /// The content of the receipt in DER, which `ReceiptSigner` signs.
    var der: [UInt8] {
        var attributes = ReceiptAttributeList()
        attributes.add(0, receiptType.map(DERWriter.utf8String))
        attributes.add(2, (bundleID?.rawValue).map(DERWriter.utf8String))
        attributes.add(3, appVersion.map(DERWriter.utf8String))
        attributes.add(4, opaqueValue)
        attributes.add(5, sha1Hash)
        attributes.add(12, creationDate.map(DERWriter.date))
        for purchase in inAppPurchases { attributes.add(17, purchase.der) }
        attributes.add(19, originalAppVersion.map(DERWriter.utf8String))
        attributes.add(21, expirationDate.map(DERWriter.date))
        attributes.add(otherAttributes)
        return attributes.der
    }
}

extension AppReceipt.InAppPurchase {
    fileprivate var der: [UInt8] {
        var attributes = ReceiptAttributeList()
        attributes.add(1701, quantity.map { DERWriter.integer(Int64($0)) })
        attributes.add(1702, (productID?.rawValue).map(DERWriter.utf8String))
        attributes.add(1703, (transactionID?.rawValue).map(DERWriter.utf8String))
        attributes.add(1704, purchaseDate.map(DERWriter.date))
        attributes.add(1705, (originalTransactionID?.rawValue).map(DERWriter.utf8String))
        attributes.add(1706, originalPurchaseDate.map(DERWriter.date))
        attributes.add(1707, productType?.receiptNumber.map { DERWriter.integer(Int64($0)) })
        attributes.add(1708, expiresDate.map(DERWriter.date))
        // Apple writes a number; an id that is not a number becomes a string.
        attributes.add(
            1711, webOrderLineItemID.map { id in Int64(id).map(DERWriter.integer) ?? DERWriter.utf8String(id) })
        attributes.add(1712, cancellationDate.map(DERWriter.date))
        attributes.add(1713, isTrialPeriod.map { DERWriter.integer($0 ? 1 : 0) })
        attributes.add(1719, isInIntroOfferPeriod.map { DERWriter.integer($0 ? 1 : 0) })
        attributes.add(1721, promotionalOfferID.map(DERWriter.utf8String))
        attributes.add(otherAttributes)
        return attributes.der
    }
}

/// Collects the attributes of a set.
private struct ReceiptAttributeList {
    private var elements: [[UInt8]] = []

    mutating func add(_ type: Int, version: Int = 1, _ value: (some Collection<UInt8>)?) {
        guard let value else { return }
        elements.append(
            DERWriter.sequence(
                DERWriter.integer(Int64(type)), DERWriter.integer(Int64(version)),
                DERWriter.element(BERTag.octetString, value)))
    }

    mutating func add(_ attributes: ReceiptAttributes) {
        for attribute in attributes { add(attribute.type, version: attribute.version, attribute.value) }
    }

    var der: [UInt8] { DERWriter.set(elements) }
}

extension DERWriter {
    /// Returns a date as in Apple's receipts: RFC 3339 in UTC, in an IA5String.
    static func date(_ date: Date) -> [UInt8] { ia5String(RFC3339.string(from: date)) }
}
