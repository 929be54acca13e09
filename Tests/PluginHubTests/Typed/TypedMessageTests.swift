import PluginHub
import Primitives
import Testing

private struct Info: Codable, Sendable, Equatable {
    struct Line: Codable, Sendable, Equatable { var text: String }
    var title: String
    var lines: [Line] = []
}

private struct RefreshInfo: HubCommand, Equatable {
    static let message: Message = "info.refresh"
    var force = false
    var page: Int?
}

private struct Forget: HubCommand, Equatable {
    static let message: Message = "info.forget"
}

private struct GetInfo: HubQuery {
    static let message: Message = "info.get"
    typealias Answer = Info
    var language: String
}

private struct ShowInfo: HubViewQuery {
    static let message: Message = "info.show"
    var title: String
}

private struct InfoChanged: HubEvent, Equatable {
    static let message: Message = "info.changed"
    var title: String
}

private struct Progress: HubEvent, Equatable {
    struct Parameters: Codable, Sendable { var every: Int }
    static let message: Message = "info.progress"
    var share: Double
}

/// A plugin that sends and receives typed messages.
private final class Model: PluginProtocol {
    let changes = EventSubject()
    let progress = EventSubject()
    let journal: Journal<String>

    init(_ journal: Journal<String>) { self.journal = journal }
    init(messageSender: any MessageSending, configurationFiles: [String: String]) { journal = Journal() }

    var policy: Policy {
        Policy(
            name: "Model",
            receive: .init(
                commands: ["info.refresh", "info.forget"], queries: ["info.get"], viewControllerQueries: ["info.show"]),
            publish: ["info.changed", "info.progress"])
    }

    func onReceive(command: Message, payload: JSONObject?) throws {
        switch command {
        case RefreshInfo.self:
            let refresh = try RefreshInfo(payload: payload)
            journal.note("refresh \(refresh.force) \(refresh.page ?? 0)")
            changes.send(InfoChanged(title: "new"), correlationId: command.id)
        case Forget.self: journal.note("forget \(payload == nil)")
        default: throw unsupported(.command, command)
        }
    }

    func onReceive(query: Message, payload: JSONObject?) throws -> JSONObject {
        switch query {
        case GetInfo.self:
            let language = try GetInfo(payload: payload).language
            if language == "none" { return ["title": "t", "lines": [["text": "a"], [:]]] }
            return try GetInfo.answer(Info(title: language, lines: [.init(text: query.id?.text ?? "-")]))
        default: throw unsupported(.query, query)
        }
    }

    func onReceive(viewQuery: Message, payload: JSONObject?) throws -> ViewDocument {
        ViewDocument(title: try ShowInfo(payload: payload).title)
    }

    func publisher(forEvent event: Message, payload: JSONObject?) throws -> EventPublisher {
        switch event {
        case InfoChanged.self: return changes.publisher
        case Progress.self:
            journal.note("every \(try Progress.parameters(payload).every)")
            return progress.publisher
        default: throw unsupported(.event, event)
        }
    }
}

@Suite struct TypedMessageTests {
    private let journal = Journal<String>()
    private let hub = Hub()

