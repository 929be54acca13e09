import Foundation
import GooglePlay
import HTTPCore
import Primitives
import SignedData
import StoreModel

/// The keys and the tokens of a simulated Google Play. Its purchases are in the database of the App Store simulator, so
/// both stores have the same accounts and the same virtual time.
///
/// The data folder contains the keys, which are made once, and the key file of a service account. Access tokens and
/// signatures of push requests follow real time.
final class SimulatedGooglePlay: Sendable {
    let catalogue: PlayCatalogue
    /// Signs purchases for the app.
    let licenceKey: RSASigningKey
    /// Signs the OIDC tokens of push requests.
    let pushKey: RSASigningKey
    let pushKeyID: String
    private let accountKey: RSASigningKey
    private let folder: String
    private let clock: any WallClock
    private let random: @Sendable () -> UInt64
    /// The URL of the token endpoint, once the store listens.
    private let tokenURI = Locked<String?>(nil)
    private let apiRules = Locked(PlayRules())
    /// The day since 1970 in virtual time, and the number of requests in it.
    private let usedQuota = Locked((day: 0, count: 0))
    /// The instants at which access tokens expire.
    private let accessTokens = Locked(BoundedCache<String, Date>(capacity: 1024))

    private static let googleTokenURI = "https://oauth2.googleapis.com/token"
    static let tokenLifetime: TimeInterval = 3600
    static let clientEmail = "souk-simulator@souk-simulator.iam.gserviceaccount.com"
    /// The service account of the push subscription.
    static let pushEmail = "play-notifications@souk-simulator.iam.gserviceaccount.com"
    static let pushSubject = "100000000000000000002"
    static let subscription = "projects/souk-simulator/subscriptions/play-notifications"

    /// Reads the keys in the data folder. The first call creates them.
    ///
    /// Throws `SimulatorError` (`dataFolder`) if a file cannot be written, and `SignedDataError` if a file does not
    /// contain a key.
    init(_ catalogue: PlayCatalogue, _ configuration: SimulatedAppStore.Configuration) throws {
        self.catalogue = catalogue
        folder = configuration.dataDirectory
        clock = configuration.baseClock
        random = configuration.random
        licenceKey = try Self.key("play-licence-key.pem", in: folder)
        pushKey = try Self.key("play-push-key.pem", in: folder)
        accountKey = try Self.key("play-account-key.pem", in: folder)
        pushKeyID = Self.id(of: pushKey)
    }

    private static func key(_ name: String, in folder: String) throws -> RSASigningKey {
        let path = "\(folder)/\(name)"
        if !FileManager.default.fileExists(atPath: path) {
            try PrivateFile.write(Array(RSASigningKey.generate().pem.utf8), to: path)
        }
        return try RSASigningKey(Array(Data(contentsOf: URL(fileURLWithPath: path))))
    }

    private static func id(of key: RSASigningKey) -> String {
        String(Hex.encode(SHA256.hash(key.verificationKey.der)).prefix(40))
    }

    /// The public key of the app, which verifies signed purchases: base64 of a SubjectPublicKeyInfo.
    var publicKey: String { Base64.encode(licenceKey.verificationKey.der) }

    /// The public keys of push requests.
    var pushKeys: JSONWebKeySet { JSONWebKeySet([pushKeyID: pushKey.verificationKey]) }

    /// Writes the key file of the service account for a store that listens at `url`. Returns what `souk simulate` prints.
    ///
    /// Throws `SimulatorError` (`dataFolder`) if the file cannot be written.
    func announce(listeningAt url: String) throws -> JSONValue {
        let path = folder + "/play-service-account.json"
        let key = ServiceAccountKey(
            projectID: "souk-simulator", clientEmail: Self.clientEmail, clientID: "100000000000000000001",
            keyID: Self.id(of: accountKey), tokenURI: url + PlayRoutes.tokenPath, signingKey: accountKey)
        try PrivateFile.write(
            key.file(authURI: url + "/o/oauth2/auth", certificatesURI: url + PlayRoutes.certificatesPath), to: path)
        tokenURI.withLock { $0 = key.tokenURI }
        return [
            "url": .string(url), "packageName": .string(catalogue.packageName.rawValue),
            "serviceAccount": .string(path), "publicKey": .string(publicKey),
        ]
    }

