import Foundation
import Primitives
import SignedData

/// A secret that two servers share to sign and verify webhooks. Descriptions do not contain the secret.
public struct WebhookSecret: Sendable, CustomStringConvertible, CustomReflectable {
    fileprivate let hmac: HMACSHA256
    /// The HMAC of the headers of Standard Webhooks.
    let standardHMAC: HMACSHA256

    /// Creates a secret from a string, for example 32 random bytes in hexadecimal.
    ///
    /// The bytes of the string are the key of signatures. If the string is `whsec_` and base64, the encoded bytes are
    /// the key of the header `webhook-signature`, as Standard Webhooks requires.
    ///
    /// - Parameter text: The secret.
    /// - Throws: ``EntitlementServerError`` with `invalidConfiguration` if it has fewer than 16 bytes, or if it begins
    ///   with `whsec_` and the rest is not 24 to 64 bytes in base64.
    public init(_ text: String) throws(EntitlementServerError) {
        let key = try StandardWebhooks.key(of: text)
        guard text.utf8.count >= 16, let hmac = try? HMACSHA256(key: Array(text.utf8)),
            let standardHMAC = try? HMACSHA256(key: key)
        else {
            throw EntitlementServerError(
                .invalidConfiguration,
                "The secret of a webhook has fewer than 16 bytes; create one with \"openssl rand -hex 32\".")
        }
        self.hmac = hmac
        self.standardHMAC = standardHMAC
    }

    /// A description without the secret.
    public var description: String { "secret of a webhook" }
    /// A mirror without the secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The header that authenticates a webhook and its time: `t=<unix seconds>,v1=<hex>`. `v1` is an HMAC-SHA256 with the
/// shared secret. The message is the value of `t`, a period, and the body. During the replacement of a secret, the
/// header has one `v1` for each secret.
///
///     let header = WebhookSignature.header(for: body, at: now, secrets: [new, old])
///     try WebhookSignature.check(header, of: body, at: now, secrets: [secret])
///
/// `t` is the real time, even if the store's clock is simulated.
public enum WebhookSignature {
    /// The name of the header.
    public static let field = "Souk-Webhook-Signature"
    /// The greatest difference in seconds between `t` and the receiver's clock, which prevents replays of old webhooks.
    public static let tolerance: TimeInterval = 300
    /// The maximum number of signatures. A header with more is malformed.
    private static let maximumSignatures = 8

    /// The reason why a webhook is rejected.
    public enum VerificationError: Error, Equatable, Sendable {
        /// The header is missing.
        case missing
        /// The header does not have the format of `WebhookSignature`.
        case malformed
        /// No v1 is valid for any of the secrets.
        case signatureMismatch
        /// `t` differs from the current time by more than `WebhookSignature.tolerance`.
        case timestampOutOfTolerance

        /// The former name of `signatureMismatch`.
        @available(*, deprecated, renamed: "signatureMismatch")
        public static var notOurs: Self { .signatureMismatch }

        /// The former name of `timestampOutOfTolerance`.
        @available(*, deprecated, renamed: "timestampOutOfTolerance")
        public static var notCurrent: Self { .timestampOutOfTolerance }
    }

    /// The former name of ``VerificationError``.
    @available(*, deprecated, renamed: "VerificationError")
    public typealias Mistrust = VerificationError

    /// Returns the header of a webhook, with one v1 for each secret in their order.
    ///
    /// - Parameters:
    ///   - body: The body of the request.
    ///   - instant: The time of the signature.
    ///   - secrets: The secrets.
    /// - Returns: The value of the header.
    public static func header(for body: [UInt8], at instant: Date, secrets: [WebhookSecret]) -> String {
        let time = String(Int64(instant.timeIntervalSince1970.rounded(.down)))
        let message = Self.message(time, body)
        return (["t=" + time] + secrets.map { "v1=" + Hex.encode($0.hmac.code(for: message)) }).joined(separator: ",")
    }

    /// Verifies the header of a webhook.
    ///
    /// The signature is checked before the time, so that a sender without the secret learns nothing about the
    /// receiver's clock.
    ///
    /// - Parameters:
    ///   - header: The value of the header; `nil` if it is missing.
    ///   - body: The body of the request.
    ///   - instant: The current time.
    ///   - secrets: The accepted secrets.
    /// - Throws: ``VerificationError`` unless one v1 is valid for one of the secrets and `t` is current.
    public static func check(
        _ header: String?, of body: [UInt8], at instant: Date, secrets: [WebhookSecret]
    ) throws(VerificationError) {
        guard let header else { throw .missing }
        guard let (time, seconds, codes) = parts(of: header) else { throw .malformed }
        let message = Self.message(time, body)
        guard secrets.contains(where: { secret in codes.contains { secret.hmac.isValid($0, for: message) } }) else {
            throw .signatureMismatch
        }
        guard abs(instant.timeIntervalSince1970 - Double(seconds)) <= tolerance else { throw .timestampOutOfTolerance }
    }

    private static func message(_ time: String, _ body: [UInt8]) -> [UInt8] { Array((time + ".").utf8) + body }

    /// Returns the time as the signed string and as a number, and the signatures. Ignores unknown parts, which later
    /// versions may add.
    private static func parts(of header: String) -> (time: String, seconds: Int64, codes: [[UInt8]])? {
        var time: String?
        var codes: [[UInt8]] = []
        for part in header.split(separator: ",", maxSplits: 2 * maximumSignatures) {
            let pair = part.trimmingCharacters(in: .whitespaces).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2 else { return nil }
            switch pair[0] {
            case "t":
                guard time == nil else { return nil }
                time = String(pair[1])
            case "v1":
                guard let code = Hex.decode(String(pair[1])) else { return nil }
                codes.append(code)
            default: break
            }
        }
        guard let time, time.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let seconds = Int64(time), !codes.isEmpty,
            codes.count <= maximumSignatures
        else { return nil }
        return (time, seconds, codes)
    }
}
