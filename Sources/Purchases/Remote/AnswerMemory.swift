import Foundation

/// The latest answers by question, each as long as it is fresh. Pure: who asks says what time it is.
struct AnswerMemory<Question: Hashable & Sendable, Answer: Sendable>: Sendable {
    struct Entry: Sendable {
        var answer: Answer
        /// The base URL that gave it.
        var address: String
        var receivedAt: Date
        /// When something in it changes by itself, so that it has to be asked for again however young it is.
        var changesAt: Date?
        fileprivate var number: Int
    }

    /// When a question was asked: its answer does not replace that to a later one, and is not kept at all when everything
    /// was forgotten meanwhile.
    struct Ticket: Sendable {
        fileprivate let epoch: Int
        fileprivate let number: Int
    }

    private let capacity: Int
    private var entries: [Question: Entry] = [:]
    private var epoch = 0
    private var lastNumber = 0

    /// - Parameter capacity: of more questions, the answer that came first is forgotten.
    init(capacity: Int = 16) { self.capacity = capacity }

    /// The answer to `question` if it is younger than `freshness` at `date`. One that seems to come from the future is
    /// not fresh: the clock was set back, and says nothing of its age.
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

    mutating func keep(
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

    mutating func forget() {
        entries = [:]
        epoch += 1
    }
}