    /// The injected error and latency of the API.
    var rules: PlayRules { apiRules.withLock { $0 } }

    func follow(_ rules: PlayRules) { apiRules.withLock { $0 = rules } }

    /// Counts a request at an instant of virtual time. Returns whether the quota of the day (UTC) allows it.
    func countRequest(at instant: Date) -> Bool {
        let day = Int((instant.timeIntervalSince1970 / 86400).rounded(.down))
        let quota = rules.dailyQuota
        return usedQuota.withLock { used in
            if used.day != day { used = (day, 0) }
            if let quota, used.count >= quota { return false }
            used.count += 1
            return true
        }
    }

    /// Issues an access token for an assertion of the service account.
    ///
    /// Throws `OAuthRefusal`.
    func accessToken(for assertion: String) throws(OAuthRefusal) -> String {
        let now = clock.now()
        do {
            let token = try RS256Token(assertion, keys: [Self.id(of: accountKey): accountKey.verificationKey])
            guard try token.text("iss").hasSameBytes(as: Self.clientEmail) else {
                throw OAuthRefusal("invalid_grant", "The issuer (iss) is not the service account.")
            }
            let audience = try token.text("aud")
            // Google's own libraries use Google's endpoint, whatever the key file says.
            guard
                [tokenURI.withLock { $0 }, Self.googleTokenURI].contains(where: {
                    $0?.hasSameBytes(as: audience) ?? false
                })
            else {
                throw OAuthRefusal("invalid_grant", "The audience (aud) is not the token_uri of the key file.")
            }
            try token.checkTime(at: now, lifetime: ServiceAccountKey.assertionLifetime)
            let scopes = try token.text("scope").split(separator: " ")
            guard scopes.contains(where: { String($0).hasSameBytes(as: AndroidPublisher.scope) }) else {
                throw OAuthRefusal("invalid_scope", "The scope does not contain \(AndroidPublisher.scope).")
            }
        } catch let error as OAuthRefusal {
            throw error
        } catch {
            throw OAuthRefusal("invalid_grant", (error as? SignedDataError)?.reason ?? "\(error)")
        }
        let bytes = (0..<4).flatMap { _ in withUnsafeBytes(of: random()) { Array($0) } }
        let token = "ya29.c." + Base64.encodeURL(bytes)
        accessTokens.withLock { $0.insert(now.addingTimeInterval(Self.tokenLifetime), for: token) }
        return token
    }

    /// Throws `GoogleAPIError` unless the request has an access token that is valid now.
    func authenticate(_ request: HTTPRequest) throws(GoogleAPIError) {
        let parts = (request.headers["Authorization"] ?? "").split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else {
            throw GoogleAPIError(
                .unauthenticated, reason: "required", "The request has no access token in the header Authorization.")
        }
        let (token, now) = (String(parts[1]), clock.now())
        guard token.utf8.count <= 256, let expiry = accessTokens.withLock({ $0.value(for: token) }), now < expiry else {
            throw GoogleAPIError(
                .unauthenticated, reason: "authError", "The access token is unknown or has expired.")
        }
    }
}

/// An error response of the token endpoint (RFC 6749 section 5.2).
struct OAuthRefusal: Error, Hashable {
    var error: String
    var description: String

    init(_ error: String, _ description: String) {
        self.error = error
        self.description = description
    }

    var response: HTTPResponse {
        HTTPResponse(status: 400, json: ["error": .string(error), "error_description": .string(description)])
    }
}
