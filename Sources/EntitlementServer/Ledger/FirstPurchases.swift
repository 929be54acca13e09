import Foundation
import SignedData
import StoreModel

/// The first answer of a customer, in the form in which it is stored.
struct FirstAnswer: Sendable {
    let stored: StoredAnswer
    /// The digest of the answer's content.
    let digest: [UInt8]
    let isEmpty: Bool
    let doublePayments: [DoublePayment]

    init(_ answer: Customer, paying doublePayments: [DoublePayment]) {
        self.doublePayments = doublePayments
        let content = answer.wireContent()
        digest = MessageDigest.sha256(content)
        stored = StoredAnswer(answer, around: content, digest, revision: 1)
        isEmpty = answer.isEmpty
    }
}

/// The precomputed answer to a customer's first purchases. It is computed before the transaction, because transactions
/// on SQLite run one at a time.
///
/// It is correct only if the customer and the purchases are new. The transaction checks this and recomputes an incorrect
/// answer, so a wrong assumption only costs time.
struct FirstPurchases: Sendable {
    private let customer: CustomerID
    private let token: UUID
    private let digests: Set<[UInt8]>
    private let answer: FirstAnswer
    /// The version of the rules.
    private let version: ActiveRules.Version

    /// - Parameter facts: All facts of the request for this ledger.
    init(
        of customer: CustomerID, _ facts: [PresentedFact], in ledgerID: LedgerID, by entry: ActiveRules.Entry,
        at now: Date
    ) {
        self.customer = customer
        token = customer.appAccountToken
        digests = Set(facts.map(\.row.digest))
        var state = CustomerState()
        for fact in facts { state.apply(fact.content) }
        version = entry.version
        answer = FirstAnswer(
            entry.rules.reducer.customer(customer, in: ledgerID.environment, state, at: now),
            paying: entry.rules.reducer.doublePayments(in: state, at: now))
    }

    /// Returns the app account token of `customer`; `nil` if the purchases are another customer's.
    func token(of customer: CustomerID) -> UUID? { customer == self.customer ? token : nil }

    /// Returns the answer, if it is that of `customer` with these facts and these rules, and still valid.
    func answer(
        of customer: CustomerID, with facts: [PresentedFact.Content], in version: ActiveRules.Version, at now: Date
    ) -> FirstAnswer? {
        guard customer == self.customer, version == self.version, answer.stored.isValid(at: now),
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
    /// Applies a new fact, as if it were read from its row.
    mutating func apply(_ content: PresentedFact.Content) {
        switch content {
        case .transaction(let fact): apply(fact)
        case .renewal(let fact): apply(fact)
        }
    }
}
