import Foundation
import PluginHub
import Primitives

/// Compares commands, queries and events of the hub, and a closure call, with Foundation's notifications to the same
/// number of observers. Each runs on one thread and on two.
enum HubBenchmark {
    static func run() async throws -> [BenchmarkResult] {
        let hub = Hub()
        hub.register(AnsweringPlugin.self)
        for name in ["One", "Two"] { hub.register(CallingPlugin.self, configurationFiles: ["name": name]) }
        hub.start()
        let callers = ["One", "Two"].compactMap { hub.plugin(named: $0) as? CallingPlugin }
        guard callers.count == 2, let answering = hub.plugin(named: "Answering") as? AnsweringPlugin else {
            throw BenchmarkFailure(hub.report.findings.map(\.sentence).joined(separator: " "))
        }
        var results: [BenchmarkResult] = []
        for workers in Workers.all {
            results += [try closure(workers), try command(workers, callers), try query(workers, callers)]
            for count in [1, 10, 100] { results.append(try event(workers, callers[0], answering, sinks: count)) }
            results.append(try await sequence(workers, callers))
        }
        withExtendedLifetime(hub) {}
        return results
    }

    private static func closure(_ workers: Workers) throws -> BenchmarkResult {
        let observed = Observed(count: 1)
        let payload: JSONObject = ["productID": "pro"]
        let times = try workers.paired(iterations: 20_000) { _ in
            Opaque.ignore(payload)
        } reference: { _ in
            observed.post()
        }
        return benchmarkResult("closure call", workers, observed, times, budget: .none)
    }

    private static func command(_ workers: Workers, _ callers: [CallingPlugin]) throws -> BenchmarkResult {
        let (message, payload) = (try Message("shop.buy", id: .unique()), ["productID": "pro"] as JSONObject)
        let observed = Observed(count: 1)
        let times = try workers.paired(iterations: 20_000) {
            try callers[$0].sender.send(command: message, payload: payload, sender: callers[$0])
        } reference: { _ in
            observed.post()
        }
        return benchmarkResult("hub command, policy-checked", workers, observed, times, budget: .ratio(0.3))
    }

    private static func query(_ workers: Workers, _ callers: [CallingPlugin]) throws -> BenchmarkResult {
        let observed = Observed(count: 1)
        let times = try workers.paired(iterations: 20_000) {
            _ = try callers[$0].sender.send(query: "shop.price", payload: nil, sender: callers[$0])
        } reference: { _ in
            observed.post()
        }
        return benchmarkResult("hub query, policy-checked", workers, observed, times, budget: .none)
    }

    private static func event(_ workers: Workers, _ caller: CallingPlugin, _ answering: AnsweringPlugin, sinks: Int)
        throws -> BenchmarkResult
    {
        let publisher = try caller.sender.publisher(forEvent: "shop.sold", payload: nil, subscriber: caller)
        let subscriptions = (0..<sinks).map { _ in publisher.sink { _ in } }
        let observed = Observed(count: sinks)
        let output = EventOutput.success(["productID": "pro"])
        let times = try workers.paired(iterations: sinks == 1 ? 20_000 : 1000) { _ in
            answering.sold.send(output)
        } reference: { _ in
            observed.post()
        }
        withExtendedLifetime(subscriptions) {}
        let name = "hub event to \(sinks) \(sinks == 1 ? "sink" : "sinks")"
        return benchmarkResult(name, workers, observed, times, budget: sinks == 100 ? .ratio(0.1) : .none)
    }

    /// Each worker sends an event of its own, and reads it before it sends the next.
    private static func sequence(_ workers: Workers, _ callers: [CallingPlugin]) async throws -> BenchmarkResult {
        let observed = Observed(count: 1)
        let output = EventOutput.success(["productID": "pro"])
        let subjects = (0..<workers.size).map { _ in EventSubject() }
        let times = try await workers.paired(iterations: 20_000) { worker, times in
            var outputs = subjects[worker].publisher.makeAsyncIterator()
            for _ in 0..<times {
                subjects[worker].send(output)
                _ = await outputs.next()
            }
        } reference: { _ in
            observed.post()
        }
        return benchmarkResult(
            "hub event through AsyncSequence, sent and read", workers, observed, times, budget: .ratio(2))
    }

    private static func benchmarkResult(
        _ name: String, _ workers: Workers, _ observed: Observed, _ times: [Round],
        budget: Budget
    ) -> BenchmarkResult {
        let observers = observed.count == 1 ? "one observer" : "\(observed.count) observers"
        return BenchmarkResult(
            name: "\(name), \(workers.description)", reference: "NotificationCenter.post, \(observers)",
            rounds: times, budget: budget)
    }

    private enum Opaque {
        /// A variable, so that the compiler cannot inline it. Unsafe: it is never changed, so any thread may read it.
        nonisolated(unsafe) static var body: (JSONObject) -> Void = { _ in }

        @inline(never) static func ignore(_ payload: JSONObject) { body(payload) }
    }

    /// Observers of one notification. Like the sinks, they ignore its content.
    private final class Observed: @unchecked Sendable {
        // Sendable: any thread may post to a notification center, and nothing else changes after `init`.
        private let center = NotificationCenter()
        private let name = Notification.Name("shop.buy")
        private let tokens: [any NSObjectProtocol]
        let count: Int

        init(count: Int) {
            let (center, name) = (center, name)
            self.count = count
            tokens = (0..<count).map { _ in center.addObserver(forName: name, object: nil, queue: nil) { _ in } }
        }

        func post() { center.post(name: name, object: nil) }
    }

    private final class CallingPlugin: PluginProtocol {
        let sender: any MessageSending
        let policy: Policy

        init(messageSender: any MessageSending, configurationFiles: [String: String]) {
            sender = messageSender
            policy = Policy(
                name: configurationFiles["name"] ?? "", send: .init(commands: ["shop.buy"], queries: ["shop.price"]),
                subscribe: ["shop.sold"])
        }
    }

    private final class AnsweringPlugin: PluginProtocol {
        let sold = EventSubject()
        private let price: JSONObject = ["price": 4.99]
        let policy = Policy(
            name: "Answering", receive: .init(commands: ["shop.buy"], queries: ["shop.price"]), publish: ["shop.sold"])

        init(messageSender: any MessageSending, configurationFiles: [String: String]) {}

        func onReceive(command: Message, payload: JSONObject?) throws {}

        func onReceive(query: Message, payload: JSONObject?) throws -> JSONObject { price }

        func publisher(forEvent event: Message, payload: JSONObject?) throws -> EventPublisher { sold.publisher }
    }
}
