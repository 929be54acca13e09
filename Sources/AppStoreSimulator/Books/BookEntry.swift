import AppStorePayloads
import Foundation
import SQLStorage
import StoreKitAdapter
import StoreModel

/// One entry in the books: what somebody does, at one instant that is later than everything said before.
struct BookEntry {
    let books: Books
    let now: Date
    /// Those whom it concerns: who acts, then the rest of their family.
    let accounts: [Books.Account]
    let conditions: Conditions
    private(set) var life: StoreLife
    private let numbersBefore: Numbers
    /// What the app's server is told of it; `nil` while nobody is.
    private let notifications: EntryNotifications?
    /// What devices are told of it.
    private var updates: [UpdateRecord] = []

    /// `writer`: who writes down what the app's server is told, if anybody does.
    init(
        _ books: Books, _ accounts: [Books.Account], at now: Date, catalogue: Catalogue, _ writer: NotificationWriter?
    ) throws {
        self.books = books
        self.now = now
        self.accounts = accounts
        conditions = try books.conditions()
        numbersBefore = try books.numbers()
        life = StoreLife(catalogue: catalogue, conditions: conditions, numbers: numbersBefore)
        life.mayPay = accounts[0].canMakePayments
        notifications = try writer.map { [conditions] in
            try EntryNotifications($0, accounts, under: conditions, at: now)
        }
    }

    /// Who acts.
    var account: Books.Account { accounts[0] }

    func course(of record: SubscriptionRecord) -> Course { Course(of: record, under: conditions, at: now) }

    func standing(for product: ProductID, of account: Int64) throws -> StoreLife.Standing {
        let item = life.catalogue[product]
        return StoreLife.Standing(
            owned: item?.kind == .nonConsumable ? try books.owned(product, by: account, at: now) : nil,
            course: try item?.subscription.flatMap { try course(of: product, in: $0.groupID, account) })
    }

    /// An account's own subscription in a group; but what the family shares with it where it has none that runs, and asks
    /// for what it has already.
    private func course(of product: ProductID, in group: String, _ account: Int64) throws -> Course? {
        let own = try books.subscription(in: group, of: account).map(course)
        if own?.isActive == true || own?.status == .billingRetry { return own }
        let shared = try books.shares(in: group, with: account).map(course)
        return shared.first { $0.isActive && $0.current.plan.productID == product } ?? own
    }

    mutating func sell(_ order: Order) throws -> StoreLife.Decision {
        let outcome = life.sell(order, try standing(for: order.productID, of: order.accountID), at: now)
        try record(outcome.facts)
        return outcome.decision
    }

    /// Answers an order that is not even looked at.
    mutating func refuse(_ order: Order, _ failure: StoreFailure) throws {
        var update = StoreLife.update(order, .failed)
        update.failure = failure
        try record([.update(update)])
    }

    /// Keeps an order that is to wait, if there is anything to wait for.
    mutating func hold(_ order: Order, for reason: HeldOrder.Reason) throws -> StoreLife.Decision {
        let standing = try standing(for: order.productID, of: order.accountID)
        let outcome = life.hold(order, for: reason, standing, at: now)
        try record(outcome.facts)
        return outcome.decision
    }

    mutating func release(_ held: HeldOrder) throws -> StoreLife.Decision {
        let standing = try standing(for: held.order.productID, of: held.order.accountID)
        let outcome = life.release(held, standing, at: now)
        try record(outcome.facts)
        return outcome.decision
    }

    mutating func decline(_ held: HeldOrder) throws { try record(life.decline(held)) }

    /// Why an order cannot be taken, whoever gives it.
    func refusal(of order: Order) -> StoreFailure? { life.refusal(of: order) }

    mutating func record(_ facts: [Fact]) throws {
        for fact in facts {
            switch fact {
            case .purchase(let record, let share): try books.insert(record, share: share)
            case .subscription(let record): try books.save(record)
            case .revocation(let id, let revocation):
                try books.save(revocation, of: id, original: try books.original(of: id))
            case .appAccountToken(let id, let token): try books.set(appAccountToken: token, ofPurchase: id)
            case .unfinished(let id): try books.unfinish(id)
            case .held(let held): try books.insert(held)
            case .released(let number): try books.release(number)
            case .update(let update):
                try books.insert(update, at: now)
                updates.append(update)
            }
        }
    }

    mutating func nextNumber() -> Int64 { life.numbers.next() }

    /// Tells the app's server of a transaction what cannot be seen in the books. Nothing while nobody is told.
    func tell(
        _ type: Notice.Kind, _ subtype: Notice.Subtype? = nil, of sale: Sale,
        reason: AppStoreServerAPI.ConsumptionRequestReason? = nil
    ) throws {
        try notifications?.writer.write(
            Notice(type, subtype, sale.transaction), sale.course, of: sale.account, at: now, reason: reason)
    }

    /// Tells it that nobody consents any more to the use of the app by whoever acts.
    func tellOfRescindedConsent() throws {
        try notifications?.writer.writeRescindConsent(of: account, at: now)
    }

    func close() throws {
        if life.numbers != numbersBefore { try books.save(life.numbers) }
        try notifications?.close(accounts, under: conditions, at: now, updates)
        try books.set(lastEvent: now, of: accounts.map(\.id))
    }
}
