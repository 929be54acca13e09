import Foundation

/// What time it is, as an input. A process has one: the system's, or one that follows a simulator's virtual time.
///
/// Time that decides about money (expiry, renewal, `validUntil`) comes from here; deadlines of network calls and the
/// lifetime of authentication use real time.
public protocol WallClock: Sendable {
    /// The current instant.
    func now() -> Date
    /// Returns when the clock reads `deadline` or later; throws `CancellationError` when the task is cancelled.
    func sleep(until deadline: Date) async throws
    /// Returns after `seconds`, however the date is set meanwhile; throws `CancellationError` when the task is cancelled.
    func sleep(for seconds: TimeInterval) async throws
}

extension WallClock {
    /// Sleeps until the instant that is `seconds` away now: right for a clock that is never set back.
    public func sleep(for seconds: TimeInterval) async throws {
        try await sleep(until: now().addingTimeInterval(seconds))
    }
}

/// The machine's own clock.
public struct SystemClock: WallClock {
    public init() {}

    public func now() -> Date { Date() }

    public func sleep(until deadline: Date) async throws {
        while true {
            let left = deadline.timeIntervalSince(now())
            if left <= 0 { return }
            try await Task.sleep(for: .seconds(min(left, 3600)))
        }
    }

    /// Measured by the machine's monotonic clock.
    public func sleep(for seconds: TimeInterval) async throws {
        try await Task.sleep(for: .seconds(max(0, seconds)))
    }
}
