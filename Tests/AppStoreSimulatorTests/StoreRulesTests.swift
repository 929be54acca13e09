import Foundation
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The rules of the store without `await`: orders and instants are the input, changes the output.
struct StoreRulesTests {
    /// One account whose records are kept in memory.
    struct RulesFixture {
        var rules: StoreRules
        var now = Fixtures.start
        var purchases: [TransactionRecord] = []
        var subscriptions: [String: SubscriptionRecord] = [:]
        var updates: [UpdateRecord] = []
        var held: [HeldOrder] = []

        init(_ conditions: RenewalConditions = RenewalConditions()) throws {
            rules = StoreRules(
                catalogue: try Fixtures.catalogue(), conditions: conditions, numbers: SaleNumbers(sale: 1))
        }

        /// All transactions by now, oldest first.
        var transactions: [TransactionRecord] {
            (purchases + subscriptions.values.flatMap { state($0).transactions })
                .sorted { ($0.purchaseDate, $0.id) < ($1.purchaseDate, $1.id) }
        }

        func state(_ record: SubscriptionRecord) -> SubscriptionState {
            SubscriptionState(of: record, under: rules.conditions, at: now)
        }

        func state(_ group: String) throws -> SubscriptionState { state(try #require(subscriptions[group])) }

        mutating func record(_ changes: [StoreChange]) {
            for change in changes {
                switch change {
                case .purchase(let record, _): purchases.append(record)
                case .subscription(let record): subscriptions[record.groupID] = record
                case .revocation(let id, let revocation):
                    for group in subscriptions.keys
                    where subscriptions[group].map({ state($0).transaction(id) }) != nil {
                        subscriptions[group]?.revocations[id] = revocation
                    }
                case .seatAddition, .appAccountToken, .unfinished: break
                case .held(let order): held.append(order)
                case .released(let number): held.removeAll { $0.number == number }
                case .update(let update): updates.append(update)
                }
            }
        }

        func existing(_ product: ProductID) -> StoreRules.ExistingPurchases {
            let group = rules.catalogue[product]?.subscription?.groupID
            return StoreRules.ExistingPurchases(
                owned: purchases.first { $0.productID == product && $0.kind == .nonConsumable },
                state: group.flatMap { subscriptions[$0] }.map(state))
        }

        mutating func buy(
            _ product: ProductID, quantity: Int = 1, offer: String? = nil, isCode: Bool = false, token: UUID? = nil,
            payment: PaymentID? = "p"
        ) -> StoreRules.Decision {
            let order = Order(
                accountID: 1, productID: product, quantity: quantity, appAccountToken: token, offerID: offer,
                offerKind: isCode ? .code : nil, payment: payment, device: payment == nil ? nil : "d")
            let outcome = rules.sell(order, existing(product), at: now)
            record(outcome.changes)
            return outcome.decision
        }

        mutating func pass(until date: String) { now = Fixtures.date(date) }

        /// Applies an event to a subscription.
        mutating func happen(_ group: String, _ event: (SubscriptionState, Date) -> SubscriptionRecord?) throws {
            if let changed = event(try state(group), now) { subscriptions[group] = changed }
        }

        mutating func cancel(_ group: String) throws {
            try happen(group) { StoreRules.setAutoRenew(false, $0, at: $1) }
        }

        func ends(_ product: ProductID) -> [String] {
            transactions.filter { $0.productID == product }.compactMap { $0.expiresDate?.formatted(.iso8601) }
        }
    }

    /// The id of a transaction of a sale; by default the first.
    static func id(_ sale: Int64, _ place: Int64 = 0) -> Int64 { sale * 1_000_000 + place }

    @Test func `a purchase is one transaction and the answer to its payment`() throws {
        var fixture = try RulesFixture()
        let token = UUID()
        #expect(fixture.buy("pack", token: token) == .sold(Self.id(1)))
        let record = try #require(fixture.transactions.first)
        #expect(record.originalID == Self.id(1) && record.purchaseDate == Fixtures.start && record.expiresDate == nil)
        #expect(record.appAccountToken == token && record.price == Price(amount: 9.99, currency: "USD"))
        #expect(!record.isRenewal && record.offer == nil)
        #expect(
            fixture.updates == [
                UpdateRecord(
                    accountID: 1, device: "d", payment: "p", productID: "pack", state: .purchased,
                    transactionID: Self.id(1))
            ])
    }

