import Foundation
import Primitives
import StoreModel

/// The subject of a promotional offer's signature, version 1: one offer of one product, for one customer of one app.
public struct PromotionalOffer: Sendable, Hashable {
    /// The bundle id of the app.
    public let bundleID: BundleID
    /// The product.
    public let productID: ProductID
    /// The identifier of the offer in App Store Connect.
    public let offerID: String
    /// The payment's `applicationUsername`, or its `appAccountToken` in lower case. Empty without either.
    public let applicationUsername: String

    /// Creates the subject of a signature.
    ///
    /// - Parameters:
    ///   - bundleID: The bundle id of the app.
    ///   - productID: The product.
    ///   - offerID: The identifier of the offer in App Store Connect.
    ///   - appAccountToken: The app account token of the payment, if it has one.
    public init(bundleID: BundleID, productID: ProductID, offerID: String, appAccountToken: UUID? = nil) {
        self.init(
            bundleID: bundleID, productID: productID, offerID: offerID,
            applicationUsername: appAccountToken?.uuidString ?? "")
    }

    /// Creates the subject of a signature for an app that gives the store a user name.
    ///
    /// - Parameters:
    ///   - bundleID: The bundle id of the app.
    ///   - productID: The product.
    ///   - offerID: The identifier of the offer in App Store Connect.
    ///   - applicationUsername: The user name. It is signed unchanged, except for a UUID, which is signed in lower
    ///     case.
    public init(bundleID: BundleID, productID: ProductID, offerID: String, applicationUsername: String) {
        self.bundleID = bundleID
        self.productID = productID
        self.offerID = offerID
        self.applicationUsername =
            UUID(text: applicationUsername) == nil ? applicationUsername : applicationUsername.lowercased()
    }
}

/// The signature, version 1, with which an app's server allows one purchase with a promotional offer (Apple: Generating a
/// signature for promotional offers).
///
///     let offer = PromotionalOffer(
///         bundleID: "com.example.darkroom", productID: "plus.monthly", offerID: "comeback", appAccountToken: customer)
///     let signature = try PromotionalOfferSignature.sign(
///         offer, key: SigningKey(p8), keyID: "2X9R4HXF34", nonce: UUID(), at: clock.now())
///     signature.base64                                  // to the app, with keyID, nonce and timestamp
public typealias PromotionalOfferSignature = OfferSignature

extension OfferSignature {
    /// The lifetime of a signature from its timestamp: 24 hours, as Apple documents.
    public static var lifetime: TimeInterval { 24 * 3600 }

    /// The signature in base64, as StoreKit takes it.
    public var base64: String { Base64.encode(signature) }

    /// Signs a promotional offer.
    ///
    /// - Parameters:
    ///   - offer: The offer, product, app and customer.
    ///   - key: The key of App Store Connect.
    ///   - keyID: The id of the key in App Store Connect.
    ///   - nonce: A UUID for this signature only.
    ///   - instant: The time of the signature.
    /// - Returns: The signature.
    /// - Throws: `SignedDataError` with `claimInvalid` if the key id, the offer's identifier or the time is invalid, or
    ///   a field contains the separator U+2063, and `cryptographyFailed`.
    public static func sign(
        _ offer: PromotionalOffer, key: SigningKey, keyID: String, nonce: UUID, at instant: Date
    ) throws(SignedDataError) -> PromotionalOfferSignature {
        let milliseconds = (instant.timeIntervalSince1970 * 1000).rounded(.down)
        guard let timestamp = Int64(exactly: milliseconds) else {
            throw SignedDataError(.claimInvalid, "The time of the signature does not fit into 64-bit milliseconds.")
        }
        let message = try message(offer, keyID: keyID, nonce: nonce, timestamp: timestamp)
        guard let signature = ECDSASignature.der(fromRaw: try key.signature(of: message)) else {
            throw OpenSSL.failed("sign")
        }
        return PromotionalOfferSignature(keyID: keyID, nonce: nonce, timestamp: timestamp, signature: signature)
    }

    /// Returns whether the key signed this offer. It does not check the timestamp.
    ///
    /// - Parameters:
    ///   - offer: The offer, product, app and customer.
    ///   - key: The public key of App Store Connect.
    /// - Returns: Whether the signature is valid.
    public func isValid(for offer: PromotionalOffer, key: VerificationKey) -> Bool {
        guard let message = try? Self.message(offer, keyID: keyID, nonce: nonce, timestamp: timestamp),
            let raw = ECDSASignature.raw(fromDER: signature),
            ECDSASignature.der(fromRaw: raw) == signature
        else { return false }
        return key.isValid(signature: raw, of: message)
    }

    /// Checks that the store may sell with the offer at `instant`. The caller must store the nonce to refuse a second
    /// use.
    ///
    /// - Parameters:
    ///   - offer: The offer, product, app and customer.
    ///   - key: The public key of App Store Connect.
    ///   - instant: The time of the sale.
    /// - Throws: `SignedDataError` with `signatureInvalid`, or with `notCurrent` from 24 hours after the timestamp or
    ///   more than a minute before it.
    public func verify(
        for offer: PromotionalOffer, key: VerificationKey, at instant: Date
    ) throws(SignedDataError) {
        guard isValid(for: offer, key: key) else {
            throw SignedDataError(
                .signatureInvalid,
                "The offer's signature is not that of the key \(Excerpt(keyID)) for this app, product, offer and customer."
            )
        }
        let age = instant.timeIntervalSince1970 - Double(timestamp) / 1000
        guard age < Self.lifetime, age >= -ServerJWT.clockDifference else {
            throw SignedDataError(
                .notCurrent, "The offer was signed more than 24 hours ago, or its timestamp is in the future.")
        }
    }

    /// Returns the fields in Apple's order, with the invisible separator between them. A separator in a field could
    /// make the messages of two offers equal, so such a field is refused.
    private static func message(
        _ offer: PromotionalOffer, keyID: String, nonce: UUID, timestamp: Int64
    ) throws(SignedDataError) -> [UInt8] {
        try Claim.check(keyID, is: "key id")
        try Claim.check(offer.offerID, is: "offer")
        let fields = [
            offer.bundleID.rawValue, keyID, offer.productID.rawValue, offer.offerID, offer.applicationUsername,
            nonce.uuidString.lowercased(), String(timestamp),
        ]
        guard !fields.contains(where: { $0.unicodeScalars.contains("\u{2063}") }) else {
            throw SignedDataError(.claimInvalid, "A field contains U+2063, which separates the fields.")
        }
        return Array(fields.joined(separator: "\u{2063}").utf8)
    }
}
