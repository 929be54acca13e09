/// The numbers of durations up to each bound, as a histogram of Prometheus.
package struct DurationHistogram: Sendable {
    /// The upper bounds in nanoseconds: a read takes tens of microseconds, a durable write milliseconds.
    package static let bounds: [UInt64] = [
        50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000,
        100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 10_000_000_000,
    ]

    /// The number of durations that are at most each bound, and more than the previous bound. The last element counts
    /// those above all bounds.
    package private(set) var counts = [UInt64](repeating: 0, count: bounds.count + 1)
    /// The sum of all durations.
    package private(set) var nanoseconds: UInt64 = 0

    package init() {}

    package mutating func add(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let nanoseconds = UInt64(max(0, seconds)) * 1_000_000_000 + UInt64(max(0, attoseconds / 1_000_000_000))
        counts[Self.bounds.firstIndex { nanoseconds <= $0 } ?? Self.bounds.count] += 1
        self.nanoseconds += nanoseconds
    }
}
