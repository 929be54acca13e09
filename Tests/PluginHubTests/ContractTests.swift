import PluginHub
import Testing

// This file has no @testable and no other imports, so an app can do the same.

/// A plugin that implements every method.
private final class FullPlugin: PluginProtocol {
    let messageSender: any MessageSending
    let files: [String: String]
    let subject = EventSubject()

    init(messageSender: any MessageSending, configurationFiles: [String: String]) throws {
        self.messageSender = messageSender
        files = configurationFiles
    }

    var policy: Policy {
        Policy(
            name: "Full",
            send: .init(
                commands: ["full.do"], queries: ["full.read"], viewControllerQueries: ["full.show"], requests: []),
            receive: .init(commands: ["full.do"], queries: ["full.read"], viewControllerQueries: ["full.show"]),
            publish: .init(events: ["full.event"]), subscribe: ["full.event"], subscribeAtAppLaunch: [])
    }

    func publisher(forEvent event: Message, payload: JSONObject?) throws -> EventPublisher { subject.publisher }
    func subscribe(toPublisher publisher: EventPublisher, forEvent event: Message) {}
    func onReceive(command: Message, payload: JSONObject?) throws {
        subject.send(EventOutput(result: .success(payload ?? [:]), correlationId: command.id))
    }
    func onReceive(query: Message, payload: JSONObject?) throws -> JSONObject { ["files": .number(files.count)] }
    func onReceive(viewQuery: Message, payload: JSONObject?) throws -> ViewDocument { ViewDocument(title: "Full") }
}

/// A plugin that implements only the required members.
private final class BarePlugin: PluginProtocol {
    init(messageSender: any MessageSending, configurationFiles: [String: String]) {}
    var policy: Policy { Policy(name: "Bare") }
}

@Suite struct ContractTests {
    @Test func `messages and their ids are values with literals`() throws {
        let message: Message = "info.refresh"
        #expect(message.name == "info.refresh")
        #expect(message.id == nil)
        let id: MessageID = "abc"
        let other = try Message("info." + "refresh", id: id)
        #expect(other.id == id)
        #expect(Set([message, other, message]).count == 2)
        #expect(MessageID.unique() != MessageID.unique())
        let sendable: any Sendable & Hashable & Codable = other
        _ = sendable
    }

    @Test func `JSON values have literals of every kind, readers and subscripts`() throws {
        let object: JSONObject = [
            "text": "a", "int": 1, "double": 1.5, "bool": true, "list": [1, 2], "object": ["a": nil], "null": nil,
        ]
        #expect(object["text"]?.stringValue == "a")
        #expect(object["int"]?.intValue == 1)
        #expect(object["double"]?.doubleValue == 1.5)
        #expect(object["bool"]?.boolValue == true)
        #expect(object["list"]?.arrayValue?.count == 2)
        #expect(object["list"]?[1] == 2)
        #expect(object["object"]?.objectValue?["a"] == .null)
        #expect(object["object"]?["a"] == .null)
        #expect(JSONValue.string("a") == "a")
        #expect(JSONValue.number(1) == 1)
        #expect(JSONValue.bool(true) == true)
        #expect(JSONValue.array(["a"]) == ["a"])
        #expect(JSONValue.object(["a": 1]) == ["a": 1])
        let text = try object.require("text", as: String.self)
        #expect(text == "a")
    }

    @Test func `a plugin sends to itself with every method of the sender`() throws {
        let hub = Hub(configuration: .init())
        hub.register(FullPlugin.self, configurationFiles: ["policy": "a"])
        let report: Hub.Report = hub.start()
        let findings: [Hub.Finding] = report.findings
        #expect(findings.isEmpty)
        #expect(!report.hasErrors)
        #expect(report.running == ["Full"])
        let plugin = try #require(hub.plugin(named: "Full") as? FullPlugin)
        let sender = plugin.messageSender
        let publisher = try sender.publisher(forEvent: "full.event", payload: nil, subscriber: plugin)
        let subscription: EventSubscription = publisher.filter(correlationId: "x").sink { _ in }
        try sender.send(command: "full.do", payload: nil, sender: plugin)
        let answer: JSONObject = try sender.send(query: "full.read", payload: nil, sender: plugin)
        #expect(answer["files"] == 1)
        let view: ViewDocument = try sender.send(viewQuery: "full.show", payload: nil, sender: plugin)
        #expect(view.title == "Full")
        subscription.cancel()
    }

