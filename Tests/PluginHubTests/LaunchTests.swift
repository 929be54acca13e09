import PluginHub
import Testing

@Suite struct LaunchTests {
    private let journal = Journal<String>()

    private func noting(_ name: String, _ subject: EventSubject = EventSubject()) -> ScriptedPlugin.Script {
        .init(
            onEvent: { [journal] plugin, event, payload in
                journal.note(
                    "\(plugin.policy.name) publishes \(event.name) \(payload == nil ? "without payload" : "")")
                return subject.publisher
            },
            onLaunch: { [journal] plugin, event, publisher in
                journal.note("\(plugin.policy.name) subscribes to \(event.name)")
                plugin.messageSender.context?.keep(
                    publisher.sink { journal.note("\(plugin.policy.name) got \($0.number)") })
            })
    }

    @Test func `all plugins are created before the first publisher is passed on, in the order of registration`() {
        let hub = Hub()
        for name in ["One", "Two"] {
            let journal = journal
            let script = noting(name)
            hub.register { sender, _ in
                journal.note("\(name) made")
                return ScriptedPlugin(Policy(name: name, subscribeAtAppLaunch: ["b", "a"]), sender, script)
            }
        }
        let script = noting("Three")
        hub.register { [journal] sender, _ in
            journal.note("Three made")
            return ScriptedPlugin(Policy(name: "Three", publish: ["a", "b"]), sender, script)
        }
        #expect(hub.start().findings.isEmpty)
        let publishes = "without payload"
        #expect(
            journal.entries == [
                "One made", "Two made", "Three made",
                "Three publishes b \(publishes)", "One subscribes to b",
                "Three publishes a \(publishes)", "One subscribes to a",
                "Three publishes b \(publishes)", "Two subscribes to b",
                "Three publishes a \(publishes)", "Two subscribes to a",
            ])
    }

    @Test func `an event of several publishers is passed on once, merged`() {
        let hub = Hub()
        let first = EventSubject()
        let second = EventSubject()
        hub.register(Policy(name: "One", publish: ["a"]), .init(onEvent: { _, _, _ in first.publisher }))
        hub.register(Policy(name: "Two", publish: ["a"]), .init(onEvent: { _, _, _ in second.publisher }))
        hub.register(Policy(name: "Three", subscribeAtAppLaunch: ["a"]), noting("Three"))
        hub.start()
        first.send(.number(1))
        second.send(.number(2))
        first.send(.number(3))
        #expect(journal.entries == ["Three subscribes to a", "Three got 1", "Three got 2", "Three got 3"])
    }

    @Test func `a publisher that throws is reported, and the other subscriptions continue`() throws {
        struct Own: Error {}
        let hub = Hub()
        hub.register(Policy(name: "Bad", publish: ["a", "b"]), .init(onEvent: { _, _, _ in throw Own() }))
        hub.register(Policy(name: "Good", publish: ["b"]), noting("Good"))
        hub.register(Policy(name: "Reader", subscribeAtAppLaunch: ["a", "b"]), noting("Reader"))
        let report = hub.start()
        #expect(report.running == ["Bad", "Good", "Reader"])
        #expect(report.findings.map(\.severity) == [.warning, .warning])
        #expect(report.findings.map(\.code) == [.handlerFailed, .handlerFailed])
        #expect(report.findings.map(\.plugin) == ["Bad", "Bad"])
        #expect(report.findings.map(\.message) == ["a", "b"])
        #expect(journal.entries.filter { $0.hasPrefix("Reader") } == ["Reader subscribes to b"])
    }

    @Test func `subscribing at launch includes the permission to subscribe later`() throws {
        let hub = Hub()
        hub.register(Policy(name: "Source", publish: ["a"]), noting("Source"))
        hub.register(Policy(name: "Reader", subscribeAtAppLaunch: ["a"]))
        hub.start()
        _ = try hub.scripted("Reader").events("a")
    }

    @Test func `a plugin that joins later is connected with the running ones in both directions`() {
        let hub = Hub(configuration: .init(isPartialSet: true))
        let early = EventSubject()
        let late = EventSubject()
        hub.register(Policy(name: "Early", subscribeAtAppLaunch: ["a"]), noting("Early"))
        hub.register(Policy(name: "Source", publish: ["a"]), noting("Source", early))
        hub.start()
        hub.register(Policy(name: "Late", publish: ["a"], subscribeAtAppLaunch: ["a"]), noting("Late", late))
        early.send(.number(1))
        late.send(.number(2))
        let got = journal.entries.filter { $0.contains("got") }
        #expect(got == ["Early got 1", "Late got 1", "Early got 2", "Late got 2"])
    }

    @Test func `plugins can send while the publishers are passed on`() {
        let hub = Hub()
        let journal = journal
        hub.register(
            Policy(name: "Reader", send: .init(commands: ["do"]), subscribeAtAppLaunch: ["a"]),
            .init(onLaunch: { plugin, _, _ in
                #expect(throws: Never.self) { try plugin.send(command: "do") }
            }))
        hub.register(
            Policy(name: "Source", receive: .init(commands: ["do"]), publish: ["a"]),
            .init(
                onCommand: { _, command, _ in journal.note(command.name) },
                onEvent: { _, _, _ in EventSubject().publisher }))
        hub.start()
        #expect(journal.entries == ["do"])
    }
}
