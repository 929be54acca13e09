import Foundation
import HTTPCore
import Primitives
import SignedData

/// The headers of Standard Webhooks (standardwebhooks.com, version 1.0.0), which libraries for many languages verify.
///
/// `webhook-signature` is `v1,` and the base64 of an HMAC-SHA256. The message is the id, the time and the body, with
/// periods between them. During the replacement of a secret, the header has one signature for each secret, with spaces
/// between them.
enum StandardWebhooks {
    /// The id of the message, which is the same in each attempt.
    static let id = "webhook-id"
    /// The time of the attempt, in seconds since 1970.
    static let timestamp = "webhook-timestamp"
    static let signature = "webhook-signature"

    /// Returns the headers of an attempt.
    ///
    /// - Parameter id: The id of the message, without periods.
    static func headers(
        of id: String, for body: [UInt8], at instant: Date, secrets: [WebhookSecret]
    ) -> HTTPHeaders {
        let time = String(Int64(instant.timeIntervalSince1970.rounded(.down)))
        let message = Array("\(id).\(time).".utf8) + body
        let signatures = secrets.map { "v1," + Data($0.standardHMAC.code(for: message)).base64EncodedString() }
        return [
            Self.id: id, timestamp: time, signature: signatures.joined(separator: " "),
        ]
    }

    /// The prefix of a secret whose rest is the key in base64.
    private static let prefix = "whsec_"
    /// The permitted number of bytes of such a key.
    private static let keySizes = 24...64

    /// Returns the key of a secret: the bytes after the prefix, or the bytes of a string without the prefix.
    ///
    /// - Throws: ``EntitlementServerError`` with `invalidConfiguration` if the rest after the prefix is no key.
    static func key(of secret: String) throws(EntitlementServerError) -> [UInt8] {
        guard secret.utf8.starts(with: prefix.utf8) else { return Array(secret.utf8) }
        let text = String(decoding: secret.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
        guard let key = Data(base64Encoded: text), keySizes.contains(key.count) else {
            throw EntitlementServerError(
                .invalidConfiguration,
                "A secret of a webhook that begins with whsec_ needs 24 to 64 bytes in base64 after it; create one with "
                    + "\"echo whsec_$(openssl rand -base64 32)\".")
        }
        return Array(key)
    }
}
