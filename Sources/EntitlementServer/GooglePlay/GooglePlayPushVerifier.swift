import Foundation
import GooglePlay
import HTTPCore
import Primitives
import SignedData
import StoreModel

/// Verifies the OIDC tokens of push requests of Cloud Pub/Sub, with Google's keys.
///
///     let verifier = GooglePlayPushVerifier(transport: CurlTransport())
///     try await verifier.verify(
///         request.headers["Authorization"],
///         as: PushToken(audience: "https://souk.example/v1/notifications/google-play", email: account))
///
/// The keys are requested for the first token, kept as `Cache-Control` says (5 minutes to a day), and requested again
/// for a token with an unknown key. Tokens of attackers cause at most one request in a minute.
package final class GooglePlayPushVerifier: Sendable {
    /// The URL of Google's keys.
    package static let googleKeysURL = "https://www.googleapis.com/oauth2/v3/certs"

    /// The keys could not be requested. The token may be valid, so the push request should be sent again.
    package struct KeysUnavailable: Error, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// The last request for the keys, and the keys of the last successful one.
    private struct Keys: Sendable {
        var set = JSONWebKeySet([:])
        var validity = Date.distantPast..<Date.distantPast
        var askedAt = Date.distantPast
        var failure: String?
    }

    private static let shortestValidity: TimeInterval = 300
    private static let longestValidity: TimeInterval = 86_400
    private static let usualValidity: TimeInterval = 3600
    /// The shortest time between two requests for the keys, in seconds.
    private static let pause: TimeInterval = 60
    private static let pauseAfterFailure: TimeInterval = 10
    private static let timeout: Duration = .seconds(10)
    private static let maximumAnswerBytes = 256 << 10

    private let keysURL: String
    private let transport: any HTTPTransport
    private let clock: any WallClock
    private let keys = SharedValue<Keys>()

    /// Creates a verifier.
    ///
    /// - Parameters:
    ///   - keysURL: The URL of the keys, a JSON Web Key Set.
    ///   - transport: The transport of the requests for the keys.
    ///   - clock: The clock of the tokens: real time, even with a simulator.
    package init(
        keysURL: String = googleKeysURL, transport: any HTTPTransport, clock: any WallClock = SystemClock()
    ) {
        self.keysURL = keysURL
        self.transport = transport
        self.clock = clock
    }

    /// Verifies that the header `Authorization` has a valid token of Google with the audience and the email of
    /// `expected`.
    ///
    /// Throws `SignedDataError` for another token, `KeysUnavailable`, or `CancellationError`.
    package func verify(_ authorization: String?, as expected: PushToken) async throws {
        let parts = (authorization ?? "").split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else {
            throw SignedDataError(.malformed, "The request has no token in the header Authorization.")
        }
        let token = String(parts[1])
        let now = clock.now()
        guard let unknown = try Self.unknownKey(of: token, expected, keys.present, at: now) else { return }
        let keys = try await keys.value(where: { Self.isRecent($0, at: now) }, request: requestKeys)
        guard try Self.unknownKey(of: token, expected, keys, at: now) != nil else { return }
        guard let failure = keys.failure else { throw unknown }
        throw KeysUnavailable(description: failure)
    }

    /// Verifies a token. Returns the error if its key is not among `keys`, and throws the others.
    private static func unknownKey(
        of token: String, _ expected: PushToken, _ keys: Keys?, at now: Date
    ) throws(SignedDataError) -> SignedDataError? {
        do {
            try expected.verify(token, keys: valid(keys, at: now), at: now)
            return nil
        } catch {
            guard error.code == .unknownKey else { throw error }
            return error
        }
    }

    private static func valid(_ keys: Keys?, at now: Date) -> [String: RSAVerificationKey] {
        guard let keys, keys.validity.contains(now) else { return [:] }
        return keys.set.keys
    }

    private static func isRecent(_ keys: Keys, at now: Date) -> Bool {
        abs(now.timeIntervalSince(keys.askedAt)) < (keys.failure == nil ? pause : pauseAfterFailure)
    }

    /// Requests the keys. A failure keeps the keys that are there. Throws `CancellationError`.
    private func requestKeys() async throws -> Keys {
        var keys = keys.present ?? Keys()
        let now = clock.now()
        keys.askedAt = now
        keys.failure = nil
        do {
            let answer = try await transport.send(
                HTTPRequest(method: .get, url: keysURL, headers: ["Accept": "application/json"], timeout: Self.timeout))
            let body = try await answer.body.collect(upTo: Self.maximumAnswerBytes)
            if answer.status == 200 {
                keys.set = try JSONWebKeySet(json: try JSONValue(parsing: body, depth: 8))
                // A token that was received before the keys is verified with them too.
                keys.validity = .distantPast..<now.addingTimeInterval(Self.validity(answer.headers["Cache-Control"]))
            } else {
                keys.failure = "Google's keys cannot be read: the answer has the status \(answer.status)."
            }
        } catch {
            try Task.checkCancellation()
            let reason = (error as? HTTPError)?.reason ?? (error as? SignedDataError)?.reason
            keys.failure = "Google's keys cannot be read: \(reason ?? "the answer is not JSON.")"
        }
        return keys
    }

    /// The seconds for which the keys are used.
    private static func validity(_ cacheControl: String?) -> TimeInterval {
        let directives = (cacheControl ?? "").lowercased().split(separator: ",").map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        if directives.contains("no-store") || directives.contains("no-cache") { return shortestValidity }
        guard let age = directives.first(where: { $0.hasPrefix("max-age=") })?.dropFirst("max-age=".count),
            let seconds = UInt32(age)
        else { return usualValidity }
        return min(max(TimeInterval(seconds), shortestValidity), longestValidity)
    }
}
