import Foundation
import StoreModel

/// The updates for one device in an interval: unfinished transactions, changed subscriptions, and answers to its
/// payments.
struct Feed: Sendable {
    struct Item: Sendable {
        var at: Date
        var payment: PaymentID?
        var productID: ProductID
        var state: State
        var transaction: TransactionRecord?
        var subscription: SubscriptionState?
        var isAlreadyOwned = false
        var failure: StoreFailure?
    }

    /// The states of `StoreWire.Update`, with its strings as raw values. The set is closed.
    enum State: String, Sendable { case purchased, deferred, failed, revoked, renewalChanged }

    /// The updates, oldest first.
    private(set) var items: [Item] = []
    /// The instant up to which the feed is complete.
    private(set) var end: Date
    /// The end of the requested interval. The updates are signed as of this instant.
    let requestedEnd: Date
    /// The state of each of the account's subscriptions at `requestedEnd`.
    private(set) var subscriptions: [SubscriptionState] = []
    /// The next instant at which time alone changes something for the account.
    private(set) var nextChange: Date?
    /// The index in `items` of each transaction, without the items of state `renewalChanged`.
    private var indices: [Int64: Int] = [:]

    /// Whether all items are purchases that are repeated until they are finished.
    var hasOnlyUnfinishedPurchases: Bool { items.allSatisfy { $0.state == .purchased && $0.payment == nil } }

    /// Collects the updates after `start` and until `end`. Without a start, collects all unfinished transactions, and
    /// the updates that the device has not received.
    ///
    /// Keeps the first `limit` items, and all others of the same instant as the last one. Even for a long interval, it
    /// computes only a few transactions more than `limit` for each subscription.
    init(_ db: SimulatorDatabase, for device: SimulatorDatabase.Device, after start: Date?, until end: Date, limit: Int)
        throws
    {
        self.end = end
        requestedEnd = end
        let reported = max(start ?? device.deliveredUntil, device.deliveredUntil)
        let conditions = try db.conditions()
        let stored = try db.updates(for: device, after: reported, until: end)
        for record in try db.subscriptions(of: device.account.id) {
            subscriptions.append(SubscriptionState(of: record, under: conditions, at: end))
            // One more item shows that the feed is incomplete. Each stored update can move an item to a later place.
            try add(
                subscriptions[subscriptions.count - 1], db, soldAfter: start, reported: reported,
                limit: limit + 1 + stored.count)
        }
        for purchase in try db.unfinishedPurchases(of: device.account.id, at: end)
        where purchase.purchaseDate <= end && start.map({ purchase.purchaseDate > $0 }) ?? true { add(purchase, nil) }
        for update in stored { try add(update, db, device) }
        items = items.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
        guard items.count > limit else { return }
        let last = items[limit - 1].at
        items = Array(items.prefix { $0.at <= last })
        self.end = last
    }

    private mutating func add(
        _ subscription: SubscriptionState, _ db: SimulatorDatabase, soldAfter start: Date?, reported: Date, limit: Int
    ) throws {
        if let change = subscription.nextChange { nextChange = min(nextChange ?? change, change) }
        var sold = subscription.transactions(soldAfter: start, by: end, limit: 1)
        if !sold.isEmpty {
            let finished = try db.finished(of: subscription.record.originalID)
            sold = subscription.transactions(soldAfter: start, by: end, limit: limit, isLeftOut: finished.contains)
        }
        for transaction in sold { add(transaction, subscription) }
        guard sold.isEmpty, subscription.changedAt > reported, subscription.changedAt <= end else { return }
        items.append(
            Item(
                at: subscription.changedAt, productID: subscription.current.plan.productID, state: .renewalChanged,
                transaction: subscription.latest, subscription: subscription))
    }

    private mutating func add(_ transaction: TransactionRecord, _ subscription: SubscriptionState?) {
        indices[transaction.id] = indices[transaction.id] ?? items.count
        items.append(
            Item(
                at: transaction.purchaseDate, productID: transaction.productID,
                state: transaction.revocation == nil ? .purchased : .revoked, transaction: transaction,
                subscription: subscription))
    }

    private mutating func add(
        _ stored: SimulatorDatabase.StoredUpdate, _ db: SimulatorDatabase, _ device: SimulatorDatabase.Device
    ) throws {
        let update = stored.update
        let payment = update.device == device.id ? update.payment : nil
        guard let id = update.transactionID else {
            let state: State = update.state == .deferred ? .deferred : .failed
            items.append(
                Item(
                    at: stored.at, payment: payment, productID: update.productID, state: state, failure: update.failure)
            )
            return
        }
        if let index = indices[id] {
            // A repeated payment is answered at the instant at which it was repeated.
            if let payment {
                items[index].payment = payment
                items[index].isAlreadyOwned = update.isAlreadyOwned
                items[index].at = max(items[index].at, stored.at)
            }
            return
        }
        guard let (transaction, subscription) = try db.transaction(id, at: end) else { return }
        // A purchase that no payment of this device requested is repeated until it is finished.
        let isPurchase = update.state == .purchased || transaction.revocation == nil
        if isPurchase, payment == nil, try db.isFinished(transaction) { return }
        indices[id] = items.count
        items.append(
            Item(
                at: stored.at, payment: payment, productID: transaction.productID,
                state: transaction.revocation == nil ? .purchased : .revoked, transaction: transaction,
                subscription: subscription,
                isAlreadyOwned: update.isAlreadyOwned))
    }
}
