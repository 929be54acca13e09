import Foundation

/// A source of the current date. A process uses one: the system clock, or a clock that follows a simulator's virtual
/// time.
///
/// Use it for dates that decide about money, such as expiry, renewal and `validUntil`. Network timeouts and the
/// lifetime of authentication use real time.
public protocol WallClock: Sendable {
    /// Returns the current instant.
    func now() -> Date
    /// Waits until the clock reads a date or a later one.
    ///
    /// - Parameter deadline: The date to wait for.
    /// - Throws: `CancellationError` when the task is cancelled.
    func sleep(until deadline: Date) async throws
    /// Waits for a period, even if the date changes meanwhile.
    ///
    /// - Parameter seconds: The time to wait.
    /// - Throws: `CancellationError` when the task is cancelled.
    func sleep(for seconds: TimeInterval) async throws
}

extension WallClock {
    /// Waits until the instant that is now `seconds` away. This is correct for a clock that is never set back.
    ///
    /// - Parameter seconds: The time to wait.
    /// - Throws: `CancellationError` when the task is cancelled.
    public func sleep(for seconds: TimeInterval) async throws {
        try await sleep(until: now().addingTimeInterval(seconds))
    }
}

/// The clock of this machine.
public struct SystemClock: WallClock {
    /// Creates the clock.
    public init() {}

    /// Returns the current date of the machine.
    public func now() -> Date { Date() }

    /// Waits until the machine's clock reads `deadline` or later.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func sleep(until deadline: Date) async throws {
        while true {
            let left = deadline.timeIntervalSince(now())
            if left <= 0 { return }
            try await Task.sleep(for: .seconds(min(left, 3600)))
        }
    }

    /// Waits for `seconds`, measured by the machine's monotonic clock.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func sleep(for seconds: TimeInterval) async throws {
        try await Task.sleep(for: .seconds(max(0, seconds)))
    }
}
