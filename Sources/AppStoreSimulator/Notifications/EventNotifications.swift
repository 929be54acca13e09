import Foundation
import StoreModel

/// What the app's server is told of one entry in the books: it is found by comparing the books before with those after.
struct EventNotifications {
    let writer: NotificationWriter
    /// How the subscriptions of all whom the entry concerns stood before it, by original transaction.
    private var before: [Int64: SubscriptionState] = [:]

    /// Begins with what time has done until now. Throws `NotificationsBehind` where that is too much for one entry.
    init(
        _ writer: NotificationWriter, _ accounts: [SimulatorDatabase.Account], under conditions: Conditions,
        at now: Date
    ) throws {
        self.writer = writer
        for account in accounts {
            for record in try writer.db.subscriptions(of: account.id) {
                var limit = NotificationWriter.limit
                let state = try writer.catchUp(record, of: account, under: conditions, at: now, limit: &limit)
                guard limit > 0 else { throw NotificationsBehind(original: record.originalID) }
                before[record.originalID] = state
            }
        }
    }

    /// Tells what the entry has changed. `updates` are what it told devices.
    func close(
        _ accounts: [SimulatorDatabase.Account], under conditions: Conditions, at now: Date, _ updates: [UpdateRecord]
    )
        throws
    {
        let byID = Dictionary(accounts.map { ($0.id, $0) }) { first, _ in first }
        var seen: Set<Int64> = []
        for update in updates {
            // What somebody has already is no news, but to the device that asked for it.
            guard !update.isAlreadyOwned, let id = update.transactionID, let account = byID[update.accountID],
                seen.insert(id).inserted, let purchase = try writer.db.purchase(id, at: now),
                let type = purchase.notificationType(at: now)
            else { continue }
            try writer.write(StoreNotification(type, nil, purchase), nil, of: account, at: now)
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
    /// What has become of something that is bought once at that very instant.
    fileprivate func notificationType(at now: Date) -> StoreNotification.Kind? {
        let instant = now.microseconds
        if let revocation {
            guard revocation.at.microseconds == instant else { return nil }
            return revocation.kind == .familyRevoke ? .revoke : .refund
        }
        if restoredAt?.microseconds == instant { return isShared ? .oneTimeCharge : .refundReversed }
        // What the family shares was bought earlier.
        return isShared || purchaseDate.microseconds == instant ? .oneTimeCharge : nil
    }
}
