import BaseTestSupport
import Testing

@testable import CurlTransport

/// The order of transfers, compared with a simple rule: the first added transfer that fits both limits starts next.
@Suite struct TransferQueueTests {
    private final class Exchange {
        let origin: String
        init(_ origin: String) { self.origin = origin }
    }

    @Test func `the first added transfers begin first, and the end of one makes room for the next`() {
        var queue = TransferQueue<Exchange>(limit: 3, limitOfOrigin: 2)
        let exchanges = ["a", "a", "a", "b", "b"].map(Exchange.init)
        for exchange in exchanges { queue.add(exchange, to: exchange.origin) }
        #expect(queue.next() === exchanges[0])
        #expect(queue.next() === exchanges[1])
        #expect(queue.next() === exchanges[3], "two transfers to a have begun")
        #expect(queue.next() == nil, "three transfers have begun")
        queue.ended(to: "b")
        #expect(queue.next() === exchanges[4])
        queue.ended(to: "a")
        #expect(queue.next() === exchanges[2])
        #expect(queue.waiting.isEmpty)
    }

    @Test(arguments: 1...20)
    func `no transfer is lost when transfers are added, ended and removed`(seed: UInt64) {
        var numbers = SeededNumbers(state: seed)
        let (limit, limitOfOrigin) = (Int.random(in: 1...6, using: &numbers), Int.random(in: 1...4, using: &numbers))
        var queue = TransferQueue<Exchange>(limit: limit, limitOfOrigin: limitOfOrigin)
        var (waiting, active): ([Exchange], [Exchange]) = ([], [])
        for _ in 0..<500 {
            switch Int.random(in: 0..<4, using: &numbers) {
            case 0, 1:
                let exchange = Exchange(["a", "b", "c"].randomElement(using: &numbers) ?? "")
                queue.add(exchange, to: exchange.origin)
                waiting.append(exchange)
            case 2:
                guard let ended = active.indices.randomElement(using: &numbers) else { continue }
                queue.ended(to: active.remove(at: ended).origin)
            default:
                guard let one = (waiting + active).randomElement(using: &numbers) else { continue }
                #expect(queue.remove(one, to: one.origin) == waiting.contains { $0 === one })
                waiting.removeAll { $0 === one }
            }
            while let next = queue.next() {
                active.append(next)
                let first = waiting.removeFirst { one in
                    active.dropLast().count { $0.origin == one.origin } < limitOfOrigin
                }
                #expect(next === first)
            }
            #expect(active.count <= limit)
            let mayBegin =
                active.count < limit
                && waiting.contains { one in
                    active.count { $0.origin == one.origin } < limitOfOrigin
                }
            #expect(!mayBegin)
            #expect(queue.waiting.count == waiting.count)
        }
    }
}

extension Array {
    /// Removes the first element that satisfies the predicate.
    fileprivate mutating func removeFirst(where isMeant: (Element) -> Bool) -> Element? {
        firstIndex(where: isMeant).map { remove(at: $0) }
    }
}

extension TransferQueue {
    fileprivate var waiting: [Element] {
        var found: [Element] = []
        forEach { found.append($0) }
        return found
    }
}
