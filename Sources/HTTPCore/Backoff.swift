/// How often and after which pauses a question is asked again.
public struct Backoff: Hashable, Sendable {
    /// Attempts in all, the first included.
    public var attempts: Int
    /// The longest first pause; it doubles with every attempt.
    public var initial: Duration
    /// The longest pause of all. A server that asks for a longer one is not asked again.
    public var maximum: Duration

    public init(attempts: Int = 3, initial: Duration = .milliseconds(500), maximum: Duration = .seconds(10)) {
        self.attempts = max(1, attempts)
        self.initial = initial
        self.maximum = maximum
    }

    public static let none = Backoff(attempts: 1)

    /// The pause after attempt number `attempt` (from 1) failed; `nil` when it was the last. `asked` is the pause that
    /// the server asked for.
    ///
    /// `spread` from 0 to 1 picks a point in the upper half of the pause, so that many clients do not return together.
    public func pause(after attempt: Int, asked: Duration?, spread: Double) -> Duration? {
        guard attempt < attempts else { return nil }
        if let asked { return asked <= maximum ? asked : nil }
        let full = min(maximum, initial * (1 << min(attempt - 1, 16)))
        return full / 2 + full / 2 * spread
    }
}
