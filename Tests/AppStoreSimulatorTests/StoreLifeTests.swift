import Foundation
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The store's rules as tables: orders and time in, facts out, nothing awaited.
struct StoreLifeTests {
    /// One account, whose books are kept in memory.
    struct Books {
        var life: StoreLife
        var now = Fixtures.start
        var transactions: [TransactionRecord] = []
        var subscriptions: [String: SubscriptionRecord] = [:]
        var updates: [UpdateRecord] = []

        init() throws {
            life = StoreLife(catalogue: try Fixtures.catalogue(), numbers: Numbers(transaction: 1, order: 500))
        }

        mutating func record(_ facts: [Fact]) {
            for fact in facts {
                switch fact {
                case .transaction(let record): transactions.append(record)
                case .upgraded(let id):
                    for index in transactions.indices where transactions[index].id == id {
                        transactions[index].isUpgraded = true
                    }
                case .subscription(let record): subscriptions[record.groupID] = record
                case .update(let update): updates.append(update)
                }
            }
        }

        mutating func buy(
            _ product: ProductID, quantity: Int = 1, offer: String? = nil, token: UUID? = nil, payment: PaymentID? = "p"
        ) -> StoreLife.Decision {
            let group = life.catalogue[product]?.subscription?.groupID
            let standing = StoreLife.Standing(
                owned: transactions.first { $0.productID == product && $0.kind == .nonConsumable },
                subscription: group.flatMap { subscriptions[$0] })
            let order = Order(
                accountID: 1, productID: product, quantity: quantity, appAccountToken: token, offerID: offer,
                payment: payment, device: payment == nil ? nil : "d")
            let outcome = life.sell(order, standing, at: now)
            record(outcome.facts)
            return outcome.decision
        }

        mutating func pass(until date: String, limit: Int = 4096) {
            now = Fixtures.date(date)
            while true {
                let due = subscriptions.values.filter { $0.isActive && $0.expiresDate <= now }
                    .sorted { ($0.expiresDate, $0.originalID) < ($1.expiresDate, $1.originalID) }
                guard !due.isEmpty else { return }
                record(life.settle(due, isAll: true, until: now, limit: limit))
            }
        }

