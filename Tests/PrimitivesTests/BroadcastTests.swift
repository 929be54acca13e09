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

    @Test func `a new reader first gets the last value where that is wanted`() async {
        let broadcast = Broadcast<Int>(replaysLast: true)
        broadcast.send(1)
        broadcast.send(2)
        var reader = broadcast.stream().makeAsyncIterator()
        broadcast.send(3)
        #expect(await reader.next() == 2)
        #expect(await reader.next() == 3)
    }

    @Test func `a slow reader keeps the newest and a late one ends at once`() async {
        let broadcast = Broadcast<Int>()
        let slow = broadcast.stream(keeping: 2)
        for value in 0..<5 { broadcast.send(value) }
        broadcast.finish()
        var seen: [Int] = []
        for await value in slow { seen.append(value) }
        #expect(seen == [3, 4])
        for await _ in broadcast.stream() { Issue.record("a finished broadcast has nothing to say") }
    }
}