    private func start() throws -> (screen: ScriptedPlugin, model: Model) {
        hub.register(
            Policy(
                name: "Screen",
                send: .init(
                    commands: ["info.refresh", "info.forget"], queries: ["info.get"],
                    viewControllerQueries: ["info.show"]),
                subscribe: ["info.changed", "info.progress"]))
        hub.register { [journal] _, _ in Model(journal) }
        #expect(hub.start().findings.isEmpty)
        return (try hub.scripted("Screen"), try #require(hub.plugin(named: "Model") as? Model))
    }

    @Test func `commands, queries and view queries are sent and received as types`() throws {
        let (screen, _) = try start()
        let sender = screen.messageSender
        try sender.send(RefreshInfo(force: true, page: 3), as: screen)
        try sender.send(Forget(), as: screen)
        let info = try sender.send(GetInfo(language: "en"), id: "x", as: screen)
        #expect(info == Info(title: "en", lines: [.init(text: "x")]))
        #expect(try sender.send(ShowInfo(title: "Screen"), as: screen).title == "Screen")
        #expect(journal.entries == ["refresh true 3", "forget true"])
    }

    @Test func `events are received as types, with the id of the command that caused them`() async throws {
        let (screen, _) = try start()
        let sender = screen.messageSender
        let changes = try sender.events(InfoChanged.self, as: screen)
        let mine = changes.filter(correlationId: "abc").values(.newest(1))
        let all = changes.values()
        let got = Journal<String>()
        let subscription = changes.sink(finished: { got.note("end") }) { got.note((try? $0.value().title) ?? "?") }
        try sender.send(RefreshInfo(), as: screen)
        try sender.send(RefreshInfo(), id: "abc", as: screen)
        try sender.send(RefreshInfo(), id: "abc", as: screen)
        await hub.stop()
        var outputs: [TypedOutput<InfoChanged>] = []
        for await info in all { outputs.append(info) }
        #expect(try outputs.map { try $0.value() } == Array(repeating: InfoChanged(title: "new"), count: 3))
        #expect(outputs.map(\.correlationId) == [nil, "abc", "abc"])
        var count = 0
        for await info in mine {
            #expect(info.correlationId == "abc")
            count += 1
        }
        #expect(count == 1)
        #expect(mine.droppedCount == 1)
        #expect(got.entries == ["new", "new", "new", "end"])
        subscription.cancel()
    }

    @Test func `a subscription to an event has the event's parameters`() throws {
        let (screen, model) = try start()
        let publisher = try screen.messageSender.events(Progress.self, with: .init(every: 5), as: screen)
        let shares = Journal<Double>()
        let subscription = publisher.sink { shares.note((try? $0.value().share) ?? -1) }
        model.progress.send(Progress(share: 0.25))
        #expect(journal.entries == ["every 5"])
        #expect(shares.entries == [0.25])
        #expect(throws: PluginError(.missingField, "")) { _ = try screen.events("info.progress") }
        withExtendedLifetime(subscription) {}
    }

    @Test func `no output is lost: failures stay, and coding errors become failures`() throws {
        struct Own: Error, Equatable {}
        let (screen, model) = try start()
        let outputs = Journal<TypedOutput<Progress>>()
        let publisher = try screen.messageSender.events(Progress.self, with: .init(every: 1), as: screen)
        let subscription = publisher.sink { outputs.note($0) }
        model.progress.send(.failure(Own(), correlationId: "a"))
        model.progress.send(.success(["share": "half"], correlationId: "b"))
        model.progress.send(.success([:], correlationId: "c"))
        model.progress.send(Progress(share: .infinity), correlationId: "d")
        model.progress.send(Progress(share: 1), correlationId: "e")
        #expect(outputs.entries.map(\.correlationId) == ["a", "b", "c", "d", "e"])
        #expect(throws: Own()) { _ = try outputs.entries[0].value() }
        #expect(throws: PluginError(.invalidField, "")) { _ = try outputs.entries[1].value() }
        #expect(throws: PluginError(.missingField, "")) { _ = try outputs.entries[2].value() }
        #expect(throws: PluginError(.invalidField, "")) { _ = try outputs.entries[3].value() }
        #expect(try outputs.entries[4].value() == Progress(share: 1))
        withExtendedLifetime(subscription) {}
    }

    @Test func `a typed receiver works with an untyped sender, and an untyped subscriber with a typed publisher`()
        throws
    {
        let (screen, model) = try start()
        try screen.send(command: "info.refresh", ["force": true, "unknown": 1])
        #expect(try screen.query("info.get", ["language": "de"]) == ["title": "de", "lines": [["text": "-"]]])
        let untyped = Journal<JSONObject>()
        let subscription = try screen.events("info.changed").sink { untyped.note((try? $0.payload()) ?? [:]) }
        model.changes.send(InfoChanged(title: "x"))
        #expect(untyped.entries == [["title": "x"]])
        #expect(journal.entries == ["refresh true 0"])
        withExtendedLifetime(subscription) {}
    }

    @Test func `a missing or invalid field has its own error code, and the error names the field and the message`()
        throws
    {
        let (screen, _) = try start()
        let missing = #expect(throws: PluginError.self) { try screen.send(command: "info.refresh") }
        #expect(missing?.code == .missingField)
        #expect(missing?.sentence == "The field \"force\" of the payload of \"info.refresh\" is missing.")
        #expect(missing?.message == "info.refresh")
        let null = #expect(throws: PluginError.self) { try screen.send(command: "info.refresh", ["force": nil]) }
        #expect(null?.code == .missingField)
        let invalid = #expect(throws: PluginError.self) { try screen.send(command: "info.refresh", ["force": "s3"]) }
        #expect(invalid?.code == .invalidField)
        #expect(invalid?.sentence == "The field \"force\" of the payload of \"info.refresh\" must be true or false.")
        #expect(invalid.map { "\($0) \(String(describing: $0.underlying))".contains("s3") } == false)
    }

    @Test func `an answer of the wrong type is refused at the sender`() throws {
        let (screen, _) = try start()
        let error = #expect(throws: PluginError.self) {
            _ = try screen.messageSender.send(GetInfo(language: "none"), as: screen)
        }
        #expect(error?.code == .missingField)
        #expect(error?.sentence == "The field \"lines[1].text\" of the answer to \"info.get\" is missing.")
    }

    @Test func `a payload or an answer that is not an object is refused before it is sent`() throws {
        struct Bare: HubCommand {
            static let message: Message = "info.refresh"
            func encode(to encoder: any Encoder) throws { try [1, 2].encode(to: encoder) }
        }
        struct Count: HubQuery {
            static let message: Message = "info.get"
            typealias Answer = Int
        }
        let (screen, _) = try start()
        #expect(throws: PluginError(.invalidField, "")) { try screen.messageSender.send(Bare(), as: screen) }
        #expect(throws: PluginError(.invalidField, "")) { _ = try Count.answer(3) }
        #expect(journal.entries.isEmpty)
    }

    @Test func `typed messages pass the same checks of policies and identity`() throws {
        struct Unlisted: HubCommand { static let message: Message = "info.unlisted" }
        let (screen, model) = try start()
        let sender = screen.messageSender
        #expect(throws: PluginError(.notAllowed, "")) { try sender.send(Unlisted(), as: screen) }
        #expect(throws: PluginError(.senderMismatch, "")) { try sender.send(Forget(), as: model) }
        #expect(throws: PluginError(.senderMismatch, "")) { _ = try sender.events(InfoChanged.self, as: model) }
        #expect(journal.entries.isEmpty)
    }

    @Test func `an id in the type's own message is not sent`() async throws {
        struct Marked: HubCommand {
            static let message = Message("info.forget").with(id: "mine")
        }
        let (screen, _) = try start()
        let trace = hub.trace.values()
        try screen.messageSender.send(Marked(), as: screen)
        try screen.messageSender.send(Marked(), id: "x", as: screen)
        trace.cancel()
        var ids: [MessageID?] = []
        for await entry in trace { ids.append(entry.message.id) }
        #expect(ids == [nil, "x"])
        #expect(journal.entries.count == 2)
    }
}
