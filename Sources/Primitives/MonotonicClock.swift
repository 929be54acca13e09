/// A clock without a date that only moves forward. It measures the timeouts of network operations.
///
/// The clock is part of a configuration. Production uses the machine's clock. A test passes a clock that it moves
/// itself, so that a slow machine cannot make a timeout pass:
///
///     let now = Locked(ContinuousClock.now)
///     configuration.clock = MonotonicClock { now.withLock { $0 } }
///
/// Use a ``WallClock`` for dates, such as expiry and renewal.
public struct MonotonicClock: Sendable {
    /// The source of the time; `nil` is the machine's clock, which needs no closure.
    private let read: (@Sendable () -> ContinuousClock.Instant)?

    /// Creates the machine's `ContinuousClock`.
    public init() { read = nil }

    /// Creates a clock that returns what `now` returns. `now` is called often, on any thread, and must not block.
    public init(now: @escaping @Sendable () -> ContinuousClock.Instant) { read = now }

    /// The current instant.
    public var now: ContinuousClock.Instant { read?() ?? .now }

    /// The longest time that a thread may wait for a deadline before it reads the clock again; `nil` means until the
    /// deadline. Only the machine's clock moves by itself. A test can move another clock at any time without a signal.
    package var readingInterval: Duration? { read == nil ? nil : .milliseconds(5) }
}
