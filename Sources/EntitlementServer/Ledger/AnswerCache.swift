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

    /// What an answer takes beside its bytes: names, tag, instants and its places in the tables, about. Measured with 10⁶.
    static let overhead = 470
    /// A power of two.
    private static let shardCount = 64

    fileprivate struct Shard {
        let limit: Int
        var places = PlaceTable()
        var entries: [Entry] = []
        var size = 0
        /// The entry that is looked at next when room is needed.
        var hand = 0
        /// How many answers made room, or were turned away after their commit.
        var departures: UInt64 = 0

        struct Entry {
            let key: CustomerKey
            let hash: Int
            var answer: StoredAnswer
            var isWanted = false
        }
    }

    private let shards: [Locked<Shard>]

    /// Keeps answers up to about `bytes` of memory; 0 keeps none.
    init(bytes: Int) {
        let limit = (bytes + Self.shardCount - 1) / Self.shardCount
        shards = (0..<Self.shardCount).map { _ in Locked(Shard(limit: limit)) }
    }

    func answer(for key: CustomerKey) -> StoredAnswer? {
        let (shard, hash) = shard(of: key)
        return shard.withLock { $0.answer(for: key, hash) }
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
            if let place = shard.place(of: key, hash) { shard.remove(at: place) }
            shard.departures += 1
        }
    }

    private func shard(of key: CustomerKey) -> (shard: Locked<Shard>, hash: Int) {
        let hash = key.hashValue
        return (shards[hash & (Self.shardCount - 1)], hash)
    }
}

extension AnswerCache.Shard {
    fileprivate func place(of key: CustomerKey, _ hash: Int) -> Int? {
        places.place(hash) { entries[$0].key == key }
    }

    fileprivate mutating func answer(for key: CustomerKey, _ hash: Int) -> StoredAnswer? {
        guard let place = place(of: key, hash) else { return nil }
        if !entries[place].isWanted { entries[place].isWanted = true }
        return entries[place].answer
    }

    /// Whether the customer's answer is now this one or a newer one.
    fileprivate mutating func keep(
        _ answer: StoredAnswer, for key: CustomerKey, _ hash: Int, ticket: AnswerCache.Ticket
    ) -> Bool {
        if let place = place(of: key, hash) {
            guard answer.isNewer(than: entries[place].answer) else { return true }
            size += answer.bytes.count - entries[place].answer.bytes.count
            entries[place].answer = answer
            makeRoom()
            return self.place(of: key, hash) != nil
        }
        guard departures == ticket.departures, Self.size(of: answer) <= limit else { return false }
        places.insert(hash, at: entries.count)
        entries.append(Entry(key: key, hash: hash, answer: answer))
        size += Self.size(of: answer)
        makeRoom()
        return true
    }

    private mutating func makeRoom() {
        while size > limit {
            if hand >= entries.count { hand = 0 }
            if entries[hand].isWanted {
                entries[hand].isWanted = false
                hand += 1
            } else {
                remove(at: hand)
                departures += 1
            }
        }
    }

    fileprivate mutating func remove(at place: Int) {
        size -= Self.size(of: entries[place].answer)
        places.remove(entries[place].hash, at: place)
        let last = entries.removeLast()
        guard place < entries.count else { return }
        entries[place] = last
        places.move(last.hash, from: entries.count, to: place)
    }

    private static func size(of answer: StoredAnswer) -> Int { answer.bytes.count + AnswerCache.overhead }
}
