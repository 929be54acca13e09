import Foundation
import SQLStorage
import StoreKitAdapter
import StoreModel

/// One entry in the books, at one instant: whatever is due by then is done first, then what is asked.
struct BookEntry {
    let books: Books
    let now: Date
    private var life: StoreLife
    private let numbersBefore: Numbers
    /// The accounts that have news.
    private(set) var touched: Set<Int64> = []

    static let batch = 2048

    /// `now` is asked of the clock as the books have it: entries are made in the order of the database.
    init(_ sql: any SQLConnection, catalogue: Catalogue, clock: AnchoredClock) throws {
        books = Books(sql)
        now = try books.now(clock)
        numbersBefore = try books.numbers()
        life = StoreLife(catalogue: catalogue, numbers: numbersBefore)
    }

    /// Does what is due. Returns whether something may be left: at most a batch is done in one call.
    mutating func settleBatch() throws -> Bool {
        let due = try books.due(at: now, limit: Self.batch)
        guard !due.isEmpty else { return false }
        try record(life.settle(due, isAll: due.count < Self.batch, until: now))
        return true
    }

    mutating func settle() throws {
        while try settleBatch() {}
    }

    mutating func sell(_ order: Order, in catalogue: Catalogue) throws -> StoreLife.Decision {
        let item = catalogue[order.productID]
        let standing = StoreLife.Standing(
            owned: item?.kind == .nonConsumable ? try books.owned(order.productID, by: order.accountID) : nil,
            subscription: try item?.subscription.flatMap {
                try books.subscription(in: $0.groupID, of: order.accountID)
            })
        let outcome = life.sell(order, standing, at: now)
        try record(outcome.facts)
        return outcome.decision
    }

    mutating func cancel(_ subscription: SubscriptionRecord) throws {
        try record(life.cancel(subscription))
    }

    mutating func record(_ facts: [Fact]) throws {
        touched.formUnion(try books.save(facts, at: now))
    }

    mutating func nextOrderNumber() -> Int64 { life.numbers.nextOrder() }

    func close() throws {
        if life.numbers != numbersBefore { try books.save(life.numbers) }
    }
}

extension Books {
    /// What time it is by the clock as the books have it, never earlier than `clock` has said itself.
    func now(_ clock: AnchoredClock) throws -> Date {
        let anchor = try self.clock()
        let now = anchor.reading(at: clock.base.now())
        return anchor.revision == clock.anchor.revision ? max(now, clock.now()) : now
    }
}
