import PluginHub
import Primitives
import Testing

@Suite struct TraceTests {
    /// A clock whose readings are one second apart.
    private final class Ticks: Sendable {
        private let count = Locked(0)
        var readings: Int { count.withLock { $0 } }
        func read() -> Duration {
            .seconds(
                count.withLock { count in
                    count += 1
                    return count
                })
        }
    }

    private let ticks = Ticks()

    private func hub() throws -> (Hub, ScriptedPlugin) {
        let ticks = ticks
        let hub = Hub(configuration: .init(reentrancyLimit: 2, isPartialSet: true, elapsed: { ticks.read() }))
        hub.register(
            Policy(name: "Client", send: .init(commands: ["a", "b", "lost"], queries: ["q"]), subscribe: ["e"]))
        hub.register(
            Policy(name: "Server", receive: .init(commands: ["a", "b"], queries: ["q"]), publish: ["e"]),
            .init(
                onCommand: { _, command, payload in
                    if command.name == "b" { _ = try payload.require("field", as: Int.self) }
                },
                onEvent: { _, _, _ in .empty }))
        hub.register(Policy(name: "Broken", publish: ["e"]))
        hub.start()
        return (hub, try hub.scripted("Client"))
    }

    @Test func `every entry has the plugins, the message, the verdict, the reason and the duration`() async throws {
        let (hub, client) = try hub()
        let values = hub.trace.values()
        try client.send(command: Message("a", id: "x"))
        try? client.send(command: "b")
        try? client.send(command: "lost")
        try? client.send(command: "not mine")
        _ = try? client.query("q")
        _ = try client.events("e")
        try? client.messageSender.send(command: "a", payload: nil, sender: hub.scripted("Server"))
        await hub.deregister("Client")
        try? client.send(command: "a")
        values.cancel()
        var entries: [TraceEntry] = []
        for await entry in values { entries.append(entry) }
        let table = entries.map { entry in
            "\(entry.sender ?? "-") \(entry.kind) \(entry.message) → \(entry.receivers) \(entry.verdict) \(entry.reason?.code.rawValue ?? "-")"
        }
        #expect(
            table == [
                #"Client command a#x → ["Server"] delivered -"#,
                #"Client command b → ["Server"] failed missingField"#,
                #"Client command lost → [] refused noReceiver"#,
                #"Client command not mine → [] refused notAllowed"#,
                #"Client query q → ["Server"] failed unsupportedMessage"#,
                #"Client event e → ["Broken"] failed unsupportedMessage"#,
                #"Client event e → ["Server", "Broken"] subscribed -"#,
                #"Client command a → [] refused senderMismatch"#,
                #"Client command a → [] refused unknownPlugin"#,
            ])
        #expect(entries[0].duration == .seconds(1))
        #expect(entries[0].began < entries[1].began)
    }

    @Test func `launch subscriptions are traced`() async {
        let hub = Hub()
        hub.register(Policy(name: "Source", publish: ["e"]), .init(onEvent: { _, _, _ in .empty }))
        hub.register(Policy(name: "Reader", subscribeAtAppLaunch: ["e"]))
        let values = hub.trace.values()
        hub.start()
        values.cancel()
        var entries: [TraceEntry] = []
        for await entry in values { entries.append(entry) }
        #expect(entries.map(\.sender) == ["Reader"])
        #expect(entries.map(\.receivers) == [["Source"]])
        #expect(entries.map(\.verdict) == [.subscribed])
    }

    @Test func `each event has an entry for each subscriber, also if it subscribed before the trace had a reader`()
        async throws
    {
        let events = EventSubject()
        let ticks = ticks
        let hub = Hub(configuration: .init(elapsed: { ticks.read() }))
        hub.register(Policy(name: "Source", publish: ["e"]), .init(onEvent: { _, _, _ in events.publisher }))
        for name in ["One", "Two"] { hub.register(Policy(name: name, subscribe: ["e"])) }
        hub.start()
        let heard = Journal<String>()
        let kept = try ["One", "Two"].map { name in
            try hub.scripted(name).events("e").sink { _ in heard.note(name) }
        }
        events.send(.success([:], correlationId: "early"))
        #expect(ticks.readings == 0, "nothing is measured without readers")
        let values = hub.trace.values()
        events.send(.success([:], correlationId: "x"))
        kept[0].cancel()
        events.send(.failure(PluginError(.invalidField, "No.")))
        values.cancel()
        events.send(.success([:], correlationId: "late"))
        var entries: [TraceEntry] = []
        for await entry in values { entries.append(entry) }
        let table = entries.map { "\($0.sender ?? "-") \($0.kind) \($0.message) → \($0.receivers) \($0.verdict)" }
        #expect(
            table == [
                #"Source event e#x → ["One"] delivered"#, #"Source event e#x → ["Two"] delivered"#,
                #"Source event e → ["Two"] delivered"#,
            ])
        #expect(entries.allSatisfy { $0.duration == .seconds(1) && $0.reason == nil })
        #expect(heard.entries == ["One", "Two", "One", "Two", "Two", "Two"])
        withExtendedLifetime(kept) {}
    }

    @Test func `an event that a plugin publishes again has an entry for both subscriptions`() async throws {
        let events = EventSubject()
        let hub = Hub()
        hub.register(
            Policy(name: "Source", publish: ["e"]), .init(onEvent: { _, _, _ in events.publisher.map { $0 } }))
        hub.register(
            Policy(name: "Relay", publish: ["again"], subscribe: ["e"]),
            .init(onEvent: { relay, _, _ in try relay.events("e") }))
        hub.register(Policy(name: "Client", subscribe: ["again"]))
        hub.start()
        let heard = Journal<String>()
        let subscription = try hub.scripted("Client").events("again").sink { _ in heard.note("again") }
        let values = hub.trace.values()
        events.send(.success([:], correlationId: "x"))
        values.cancel()
        var lines: Set<String> = []
        for await entry in values {
            lines.insert("\(entry.sender ?? "-") \(entry.message) → \(entry.receivers) \(entry.verdict)")
        }
        #expect(lines == [#"Source e#x → ["Relay"] delivered"#, #"Relay again#x → ["Client"] delivered"#])
        #expect(heard.entries == ["again"])
        withExtendedLifetime(subscription) {}
    }

    @Test func `without readers nothing is measured`() throws {
        let (hub, client) = try hub()
        try client.send(command: "a")
        try? client.send(command: "b")
        try? client.send(command: "not mine")
        #expect(ticks.readings == 0)
        do {
            let values = hub.trace.values()
            try client.send(command: "a")
            #expect(ticks.readings == 2)
            values.cancel()
        }
        try client.send(command: "a")
        #expect(ticks.readings == 2)
    }

    @Test(arguments: [(0, false), (10, false), (11, true)])
    func `only queries and view queries over the budget are marked`(seconds: Int, isOver: Bool) async throws {
        let clock = Locked(Duration.zero)
        let configuration = Hub.Configuration(
            queryBudget: .seconds(10), elapsed: { clock.withLock { $0 } })
        let hub = Hub(configuration: configuration)
        let work: @Sendable () -> Void = { clock.withLock { $0 += .seconds(seconds) } }
        for (kind, name) in zip(MessageKind.allCases, ["c", "q", "v", "e"]) {
            hub.register(.sending("Client \(name)", kind, name))
            hub.register(
                .taking("Server \(name)", kind, name),
                .init(
                    onCommand: { _, _, _ in work() },
                    onQuery: { _, _, payload in
                        work()
                        if payload != nil { throw PluginError(.invalidField, "No.") }
                        return [:]
                    },
                    onViewQuery: { _, _, _ in
                        work()
                        return ViewDocument(title: "")
                    },
                    onEvent: { _, _, _ in
                        work()
                        return .empty
                    }))
        }
        #expect(hub.start().findings.isEmpty)
        let values = hub.trace.values()
        for (kind, name) in zip(MessageKind.allCases, ["c", "q", "v", "e"]) {
            try hub.scripted("Client \(name)").sendMessage(kind, Message(name))
        }
        _ = try? hub.scripted("Client q").query("q", [:])
        values.cancel()
        var marked: [MessageKind] = []
        for await entry in values {
            #expect(entry.duration == .seconds(seconds))
            if entry.isOverBudget { marked.append(entry.kind) }
        }
        #expect(marked == (isOver ? [.query, .viewQuery, .query] : []))
    }

    @Test func `a second reader keeps the trace going when the first leaves`() throws {
        let (hub, client) = try hub()
        let first = hub.trace.values()
        let second = hub.trace.values(.oldest(1))
        first.cancel()
        try client.send(command: "a")
        try client.send(command: "a")
        #expect(second.droppedCount == 1)
        second.cancel()
    }

    @Test func `a call that has returned is in the trace, whatever other threads send`() async throws {
        let (hub, client) = try hub()
        let server = try hub.scripted("Server")
        let isOver = Locked(false)
        let others = (0..<3).map { _ in
            Task { while !isOver.withLock(\.self) { try? server.send(command: "not mine") } }
        }
        for round in 0..<2000 {
            let values = hub.trace.values(.unbounded)
            let id = try MessageID("\(round)")
            try? client.send(command: Message("lost", id: id))
            values.cancel()
            var found = false
            for await entry in values where entry.message.id == id { found = true }
            #expect(found, "round \(round)")
        }
        isOver.withLock { $0 = true }
        for other in others { await other.value }
    }

    @Test func `the trace ends with the hub`() async throws {
        var hub: Hub? = Hub()
        let values = try #require(hub).trace.values()
        let trace = try #require(hub).trace
        hub = nil
        for await _ in values { Issue.record("an entry came") }
        for await _ in trace { Issue.record("an entry came") }
    }
}