    @Test func `a hub registers types and factories, and deregisters them`() async throws {
        let hub = Hub()
        hub.register(BarePlugin.self)
        hub.register { sender, files in try FullPlugin(messageSender: sender, configurationFiles: files) }
        hub.start()
        #expect(hub.report.running == ["Bare", "Full"])
        await hub.deregister("Bare")
        #expect(hub.plugin(named: "Bare") == nil)
        await hub.stop()
        #expect(hub.report.running.isEmpty)
    }

    @Test func `a report's findings are values`() throws {
        let finding = Hub.Finding(
            severity: .error, code: .noReceiver, plugin: "A", message: "b", sentence: "Nobody receives b.")
        #expect(Hub.Report(findings: [finding], running: []).hasErrors)
        #expect([finding.severity] == [Hub.Finding.Severity.error])
    }

    @Test func `an event subject delivers outputs with a result and a correlation id`() async throws {
        let subject = EventSubject()
        let publisher: EventPublisher = subject.publisher
        let outputs = publisher.values()
        subject.send(EventOutput(result: .success(["a": 1]), correlationId: "x"))
        subject.send(EventOutput(result: .failure(PluginError(.invalidField, "A field.")), correlationId: nil))
        var iterator = outputs.makeAsyncIterator()
        let first: EventOutput? = await iterator.next()
        let result: Result<JSONObject, any Error>? = first?.result
        #expect(try result?.get() == ["a": 1])
        #expect(first?.correlationId == "x")
        func failure<S: AsyncSequence>(of: S) -> S.Failure.Type { S.Failure.self }
        #expect(failure(of: publisher) == Never.self)
    }

    @Test func `errors are equal by their code, and codes are open`() {
        let codes: [PluginError.Code] = [
            .notAllowed, .senderMismatch, .noReceiver, .ambiguousReceiver, .duplicatePlugin, .unsupportedMessage,
            .missingField, .invalidField, .unknownPlugin, .handlerFailed, .viewUnavailable, .reentrancyLimit,
            PluginError.Code(rawValue: "mine"),
        ]
        #expect(Set(codes).count == codes.count)
        #expect(PluginError(.notAllowed, "a") == PluginError(.notAllowed, "b", plugin: "P"))
        #expect(PluginError(.notAllowed, "a") != PluginError(.noReceiver, "a"))
    }

    @Test func `a message that a plugin does not implement is refused as unsupported`() {
        let plugin = BarePlugin(messageSender: UnconnectedSender(), configurationFiles: [:])
        let unsupported = PluginError(.unsupportedMessage, "")
        #expect(throws: unsupported) { try plugin.onReceive(command: "a", payload: nil) }
        #expect(throws: unsupported) { _ = try plugin.onReceive(query: "a", payload: nil) }
        #expect(throws: unsupported) { _ = try plugin.onReceive(viewQuery: "a", payload: nil) }
        #expect(throws: unsupported) { _ = try plugin.publisher(forEvent: "a", payload: nil) }
        plugin.subscribe(toPublisher: .empty, forEvent: "a")
        #expect(UnconnectedSender().context == nil)
    }
}

/// A sender that is not connected to a hub, for unit tests of an app.
private final class UnconnectedSender: MessageSending {
    private let refusal = PluginError(.noReceiver, "Nobody listens.")
    func publisher(
        forEvent event: Message, payload: JSONObject?, subscriber: any PluginProtocol
    ) throws -> EventPublisher { throw refusal }
    func send(command: Message, payload: JSONObject?, sender: any PluginProtocol) throws { throw refusal }
    func send(query: Message, payload: JSONObject?, sender: any PluginProtocol) throws -> JSONObject { throw refusal }
    func send(viewQuery: Message, payload: JSONObject?, sender: any PluginProtocol) throws -> ViewDocument {
        throw refusal
    }
}
