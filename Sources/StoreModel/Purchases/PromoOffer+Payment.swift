import Foundation

extension PromoOffer {
    /// Creates an offer with a signature of version 1, which every version of StoreKit 2 accepts.
    ///
    /// - Parameters:
    ///   - productDiscount: The discount that the offer gives.
    ///   - signed: The offer as the server signed it.
    public init(productDiscount: ProductDiscount, _ signed: SignedOffer) {
        self.init(
            productDiscount: productDiscount, identifier: signed.offerID, keyIdentifier: signed.signature.keyID,
            nonce: signed.signature.nonce,
            signedAt: Date(timeIntervalSince1970: Double(signed.signature.timestamp) / 1000),
            signature: signed.signature.signature)
    }
}

extension PaymentOffer {
    /// Creates the offer of a payment. An offer without any proof is for stores that need none. Returns `nil` if a part
    /// of the signature is missing: the key, the nonce, the time or the signature itself.
    ///
    /// - Parameter offer: The promotional offer, with its proof.
    public init?(_ offer: PromoOffer) {
        if let compactJWS = offer.compactJWS {
            self = .promotional(offer.identifier, compactJWS: compactJWS)
        } else if offer.keyIdentifier.isEmpty, offer.nonce == nil, offer.signedAt == nil, offer.signature.isEmpty {
            self.init(kind: .promotional, id: offer.identifier)
        } else if let nonce = offer.nonce, let signedAt = offer.signedAt,
            let timestamp = Int64(exactly: (signedAt.timeIntervalSince1970 * 1000).rounded()),
            !offer.keyIdentifier.isEmpty, !offer.signature.isEmpty
        {
            let signature = OfferSignature(
                keyID: offer.keyIdentifier, nonce: nonce, timestamp: timestamp, signature: offer.signature)
            self = .promotional(offer.identifier, signature: signature)
        } else {
            return nil
        }
    }
}
