import Foundation
import StoreModel

/// The notifications of one event, found by comparing the database before and after it.
struct EventNotifications {
    let writer: NotificationWriter
    /// The states before the event, by original transaction, of the subscriptions of all its accounts.
    private var before: [Int64: SubscriptionState] = [:]

    /// Writes the notifications that follow from time alone until `now`. Throws `TooManyDueNotifications` if there are
    /// too many for one commit.
    init(
        _ writer: NotificationWriter, _ accounts: [SimulatorDatabase.Account], under conditions: RenewalConditions,
        at now: Date
    ) throws {
        self.writer = writer
        for account in accounts {
            for record in try writer.db.subscriptions(of: account.id) {
                var limit = NotificationWriter.limit
                let state = try writer.catchUp(record, of: account, under: conditions, at: now, limit: &limit)
                guard limit > 0 else { throw TooManyDueNotifications(original: record.originalID) }
                before[record.originalID] = state
            }
        }
    }

    /// Writes the notifications of the event's changes. `updates` are the event's updates for devices. An update about
    /// a product that the customer already owned has no notification.
    func close(
        _ accounts: [SimulatorDatabase.Account], under conditions: RenewalConditions, at now: Date,
        _ updates: [UpdateRecord]
    )
        throws
    {
        let byID = Dictionary(accounts.map { ($0.id, $0) }) { first, _ in first }
        var seen: Set<Int64> = []
        for update in updates {
            guard !update.isAlreadyOwned, let id = update.transactionID, let account = byID[update.accountID],
                seen.insert(id).inserted, let purchase = try writer.db.purchase(id, at: now),
                let type = purchase.notificationType(at: now)
            else { continue }
            let subscription = try purchase.additionTo.flatMap { _ in try writer.db.subscription(purchase.originalID) }
            let state = subscription.map { SubscriptionState(of: $0, under: conditions, at: now) }
            try writer.write(StoreNotification(type, nil, purchase), state, of: account, at: now)
        }
        for account in accounts {
            let records = try writer.db.subscriptions(of: account.id)
            var groups = Set(records.filter { before[$0.originalID] != nil }.map(\.groupID))
            for record in records {
                try writer.writeChanges(
                    SubscriptionState(of: record, under: conditions, at: now), since: before[record.originalID],
                    isFirst: groups.insert(record.groupID).inserted, of: account)
            }
        }
    }
}

extension TransactionRecord {
    /// Returns the type of the notification about a change at exactly `now`; `nil` if nothing changed then. Call this
    /// only for a purchase that is not a subscription. A share is new at `now`, although it has the purchase date of the
    /// owner.
    fileprivate func notificationType(at now: Date) -> StoreNotification.Kind? {
        let instant = now.microseconds
        // The change of the subscription reports that seats were added.
        if additionTo != nil, revocation == nil, restoredAt?.microseconds != instant { return nil }
        if let revocation {
            guard revocation.at.microseconds == instant else { return nil }
            return revocation.kind == .familyRevoke ? .revoke : .refund
        }
        if restoredAt?.microseconds == instant { return isShared ? .oneTimeCharge : .refundReversed }
        return isShared || purchaseDate.microseconds == instant ? .oneTimeCharge : nil
    }
}
