import AppStorePayloads
import Foundation
import Primitives
import SQLStorage
import StoreKitAdapter
import StoreModel

/// An event in the store: the changes that one action makes, at one instant that is later than everything reported
/// before.
struct SimulatorEvent {
    let db: SimulatorDatabase
    let now: Date
    /// The accounts that the event concerns: the one that acts, then the other members of its family or of the family
    /// that it joins.
    let accounts: [SimulatorDatabase.Account]
    /// The settings of the whole store.
    let settings: [String: JSONValue]
    let conditions: RenewalConditions
    private(set) var rules: StoreRules
    private let numbersBefore: SaleNumbers
    /// Writes the notifications for the app's server; `nil` while no URL for them is set.
    private let notifications: EventNotifications?
    /// The updates for devices.
    private var updates: [UpdateRecord] = []

    /// Starts an event at `now`. `writer` writes the notifications for the app's server; `nil` while no URL is set.
    init(
        _ db: SimulatorDatabase, _ accounts: [SimulatorDatabase.Account], at now: Date, catalogue: Catalogue,
        _ settings: [String: JSONValue], _ writer: NotificationWriter?
    ) throws {
        self.db = db
        self.now = now
        self.accounts = accounts
        self.settings = settings
        conditions = try db.conditions()
        numbersBefore = try db.numbers()
        rules = StoreRules(catalogue: catalogue, conditions: conditions, numbers: numbersBefore)
        rules.mayPay = accounts[0].canMakePayments
        rules.seatInvitations = settings[StoreSetting.seatInvitations.name]?.stringValue
            .flatMap { Seats.Invitations(rawValue: $0.uppercased()) }
        notifications = try writer.map { [conditions] in
            try EventNotifications($0, accounts, under: conditions, at: now)
        }
    }

    /// The account that acts.
    var account: SimulatorDatabase.Account { accounts[0] }

    func state(of record: SubscriptionRecord) -> SubscriptionState {
        SubscriptionState(of: record, under: conditions, at: now)
    }

    func existing(for product: ProductID, of account: Int64) throws -> StoreRules.ExistingPurchases {
        let item = rules.catalogue[product]
        return StoreRules.ExistingPurchases(
            owned: item?.kind == .nonConsumable ? try db.owned(product, by: account, at: now) : nil,
            state: try item?.subscription.flatMap { try state(of: product, in: $0.groupID, account) })
    }

    /// Returns the account's own subscription in a group. If that subscription is not running, and the family shares an
    /// active subscription of `product`, returns the shared subscription.
    private func state(of product: ProductID, in group: String, _ account: Int64) throws -> SubscriptionState? {
        let own = try db.subscription(in: group, of: account).map(state)
        if own?.isActive == true || own?.status == .billingRetry { return own }
        let shared = try db.shares(in: group, with: account).map(state)
        return shared.first { $0.isActive && $0.current.plan.productID == product } ?? own
    }

    mutating func sell(_ order: Order) throws -> StoreRules.Decision {
        let outcome = rules.sell(order, try existing(for: order.productID, of: order.accountID), at: now)
        try record(outcome.changes)
        return outcome.decision
    }

    /// Refuses an order without applying the store's rules, and reports the failure to the device.
    mutating func refuse(_ order: Order, _ failure: StoreFailure) throws {
        var update = StoreRules.update(order, .failed)
        update.failure = failure
        try record([.update(update)])
    }

    /// Holds an order for `reason`. An order does not wait if it would be refused, or if the product is already owned.
    mutating func hold(_ order: Order, for reason: HeldOrder.Reason) throws -> StoreRules.Decision {
        let existing = try existing(for: order.productID, of: order.accountID)
        let outcome = rules.hold(order, for: reason, existing, at: now)
        try record(outcome.changes)
        return outcome.decision
    }

    mutating func release(_ held: HeldOrder) throws -> StoreRules.Decision {
        let existing = try existing(for: held.order.productID, of: held.order.accountID)
        let outcome = rules.release(held, existing, at: now)
        try record(outcome.changes)
        return outcome.decision
    }

    mutating func decline(_ held: HeldOrder) throws { try record(rules.decline(held)) }

    func refusal(of order: Order) -> StoreFailure? { rules.refusal(of: order) }

    mutating func record(_ changes: [StoreChange]) throws {
        for change in changes {
            switch change {
            case .purchase(let record, let share): try db.insert(record, share: share)
            case .subscription(let record): try db.save(record)
            case .revocation(let id, let revocation):
                try db.save(revocation, of: id, original: try db.original(of: id))
            case .seatAddition(let addition, let record): try db.insert(addition, to: record)
            case .appAccountToken(let id, let token): try db.set(appAccountToken: token, ofPurchase: id)
            case .unfinished(let id): try db.unfinish(id)
            case .held(let held): try db.insert(held)
            case .released(let number): try db.deleteHeldOrder(number)
            case .update(let update):
                try db.insert(update, at: now)
                updates.append(update)
            }
        }
    }

    mutating func nextNumber() -> Int64 { rules.numbers.next() }

    /// Writes a notification about `sale` that does not follow from a change in the database. Does nothing while no URL
    /// for notifications is set. Returns the UUID of the notification.
    @discardableResult
    func notify(
        _ type: StoreNotification.Kind, _ subtype: StoreNotification.Subtype? = nil, of sale: Sale,
        reason: AppStoreServerAPI.ConsumptionRequestReason? = nil
    ) throws -> String? {
        try notifications?.writer.write(
            StoreNotification(type, subtype, sale.transaction), sale.state, of: sale.account, at: now, reason: reason)
    }

    /// Writes the notification that the store ended seat claims.
    func notifyOfUnclaimedSeats(_ claims: [UUID], _ sale: Sale) throws {
        _ = try notifications?.writer.write(
            StoreNotification(.unclaimSeats, nil, sale.transaction), sale.state, of: sale.account, at: now,
            unclaimed: claims)
    }

    /// Writes the notification that a parent withdrew the consent to the use of the app by this account.
    func notifyOfRescindedConsent() throws {
        try notifications?.writer.writeRescindConsent(of: account, at: now)
    }

    func close() throws {
        if rules.numbers != numbersBefore { try db.save(rules.numbers) }
        try notifications?.close(accounts, under: conditions, at: now, updates)
        try db.set(lastEvent: now, of: accounts.map(\.id))
    }
}
