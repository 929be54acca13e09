import Foundation
import PluginHub

func values() throws {
    var object: JSONObject = [
        "text": "a", "whole": 1, "real": 1.5, "flag": true, "list": ["b", nil], "members": ["c": 2], "nothing": nil,
    ]
    let value: JSONValue = ["list": [1, "two", false, nil]]
    switch value {
    case .string, .number, .bool, .array, .object, .null: break
    }
    let read: (String?, Int?, Double?, Bool?, [JSONValue]?, JSONObject?) = (
        value.stringValue, value.intValue, value.doubleValue, value.boolValue, value.arrayValue, value.objectValue
    )
    _ = read
    object["more"] = value["list"]?[0]
    let required: String = try object.require("text", as: String.self)
    let decoded = try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(value))
    let isSame: Bool = Set([decoded]).contains(value)
    requireSendable(required, isSame)
}

func messages() throws {
    let literal: Message = "store.purchase"
    let id: MessageID = .unique()
    let message = try Message("store.purchase", id: id)
    let name: String = message.name
    let optional: MessageID? = message.id
    let other: MessageID = "7"
    let identifiers: Set<MessageID?> = [optional, other]
    _ = try JSONDecoder().decode(Message.self, from: JSONEncoder().encode(literal))
    _ = try JSONDecoder().decode(MessageID.self, from: JSONEncoder().encode(other))
    requireSendable(name, identifiers, Set([literal, message]))

    let output = EventOutput(result: .success(["a": 1]), correlationId: id)
    let result: Result<JSONObject, any Error> = output.result
    let correlation: MessageID? = output.correlationId
    requireSendable(output, correlation)
    _ = result
}

final class Everything: PluginProtocol {
    private let messages: any MessageSending
    private let subject = EventSubject()
    let policy = Policy(
        name: "Everything",
        send: .init(commands: ["a"], queries: ["b"], viewControllerQueries: ["c"], requests: []),
        receive: Policy.Exchange(commands: ["d"]),
        publish: ["e"],
        subscribe: Policy.Events(events: ["f"]),
        subscribeAtAppLaunch: .init())

    init(messageSender: any MessageSending, configurationFiles: [String: String]) throws {
        messages = messageSender
        _ = configurationFiles["policy"]
    }

    func publisher(forEvent event: Message, payload: JSONObject?) throws -> EventPublisher { subject.publisher }
    func subscribe(toPublisher publisher: EventPublisher, forEvent event: Message) {}
    func onReceive(command: Message, payload: JSONObject?) throws {}
    func onReceive(query: Message, payload: JSONObject?) throws -> JSONObject { [:] }
    func onReceive(viewQuery: Message, payload: JSONObject?) throws -> ViewDocument {
        try messages.send(viewQuery: viewQuery, payload: payload, sender: self)
    }

    func speak() throws {
        let publisher: EventPublisher = try messages.publisher(forEvent: "f", payload: nil, subscriber: self)
        try messages.send(command: "a", payload: ["x": 1], sender: self)
        let answer: JSONObject = try messages.send(query: "b", payload: nil, sender: self)
        let view: ViewDocument = try messages.send(viewQuery: "c", payload: nil, sender: self)
        subject.send(EventOutput(result: .success(answer), correlationId: nil))
        let subscription: EventSubscription = publisher.filter(correlationId: "7").sink { (output: EventOutput) in
            _ = output.result
        }
        requireSendable(publisher, subscription, view)
    }
}

func hub() async throws {
    let plain = Hub()
    await plain.stop()
    let hub = Hub(configuration: Hub.Configuration())
    hub.register(Everything.self)
    hub.register(Everything.self, configurationFiles: ["policy": "store.policy.json"])
    hub.register(configurationFiles: [:]) { sender, files in
        try Everything(messageSender: sender, configurationFiles: files)
    }
    hub.start()
    let report: Hub.Report = hub.report
    let hasErrors: Bool = report.hasErrors
    let running: [String] = report.running
    for finding: Hub.Finding in report.findings {
        switch finding.severity {
        case .error, .warning: break
        }
        let code: PluginError.Code = finding.code
        let plugin: String? = finding.plugin
        let message: String? = finding.message
        let sentence: String = finding.sentence
        requireSendable(code, plugin, message, sentence)
        _ = try JSONDecoder().decode(Hub.Finding.self, from: JSONEncoder().encode(finding))
    }
    let plugin: (any PluginProtocol)? = hub.plugin(named: "Everything")
    await hub.deregister("Everything")
    await hub.stop()
    requireSendable(hub, hasErrors, running, plugin)
}

func policies() throws {
    let policy = Policy(name: "Screen")
    let read = try JSONDecoder().decode(Policy.self, from: JSONEncoder().encode(policy))
    let exchange: Policy.Exchange = .init(commands: [], queries: [], viewControllerQueries: [], requests: [])
    let events: Policy.Events = ["a", "b"]
    requireSendable(read == policy, exchange == .init(), events == .init(events: ["a", "b"]))
}

func events(_ publisher: EventPublisher) async {
    for await output: EventOutput in publisher { requireSendable(output) }
    requireNeverFailing(publisher)
}

func errors(_ error: PluginError) {
    let codes: Set<PluginError.Code> = [
        .notAllowed, .senderMismatch, .noReceiver, .ambiguousReceiver, .duplicatePlugin, .unsupportedMessage,
        .missingField, .invalidField,
    ]
    let known: Bool = codes.contains(error.code) && error == error
    let text: String = error.code.rawValue
    requireSendable(known, text)
}

func requireSendable<each Value: Sendable>(_ values: repeat each Value) {}
func requireNeverFailing<S: AsyncSequence>(_ sequence: S) where S.Failure == Never {}
