import StoreModel

extension SubscriptionRecord {
    /// Makes it what a member of the family has of `owner`'s subscription: the periods from the share's first on, under
    /// numbers of its own. The owner's record must hold that period.
    mutating func takeShare(of owner: SubscriptionRecord) {
        guard let share else { return }
        runs = []
        revocations = [:]
        var place = 0
        for run in owner.runs {
            let skipped = runs.isEmpty ? Int(share.first - run.id(of: 0)) : 0
            guard skipped >= 0, skipped < run.count else { continue }
            var shared = run
            shared.base = originalID
            shared.first = place
            shared.offset += skipped
            shared.count -= skipped
            shared.soldAt = run.purchaseDate(of: skipped)
            shared.isRenewal = run.isRenewal || skipped > 0
            for index in 0..<shared.count {
                revocations[shared.id(of: index)] = owner.revocations[run.id(of: index + skipped)]
            }
            place += shared.count
            runs.append(shared)
        }
        renewal = owner.renewal
        startedAt = owner.startedAt
        changedAt = max(changedAt, owner.changedAt)
    }
}
