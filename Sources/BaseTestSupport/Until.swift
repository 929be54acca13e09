import Foundation
import Testing

/// Returns when `condition` is true. This is the only way to wait for an effect without a signal of its own.
///
///     try await until("the receipt arrived") { receiver.arrivals.count == 1 }
///
/// The condition is evaluated every millisecond at first, and less often later. Its error ends the wait.
///
/// - Parameters:
///   - what: The name of the effect, for the failure.
///   - timeout: The longest time to wait. It is long, because a busy machine must not fail a test.
///   - sourceLocation: The place of the failure.
///   - isolation: The actor on which the condition runs.
///   - condition: Whether the effect has occurred.
/// - Throws: `NeverHappened` after the timeout, and `CancellationError` when the task is cancelled. The timeout is also
///   recorded as an issue at `sourceLocation`.
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

/// The error of `until` after its timeout.
package struct NeverHappened: Error, CustomStringConvertible {
    package let what: String

    package var description: String { "\(what): this did not happen" }
}

/// Waits until the task is cancelled, as for a peer that never answers. Always throws `CancellationError`.
public func untilCancelled() async throws -> Never {
    while true { try await Task.sleep(for: .seconds(86_400)) }
}

/// A short replacement for a pause of the code under test, for a parameter such as `sleep` of a polling client. Tests
/// do not wait with it.
public func shortenedPause(_: Duration) async throws { try await Task.sleep(for: .milliseconds(2)) }

/// Yields `times` times to other tasks, so that a test meets more orders of events. Use `until` to wait for an effect.
public func letOthersRun(times: Int = 1, isolation: isolated (any Actor)? = #isolation) async {
    for _ in 0..<times { await Task.yield() }
}
