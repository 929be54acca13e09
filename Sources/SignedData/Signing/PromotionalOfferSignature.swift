import Foundation
import Primitives
import StoreModel

/// What a promotional offer's signature of version 1 is for: one offer of one product, for one customer of one app.
public struct PromotionalOffer: Sendable, Hashable {
    public let bundleID: BundleID
    public let productID: ProductID
    /// The offer, by its identifier in App Store Connect.
    public let offerID: String
    /// What the app gives the store as `applicationUsername`, or its `appAccountToken` in lower case; empty for neither.
    public let applicationUsername: String

    /// `appAccountToken` is what the app gives the store with the payment, if it does.
    public init(bundleID: BundleID, productID: ProductID, offerID: String, appAccountToken: UUID? = nil) {
        self.init(
            bundleID: bundleID, productID: productID, offerID: offerID,
            applicationUsername: appAccountToken?.uuidString ?? "")
    }

    /// For apps that give the store a name of their own. It is signed as it stands, but a UUID in lower case.
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
    /// Apple: the timestamp keeps the offer active for 24 hours.
    public static var lifetime: TimeInterval { 24 * 3600 }

    /// The signature as StoreKit takes it.
    public var base64: String { Base64.encode(signature) }

    /// Signs. Throws `claimInvalid` when a field is empty or holds the separator U+2063, `cryptographyFailed`.
    public static func sign(
        _ offer: PromotionalOffer, key: SigningKey, keyID: String, nonce: UUID, at instant: Date
    ) throws(SignedDataError) -> PromotionalOfferSignature {
        let milliseconds = (instant.timeIntervalSince1970 * 1000).rounded(.down)
        guard let timestamp = Int64(exactly: milliseconds) else {
            throw SignedDataError(.claimInvalid, "The timestamp is outside of what milliseconds can count.")
        }
        let message = try message(offer, keyID: keyID, nonce: nonce, timestamp: timestamp)
        guard let signature = ECDSASignature.der(fromRaw: try key.signature(of: message)) else {
            throw OpenSSL.failed("sign")
        }
        return PromotionalOfferSignature(keyID: keyID, nonce: nonce, timestamp: timestamp, signature: signature)
    }

    /// Whether this is the key's signature for the offer, whenever it was made.
    public func isValid(for offer: PromotionalOffer, key: VerificationKey) -> Bool {
        guard let message = try? Self.message(offer, keyID: keyID, nonce: nonce, timestamp: timestamp),
            let raw = ECDSASignature.raw(fromDER: signature),
            // One signature has one encoding.
            ECDSASignature.der(fromRaw: raw) == signature
        else { return false }
        return key.isValid(signature: raw, of: message)
    }

    /// Returns when the store may sell with the offer at `instant`. The nonce is the caller's to remember.
    ///
    /// Throws `signatureInvalid`; `notCurrent` 24 hours after the timestamp or, clocks a minute apart, before it.
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
                .notCurrent, "The offer was signed more than 24 hours ago, or its timestamp is to come.")
        }
    }

    /// The fields in Apple's order with the invisible separator between them.
    private static func message(
        _ offer: PromotionalOffer, keyID: String, nonce: UUID, timestamp: Int64
    ) throws(SignedDataError) -> [UInt8] {
        try Claim.check(keyID, is: "key id")
        try Claim.check(offer.offerID, is: "offer")
        let fields = [
            offer.bundleID.rawValue, keyID, offer.productID.rawValue, offer.offerID, offer.applicationUsername,
            nonce.uuidString.lowercased(), String(timestamp),
        ]
        // With it in a field, one text could be read as two different offers.
        guard !fields.contains(where: { $0.unicodeScalars.contains("\u{2063}") }) else {
            throw SignedDataError(.claimInvalid, "A field holds U+2063, which separates the fields.")
        }
        return Array(fields.joined(separator: "\u{2063}").utf8)
    }
}
