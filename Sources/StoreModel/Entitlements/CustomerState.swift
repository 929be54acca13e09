import Foundation
import Primitives

/// All that is known about one customer's purchases: the result of folding facts, in any order and any number of times.
///
/// For each transaction the newest signature counts (of two of the same instant a revoked one, then the greater digest),
/// so a revocation stays until a newer signature comes without it. Renewal infos are kept by subscription.
public struct CustomerState: Hashable, Sendable {
    private(set) var transactions: [TransactionID: KnownTransaction] = [:]
    private(set) var renewals: [TransactionID: [RenewalFact]] = [:]
    private(set) var grants: [String: Grant] = [:]

    /// A transaction as it was said last, and since when it is known to exist.
    struct KnownTransaction: Hashable, Sendable {
        var newest: TransactionFact
        var firstSigned: Date
    }

    public init() {}

    public mutating func apply(_ fact: TransactionFact) {
        guard var known = transactions[fact.id] else {
            transactions[fact.id] = KnownTransaction(newest: fact, firstSigned: fact.signedDate)
            return
        }
        if fact.isNewer(than: known.newest) { known.newest = fact }
        known.firstSigned = min(known.firstSigned, fact.signedDate)
        transactions[fact.id] = known
    }

    public mutating func apply(_ fact: RenewalFact) {
        var said = renewals[fact.originalID] ?? []
        let place = said.firstIndex { !$0.isOlder(than: fact) } ?? said.endIndex
        guard place == said.endIndex || said[place] != fact else { return }
        said.insert(fact, at: place)
        renewals[fact.originalID] = said
    }

    /// Grants are told apart by id; a withdrawn one is simply not applied.
    public mutating func apply(_ grant: Grant) { grants[grant.id] = grant }
}

extension TransactionFact {
    func isNewer(than other: TransactionFact) -> Bool {
        if signedDate != other.signedDate { return signedDate > other.signedDate }
        let (isRevoked, wasRevoked) = (revocationDate != nil, other.revocationDate != nil)
        if isRevoked != wasRevoked { return isRevoked }
        return other.digest.lexicographicallyPrecedes(digest)
    }
}

extension RenewalFact {
    func isOlder(than other: RenewalFact) -> Bool {
        if signedDate != other.signedDate { return signedDate < other.signedDate }
        return digest.lexicographicallyPrecedes(other.digest)
    }
}
