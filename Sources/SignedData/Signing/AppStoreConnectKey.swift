import Foundation
import Primitives
import StoreModel

/// A key of App Store Connect, with which an app's server signs its tokens and requests for Apple. All threads can
/// share one.
///
///     let key = AppStoreConnectKey(
///         try SigningKey(p8), id: "2X9R4HXF34", issuerID: "57246542-…", bundleID: "com.example.darkroom")
///     let token = try key.token(at: SystemClock().now())
///     let jws = try key.sign(.promotionalOffer("comeback", for: "plus.monthly"), nonce: UUID(), at: clock.now())
public struct AppStoreConnectKey: Sendable {
    /// The longest lifetime of a token: one hour. Apple refuses longer ones.
    public static let maximumTokenLifetime: TimeInterval = 3600
    static let tokenAudience = "appstoreconnect-v1"

    private struct Parts {
        let key: SigningKey
        let id: String
        let issuerID: String
    }

    private let parts: Locked<Parts>
    private let bundleID: BundleID

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - key: The key in the `.p8` file.
    ///   - id: The id of the key in App Store Connect.
    ///   - issuerID: The issuer id in App Store Connect.
    ///   - bundleID: The bundle id of the app.
    public init(_ key: SigningKey, id: String, issuerID: String, bundleID: BundleID) {
        parts = Locked(Parts(key: key, id: id, issuerID: issuerID))
        self.bundleID = bundleID
    }

    /// Signs with the key and ids of another value from now on, also in every copy of this value.
    package func replace(with other: AppStoreConnectKey) {
        let fresh = other.parts.withLock { $0 }
        parts.withLock { $0 = fresh }
    }

    /// Returns a bearer token for the App Store Server API (Apple: Generating JSON Web Tokens for API requests).
    ///
    /// - Parameters:
    ///   - instant: The time of the signature, in real time.
    ///   - lifetime: The lifetime of the token in seconds, 1 to 3600.
    /// - Returns: The token.
    /// - Throws: `SignedDataError` with `claimInvalid` for another lifetime or for invalid ids, and
    ///   `cryptographyFailed`.
    public func token(at instant: Date, lifetime: TimeInterval = 300) throws(SignedDataError) -> String {
        guard lifetime >= 1, lifetime <= Self.maximumTokenLifetime else {
            throw SignedDataError(
                .claimInvalid, "A token may be valid for 1 second to 60 minutes; Apple refuses others.")
        }
        let issued = instant.timeIntervalSince1970.rounded(.down)
        let parts = parts.withLock { $0 }
        return try Self.sign(
            by: parts,
            [
                ("iss", .string(parts.issuerID)), ("iat", .number(issued)),
                ("exp", .number(issued + lifetime.rounded(.down))),
                ("aud", .string(Self.tokenAudience)), ("bid", .string(bundleID.rawValue)),
            ])
    }

    /// Returns a compact JWS for StoreKit. Never use a `nonce` again. Apple counts the lifetime of the request from
    /// `instant`. Throws `claimInvalid` for a value that cannot be signed, and `cryptographyFailed`.
    package func sign(_ request: AppStoreRequest, nonce: UUID, at instant: Date) throws(SignedDataError) -> String {
        let parts = parts.withLock { $0 }
        return try Self.sign(
            by: parts,
            [
                ("iss", .string(parts.issuerID)), ("iat", .number(instant.timeIntervalSince1970.rounded(.down))),
                ("aud", .string(request.audience.rawValue)), ("bid", .string(bundleID.rawValue)),
                ("nonce", .string(nonce.uuidString.lowercased())),
            ] + (try request.claims()))
    }

    /// Returns the signature, version 1, of a promotional offer for a payment with this app account token. Never use a
    /// `nonce` again. Throws `claimInvalid` for a value that cannot be signed, and `cryptographyFailed`.
    package func sign(
        _ offerID: String, of product: ProductID, appAccountToken: UUID? = nil, nonce: UUID, at instant: Date
    ) throws(SignedDataError) -> PromotionalOfferSignature {
        let parts = parts.withLock { $0 }
        return try .sign(
            PromotionalOffer(
                bundleID: bundleID, productID: product, offerID: offerID, appAccountToken: appAccountToken),
            key: parts.key, keyID: parts.id, nonce: nonce, at: instant)
    }

    private static func sign(by parts: Parts, _ claims: [(String, JSONValue)]) throws(SignedDataError) -> String {
        try Claim.check(parts.issuerID, is: "issuer id (iss)")
        return try ServerJWT.sign(JSONMembers(claims), key: parts.key, keyID: parts.id)
    }
}
