import Primitives

/// Answers lately read or written, so that a read costs no query. Bounded: when a shard is full, any one entry makes room.
///
/// What a reader found may be older than what a writer just committed, so a reader takes a ticket before it looks and its
/// answer is kept only if no writer came between.
final class AnswerCache: Sendable {
    struct Ticket: Sendable { fileprivate let generation: UInt64 }

    fileprivate struct Shard {
        var answers: [CustomerKey: StoredAnswer] = [:]
        var generation: UInt64 = 0
    }

    private let shards: [Locked<Shard>]
    private let shardCapacity: Int

    /// Keeps at most about `capacity` answers; 0 keeps none.
    init(capacity: Int) {
        let count = 64
        shardCapacity = (capacity + count - 1) / count
        shards = (0..<count).map { _ in Locked(Shard()) }
    }

    func answer(for key: CustomerKey) -> StoredAnswer? {
        shard(of: key).withLock { $0.answers[key] }
    }

    func ticket(for key: CustomerKey) -> Ticket {
        shard(of: key).withLock { Ticket(generation: $0.generation) }
    }

    /// Keeps what a reader found.
    func keep(_ answer: StoredAnswer, for key: CustomerKey, ticket: Ticket) {
        let limit = shardCapacity
        shard(of: key).withLock { shard in
            guard shard.generation == ticket.generation else { return }
            shard.keep(answer, for: key, limit: limit)
        }
    }

    /// Keeps what a writer committed.
    func replace(_ answer: StoredAnswer, for key: CustomerKey) {
        let limit = shardCapacity
        shard(of: key).withLock { shard in
            shard.generation += 1
            shard.keep(answer, for: key, limit: limit)
        }
    }

    private func shard(of key: CustomerKey) -> Locked<Shard> {
        shards[Int(truncatingIfNeeded: UInt(bitPattern: key.customer.hashValue) % UInt(shards.count))]
    }
}

extension AnswerCache.Shard {
    fileprivate mutating func keep(_ answer: StoredAnswer, for key: CustomerKey, limit: Int) {
        guard limit > 0 else { return }
        if answers.count >= limit, answers[key] == nil { answers.remove(at: answers.startIndex) }
        answers[key] = answer
    }
}
