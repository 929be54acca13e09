import Foundation
import Primitives
import StoreModel

/// A key of App Store Connect in the hands of one app's server: signs what the server says to Apple. Any number of
/// threads may share one.
///
///     let key = AppStoreConnectKey(
///         try SigningKey(p8), id: "2X9R4HXF34", issuerID: "57246542-…", bundleID: "com.example.darkroom")
///     let token = try key.token(at: SystemClock().now())
///     let jws = try key.sign(.promotionalOffer("comeback", for: "plus.monthly"), nonce: UUID(), at: clock.now())
public struct AppStoreConnectKey: Sendable {
    /// Apple refuses tokens that hold longer than an hour.
    public static let maximumTokenLifetime: TimeInterval = 3600
    static let tokenAudience = "appstoreconnect-v1"

    private let key: SigningKey
    private let id: String
    private let issuerID: String
    private let bundleID: BundleID

    /// The key is the `.p8` file's, its id and the issuer's are App Store Connect's.
    public init(_ key: SigningKey, id: String, issuerID: String, bundleID: BundleID) {
        self.key = key
        self.id = id
        self.issuerID = issuerID
        self.bundleID = bundleID
    }

    /// The bearer token that the App Store Server API asks for (Apple: Generating JSON Web Tokens for API requests). It
    /// begins to hold at `instant` of real time, for `lifetime` seconds, 1 to 3600.
    ///
    /// Throws `claimInvalid` for another lifetime and for ids that cannot be ones, `cryptographyFailed`.
    public func token(at instant: Date, lifetime: TimeInterval = 300) throws(SignedDataError) -> String {
        guard lifetime >= 1, lifetime <= Self.maximumTokenLifetime else {
            throw SignedDataError(.claimInvalid, "A token may hold from 1 second to 60 minutes; Apple refuses others.")
        }
        let issued = instant.timeIntervalSince1970.rounded(.down)
        return try sign([
            ("iss", .string(issuerID)), ("iat", .number(issued)), ("exp", .number(issued + lifetime.rounded(.down))),
            ("aud", .string(Self.tokenAudience)), ("bid", .string(bundleID.rawValue)),
        ])
    }

    /// The compact JWS for StoreKit. `nonce` is used for nothing else ever; from `instant` Apple counts how long the
    /// request may be presented. Throws `claimInvalid` for a value that cannot be signed, `cryptographyFailed`.
    package func sign(_ request: AppStoreRequest, nonce: UUID, at instant: Date) throws(SignedDataError) -> String {
        try sign(
            [
                ("iss", .string(issuerID)), ("iat", .number(instant.timeIntervalSince1970.rounded(.down))),
                ("aud", .string(request.audience.rawValue)), ("bid", .string(bundleID.rawValue)),
                ("nonce", .string(nonce.uuidString.lowercased())),
            ] + (try request.claims()))
    }

    private func sign(_ claims: [(String, JSONValue)]) throws(SignedDataError) -> String {
        try Claim.check(issuerID, is: "issuer id (iss)")
        return try ServerJWT.sign(JSONMembers(claims), key: key, keyID: id)
    }
}
