import HTTPCore
import PluginHub
import Primitives

/// Records the messages of an app in their order: calls from the hub's trace, outputs of events as they are sent, the
/// actions of the plugins, and the requests to the server with their responses.
final class SequenceRecorder: Sendable {
    static let pluginName = "Recorder"

    private let state = Locked(State())

    private struct State: Sendable {
        var instant = 0
        var items: [(at: Int, item: Item)] = []
        var subscribers: [String: [Subscriber]] = [:]
    }

    private enum Item: Sendable {
        case arrow(Arrow)
        case subscription(Subscriber, event: String)
        case output(EventOutput, event: String)
    }

    private struct Subscriber: Equatable {
        let publisher: String
        let name: String
    }

    /// The clock of the hub. It is a counter, so that no two readings are equal.
    @Sendable func elapsed() -> Duration { .nanoseconds(next()) }

    private func next() -> Int {
        state.withLock { state in
            state.instant += 1
            return state.instant
        }
    }

    // MARK: - Recording

    /// Records an arrow outside the hub, such as a request to the server.
    func note(_ arrow: Arrow) { write(.arrow(arrow), at: next()) }

    /// Returns a function that records actions of `plugin`.
    func log(of plugin: String) -> Log {
        { [self] what in note(Arrow(from: plugin, to: plugin, what: what)) }
    }

    func record(_ output: EventOutput, of event: String) { write(.output(output, event: event), at: next()) }

    private func write(_ item: Item, at instant: Int) { state.withLock { $0.items.append((instant, item)) } }

    // MARK: - Arrows

    /// Runs `body`. Returns its value and the arrows that were recorded meanwhile.
    func arrows<Value>(in hub: Hub, during body: () async throws -> Value) async rethrows -> (Value, [Arrow]) {
        state.withLock { $0.items = [] }
        let trace = hub.trace.values(.unbounded)
        let value = try await body()
        trace.cancel()
        for await entry in trace where entry.sender != Self.pluginName { read(entry) }
        return (value, recordedArrows())
    }

    private func read(_ entry: TraceEntry) {
        // Outputs are recorded when they are sent, so that their order is right.
        if entry.kind == .event, entry.verdict == .delivered { return }
        let sender = entry.sender ?? "?"
        let receiver = entry.receivers.first ?? "Hub"
        let (call, answer): (String, String?) =
            switch entry.kind {
            case .command:
                ("command(\(entry.message.name)\(entry.message.id.map { ", id: `\($0)`" } ?? "")) throws", nil)
            case .query: ("query(\(entry.message.name)) throws", "JSONObject")
            case .viewQuery: ("viewQuery(\(entry.message.name)) throws", "ViewDocument")
            case .event:
                (
                    "getPublisher(forEvent:\(entry.message.name), payload?) throws",
                    "\(Self.publisher(of: entry.message.name)): EventPublisher"
                )
            }
        let (began, ended) = (entry.began.instant, (entry.began + entry.duration).instant)
        write(.arrow(Arrow(from: sender, to: receiver, what: call)), at: began)
        switch entry.verdict {
        case .delivered, .subscribed:
            if let answer { write(.arrow(Arrow(from: receiver, to: sender, what: answer)), at: ended) }
            guard entry.kind == .event else { return }
            for publisher in entry.receivers {
                write(
                    .subscription(Subscriber(publisher: publisher, name: sender), event: entry.message.name), at: ended)
            }
        case .refused, .failed:
            let code = entry.reason?.code.rawValue ?? "error"
            write(.arrow(Arrow(from: receiver, to: sender, what: "throw(\(code))")), at: ended)
        }
    }

    private func recordedArrows() -> [Arrow] {
        state.withLock { state in
            var arrows: [Arrow] = []
            for (_, item) in state.items.sorted(by: { $0.at < $1.at }) {
                switch item {
                case .arrow(let arrow): arrows.append(arrow)
                case .subscription(let subscriber, let event):
                    if state.subscribers[event]?.contains(subscriber) != true {
                        state.subscribers[event, default: []].append(subscriber)
                    }
                case .output(let output, let event):
                    for subscriber in state.subscribers[event] ?? [] {
                        arrows.append(
                            Arrow(
                                from: subscriber.publisher, to: subscriber.name,
                                what: Self.describe(output, of: event), isDeferred: true))
                    }
                }
            }
            return arrows
        }
    }

    private static func describe(_ output: EventOutput, of event: String) -> String {
        let result =
            switch output.result {
            case .success: "success: JSONObject(\(event))"
            case .failure: "error"
            }
        let id = output.correlationId.map { "`\($0)`" } ?? "nil"
        return "\(publisher(of: event))-> EventOutput(Result(\(result)), correlationId: \(id))"
    }

    /// `InfoPublisher` for `info`.
    private static func publisher(of event: String) -> String {
        event.prefix(1).uppercased() + event.dropFirst() + "Publisher"
    }
}

extension Duration {
    /// The value that `SequenceRecorder.elapsed` counted.
    fileprivate var instant: Int {
        Int(components.attoseconds / 1_000_000_000) + Int(components.seconds) * 1_000_000_000
    }
}

/// Subscribes to the events of its policy from the launch on. The other plugins do not depend on it.
final class RecorderPlugin: PluginProtocol {
    let policy: Policy
    private let hub: any MessageSending
    private let recorder: SequenceRecorder

    convenience init(messageSender: any MessageSending, configurationFiles: [String: String]) throws {
        try self.init(
            messageSender: messageSender, configurationFiles: configurationFiles, recorder: SequenceRecorder())
    }

    init(messageSender: any MessageSending, configurationFiles: [String: String], recorder: SequenceRecorder) throws {
        policy = try Policy(contentsOfFile: configurationFiles["policy"] ?? "recorder.policy.json")
        hub = messageSender
        self.recorder = recorder
    }

    func subscribe(toPublisher publisher: EventPublisher, forEvent event: Message) {
        hub.context?.keep(publisher.sink { [recorder] in recorder.record($0, of: event.name) })
    }
}

/// A transport whose requests and responses are recorded.
struct RecordingTransport: HTTPTransport {
    let base: any HTTPTransport
    let recorder: SequenceRecorder
    let client: String

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        recorder.note(Arrow(from: client, to: "Server", what: "\(request.method) \(request.target)"))
        let answer = try await base.send(request)
        recorder.note(Arrow(from: "Server", to: client, what: "\(answer.status)", isDeferred: true))
        return answer
    }
}
