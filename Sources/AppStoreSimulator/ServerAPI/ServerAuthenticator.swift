import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel

/// Lets in who may ask the App Store Server API, as often as the settings allow. By real time: tokens and limits belong to
/// the network, not to the life of the store.
final class ServerAuthenticator: Sendable {
    private let verifier: AppStoreServerTokenVerifier
    private let clock: any WallClock
    /// Tokens that were judged, with the time in which they hold; most servers send one for many requests.
    private let accepted = Locked(BoundedCache<String, Range<Date>>(capacity: 1024))
    private let rules = Locked(ServerRules())
    private let budgets = Locked(HourlyBudgets())

    /// Longer ones are judged each time.
    private static let rememberedLength = 2048

    /// Throws `SignedDataError` when the key's file holds none.
    init(_ summary: SimulatedAppStore.Summary, clock: any WallClock) throws {
        let api = summary.serverAPI
        let key = try SigningKey(Array(Data(contentsOf: URL(fileURLWithPath: api.privateKey))))
        verifier = AppStoreServerTokenVerifier(
            keys: [api.keyID: key.verificationKey], issuerID: api.issuerID, bundleID: summary.bundleID)
        self.clock = clock
    }

    /// From now on.
    func follow(_ rules: ServerRules) { self.rules.withLock { $0 = rules } }

    /// How many seconds of real time an answer is to take.
    var delay: Double { rules.withLock { $0.delay } }

    /// Throws `SignedDataError` with the reason unless the request brings a token that holds now.
    func authenticate(_ request: HTTPRequest) throws(SignedDataError) {
        let token = try Self.token(of: request)
        let now = clock.now()
        if let known = accepted.withLock({ $0.value(for: token) }), known.contains(now) { return }
        let until = try verifier.verify(token, at: now)
        guard token.utf8.count <= Self.rememberedLength else { return }
        accepted.withLock { $0.insert(now..<until, for: token) }
    }

    private static func token(of request: HTTPRequest) throws(SignedDataError) -> String {
        let parts = (request.headers["Authorization"] ?? "").split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else {
            throw SignedDataError(.malformed, "The header Authorization with a bearer token is missing.")
        }
        return String(parts[1])
    }

    /// Throws `ServerRefusal`: the error that the settings want, or the limit of an endpoint that takes `rate` requests a
    /// second.
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
