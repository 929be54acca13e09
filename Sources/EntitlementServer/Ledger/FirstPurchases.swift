import Foundation
import SignedData
import StoreModel

/// The first answer of a customer: what follows from all that is known about them.
struct FirstAnswer: Sendable {
    let stored: StoredAnswer
    /// Of its content.
    let digest: [UInt8]
    let isEmpty: Bool

    init(_ answer: Customer) {
        let content = answer.wireContent()
        digest = MessageDigest.sha256(content)
        stored = StoredAnswer(answer, around: content, digest, revision: 1)
        isEmpty = answer.isEmpty
    }
}

/// What can be worked out for a customer's first purchases before the transaction that writes them, where only one thread
/// works: the answer, and the sources under a key of their own.
///
/// It rests on a guess: that nobody knows this customer, and nothing of these purchases. The transaction takes of it what
/// its own look at the book confirms, and works out the rest itself; so a wrong guess costs time and nothing else.
struct FirstPurchases: Sendable {
    private let customer: CustomerID
    private let token: UUID
    private let digests: Set<[UInt8]>
    private let answer: FirstAnswer
    /// Of the rules that it follows from.
    private let epoch: Int64?

    /// - Parameter facts: All that the request says in the book.
    init(
        of customer: CustomerID, _ facts: [PresentedFact], in ledgerID: LedgerID, by entry: ActiveRules.Entry,
        at now: Date
    ) {
        self.customer = customer
        token = customer.appAccountToken
        digests = Set(facts.map(\.row.digest))
        var state = CustomerState()
        for fact in facts { state.apply(fact.content) }
        epoch = entry.epoch
        answer = FirstAnswer(entry.rules.reducer.customer(customer, in: ledgerID.environment, state, at: now))
    }

    /// The token of purchases, if it is that of `customer`.
    func token(of customer: CustomerID) -> UUID? { customer == self.customer ? token : nil }

    /// The answer, if it is that of `customer` with these facts, by the rules of this epoch, and still true.
    func answer(
        of customer: CustomerID, with facts: [PresentedFact.Content], in epoch: Int64?, at now: Date
    ) -> FirstAnswer? {
        guard customer == self.customer, epoch == self.epoch, answer.stored.isValid(at: now),
            facts.count == digests.count,
            facts.allSatisfy({ digests.contains($0.digest) })
        else { return nil }
        return answer
    }
}

extension PresentedFact.Content {
    var digest: [UInt8] {
        switch self {
        case .transaction(let fact): fact.digest
        case .renewal(let fact): fact.digest
        }
    }
}

extension CustomerState {
    /// Folds in what has just been written: the same that its row says.
    mutating func apply(_ content: PresentedFact.Content) {
        switch content {
        case .transaction(let fact): apply(fact)
        case .renewal(let fact): apply(fact)
        }
    }
}
