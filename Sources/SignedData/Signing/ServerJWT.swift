import Foundation
import Primitives

/// A token that an app's server signs for Apple with a key of App Store Connect: a JWT (RFC 7519) with ES256 whose header
/// names the key. Apple's own servers sign otherwise, with certificates: that is `JWSSigner`.
struct ServerJWT {
    /// How far two machines' clocks may differ.
    static let clockDifference: TimeInterval = 60
    static let maximumLength = 1 << 18

    /// The key that signed it, by App Store Connect's name.
    let keyID: String
    let claims: JSONMembers

    /// Signs claims in their order under Apple's header. Throws `claimInvalid` for a key id that cannot be one.
    static func sign(_ claims: JSONMembers, key: SigningKey, keyID: String) throws(SignedDataError) -> String {
        try Claim.check(keyID, is: "key id (kid)")
        return try JWSSigner(key: key, header: ["alg": "ES256", "kid": .string(keyID), "typ": "JWT"])
            .sign(JSONValue.object(claims).encoded())
    }

    /// The claims of a token that one of `keys` signed; what they say is not judged yet.
    ///
    /// Throws `tooLarge`, `malformed`, `unsupportedAlgorithm`, `unknownKey`, `signatureInvalid`, `payloadMalformed`.
    init(_ token: String, keys: [String: VerificationKey]) throws(SignedDataError) {
        guard token.utf8.count <= Self.maximumLength else {
            throw SignedDataError(.tooLarge, "The token has more than \(Self.maximumLength) bytes.")
        }
        let parts = try CompactJWS(Array(token.utf8))
        keyID = try Self.keyID(inHeader: try parts.header())
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

    private static func keyID(inHeader header: [UInt8]) throws(SignedDataError) -> String {
        guard case .object(let members)? = try? JSONValue(parsing: header, depth: 8) else {
            throw SignedDataError(.malformed, "The header is not a JSON object.")
        }
        guard members["crit"] == nil else {
            throw SignedDataError(.malformed, "The header demands extensions (crit) that are not known here.")
        }
        guard members["alg"]?.stringValue == "ES256" else {
            throw SignedDataError(.unsupportedAlgorithm, "The algorithm (alg) is not ES256, the only one accepted.")
        }
        guard members["typ"].map({ $0.stringValue == "JWT" }) ?? true, let keyID = members["kid"]?.stringValue else {
            throw SignedDataError(.malformed, "The header does not name a key (kid), or its type (typ) is not JWT.")
        }
        return keyID
    }

    // MARK: - Claims

    /// A text that must be there. Throws `payloadMalformed`.
    func text(_ name: String) throws(SignedDataError) -> String {
        guard let text = try optionalText(name) else { throw Self.missing(name, "a text") }
        return text
    }

    /// Throws `payloadMalformed` when it is there and no text.
    func optionalText(_ name: String) throws(SignedDataError) -> String? {
        guard let value = claims[name] else { return nil }
        guard let text = value.stringValue else { throw Self.missing(name, "a text") }
        return text
    }

    func bool(_ name: String) throws(SignedDataError) -> Bool {
        guard let value = claims[name]?.boolValue else { throw Self.missing(name, "true or false") }
        return value
    }

    /// Seconds since 1970 (RFC 7519 section 2, NumericDate).
    func date(_ name: String) throws(SignedDataError) -> Date {
        guard let seconds = claims[name]?.doubleValue, seconds.isFinite else {
            throw Self.missing(name, "a number of seconds")
        }
        return Date(timeIntervalSince1970: seconds)
    }

    /// Throws `wrongBundle` when the token is for another app.
    func checkBundle(_ bundleID: String) throws(SignedDataError) {
        let named = try text("bid")
        guard named == bundleID else {
            throw SignedDataError(.wrongBundle, "The token is for the app \(Excerpt(named)), not \(bundleID).")
        }
    }

    /// Throws `claimInvalid` when the token is another team's.
    func checkIssuer(_ issuerID: String) throws(SignedDataError) {
        guard try text("iss") == issuerID else {
            throw SignedDataError(.claimInvalid, "The issuer (iss) is not the one whose keys these are.")
        }
    }

    static func missing(_ name: String, _ kind: String) -> SignedDataError {
        SignedDataError(.payloadMalformed, "The claim \(name) is missing or not \(kind).")
    }
}

/// What a text must be to be signed in a claim.
enum Claim {
    /// Throws `claimInvalid` unless the text has 1 to 255 bytes and no control characters.
    static func check(_ text: String, is what: String) throws(SignedDataError) {
        guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw SignedDataError(.claimInvalid, "The \(what) should have 1 to 255 bytes and no control characters.")
        }
    }
}
