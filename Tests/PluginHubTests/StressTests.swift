import BaseTestSupport
import Foundation
import PluginHub
import Primitives
import Testing

/// Calls from many threads, mainly for Thread Sanitizer.
@Suite struct StressTests {
    private let threads = 4

    @Test func `calls from many threads all arrive while plugins come and go`() async throws {
        let hub = Hub(configuration: .init(isPartialSet: true))
        let received = Locked(0)
        let subject = EventSubject()
        hub.register(
            Policy(name: "Server", receive: .init(commands: ["do"], queries: ["read"]), publish: ["done"]),
            .init(
                onCommand: { _, command, _ in
                    received.withLock { $0 += 1 }
                    subject.send(.success([:], correlationId: command.id))
                }, onQuery: { _, _, _ in [:] }, onEvent: { _, _, _ in subject.publisher }))
        for index in 0..<threads {
            hub.register(
                Policy(
                    name: "Client\(index)", send: .init(commands: ["do"], queries: ["read", "sometimes"]),
                    subscribe: ["done"]))
        }
        hub.start()
        let clients = try (0..<threads).map { try hub.scripted("Client\($0)") }
        let answers = Locked([Int](repeating: 0, count: threads))
        let rounds = 300
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for _ in 0..<50 {
                    hub.register(.taking("Guest", .query, "sometimes"), .init(onQuery: { _, _, _ in ["guest": true] }))
                    await hub.deregister("Guest")
                    hub.trace.values(.newest(4)).cancel()
                    _ = hub.report
                }
            }
            group.addTask {
                DispatchQueue.concurrentPerform(iterations: clients.count) { index in
                    let client = clients[index]
                    for round in 0..<rounds {
                        do {
                            let id = try MessageID("\(index).\(round)")
                            let subscription = try client.events("done").filter(correlationId: id).sink {
                                _ in answers.withLock { $0[index] += 1 }
                            }
                            try client.send(command: Message("do", id: id))
                            _ = try client.query("read")
                            do {
                                #expect(try client.query("sometimes") == ["guest": true])
                            } catch let error as PluginError {
                                #expect(error.code == .noReceiver)
                            }
                            withExtendedLifetime(subscription) {}
                        } catch {
                            Issue.record(error)
                        }
                    }
                }
            }
        }
        #expect(received.withLock { $0 } == threads * rounds)
        // An answer that waits for another thread's delivery can be cancelled.
        #expect(answers.withLock { $0 }.allSatisfy { $0 <= rounds })
        #expect(hub.report.running.count == threads + 1)
        await hub.stop()
        #expect(!subject.isObserved)
    }

    @Test func `a subscriber gets every output while other threads subscribe, send and cancel`() {
        let subject = EventSubject(current: .number(0))
        let counts = Locked(0)
        let stays = subject.publisher.sink { output in
            if output.number > 0 { counts.withLock { $0 += 1 } }
        }
        let rounds = 500
        DispatchQueue.concurrentPerform(iterations: threads) { index in
            for round in 1...rounds {
                if index.isMultiple(of: 2) {
                    subject.send(.number(round))
                } else {
                    let firsts = Locked(0)
                    let subscription = subject.publisher.sink { _ in firsts.withLock { $0 += 1 } }
                    subscription.cancel()
                }
            }
        }
        // All deliveries on other threads have returned by now.
        #expect(counts.withLock { $0 } == threads / 2 * rounds)
        stays.cancel()
        #expect(!subject.isObserved)
    }

    @Test func `work that is started on many threads while its plugin leaves is refused, or runs to its end`()
        async throws
    {
        for _ in 0..<20 {
            let hub = Hub()
            hub.register(Policy(name: "Worker"))
            hub.start()
            let context = try #require(try hub.scripted("Worker").messageSender.context)
            let accepted = Locked(0)
            let ended = Locked(0)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<threads {
                    group.addTask {
                        for _ in 0..<20 {
                            let isAccepted = context.run {
                                await letOthersRun()
                                ended.withLock { $0 += 1 }
                            }
                            if isAccepted { accepted.withLock { $0 += 1 } }
                        }
                    }
                }
                group.addTask { await hub.deregister("Worker") }
            }
            await hub.stop()
            #expect(ended.withLock { $0 } == accepted.withLock { $0 })
        }
    }
}
