import Foundation
import Primitives

/// Wakes tasks that wait for commits in this process.
///
/// It carries no data. Commits of other processes on the same database are found when the wait times out.
struct ChangeSignal: Sendable {
    enum Reason: Sendable { case committed, timedOut, ended }

    /// The commits that a task waits for.
    enum Subject: Sendable {
        /// Any commit.
        case commits
        /// A commit that added a refund request, or that decided one.
        case refundRequests
    }

    private let commits = Broadcast<Void>()
    private let refundRequests = Broadcast<Void>()
    /// The clock on which waits sleep, in real time.
    private let clock: any WallClock
    /// The clock of `now`, with which callers measure waits.
    private let monotonicClock: MonotonicClock

    init(clock: any WallClock, monotonicClock: MonotonicClock = MonotonicClock()) {
        self.clock = clock
        self.monotonicClock = monotonicClock
    }

    var now: ContinuousClock.Instant { monotonicClock.now }

    func send(concernsRefundRequests: Bool = false) {
        commits.send(())
        if concernsRefundRequests { refundRequests.send(()) }
    }

    /// Ends all waits for a commit, now and later.
    func end() {
        commits.finish()
        refundRequests.finish()
    }

    /// Starts listening. A later commit ends the wait for this stream, even if the commit comes before the wait begins.
    func listen(to subject: Subject = .commits) -> AsyncStream<Void> {
        switch subject {
        case .commits: commits.stream(keeping: 1)
        case .refundRequests: refundRequests.stream(keeping: 1)
        }
    }

    /// Waits for a commit, up to `seconds`.
    ///
    /// - Parameter changes: The stream of `listen()`; `nil` waits for the time only.
    /// - Returns: `.ended` if the signal ended or the task was cancelled.
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
