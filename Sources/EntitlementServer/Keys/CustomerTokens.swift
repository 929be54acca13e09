import Foundation
import Primitives
import SignedData
import StoreModel

/// Tokens that let one customer's device act for that customer with nothing but the app's public key: the app's own server
/// asks for one with its secret key after its customer logged in.
///
/// A token is `<base64url of {"c":customer,"u":seconds}>.<base64url of HMAC-SHA256>`, under a secret of the app that never
/// leaves the ledger. It ends by itself, in real time; it cannot be taken back before.
struct CustomerTokens: Sendable {
    private let secrets: [BundleID: HMACSHA256]
    private let realClock: any WallClock

    init(secrets: [BundleID: [UInt8]], realClock: any WallClock) throws {
        self.secrets = try secrets.mapValues { try HMACSHA256(key: $0) }
        self.realClock = realClock
    }

    /// What a token says, whose code was found right.
    struct Claims: Sendable {
        let customer: CustomerID
        /// Exclusive.
        let end: Date
    }

    /// A token for `customer` until `end`.
    func issue(for customer: CustomerID, of app: BundleID, until end: Date) throws -> String {
        guard let secret = secrets[app] else { throw Refusal.appNotServed }
        let claims: JSONValue = [
            "c": .string(customer.rawValue), "u": .number(Int64(end.timeIntervalSince1970.rounded(.down))),
        ]
        let payload = Base64.encodeURL(claims.encoded())
        return payload + "." + Base64.encodeURL(secret.code(for: Array(payload.utf8)))
    }

    /// Whose token this is, and until when. Throws 401 for one that is malformed, not of this app, or expired.
    func claims(of token: String, for app: BundleID) throws -> Claims {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard token.utf8.count <= 1024, parts.count == 2, let secret = secrets[app],
            let code = Base64.decodeURL(String(parts[1])), secret.isValid(code, for: Array(parts[0].utf8)),
            let bytes = Base64.decodeURL(String(parts[0])), let json = try? JSONValue(parsing: bytes),
            let customer = json["c"]?.stringValue.flatMap({ CustomerID(rawValue: $0) }),
            let end = json["u"]?.intValue
        else { throw Refusal.unknownCustomerToken }
        let claims = Claims(customer: customer, end: Date(timeIntervalSince1970: Double(end)))
        guard isCurrent(claims) else { throw Refusal.customerTokenOver }
        return claims
    }

    /// Whether a token has not expired yet.
    func isCurrent(_ claims: Claims) -> Bool { realClock.now() < claims.end }
}
