import PluginHub
import Testing

@Suite struct ReentrancyTests {
    private let journal = Journal<String>()

    /// Two plugins that answer each command with the next one.
    private func pingPong(_ limit: Int, rounds: Int) throws -> (Hub, ScriptedPlugin) {
        let hub = Hub(configuration: .init(reentrancyLimit: limit))
        for (name, takes, sends) in [("Ping", "ping", "pong"), ("Pong", "pong", "ping")] {
            let next = try Message(sends)
            hub.register(
                Policy(name: name, send: .init(commands: [sends]), receive: .init(commands: [takes])),
                .init(onCommand: { [journal] plugin, _, _ in
                    journal.note(name)
                    if journal.entries.count < rounds { try plugin.send(command: next) }
                }))
        }
        #expect(hub.start().findings.isEmpty)
        return (hub, try hub.scripted("Ping"))
    }

    @Test func `handlers may send messages, up to the limit of nested calls`() throws {
        let (hub, ping) = try pingPong(10, rounds: 10)
        try ping.send(command: "pong")
        #expect(journal.entries.count == 10)
        withExtendedLifetime(hub) {}
    }

    @Test func `a cycle ends at the limit, and the hub continues to work`() throws {
        let (hub, ping) = try pingPong(10, rounds: .max)
        let error = #expect(throws: PluginError.self) { try ping.send(command: "pong") }
        #expect(error?.code == .reentrancyLimit)
        #expect(journal.entries.count == 10)
        #expect(throws: PluginError(.reentrancyLimit, "")) { try ping.send(command: "pong") }
        #expect(journal.entries.count == 20)
        withExtendedLifetime(hub) {}
    }

    @Test func `a cycle through an event ends at the limit too`() throws {
        let hub = Hub(configuration: .init(reentrancyLimit: 10))
        let subject = EventSubject()
        hub.register(
            Policy(name: "Source", receive: .init(commands: ["next"]), publish: ["a"]),
            .init(onCommand: { _, _, _ in subject.send(.number(1)) }, onEvent: { _, _, _ in subject.publisher }))
        hub.register(
            Policy(name: "Reader", send: .init(commands: ["next"]), subscribeAtAppLaunch: ["a"]),
            .init(onLaunch: { [journal] plugin, _, publisher in
                plugin.messageSender.context?.keep(
                    publisher.sink { _ in
                        journal.note("event")
                        do {
                            try plugin.send(command: "next")
                        } catch {
                            journal.note("\((error as? PluginError)?.code.rawValue ?? "")")
                        }
                    })
            }))
        hub.start()
        try hub.scripted("Reader").send(command: "next")
        #expect(journal.entries == Array(repeating: "event", count: 10) + ["reentrancyLimit"])
    }

    @Test func `a task that a handler starts does not count as a nested call`() async throws {
        let hub = Hub(configuration: .init(reentrancyLimit: 1))
        let (steps, signal) = AsyncStream.makeStream(of: Int.self)
        let count = Journal<Int>()
        hub.register(
            Policy(name: "Self", send: .init(commands: ["a"]), receive: .init(commands: ["a"])),
            .init(onCommand: { plugin, _, _ in
                count.note(1)
                signal.yield(count.entries.count)
                guard count.entries.count < 5 else { return signal.finish() }
                plugin.messageSender.context?.run {
                    #expect(throws: Never.self) { try plugin.send(command: "a") }
                }
            }))
        hub.start()
        try hub.scripted("Self").send(command: "a")
        var seen: [Int] = []
        for await step in steps { seen.append(step) }
        #expect(seen == [1, 2, 3, 4, 5])
        await hub.stop()
    }

    @Test func `a limit below one counts as one`() {
        #expect(Hub.Configuration(reentrancyLimit: -3).reentrancyLimit == 1)
    }
}
