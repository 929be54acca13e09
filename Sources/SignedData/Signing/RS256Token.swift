import Foundation
import Primitives

/// A JWT (RFC 7519) with RS256 whose header names the key, as Google's services exchange them: the assertion of a
/// service account, and the OIDC token of a push request.
package struct RS256Token: TokenClaims, Sendable {
    /// The id of the key that signed the token.
    package let keyID: String
    package let claims: JSONMembers

    /// Signs claims in their order. Throws `claimInvalid` for an invalid key id.
    package static func sign(
        _ claims: JSONMembers, key: RSASigningKey, keyID: String
    ) throws(SignedDataError) -> String {
        try Claim.check(keyID, is: "key id (kid)")
        let header: JSONValue = ["alg": "RS256", "kid": .string(keyID), "typ": "JWT"]
        let input =
            Base64.encodeURL(header.encoded()) + "." + Base64.encodeURL(JSONValue.object(claims).encoded())
        return input + "." + Base64.encodeURL(try key.signature(of: Array(input.utf8), .sha256))
    }

    /// Verifies that one of `keys` signed a token. The values of the claims are not checked.
    ///
    /// Throws `tooLarge`, `malformed`, `unsupportedAlgorithm`, `unknownKey`, `signatureInvalid` or `payloadMalformed`.
    package init(_ token: String, keys: [String: RSAVerificationKey]) throws(SignedDataError) {
        guard token.utf8.count <= ServerJWT.maximumLength else {
            throw SignedDataError(.tooLarge, "The token has more than \(ServerJWT.maximumLength) bytes.")
        }
        let parts = try CompactJWS(Array(token.utf8))
        keyID = try ServerJWT.keyID(inHeader: try parts.header(), algorithm: "RS256")
        guard let key = keys[exactly: keyID] else {
            throw SignedDataError(
                .unknownKey, "The token is signed with the key \(Excerpt(keyID)), which is not known.")
        }
        guard key.isValid(signature: try parts.signature(), of: Array(parts.bytes[parts.signingInput]), .sha256) else {
            throw SignedDataError(.signatureInvalid, "The signature is not that of the key \(Excerpt(keyID)).")
        }
        guard case .object(let members)? = try? JSONValue(parsing: try parts.payload(), depth: 8) else {
            throw SignedDataError(.payloadMalformed, "The token's payload is not a JSON object.")
        }
        claims = members
    }

    /// Throws `notCurrent` unless the token is valid at `instant`, and `claimInvalid` if it is valid for longer than
    /// `lifetime`. Clocks may differ by a minute.
    package func checkTime(at instant: Date, lifetime: TimeInterval) throws(SignedDataError) {
        let (issued, expiry) = (try date("iat"), try date("exp"))
        guard expiry.addingTimeInterval(ServerJWT.clockDifference) > instant else {
            throw SignedDataError(.notCurrent, "The token has expired (exp); create a new one.")
        }
        guard issued <= instant.addingTimeInterval(ServerJWT.clockDifference) else {
            throw SignedDataError(.notCurrent, "The token is not valid yet (iat); compare the clocks.")
        }
        guard expiry > issued, expiry.timeIntervalSince(issued) <= lifetime else {
            throw SignedDataError(.claimInvalid, "The token is valid for more than \(Int(lifetime)) seconds (exp).")
        }
    }
}
