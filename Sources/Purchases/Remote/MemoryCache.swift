import Foundation

/// An in-memory cache of the latest answers by request, each with a maximum age. The caller passes the current date.
struct MemoryCache<Question: Hashable & Sendable, Answer: Sendable>: Sendable {
    struct Entry: Sendable {
        var answer: Answer
        /// The base URL that answered.
        var address: String
        var receivedAt: Date
        /// The date at which the answer becomes outdated, even if its age is below the maximum.
        var changesAt: Date?
        fileprivate var number: Int
    }

    /// The number of a request, in the order of requests. Its answer does not replace the answer to a later request,
    /// and is not stored if all answers were removed meanwhile.
    struct Ticket: Sendable {
        fileprivate let epoch: Int
        fileprivate let number: Int
    }

    private let capacity: Int
    private var entries: [Question: Entry] = [:]
    private var epoch = 0
    private var lastNumber = 0

    /// Creates an empty cache. When it has more than `capacity` answers, the oldest one is removed.
    init(capacity: Int = 16) { self.capacity = capacity }

    /// Returns the answer to `question` if it is younger than `freshness` at `date`. An answer with a later date is not
    /// fresh: the clock was set back, so its age is unknown.
    func fresh(_ question: Question, at date: Date, for freshness: Duration) -> Entry? {
        guard let entry = entries[question] else { return nil }
        let age = date.timeIntervalSince(entry.receivedAt)
        guard age >= 0, .seconds(age) < freshness, entry.changesAt.map({ date < $0 }) ?? true else { return nil }
        return entry
    }

    mutating func ticket() -> Ticket {
        lastNumber += 1
        return Ticket(epoch: epoch, number: lastNumber)
    }

    mutating func store(
        _ answer: Answer, to question: Question, from address: String, at date: Date, until change: Date?,
        ticket: Ticket
    ) {
        guard ticket.epoch == epoch, entries[question].map({ $0.number < ticket.number }) ?? true else { return }
        entries[question] = Entry(
            answer: answer, address: address, receivedAt: date, changesAt: change, number: ticket.number)
        if entries.count > capacity, let oldest = entries.min(by: { $0.value.number < $1.value.number }) {
            entries[oldest.key] = nil
        }
    }

    mutating func removeAll() {
        entries = [:]
        epoch += 1
    }
}
