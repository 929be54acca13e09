import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel

/// Authenticates the requests to the App Store Server API and applies its rate limits. Both use real time, not virtual
/// time.
final class ServerAuthenticator: Sendable {
    private let verifier: AppStoreServerTokenVerifier
    private let clock: any WallClock
    /// The verified tokens, with the time in which each is valid. Most servers send one token with many requests.
    private let accepted = Locked(BoundedCache<String, Range<Date>>(capacity: 1024))
    private let rules = Locked(ServerRules())
    private let budgets = Locked(HourlyBudgets())

    /// The maximum length of a cached token. Longer ones are verified each time.
    private static let longestCachedToken = 2048

    /// Throws `SignedDataError` if the file of the key has no key.
    init(_ summary: SimulatedAppStore.Summary, clock: any WallClock) throws {
        let api = summary.serverAPI
        let key = try SigningKey(Array(Data(contentsOf: URL(fileURLWithPath: api.privateKey))))
        verifier = AppStoreServerTokenVerifier(
            keys: [api.keyID: key.verificationKey], issuerID: api.issuerID, bundleID: summary.bundleID)
        self.clock = clock
    }

    /// Applies `rules` to all later requests.
    func follow(_ rules: ServerRules) { self.rules.withLock { $0 = rules } }

    /// The delay of each response to an authenticated request, in seconds of real time.
    var delay: Double { rules.withLock { $0.delay } }

    /// Throws `SignedDataError` with the reason unless the request has a token that is valid now.
    func authenticate(_ request: HTTPRequest) throws(SignedDataError) {
        let token = try Self.token(of: request)
        let now = clock.now()
        if let known = accepted.withLock({ $0.value(for: token) }), known.contains(now) { return }
        let expiry = try verifier.verify(token, at: now)
        guard token.utf8.count <= Self.longestCachedToken else { return }
        accepted.withLock { $0.insert(now..<expiry, for: token) }
    }

    private static func token(of request: HTTPRequest) throws(SignedDataError) -> String {
        let parts = (request.headers["Authorization"] ?? "").split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else {
            throw SignedDataError(.malformed, "The header Authorization with a bearer token is missing.")
        }
        return String(parts[1])
    }

    /// Throws `ServerRefusal` if the settings inject an error, or if the endpoint's rate limit is exceeded. `rate` is
    /// Apple's limit in requests per second.
    func checkLimits(_ endpoint: String, rate: Int) throws(ServerRefusal) {
        let (rules, now) = (rules.withLock { $0 }, clock.now())
        if let failure = rules.failure {
            throw ServerRefusal(
                failure, retryAt: failure == .rateLimitExceeded ? HourlyBudgets.end(ofHourAt: now) : nil)
        }
        guard let budget = rules.rateLimit.budget(of: rate),
            let next = budgets.withLock({ $0.take(endpoint, of: budget, at: now) })
        else { return }
        throw ServerRefusal(.rateLimitExceeded, retryAt: next)
    }
}
