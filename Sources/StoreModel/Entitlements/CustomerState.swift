import Foundation
import Primitives

/// All that is known about one customer's purchases: the result of folding facts, in any order and any number of times.
///
/// For each transaction the newest signature counts (of two of the same instant a revoked one, then the greater digest),
/// so a revocation stays until a newer signature comes without it. Of a transaction that was signed by itself, receipts,
/// which know less, add a revocation and nothing else, and only one newer than the signature. Renewal infos are kept by
/// subscription.
package struct CustomerState: Hashable, Sendable {
    private(set) var transactions: [TransactionID: KnownTransaction] = [:]
    private(set) var renewals: [TransactionID: [RenewalFact]] = [:]
    private(set) var grants: [ExactString: Grant] = [:]

    /// A transaction as it was said last, and since when it is known to exist.
    struct KnownTransaction: Hashable, Sendable {
        /// What counts.
        private(set) var newest: TransactionFact
        private(set) var firstSigned: Date
        /// The newest of those that know most: signed by themselves or, as long as there are none, out of receipts.
        private var best: TransactionFact
        /// The newest out of a receipt.
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
            // To a receipt an upgrade is a refund; the signature says which it was.
            guard !best.isFromReceipt, !best.isUpgraded, let receipt, receipt.signedDate >= best.signedDate else {
                return
            }
            newest.revocationDate = best.revocationDate ?? receipt.revocationDate
        }
    }

    package init() {}

    package mutating func apply(_ fact: TransactionFact) {
        transactions[fact.id, default: KnownTransaction(fact)].apply(fact)
    }

    package mutating func apply(_ fact: RenewalFact) {
        renewals[fact.originalID, default: []].insert(inOrder: fact)
    }

    /// Grants are told apart by id; a withdrawn one is simply not applied.
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
    /// Inserts a fact that is not among these, which are in the order in which they were signed.
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
