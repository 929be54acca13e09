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
}
