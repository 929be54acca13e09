import Foundation
import Primitives

/// The limit of failed sign-ins of a server: 20 at once, and one more each second.
///
/// The listener does not know the address of a client, so all clients share the limit. Sessions are not affected.
final class SignInAttempts: Sendable {
    private static let limit = RateLimit(perSecond: 1, burst: 20)

    private let clock: MonotonicClock
    private let start: ContinuousClock.Instant
    /// The time at which the bucket is full, in seconds since the start.
    private let fullAt = Locked(0.0)

    init(clock: MonotonicClock) {
        self.clock = clock
        start = clock.now
    }

    /// Counts an attempt before its key is looked up. Throws 429 if too many failed.
    func begin() throws(ConsoleRefusal) {
        let now = start.duration(to: clock.now) / .seconds(1)
        let wait = fullAt.withLock { Self.limit.take(from: &$0, at: now) }
        guard let wait else { return }
        throw ConsoleRefusal(
            429, "Too many attempts", "Too many sign-ins failed. Try again in a few seconds.",
            retryAfter: Int(min(60, max(1, wait.rounded(.up)))))
    }

    /// Takes back an attempt that succeeded.
    func succeed() { fullAt.withLock { $0 = max(0, $0 - 1 / Self.limit.perSecond) } }
}
