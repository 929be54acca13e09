import Foundation
import StoreModel

extension SubscriptionRecord {
    /// Copies a family member's part of `owner`'s subscription: all periods from the first shared one, with transaction
    /// numbers of the member. The owner's record must contain the first shared period.
    mutating func takeShare(of owner: SubscriptionRecord) {
        guard let share else { return }
        runs = []
        var place = 0
        for run in owner.runs {
            let skipped = runs.isEmpty ? Int(share.first - run.id(of: 0)) : 0
            guard skipped >= 0, skipped < run.count else { continue }
            var shared = run
            shared.base = originalID
            shared.first = place
            shared.offset += skipped
            shared.skipBills(skipped)
            shared.count -= skipped
            shared.soldAt = run.purchaseDate(of: skipped)
            shared.isRenewal = run.isRenewal || skipped > 0
            place += shared.count
            runs.append(shared)
        }
        renewal = owner.renewal
        startedAt = owner.startedAt
        changedAt = max(changedAt, owner.changedAt)
        revocations = [:]
        for (id, revocation) in owner.revocations where share.until.map({ revocation.at < $0 }) ?? true {
            if let id = memberID(of: id, by: owner) { revocations[id] = revocation.shared }
        }
    }

    /// Returns the member's number of one of the owner's transactions; `nil` for a transaction sold before the share
    /// began.
    func memberID(of id: Int64, by owner: SubscriptionRecord) -> Int64? {
        guard let share, let first = owner.place(of: share.first), let place = owner.place(of: id), place >= first
        else { return nil }
        return originalID + place - first
    }

    /// Returns the position of a transaction among those of the subscription. Renewals since the last event continue
    /// the numbers of the last run.
    private func place(of id: Int64) -> Int64? {
        let index = runs.lastIndex {
            $0.id(of: 0) <= id && TransactionNumber.base(of: $0.base) == TransactionNumber.base(of: id)
        }
        guard let index else { return nil }
        return Int64(runs[..<index].reduce(0) { $0 + $1.count }) + id - runs[index].id(of: 0)
    }
}
