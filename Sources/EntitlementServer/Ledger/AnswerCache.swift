import Primitives

/// Answers lately read or written, so that a read costs no query. Bounded by what they take of memory: when a shard is full,
/// those make room that nobody asked for since the last look at them (the CLOCK algorithm).
///
/// Who brings an answer may be late: writes that share a commit come back in any order, and what a reader found may be
/// older than what a writer just committed. So the newer answer of a customer stays, whoever brings it. Where there is none
/// to compare with, it may have been here and made room meanwhile; everybody therefore takes a ticket before going to the
/// database, and is turned away if a newer answer may have gone since.
final class AnswerCache: Sendable {
    struct Ticket: Sendable { fileprivate let departures: UInt64 }

    /// What an answer takes beside its bytes: names, tag, instants and its place in the table, about. Measured with 10⁶.
    static let overhead = 290
    /// A power of two.
    private static let shardCount = 64

    fileprivate struct Shard {
        let limit: Int
        var table = AnswerTable()
        var size = 0
        /// The place that is looked at next when room is needed.
        var hand = 0
        /// How many answers made room, or were turned away after their commit.
        var departures: UInt64 = 0
    }

    private let shards: [Locked<Shard>]

    /// Keeps answers up to about `bytes` of memory; 0 keeps none.
    init(bytes: Int) {
        let limit = (bytes + Self.shardCount - 1) / Self.shardCount
        shards = (0..<Self.shardCount).map { _ in Locked(Shard(limit: limit)) }
    }

    func answer(for key: CustomerKey) -> StoredAnswer? {
        let (shard, hash) = shard(of: key)
        // Copied when nobody waits for it.
        return shard.withLock { $0.answer(for: key, hash) }?.answer
    }

    /// To be taken before the database is asked.
    func ticket(for key: CustomerKey) -> Ticket {
        shard(of: key).shard.withLock { Ticket(departures: $0.departures) }
    }

    /// Keeps what a reader found, unless it is older than what is here or may have been.
    func keep(_ answer: StoredAnswer, for key: CustomerKey, ticket: Ticket) {
        let (shard, hash) = shard(of: key)
        shard.withLock { _ = $0.keep(answer, for: key, hash, ticket: ticket) }
    }

    /// Keeps what a writer committed, unless it is older than what is here or may have been.
    func replace(_ answer: StoredAnswer, for key: CustomerKey, ticket: Ticket) {
        let (shard, hash) = shard(of: key)
        shard.withLock { shard in
            // Turned away, it is as if it had been here and gone: readers on their way with an older one must know.
            if !shard.keep(answer, for: key, hash, ticket: ticket) { shard.departures += 1 }
        }
    }

    /// Forgets the answer of somebody who is no customer any more; who found it before may not bring it back.
    func remove(_ key: CustomerKey) {
        let (shard, hash) = shard(of: key)
        shard.withLock { shard in
            if let place = shard.table.place(of: key, hash) { shard.remove(at: place) }
            shard.departures += 1
        }
    }

    private func shard(of key: CustomerKey) -> (shard: Locked<Shard>, hash: Int) {
        let hash = key.hashValue
        return (shards[hash & (Self.shardCount - 1)], hash)
    }
}

extension AnswerCache.Shard {
    fileprivate mutating func answer(for key: CustomerKey, _ hash: Int) -> PackedAnswer? {
        guard let place = table.place(of: key, hash) else { return nil }
        table.setWanted(true, at: place)
        return table[place]
    }

    /// Whether the customer's answer is now this one or a newer one.
    fileprivate mutating func keep(
        _ answer: StoredAnswer, for key: CustomerKey, _ hash: Int, ticket: AnswerCache.Ticket
    ) -> Bool {
        if let place = table.place(of: key, hash), let known = table[place] {
            guard known.isOlder(than: answer) else { return true }
            guard departures == ticket.departures else {
                // The customer may have been erased and have come again since then, with a smaller revision. The database
                // has the true answer.
                remove(at: place)
                departures += 1
                return false
            }
            size += answer.bytes.count - known.count
            table[place] = PackedAnswer(answer, of: key)
            makeRoom(for: 0)
            return table.place(of: key, hash) != nil
        }
        let size = AnswerCache.overhead + answer.bytes.count
        guard departures == ticket.departures, size <= limit else { return false }
        // Before it comes, or it might itself be who goes.
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
            } else if table.isWanted(at: hand) {
                table.setWanted(false, at: hand)
                hand += 1
            } else {
                remove(at: hand)
                departures += 1
            }
        }
    }

    fileprivate mutating func remove(at place: Int) {
        guard let answer = table[place] else { return }
        size -= AnswerCache.overhead + answer.count
        table.remove(at: place)
    }
}
