import Foundation
import Primitives
import SignedData
import StoreModel

/// The key file of a service account, in the JSON that Google's console creates. With it a program gets access tokens.
///
///     let key = try ServiceAccountKey(parsing: bytes)
///     let assertion = try key.assertion(scope: AndroidPublisher.scope, at: SystemClock().now())
///     // POST key.tokenURI: grant_type=…jwt-bearer&assertion=…
package struct ServiceAccountKey: Sendable {
    package let projectID: String
    package let clientEmail: String
    package let clientID: String
    package let keyID: String
    /// The URL of the token endpoint, which is also the audience of an assertion.
    package let tokenURI: String
    package let signingKey: RSASigningKey

    /// The grant of an assertion (RFC 7523 section 2.1).
    package static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    /// The longest lifetime of an assertion, in seconds.
    package static let assertionLifetime: TimeInterval = 3600

    package init(
        projectID: String, clientEmail: String, clientID: String, keyID: String, tokenURI: String,
        signingKey: RSASigningKey
    ) {
        self.projectID = projectID
        self.clientEmail = clientEmail
        self.clientID = clientID
        self.keyID = keyID
        self.tokenURI = tokenURI
        self.signingKey = signingKey
    }

    /// Reads a key file. Throws `SignedDataError` (`keyMalformed`), which names a missing member but quotes nothing.
    package init(parsing bytes: [UInt8]) throws(SignedDataError) {
        guard case .object(let members)? = try? JSONValue(parsing: bytes), members["type"] == "service_account" else {
            throw SignedDataError(
                .keyMalformed, "This is not the key file of a service account: a JSON object with its type.")
        }
        func text(_ name: String) throws(SignedDataError) -> String {
            guard let text = members[name]?.stringValue, !text.isEmpty else {
                throw SignedDataError(.keyMalformed, "The key file of the service account has no \(name).")
            }
            return text
        }
        self.init(
            projectID: try text("project_id"), clientEmail: try text("client_email"), clientID: try text("client_id"),
            keyID: try text("private_key_id"), tokenURI: try text("token_uri"),
            signingKey: try RSASigningKey(Array(try text("private_key").utf8)))
    }

    /// The content of the key file. It contains the private key: store it in a file of mode 0600.
    package func file(authURI: String, certificatesURI: String) -> [UInt8] {
        let members: JSONValue = [
            "type": "service_account", "project_id": .string(projectID), "private_key_id": .string(keyID),
            "private_key": .string(signingKey.pem), "client_email": .string(clientEmail),
            "client_id": .string(clientID), "auth_uri": .string(authURI), "token_uri": .string(tokenURI),
            "auth_provider_x509_cert_url": .string(certificatesURI),
            "client_x509_cert_url": .string(certificatesURI), "universe_domain": "googleapis.com",
        ]
        return members.encoded()
    }

    /// Returns a signed assertion for an access token. Throws `SignedDataError`.
    package func assertion(scope: String, at instant: Date) throws(SignedDataError) -> String {
        let issued = instant.timeIntervalSince1970.rounded(.down)
        return try RS256Token.sign(
            [
                "iss": .string(clientEmail), "scope": .string(scope), "aud": .string(tokenURI),
                "iat": .number(issued), "exp": .number(issued + Self.assertionLifetime),
            ], key: signingKey, keyID: keyID)
    }
}
