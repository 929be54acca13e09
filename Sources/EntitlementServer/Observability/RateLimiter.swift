import Foundation
import HTTPCore
import Primitives
import StoreModel

/// How many requests one key may send: `burst` at once, and `perSecond` more with every second that passes.
public struct RateLimit: Hashable, Sendable {
    public var perSecond: Double
    public var burst: Int

    /// Both are taken as they are; `EntitlementService` refuses to start with a limit that lets nobody in.
    public init(perSecond: Double, burst: Int) {
        self.perSecond = perSecond
        self.burst = burst
    }

    func check() throws(EntitlementServerError) {
        guard perSecond > 0, perSecond.isFinite, burst >= 1 else {
            throw EntitlementServerError(
                .invalidConfiguration, "A rate limit lets at least one request in at once, and more than 0 a second.")
        }
    }
}

/// One bucket of tokens for each key, in real time. A key's bucket is kept as the one instant at which it is full again.
final class RateLimiter: Sendable {
    private let limits: [BundleID: RateLimit]
    private let clock: any WallClock
    /// By the digest of the key. Only keys that exist get this far, so there are no more of these than keys.
    private let fullAgain = Locked<[[UInt8]: Double]>([:])

    init(_ configuration: EntitlementService.Configuration) {
        limits = Dictionary(
            uniqueKeysWithValues: configuration.apps.compactMap { app in app.rateLimit.map { (app.bundleID, $0) } })
        clock = configuration.realClock
    }

    /// Takes a token from the bucket of the caller's key. Throws 429, saying when there is one again.
    func admit(_ caller: Caller) throws {
        guard !limits.isEmpty, let limit = limits[caller.app] else { return }
        let now = clock.now().timeIntervalSince1970
        let whole = Double(limit.burst) / limit.perSecond
        let wait = fullAgain.withLock { fullAgain -> Double in
            // A clock that was set back must not lock anybody out for longer than a bucket takes to fill.
            let emptyUntil = min(max(fullAgain[caller.keyDigest] ?? now, now), now + whole)
            let next = emptyUntil + 1 / limit.perSecond
            // The last bits of a sum of fractions decide about nothing.
            guard next <= now + whole + 1e-6 else { return next - now - whole }
            fullAgain[caller.keyDigest] = next
            return 0
        }
        if wait > 0 { throw Refusal.tooManyRequests(retryAfter: Int(wait.rounded(.up))) }
    }
}

extension Refusal {
    fileprivate static func tooManyRequests(retryAfter seconds: Int) -> Refusal {
        Refusal(
            HTTPProblem(
                status: 429, code: "rate_limited", title: "Too many requests",
                detail: "This key has sent more requests than it may; the next is answered after Retry-After seconds.",
                field: "Authorization", isRetryable: true),
            headers: ["Retry-After": String(max(1, seconds))])
    }
}
