import Primitives

/// A counter with one label, which has few values, such as codes, kinds and types.
final class Counter: Sendable {
    let name: String
    let help: String
    private let label: String
    private let counts = Locked<[String: UInt64]>([:])
    /// The largest number of label values. Further ones count as `other`, so that invented values do not fill the memory.
    private static let maximumValues = 200

    init(_ name: String, by label: String, _ help: String) {
        self.name = name
        self.label = label
        self.help = help
    }

    func add(_ value: String, _ number: Int = 1) {
        counts.withLock { counts in
            let value = counts[value] != nil || counts.count < Self.maximumValues ? value : "other"
            counts[value, default: 0] += UInt64(number)
        }
    }

    func write(to text: inout PrometheusText) {
        text.family(name, .counter, help)
        for (value, count) in counts.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            text.sample(name, [label: value], Double(count))
        }
    }
}

/// The number of requests to an endpoint by status, and their duration. Counting needs one lock per endpoint and no
/// allocation.
final class EndpointMetrics: Sendable {
    /// The upper bounds in nanoseconds: a read takes tens of microseconds, a durable write milliseconds.
    private static let bounds: [UInt64] = [
        50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000,
        100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 10_000_000_000,
    ]
    private static let statuses = 100..<600

    private struct State {
        var byStatus = [UInt64](repeating: 0, count: EndpointMetrics.statuses.count)
        /// The number of requests that took at most each bound, and more than the previous bound. The last element
        /// counts those above all bounds.
        var byDuration = [UInt64](repeating: 0, count: EndpointMetrics.bounds.count + 1)
        var nanoseconds: UInt64 = 0
    }

    let id: String
    private let state = Locked(State())

    init(id: String) { self.id = id }

    func count(status: Int, _ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let nanoseconds = UInt64(max(0, seconds)) * 1_000_000_000 + UInt64(max(0, attoseconds / 1_000_000_000))
        let bucket = Self.bounds.firstIndex { nanoseconds <= $0 } ?? Self.bounds.count
        let status = min(max(status, Self.statuses.lowerBound), Self.statuses.upperBound - 1) - Self.statuses.lowerBound
        state.withLock { state in
            state.byStatus[status] += 1
            state.byDuration[bucket] += 1
            state.nanoseconds += nanoseconds
        }
    }

    static func write(_ endpoints: [EndpointMetrics], to text: inout PrometheusText) {
        let states = endpoints.map { ($0.id, $0.state.withLock { $0 }) }
        let requests = "souk_http_requests_total"
        text.family(requests, .counter, "Answered requests by endpoint and status.")
        for (id, state) in states {
            for (index, count) in state.byStatus.enumerated() where count > 0 {
                text.sample(
                    requests, ["endpoint": id, "status": String(index + statuses.lowerBound)], Double(count))
            }
        }
        let durations = "souk_http_request_duration_seconds"
        text.family(durations, .histogram, "Time from a request's arrival at its endpoint to its answer.")
        for (id, state) in states {
            var total: UInt64 = 0
            for (bound, count) in zip(bounds, state.byDuration) {
                total += count
                let limit = PrometheusText.number(Double(bound) / 1e9)
                text.sample(durations + "_bucket", ["endpoint": id, "le": limit], Double(total))
            }
            total += state.byDuration[bounds.count]
            text.sample(durations + "_bucket", ["endpoint": id, "le": "+Inf"], Double(total))
            text.sample(durations + "_sum", ["endpoint": id], Double(state.nanoseconds) / 1e9)
            text.sample(durations + "_count", ["endpoint": id], Double(total))
        }
    }
}