        mutating func cancel(_ group: String) throws { record(life.cancel(try #require(subscriptions[group]))) }

        func ends(_ product: ProductID) -> [String] {
            transactions.filter { $0.productID == product }.compactMap { $0.expiresDate?.formatted(.iso8601) }
        }
    }

    @Test func `a purchase is one unfinished transaction and the answer to its payment`() throws {
        var books = try Books()
        let token = UUID()
        #expect(books.buy("pack", token: token) == .sold(1))
        let record = try #require(books.transactions.first)
        #expect(record.originalID == 1 && record.purchaseDate == Fixtures.start && record.expiresDate == nil)
        #expect(record.appAccountToken == token && record.price == Price(amount: 9.99, currency: "USD"))
        #expect(!record.isFinished && !record.isRenewal && record.offer == nil)
        #expect(
            books.updates == [
                UpdateRecord(
                    accountID: 1, device: "d", payment: "p", productID: "pack", state: .purchased, transactionID: 1)
            ])
    }

    @Test func `what is owned is given again, not sold`() throws {
        var books = try Books()
        _ = books.buy("pack")
        #expect(books.buy("pack", payment: "q") == .alreadyOwned(1))
        #expect(books.transactions.count == 1)
        #expect(books.updates.last?.isAlreadyOwned == true && books.updates.last?.payment == "q")
        #expect(books.buy("pack", payment: nil) == .alreadyOwned(1))
        #expect(books.updates.count == 2)
    }

    @Test func `consumables and non-renewing subscriptions are sold again and again, up to ten at once`() throws {
        var books = try Books()
        #expect(books.buy("coins", quantity: 10) == .sold(1))
        #expect(books.buy("coins", payment: "q") == .sold(2))
        #expect(books.buy("pass", quantity: 2, payment: "r") == .sold(3))
        #expect(books.transactions.map(\.quantity) == [10, 1, 2])
        #expect(books.transactions.map(\.originalID) == [1, 2, 3])
    }

    @Test(arguments: [
        ("nothing", 1, nil, StoreFailure.Code.invalidProduct), ("coins", 0, nil, .invalidQuantity),
        ("coins", 11, nil, .invalidQuantity), ("pack", 2, nil, .invalidQuantity),
        ("monthly", 2, nil, .invalidQuantity), ("coins", 1, "half", .invalidOffer),
        ("monthly", 1, "no-such-offer", .invalidOffer), ("monthly", 1, "half", .invalidOffer),
        ("odd", 1, nil, .unsupported),
    ])
    func `a refusal changes nothing and is told to who asked`(
        product: String, quantity: Int, offer: String?, code: StoreFailure.Code
    ) throws {
        var books = try Books()
        guard case .refused(let failure) = books.buy(ProductID(unchecked: product), quantity: quantity, offer: offer)
        else {
            Issue.record("\(product) was sold")
            return
        }
        #expect(failure.code == code && failure.reason.hasSuffix("."))
        #expect(books.transactions.isEmpty && books.subscriptions.isEmpty)
        #expect(books.updates.map(\.state) == [.failed] && books.updates.first?.failure == failure)
        _ = books.buy(ProductID(unchecked: product), quantity: quantity, offer: offer, payment: nil)
        #expect(books.updates.count == 1)
    }

    @Test func `renewals keep the day of the month on which the subscription began`() throws {
        var books = try Books()
        #expect(books.buy("yearly") == .sold(1))
        var monthly = try Books()
        _ = monthly.buy("monthly.alt")
        monthly.pass(until: "2026-06-01T00:00:00Z")
        #expect(
            monthly.ends("monthly.alt") == [
                "2026-02-28T10:00:00Z", "2026-03-31T10:00:00Z", "2026-04-30T10:00:00Z", "2026-05-31T10:00:00Z",
                "2026-06-30T10:00:00Z",
            ])
        #expect(monthly.transactions.map(\.isRenewal) == [false, true, true, true, true])
        #expect(Set(monthly.transactions.map(\.originalID)) == [1])
        #expect(monthly.transactions.map(\.webOrderLineItemID) == [500, 501, 502, 503, 504])
        for (one, next) in zip(monthly.transactions, monthly.transactions.dropFirst()) {
            #expect(one.expiresDate == next.purchaseDate)
        }
    }

    @Test(arguments: [
        ("2026-02-28T09:59:59.999Z", 1), ("2026-02-28T10:00:00Z", 2), ("2026-02-28T10:00:00.001Z", 2),
    ])
    func `a period ends at its instant and not before`(now: String, count: Int) throws {
        var books = try Books()
        _ = books.buy("monthly.alt")
        books.pass(until: now)
        #expect(books.transactions.count == count)
    }

    @Test func `a free trial comes first, then full price, counted from the trial's end`() throws {
        var books = try Books()
        _ = books.buy("monthly")
        books.pass(until: "2026-03-08T00:00:00Z")
        #expect(books.ends("monthly") == ["2026-02-07T10:00:00Z", "2026-03-07T10:00:00Z", "2026-04-07T10:00:00Z"])
        #expect(books.transactions.map(\.offer?.paymentMode) == [.freeTrial, nil, nil])
        #expect(books.transactions.map(\.price.milliunits) == [0, 4990, 4990])
    }

    @Test func `pay as you go lasts its number of periods, pay up front is one long one`() throws {
        var books = try Books()
        _ = books.buy("paygo")
        _ = books.buy("upfront", payment: "q")
        books.pass(until: "2026-05-31T10:00:00Z")
        let slow = books.transactions.filter { $0.productID == "paygo" }
        #expect(slow.map(\.price.milliunits) == [990, 990, 990, 2990, 2990])
        #expect(slow.map { $0.offer?.kind } == [.introductory, .introductory, .introductory, nil, nil])
        #expect(
            books.ends("upfront") == ["2026-04-30T10:00:00Z", "2026-05-30T10:00:00Z", "2026-06-30T10:00:00Z"])
        #expect(books.transactions.filter { $0.productID == "upfront" }.map(\.price.milliunits) == [1990, 2990, 2990])
    }

