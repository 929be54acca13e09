import Foundation
import Primitives

/// The known purchases of one customer. The state is the same for the same facts, in any order and with any repetition.
///
/// For each transaction, the fact with the newest signature counts. If two facts were signed at the same instant, the
/// revoked one counts. If both or neither are revoked, the one with the greater digest counts. A revocation therefore
/// remains until a fact with a newer signature does not contain it.
///
/// A receipt states less about a transaction than the signed transaction itself. If there is a signed transaction, a
/// receipt adds only a revocation, and only if the receipt is not older. Renewal infos are stored by subscription.
///
/// A one-time purchase at Google Play is one transaction, even if its order id becomes known later.
package struct CustomerState: Hashable, Sendable {
    private(set) var transactions: [TransactionID: KnownTransaction] = [:]
    private(set) var renewals: [TransactionID: [RenewalFact]] = [:]
    private(set) var grants: [ExactString: Grant] = [:]

    /// The facts about one transaction, and the first date on which it was signed.
    struct KnownTransaction: Hashable, Sendable {
        /// The fact that counts.
        private(set) var newest: TransactionFact
        private(set) var firstSigned: Date
        /// The newest signed transaction or, if there is none, the newest fact from a receipt.
        private var best: TransactionFact
        /// The newest fact from a receipt.
        private var receipt: TransactionFact?

        init(_ fact: TransactionFact) {
            newest = fact
            firstSigned = fact.signedDate
            best = fact
            receipt = fact.isFromReceipt ? fact : nil
        }

        mutating func apply(_ fact: TransactionFact) {
            firstSigned = min(firstSigned, fact.signedDate)
            if fact.isFromReceipt, receipt.map(fact.isNewer) ?? true { receipt = fact }
            if fact.isFromReceipt == best.isFromReceipt ? fact.isNewer(than: best) : best.isFromReceipt { best = fact }
            newest = best
            // A receipt shows an upgrade as a refund; the signed transaction distinguishes them.
            guard !best.isFromReceipt, !best.isUpgraded, let receipt, receipt.signedDate >= best.signedDate else {
                return
            }
            newest.revocationDate = best.revocationDate ?? receipt.revocationDate
        }
    }

    package init() {}

    /// The fact that counts of each transaction, in no order.
    package var countingTransactions: [TransactionFact] { transactions.values.map(\.newest) }

    package mutating func apply(_ fact: TransactionFact) {
        let isOneTime = fact.source == .googlePlay && fact.kind != .autoRenewableSubscription
        transactions[isOneTime ? fact.originalID : fact.id, default: KnownTransaction(fact)].apply(fact)
    }

    package mutating func apply(_ fact: RenewalFact) {
        renewals[fact.originalID, default: []].insert(inOrder: fact)
    }

    /// Adds a grant. A grant with the same id replaces the former one. Withdrawn grants are not applied.
    package mutating func apply(_ grant: Grant) { grants[ExactString(grant.id)] = grant }
}

extension TransactionFact {
    func isNewer(than other: TransactionFact) -> Bool {
        if signedDate != other.signedDate { return signedDate > other.signedDate }
        let (isRevoked, wasRevoked) = (revocationDate != nil, other.revocationDate != nil)
        if isRevoked != wasRevoked { return isRevoked }
        return other.digest.lexicographicallyPrecedes(digest)
    }
}

extension [RenewalFact] {
    /// Inserts a new fact in the order of signatures.
    fileprivate mutating func insert(inOrder fact: RenewalFact) {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].isOlder(than: fact) { low = middle + 1 } else { high = middle }
        }
        guard low == endIndex || self[low] != fact else { return }
        insert(fact, at: low)
    }
}

extension RenewalFact {
    func isOlder(than other: RenewalFact) -> Bool {
        if signedDate != other.signedDate { return signedDate < other.signedDate }
        return digest.lexicographicallyPrecedes(other.digest)
    }
}
