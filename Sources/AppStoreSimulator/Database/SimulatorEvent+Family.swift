import Foundation
import StoreModel

/// Family Sharing: a member's share of a purchase is a row of its own that refers to the owner's purchase.
///
/// A shareable product is shared with the family when it is bought, and a new member gets the shared purchases of the
/// others. A member's own subscription continues beside a share of the same group. A non-consumable is shared only with
/// members who do not have it.
extension SimulatorEvent {
    /// Updates the shares of the families that the event concerns.
    ///
    /// The shares end when a plan begins that is not shareable, even if it begins with a renewal. A shareable plan that
    /// begins with a renewal is shared from the family's next event.
    mutating func settleShares() throws {
        guard accounts.count > 1 else { return }
        for family in Set(try accounts.compactMap { try db.account($0.id)?.family }).sorted() {
            let members = try db.accounts(inFamily: family).map(\.id)
            // The family of an account that only has a seat is not part of the event.
            guard members.allSatisfy({ id in accounts.contains { $0.id == id } }) else { continue }
            for owner in members {
                let others = members.filter { $0 != owner }
                for record in try db.subscriptions(of: owner) where record.share == nil {
                    try settle(state(of: record), with: others)
                }
                for purchase in try db.shareablePurchases(of: owner, at: now) where isShareable(purchase.productID) {
                    for other in others { try share(purchase, with: other) }
                }
            }
        }
    }

    private func isShareable(_ product: ProductID) -> Bool { rules.catalogue[product]?.isFamilyShareable ?? false }

    /// Updates the shares of a subscription. Saves the owner's periods first, because a share begins with one of them.
    private mutating func settle(_ state: SubscriptionState, with others: [Int64]) throws {
        guard state.isActive else { return }
        let open = try db.shares(of: state.record.originalID).filter { isOpen($0) && $0.share?.isAssigned == false }
        // Seats are assigned one by one.
        let isShared = isShareable(state.current.plan.productID) && state.current.plan.seats == nil
        let continuesShared = !state.autoRenews || isShareable(state.nextSale().plan.productID)
        let end = isShared ? (continuesShared ? nil : state.expiresDate) : now
        let missing = isShared ? others.filter { other in !open.contains { $0.accountID == other } } : []
        let changed = open.filter { $0.share?.until != end }
        guard !missing.isEmpty || !changed.isEmpty else { return }
        let owner = state.condensed
        try record([.subscription(owner)])
        for share in changed { try close(share, at: end) }
        for other in missing {
            let id = nextNumber()
            let share = SubscriptionRecord(
                originalID: id, accountID: other, groupID: owner.groupID, runs: [], renewal: owner.renewal,
                startedAt: owner.startedAt, changedAt: owner.changedAt,
                share: Share(ownerOriginalID: owner.originalID, first: state.current.latestID, from: now, until: end))
            try record([.subscription(share), reported(.purchased, id, state.current.plan.productID, other)])
        }
    }

    private mutating func share(_ purchase: TransactionRecord, with other: Int64) throws {
        guard try db.owned(purchase.productID, by: other, at: now) == nil else { return }
        // A share that the store revoked for one member alone stays revoked.
        guard try !db.shares(ofPurchase: purchase.id, at: now).contains(where: { $0.accountID == other }) else {
            return
        }
        var shared = purchase
        shared.id = nextNumber()
        shared.originalID = shared.id
        shared.accountID = other
        shared.appAccountToken = nil
        shared.sharedAt = now
        let share = Share(ownerOriginalID: purchase.id, first: purchase.id, from: now)
        try record([.purchase(shared, share: share), reported(.purchased, shared.id, shared.productID, other)])
    }

    /// Ends the shares that `leavers` have in purchases of the others, and the shares that the others have in purchases
    /// of `leavers`.
    mutating func endShares(of leavers: Set<Int64>) throws {
        for account in accounts {
            for record in try db.subscriptions(of: account.id) where isOpen(record) {
                guard let share = record.share, !share.isAssigned,
                    let owner = try db.subscription(share.ownerOriginalID)
                else {
                    continue
                }
                guard leavers.contains(account.id) || leavers.contains(owner.accountID) else { continue }
                try close(record, at: now)
            }
            for (purchase, owner) in try db.sharedPurchases(with: account.id, at: now)
            where leavers.contains(account.id) || leavers.contains(owner) {
                try db.endShare(ofPurchase: purchase.id, at: now)
                try record([reported(.revoked, purchase.id, purchase.productID, account.id)])
            }
        }
    }

    func isOpen(_ record: SubscriptionRecord) -> Bool {
        record.share.map { $0.until.map { $0 > now } ?? true } ?? false
    }

    /// Sets the end of a share. Reports a revocation to a member who loses access now.
    mutating func close(_ share: SubscriptionRecord, at end: Date?) throws {
        let state = state(of: share)
        var ended = share
        ended.share?.until = end
        try record([.subscription(ended)])
        guard end == now, state.isActive else { return }
        try record([reported(.revoked, state.current.latestID, state.current.plan.productID, share.accountID)])
    }

    func reported(_ state: UpdateRecord.State, _ id: Int64, _ product: ProductID, _ account: Int64)
        -> StoreChange
    {
        .update(UpdateRecord(accountID: account, productID: product, state: state, transactionID: id))
    }
}
