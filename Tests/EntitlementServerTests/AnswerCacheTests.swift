import Foundation
import HTTPCore
import StoreModel
import Testing

@testable import EntitlementServer

@Suite(.onBothEngines) struct AnswerAfterWritesTests {
    @Test func `an answer read after many concurrent writes contains all of them`() async throws {
        let bench = try await ServerBench()
        for round in 0..<40 {
            let customer = "customer-\(round)"
            let signed = try (0..<6).map { try bench.purchase("\(round)-\($0)", product: "tools") }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<12 {
                    group.addTask { try await bench.grant("feature-\(number)", to: customer).status }
                }
                for transaction in signed { group.addTask { try await bench.post(transaction, for: customer).status } }
                for try await status in group { #expect(status == 200 || status == 201) }
            }
            let answer = try await bench.get(customer)
            #expect(answer.wasReady)
            #expect(try Set(answer.active()) == Set(["tools"] + (0..<12).map { "feature-\($0)" }))
            #expect(try answer.customer().purchases.count == 6)
            let row = try bench.database.read { connection in
                try #require(
                    try connection.first("SELECT answer FROM customer WHERE id = ?1", [.text(customer)]))
            }
            #expect(try row["answer"] == answer.bytes)
        }
        await bench.close()
    }
}

@Suite struct AnswerCacheTests {
    private let key = CustomerKey(ledgerID: LedgerID(app: ServerBench.app, environment: .sandbox), customer: "anna")

    /// The memory limit with which each shard stores one answer of these tests.
    private static let oneForEachShard = 64 * (AnswerCache.overhead + 8)

    private func answer(_ revision: Int64, at second: Double = 0) -> StoredAnswer {
        StoredAnswer(
            revision: revision, bytes: Array("\(revision)".utf8), etag: "\"\(revision)\"",
            validFrom: Date(timeIntervalSince1970: second), validUntil: nil)
    }

    @Test func `a late writer does not put an older answer back`() {
        let cache = AnswerCache(bytes: Self.oneForEachShard)
        let (first, second) = (cache.ticket(for: key), cache.ticket(for: key))
        cache.replace(answer(2), for: key, ticket: second)
        cache.replace(answer(1), for: key, ticket: first)
        #expect(cache.answer(for: key)?.revision == 2)
    }

    @Test func `a slow reader does not put an older answer back`() {
        let cache = AnswerCache(bytes: Self.oneForEachShard)
        let (reader, writer) = (cache.ticket(for: key), cache.ticket(for: key))
        cache.replace(answer(2), for: key, ticket: writer)
        cache.keep(answer(1), for: key, ticket: reader)
        #expect(cache.answer(for: key)?.revision == 2)
    }

    @Test func `of two answers with the same revision the one with the later start stays`() {
        let cache = AnswerCache(bytes: Self.oneForEachShard)
        for second in [5.0, 9, 7] { cache.replace(answer(3, at: second), for: key, ticket: cache.ticket(for: key)) }
        #expect(cache.answer(for: key)?.validFrom == Date(timeIntervalSince1970: 9))
    }

    /// Stores answers of other customers until the answer for `key` is evicted.
    private func evict(_ cache: AnswerCache) throws {
        for number in 0..<1000 {
            let other = CustomerKey(ledgerID: key.ledgerID, customer: CustomerID(unchecked: "other-\(number)"))
            cache.keep(answer(1), for: other, ticket: cache.ticket(for: other))
        }
        try #require(cache.answer(for: key) == nil)
    }

    @Test func `an older answer does not come back after the newer one was evicted`() throws {
        let cache = AnswerCache(bytes: Self.oneForEachShard)
        let (writer, reader) = (cache.ticket(for: key), cache.ticket(for: key))
        cache.replace(answer(2), for: key, ticket: cache.ticket(for: key))
        try evict(cache)
        cache.keep(answer(1), for: key, ticket: reader)
        #expect(cache.answer(for: key) == nil)
        let between = cache.ticket(for: key)
        cache.replace(answer(1), for: key, ticket: writer)
        #expect(cache.answer(for: key) == nil)
        cache.keep(answer(0), for: key, ticket: between)
        #expect(cache.answer(for: key) == nil)
        cache.keep(answer(2), for: key, ticket: cache.ticket(for: key))
        #expect(cache.answer(for: key)?.revision == 2)
    }

    @Test func `an answer of former rules is not cached after all answers were removed`() {
        let cache = AnswerCache(bytes: Self.oneForEachShard)
        let (writer, reader) = (cache.ticket(for: key), cache.ticket(for: key))
        cache.replace(answer(1), for: key, ticket: writer)
        cache.removeAll()
        #expect(cache.answer(for: key) == nil && cache.usage.bytes == 0)
        cache.keep(answer(1), for: key, ticket: reader)
        cache.replace(answer(2), for: key, ticket: writer)
        #expect(cache.answer(for: key) == nil)
        cache.replace(answer(3), for: key, ticket: cache.ticket(for: key))
        #expect(cache.answer(for: key)?.revision == 3)
    }

    @Test func `an answer from before an erasure is not cached after it`() {
        for isWriter in [true, false] {
            let cache = AnswerCache(bytes: Self.oneForEachShard)
            let before = cache.ticket(for: key)
            cache.remove(key)
            cache.replace(answer(1), for: key, ticket: cache.ticket(for: key))
            if isWriter {
                cache.replace(answer(5), for: key, ticket: before)
            } else {
                cache.keep(answer(5), for: key, ticket: before)
            }
            #expect(cache.answer(for: key) == nil)
            cache.keep(answer(1), for: key, ticket: cache.ticket(for: key))
            #expect(cache.answer(for: key)?.revision == 1)
        }
    }

    @Test func `an answer that is read again stays when others are evicted`() {
        let cache = AnswerCache(bytes: 64 * 8 * (AnswerCache.overhead + 8))
        cache.keep(answer(1), for: key, ticket: cache.ticket(for: key))
        for number in 0..<10_000 {
            let other = CustomerKey(ledgerID: key.ledgerID, customer: CustomerID(unchecked: "other-\(number)"))
            cache.keep(answer(1), for: other, ticket: cache.ticket(for: other))
            #expect(cache.answer(for: key) != nil)
        }
    }

    @Test func `answers never exceed the memory limit, however large an answer grows`() {
        let size = 64 * (AnswerCache.overhead + 100)
        let cache = AnswerCache(bytes: size)
        let keys = (0..<1000).map {
            CustomerKey(ledgerID: key.ledgerID, customer: CustomerID(unchecked: "other-\($0)"))
        }
        for (revision, length) in [(1, 50), (2, 100), (3, 101), (4, 10)] {
            for key in keys {
                let answer = StoredAnswer(
                    revision: Int64(revision), bytes: [UInt8](repeating: 0x20, count: length), etag: "\"\"",
                    validFrom: Date(timeIntervalSince1970: 0), validUntil: nil)
                cache.replace(answer, for: key, ticket: cache.ticket(for: key))
            }
            let kept = keys.compactMap { cache.answer(for: $0) }
            #expect(kept.reduce(0) { $0 + $1.bytes.count + AnswerCache.overhead } <= size)
            #expect(kept.isEmpty == (length > 100))
        }
    }

    @Test func `a cache of size 0 stores nothing`() {
        let cache = AnswerCache(bytes: 0)
        cache.replace(answer(1), for: key, ticket: cache.ticket(for: key))
        #expect(cache.answer(for: key) == nil)
    }
}
