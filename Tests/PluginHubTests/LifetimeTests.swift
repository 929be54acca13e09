import Foundation
import PluginHub
import Primitives
import Testing

@Suite struct LifetimeTests {
    private let journal = Journal<String>()

    /// Returns work that records its begin, waits until it is cancelled, and then records its end.
    private func untilCancelled(_ name: String) -> @Sendable () async -> Void {
        { [journal] in
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
            journal.note("\(name) begins")
            await withTaskCancellationHandler {
                for await _ in stream {}
            } onCancel: {
                continuation.finish()
            }
            journal.note("\(name) ends")
        }
    }

    @Test func `deregistering cancels the work a command started and waits for it`() async throws {
        let hub = Hub()
        let work = untilCancelled("work")
        hub.register(.sending("Client", .command, "start"))
        hub.register(
            .taking("Worker", .command, "start"),
            .init(onCommand: { plugin, _, _ in plugin.messageSender.context?.run(work) }))
        hub.start()
        let client = try hub.scripted("Client")
        try client.send(command: "start")
        try client.send(command: "start")
        await hub.deregister("Worker")
        #expect(journal.entries.filter { $0 == "work begins" }.count == 2)
        #expect(journal.entries.filter { $0 == "work ends" }.count == 2)
        #expect(hub.plugin(named: "Worker") == nil)
        #expect(throws: PluginError(.noReceiver, "")) { try client.send(command: "start") }
        #expect(hub.report.running == ["Client"])
        #expect(hub.report.findings.map(\.code) == [.noReceiver])
        #expect(!hub.report.hasErrors)
    }

    @Test func `a call that is running when its receiver leaves returns its answer`() async throws {
        let hub = Hub()
        hub.register(.sending("Client", .query, "slow"))
        let subject = EventSubject()
        let (entered, enter) = AsyncStream.makeStream(of: Void.self)
        let gate = DispatchSemaphore(value: 0)
        hub.register(
            Policy(name: "Server", receive: .init(queries: ["slow"]), publish: ["late"]),
            .init(
                onQuery: { plugin, _, _ in
                    enter.finish()
                    gate.wait()
                    // The plugin has left. It can still answer this call, but can neither send nor start work.
                    subject.send(.number(1))
                    do {
                        try plugin.send(command: "any")
                    } catch let error as PluginError {
                        return [
                            "sending": .string(error.code.rawValue),
                            "runs": .bool(plugin.messageSender.context?.run {} ?? false),
                        ]
                    }
                    return [:]
                }, onEvent: { _, _, _ in subject.publisher }))
        hub.register(Policy(name: "Reader", subscribe: ["late"]))
        hub.start()
        let client = try hub.scripted("Client")
        let outputs = try hub.scripted("Reader").events("late").values()
        let answer = Journal<JSONObject>()
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        Thread {
            answer.note((try? client.query("slow")) ?? ["failed": true])
            end.finish()
        }.start()
        for await _ in entered {}
        await hub.deregister("Server")
        #expect(throws: PluginError(.noReceiver, "")) { _ = try client.query("slow") }
        #expect(answer.entries.isEmpty)
        gate.signal()
        for await _ in ended {}
        #expect(answer.entries == [["sending": "unknownPlugin", "runs": false]])
        for await _ in outputs { Issue.record("received an output of a plugin that has left") }
    }

    @Test func `work is refused once the plugin has left`() async throws {
        let hub = Hub()
        hub.register(Policy(name: "One"))
        hub.start()
        let context = try #require(try hub.scripted("One").messageSender.context)
        #expect(context.run {})
        await hub.deregister("One")
        let ran = context.run { [journal] in journal.note("ran") }
        #expect(!ran)
        #expect(journal.entries.isEmpty)
    }

    @Test func `work given in the initialiser begins when the plugin runs, and never if the plugin is refused`()
        async throws
    {
        let hub = Hub()
        for name in ["One", "One"] {
            let (started, signal) = AsyncStream.makeStream(of: Void.self)
            starts.note((started, signal))
            hub.register { [journal] sender, _ in
                sender.context?.run {
                    journal.note("work of \(name)")
                    signal.finish()
                }
                return ScriptedPlugin(Policy(name: name), sender)
            }
        }
        hub.register { [journal] sender, _ in
            journal.note("all made")
            return ScriptedPlugin(Policy(name: "Last"), sender)
        }
        hub.start()
        for await _ in starts.entries[0].0 {}
        await hub.stop()
        #expect(journal.entries == ["all made", "work of One"])
    }

