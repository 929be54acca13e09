import Foundation
import HTTPCore
import Primitives
import StoreModel

/// How many requests may be sent: `burst` at once, and `perSecond` more with every second that passes.
public struct RateLimit: Hashable, Sendable {
    public var perSecond: Double
    public var burst: Int

    /// The default for one customer: 50 requests a second after 1000 at once. An app asks a few times when it is opened
    /// and once for every hundred purchases that it restores, so no person comes near it. A server answers hundreds of
    /// times as many, so no single device in a loop keeps it from the others. Each name of a customer counts for
    /// itself. A request to judge a receipt names no customer: it counts for the receipt.
    public static let perCustomer = RateLimit(perSecond: 50, burst: 1000)

    /// The least rate, about one request a day. No client waits longer, and `1 / perSecond` stays a finite number.
    package static let leastPerSecond = 0.00001

    /// Both are taken as they are; `EntitlementService` refuses to start with a limit that lets nobody in.
    public init(perSecond: Double, burst: Int) {
        self.perSecond = perSecond
        self.burst = burst
    }

    func check() throws(EntitlementServerError) {
        guard perSecond >= Self.leastPerSecond, perSecond.isFinite, burst >= 1 else {
            throw EntitlementServerError(
                .invalidConfiguration,
                "A rate limit lets at least one request in at once, and at least 0.00001 a second.")
        }
    }

    /// Takes a token from a bucket that is full again at `fullAgain`, in seconds of a monotonic clock. Returns after
    /// how many seconds there is a token, if there is none at `now`.
    fileprivate func take(from fullAgain: inout Double, at now: Double) -> Double? {
        let whole = Double(burst) / perSecond
        let next = max(fullAgain, now) + 1 / perSecond
        // The last bits of a sum of fractions decide about nothing.
        guard next <= now + whole + 1e-6 else { return next - now - whole }
        fullAgain = next
        return nil
    }
}

extension RateLimit {
    /// The limit of each of several servers.
    fileprivate func share(of servers: Int) -> RateLimit {
        guard servers > 1 else { return self }
        return RateLimit(perSecond: perSecond / Double(servers), burst: max(1, burst / servers))
    }
}

/// Buckets of tokens, one for each key and one for each customer or receipt, on a monotonic clock: setting the date
/// changes nothing. A bucket is kept as the one instant at which it is full again.
///
/// Servers that share a database let in an equal share each, of what their limits are together.
final class RateLimiter: Sendable {
    private let limits: [BundleID: RateLimit]
    private let customerLimits: [BundleID: RateLimit]
    private let clock: MonotonicClock
    private let begun: ContinuousClock.Instant
    /// By the digest of the key. Only keys that exist get this far, so there are no more of these than keys.
    private let fullAgain = Locked<[[UInt8]: Double]>([:])
    private let subjects = SubjectBuckets()
    private let registry: ServerRegistry?

    init(_ configuration: EntitlementService.Configuration, sharedBy registry: ServerRegistry? = nil) {
        self.registry = registry
        func limits(
            _ limit: (EntitlementService.Configuration.App) -> RateLimit?
        ) -> [BundleID: RateLimit] {
            Dictionary(
                uniqueKeysWithValues: configuration.apps.compactMap { app in limit(app).map { (app.bundleID, $0) } })
        }
        self.limits = limits(\.rateLimit)
        customerLimits = limits(\.customerRateLimit)
        clock = configuration.monotonicClock
        begun = clock.now
    }

    /// Takes a token from the bucket of the caller's key. Throws 429, saying when there is one again.
    func admit(_ caller: Caller) throws {
        guard !limits.isEmpty, let limit = limits[caller.app]?.share(of: registry?.count ?? 1) else { return }
        let now = now
        let wait = fullAgain.withLock { limit.take(from: &$0[caller.keyDigest, default: now], at: now) }
        if let wait { throw Refusal.tooManyRequests(of: "This key", field: "Authorization", retryAfter: wait) }
    }

    /// Takes a token from the bucket of a customer. Throws 429, saying when there is one again.
    func admit(_ customer: CustomerID, of app: BundleID) throws {
        try admit(customer, of: app, called: "customer")
    }

    /// The same for a receipt: one device sends the same one again and again.
    func admit(receipt: [UInt8], of app: BundleID) throws {
        try admit(receipt, of: app, called: "receipt")
    }

    private func admit(_ subject: some Hashable, of app: BundleID, called name: String) throws {
        guard let limit = customerLimits[app]?.share(of: registry?.count ?? 1) else { return }
        if let wait = subjects.take(limit, of: subject, app, at: now) {
            throw Refusal.tooManyRequests(of: "This \(name)", field: name, retryAfter: wait)
        }
    }

    /// Seconds since the limiter was made.
    private var now: Double {
        let (seconds, attoseconds) = begun.duration(to: clock.now).components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}

/// The buckets of customers and receipts, in a table that never grows: a client with the public key can name any
/// number of customers.
///
/// A subject has four places. Where all are taken, the bucket that is full soonest makes room: it remembers least. So a
/// bucket is never fuller than it should be because of others, and one that is nearly empty stays.
private final class SubjectBuckets: Sendable {
    private struct Slot {
        /// The subject's whole hash; 0 in a place that was never taken.
        var hash = 0
        var fullAgain = 0.0
    }

    private static let ways = 4
    /// Powers of two; 16384 places in all, 256 KiB. Under the default limit a bucket is full again 20 ms after a
    /// request, so that many serve 800 000 requests a second of as many customers.
    private static let (shardCount, setCount) = (64, 64)

    private let shards = (0..<shardCount).map { _ in Locked([Slot](repeating: Slot(), count: setCount * ways)) }

    /// `RateLimit.take` from the bucket of a subject.
    func take(_ limit: RateLimit, of subject: some Hashable, _ app: BundleID, at now: Double) -> Double? {
        // Seeded in each process, so that a sender cannot choose who shares a place.
        var hasher = Hasher()
        hasher.combine(subject)
        hasher.combine(app)
        let hash = hasher.finalize()
        let first = (hash >> 6 & (Self.setCount - 1)) * Self.ways
        return shards[hash & (Self.shardCount - 1)].withLock { slots in
            let places = first..<(first + Self.ways)
            let own = places.first { slots[$0].hash == hash }
            guard let place = own ?? places.min(by: { slots[$0].fullAgain < slots[$1].fullAgain }) else { return nil }
            if own == nil { slots[place] = Slot(hash: hash, fullAgain: now) }
            return limit.take(from: &slots[place].fullAgain, at: now)
        }
    }
}

extension Refusal {
    /// The longest wait that is answered: a year of seconds.
    private static let longestWait = 31_536_000.0

    fileprivate static func tooManyRequests(of whom: String, field: String, retryAfter seconds: Double) -> Refusal {
        Refusal(
            HTTPProblem(
                status: 429, code: "rate_limited", title: "Too many requests",
                detail: "\(whom) sent more requests than allowed. The next is answered after Retry-After seconds.",
                field: field, isRetryable: true),
            // Limited before it becomes an `Int`, which traps for what is too large. `min` gives the limit for NaN too.
            headers: ["Retry-After": String(Int(max(1, min(longestWait, seconds.rounded(.up)))))])
    }
}
