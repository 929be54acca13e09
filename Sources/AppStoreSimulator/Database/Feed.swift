import Foundation
import StoreModel

/// What a device is told of one stretch of time: what was sold to its account and is not delivered, how its subscriptions
/// have changed, and the answers to its payments.
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

    /// Closed: the states of `StoreWire.Update`, which are the raw values.
    enum State: String, Sendable { case purchased, deferred, failed, revoked, renewalChanged }

    /// Oldest first.
    private(set) var items: [Item] = []
    /// The instant up to which it tells everything.
    private(set) var end: Date
    /// The instant asked for, as of which it is told.
    let asked: Date
    /// How each subscription of the account stands then.
    private(set) var subscriptions: [SubscriptionState] = []
    /// When time alone does something to the account next.
    private(set) var nextChange: Date?
    /// Where each transaction is told, but for what is only said about how it goes on.
    private var places: [Int64: Int] = [:]

    /// Whether it holds nothing but sales, which are told until they are delivered.
    var hasOnlySales: Bool { items.allSatisfy { $0.state == .purchased && $0.payment == nil } }

    /// What happened after `start` and by `end`. Without a start, everything that is not delivered, and what the device has
    /// not seen. Of more than `limit` items the first are sent, but never a part of what happened at one instant. No more
    /// than that is computed, however much time has passed.
    init(_ db: SimulatorDatabase, for device: SimulatorDatabase.Device, after start: Date?, until end: Date, limit: Int)
        throws
    {
        self.end = end
        asked = end
        let reported = max(start ?? device.seen, device.seen)
        let conditions = try db.conditions()
        let stored = try db.updates(for: device, after: reported, until: end)
        for record in try db.subscriptions(of: device.account.id) {
            subscriptions.append(SubscriptionState(of: record, under: conditions, at: end))
            // One more says that there is more, and each of the news can move a sale to a later place.
            try add(
                subscriptions[subscriptions.count - 1], db, soldAfter: start, reported: reported,
                limit: limit + 1 + stored.count)
        }
        for purchase in try db.unfinishedPurchases(of: device.account.id, at: end)
        where purchase.purchaseDate <= end && start.map({ purchase.purchaseDate > $0 }) ?? true { add(purchase, nil) }
        for update in stored { try add(update, db, device) }
        // Equal instants keep the order in which they were found.
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
        // The books may know already what happens after the end; that is told next time.
        var sold = subscription.transactions(soldAfter: start, by: end, limit: 1)
        if !sold.isEmpty {
            let finished = try db.finished(of: subscription.record.originalID)
            sold = subscription.transactions(soldAfter: start, by: end, limit: limit, isLeftOut: finished.contains)
        }
        for transaction in sold { add(transaction, subscription) }
        // Whoever is told of a sale is told how it goes on as well.
        guard sold.isEmpty, subscription.changedAt > reported, subscription.changedAt <= end else { return }
        items.append(
            Item(
                at: subscription.changedAt, productID: subscription.current.plan.productID, state: .renewalChanged,
                transaction: subscription.latest, subscription: subscription))
    }

    private mutating func add(_ transaction: TransactionRecord, _ subscription: SubscriptionState?) {
        places[transaction.id] = places[transaction.id] ?? items.count
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
        if let index = places[id] {
            // A payment that is answered again has its answer where it was asked again.
            if let payment {
                items[index].payment = payment
                items[index].isAlreadyOwned = update.isAlreadyOwned
                items[index].at = max(items[index].at, stored.at)
            }
            return
        }
        guard let (transaction, subscription) = try db.transaction(id, at: end) else { return }
        // What was sold without this device's asking is told until it is delivered, and then no more.
        // So is what was taken back, given back and delivered anew.
        let isSale = update.state == .purchased || transaction.revocation == nil
        if isSale, payment == nil, try db.isFinished(transaction) { return }
        places[id] = items.count
        items.append(
            Item(
                at: stored.at, payment: payment, productID: transaction.productID,
                state: transaction.revocation == nil ? .purchased : .revoked, transaction: transaction,
                subscription: subscription,
                isAlreadyOwned: update.isAlreadyOwned))
    }
}
