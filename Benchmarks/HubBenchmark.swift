import Foundation
import PluginHub
import Primitives

/// A policy-checked command and an event to a hundred sinks, beside Foundation's notifications to as many observers.
enum HubBenchmark {
    static func run() throws -> [Figure] {
        let hub = Hub()
        hub.register(Asking.self)
        hub.register(Answering.self)
        hub.start()
        guard let asking = hub.plugin(named: "asking") as? Asking,
            let answering = hub.plugin(named: "answering") as? Answering
        else { throw BenchmarkFailure(hub.report.findings.map(\.sentence).joined(separator: " ")) }
        let figures = [try command(asking), try event(asking, answering)]
        withExtendedLifetime(hub) {}
        return figures
    }

    private static func command(_ asking: Asking) throws -> Figure {
        let (message, payload) = (try Message("shop.buy", id: .unique()), ["productID": "pro"] as JSONObject)
        let observed = Observed(count: 1)
        let times = try paired(iterations: 20_000) {
            try asking.sender.send(command: message, payload: payload, sender: asking)
        } reference: {
            observed.post()
        }
        return Figure(
            name: "hub command, policy-checked", reference: "NotificationCenter.post, one observer",
            nanoseconds: times.operation, referenceNanoseconds: times.reference, budget: "≤ 0.5 ×")
    }

    private static func event(_ asking: Asking, _ answering: Answering) throws -> Figure {
        let publisher = try asking.sender.publisher(forEvent: "shop.sold", payload: nil, subscriber: asking)
        let subscriptions = (0..<100).map { _ in publisher.sink { _ in } }
        let observed = Observed(count: 100)
        let output = EventOutput.success(["productID": "pro"])
        let times = paired(iterations: 1000) {
            answering.sold.send(output)
        } reference: {
            observed.post()
        }
        withExtendedLifetime(subscriptions) {}
        return Figure(
            name: "hub event to 100 sinks", reference: "NotificationCenter.post, 100 observers",
            nanoseconds: times.operation, referenceNanoseconds: times.reference, budget: "≤ 0.15 ×")
    }

    /// Observers of one notification that do as little as the sinks.
    private final class Observed {
        private let center = NotificationCenter()
        private let name = Notification.Name("shop.buy")
        private var tokens: [any NSObjectProtocol] = []

        init(count: Int) {
            tokens = (0..<count).map { _ in center.addObserver(forName: name, object: nil, queue: nil) { _ in } }
        }

        func post() { center.post(name: name, object: nil) }
    }

    private final class Asking: PluginProtocol {
        let sender: any MessageSending
        let policy = Policy(name: "asking", send: .init(commands: ["shop.buy"]), subscribe: ["shop.sold"])

        init(messageSender: any MessageSending, configurationFiles: [String: String]) { sender = messageSender }
    }

    private final class Answering: PluginProtocol {
        let sold = EventSubject()
        let policy = Policy(name: "answering", receive: .init(commands: ["shop.buy"]), publish: ["shop.sold"])

        init(messageSender: any MessageSending, configurationFiles: [String: String]) {}

        func onReceive(command: Message, payload: JSONObject?) throws {}

        func publisher(forEvent event: Message, payload: JSONObject?) throws -> EventPublisher { sold.publisher }
    }
}
