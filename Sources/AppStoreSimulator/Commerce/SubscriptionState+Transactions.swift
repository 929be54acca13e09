import Foundation
import StoreModel

extension SubscriptionState {
    /// The number of transactions, without computing them.
    var count: Int { runs.reduce(0) { $0 + $1.count } }

    /// Every transaction, oldest first, one per period. Requests check `count` first, because the list can be long.
    var transactions: [TransactionRecord] {
        var all: [TransactionRecord] = []
        all.reserveCapacity(count)
        for run in runs {
            for index in 0..<run.count { all.append(transaction(run, index)) }
        }
        return all
    }

    var latest: TransactionRecord { transaction(current, current.count - 1) }

    /// Returns the last `count` transactions, oldest first.
    func latest(_ count: Int) -> [TransactionRecord] {
        var found: [TransactionRecord] = []
        for run in runs.reversed() {
            for index in (0..<run.count).reversed() {
                guard found.count < count else { return found.reversed() }
                found.append(transaction(run, index))
            }
        }
        return found.reversed()
    }

    /// Returns the transaction with number `id`; `nil` if none was sold yet.
    func transaction(_ id: Int64) -> TransactionRecord? { place(of: id).map { transaction($0.run, $0.index) } }

    /// Whether a transaction with number `id` was sold.
    func has(_ id: Int64) -> Bool { place(of: id) != nil }

    private func place(of id: Int64) -> (run: Run, index: Int)? {
        for run in runs {
            // A request can contain any number, so the subtraction can overflow.
            let (index, overflows) = id.subtractingReportingOverflow(run.id(of: 0))
            if !overflows, index >= 0, index < run.count { return (run, Int(index)) }
        }
        return nil
    }

    /// Returns the first `limit` transactions sold after `start` and until `end`, oldest first, and all others sold at
    /// the same instant as the last one. Omits those whose number `isLeftOut` accepts.
    ///
    /// Visits only the returned and the omitted transactions.
    func transactions(
        soldAfter start: Date?, by end: Date, limit: Int, isLeftOut: (Int64) -> Bool = { _ in false }
    ) -> [TransactionRecord] {
        var found: [TransactionRecord] = []
        var (place, index) = start.map(firstPlace) ?? (0, 0)
        while place < runs.count {
            let run = runs[place]
            while index < run.count {
                let date = run.purchaseDate(of: index)
                guard date <= end, found.count < limit || found.last?.purchaseDate == date else { return found }
                if !isLeftOut(run.id(of: index)) { found.append(transaction(run, index)) }
                index += 1
            }
            (place, index) = (place + 1, 0)
        }
        return found
    }

    /// Returns the place from which to look for transactions sold after `date`: the index of a run, and an index in it,
    /// which can be its end.
    private func firstPlace(after date: Date) -> (Int, Int) {
        for (place, run) in runs.enumerated().reversed() {
            let index = (0..<run.count).firstIndex(reaching: { run.purchaseDate(of: $0) > date })
            if index > 0 { return (place, index) }
        }
        return (0, 0)
    }

    func transaction(_ run: Run, _ index: Int) -> TransactionRecord {
        let id = run.id(of: index)
        return TransactionRecord(
            id: id, accountID: record.accountID, originalID: record.originalID,
            webOrderLineItemID: TransactionNumber.webOrder(of: id), productID: run.plan.productID,
            kind: .autoRenewableSubscription, groupID: record.groupID, purchaseDate: run.purchaseDate(of: index),
            originalPurchaseDate: record.originalPurchaseDate, expiresDate: run.end(of: index),
            quantity: run.plan.seats?.count ?? 1,
            appAccountToken: record.appAccountToken(at: run.purchaseDate(of: index)),
            price: run.offer.map { $0.price ?? Price(amount: 0, currency: run.plan.price.currency) } ?? run.plan.price,
            storefront: run.plan.storefront, isRenewal: run.isRenewal || index > 0, offer: run.offer,
            billingPlan: run.plan.billingPlan, commitment: run.commitment(of: index),
            upgradedAt: index == run.count - 1 ? run.upgradedAt : nil,
            revocation: revocation(of: run, index),
            restoredAt: record.revocations[id]?.reversedAt.flatMap { $0 <= instant ? $0 : nil },
            sharedAt: record.share?.from, isAssigned: record.share?.isAssigned ?? false, seats: run.plan.seats,
            refundedSeats: record.refundedSeats[id], hasSeatAdditions: !additions(to: id).isEmpty)
    }

    private func revocation(of run: Run, _ index: Int) -> Revocation? {
        if let revocation = record.revocations[run.id(of: index)], revocation.isInForce(at: instant) {
            return revocation
        }
        guard let until = record.share?.until, until <= instant, run.end(of: index) > until else { return nil }
        return Revocation(at: until, kind: .familyRevoke)
    }
}

/// The numbers of transactions. Each sale has a range of them, which its renewals use up.
enum TransactionNumber {
    /// The maximum number of transactions of one sale.
    static let span: Int64 = 1_000_000

    /// Returns the number of the sale of a transaction.
    static func base(of id: Int64) -> Int64 { id - id % span }

    /// Returns the web order line item id of a transaction: a number that no transaction of the same store has.
    static func webOrder(of id: Int64) -> Int64 { id - 100_000_000_000_000_000 }
}
