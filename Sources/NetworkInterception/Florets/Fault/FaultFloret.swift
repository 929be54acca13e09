import HTTPCore
import PluginHub
import Primitives

/// Injects the faults of real networks by rules and probabilities: delays, refused and lost connections, cut and
/// damaged bodies.
///
///     FaultFloret([
///         .init(.latency(.pareto(minimum: .milliseconds(80), shape: 1.5))),
///         .init(.drop(.afterSending), .path("/v1/purchases"), probability: 0.1),
///     ], seed: 7)
///
/// The rules that apply are used in their order, up to the first that prevents the sending of the request. If none
/// does, the faults of the response follow in the same order, up to the first failure. The random choices depend only
/// on the seed, the number of the request and the number of the rule. The same requests in the same order get the same
/// faults, regardless of the order of their responses.
public final class FaultFloret: InterceptableFloret, DisplayableFloret {
    /// A fault, the requests that it affects, and its probability.
    public struct Rule: Sendable {
        /// The name on the screen.
        public var name: String
        /// The fault.
        public var fault: Fault
        /// Selects the requests. For a fault of the response, it runs again with the response and with the request as
        /// this floret saw it.
        public var selector: RecordSelector
        /// The probability, from 0 to 1.
        public var probability: Double
        /// The numbers of the selected requests that are affected, counted from 1; `nil` is all.
        public var requests: ClosedRange<Int>?

        /// Creates a rule.
        ///
        /// - Parameters:
        ///   - fault: The fault.
        ///   - selector: Selects the requests.
        ///   - name: The name on the screen. By default the description of the fault.
        ///   - probability: The probability, from 0 to 1.
        ///   - requests: The numbers of the selected requests that are affected, counted from 1; `nil` is all.
        public init(
            _ fault: Fault, _ selector: RecordSelector = .all(), name: String? = nil, probability: Double = 1,
            requests: ClosedRange<Int>? = nil
        ) {
            self.name = name ?? fault.description
            self.fault = fault
            self.selector = selector
            self.probability = probability
            self.requests = requests
        }
    }

    /// How often a rule selected and affected requests.
    package struct Count: Sendable, Hashable {
        /// The number of selected requests.
        package var selected = 0
        /// The number of selected requests that got the fault.
        package var hit = 0

        package init(selected: Int = 0, hit: Int = 0) {
            self.selected = selected
            self.hit = hit
        }
    }

    private struct State {
        var disabledRules: Set<Int> = []
        var requests: UInt64 = 0
        var counts: [Count]
        /// The active requests whose responses get a fault.
        var awaited: [Record.ID: Awaited] = [:]
    }

    private struct Awaited {
        let number: UInt64
        /// The request as this floret saw it, before later florets could change it.
        let request: HTTPRequest
        /// The indices of the rules that apply.
        let rules: [Int]
    }

    /// The rules in the order in which they are applied.
    public let rules: [Rule]
    /// The seed of the random choices.
    public let seed: UInt64
    private let power: Switch
    private let state: Locked<State>
    private let wait: @Sendable (Duration) async throws -> Void

    /// Creates a floret.
    ///
    /// - Parameters:
    ///   - rules: The rules in the order in which they are applied.
    ///   - seed: The seed of the random choices. The same seed makes the same choices.
    ///   - enabled: Whether the floret is initially enabled.
    ///   - wait: Returns after the duration, or throws when its task is cancelled.
    public init(
        _ rules: [Rule], seed: UInt64 = 1, enabled: Bool = true,
        wait: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.rules = rules
        self.seed = seed
        self.wait = wait
        power = Switch(enabled)
        state = Locked(State(counts: rules.map { _ in Count() }))
    }

    public var summary: String? { "Injects the faults of real networks." }

    public var enabled: Bool {
        get { power.isOn }
        set { power.isOn = newValue }
    }

    /// For each rule, in order: the number of requests that it selected, and how many of those got the fault.
    public var counts: [(selected: Int, hit: Int)] { state.withLock { $0.counts.map { ($0.selected, $0.hit) } } }

    /// Resets the counts to zero. The next request is the first one again.
    public func reset() {
        state.withLock { [rules] state in
            state.counts = rules.map { _ in Count() }
            state.requests = 0
        }
    }

    public func willRequest(_ record: Record) async -> Record {
        let selected = rules.indices.filter { rules[$0].selector.selects(record) }
        let (request, hit) = state.withLock { [rules, seed] state in
            state.requests += 1
            var hit: [Int] = []
            for index in selected where !state.disabledRules.contains(index) {
                let rule = rules[index]
                state.counts[index].selected += 1
                guard rule.requests?.contains(state.counts[index].selected) ?? true else { continue }
                var draws = SeededRandom(seed: seed, for: state.requests, UInt64(index))
                if draws.unit() < rule.probability { hit.append(index) }
            }
            return (state.requests, hit)
        }
        var record = record
        var later: [Int] = []
        for index in hit {
            if case .latency(let latency) = rules[index].fault.kind {
                var draws = SeededRandom(seed: seed, for: request, UInt64(index), 1)
                count(index)
                // A cancelled wait is ignored: the transport ends the cancelled request.
                try? await wait(latency.drawn(&draws))
            } else if let result = rules[index].fault.resultInsteadOfSending() {
                count(index)
                record.result = result
                return record
            } else {
                later.append(index)
            }
        }
        if !later.isEmpty {
            let awaited = Awaited(number: request, request: record.designatedRequest, rules: later)
            state.withLock { $0.awaited[record.id] = awaited }
        }
        return record
    }

    public func didRespond(_ record: Record) async -> Record {
        guard let awaited = state.withLock({ $0.awaited.removeValue(forKey: record.id) }) else { return record }
        var record = record
        for index in awaited.rules {
            var recordAsSeen = record
            recordAsSeen.designatedRequest = awaited.request
            guard rules[index].selector.selects(recordAsSeen) else { continue }
            guard case .success(let response)? = record.result,
                let result = rules[index].fault.result(insteadOf: response, seed: seed, request: awaited.number)
            else { continue }
            count(index)
            record.result = result
        }
        return record
    }

    private func count(_ index: Int) { state.withLock { $0.counts[index].hit += 1 } }
}

extension FaultFloret {
    public func view(_ interceptor: Interceptor) -> ViewDocument? {
        let (disabledRules, counts, requests) = state.withLock { ($0.disabledRules, $0.counts, $0.requests) }
        let rows: [ViewDocument.Row] = rules.enumerated().map { index, rule in
            .toggle(
                id: "rule\(index)", label: "\(rule.name): \(counts[index].hit) of \(counts[index].selected) requests",
                isOn: !disabledRules.contains(index), action: .init("fault.switch", values: ["rule": .number(index)]))
        }
        return ViewDocument(
            title: name,
            sections: [
                .init(title: "Rules", rows: rows),
                .init(
                    title: "Random choices", rows: [.text("Seed", "\(seed)"), .text("Requests", "\(requests)")],
                    actions: [.init("fault.reset", label: "Reset")]),
            ])
    }

    public func perform(_ action: ViewDocument.Action, in interceptor: Interceptor) async throws {
        switch action.id {
        case "fault.reset": reset()
        case "fault.switch":
            let index = try action.index("rule", below: rules.count)
            let isOn = try action.bool("rule\(index)")
            state.withLock { if isOn { $0.disabledRules.remove(index) } else { $0.disabledRules.insert(index) } }
        default: throw unknown(action)
        }
    }
}