    @Test func `the introductory offer is had once in a group`() throws {
        var books = try Books()
        _ = books.buy("monthly")
        try books.cancel("plus")
        books.pass(until: "2026-03-01T00:00:00Z")
        #expect(books.subscriptions["plus"]?.isActive == false)
        #expect(books.buy("pro", payment: "q") == .sold(2))
        #expect(books.transactions.last?.offer == nil && books.transactions.last?.originalID == 1)
        #expect(books.transactions.last?.originalPurchaseDate == Fixtures.start)
    }

    @Test func `who never had the introductory offer gets it on coming back`() throws {
        var books = try Books()
        _ = books.buy("monthly.alt")
        try books.cancel("plus")
        books.pass(until: "2026-03-01T00:00:00Z")
        _ = books.buy("pro", payment: "q")
        #expect(books.transactions.last?.offer?.kind == .introductory)
    }

    @Test func `a promotional offer is for those who have subscribed`() throws {
        var books = try Books()
        _ = books.buy("monthly")
        try books.cancel("plus")
        books.pass(until: "2026-03-01T00:00:00Z")
        #expect(books.buy("monthly", offer: "half", payment: "q") == .sold(2))
        let record = try #require(books.transactions.last)
        #expect(
            record.offer == AppliedOffer(kind: .promotional, id: "half", paymentMode: .payUpFront, period: .months(2)))
        #expect(record.expiresDate == Fixtures.date("2026-05-01T00:00:00Z"))
    }

    @Test func `a cancelled subscription runs to its end and says why it ended`() throws {
        var books = try Books()
        _ = books.buy("monthly.alt")
        try books.cancel("plus")
        try books.cancel("plus")
        #expect(books.updates.map(\.state) == [.purchased, .renewalChanged])
        books.pass(until: "2026-02-28T09:59:59Z")
        #expect(books.subscriptions["plus"]?.isActive == true)
        books.pass(until: "2026-02-28T10:00:00Z")
        #expect(books.subscriptions["plus"]?.isActive == false)
        #expect(books.subscriptions["plus"]?.expirationIntent == .cancelled)
        #expect(books.updates.map(\.state) == [.purchased, .renewalChanged, .renewalChanged])
        books.pass(until: "2027-01-01T00:00:00Z")
        #expect(books.transactions.count == 1)
    }

    @Test func `buying a cancelled subscription again lets it go on`() throws {
        var books = try Books()
        _ = books.buy("monthly.alt")
        try books.cancel("plus")
        #expect(books.buy("monthly.alt", payment: "q") == .alreadyOwned(1))
        #expect(books.subscriptions["plus"]?.autoRenews == true)
        books.pass(until: "2026-02-28T10:00:00Z")
        #expect(books.transactions.count == 2)
    }

    @Test func `an upgrade begins at once and marks what it replaces`() throws {
        var books = try Books()
        let token = UUID()
        _ = books.buy("monthly.alt", token: token)
        books.pass(until: "2026-02-10T00:00:00Z")
        #expect(books.buy("pro", payment: "q") == .sold(2))
        #expect(books.transactions.map(\.isUpgraded) == [true, false])
        let record = try #require(books.transactions.last)
        #expect(record.originalID == 1 && record.offer == nil && record.appAccountToken == token)
        #expect(record.purchaseDate == Fixtures.date("2026-02-10T00:00:00Z"))
        #expect(record.expiresDate == Fixtures.date("2026-03-10T00:00:00Z"))
        books.pass(until: "2026-03-10T00:00:00Z")
        #expect(books.transactions.map(\.productID) == ["monthly.alt", "pro", "pro"])
    }

    @Test func `a plan of the same level and length begins at once`() throws {
        var books = try Books()
        _ = books.buy("monthly")
        #expect(books.buy("monthly.alt", payment: "q") == .sold(2))
        #expect(books.transactions.map(\.isUpgraded) == [true, false])
    }

    @Test(arguments: [("pro", "monthly.alt"), ("monthly.alt", "yearly")])
    func `a downgrade, and a plan of another length, begin at the next renewal`(from: String, to: String) throws {
        var books = try Books()
        _ = books.buy("weekly", payment: "w")
        try books.cancel("week")
        _ = books.buy(ProductID(unchecked: from))
        let first = try #require(books.transactions.last)
        #expect(books.buy(ProductID(unchecked: to), payment: "q") == .alreadyOwned(first.id))
        let end = try #require(first.expiresDate)
        #expect(books.updates.suffix(2).map(\.state) == [.renewalChanged, .purchased])
        books.pass(until: end.addingTimeInterval(-1).formatted(.iso8601))
        #expect(books.transactions.last == first)
        books.pass(until: end.formatted(.iso8601))
        #expect(books.transactions.last?.productID.rawValue == to && books.transactions.last?.purchaseDate == end)
        #expect(books.transactions.last?.originalID == first.originalID)
        #expect(
            books.buy(ProductID(unchecked: to), payment: "r") == .alreadyOwned(books.transactions.count == 3 ? 3 : 0))
    }

    @Test func `a plan that is no longer sold ends the subscription`() throws {
        var books = try Books()
        _ = books.buy("weekly")
        let text = Fixtures.catalogueText.replacingOccurrences(of: "\"weekly\"", with: "\"fortnightly\"")
        books.life = StoreLife(
            catalogue: try Catalogue(parsing: Array(text.utf8), file: "changed"), numbers: books.life.numbers)
        books.pass(until: "2026-03-01T00:00:00Z")
        #expect(books.transactions.count == 1)
        #expect(books.subscriptions["week"]?.expirationIntent == .productUnavailable)
    }

    @Test(arguments: [1, 2, 3, 7, 4096])
    func `any division of a year gives the same facts in the same order`(limit: Int) throws {
        func year(_ pass: (inout Books) -> Void) throws -> Books {
            var books = try Books()
            for (index, product) in ["monthly", "paygo", "weekly", "upfront"].enumerated() {
                _ = books.buy(ProductID(unchecked: product), payment: PaymentID(unchecked: "p\(index)"))
            }
            pass(&books)
            return books
        }
        let whole = try year { $0.pass(until: "2027-01-31T10:00:00Z") }
        let divided = try year { books in
            for month in 2...12 {
                books.pass(until: "2026-\(month < 10 ? "0" : "")\(month)-17T03:00:00Z", limit: limit)
            }
            books.pass(until: "2027-01-31T10:00:00Z", limit: limit)
        }
        #expect(divided.transactions == whole.transactions)
        #expect(divided.updates == whole.updates)
        #expect(divided.subscriptions == whole.subscriptions)
        #expect(whole.transactions.map(\.id) == Array(1...Int64(whole.transactions.count)))
        #expect(
            zip(whole.transactions, whole.transactions.dropFirst()).allSatisfy { $0.purchaseDate <= $1.purchaseDate })
    }

    @Test func `when there is more than fits, only what comes before it is done`() throws {
        var books = try Books()
        for product: ProductID in ["weekly", "monthly.alt"] { _ = books.buy(product, payment: .init(product)) }
        let all = books.subscriptions.values.sorted {
            ($0.expiresDate, $0.originalID) < ($1.expiresDate, $1.originalID)
        }
        // A year later, but only the weekly subscription was read: nothing after its own end may happen yet.
        let facts = books.life.settle([all[0]], isAll: false, until: Fixtures.date("2027-01-01T00:00:00Z"))
        books.record(facts)
        #expect(books.transactions.count == 3)
        #expect(books.transactions.last?.productID == "weekly")
    }
}

extension PaymentID {
    init(_ product: ProductID) { self.init(unchecked: product.rawValue) }
}
