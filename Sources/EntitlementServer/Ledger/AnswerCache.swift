import Primitives

/// Answers lately read or written, so that a read costs no query. Bounded: when a shard is full, any one entry makes room.
///
/// Who brings an answer may be late: writes that share a commit come back in any order, and what a reader found may be
/// older than what a writer just committed. So the newer answer of a customer stays, whoever brings it. Where there is none
/// to compare with, it may have been here and made room meanwhile; everybody therefore takes a ticket before going to the
/// database, and is turned away if a newer answer may have gone since.
final class AnswerCache: Sendable {
    struct Ticket: Sendable { fileprivate let departures: UInt64 }

    fileprivate struct Shard {
        var answers: [CustomerKey: StoredAnswer] = [:]
        /// How many answers made room, or were turned away after their commit.
        var departures: UInt64 = 0
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

    /// To be taken before the database is asked.
    func ticket(for key: CustomerKey) -> Ticket {
        shard(of: key).withLock { Ticket(departures: $0.departures) }
    }

    /// Keeps what a reader found, unless it is older than what is here or may have been.
    func keep(_ answer: StoredAnswer, for key: CustomerKey, ticket: Ticket) {
        let limit = shardCapacity
        shard(of: key).withLock { _ = $0.keep(answer, for: key, ticket: ticket, limit: limit) }
    }

    /// Keeps what a writer committed, unless it is older than what is here or may have been.
    func replace(_ answer: StoredAnswer, for key: CustomerKey, ticket: Ticket) {
        let limit = shardCapacity
        shard(of: key).withLock { shard in
            // Turned away, it is as if it had been here and gone: readers on their way with an older one must know.
            if !shard.keep(answer, for: key, ticket: ticket, limit: limit) { shard.departures += 1 }
        }
    }

    /// Forgets the answer of somebody who is no customer any more; who found it before may not bring it back.
    func remove(_ key: CustomerKey) {
        shard(of: key).withLock { shard in
            shard.answers[key] = nil
            shard.departures += 1
        }
    }

    private func shard(of key: CustomerKey) -> Locked<Shard> {
        shards[Int(truncatingIfNeeded: UInt(bitPattern: key.customer.hashValue) % UInt(shards.count))]
    }
}

extension AnswerCache.Shard {
    /// Whether the customer's answer is now this one or a newer one.
    fileprivate mutating func keep(
        _ answer: StoredAnswer, for key: CustomerKey, ticket: AnswerCache.Ticket, limit: Int
    ) -> Bool {
        guard limit > 0 else { return true }
        if let present = answers[key] {
            if answer.isNewer(than: present) { answers[key] = answer }
            return true
        }
        guard departures == ticket.departures else { return false }
        if answers.count >= limit {
            answers.remove(at: answers.startIndex)
            departures += 1
        }
        answers[key] = answer
        return true
    }
}
