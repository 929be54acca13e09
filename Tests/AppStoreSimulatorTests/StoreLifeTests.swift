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
        var purchases: [TransactionRecord] = []
        var subscriptions: [String: SubscriptionRecord] = [:]
        var updates: [UpdateRecord] = []
        var held: [HeldOrder] = []

        init(_ conditions: Conditions = Conditions()) throws {
            life = StoreLife(catalogue: try Fixtures.catalogue(), conditions: conditions, numbers: Numbers(sale: 1))
        }

        /// Everything sold by now, in the order of time.
        var transactions: [TransactionRecord] {
            (purchases + subscriptions.values.flatMap { course($0).transactions })
                .sorted { ($0.purchaseDate, $0.id) < ($1.purchaseDate, $1.id) }
        }

        func course(_ record: SubscriptionRecord) -> Course {
            Course(of: record, under: life.conditions, at: now)
        }

        func course(_ group: String) throws -> Course { course(try #require(subscriptions[group])) }

        mutating func record(_ facts: [Fact]) {
            for fact in facts {
                switch fact {
                case .purchase(let record, _): purchases.append(record)
                case .subscription(let record): subscriptions[record.groupID] = record
                case .revocation(let id, let revocation):
                    for group in subscriptions.keys
                    where subscriptions[group].map({ course($0).transaction(id) }) != nil {
                        subscriptions[group]?.revocations[id] = revocation
                    }
                case .appAccountToken, .unfinished: break
                case .held(let order): held.append(order)
                case .released(let number): held.removeAll { $0.number == number }
                case .update(let update): updates.append(update)
                }
            }
        }

        func standing(_ product: ProductID) -> StoreLife.Standing {
            let group = life.catalogue[product]?.subscription?.groupID
            return StoreLife.Standing(
                owned: purchases.first { $0.productID == product && $0.kind == .nonConsumable },
                course: group.flatMap { subscriptions[$0] }.map(course))
        }

        mutating func buy(
            _ product: ProductID, quantity: Int = 1, offer: String? = nil, isCode: Bool = false, token: UUID? = nil,
            payment: PaymentID? = "p"
        ) -> StoreLife.Decision {
            let order = Order(
                accountID: 1, productID: product, quantity: quantity, appAccountToken: token, offerID: offer,
                offerKind: isCode ? .code : nil, payment: payment, device: payment == nil ? nil : "d")
            let outcome = life.sell(order, standing(product), at: now)
            record(outcome.facts)
            return outcome.decision
        }

        mutating func pass(until date: String) { now = Fixtures.date(date) }

        /// Something happens to a subscription.
        mutating func happen(_ group: String, _ event: (Course, Date) -> SubscriptionRecord?) throws {
            if let changed = event(try course(group), now) { subscriptions[group] = changed }
        }

        mutating func cancel(_ group: String) throws {
            try happen(group) { StoreLife.setAutoRenew(false, $0, at: $1) }
        }

        func ends(_ product: ProductID) -> [String] {
            transactions.filter { $0.productID == product }.compactMap { $0.expiresDate?.formatted(.iso8601) }
        }
    }

    /// The number of the first transaction of a sale.
    static func id(_ sale: Int64, _ place: Int64 = 0) -> Int64 { sale * 1_000_000 + place }

    @Test func `a purchase is one unfinished transaction and the answer to its payment`() throws {
        var books = try Books()
        let token = UUID()
        #expect(books.buy("pack", token: token) == .sold(Self.id(1)))
        let record = try #require(books.transactions.first)
        #expect(record.originalID == Self.id(1) && record.purchaseDate == Fixtures.start && record.expiresDate == nil)
        #expect(record.appAccountToken == token && record.price == Price(amount: 9.99, currency: "USD"))
        #expect(!record.isRenewal && record.offer == nil)
        #expect(
            books.updates == [
                UpdateRecord(
                    accountID: 1, device: "d", payment: "p", productID: "pack", state: .purchased,
                    transactionID: Self.id(1))
            ])
    }

    @Test func `what is owned is given again, not sold`() throws {
        var books = try Books()
        _ = books.buy("pack")
        #expect(books.buy("pack", payment: "q") == .alreadyOwned(Self.id(1)))
        #expect(books.transactions.count == 1)
        #expect(books.updates.last?.isAlreadyOwned == true && books.updates.last?.payment == "q")
        #expect(books.buy("pack", payment: nil) == .alreadyOwned(Self.id(1)))
        #expect(books.updates.count == 2)
    }

    @Test func `consumables and non-renewing subscriptions are sold again and again, up to ten at once`() throws {
        var books = try Books()
        #expect(books.buy("coins", quantity: 10) == .sold(Self.id(1)))
        #expect(books.buy("coins", payment: "q") == .sold(Self.id(2)))
        #expect(books.buy("pass", quantity: 2, payment: "r") == .sold(Self.id(3)))
        #expect(books.transactions.map(\.quantity) == [10, 1, 2])
        #expect(books.transactions.map(\.originalID) == [Self.id(1), Self.id(2), Self.id(3)])
    }

    @Test(arguments: [
        ("nothing", 1, nil, StoreFailure.Code.invalidProduct), ("coins", 0, nil, .invalidQuantity),
        ("coins", 11, nil, .invalidQuantity), ("pack", 2, nil, .invalidQuantity),
        ("monthly", 2, nil, .invalidQuantity), ("coins", 1, "half", .invalidOffer),
        ("monthly", 1, "no-such-offer", .invalidOffer), ("monthly", 1, "half", .ineligibleForOffer),
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
        #expect(books.buy("yearly") == .sold(Self.id(1)))
        var monthly = try Books()
        _ = monthly.buy("monthly.alt")
        monthly.pass(until: "2026-06-01T00:00:00Z")
        #expect(
            monthly.ends("monthly.alt") == [
                "2026-02-28T10:00:00Z", "2026-03-31T10:00:00Z", "2026-04-30T10:00:00Z", "2026-05-31T10:00:00Z",
                "2026-06-30T10:00:00Z",
            ])
        #expect(monthly.transactions.map(\.isRenewal) == [false, true, true, true, true])
        #expect(Set(monthly.transactions.map(\.originalID)) == [Self.id(1)])
        #expect(monthly.transactions.map(\.id) == (0..<5).map { Self.id(1, $0) })
        #expect(Set(monthly.transactions.map(\.webOrderLineItemID)).count == 5)
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
        #expect(try books.course("plus").isActive == false)
        #expect(books.buy("pro", payment: "q") == .sold(Self.id(2)))
        #expect(books.transactions.last?.offer == nil && books.transactions.last?.originalID == Self.id(1))
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
        #expect(books.buy("monthly", offer: "half", payment: "q") == .sold(Self.id(2)))
        let record = try #require(books.transactions.last)
        #expect(
            record.offer
                == AppliedOffer(
                    kind: .promotional, id: "half", paymentMode: .payUpFront, period: .months(2), periodCount: 1,
                    price: Price(milliunits: 4990, currency: "USD")))
        #expect(record.expiresDate == Fixtures.date("2026-05-01T00:00:00Z"))
    }

    @Test func `a cancelled subscription runs to its end and says why it ended`() throws {
        var books = try Books()
        _ = books.buy("monthly.alt")
        try books.cancel("plus")
        try books.cancel("plus")
        #expect(try books.course("plus").changedAt == books.now && books.updates.map(\.state) == [.purchased])
        books.pass(until: "2026-02-28T09:59:59Z")
        #expect(try books.course("plus").isActive)
        books.pass(until: "2026-02-28T10:00:00Z")
        #expect(try books.course("plus").isActive == false)
        #expect(try books.course("plus").expirationIntent == .cancelled)
        #expect(try books.course("plus").changedAt == books.now)
        books.pass(until: "2027-01-01T00:00:00Z")
        #expect(books.transactions.count == 1)
    }

    @Test func `buying a cancelled subscription again lets it go on`() throws {
        var books = try Books()
        _ = books.buy("monthly.alt")
        try books.cancel("plus")
        #expect(books.buy("monthly.alt", payment: "q") == .alreadyOwned(Self.id(1)))
        #expect(try books.course("plus").autoRenews)
        books.pass(until: "2026-02-28T10:00:00Z")
        #expect(books.transactions.count == 2)
    }

    @Test func `an upgrade begins at once and marks what it replaces`() throws {
        var books = try Books()
        let token = UUID()
        _ = books.buy("monthly.alt", token: token)
        books.pass(until: "2026-02-10T00:00:00Z")
        #expect(books.buy("pro", payment: "q") == .sold(Self.id(2)))
        #expect(books.transactions.map { $0.upgradedAt != nil } == [true, false])
        let record = try #require(books.transactions.last)
        #expect(record.originalID == Self.id(1) && record.offer == nil && record.appAccountToken == token)
        #expect(record.purchaseDate == Fixtures.date("2026-02-10T00:00:00Z"))
        #expect(record.expiresDate == Fixtures.date("2026-03-10T00:00:00Z"))
        books.pass(until: "2026-03-10T00:00:00Z")
        #expect(books.transactions.map(\.productID) == ["monthly.alt", "pro", "pro"])
    }

    @Test func `a plan of the same level and length begins at once`() throws {
        var books = try Books()
        _ = books.buy("monthly")
        #expect(books.buy("monthly.alt", payment: "q") == .sold(Self.id(2)))
        #expect(books.transactions.map { $0.upgradedAt != nil } == [true, false])
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
        #expect(books.updates.last?.isAlreadyOwned == true)
        books.pass(until: end.addingTimeInterval(-1).formatted(.iso8601))
        #expect(books.transactions.last == first)
        books.pass(until: end.formatted(.iso8601))
        #expect(books.transactions.last?.productID.rawValue == to && books.transactions.last?.purchaseDate == end)
        #expect(books.transactions.last?.originalID == first.originalID)
        #expect(
            books.buy(ProductID(unchecked: to), payment: "r") == .alreadyOwned(Self.id(2, 1)))
    }

    @Test func `a plan that is no longer sold ends the subscription`() throws {
        var conditions = Conditions()
        conditions.withdrawals["weekly"] = [.init(at: Fixtures.date("2026-02-10T00:00:00Z"), value: true)]
        var books = try Books(conditions)
        _ = books.buy("weekly")
        books.pass(until: "2026-03-01T00:00:00Z")
        #expect(books.transactions.count == 2)
        #expect(try books.course("week").expirationIntent == .productUnavailable)
    }

    @Test func `any division of a year gives the same transactions in the same order`() throws {
        func year(_ events: Int) throws -> Books {
            var books = try Books()
            for (index, product) in ["monthly", "paygo", "weekly", "upfront"].enumerated() {
                _ = books.buy(ProductID(unchecked: product), payment: PaymentID(unchecked: "p\(index)"))
            }
            for event in 0..<events {
                books.now = Fixtures.start.addingTimeInterval(365 * 86400 * Double(event + 1) / Double(events + 1))
                // Something that changes nothing but makes the store write down how things stand.
                for group in books.subscriptions.keys {
                    try books.happen(group) { StoreLife.setAutoRenew(false, $0, at: $1) }
                    try books.happen(group) { StoreLife.setAutoRenew(true, $0, at: $1) }
                }
            }
            books.pass(until: "2027-01-31T10:00:00Z")
            return books
        }
        let whole = try year(0)
        #expect(whole.transactions.count == 90)
        for events in [1, 2, 50, 365] {
            let divided = try year(events)
            #expect(divided.transactions == whole.transactions)
        }
    }
}

extension PaymentID {
    init(_ product: ProductID) { self.init(unchecked: product.rawValue) }
}
