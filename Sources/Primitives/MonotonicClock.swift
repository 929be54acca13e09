/// The clock that network deadlines are measured with: it only goes forward, and it has no date.
///
/// It is an input of a configuration. Production uses the machine's clock; a test passes a clock that it moves itself, so
/// that a slow machine cannot make a deadline pass:
///
///     let now = Locked(ContinuousClock.now)
///     configuration.clock = MonotonicClock { now.withLock { $0 } }
///
/// A ``WallClock`` answers a different question: which date it is, for expiry and renewal.
public struct MonotonicClock: Sendable {
    /// `nil` is the machine's clock, which is read without a closure in between.
    private let read: (@Sendable () -> ContinuousClock.Instant)?

    /// The machine's `ContinuousClock`.
    public init() { read = nil }

    /// A clock that shows what `now` returns. `now` is called on any thread, often, and must not block.
    public init(now: @escaping @Sendable () -> ContinuousClock.Instant) { read = now }

    /// The current instant.
    public var now: ContinuousClock.Instant { read?() ?? .now }

    /// How long a thread that waits for a deadline may wait before it reads the clock again; `nil` means until the
    /// deadline. Only the machine's clock moves by itself; any other one can be moved at any moment, without a signal.
    package var readingInterval: Duration? { read == nil ? nil : .milliseconds(5) }
}
