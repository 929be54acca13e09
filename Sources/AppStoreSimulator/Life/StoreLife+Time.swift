import Foundation
import StoreModel

/// What passing time does to subscriptions.
extension StoreLife {
    /// Brings subscriptions up to date, in the order in which their periods end.
    ///
    /// `due` are those that come first, ordered by end and original id. If there may be more than these, only what comes
    /// before the last of them is done, so that any division into calls gives the same facts in the same order. At most
    /// `limit` periods end in one call; the rest stays due.
    mutating func settle(
        _ due: [SubscriptionRecord], isAll: Bool, until now: Date, limit: Int = 4096
    ) -> [Fact] {
        guard let last = due.last else { return [] }
        let horizon = isAll ? DueKey(end: now, originalID: .max) : DueKey(last)
        var queue = DueQueue(due)
        var settled: [Int64: SubscriptionRecord] = [:]
        var facts: [Fact] = []
        for _ in 0..<limit {
            guard let first = queue.first, DueKey(first) <= horizon else { break }
            let next = endPeriod(of: first, &facts)
            settled[next.originalID] = next
            if next.isActive, next.expiresDate <= now { queue.replaceFirst(next) } else { queue.removeFirst() }
        }
        return facts + settled.values.sorted { $0.originalID < $1.originalID }.map(Fact.subscription)
    }

    /// The instant at which the current period ends: the next one is sold, or the subscription expires.
    private mutating func endPeriod(of subscription: SubscriptionRecord, _ facts: inout [Fact]) -> SubscriptionRecord {
        var next = subscription
        guard subscription.autoRenews, let item = catalogue[subscription.renewsTo], let terms = item.subscription else {
            next.isActive = false
            next.expirationIntent = subscription.autoRenews ? .productUnavailable : .cancelled
            next.autoRenews = false
            facts.append(.update(renewalChanged(next)))
            return next
        }
        let isSamePlan = subscription.renewsTo == subscription.productID
        let goesOn = isSamePlan && subscription.phase.offer == nil || catalogue.nextOffer(of: subscription) != nil
        if !goesOn { next.phase = .init(start: subscription.expiresDate, sold: 0) }
        let transaction = sellPeriod(of: &next, item, terms, numbers.nextTransaction(), isRenewal: true)
        facts.append(.transaction(transaction))
        facts.append(
            .update(
                UpdateRecord(
                    accountID: next.accountID, productID: item.id, state: .purchased, transactionID: transaction.id)))
        return next
    }
}

/// The order in which periods end.
private struct DueKey: Comparable {
    let end: Date
    let originalID: Int64

    init(end: Date, originalID: Int64) {
        self.end = end
        self.originalID = originalID
    }

    init(_ subscription: SubscriptionRecord) {
        self.init(end: subscription.expiresDate, originalID: subscription.originalID)
    }

    static func < (left: DueKey, right: DueKey) -> Bool {
        left.end != right.end ? left.end < right.end : left.originalID < right.originalID
    }
}

/// A binary heap, the subscription whose period ends first on top.
private struct DueQueue {
    private var heap: [SubscriptionRecord]

    /// A sorted list is a heap already.
    init(_ sorted: [SubscriptionRecord]) { heap = sorted }

    var first: SubscriptionRecord? { heap.first }

    mutating func replaceFirst(_ subscription: SubscriptionRecord) {
        heap[0] = subscription
        sink()
    }

    mutating func removeFirst() {
        let last = heap.removeLast()
        if !heap.isEmpty { replaceFirst(last) }
    }

    private mutating func sink() {
        var parent = 0
        while true {
            var smallest = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && DueKey(heap[child]) < DueKey(heap[smallest]) { smallest = child }
            guard smallest != parent else { return }
            heap.swapAt(parent, smallest)
            parent = smallest
        }
    }
}
