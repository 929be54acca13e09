import Foundation
import HTTPCore
import NetworkInterception
import PluginHub
import Primitives

/// Counts the latencies of responses and shows them as a chart.
final class LatencyChart: InterceptableFloret, DisplayableFloret {
    let name = "Latency"
    private static let limits = [1, 3, 10, 30, 100, 300, 1000]
    private let isOn = Locked(true)
    private let counts = Locked([Int](repeating: 0, count: limits.count + 1))

    var enabled: Bool {
        get { isOn.withLock { $0 } }
        set { isOn.withLock { $0 = newValue } }
    }

    func didRespond(_ record: Record) async -> Record {
        // If a floret made the response, no request was sent.
        guard let sent = record.timing.sent, let answered = record.timing.answered else { return record }
        let milliseconds = answered.timeIntervalSince(sent) * 1000
        let place = Self.limits.firstIndex { milliseconds < Double($0) } ?? Self.limits.count
        counts.withLock { $0[place] += 1 }
        return record
    }

    func view(_ interceptor: Interceptor) -> ViewDocument? {
        let counts = counts.withLock { $0 }
        let most = max(1, counts.max() ?? 1)
        let labels = Self.limits.map { "under \($0) ms" } + ["longer"]
        let rows = zip(labels, counts).map { label, count in
            let bar = String(repeating: "█", count: (count * 20 + most - 1) / most)
            return ViewDocument.Row.text(label, count == 0 ? "–" : "\(bar) \(count)")
        }
        let forget = ViewDocument.Action("latency.forget", label: "Start again")
        return ViewDocument(title: name, sections: [.init(title: "Answers", rows: rows, actions: [forget])])
    }

    func perform(_ action: ViewDocument.Action, in interceptor: Interceptor) async throws {
        guard action.id == "latency.forget" else {
            throw InterceptionError(.unknownAction, "The latency chart has no action \"\(action.id)\".")
        }
        counts.withLock { $0 = [Int](repeating: 0, count: $0.count) }
    }
}