    @Test func `an owned product is returned again, not sold`() throws {
        var fixture = try RulesFixture()
        _ = fixture.buy("pack")
        #expect(fixture.buy("pack", payment: "q") == .alreadyOwned(Self.id(1)))
        #expect(fixture.transactions.count == 1)
        #expect(fixture.updates.last?.isAlreadyOwned == true && fixture.updates.last?.payment == "q")
        #expect(fixture.buy("pack", payment: nil) == .alreadyOwned(Self.id(1)))
        #expect(fixture.updates.count == 2)
    }

    @Test func `consumables and non-renewing subscriptions are sold again and again, up to ten at once`() throws {
        var fixture = try RulesFixture()
        #expect(fixture.buy("coins", quantity: 10) == .sold(Self.id(1)))
        #expect(fixture.buy("coins", payment: "q") == .sold(Self.id(2)))
        #expect(fixture.buy("pass", quantity: 2, payment: "r") == .sold(Self.id(3)))
        #expect(fixture.transactions.map(\.quantity) == [10, 1, 2])
        #expect(fixture.transactions.map(\.originalID) == [Self.id(1), Self.id(2), Self.id(3)])
    }

    @Test(arguments: [
        ("nothing", 1, nil, StoreFailure.Code.invalidProduct), ("coins", 0, nil, .invalidQuantity),
        ("coins", 11, nil, .invalidQuantity), ("pack", 2, nil, .invalidQuantity),
        ("monthly", 2, nil, .invalidQuantity), ("coins", 1, "half", .invalidOffer),
        ("monthly", 1, "no-such-offer", .invalidOffer), ("monthly", 1, "half", .ineligibleForOffer),
        ("odd", 1, nil, .unsupported),
    ])
    func `a refused order changes nothing and is reported to its device`(
        product: String, quantity: Int, offer: String?, code: StoreFailure.Code
    ) throws {
        var fixture = try RulesFixture()
        guard case .refused(let failure) = fixture.buy(ProductID(unchecked: product), quantity: quantity, offer: offer)
        else {
            Issue.record("\(product) was sold")
            return
        }
        #expect(failure.code == code && failure.reason.hasSuffix("."))
        #expect(fixture.transactions.isEmpty && fixture.subscriptions.isEmpty)
        #expect(fixture.updates.map(\.state) == [.failed] && fixture.updates.first?.failure == failure)
        _ = fixture.buy(ProductID(unchecked: product), quantity: quantity, offer: offer, payment: nil)
        #expect(fixture.updates.count == 1)
    }

    @Test func `renewals keep the day of the month on which the subscription began`() throws {
        var fixture = try RulesFixture()
        #expect(fixture.buy("yearly") == .sold(Self.id(1)))
        var monthly = try RulesFixture()
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
        var fixture = try RulesFixture()
        _ = fixture.buy("monthly.alt")
        fixture.pass(until: now)
        #expect(fixture.transactions.count == count)
    }

    @Test func `a free trial comes first, then full price, counted from the trial's end`() throws {
        var fixture = try RulesFixture()
        _ = fixture.buy("monthly")
        fixture.pass(until: "2026-03-08T00:00:00Z")
        #expect(fixture.ends("monthly") == ["2026-02-07T10:00:00Z", "2026-03-07T10:00:00Z", "2026-04-07T10:00:00Z"])
        #expect(fixture.transactions.map(\.offer?.paymentMode) == [.freeTrial, nil, nil])
        #expect(fixture.transactions.map(\.price.milliunits) == [0, 4990, 4990])
    }

