import Foundation
import Primitives

/// Makes the bearer tokens that Apple's App Store Server API asks for (Generating JSON Web Tokens for API requests).
///
///     let token = try AppStoreServerToken(
///         key: SigningKey(p8), keyID: "ABC123", issuerID: "57246542-…", bundleID: "com.example"
///     ).sign(at: now)
public struct AppStoreServerToken: Sendable {
    private let signer: JWSSigner
    private let issuerID: String
    private let bundleID: String

    /// The key is the `.p8` file's, its id and the issuer's are App Store Connect's.
    public init(key: SigningKey, keyID: String, issuerID: String, bundleID: String) {
        signer = JWSSigner(key: key, header: ["alg": "ES256", "kid": .string(keyID), "typ": "JWT"])
        self.issuerID = issuerID
        self.bundleID = bundleID
    }

    /// A token that begins to hold at `instant` of real time; Apple accepts lifetimes up to an hour. Throws
    /// `cryptographyFailed`.
    public func sign(at instant: Date, lifetime: TimeInterval = 300) throws(SignedDataError) -> String {
        let issued = instant.timeIntervalSince1970.rounded(.down)
        let claims: JSONValue = [
            "iss": .string(issuerID), "iat": .number(issued), "exp": .number(issued + lifetime),
            "aud": "appstoreconnect-v1", "bid": .string(bundleID),
        ]
        return try signer.sign(claims.encoded())
    }
}
