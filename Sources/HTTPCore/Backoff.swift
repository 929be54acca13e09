/// A retry schedule: the number of attempts and the pauses between them.
public struct Backoff: Hashable, Sendable {
    /// The total number of attempts, including the first.
    public var attempts: Int
    /// The upper bound of the first pause. It doubles with every attempt.
    public var initial: Duration
    /// The upper bound of every pause. If the server requires a longer one, no further attempt is made.
    public var maximum: Duration

    /// Creates a schedule.
    ///
    /// - Parameters:
    ///   - attempts: The total number of attempts, at least 1.
    ///   - initial: The upper bound of the first pause.
    ///   - maximum: The upper bound of every pause.
    public init(attempts: Int = 3, initial: Duration = .milliseconds(500), maximum: Duration = .seconds(10)) {
        self.attempts = max(1, attempts)
        self.initial = initial
        self.maximum = maximum
    }

    /// A schedule without retries.
    public static let none = Backoff(attempts: 1)

    /// Returns the pause before the next attempt.
    ///
    /// - Parameters:
    ///   - attempt: The number of the attempt that failed, counted from 1.
    ///   - asked: The pause that the server required, for example in `Retry-After`.
    ///   - spread: A number from 0 to 1 that selects a point in the upper half of the pause. A random number keeps many
    ///     clients from returning at the same time.
    /// - Returns: The pause, or `nil` if no attempt is left or the server required a pause longer than `maximum`.
    public func pause(after attempt: Int, asked: Duration?, spread: Double) -> Duration? {
        guard attempt < attempts else { return nil }
        if let asked { return asked <= maximum ? asked : nil }
        let full = min(maximum, initial * (1 << min(attempt - 1, 16)))
        return full / 2 + full / 2 * spread
    }
}
