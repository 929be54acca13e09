import PluginHub
import Primitives
import Testing

/// Sequences in which a journey requests infos from a domain model, which gets them from a server.
@Suite struct SequenceTests {
    private struct ServerError: Error, Equatable { let status: Int }

    /// A server that answers when the test allows it.
    private actor Server {
        private var waiting: [String: CheckedContinuation<JSONObject, any Error>] = [:]
        private var answers: [String: Result<JSONObject, any Error>] = [:]

        func fetchInfo(_ name: String) async throws -> JSONObject {
            if let answer = answers.removeValue(forKey: name) { return try answer.get() }
            return try await withCheckedThrowingContinuation { waiting[name] = $0 }
        }

        func answer(_ name: String, _ result: Result<JSONObject, any Error>) {
            if let continuation = waiting.removeValue(forKey: name) {
                continuation.resume(with: result)
            } else {
                answers[name] = result
            }
        }
    }

    private static let journeyPolicy = Policy(
        name: "Journey", send: .init(commands: ["info.refresh"]), subscribe: ["info"])
    private static let modelPolicy = Policy(
        name: "DomainModel", receive: .init(commands: ["info.refresh"]), publish: ["info"])

    private let hub = Hub()
    private let server = Server()

    private func start() throws -> ScriptedPlugin {
        let infos = EventSubject()
        let server = server
        hub.register(Self.journeyPolicy)
        hub.register(
            Self.modelPolicy,
            .init(
                onCommand: { plugin, command, payload in
                    let name = try payload.require("name", as: String.self)
                    let context = try #require(plugin.messageSender.context)
                    context.run {
                        do {
                            infos.send(.success(try await server.fetchInfo(name), correlationId: command.id))
                        } catch {
                            infos.send(.failure(error, correlationId: command.id))
                        }
                    }
                },
                onEvent: { _, _, payload in
                    _ = try payload.require("screen", as: String.self)
                    return infos.publisher
                }))
        #expect(hub.start().findings.isEmpty)
        return try hub.scripted("Journey")
    }

    @Test func `getting a publisher with a wrong payload throws at once`() throws {
        let journey = try start()
        #expect(throws: PluginError(.missingField, "")) { _ = try journey.events("info") }
    }

    @Test func `a command with a wrong payload throws at once, and no event comes`() async throws {
        let journey = try start()
        let outputs = try journey.events("info", ["screen": "home"]).values()
        #expect(throws: PluginError(.missingField, "")) {
            try journey.send(command: Message("info.refresh", id: "abc"))
        }
        await hub.stop()
        for await output in outputs { Issue.record("\(output) came") }
    }

    @Test func `an error of the server is a failure value with the command's id`() async throws {
        let journey = try start()
        let outputs = try journey.events("info", ["screen": "home"]).filter(correlationId: "abc").values()
        try journey.send(command: Message("info.refresh", id: "abc"), ["name": "a"])
        await server.answer("a", .failure(ServerError(status: 500)))
        var iterator = outputs.makeAsyncIterator()
        let output = try #require(await iterator.next())
        #expect(output.correlationId == "abc")
        #expect(throws: ServerError(status: 500)) { _ = try output.payload() }
    }

    @Test func `an answer of the server is a value with the command's id`() async throws {
        let journey = try start()
        let outputs = try journey.events("info", ["screen": "home"]).filter(correlationId: "abc").values()
        try journey.send(command: Message("info.refresh", id: "abc"), ["name": "a"])
        await server.answer("a", .success(["info": "new"]))
        var iterator = outputs.makeAsyncIterator()
        let output = try #require(await iterator.next())
        #expect(output.correlationId == "abc")
        #expect(try output.payload() == ["info": "new"])
    }

    @Test func `two commands at once get their own answers, in whatever order these come`() async throws {
        let journey = try start()
        let publisher = try journey.events("info", ["screen": "home"])
        let first = publisher.filter(correlationId: "abc").values()
        let second = publisher.filter(correlationId: "def").values()
        let all = publisher.values()
        try journey.send(command: Message("info.refresh", id: "abc"), ["name": "a"])
        try journey.send(command: Message("info.refresh", id: "def"), ["name": "b"])
        await server.answer("b", .success(["info": "B"]))
        var seconds = second.makeAsyncIterator()
        #expect(try await seconds.next()?.payload() == ["info": "B"])
        await server.answer("a", .success(["info": "A"]))
        var firsts = first.makeAsyncIterator()
        #expect(try await firsts.next()?.payload() == ["info": "A"])
        var alls = all.makeAsyncIterator()
        for id: MessageID in ["def", "abc"] { #expect(await alls.next()?.correlationId == id) }
        await hub.stop()
        #expect(await firsts.next() == nil)
        #expect(await seconds.next() == nil)
        #expect(await alls.next() == nil)
    }
}
