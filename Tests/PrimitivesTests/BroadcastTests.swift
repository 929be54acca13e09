import Foundation
import Primitives
import Testing

@Suite struct BroadcastTests {
    @Test func `every reader gets every value in order`() async {
        let broadcast = Broadcast<Int>()
        let streams = (0..<3).map { _ in broadcast.stream() }
        for value in 0..<10 { broadcast.send(value) }
        broadcast.finish()
        for stream in streams {
            var seen: [Int] = []
            for await value in stream { seen.append(value) }
            #expect(seen == Array(0..<10))
        }
    }

    @Test func `with replaysLast, a new reader first gets the last value`() async {
        let broadcast = Broadcast<Int>(replaysLast: true)
        broadcast.send(1)
        broadcast.send(2)
        var reader = broadcast.stream().makeAsyncIterator()
        broadcast.send(3)
        #expect(await reader.next() == 2)
        #expect(await reader.next() == 3)
    }

    @Test func `a slow reader gets the newest values, and a reader after the end gets none`() async {
        let broadcast = Broadcast<Int>()
        let slow = broadcast.stream(keeping: 2)
        for value in 0..<5 { broadcast.send(value) }
        broadcast.finish()
        var seen: [Int] = []
        for await value in slow { seen.append(value) }
        #expect(seen == [3, 4])
        for await _ in broadcast.stream() { Issue.record("a finished broadcast sent a value") }
    }

    /// Resuming a task and cancelling it both take the runtime's lock of that task. A broadcast that held its own lock
    /// during one call and needed it in the other would deadlock. The senders have their own threads, because they never
    /// wait and would block tasks.
    @Test(.timeLimit(.minutes(2))) func `readers that are cancelled during a send do not stop it`() async {
        let broadcast = Broadcast<Int>(replaysLast: true)
        broadcast.send(0)
        let isOver = OneWayFlag()
        for _ in 0..<2 { Thread.detachNewThread { while !isOver.isSet { broadcast.send(1) } } }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<3000 {
                        let (begun, beginning) = AsyncStream.makeStream(of: Never.self)
                        let reader = Task { for await _ in broadcast.stream(keeping: 1) { beginning.finish() } }
                        for await _ in begun {}
                        reader.cancel()
                        await reader.value
                    }
                }
            }
        }
        isOver.set()
    }

    @Test func `with many concurrent senders, all readers see one order, which keeps each sender's order`() async {
        let broadcast = Broadcast<[Int]>()
        let streams = (0..<3).map { _ in broadcast.stream(keeping: 10_000) }
        await withTaskGroup(of: Void.self) { group in
            for sender in 0..<4 {
                group.addTask { for number in 0..<500 { broadcast.send([sender, number]) } }
            }
        }
        broadcast.finish()
        var seen: [[[Int]]] = []
        for stream in streams {
            var values: [[Int]] = []
            for await value in stream { values.append(value) }
            seen.append(values)
        }
        #expect(seen.allSatisfy { $0 == seen[0] } && seen[0].count == 2000)
        for sender in 0..<4 {
            #expect(seen[0].filter { $0[0] == sender }.map { $0[1] } == Array(0..<500))
        }
    }
}
