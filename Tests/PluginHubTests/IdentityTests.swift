import PluginHub
import Primitives
import Testing

@Suite struct IdentityTests {
    private let journal = Journal<String>()

    private func pair() throws -> (hub: Hub, one: ScriptedPlugin, two: ScriptedPlugin) {
        let hub = Hub(configuration: .init(isPartialSet: true))
        for kind in MessageKind.allCases {
            hub.register(.taking("Takes\(kind.rawValue)", kind, "a"), answering(journal))
        }
        let all = Policy.Exchange(commands: ["a"], queries: ["a"], viewControllerQueries: ["a"])
        hub.register(Policy(name: "One", send: all, subscribe: ["a"]))
        hub.register(Policy(name: "Two", send: all, subscribe: ["a"]))
        #expect(hub.start().findings.isEmpty)
        return (hub, try hub.scripted("One"), try hub.scripted("Two"))
    }

    @Test func `a plugin cannot send in the name of another`() throws {
        let (hub, one, two) = try pair()
        let sender = one.messageSender
        let mismatch = PluginError(.senderMismatch, "")
        #expect(throws: mismatch) { try sender.send(command: "a", payload: nil, sender: two) }
        #expect(throws: mismatch) { _ = try sender.send(query: "a", payload: nil, sender: two) }
        #expect(throws: mismatch) { _ = try sender.send(viewQuery: "a", payload: nil, sender: two) }
        #expect(throws: mismatch) { _ = try sender.publisher(forEvent: "a", payload: nil, subscriber: two) }
        #expect(journal.entries.isEmpty)
        try sender.send(command: "a", payload: nil, sender: one)
        #expect(journal.entries.count == 1)
        withExtendedLifetime(hub) {}
    }

    @Test func `another object with the name of a plugin cannot send as the plugin`() throws {
        let (hub, one, _) = try pair()
        let stranger = ScriptedPlugin(one.policy, one.messageSender)
        #expect(throws: PluginError(.senderMismatch, "")) { try stranger.send(command: "a") }
        withExtendedLifetime(hub) {}
    }

    @Test func `a plugin cannot send from its initialiser`() throws {
        let hub = Hub()
        hub.register(.taking("One", .command, "a"), answering(journal))
        hub.register { [journal] sender, _ in
            let plugin = ScriptedPlugin(.sending("Two", .command, "a"), sender)
            do {
                try plugin.send(command: "a")
            } catch let error as PluginError {
                journal.note(error.code.rawValue)
            }
            return plugin
        }
        #expect(hub.start().findings.isEmpty)
        #expect(journal.entries == ["notRunning"])
        try hub.scripted("Two").send(command: "a")
        #expect(journal.entries.count == 2)
    }

    @Test func `a removed plugin cannot send, nor can a refused one`() async throws {
        let (hub, one, two) = try pair()
        await hub.deregister("One")
        #expect(throws: PluginError(.unknownPlugin, "")) { try one.send(command: "a") }
        #expect(throws: PluginError(.unknownPlugin, "")) { _ = try one.events("a") }
        try two.send(command: "a")

        let lost = Journal<ScriptedPlugin>()
        hub.register { sender, _ in
            let plugin = ScriptedPlugin(Policy(name: "Two", send: .init(commands: ["a"])), sender)
            lost.note(plugin)
            return plugin
        }
        #expect(throws: PluginError(.unknownPlugin, "")) { try lost.entries[0].send(command: "a") }
        #expect(journal.entries == ["Takescommand command a"])
    }

    @Test func `when the hub is released its plugins cannot send, and are released`() throws {
        weak var released: ScriptedPlugin?
        var survivor: ScriptedPlugin?
        do {
            let (hub, one, two) = try pair()
            released = two
            survivor = one
            withExtendedLifetime(hub) {}
        }
        #expect(released == nil)
        #expect(throws: PluginError(.unknownPlugin, "")) { try survivor?.send(command: "a") }
    }
}
