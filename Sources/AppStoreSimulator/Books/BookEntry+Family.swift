import Foundation
import StoreModel

/// What members of a family have of each other's purchases: rows of their own that refer to the owner's.
///
/// Who buys a product that may be shared shares it at once, who joins shares and gets what there is. A member's own
/// subscription goes on beside a share of the same group; what is bought once is shared with those who do not have it.
extension BookEntry {
    /// Makes the shares of the families concerned what they should be now.
    ///
    /// A plan that may not be shared ends the shares when it begins, at a renewal too. One that may be shared and begins at
    /// a renewal is shared from the next event of the family on.
    mutating func settleShares() throws {
        guard accounts.count > 1 else { return }
        for family in Set(try accounts.compactMap { try books.account($0.id)?.family }).sorted() {
            let members = try books.accounts(inFamily: family).map(\.id)
            for owner in members {
                let others = members.filter { $0 != owner }
                for record in try books.subscriptions(of: owner) where record.share == nil {
                    try settle(course(of: record), with: others)
                }
                for purchase in try books.shareablePurchases(of: owner, at: now) where isShareable(purchase.productID) {
                    for other in others { try share(purchase, with: other) }
                }
            }
        }
    }

    private func isShareable(_ product: ProductID) -> Bool { life.catalogue[product]?.isFamilyShareable ?? false }

    private mutating func settle(_ course: Course, with others: [Int64]) throws {
        guard course.isActive else { return }
        let open = try books.shares(of: course.record.originalID).filter(isOpen)
        let isShared = isShareable(course.current.plan.productID)
        let goesOn = !course.autoRenews || isShareable(course.nextSale().plan.productID)
        let end = isShared ? (goesOn ? nil : course.expiresDate) : now
        let missing = isShared ? others.filter { other in !open.contains { $0.accountID == other } } : []
        let changed = open.filter { $0.share?.until != end }
        guard !missing.isEmpty || !changed.isEmpty else { return }
        // A share begins with a period that is written down.
        let owner = course.condensed
        try record([.subscription(owner)])
        for share in changed { try close(share, at: end) }
        for other in missing {
            let id = nextNumber()
            let share = SubscriptionRecord(
                originalID: id, accountID: other, groupID: owner.groupID, runs: [], renewal: owner.renewal,
                startedAt: owner.startedAt, changedAt: owner.changedAt,
                share: Share(ownerOriginalID: owner.originalID, first: course.current.latestID, from: now, until: end))
            try record([.subscription(share), told(.purchased, id, course.current.plan.productID, other)])
        }
    }

    private mutating func share(_ purchase: TransactionRecord, with other: Int64) throws {
        guard try books.owned(purchase.productID, by: other, at: now) == nil else { return }
        // What the store took back from one member alone stays so.
        guard try !books.shares(ofPurchase: purchase.id, at: now).contains(where: { $0.accountID == other }) else {
            return
        }
        var shared = purchase
        shared.id = nextNumber()
        shared.originalID = shared.id
        shared.accountID = other
        shared.appAccountToken = nil
        shared.sharedAt = now
        let share = Share(ownerOriginalID: purchase.id, first: purchase.id, from: now)
        try record([.purchase(shared, share: share), told(.purchased, shared.id, shared.productID, other)])
    }

    /// Takes back what `leavers` have of the others, and the others of them.
    mutating func endShares(of leavers: Set<Int64>) throws {
        for account in accounts {
            for record in try books.subscriptions(of: account.id) where isOpen(record) {
                guard let share = record.share, let owner = try books.subscription(share.ownerOriginalID) else {
                    continue
                }
                guard leavers.contains(account.id) || leavers.contains(owner.accountID) else { continue }
                try close(record, at: now)
            }
            for (purchase, owner) in try books.sharedPurchases(with: account.id, at: now)
            where leavers.contains(account.id) || leavers.contains(owner) {
                try books.endShare(ofPurchase: purchase.id, at: now)
                try record([told(.revoked, purchase.id, purchase.productID, account.id)])
            }
        }
    }

    func isOpen(_ record: SubscriptionRecord) -> Bool {
        record.share.map { $0.until.map { $0 > now } ?? true } ?? false
    }

    /// Lets a share end then; whoever loses something now is told.
    private mutating func close(_ share: SubscriptionRecord, at end: Date?) throws {
        let course = course(of: share)
        var ended = share
        ended.share?.until = end
        try record([.subscription(ended)])
        guard end == now, course.isActive else { return }
        try record([told(.revoked, course.current.latestID, course.current.plan.productID, share.accountID)])
    }

    private func told(_ state: UpdateRecord.State, _ id: Int64, _ product: ProductID, _ account: Int64) -> Fact {
        .update(UpdateRecord(accountID: account, productID: product, state: state, transactionID: id))
    }
}
