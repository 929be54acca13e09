import Primitives

/// A cache of recent answers, so that a read needs no query. Its memory is limited: a full shard evicts answers that were
/// not read since the last pass (the CLOCK algorithm).
///
/// Answers can arrive out of order. Writes that share a commit return in any order, and a reader may have read an older
/// answer than a writer has committed. The cache keeps the newer of two answers. But the newer one may have been evicted
/// before the older one arrives. So each caller takes a ticket before it reads the database, and its answer is rejected
/// if answers were evicted since.
final class AnswerCache: Sendable {
    struct Ticket: Sendable { fileprivate let removals: UInt64 }

    /// The approximate memory of an answer in addition to its bytes: names, tag, dates and its slot. Measured with 10⁶
    /// answers.
    static let overhead = 290
    /// The number of shards, a power of two.
    private static let shardCount = 64

    fileprivate struct Shard {
        let limit: Int
        var table = AnswerTable()
        var size = 0
        /// The slot at which the next eviction starts (the hand of CLOCK).
        var hand = 0
        /// The number of answers that were evicted or removed, or rejected after their commit.
        var removals: UInt64 = 0
        var hits: UInt64 = 0
        var misses: UInt64 = 0
    }

    /// The use of the cache since the start.
    struct Usage: Sendable {
        /// The approximate memory of the answers.
        var bytes = 0
        var hits: UInt64 = 0
        var misses: UInt64 = 0
    }

    private let shards: [Locked<Shard>]

    /// Creates a cache of about `bytes` of memory; 0 stores nothing.
    init(bytes: Int) {
        let limit = (bytes + Self.shardCount - 1) / Self.shardCount
        shards = (0..<Self.shardCount).map { _ in Locked(Shard(limit: limit)) }
    }

    func answer(for key: CustomerKey) -> StoredAnswer? {
        let (shard, hash) = shard(of: key)
        return shard.withLock { $0.answer(for: key, hash) }?.answer
    }

    var usage: Usage {
        shards.reduce(into: Usage()) { sum, shard in
            let (bytes, hits, misses) = shard.withLock { ($0.size, $0.hits, $0.misses) }
            sum.bytes += bytes
            sum.hits += hits
            sum.misses += misses
        }
    }

    /// Returns a ticket, to be taken before the database is read.
    func ticket(for key: CustomerKey) -> Ticket {
        shard(of: key).shard.withLock { Ticket(removals: $0.removals) }
    }

    /// Stores an answer that a reader found, unless a newer one is cached or may have been evicted.
    func keep(_ answer: StoredAnswer, for key: CustomerKey, ticket: Ticket) {
        let (shard, hash) = shard(of: key)
        shard.withLock { _ = $0.keep(answer, for: key, hash, ticket: ticket) }
    }

    /// Stores an answer that a writer committed, unless a newer one is cached or may have been evicted.
    func replace(_ answer: StoredAnswer, for key: CustomerKey, ticket: Ticket) {
        let (shard, hash) = shard(of: key)
        shard.withLock { shard in
            // A rejected answer counts as evicted, so that readers with an older one are rejected too.
            if !shard.keep(answer, for: key, hash, ticket: ticket) { shard.removals += 1 }
        }
    }

    /// Removes the answer of a merged or erased customer. A reader that found it before cannot store it again.
    func remove(_ key: CustomerKey) {
        let (shard, hash) = shard(of: key)
        shard.withLock { shard in
            if let place = shard.table.place(of: key, hash) { shard.remove(at: place) }
            shard.removals += 1
        }
    }

    /// Removes all answers. Callers that read the database before cannot store their answers.
    func removeAll() {
        for shard in shards { shard.withLock { $0.removeAll() } }
    }

    private func shard(of key: CustomerKey) -> (shard: Locked<Shard>, hash: Int) {
        let hash = key.hashValue
        return (shards[hash & (Self.shardCount - 1)], hash)
    }
}

extension AnswerCache.Shard {
    fileprivate mutating func answer(for key: CustomerKey, _ hash: Int) -> PackedAnswer? {
        guard let place = table.place(of: key, hash) else {
            misses += 1
            return nil
        }
        hits += 1
        table.setRead(true, at: place)
        return table[place]
    }

    /// Stores an answer. Returns whether the cache now has it or a newer one.
    fileprivate mutating func keep(
        _ answer: StoredAnswer, for key: CustomerKey, _ hash: Int, ticket: AnswerCache.Ticket
    ) -> Bool {
        if let place = table.place(of: key, hash), let cached = table[place] {
            guard cached.isOlder(than: answer) else { return true }
            guard removals == ticket.removals else {
                // Either answer may be obsolete: an erased customer can return with a smaller revision.
                remove(at: place)
                removals += 1
                return false
            }
            size += answer.bytes.count - cached.count
            table[place] = PackedAnswer(answer, of: key)
            makeRoom(for: 0)
            return table.place(of: key, hash) != nil
        }
        let size = AnswerCache.overhead + answer.bytes.count
        guard removals == ticket.removals, size <= limit else { return false }
        // Before the insertion, so that the new answer is not evicted.
        makeRoom(for: size)
        table.insert(PackedAnswer(answer, of: key), hash)
        self.size += size
        return true
    }

    private mutating func makeRoom(for more: Int) {
        while size + more > limit {
            if hand >= table.capacity { hand = 0 }
            if table[hand] == nil {
                hand += 1
            } else if table.wasRead(at: hand) {
                table.setRead(false, at: hand)
                hand += 1
            } else {
                remove(at: hand)
                removals += 1
            }
        }
    }

    fileprivate mutating func removeAll() {
        table = AnswerTable()
        (size, hand) = (0, 0)
        removals += 1
    }

    fileprivate mutating func remove(at place: Int) {
        guard let answer = table[place] else { return }
        size -= AnswerCache.overhead + answer.count
        table.remove(at: place)
    }
}
