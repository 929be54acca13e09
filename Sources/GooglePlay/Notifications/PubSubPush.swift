import Foundation
import Primitives
import SignedData
import StoreModel

/// The body of a push request of Cloud Pub/Sub: a message of a subscription.
package struct PubSubPush: PlayResource {
    package var message: Message?
    package var subscription: String?

    package init() {}

    package struct Message: PlayResource {
        /// The base64 of the data.
        package var data: String?
        package var messageId: String?
        package var publishTime: Date?

        package init() {}
    }

    /// Creates the body for a notification. Throws `EncodingError`.
    package init(
        _ notification: DeveloperNotification, messageId: String, publishTime: Date, subscription: String
    ) throws {
        self.subscription = subscription
        message = try Message {
            $0.data = Base64.encode(try WireJSON.encode(notification))
            $0.messageId = messageId
            $0.publishTime = publishTime
        }
    }

    /// Reads the notification in the message. Throws `DecodingError`.
    package func notification() throws -> DeveloperNotification {
        guard let data = message?.data.flatMap({ Base64.decode($0) }) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "the message has no data in base64"))
        }
        return try WireJSON.decode(DeveloperNotification.self, from: data)
    }
}

/// The OIDC token in the header `Authorization` of a push request, which Google signs for the service account of the
/// subscription.
package struct PushToken: Sendable, Hashable {
    /// The audience that the subscription was configured with; by default the URL of the endpoint.
    package var audience: String
    /// The email address of the subscription's service account.
    package var email: String

    /// The issuer of Google's tokens.
    package static let issuer = "https://accounts.google.com"
    /// The seconds from the issue to the expiry of a token.
    package static let lifetime: TimeInterval = 3600

    package init(audience: String, email: String) {
        self.audience = audience
        self.email = email
    }

    /// Returns the signed token. Throws `SignedDataError`.
    package func signed(by key: RSASigningKey, keyID: String, subject: String, at instant: Date) throws -> String {
        let issued = instant.timeIntervalSince1970.rounded(.down)
        return try RS256Token.sign(
            [
                "aud": .string(audience), "azp": .string(subject), "email": .string(email), "email_verified": true,
                "exp": .number(issued + Self.lifetime), "iat": .number(issued), "iss": .string(Self.issuer),
                "sub": .string(subject),
            ], key: key, keyID: keyID)
    }

    /// Verifies that Google issued a token for this audience and service account, and that it is valid at `instant`.
    ///
    /// Throws `SignedDataError`: the errors of a malformed or unknown signature, `claimInvalid` and `notCurrent`.
    package func verify(_ token: String, keys: [String: RSAVerificationKey], at instant: Date) throws(SignedDataError) {
        let token = try RS256Token(token, keys: keys)
        guard [Self.issuer, "accounts.google.com"].contains(try token.text("iss")) else {
            throw SignedDataError(.claimInvalid, "The issuer (iss) is not Google.")
        }
        guard try token.text("aud").hasSameBytes(as: audience) else {
            throw SignedDataError(.claimInvalid, "The audience (aud) is not the one of the push subscription.")
        }
        guard try token.text("email").hasSameBytes(as: email), try token.bool("email_verified") else {
            throw SignedDataError(.claimInvalid, "The email is not the one of the push subscription's service account.")
        }
        try token.checkTime(at: instant, lifetime: Self.lifetime)
    }
}
