import Foundation
import Primitives

/// Tells who waits for the ledger that something was committed, in this process. Others that write the same database are
/// noticed when the wait is over.
struct ChangeSignal: Sendable {
    enum Reason: Sendable { case committed, timedOut, ended }

    private let commits = Broadcast<Void>()
    /// Waits: real time.
    private let clock: any WallClock
    /// Measures how long was waited.
    private let monotonicClock: MonotonicClock

    init(clock: any WallClock, monotonicClock: MonotonicClock = MonotonicClock()) {
        self.clock = clock
        self.monotonicClock = monotonicClock
    }

    var now: ContinuousClock.Instant { monotonicClock.now }

    func send() { commits.send(()) }

    /// Nobody waits any longer, now or later.
    func end() { commits.finish() }

    /// Begins to listen. What is committed from here on ends a wait for it, even if it was committed before that began.
    func listen() -> AsyncStream<Void> { commits.stream(keeping: 1) }

    /// Returns after a commit if those are listened to, after `seconds`, or when there is nothing to wait for any more: the news have ended or the
    /// task was cancelled.
    func wait(for changes: AsyncStream<Void>?, upTo seconds: TimeInterval) async -> Reason {
        let clock = clock
        return await withTaskGroup(of: Reason.self) { group in
            if let changes {
                group.addTask {
                    var iterator = changes.makeAsyncIterator()
                    return await iterator.next() == nil ? .ended : .committed
                }
            }
            group.addTask {
                do {
                    try await clock.sleep(for: seconds)
                    return .timedOut
                } catch {
                    return .ended
                }
            }
            let first = await group.next() ?? .ended
            group.cancelAll()
            return Task.isCancelled ? .ended : first
        }
    }
}
