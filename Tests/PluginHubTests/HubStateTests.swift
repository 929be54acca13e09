import Testing

@testable import PluginHub

/// Tests the state that the hub's lock protects. Each test makes the calls in one order that a race could produce.
@Suite struct HubStateTests {
    private func member(_ policy: Policy) -> Member {
        let channel = PluginChannel(configuration: .init(), trace: TraceReaders())
        return Member(policy: policy, plugin: ScriptedPlugin(policy, channel), channel: channel)
    }

    /// Like `#require`, which does not accept a mutating call.
    private func required<Value>(_ value: Value?) throws -> Value { try #require(value) }

    private func expect<Value: Equatable>(_ value: Value, _ other: Value, at place: SourceLocation = #_sourceLocation) {
        #expect(value == other, sourceLocation: place)
    }

    private let registration = HubState.Registration(typeName: nil, configurationFiles: [:]) { sender, _ in
        ScriptedPlugin(Policy(name: "Any"), sender)
    }

    @Test func `no plugin runs after a stop during the start`() throws {
        var state = HubState(isPartialSet: false)
        let generation = try required(state.beginStarting())
        expect(state.removeAll().count, 0)
        let change = try required(
            state.finishStarting([member(Policy(name: "One"))], failures: [], generation: generation))
        #expect(change.admitted.isEmpty)
        #expect(change.refused.map(\.name) == ["One"])
        #expect(state.report.running.isEmpty)
    }

    @Test func `a stopped start leaves later registrations to the next start`() throws {
        var state = HubState(isPartialSet: false)
        let generation = try required(state.beginStarting())
        _ = state.removeAll()
        expect(state.register(registration), nil)
        expect(state.takePending(generation: generation).count, 0)
        let next = try required(state.beginStarting())
        expect(state.takePending(generation: next).count, 1)
    }

    @Test func `a plugin does not run if the hub was stopped during its registration`() throws {
        var state = HubState(isPartialSet: false)
        let start = try required(state.beginStarting())
        _ = state.finishStarting([], failures: [], generation: start)
        let generation = try required(state.register(registration))
        _ = state.removeAll()
        expect(state.admit([member(Policy(name: "One"))], failures: [], generation: generation).refused.count, 1)
        #expect(state.report.running.isEmpty)
    }

    @Test func `a start continues while there are registrations`() throws {
        var state = HubState(isPartialSet: false)
        let generation = try required(state.beginStarting())
        expect(state.beginStarting(), nil)
        expect(state.register(registration), nil)
        expect(state.finishStarting([], failures: [], generation: generation) == nil, true)
        expect(state.takePending(generation: generation).count, 1)
        expect(state.finishStarting([], failures: [], generation: generation) == nil, false)
        expect(state.register(registration), generation)
    }

    @Test func `a channel keeps the newest routes, in whatever order they come`() throws {
        var state = HubState(isPartialSet: true)
        let generation = try required(state.beginStarting())
        let client = member(.sending("Client", .command, "a"))
        let first = try required(state.finishStarting([client], failures: [], generation: generation))
        let server = member(.taking("Server", .command, "a"))
        let second = state.admit([server], failures: [], generation: generation)
        for routes in second.routes + first.routes { routes.owner.channel.take(routes) }
        // The older routes have no receiver for the command. The newer routes lead to the scripted plugin, which has no
        // handler.
        #expect(throws: PluginError(.unsupportedMessage, "")) {
            try client.channel.send(command: "a", payload: nil, sender: client.plugin)
        }
        client.channel.close()
        server.channel.close()
    }

    @Test func `the trace is switched on by the first reader and off by the last`() throws {
        var state = HubState(isPartialSet: false)
        let generation = try required(state.beginStarting())
        _ = state.finishStarting([member(Policy(name: "One"))], failures: [], generation: generation)
        expect(state.countTraceReaders(1).routes.map(\.isTraced), [true])
        expect(state.countTraceReaders(1).routes.count, 0)
        expect(state.countTraceReaders(-1).routes.count, 0)
        expect(state.countTraceReaders(-1).routes.map(\.isTraced), [false])
    }

    @Test func `a repeated failure is one finding`() throws {
        var state = HubState(isPartialSet: false)
        let generation = try required(state.beginStarting())
        let finding = Hub.Finding(severity: .error, code: .initializationFailed, sentence: "No.")
        _ = state.finishStarting([], failures: [finding, finding], generation: generation)
        _ = state.admit([], failures: [finding], generation: generation)
        #expect(state.report.findings == [finding])
    }
}
