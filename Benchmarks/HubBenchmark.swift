import Foundation
import PluginHub
import Primitives

/// What is said through the hub beside Foundation's notifications to as many observers, and beside a bare closure call;
/// each from one thread and from two.
enum HubBenchmark {
    static func run() async throws -> [Figure] {
        let hub = Hub()
        hub.register(Answering.self)
        for name in ["One", "Two"] { hub.register(Asking.self, configurationFiles: ["name": name]) }
        hub.start()
        let asking = ["One", "Two"].compactMap { hub.plugin(named: $0) as? Asking }
        guard asking.count == 2, let answering = hub.plugin(named: "Answering") as? Answering else {
            throw BenchmarkFailure(hub.report.findings.map(\.sentence).joined(separator: " "))
        }
        var figures: [Figure] = []
        for crew in Crew.all {
            figures += [try closure(crew), try command(crew, asking), try query(crew, asking)]
            for count in [1, 10, 100] { figures.append(try event(crew, asking[0], answering, sinks: count)) }
            figures.append(try await sequence(crew, asking))
        }
        withExtendedLifetime(hub) {}
        return figures
    }

    private static func closure(_ crew: Crew) throws -> Figure {
        let observed = Observed(count: 1)
        let payload: JSONObject = ["productID": "pro"]
        let times = try crew.paired(iterations: 20_000) { _ in
            Opaque.ignore(payload)
        } reference: { _ in
            observed.post()
        }
        return figure("bare closure call", crew, observed, times, budget: "–")
    }

    private static func command(_ crew: Crew, _ asking: [Asking]) throws -> Figure {
        let (message, payload) = (try Message("shop.buy", id: .unique()), ["productID": "pro"] as JSONObject)
        let observed = Observed(count: 1)
        let times = try crew.paired(iterations: 20_000) {
            try asking[$0].sender.send(command: message, payload: payload, sender: asking[$0])
        } reference: { _ in
            observed.post()
        }
        return figure("hub command, policy-checked", crew, observed, times, budget: "≤ 0.5 ×")
    }

    private static func query(_ crew: Crew, _ asking: [Asking]) throws -> Figure {
        let observed = Observed(count: 1)
        let times = try crew.paired(iterations: 20_000) {
            _ = try asking[$0].sender.send(query: "shop.price", payload: nil, sender: asking[$0])
        } reference: { _ in
            observed.post()
        }
        return figure("hub query, policy-checked", crew, observed, times, budget: "–")
    }

    private static func event(_ crew: Crew, _ asking: Asking, _ answering: Answering, sinks: Int) throws -> Figure {
        let publisher = try asking.sender.publisher(forEvent: "shop.sold", payload: nil, subscriber: asking)
        let subscriptions = (0..<sinks).map { _ in publisher.sink { _ in } }
        let observed = Observed(count: sinks)
        let output = EventOutput.success(["productID": "pro"])
        let times = try crew.paired(iterations: sinks == 1 ? 20_000 : 1000) { _ in
            answering.sold.send(output)
        } reference: { _ in
            observed.post()
        }
        withExtendedLifetime(subscriptions) {}
        let name = "hub event to \(sinks) \(sinks == 1 ? "sink" : "sinks")"
        return figure(name, crew, observed, times, budget: sinks == 100 ? "≤ 0.15 ×" : "–")
    }

    /// Each member sends an event of its own and reads it before it sends the next.
    private static func sequence(_ crew: Crew, _ asking: [Asking]) async throws -> Figure {
        let observed = Observed(count: 1)
        let output = EventOutput.success(["productID": "pro"])
        let subjects = (0..<crew.size).map { _ in EventSubject() }
        let times = try await crew.paired(iterations: 20_000) { member, times in
            var outputs = subjects[member].publisher.makeAsyncIterator()
            for _ in 0..<times {
                subjects[member].send(output)
                _ = await outputs.next()
            }
        } reference: { _ in
            observed.post()
        }
        return figure("hub event through AsyncSequence, sent and read", crew, observed, times, budget: "–")
    }

    private static func figure(
        _ name: String, _ crew: Crew, _ observed: Observed, _ times: (operation: Double, reference: Double),
        budget: String
    ) -> Figure {
        let observers = observed.count == 1 ? "one observer" : "\(observed.count) observers"
        return Figure(
            name: "\(name), \(crew.description)", reference: "NotificationCenter.post, \(observers)",
            nanoseconds: times.operation, referenceNanoseconds: times.reference, budget: budget)
    }

    private enum Opaque {
        /// Changeable, so that nobody who calls it can know what it does. Unsafe: it never is changed, so any thread
        /// may read it.
        nonisolated(unsafe) static var body: (JSONObject) -> Void = { _ in }

        @inline(never) static func ignore(_ payload: JSONObject) { body(payload) }
    }

    /// Observers of one notification that do as little as the sinks.
    private final class Observed: @unchecked Sendable {
        // Sendable: posting is what notification centres do from any thread; nothing else changes after `init`.
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

    private final class Asking: PluginProtocol {
        let sender: any MessageSending
        let policy: Policy

        init(messageSender: any MessageSending, configurationFiles: [String: String]) {
            sender = messageSender
            policy = Policy(
                name: configurationFiles["name"] ?? "", send: .init(commands: ["shop.buy"], queries: ["shop.price"]),
                subscribe: ["shop.sold"])
        }
    }

    private final class Answering: PluginProtocol {
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
