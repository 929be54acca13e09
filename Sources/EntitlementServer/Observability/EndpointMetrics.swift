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

extension DurationHistogram {
    /// Writes the samples of the family `name`.
    func write(_ name: String, _ labels: [(String, String)], to text: inout PrometheusText) {
        var total: UInt64 = 0
        for (bound, count) in zip(Self.bounds, counts) {
            total += count
            let limit = PrometheusText.number(Double(bound) / 1e9)
            text.sample(name + "_bucket", labels: labels + [("le", limit)], Double(total))
        }
        total += counts[Self.bounds.count]
        text.sample(name + "_bucket", labels: labels + [("le", "+Inf")], Double(total))
        text.sample(name + "_sum", labels: labels, Double(nanoseconds) / 1e9)
        text.sample(name + "_count", labels: labels, Double(total))
    }
}

/// The number of requests to an endpoint by status, and their duration. Counting needs one lock per endpoint and no
/// allocation.
final class EndpointMetrics: Sendable {
    private static let statuses = 100..<600

    private struct State {
        var byStatus = [UInt64](repeating: 0, count: EndpointMetrics.statuses.count)
        var durations = DurationHistogram()
    }

    let id: String
    /// The path with the names of its parameters; `nil` for unknown paths.
    let route: String?
    private let state = Locked(State())

    init(id: String, route: String? = nil) {
        self.id = id
        self.route = route
    }

    func count(status: Int, _ duration: Duration) {
        let status = min(max(status, Self.statuses.lowerBound), Self.statuses.upperBound - 1) - Self.statuses.lowerBound
        state.withLock { state in
            state.byStatus[status] += 1
            state.durations.add(duration)
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
        for (id, state) in states { state.durations.write(durations, [("endpoint", id)], to: &text) }
    }
}
