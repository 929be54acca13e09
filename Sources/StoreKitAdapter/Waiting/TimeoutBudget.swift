import Primitives

/// The time that one purchase may wait for details from StoreKit, in total.
///
/// StoreKit may need the network for details of a purchase. A customer who has paid must not wait long for them. Only
/// the time of waiting counts, not the time in which the customer reads Apple's sheet.
final class TimeoutBudget: Sendable {
    private let clock: MonotonicClock
    private let sleep: @Sendable (Duration) async throws -> Void
    private let remaining: Locked<Duration>

    init(
        _ limit: Duration, clock: MonotonicClock,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.clock = clock
        self.sleep = sleep
        remaining = Locked(max(.zero, limit))
    }

    /// Returns the result of `operation`, or `nil` if it takes longer than the remaining time. The operation continues
    /// then, and passes its result to `onLateResult`.
    func answer<Answer: Sendable>(
        onLateResult: @escaping @Sendable (Answer) async -> Void = { _ in },
        _ operation: @escaping @Sendable () async -> Answer?
    ) async -> Answer? {
        let begun = clock.now
        let answer = await withTimeout(
            of: remaining.withLock { $0 }, sleep: sleep, onLateResult: onLateResult, operation)
        let waited = clock.now - begun
        remaining.withLock { $0 = max(.zero, $0 - waited) }
        return answer
    }
}