    @Test func `pay as you go lasts its number of periods, and pay up front is one long period`() throws {
        var fixture = try RulesFixture()
        _ = fixture.buy("paygo")
        _ = fixture.buy("upfront", payment: "q")
        fixture.pass(until: "2026-05-31T10:00:00Z")
        let slow = fixture.transactions.filter { $0.productID == "paygo" }
        #expect(slow.map(\.price.milliunits) == [990, 990, 990, 2990, 2990])
        #expect(slow.map { $0.offer?.kind } == [.introductory, .introductory, .introductory, nil, nil])
        #expect(
            fixture.ends("upfront") == ["2026-04-30T10:00:00Z", "2026-05-30T10:00:00Z", "2026-06-30T10:00:00Z"])
        #expect(
            fixture.transactions.filter { $0.productID == "upfront" }.map(\.price.milliunits) == [1990, 2990, 2990])
    }

    @Test func `the introductory offer is sold once in a group`() throws {
        var fixture = try RulesFixture()
        _ = fixture.buy("monthly")
        try fixture.cancel("plus")
        fixture.pass(until: "2026-03-01T00:00:00Z")
        #expect(try fixture.state("plus").isActive == false)
        #expect(fixture.buy("pro", payment: "q") == .sold(Self.id(2)))
        #expect(fixture.transactions.last?.offer == nil && fixture.transactions.last?.originalID == Self.id(1))
        #expect(fixture.transactions.last?.originalPurchaseDate == Fixtures.start)
    }

    @Test func `a returning customer who has not used the introductory offer gets it`() throws {
        var fixture = try RulesFixture()
        _ = fixture.buy("monthly.alt")
        try fixture.cancel("plus")
        fixture.pass(until: "2026-03-01T00:00:00Z")
        _ = fixture.buy("pro", payment: "q")
        #expect(fixture.transactions.last?.offer?.kind == .introductory)
    }

    @Test func `a former subscriber gets a promotional offer`() throws {
        var fixture = try RulesFixture()
        _ = fixture.buy("monthly")
        try fixture.cancel("plus")
        fixture.pass(until: "2026-03-01T00:00:00Z")
        #expect(fixture.buy("monthly", offer: "half", payment: "q") == .sold(Self.id(2)))
        let record = try #require(fixture.transactions.last)
        #expect(
            record.offer
                == AppliedOffer(
                    kind: .promotional, id: "half", paymentMode: .payUpFront, period: .months(2), periodCount: 1,
                    price: Price(milliunits: 4990, currency: "USD")))
        #expect(record.expiresDate == Fixtures.date("2026-05-01T00:00:00Z"))
    }

    @Test func `a cancelled subscription runs to its end and has the reason`() throws {
        var fixture = try RulesFixture()
        _ = fixture.buy("monthly.alt")
        try fixture.cancel("plus")
        try fixture.cancel("plus")
        #expect(try fixture.state("plus").changedAt == fixture.now && fixture.updates.map(\.state) == [.purchased])
        fixture.pass(until: "2026-02-28T09:59:59Z")
        #expect(try fixture.state("plus").isActive)
        fixture.pass(until: "2026-02-28T10:00:00Z")
        #expect(try fixture.state("plus").isActive == false)
        #expect(try fixture.state("plus").expirationIntent == .cancelled)
        #expect(try fixture.state("plus").changedAt == fixture.now)
        fixture.pass(until: "2027-01-01T00:00:00Z")
        #expect(fixture.transactions.count == 1)
    }

    @Test func `buying a cancelled subscription again turns auto-renewal on`() throws {
        var fixture = try RulesFixture()
        _ = fixture.buy("monthly.alt")
        try fixture.cancel("plus")
        #expect(fixture.buy("monthly.alt", payment: "q") == .alreadyOwned(Self.id(1)))
        #expect(try fixture.state("plus").autoRenews)
        fixture.pass(until: "2026-02-28T10:00:00Z")
        #expect(fixture.transactions.count == 2)
    }

    @Test func `an upgrade begins at once and marks the replaced transaction`() throws {
        var fixture = try RulesFixture()
        let token = UUID()
        _ = fixture.buy("monthly.alt", token: token)
        fixture.pass(until: "2026-02-10T00:00:00Z")
        #expect(fixture.buy("pro", payment: "q") == .sold(Self.id(2)))
        #expect(fixture.transactions.map { $0.upgradedAt != nil } == [true, false])
        let record = try #require(fixture.transactions.last)
        #expect(record.originalID == Self.id(1) && record.offer == nil && record.appAccountToken == token)
        #expect(record.purchaseDate == Fixtures.date("2026-02-10T00:00:00Z"))
        #expect(record.expiresDate == Fixtures.date("2026-03-10T00:00:00Z"))
        fixture.pass(until: "2026-03-10T00:00:00Z")
        #expect(fixture.transactions.map(\.productID) == ["monthly.alt", "pro", "pro"])
    }

    @Test func `a plan of the same level and length begins at once`() throws {
        var fixture = try RulesFixture()
        _ = fixture.buy("monthly")
        #expect(fixture.buy("monthly.alt", payment: "q") == .sold(Self.id(2)))
        #expect(fixture.transactions.map { $0.upgradedAt != nil } == [true, false])
    }

    @Test(arguments: [("pro", "monthly.alt"), ("monthly.alt", "yearly")])
    func `a downgrade, and a plan of another length, begin at the next renewal`(from: String, to: String) throws {
        var fixture = try RulesFixture()
        _ = fixture.buy("weekly", payment: "w")
        try fixture.cancel("week")
        _ = fixture.buy(ProductID(unchecked: from))
        let first = try #require(fixture.transactions.last)
        #expect(fixture.buy(ProductID(unchecked: to), payment: "q") == .alreadyOwned(first.id))
        let end = try #require(first.expiresDate)
        #expect(fixture.updates.last?.isAlreadyOwned == true)
        fixture.pass(until: end.addingTimeInterval(-1).formatted(.iso8601))
        #expect(fixture.transactions.last == first)
        fixture.pass(until: end.formatted(.iso8601))
        #expect(fixture.transactions.last?.productID.rawValue == to && fixture.transactions.last?.purchaseDate == end)
        #expect(fixture.transactions.last?.originalID == first.originalID)
        #expect(
            fixture.buy(ProductID(unchecked: to), payment: "r") == .alreadyOwned(Self.id(2, 1)))
    }

    @Test func `a plan that is no longer sold ends the subscription`() throws {
        var conditions = RenewalConditions()
        conditions.withdrawals["weekly"] = [.init(at: Fixtures.date("2026-02-10T00:00:00Z"), value: true)]
        var fixture = try RulesFixture(conditions)
        _ = fixture.buy("weekly")
        fixture.pass(until: "2026-03-01T00:00:00Z")
        #expect(fixture.transactions.count == 2)
        #expect(try fixture.state("week").expirationIntent == .productUnavailable)
    }

    @Test func `a year gives the same transactions in the same order, in any number of steps`() throws {
        func year(_ events: Int) throws -> RulesFixture {
            var fixture = try RulesFixture()
            for (index, product) in ["monthly", "paygo", "weekly", "upfront"].enumerated() {
                _ = fixture.buy(ProductID(unchecked: product), payment: PaymentID(unchecked: "p\(index)"))
            }
            for event in 0..<events {
                fixture.now = Fixtures.start.addingTimeInterval(365 * 86400 * Double(event + 1) / Double(events + 1))
                // This event only writes the present state.
                for group in fixture.subscriptions.keys {
                    try fixture.happen(group) { StoreRules.setAutoRenew(false, $0, at: $1) }
                    try fixture.happen(group) { StoreRules.setAutoRenew(true, $0, at: $1) }
                }
            }
            fixture.pass(until: "2027-01-31T10:00:00Z")
            return fixture
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
