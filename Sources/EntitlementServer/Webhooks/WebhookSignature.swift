import Foundation
import Primitives
import SignedData

/// What two servers share so that each knows the other's webhooks. It never describes itself.
public struct WebhookSecret: Sendable, CustomStringConvertible, CustomReflectable {
    fileprivate let hmac: HMACSHA256

    /// The text's bytes are the key. Throws `invalidConfiguration` for a text of fewer than 16 bytes; 32 random bytes
    /// in hexadecimal are right.
    public init(_ text: String) throws(EntitlementServerError) {
        guard text.utf8.count >= 16, let hmac = try? HMACSHA256(key: Array(text.utf8)) else {
            throw EntitlementServerError(
                .invalidConfiguration,
                "The secret of a webhook has fewer than 16 bytes; \"openssl rand -hex 32\" makes one.")
        }
        self.hmac = hmac
    }

    public var description: String { "secret of a webhook" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The header that proves who sent a webhook and when: `t=<unix seconds>,v1=<hex>`, where v1 is HMAC-SHA256 under a
/// shared secret over the text of `t`, a dot and the body. While a secret is exchanged for another there is one v1 for
/// each.
///
///     let header = WebhookSignature.header(for: body, at: now, secrets: [new, old])
///     try WebhookSignature.check(header, of: body, at: now, secrets: [secret])
///
/// Times are real time, whatever clock a store follows.
public enum WebhookSignature {
    /// The header's name.
    public static let field = "Souk-Webhook-Signature"
    /// How far `t` may be from the receiver's clock, in seconds, so that nobody can send an old webhook again later.
    public static let tolerance: TimeInterval = 300
    /// As many secrets as are ever compared; a longer header is not read.
    private static let maximumSignatures = 8

    /// Why a webhook is not believed.
    public enum VerificationError: Error, Equatable, Sendable {
        /// There is no header.
        case missing
        /// The header is not of the form.
        case malformed
        /// No v1 is by any of the secrets.
        case notOurs
        /// Signed too long ago, or not yet.
        case notCurrent
    }

    /// One v1 for each secret, in their order.
    public static func header(for body: [UInt8], at instant: Date, secrets: [WebhookSecret]) -> String {
        let time = String(Int64(instant.timeIntervalSince1970.rounded(.down)))
        let message = Self.message(time, body)
        return (["t=" + time] + secrets.map { "v1=" + Hex.encode($0.hmac.code(for: message)) }).joined(separator: ",")
    }

    /// Throws unless one v1 of the header is by one of the secrets. The signature is judged before the time: who does
    /// not have the secret does not learn how our clock stands.
    public static func check(
        _ header: String?, of body: [UInt8], at instant: Date, secrets: [WebhookSecret]
    ) throws(VerificationError) {
        guard let header else { throw .missing }
        guard let (time, seconds, codes) = parts(of: header) else { throw .malformed }
        let message = Self.message(time, body)
        guard secrets.contains(where: { secret in codes.contains { secret.hmac.isValid($0, for: message) } }) else {
            throw .notOurs
        }
        guard abs(instant.timeIntervalSince1970 - Double(seconds)) <= tolerance else { throw .notCurrent }
    }

    private static func message(_ time: String, _ body: [UInt8]) -> [UInt8] { Array((time + ".").utf8) + body }

    /// The time as it stands there, which is what was signed, and as a number. Unknown parts are left to later
    /// versions.
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
