import Foundation
import Primitives

/// A token that an app's server signs for Apple with a key of App Store Connect: a JWT (RFC 7519) with ES256 whose
/// header names the key. Apple's own servers sign with certificates, as `JWSSigner` does.
struct ServerJWT: TokenClaims {
    /// The allowed difference between the clocks of two machines.
    static let clockDifference: TimeInterval = 60
    static let maximumLength = 1 << 18

    /// The id of the signing key in App Store Connect.
    let keyID: String
    let claims: JSONMembers

    /// Signs claims in their order, with Apple's header. Throws `claimInvalid` for an invalid key id.
    static func sign(_ claims: JSONMembers, key: SigningKey, keyID: String) throws(SignedDataError) -> String {
        try Claim.check(keyID, is: "key id (kid)")
        return try JWSSigner(key: key, header: ["alg": "ES256", "kid": .string(keyID), "typ": "JWT"])
            .sign(JSONValue.object(claims).encoded())
    }

    /// Verifies that one of `keys` signed a token. The values of the claims are not checked.
    ///
    /// Throws `tooLarge`, `malformed`, `unsupportedAlgorithm`, `unknownKey`, `signatureInvalid` or `payloadMalformed`.
    init(_ token: String, keys: [String: VerificationKey]) throws(SignedDataError) {
        guard token.utf8.count <= Self.maximumLength else {
            throw SignedDataError(.tooLarge, "The token has more than \(Self.maximumLength) bytes.")
        }
        let parts = try CompactJWS(Array(token.utf8))
        keyID = try Self.keyID(inHeader: try parts.header(), algorithm: "ES256")
        guard let key = keys[exactly: keyID] else {
            throw SignedDataError(
                .unknownKey, "The token is signed with the key \(Excerpt(keyID)), which is not known.")
        }
        let signature = try parts.signature()
        let isValid = parts.bytes.withUnsafeBytes {
            key.isValid(signature: signature, of: UnsafeRawBufferPointer(rebasing: $0[parts.signingInput]))
        }
        guard isValid else {
            throw SignedDataError(.signatureInvalid, "The signature is not that of the key \(Excerpt(keyID)).")
        }
        guard case .object(let members)? = try? JSONValue(parsing: try parts.payload(), depth: 8) else {
            throw SignedDataError(.payloadMalformed, "The token's payload is not a JSON object.")
        }
        claims = members
    }

    static func keyID(inHeader header: [UInt8], algorithm: String) throws(SignedDataError) -> String {
        guard case .object(let members)? = try? JSONValue(parsing: header, depth: 8) else {
            throw SignedDataError(.malformed, "The header is not a JSON object.")
        }
        guard members["crit"] == nil else {
            throw SignedDataError(.malformed, "The header demands extensions (crit) that are not known here.")
        }
        guard members["alg"]?.stringValue == algorithm else {
            throw SignedDataError(
                .unsupportedAlgorithm, "The algorithm (alg) is not \(algorithm), the only one accepted.")
        }
        guard members["typ"].map({ $0.stringValue == "JWT" }) ?? true, let keyID = members["kid"]?.stringValue else {
            throw SignedDataError(.malformed, "The header does not name a key (kid), or its type (typ) is not JWT.")
        }
        return keyID
    }

    /// Throws `wrongBundle` if the token is for another app.
    func checkBundle(_ bundleID: String) throws(SignedDataError) {
        let named = try text("bid")
        guard named == bundleID else {
            throw SignedDataError(.wrongBundle, "The token is for the app \(Excerpt(named)), not \(bundleID).")
        }
    }

    /// Throws `claimInvalid` if the token is from another team.
    func checkIssuer(_ issuerID: String) throws(SignedDataError) {
        guard try text("iss") == issuerID else {
            throw SignedDataError(.claimInvalid, "The issuer (iss) is not the owner of the keys.")
        }
    }
}

/// The claims of a verified token.
package protocol TokenClaims {
    var claims: JSONMembers { get }
}

extension TokenClaims {
    /// Returns a required string. Throws `payloadMalformed`.
    package func text(_ name: String) throws(SignedDataError) -> String {
        guard let text = try optionalText(name) else { throw Self.missing(name, "a string") }
        return text
    }

    /// Returns an optional string. Throws `payloadMalformed` if the claim is not a string.
    package func optionalText(_ name: String) throws(SignedDataError) -> String? {
        guard let value = claims[name] else { return nil }
        guard let text = value.stringValue else { throw Self.missing(name, "a string") }
        return text
    }

    package func bool(_ name: String) throws(SignedDataError) -> Bool {
        guard let value = claims[name]?.boolValue else { throw Self.missing(name, "true or false") }
        return value
    }

    /// Returns a date in seconds since 1970 (RFC 7519 section 2, NumericDate).
    package func date(_ name: String) throws(SignedDataError) -> Date {
        guard let seconds = claims[name]?.doubleValue, seconds.isFinite else {
            throw Self.missing(name, "a number of seconds")
        }
        return Date(timeIntervalSince1970: seconds)
    }

    static func missing(_ name: String, _ kind: String) -> SignedDataError {
        SignedDataError(.payloadMalformed, "The claim \(name) is missing or not \(kind).")
    }
}

/// The rule for a string in a claim.
enum Claim {
    /// Throws `claimInvalid` unless the text has 1 to 255 bytes and no control characters.
    static func check(_ text: String, is what: String) throws(SignedDataError) {
        guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw SignedDataError(.claimInvalid, "The \(what) should have 1 to 255 bytes and no control characters.")
        }
    }
}
