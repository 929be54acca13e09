import Foundation
import Primitives
import SignedData
import StoreModel

/// Tokens with which a device acts for one customer, with only the app's public key.
///
/// After a customer's login, the app's own server requests a token with its secret key. A token is `<base64url of
/// {"c":customer,"u":seconds}>.<base64url of HMAC-SHA256>`, with a secret of the app that stays in the ledger. A token
/// expires in real time and cannot be revoked before.
struct CustomerTokens: Sendable {
    private let secrets: [BundleID: HMACSHA256]
    private let realClock: any WallClock

    init(secrets: [BundleID: [UInt8]], realClock: any WallClock) throws {
        self.secrets = try secrets.mapValues { try HMACSHA256(key: $0) }
        self.realClock = realClock
    }

    /// The content of a verified token.
    struct Claims: Sendable {
        let customer: CustomerID
        /// The expiry, exclusive.
        let end: Date
    }

    /// Creates a token for `customer` that expires at `end`.
    func issue(for customer: CustomerID, of app: BundleID, until end: Date) throws -> String {
        guard let secret = secrets[app] else { throw Refusal.appNotServed }
        let claims: JSONValue = [
            "c": .string(customer.rawValue), "u": .number(Int64(end.timeIntervalSince1970.rounded(.down))),
        ]
        let payload = Base64.encodeURL(claims.encoded())
        return payload + "." + Base64.encodeURL(secret.code(for: Array(payload.utf8)))
    }

    /// Verifies a token and returns its content. Throws 401 if it is malformed, of another app, or expired.
    func claims(of token: String, for app: BundleID) throws -> Claims {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard token.utf8.count <= 1024, parts.count == 2, let secret = secrets[app],
            let code = Base64.decodeURL(String(parts[1])), secret.isValid(code, for: Array(parts[0].utf8)),
            let bytes = Base64.decodeURL(String(parts[0])), let json = try? JSONValue(parsing: bytes),
            let customer = json["c"]?.stringValue.flatMap({ CustomerID(rawValue: $0) }),
            let end = json["u"]?.intValue
        else { throw Refusal.unknownCustomerToken }
        let claims = Claims(customer: customer, end: Date(timeIntervalSince1970: Double(end)))
        guard isCurrent(claims) else { throw Refusal.customerTokenExpired }
        return claims
    }

    /// Returns whether a token has not expired.
    func isCurrent(_ claims: Claims) -> Bool { realClock.now() < claims.end }
}
