import Foundation
import Testing

@testable import Purchases

@Suite struct MemoryCacheTests {
    private let start = Date(timeIntervalSince1970: 1_795_185_600)

    private func at(_ offset: TimeInterval) -> Date { start.addingTimeInterval(offset) }

    /// A cache that contains `a` since `start`.
    private func cache(changingAt change: TimeInterval? = nil) -> MemoryCache<String, Int> {
        var cache = MemoryCache<String, Int>()
        let ticket = cache.ticket()
        cache.store(1, to: "a", from: "here", at: start, until: change.map(at), ticket: ticket)
        return cache
    }

    @Test(
        arguments: [
            (0, nil, 60, true), (59.9, nil, 60, true), (60, nil, 60, false), (0, nil, 0, false),
            (29.9, 30, 60, true), (30, 30, 60, false), (45, 30, 60, false), (0, 0, 60, false),
            (-1, nil, 60, false), (-86_400, nil, 600_000, false),
        ] as [(TimeInterval, TimeInterval?, Int, Bool)])
    func `an answer is fresh when it is young, unchanged and not from the future`(
        age: TimeInterval, change: TimeInterval?, freshness: Int, expected: Bool
    ) {
        let found = cache(changingAt: change).fresh("a", at: at(age), for: .seconds(freshness))
        #expect((found != nil) == expected)
    }

    @Test func `another key has no answer`() {
        #expect(cache().fresh("b", at: start, for: .seconds(60)) == nil)
    }

    @Test func `the answer to an older request does not replace a newer one`() {
        var cache = MemoryCache<String, Int>()
        let (older, younger) = (cache.ticket(), cache.ticket())
        cache.store(2, to: "a", from: "there", at: at(1), until: nil, ticket: younger)
        cache.store(1, to: "a", from: "here", at: at(2), until: nil, ticket: older)
        let found = cache.fresh("a", at: at(2), for: .seconds(60))
        #expect(found?.answer == 2 && found?.address == "there" && found?.receivedAt == at(1))
    }

    @Test func `the answer to a request from before the reset is not stored`() {
        var cache = cache()
        let ticket = cache.ticket()
        cache.removeAll()
        #expect(cache.fresh("a", at: start, for: .seconds(60)) == nil)
        cache.store(2, to: "a", from: "here", at: start, until: nil, ticket: ticket)
        #expect(cache.fresh("a", at: start, for: .seconds(60)) == nil)
        cache.store(3, to: "a", from: "here", at: start, until: nil, ticket: cache.ticket())
        #expect(cache.fresh("a", at: start, for: .seconds(60))?.answer == 3)
    }

    @Test func `the oldest of too many answers is removed`() {
        var cache = MemoryCache<String, Int>(capacity: 2)
        for (number, question) in ["a", "b", "a", "c"].enumerated() {
            cache.store(number, to: question, from: "here", at: start, until: nil, ticket: cache.ticket())
        }
        #expect(["a", "b", "c"].map { cache.fresh($0, at: start, for: .seconds(1))?.answer } == [2, nil, 3])
    }
}
