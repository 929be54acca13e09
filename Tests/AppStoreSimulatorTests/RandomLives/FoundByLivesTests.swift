import Foundation
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Faults that random histories have found, each with a test.
struct FoundByLivesTests {
    private typealias RulesFixture = StoreRulesTests.RulesFixture

    private static func id(_ place: Int64) -> Int64 { StoreRulesTests.id(1, place) }

    private static func offer(_ mode: String, _ count: Int) -> String {
        #"{"offerID": "half", "paymentMode": "\#(mode)", "subscriptionPeriod": "P1M", "numberOfPeriods": \#(count), "#
            + #""displayPrice": "1.99"}"#
    }

    /// Returns a fixture whose catalogue has a monthly plan with one offer, and a plan of three days.
    private static func fixture(_ offer: String, isIntroductory: Bool = false) throws -> RulesFixture {
        let member = isIntroductory ? #""introductoryOffer": \#(offer)"# : #""adHocOffers": [\#(offer)]"#
        let text = #"""
            {"version": {"major": 4, "minor": 0}, "settings": {"_storefront": "USA", "_locale": "en_US"},
             "subscriptionGroups": [{"id": "plus", "name": "Plus", "subscriptions": [
               {"productID": "month", "displayPrice": "4.99", "recurringSubscriptionPeriod": "P1M", "groupNumber": 1,
                \#(member)},
               {"productID": "days", "displayPrice": "0.99", "recurringSubscriptionPeriod": "P3D", "groupNumber": 2}]}]}
            """#
        var fixture = try RulesFixture()
        fixture.rules = StoreRules(
            catalogue: try Catalogue(parsing: Array(text.utf8), file: "one.storekit"), conditions: RenewalConditions(),
            numbers: SaleNumbers(sale: 1))
        return fixture
    }

    @Test func `a refund of an earlier period does not revoke a later one`() throws {
        var fixture = try RulesFixture()
        _ = fixture.buy("monthly.alt")
        fixture.pass(until: "2026-03-15T00:00:00Z")
        fixture.record([.revocation(Self.id(0), Revocation(at: fixture.now))])
        #expect(fixture.transactions.map(\.id) == [Self.id(0), Self.id(1)])
        #expect(try fixture.state("plus").status == .active)
        fixture.pass(until: "2026-04-15T00:00:00Z")
        #expect(fixture.transactions.count == 3)
    }

    @Test func `no payment is retried after a refund of the last period`() throws {
        var fixture = try RulesFixture()
        _ = fixture.buy("monthly.alt")
        try fixture.happen("plus") { StoreRules.setPaymentsFail(true, $0, at: $1) }
        fixture.pass(until: "2026-03-05T00:00:00Z")
        let sale = try #require(fixture.transactions.first)
        let revocation = Revocation(at: fixture.now)
        fixture.record(StoreRules.revoke(sale, try fixture.state("plus"), revocation))
        #expect(try fixture.state("plus").status == .revoked)
        fixture.pass(until: "2026-03-06T00:00:00Z")
        fixture.subscriptions["plus"]?.renewal.failsUntil = fixture.now
        fixture.pass(until: "2026-03-07T00:00:00Z")
        fixture.record(StoreRules.reverse(revocation, of: sale, try fixture.state("plus"), at: fixture.now))
        #expect(try fixture.state("plus").status == .expired)
        #expect(fixture.transactions.map(\.id) == [Self.id(0)])
    }

    @Test func `billing retry continues while the payments of a subscription or of the whole store fail`() throws {
        var conditions = RenewalConditions()
        conditions.failingPayments = [.init(at: Fixtures.date("2026-03-05T00:00:00Z"), value: true)]
        var fixture = try RulesFixture(conditions)
        _ = fixture.buy("monthly.alt")
        try fixture.happen("plus") { StoreRules.setPaymentsFail(true, $0, at: $1) }
        for (date, fails) in [("2026-03-06T00:00:00Z", false), ("2026-03-07T00:00:00Z", true)] {
            fixture.pass(until: date)
            try fixture.happen("plus") { StoreRules.setPaymentsFail(fails, $0, at: $1) }
        }
        #expect(try fixture.state("plus").status == .billingRetry)
        #expect(fixture.transactions.count == 1)
    }

    @Test func `an offer that is ordered again while it lasts is sold once more`() throws {
        var fixture = try Self.fixture(Self.offer("payUpFront", 2))
        _ = fixture.buy("month")
        _ = fixture.buy("month", offer: "half")
        fixture.pass(until: "2026-03-10T00:00:00Z")
        _ = fixture.buy("month", offer: "half")
        fixture.pass(until: "2026-08-01T00:00:00Z")
        #expect(fixture.transactions.map { $0.offer != nil } == [false, true, true, false, false])
    }

    @Test func `an early renewal keeps the rest of an offer`() throws {
        var fixture = try Self.fixture(Self.offer("payAsYouGo", 3), isIntroductory: true)
        _ = fixture.buy("month")
        fixture.pass(until: "2026-02-10T00:00:00Z")
        fixture.subscriptions["plus"] = try fixture.rules.renew(try fixture.state("plus"), at: fixture.now)
        fixture.pass(until: "2026-06-20T00:00:00Z")
        #expect(fixture.transactions.map { $0.offer != nil } == [true, true, true, false, false, false])
    }

    @Test func `a price increase keeps the rest of an offer`() throws {
        var fixture = try Self.fixture(Self.offer("payAsYouGo", 3), isIntroductory: true)
        _ = fixture.buy("month")
        fixture.pass(until: "2026-02-10T00:00:00Z")
        var conditions = RenewalConditions()
        conditions.priceIncreases = [
            .init(productID: "month", at: fixture.now, price: Price(amount: 6, currency: "USD"), needsConsent: false)
        ]
        fixture.rules = StoreRules(
            catalogue: fixture.rules.catalogue, conditions: conditions, numbers: fixture.rules.numbers)
        fixture.pass(until: "2026-06-20T00:00:00Z")
        #expect(fixture.transactions.map(\.price.milliunits) == [1990, 1990, 1990, 6000, 6000])
    }

    @Test func `a grace period is over before the next payment would be due`() throws {
        var conditions = RenewalConditions()
        conditions.gracePeriods = [.init(at: .distantPast, value: 16)]
        var fixture = try Self.fixture(Self.offer("free", 1))
        fixture.rules = StoreRules(
            catalogue: fixture.rules.catalogue, conditions: conditions, numbers: fixture.rules.numbers)
        _ = fixture.buy("days")
        try fixture.happen("plus") { StoreRules.setPaymentsFail(true, $0, at: $1) }
        fixture.pass(until: "2026-02-04T10:00:00Z")
        #expect(try fixture.state("plus").status == .gracePeriod)
        fixture.pass(until: "2026-02-05T10:00:00Z")
        #expect(try fixture.state("plus").status == .billingRetry)
    }

    @Test func `a requested plan does not change a current grace period`() throws {
        var conditions = RenewalConditions()
        conditions.gracePeriods = [.init(at: .distantPast, value: 16)]
        var fixture = try Self.fixture(Self.offer("free", 1))
        fixture.rules = StoreRules(
            catalogue: fixture.rules.catalogue, conditions: conditions, numbers: fixture.rules.numbers)
        _ = fixture.buy("month")
        try fixture.happen("plus") { StoreRules.setPaymentsFail(true, $0, at: $1) }
        fixture.pass(until: "2026-03-08T10:00:00Z")
        _ = fixture.buy("days", payment: "q")
        #expect(try fixture.state("plus").status == .gracePeriod)
        fixture.pass(until: "2026-03-16T09:00:00Z")
        #expect(try fixture.state("plus").status == .gracePeriod)
    }

    @Test func `a reversed and finished transaction is not sent again`() async throws {
        try await TestStore.with { test in
            let device = try await test.device()
            let bought = try await test.buy("pack")
            try await test.store.refund(bought.transactionID)
            try await test.store.reverseRefund(bought.transactionID)
            #expect(try await test.store.updates(for: device, after: nil).updates.map(\.state) == ["purchased"])
            try await test.store.finish(bought.transactionID, from: device)
            #expect(try await test.store.updates(for: device, after: nil).updates.isEmpty)
        }
    }

    @Test func `a return to a plan in the grace period is consent to its price`() throws {
        var conditions = RenewalConditions()
        conditions.gracePeriods = [.init(at: .distantPast, value: 16)]
        conditions.priceIncreases = [
            .init(
                productID: "monthly.alt", at: Fixtures.date("2026-02-10T00:00:00Z"),
                price: Price(amount: 7, currency: "USD"), needsConsent: true)
        ]
        var fixture = try RulesFixture(conditions)
        _ = fixture.buy("monthly.alt")
        _ = fixture.buy("yearly", payment: "q")
        fixture.pass(until: "2026-02-15T00:00:00Z")
        try fixture.happen("plus") { StoreRules.setPaymentsFail(true, $0, at: $1) }
        fixture.pass(until: "2026-03-02T00:00:00Z")
        #expect(try fixture.state("plus").status == .gracePeriod)
        _ = fixture.buy("monthly.alt", payment: "r")
        #expect(try fixture.state("plus").status == .gracePeriod)
        fixture.pass(until: "2026-03-03T00:00:00Z")
        try fixture.happen("plus") { StoreRules.setPaymentsFail(false, $0, at: $1) }
        #expect(fixture.transactions.last?.price.amount == 7 && fixture.transactions.last?.productID == "monthly.alt")
    }
}
