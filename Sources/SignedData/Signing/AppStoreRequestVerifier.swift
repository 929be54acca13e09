import Foundation
import Primitives
import StoreModel

/// A request to the App Store with a valid signature.
package struct SignedAppStoreRequest: Sendable, Hashable {
    package let request: AppStoreRequest
    package let keyID: String
    package let issuerID: String
    /// The nonce. The receiver stores it to refuse a second use.
    package let nonce: UUID
    package let issuedAt: Date
}

/// Verifies requests to the App Store as the App Store does, with the public keys of an app's team.
package struct AppStoreRequestVerifier: Sendable {
    /// The longest age at which a request is accepted. Apple counts from `iat` but does not document the limit; for
    /// offers of version 1 it is 24 hours.
    package var maximumAge: TimeInterval = PromotionalOfferSignature.lifetime

    private let keys: [String: VerificationKey]
    private let issuerID: String
    private let bundleID: BundleID

    /// Creates a verifier. `keys` contains the public keys by key id.
    package init(keys: [String: VerificationKey], issuerID: String, bundleID: BundleID) {
        self.keys = keys
        self.issuerID = issuerID
        self.bundleID = bundleID
    }

    /// Verifies a request at `instant`. The caller must store the nonce to refuse a second use.
    ///
    /// Throws `tooLarge`, `malformed`, `unsupportedAlgorithm`, `unknownKey`, `signatureInvalid`, `payloadMalformed`,
    /// `claimInvalid` (issuer, audience), `wrongBundle` or `notCurrent`. Clocks may differ by a minute.
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
            throw SignedDataError(
                .notCurrent, "The request was signed too long ago, or its date (iat) is in the future.")
        }
        return SignedAppStoreRequest(
            request: request, keyID: token.keyID, issuerID: issuerID, nonce: nonce, issuedAt: issued)
    }
}
