import PluginHub
import Testing

/// Two concurrent commands whose events are interleaved.
@Suite struct InterleavingTests {
    @Test func `each of two concurrent commands gets its own events in order`() async throws {
        let hub = Hub()
        let progress = EventSubject()
        let pending = Journal<(id: MessageID?, continuation: AsyncStream<Int>.Continuation)>()
        hub.register(Policy(name: "Journey", send: .init(commands: ["load"]), subscribe: ["load.progress"]))
        hub.register(
            Policy(name: "Model", receive: .init(commands: ["load"]), publish: ["load.progress"]),
            .init(
                onCommand: { plugin, command, _ in
                    let (steps, continuation) = AsyncStream.makeStream(of: Int.self)
                    pending.note((command.id, continuation))
                    plugin.messageSender.context?.run {
                        for await step in steps { progress.send(.number(step, command.id)) }
                        progress.send(.failure(CancellationError(), correlationId: command.id))
                    }
                }, onEvent: { _, _, _ in progress.publisher }))
        #expect(hub.start().findings.isEmpty)
        let journey = try hub.scripted("Journey")
        let publisher = try journey.events("load.progress")
        let all = publisher.values()
        let ids: [MessageID] = ["abc", "def"]
        let own = ids.map { publisher.filter(correlationId: $0).values() }
        for id in ids { try journey.send(command: Message("load", id: id)) }

        var arrivals = all.makeAsyncIterator()
        var order: [String] = []
        // The next event is sent after the previous one has arrived, so that the order is fixed.
        for (index, step) in [(1, 1), (0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (1, nil), (0, 4), (0, nil)]
            as [(Int, Int?)]
        {
            let continuation = try #require(pending.entries.first { $0.id == ids[index] }).continuation
            if let step { continuation.yield(step) } else { continuation.finish() }
            let output = try #require(await arrivals.next())
            order.append("\(output.correlationId?.text ?? "-") \(output.number)")
        }
        #expect(
            order == ["def 1", "abc 1", "abc 2", "def 2", "abc 3", "def 3", "def -1", "abc 4", "abc -1"])
        // Stopping the hub ends subscriptions, so all events are read before.
        var iterators: [any AsyncIteratorProtocol] = []
        for (values, expected) in zip(own, [[1, 2, 3, 4, -1], [1, 2, 3, -1]]) {
            var iterator = values.makeAsyncIterator()
            for number in expected { #expect(await iterator.next()?.number == number) }
            iterators.append(iterator)
        }
        await hub.stop()
        for var iterator in iterators { #expect(try await iterator.next() == nil) }
    }
}
