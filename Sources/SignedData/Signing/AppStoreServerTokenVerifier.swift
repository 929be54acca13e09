import Foundation
import Primitives
import StoreModel

/// Verifies bearer tokens as Apple's App Store Server API does.
package struct AppStoreServerTokenVerifier: Sendable {
    private let keys: [String: VerificationKey]
    private let issuerID: String
    private let bundleID: BundleID

    /// Creates a verifier. `keys` contains the public keys by key id.
    package init(keys: [String: VerificationKey], issuerID: String, bundleID: BundleID) {
        self.keys = keys
        self.issuerID = issuerID
        self.bundleID = bundleID
    }

    /// Verifies a token at `instant`, in real time. Returns the end of its validity, with the allowed clock difference,
    /// so that the caller can cache the result.
    ///
    /// Throws `tooLarge`, `malformed`, `unsupportedAlgorithm`, `unknownKey`, `signatureInvalid`, `payloadMalformed`,
    /// `claimInvalid` (issuer, audience, more than 60 minutes), `wrongBundle` or `notCurrent`. Clocks may differ by a
    /// minute. `iat` is optional, because Apple's own client omits it.
    @discardableResult
    package func verify(_ token: String, at instant: Date) throws(SignedDataError) -> Date {
        let token = try ServerJWT(token, keys: keys)
        try token.checkIssuer(issuerID)
        guard try token.text("aud") == AppStoreConnectKey.tokenAudience else {
            throw SignedDataError(.claimInvalid, "The audience (aud) is not \(AppStoreConnectKey.tokenAudience).")
        }
        try token.checkBundle(bundleID.rawValue)
        let end = try token.date("exp")
        let until = end.addingTimeInterval(ServerJWT.clockDifference)
        let begin = token.claims["iat"] == nil ? nil : try token.date("iat")
        guard until > instant else {
            throw SignedDataError(.notCurrent, "The token has expired (exp); create a new one.")
        }
        guard begin ?? instant <= instant.addingTimeInterval(ServerJWT.clockDifference) else {
            throw SignedDataError(.notCurrent, "The token is not valid yet (iat); compare the clocks.")
        }
        let latest = (begin ?? instant.addingTimeInterval(ServerJWT.clockDifference))
            .addingTimeInterval(AppStoreConnectKey.maximumTokenLifetime)
        guard end <= latest else {
            throw SignedDataError(.claimInvalid, "The token is valid for more than 60 minutes (exp).")
        }
        return until
    }
}
