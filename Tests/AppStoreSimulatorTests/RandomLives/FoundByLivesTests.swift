import Foundation
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Faults that random lives have found, by name.
struct FoundByLivesTests {
    private typealias Books = StoreLifeTests.Books

    private static func id(_ place: Int64) -> Int64 { StoreLifeTests.id(1, place) }

    private static func offer(_ mode: String, _ count: Int) -> String {
        #"{"offerID": "half", "paymentMode": "\#(mode)", "subscriptionPeriod": "P1M", "numberOfPeriods": \#(count), "#
            + #""displayPrice": "1.99"}"#
    }

    /// One product of a month with an offer, so that nothing else can happen.
    private static func books(_ offer: String, isIntroductory: Bool = false) throws -> Books {
        let member = isIntroductory ? #""introductoryOffer": \#(offer)"# : #""adHocOffers": [\#(offer)]"#
        let text = #"""
            {"version": {"major": 4, "minor": 0}, "settings": {"_storefront": "USA", "_locale": "en_US"},
             "subscriptionGroups": [{"id": "plus", "name": "Plus", "subscriptions": [
               {"productID": "month", "displayPrice": "4.99", "recurringSubscriptionPeriod": "P1M", "groupNumber": 1,
                \#(member)},
               {"productID": "days", "displayPrice": "0.99", "recurringSubscriptionPeriod": "P3D", "groupNumber": 2}]}]}
            """#
        var books = try Books()
        books.life = StoreLife(
            catalogue: try Catalogue(parsing: Array(text.utf8), file: "one.storekit"), conditions: Conditions(),
            numbers: Numbers(sale: 1))
        return books
    }

    @Test func `a refund of an earlier period takes back no later one`() throws {
        var books = try Books()
        _ = books.buy("monthly.alt")
        books.pass(until: "2026-03-15T00:00:00Z")
        books.record([.revocation(Self.id(0), Revocation(at: books.now))])
        #expect(books.transactions.map(\.id) == [Self.id(0), Self.id(1)])
        #expect(try books.course("plus").status == .active)
        books.pass(until: "2026-04-15T00:00:00Z")
        #expect(books.transactions.count == 3)
    }

    @Test func `nothing is collected for a period that was given back while its successor was unpaid`() throws {
        var books = try Books()
        _ = books.buy("monthly.alt")
        try books.happen("plus") { StoreLife.setPaymentsFail(true, $0, at: $1) }
        books.pass(until: "2026-03-05T00:00:00Z")
        let sale = try #require(books.transactions.first)
        let revocation = Revocation(at: books.now)
        books.record(StoreLife.revoke(sale, try books.course("plus"), revocation))
        #expect(try books.course("plus").status == .revoked)
        books.pass(until: "2026-03-06T00:00:00Z")
        books.subscriptions["plus"]?.renewal.failsUntil = books.now
        books.pass(until: "2026-03-07T00:00:00Z")
        books.record(StoreLife.reverse(revocation, of: sale, try books.course("plus"), at: books.now))
        #expect(try books.course("plus").status == .expired)
        #expect(books.transactions.map(\.id) == [Self.id(0)])
    }

    @Test func `what failed before stays failed when it is let fail again`() throws {
        var conditions = Conditions()
        conditions.failingPayments = [.init(at: Fixtures.date("2026-03-05T00:00:00Z"), value: true)]
        var books = try Books(conditions)
        _ = books.buy("monthly.alt")
        try books.happen("plus") { StoreLife.setPaymentsFail(true, $0, at: $1) }
        for (date, fails) in [("2026-03-06T00:00:00Z", false), ("2026-03-07T00:00:00Z", true)] {
            books.pass(until: date)
            try books.happen("plus") { StoreLife.setPaymentsFail(fails, $0, at: $1) }
        }
        #expect(try books.course("plus").status == .billingRetry)
        #expect(books.transactions.count == 1)
    }

    @Test func `the same offer again is sold again, once`() throws {
        var books = try Self.books(Self.offer("payUpFront", 2))
        _ = books.buy("month")
        _ = books.buy("month", offer: "half")
        books.pass(until: "2026-03-10T00:00:00Z")
        _ = books.buy("month", offer: "half")
        books.pass(until: "2026-08-01T00:00:00Z")
        #expect(books.transactions.map { $0.offer != nil } == [false, true, true, false, false])
    }

    @Test func `a renewal before its time leaves the rest of an offer`() throws {
        var books = try Self.books(Self.offer("payAsYouGo", 3), isIntroductory: true)
        _ = books.buy("month")
        books.pass(until: "2026-02-10T00:00:00Z")
        books.subscriptions["plus"] = try books.life.renew(try books.course("plus"), at: books.now)
        books.pass(until: "2026-06-20T00:00:00Z")
        #expect(books.transactions.map { $0.offer != nil } == [true, true, true, false, false, false])
    }

    @Test func `a higher price leaves the rest of an offer`() throws {
        var books = try Self.books(Self.offer("payAsYouGo", 3), isIntroductory: true)
        _ = books.buy("month")
        books.pass(until: "2026-02-10T00:00:00Z")
        var conditions = Conditions()
        conditions.priceIncreases = [
            .init(productID: "month", at: books.now, price: Price(amount: 6, currency: "USD"), needsConsent: false)
        ]
        books.life = StoreLife(catalogue: books.life.catalogue, conditions: conditions, numbers: books.life.numbers)
        books.pass(until: "2026-06-20T00:00:00Z")
        #expect(books.transactions.map(\.price.milliunits) == [1990, 1990, 1990, 6000, 6000])
    }

    @Test func `a grace period is over before the next payment would be due`() throws {
        var conditions = Conditions()
        conditions.gracePeriods = [.init(at: .distantPast, value: 16)]
        var books = try Self.books(Self.offer("free", 1))
        books.life = StoreLife(catalogue: books.life.catalogue, conditions: conditions, numbers: books.life.numbers)
        _ = books.buy("days")
        try books.happen("plus") { StoreLife.setPaymentsFail(true, $0, at: $1) }
        books.pass(until: "2026-02-04T10:00:00Z")
        #expect(try books.course("plus").status == .gracePeriod)
        books.pass(until: "2026-02-05T10:00:00Z")
        #expect(try books.course("plus").status == .billingRetry)
    }

    @Test func `another plan that is asked for changes no grace period that runs`() throws {
        var conditions = Conditions()
        conditions.gracePeriods = [.init(at: .distantPast, value: 16)]
        var books = try Self.books(Self.offer("free", 1))
        books.life = StoreLife(catalogue: books.life.catalogue, conditions: conditions, numbers: books.life.numbers)
        _ = books.buy("month")
        try books.happen("plus") { StoreLife.setPaymentsFail(true, $0, at: $1) }
        books.pass(until: "2026-03-08T10:00:00Z")
        _ = books.buy("days", payment: "q")
        #expect(try books.course("plus").status == .gracePeriod)
        books.pass(until: "2026-03-16T09:00:00Z")
        #expect(try books.course("plus").status == .gracePeriod)
    }

    @Test func `what was given back and finished is not told again because it was once taken back`() async throws {
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

    @Test func `who comes back to a plan while its payment is late agrees to its price`() throws {
        var conditions = Conditions()
        conditions.gracePeriods = [.init(at: .distantPast, value: 16)]
        conditions.priceIncreases = [
            .init(
                productID: "monthly.alt", at: Fixtures.date("2026-02-10T00:00:00Z"),
                price: Price(amount: 7, currency: "USD"), needsConsent: true)
        ]
        var books = try Books(conditions)
        _ = books.buy("monthly.alt")
        _ = books.buy("yearly", payment: "q")
        books.pass(until: "2026-02-15T00:00:00Z")
        try books.happen("plus") { StoreLife.setPaymentsFail(true, $0, at: $1) }
        books.pass(until: "2026-03-02T00:00:00Z")
        #expect(try books.course("plus").status == .gracePeriod)
        _ = books.buy("monthly.alt", payment: "r")
        #expect(try books.course("plus").status == .gracePeriod)
        books.pass(until: "2026-03-03T00:00:00Z")
        try books.happen("plus") { StoreLife.setPaymentsFail(false, $0, at: $1) }
        #expect(books.transactions.last?.price.amount == 7 && books.transactions.last?.productID == "monthly.alt")
    }
}
