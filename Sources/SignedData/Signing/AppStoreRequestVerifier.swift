import Foundation
import Primitives
import StoreModel

/// A request to the App Store whose signature holds.
package struct SignedAppStoreRequest: Sendable, Hashable {
    package let request: AppStoreRequest
    package let keyID: String
    package let issuerID: String
    /// Whoever accepts requests remembers it, so that none is used twice.
    package let nonce: UUID
    package let issuedAt: Date
}

/// Judges requests to the App Store as the App Store does: with the public keys of an app's team.
package struct AppStoreRequestVerifier: Sendable {
    /// How long after it was signed a request is accepted. Apple counts from `iat` but does not say how far; for offers
    /// of version 1 it says 24 hours.
    package var maximumAge: TimeInterval = PromotionalOfferSignature.lifetime

    private let keys: [String: VerificationKey]
    private let issuerID: String
    private let bundleID: BundleID

    /// The keys by their ids.
    package init(keys: [String: VerificationKey], issuerID: String, bundleID: BundleID) {
        self.keys = keys
        self.issuerID = issuerID
        self.bundleID = bundleID
    }

    /// The request, when its signature holds at `instant`. The nonce is the caller's to remember.
    ///
    /// Throws `tooLarge`, `malformed`, `unsupportedAlgorithm`, `unknownKey`, `signatureInvalid`, `payloadMalformed`,
    /// `claimInvalid` (issuer, audience), `wrongBundle`, `notCurrent`. Clocks may differ by a minute.
    package func verify(_ jws: String, at instant: Date) throws(SignedDataError) -> SignedAppStoreRequest {
        let token = try ServerJWT(jws, keys: keys)
        try token.checkIssuer(issuerID)
        let request = try AppStoreRequest(token)
        try token.checkBundle(bundleID.rawValue)
        guard let nonce = UUID(text: try token.text("nonce")) else {
            throw ServerJWT.missing("nonce", "a UUID")
        }
        let issued = try token.date("iat")
        let age = instant.timeIntervalSince(issued)
        guard age < maximumAge, age >= -ServerJWT.clockDifference else {
            throw SignedDataError(.notCurrent, "The request was signed too long ago, or its date (iat) is to come.")
        }
        return SignedAppStoreRequest(
            request: request, keyID: token.keyID, issuerID: issuerID, nonce: nonce, issuedAt: issued)
    }
}
