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
        var course: Course?
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
    private(set) var courses: [Course] = []
    /// When time alone does something to the account next.
    private(set) var nextChange: Date?
    /// Where each transaction is told, but for what is only said about how it goes on.
    private var places: [Int64: Int] = [:]

    /// Whether it holds nothing but sales, which are told until they are delivered.
    var isEmptyOfNews: Bool { items.allSatisfy { $0.state == .purchased && $0.payment == nil } }

    /// What happened after `start` and by `end`. Without a start, everything that is not delivered, and what the device has
    /// not seen. Of more than `limit` items the first are told, but never a part of what happened at one instant.
    init(_ books: Books, for device: Books.Device, after start: Date?, until end: Date, limit: Int = .max) throws {
        self.end = end
        asked = end
        let told = max(start ?? device.seen, device.seen)
        let conditions = try books.conditions()
        for record in try books.subscriptions(of: device.account.id) {
            courses.append(Course(of: record, under: conditions, at: end))
            try add(courses[courses.count - 1], books, soldAfter: start, told: told)
        }
        for purchase in try books.unfinishedPurchases(of: device.account.id, at: end)
        where purchase.purchaseDate <= end && start.map({ purchase.purchaseDate > $0 }) ?? true { add(purchase, nil) }
        for news in try books.news(for: device, after: told, until: end) { try add(news, books, device) }
        // Equal instants keep the order in which they were found.
        items = items.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
        guard items.count > limit else { return }
        let last = items[limit - 1].at
        items = Array(items.prefix { $0.at <= last })
        self.end = last
    }

    private mutating func add(_ course: Course, _ books: Books, soldAfter start: Date?, told: Date) throws {
        if let change = course.nextChange { nextChange = min(nextChange ?? change, change) }
        var sold = start.map { course.transactions(soldAfter: $0) } ?? course.transactions
        // The books may know already what happens after the end; that is told next time.
        sold.removeAll { $0.purchaseDate > end }
        if !sold.isEmpty {
            let finished = try books.finished(of: course.record.originalID)
            sold.removeAll { finished.contains($0.id) }
        }
        for transaction in sold { add(transaction, course) }
        // Whoever is told of a sale is told how it goes on as well.
        guard sold.isEmpty, course.changedAt > told, course.changedAt <= end else { return }
        items.append(
            Item(
                at: course.changedAt, productID: course.current.plan.productID, state: .renewalChanged,
                transaction: course.latest, course: course))
    }

    private mutating func add(_ transaction: TransactionRecord, _ course: Course?) {
        places[transaction.id] = places[transaction.id] ?? items.count
        items.append(
            Item(
                at: transaction.purchaseDate, productID: transaction.productID,
                state: transaction.revocation == nil ? .purchased : .revoked, transaction: transaction, course: course))
    }

    private mutating func add(_ news: Books.News, _ books: Books, _ device: Books.Device) throws {
        let update = news.update
        let payment = update.device == device.id ? update.payment : nil
        guard let id = update.transactionID else {
            let state: State = update.state == .deferred ? .deferred : .failed
            items.append(
                Item(at: news.at, payment: payment, productID: update.productID, state: state, failure: update.failure))
            return
        }
        if let index = places[id] {
            // A payment that is answered again has its answer where it was asked again.
            if let payment {
                items[index].payment = payment
                items[index].isAlreadyOwned = update.isAlreadyOwned
                items[index].at = max(items[index].at, news.at)
            }
            return
        }
        guard let (transaction, course) = try books.transaction(id, at: end) else { return }
        // What was sold without this device's asking is told until it is delivered, and then no more.
        // So is what was taken back, given back and delivered anew.
        let isSale = update.state == .purchased || transaction.revocation == nil
        if isSale, payment == nil, try books.isFinished(transaction) { return }
        places[id] = items.count
        items.append(
            Item(
                at: news.at, payment: payment, productID: transaction.productID,
                state: transaction.revocation == nil ? .purchased : .revoked, transaction: transaction, course: course,
                isAlreadyOwned: update.isAlreadyOwned))
    }
}

extension Books {
    /// A transaction, and the subscription that it is of; `nil` when it was not sold by `now`.
    func transaction(_ id: Int64, at now: Date) throws -> (TransactionRecord, Course?)? {
        if let purchase = try purchase(id, at: now) { return (purchase, nil) }
        guard let record = try subscription(having: id) else { return nil }
        let course = Course(of: record, under: try conditions(), at: now)
        return course.transaction(id).map { ($0, course) }
    }

    /// All of an account's, in the order in which they were bought.
    func transactions(of account: Int64, at now: Date) throws -> [(TransactionRecord, Course?)] {
        let conditions = try conditions()
        var all: [(TransactionRecord, Course?)] = try purchases(of: account, at: now).map { ($0, nil) }
        for record in try subscriptions(of: account) {
            let course = Course(of: record, under: conditions, at: now)
            all += course.transactions.map { ($0, course) }
        }
        return all.sorted { ($0.0.purchaseDate, $0.0.id) < ($1.0.purchaseDate, $1.0.id) }
    }

    /// What gives an account access: the current period of each subscription, and what was bought for good.
    func entitlements(of account: Int64, at now: Date) throws -> [(TransactionRecord, Course?)] {
        let conditions = try conditions()
        let active = try subscriptions(of: account).map { Course(of: $0, under: conditions, at: now) }
            .filter(\.isActive).map { ($0.latest, Optional($0)) }
        return (active + (try ownedPurchases(of: account, at: now)).map { ($0, nil) }).sorted { $0.0.id < $1.0.id }
    }

    func isFinished(_ transaction: TransactionRecord) throws -> Bool {
        if transaction.kind == .autoRenewableSubscription {
            return try finished(of: transaction.originalID).contains(transaction.id)
        }
        let row = try sql.first("SELECT is_finished FROM purchase WHERE id = ?1", [.integer(transaction.id)])
        return try row?["is_finished"] ?? false
    }
}
