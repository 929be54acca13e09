import Foundation
import HTTPCore
import Primitives
import StoreModel

/// A rate limit: `burst` requests at once, and `perSecond` more with each second.
public struct RateLimit: Hashable, Sendable {
    /// The number of requests per second.
    public var perSecond: Double
    /// The number of requests at once.
    public var burst: Int

    /// The default limit of requests about one customer: 50 requests a second after 1000 at once.
    ///
    /// An app sends a few requests when it is opened and one for every hundred purchases that it restores, so no person
    /// reaches the limit. A server can answer hundreds of times as many requests a second, so a single device in a loop
    /// does not slow the others. Each name of a customer counts separately. Receipt validations name no customer and
    /// count by receipt.
    public static let perCustomer = RateLimit(perSecond: 50, burst: 1000)

    /// The smallest rate, about one request a day. It limits the time that clients wait, and keeps `1 / perSecond` finite.
    package static let leastPerSecond = 0.00001

    /// Creates a limit. ``EntitlementService`` refuses to start with a limit that admits no request.
    ///
    /// - Parameters:
    ///   - perSecond: The number of requests per second, at least 0.00001.
    ///   - burst: The number of requests at once, at least 1.
    public init(perSecond: Double, burst: Int) {
        self.perSecond = perSecond
        self.burst = burst
    }

    func check() throws(EntitlementServerError) {
        guard perSecond >= Self.leastPerSecond, perSecond.isFinite, burst >= 1 else {
            throw EntitlementServerError(
                .invalidConfiguration,
                "A rate limit must allow at least 1 request at once, and at least 0.00001 a second.")
        }
    }

    /// Takes a token from a bucket that is full at `fullAt`, in seconds of a monotonic clock. Returns `nil`, or the number
    /// of seconds until the next token if the bucket is empty.
    func take(from fullAt: inout Double, at now: Double) -> Double? {
        let whole = Double(burst) / perSecond
        let next = max(fullAt, now) + 1 / perSecond
        guard next <= now + whole + 1e-6 else { return next - now - whole }
        fullAt = next
        return nil
    }
}

extension RateLimit {
    /// Returns each server's share of the limit.
    fileprivate func share(of servers: Int) -> RateLimit {
        guard servers > 1 else { return self }
        return RateLimit(perSecond: perSecond / Double(servers), burst: max(1, burst / servers))
    }
}

/// Token buckets for keys, customers and receipts. The clock is monotonic, so setting the date does not affect them. A
/// bucket is stored as the time at which it is full.
///
/// Servers that share a database each admit an equal share of the limits.
final class RateLimiter: Sendable {
    private let limits: [BundleID: RateLimit]
    private let customerLimits: [BundleID: RateLimit]
    private let clock: MonotonicClock
    private let start: ContinuousClock.Instant
    /// The times at which the buckets of keys are full, by digest of the key. Keys are verified before, so there are no more
    /// buckets than keys.
    private let fullAt = Locked<[[UInt8]: Double]>([:])
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
        start = clock.now
    }

    /// Takes a token from the bucket of the caller's key. Throws 429 with the time of the next token.
    func admit(_ caller: Caller) throws {
        guard !limits.isEmpty, let limit = limits[caller.app]?.share(of: registry?.count ?? 1) else { return }
        let now = now
        let wait = fullAt.withLock { limit.take(from: &$0[caller.keyDigest, default: now], at: now) }
        if let wait { throw Refusal.tooManyRequests(of: "This key", field: "Authorization", retryAfter: wait) }
    }

    /// Takes a token from the bucket of a customer. Throws 429 with the time of the next token.
    func admit(_ customer: CustomerID, of app: BundleID) throws {
        try admit(customer, of: app, called: "customer")
    }

    /// Takes a token from the bucket of a receipt, which a device may send repeatedly.
    func admit(receipt: [UInt8], of app: BundleID) throws {
        try admit(receipt, of: app, called: "receipt")
    }

    private func admit(_ subject: some Hashable, of app: BundleID, called name: String) throws {
        guard let limit = customerLimits[app]?.share(of: registry?.count ?? 1) else { return }
        if let wait = subjects.take(limit, of: subject, app, at: now) {
            throw Refusal.tooManyRequests(of: "This \(name)", field: name, retryAfter: wait)
        }
    }

    /// The seconds since the creation of the limiter.
    private var now: Double {
        let (seconds, attoseconds) = start.duration(to: clock.now).components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}

/// The buckets of customers and receipts, in a table of fixed size, because a client with the public key can name any
/// number of customers.
///
/// A subject can use one of four slots. If all four are used, its bucket replaces the one that will be full first,
/// which holds the least information. A subject whose bucket was replaced can exceed its limit, but a nearly empty
/// bucket stays.
private final class SubjectBuckets: Sendable {
    private struct Slot {
        /// The hash of the subject; 0 in an unused slot.
        var hash = 0
        var fullAt = 0.0
    }

    private static let ways = 4
    /// Powers of two: 16384 slots in all, 256 KiB. Under the default limit a bucket is full again 20 ms after a
    /// request, so the slots suffice for 800 000 requests a second, each from another customer.
    private static let (shardCount, setCount) = (64, 64)

    private let shards = (0..<shardCount).map { _ in Locked([Slot](repeating: Slot(), count: setCount * ways)) }

    /// Takes a token from the bucket of a subject.
    func take(_ limit: RateLimit, of subject: some Hashable, _ app: BundleID, at now: Double) -> Double? {
        // The hash has another seed in each process, so that a sender cannot choose colliding subjects.
        var hasher = Hasher()
        hasher.combine(subject)
        hasher.combine(app)
        let hash = hasher.finalize()
        let first = (hash >> 6 & (Self.setCount - 1)) * Self.ways
        return shards[hash & (Self.shardCount - 1)].withLock { slots in
            let places = first..<(first + Self.ways)
            let own = places.first { slots[$0].hash == hash }
            guard let place = own ?? places.min(by: { slots[$0].fullAt < slots[$1].fullAt }) else { return nil }
            if own == nil { slots[place] = Slot(hash: hash, fullAt: now) }
            return limit.take(from: &slots[place].fullAt, at: now)
        }
    }
}

extension Refusal {
    /// The longest wait in a response: a year in seconds.
    private static let longestWait = 31_536_000.0

    fileprivate static func tooManyRequests(of sender: String, field: String, retryAfter seconds: Double) -> Refusal {
        Refusal(
            HTTPProblem(
                status: 429, code: "rate_limited", title: "Too many requests",
                detail: "\(sender) sent more requests than allowed. The next is answered after Retry-After seconds.",
                field: field, isRetryable: true),
            // Limited before the conversion to `Int`, which traps for large values. `min` also handles NaN.
            headers: ["Retry-After": String(Int(max(1, min(longestWait, seconds.rounded(.up)))))])
    }
}
