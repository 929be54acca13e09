import Foundation
import Testing

/// Returns as soon as `condition` holds. This is the one way to wait for something that sends no signal of its own.
///
///     try await until("the receipt arrived") { receiver.arrivals.count == 1 }
///
/// The condition is asked every millisecond at first, and less often the longer it takes. It may throw; its error ends
/// the wait.
///
/// - Parameters:
///   - what: names what is waited for, in the failure.
///   - timeout: how long to wait at most. It is long on purpose: a busy machine must not fail a test.
///   - sourceLocation: the place that a failure names.
///   - isolation: the actor on which the condition runs.
///   - condition: true when what is waited for has happened.
/// - Throws: `NeverHappened` after the timeout, and `CancellationError` when the task is cancelled. Both the failure and
///   the place of the call are recorded.
public func until(
    _ what: String, within timeout: Duration = .seconds(50), sourceLocation: SourceLocation = #_sourceLocation,
    isolation: isolated (any Actor)? = #isolation, _ condition: () async throws -> Bool
) async throws {
    let clock = ContinuousClock()
    let deadline = clock.now + timeout
    var pause = Duration.milliseconds(1)
    while try await !condition() {
        guard clock.now < deadline else {
            Issue.record("\(what): this did not happen within \(timeout)", sourceLocation: sourceLocation)
            throw NeverHappened(what: what)
        }
        try await Task.sleep(for: pause)
        pause = min(pause * 5 / 4, .milliseconds(50))
    }
}

/// What `until` waited for did not happen in time.
package struct NeverHappened: Error, CustomStringConvertible {
    package let what: String

    package var description: String { "\(what): this did not happen" }
}

/// Waits until the task is cancelled, as a peer that never answers does. Throws `CancellationError`, always.
public func untilCancelled() async throws -> Never {
    while true { try await Task.sleep(for: .seconds(86_400)) }
}

/// A pause of the code under test, made short: for a parameter such as `sleep` of a client that asks again and again. No
/// test waits with it.
public func shortenedPause(_: Duration) async throws { try await Task.sleep(for: .milliseconds(2)) }

/// Lets other tasks run, a number of times, so that a test meets more orders of events. It waits for nothing: what must
/// have happened afterwards needs `until`.
public func letOthersRun(times: Int = 1, isolation: isolated (any Actor)? = #isolation) async {
    for _ in 0..<times { await Task.yield() }
}
