import Foundation
import HTTPCore
import PluginHub
import Primitives

/// Numbered events for open pages, such as changed records and messages of a hub. A page that reconnects receives the
/// events that it missed, as long as they are among the newest `limit` events.
final class InspectorFeed: Sendable {
    enum Event: Sendable {
        case record(Record.ID)
        case trace(JSONValue)
        /// A floret was changed, the interceptor was paused or resumed, or a trace began.
        case state
        /// All records were removed.
        case cleared
    }

    /// A position in a feed: the id of the feed and the number of the last event.
    struct Position: Sendable, Hashable, CustomStringConvertible {
        let feed: String
        let number: UInt64

        var description: String { "\(feed)-\(number)" }

        init(feed: String, number: UInt64) {
            self.feed = feed
            self.number = number
        }

        /// Parses a position. `nil` if the text is malformed.
        init?(_ text: String) {
            guard let dash = text.lastIndex(of: "-"), let number = UInt64(text[text.index(after: dash)...]) else {
                return nil
            }
            self.init(feed: String(text[..<dash]), number: number)
        }
    }

    enum Outcome: Sendable {
        case events([Event], Position)
        /// The events after the position are no longer available, so the page must reload everything.
        case lost(Position)
        case timedOut
        case closed
    }

    private struct State {
        var events: [Event] = []
        /// The number of the last event.
        var last: UInt64 = 0
        var trace: [JSONValue] = []
        var hasTrace = false
        var isClosed = false
    }

    /// The number of newest events that are always kept. Up to twice as many may be kept.
    private let limit: Int
    private static let traceLimit = 1000
    private let name = UUID().uuidString
    private let clock: any WallClock
    private let redaction: Redaction
    private let state = Locked(State())
    private let changeSignal = Broadcast<Void>()

    init(clock: any WallClock, limit: Int, redaction: Redaction = .standard) {
        self.clock = clock
        self.redaction = redaction
        self.limit = limit
    }

    var position: Position { Position(feed: name, number: state.withLock { $0.last }) }

    func note(_ event: Event) {
        state.withLock { state in
            // Keeps up to twice the limit, so that the cost of removal is amortized.
            if state.events.count >= 2 * limit { state.events.removeFirst(limit) }
            state.events.append(event)
            state.last += 1
        }
        changeSignal.send(())
    }

    func startTrace() {
        state.withLock { $0.hasTrace = true }
        note(.state)
    }

    var isTracing: Bool { state.withLock { $0.hasTrace } }

    func note(_ entry: TraceEntry) {
        let json = json(entry, at: clock.now())
        state.withLock { state in
            if state.trace.count >= 2 * Self.traceLimit { state.trace.removeFirst(Self.traceLimit) }
            state.trace.append(json)
        }
        note(.trace(json))
    }

    /// The newest messages of the hub, newest first.
    var traceList: JSONValue {
        ["entries": .array(state.withLock { Array($0.trace.suffix(Self.traceLimit).reversed()) })]
    }

    /// Ends all waits for events.
    func close() {
        state.withLock { $0.isClosed = true }
        changeSignal.finish()
    }

    /// Returns the events after `position`, and waits for them until `timeout` returns.
    func events(after position: Position, timeout: @escaping @Sendable () async -> Void) async -> Outcome {
        while true {
            // Subscribes before it reads, so that no event is lost in between.
            let arrivals = changeSignal.stream(keeping: 1)
            if let outcome = outcome(after: position) { return outcome }
            let hasChanged = await withTaskGroup(of: Bool.self) { group in
                group.addTask {
                    for await _ in arrivals { return true }
                    return !Task.isCancelled
                }
                group.addTask {
                    await timeout()
                    return false
                }
                defer { group.cancelAll() }
                return await group.next() ?? false
            }
            if Task.isCancelled { return .closed }
            guard hasChanged else { return .timedOut }
        }
    }

    private func outcome(after position: Position) -> Outcome? {
        state.withLock { state in
            if state.isClosed { return .closed }
            let now = Position(feed: name, number: state.last)
            guard position.feed == name, position.number <= state.last else { return .lost(now) }
            let missed = state.last - position.number
            if missed == 0 { return nil }
            guard missed <= UInt64(state.events.count) else { return .lost(now) }
            return .events(Array(state.events.suffix(Int(missed))), now)
        }
    }

    private func json(_ entry: TraceEntry, at time: Date) -> JSONValue {
        var json: JSONValue = [
            "at": .number(Int64(time.timeIntervalSince1970 * 1000)), "kind": .string(entry.kind.rawValue),
            "message": .string(entry.message.name), "receivers": .array(entry.receivers.map { .string($0) }),
            "verdict": .string(entry.verdict.rawValue),
            "milliseconds": .number(entry.duration / .milliseconds(1)),
        ]
        json["sender"] = entry.sender.map { .string($0) }
        json["reason"] = entry.reason.map { .string(redaction.redacted($0.sentence)) }
        return json
    }
}
