import Foundation
import Primitives
import StoreModel

/// Makes the bearer tokens that Apple's App Store Server API asks for (Apple: Generating JSON Web Tokens for API requests).
///
///     let tokens = AppStoreServerToken(
///         key: try SigningKey(p8), keyID: "2X9R4HXF34", issuerID: "57246542-…", bundleID: "com.example.darkroom")
///     request.headers["Authorization"] = "Bearer " + (try tokens.sign(at: clock.now()))
public struct AppStoreServerToken: Sendable {
    /// Apple refuses tokens that hold longer than an hour.
    public static let maximumLifetime: TimeInterval = 3600
    static let audience = "appstoreconnect-v1"

    private let key: SigningKey
    private let keyID: String
    private let issuerID: String
    private let bundleID: BundleID

    /// The key is the `.p8` file's, its id and the issuer's are App Store Connect's.
    public init(key: SigningKey, keyID: String, issuerID: String, bundleID: BundleID) {
        self.key = key
        self.keyID = keyID
        self.issuerID = issuerID
        self.bundleID = bundleID
    }

    /// A token that begins to hold at `instant` of real time, for `lifetime` seconds, 1 to 3600.
    ///
    /// Throws `claimInvalid` for another lifetime and for ids that cannot be ones, `cryptographyFailed`.
    public func sign(at instant: Date, lifetime: TimeInterval = 300) throws(SignedDataError) -> String {
        guard lifetime >= 1, lifetime <= Self.maximumLifetime else {
            throw SignedDataError(.claimInvalid, "A token may hold from 1 second to 60 minutes; Apple refuses others.")
        }
        try Claim.check(issuerID, is: "issuer id (iss)")
        let issued = instant.timeIntervalSince1970.rounded(.down)
        return try ServerJWT.sign(
            [
                "iss": .string(issuerID), "iat": .number(issued), "exp": .number(issued + lifetime.rounded(.down)),
                "aud": .string(Self.audience), "bid": .string(bundleID.rawValue),
            ], key: key, keyID: keyID)
    }
}

/// Judges bearer tokens as Apple's App Store Server API does.
public struct AppStoreServerTokenVerifier: Sendable {
    private let keys: [String: VerificationKey]
    private let issuerID: String
    private let bundleID: BundleID

    /// The keys by their ids.
    public init(keys: [String: VerificationKey], issuerID: String, bundleID: BundleID) {
        self.keys = keys
        self.issuerID = issuerID
        self.bundleID = bundleID
    }

    /// Returns until when the token may be accepted, if it may at `instant` of real time; so whoever asks again with the
    /// same token need not be judged anew.
    ///
    /// Throws `tooLarge`, `malformed`, `unsupportedAlgorithm`, `unknownKey`, `signatureInvalid`, `payloadMalformed`,
    /// `claimInvalid` (issuer, audience, more than 60 minutes), `wrongBundle`, `notCurrent`. Clocks may differ by a
    /// minute; `iat` may be absent, as Apple's own client leaves it out.
    @discardableResult
    public func verify(_ token: String, at instant: Date) throws(SignedDataError) -> Date {
        let token = try ServerJWT(token, keys: keys)
        try token.checkIssuer(issuerID)
        guard try token.text("aud") == AppStoreServerToken.audience else {
            throw SignedDataError(.claimInvalid, "The audience (aud) is not \(AppStoreServerToken.audience).")
        }
        try token.checkBundle(bundleID.rawValue)
        let end = try token.date("exp")
        let until = end.addingTimeInterval(ServerJWT.clockDifference)
        let begin = token.claims["iat"] == nil ? nil : try token.date("iat")
        guard until > instant else {
            throw SignedDataError(.notCurrent, "The token no longer holds (exp); make a new one.")
        }
        guard begin ?? instant <= instant.addingTimeInterval(ServerJWT.clockDifference) else {
            throw SignedDataError(.notCurrent, "The token does not hold yet (iat); compare the clocks.")
        }
        let latest = (begin ?? instant.addingTimeInterval(ServerJWT.clockDifference))
            .addingTimeInterval(AppStoreServerToken.maximumLifetime)
        guard end <= latest else {
            throw SignedDataError(.claimInvalid, "The token holds longer than 60 minutes (exp).")
        }
        return until
    }
}