    private let starts = Journal<(AsyncStream<Void>, AsyncStream<Void>.Continuation)>()

    @Test func `a plugin's own work can deregister it`() async throws {
        let hub = Hub()
        hub.register(Policy(name: "One"))
        hub.start()
        let context = try #require(try hub.scripted("One").messageSender.context)
        let (done, signal) = AsyncStream.makeStream(of: Void.self)
        context.run { [journal] in
            await hub.deregister("One")
            journal.note("left")
            signal.finish()
        }
        for await _ in done {}
        #expect(journal.entries == ["left"])
        #expect(hub.report.running.isEmpty)
    }

    @Test func `when a plugin leaves, its subscriptions and those to its events end`() async throws {
        let hub = Hub()
        let subject = EventSubject()
        hub.register(.taking("Source", .event, "a"), .init(onEvent: { _, _, _ in subject.publisher }))
        hub.register(.sending("One", .event, "a"))
        hub.register(.sending("Two", .event, "a"))
        hub.start()
        var subscriptions: [EventSubscription] = []
        for name in ["One", "Two"] {
            let publisher = try hub.scripted(name).events("a")
            subscriptions.append(
                publisher.sink(finished: { [journal] in journal.note("\(name) finished") }) { [journal] in
                    journal.note("\(name) \($0.number)")
                })
        }
        subject.send(.number(1))
        await hub.deregister("One")
        subject.send(.number(2))
        await hub.deregister("Source")
        subject.send(.number(3))
        #expect(journal.entries == ["One 1", "Two 1", "One finished", "Two 2", "Two finished"])
        #expect(!subject.isObserved)
    }

    @Test func `a publisher that a removed plugin keeps has finished`() async throws {
        let hub = Hub()
        let subject = EventSubject()
        hub.register(.taking("Source", .event, "a"), .init(onEvent: { _, _, _ in subject.publisher }))
        hub.register(.sending("One", .event, "a"))
        hub.start()
        let publisher = try hub.scripted("One").events("a")
        await hub.deregister("One")
        let subscription = publisher.sink(finished: { [journal] in journal.note("finished") }) { [journal] in
            journal.note("\($0.number)")
        }
        subject.send(.number(1))
        #expect(journal.entries == ["finished"])
        withExtendedLifetime(subscription) {}
    }

    @Test func `kept subscriptions end with the plugin, or at once if the plugin has already left`() async throws {
        let hub = Hub()
        let subject = EventSubject()
        hub.register(Policy(name: "One"))
        hub.start()
        let context = try #require(try hub.scripted("One").messageSender.context)
        context.keep(subject.publisher.sink { [journal] in journal.note("\($0.number)") })
        subject.send(.number(1))
        await hub.deregister("One")
        subject.send(.number(2))
        context.keep(subject.publisher.sink { [journal] in journal.note("\($0.number)") })
        subject.send(.number(3))
        #expect(journal.entries == ["1"])
    }

    @Test func `a name and its messages are free again once a plugin has left`() async throws {
        let hub = Hub()
        hub.register(.sending("Client", .command, "a"))
        hub.register(.taking("Server", .command, "a"), answering(Journal()))
        hub.start()
        await hub.deregister("Server")
        hub.register(.taking("Server", .command, "a"), answering(journal))
        try hub.scripted("Client").send(command: "a")
        #expect(hub.report.findings.isEmpty)
        #expect(journal.entries == ["Server command a"])
    }

    @Test func `stopping ends everything, and the hub can start anew`() async throws {
        let hub = Hub()
        hub.register(Policy(name: "One"))
        hub.register(Policy(name: "Two"))
        hub.start()
        weak let plugin = try hub.scripted("One")
        try hub.scripted("Two").messageSender.context?.run(untilCancelled("work"))
        await hub.stop()
        #expect(journal.entries == ["work begins", "work ends"])
        #expect(plugin == nil)
        #expect(hub.report.running.isEmpty)
        await hub.deregister("One")
        hub.register(Policy(name: "One"))
        #expect(hub.report.running.isEmpty)
        #expect(hub.start().running == ["One"])
    }
}
