import Foundation
import Primitives
import SimulatorControl
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The conditions of win-back offers, at the instants at which they begin and cease to hold.
@Suite(.timeLimit(.minutes(5)))
struct WinBackConditionTests {
    private static let catalogue = """
        {"version": {"major": 4, "minor": 0}, "settings": {"_storefront": "USA"}, "subscriptionGroups": [
          {"id": "plus", "name": "Plus", "subscriptions": [
            {"productID": "monthly", "displayPrice": "4.99", "recurringSubscriptionPeriod": "P1M", "groupNumber": 1,
             "introductoryOffer": {"paymentMode": "free", "subscriptionPeriod": "P1M"},
             "winbackOffers": [
               {"offerID": "back", "paymentMode": "payUpFront", "subscriptionPeriod": "P1M", "displayPrice": "0.99"},
               {"offerID": "free", "paymentMode": "free", "subscriptionPeriod": "P1M"}]},
            {"productID": "weekly", "displayPrice": "0.99", "recurringSubscriptionPeriod": "P1W",
             "groupNumber": 2}]}]}
        """

    private func withStore(_ body: (TestStore) async throws -> Void) async throws {
        let catalogue = try CatalogueFixtures.catalogue(Self.catalogue)
        try await TestStore.with(change: { $0.catalogue = catalogue }, body)
    }

    /// The offers in the signed renewal info, which the list of the control API and the sale confirm.
    private func eligible(_ test: TestStore, _ account: AccountName = "anna") async throws -> [String] {
        let signed = try await test.subscription(account).signedRenewalInfo
        let ids = try test.info(signed).eligibleWinBackOfferIds ?? []
        let listed = try test.store.winBackOffers(for: account)
        #expect(listed.filter { $0.isEligible == true }.map(\.conditions.offerID) == ids)
        #expect(listed.allSatisfy { ($0.reason == nil) == ($0.isEligible == true) })
        for offer in listed where offer.isEligible == false {
            await test.fails(.ineligibleForOffer) {
                try await test.store.buy(
                    .init(productID: "monthly", offerID: offer.conditions.offerID, offerKind: .winBack), for: account)
            }
        }
        return ids
    }

    private func set(_ test: TestStore, _ conditions: StoreControlWire.WinBackConditions) async throws {
        try await test.store.setWinBackConditions(conditions, of: "monthly")
    }

    private func end(_ test: TestStore, _ product: ProductID = "monthly", _ account: AccountName = "anna") async throws
    {
        _ = try await test.store.cancel(product, for: account)
        let subscription = try await test.subscription(account)
        if subscription.expiresAt > test.store.clock.now() {
            _ = try await test.store.advance(.init(to: subscription.expiresAt))
        }
    }

    @Test func `an offer begins and ends months after the subscription, in the calendar of UTC`() async throws {
        try await withStore { test in
            // The subscription ends on 31 December at 23:30 UTC, which is January in the zones east of UTC.
            _ = try await test.store.advance(.init(to: Fixtures.date("2026-10-31T23:30:00Z")))
            try await test.store.createAccount("anna")
            try await test.store.buy(.init(productID: "monthly", allowsIntroductoryOffer: false), for: "anna")
            _ = try await test.store.advance(.init(to: Fixtures.date("2026-12-01T00:00:00Z")))
            try await end(test)
            #expect(try await test.subscription().expiresAt == Fixtures.date("2026-12-31T23:30:00Z"))
            #expect(try await eligible(test) == ["back", "free"])
            try await set(test, .init(offerID: "back", minimumMonthsSinceEnd: 2, maximumMonthsSinceEnd: 3))
            #expect(try await eligible(test) == ["free"])
            // Two months after 31 December are 28 February.
            _ = try await test.store.advance(.init(to: Fixtures.date("2027-02-28T23:29:59.999Z")))
            #expect(try await eligible(test) == ["free"])
            _ = try await test.store.advance(.init(to: Fixtures.date("2027-03-01T00:30:00+01:00")))
            #expect(try await eligible(test) == ["back", "free"])
            _ = try await test.store.advance(.init(to: Fixtures.date("2027-03-31T23:30:00Z")))
            #expect(try await eligible(test) == ["back", "free"])
            _ = try await test.store.advance(.init(to: Fixtures.date("2027-03-31T23:30:00.001Z")))
            #expect(try await eligible(test) == ["free"])
            // Without conditions, the offer is for every ended subscription again.
            try await set(test, .init(offerID: "back"))
            #expect(try await eligible(test) == ["back", "free"])
        }
    }

    @Test func `paid months count without free periods and refunds`() async throws {
        try await withStore { test in
            try await test.buy("monthly")
            _ = try await test.store.advance(.init(period: .months(3)))
            // One free month and three paid ones.
            try await end(test)
            for (months, isEligible) in [(3, true), (4, false)] {
                try await set(test, .init(offerID: "back", paidMonths: months))
                #expect(try await eligible(test).contains("back") == isEligible, "\(months)")
            }
            try await set(test, .init(offerID: "back", paidMonths: 3))
            let sales = try await test.store.transactions(of: "anna")
            try await test.store.refund(sales[2].transactionID, .init())
            #expect(try await eligible(test) == ["free"])
            try await test.store.reverseRefund(sales[2].transactionID)
            #expect(try await eligible(test) == ["back", "free"])
        }
    }

    @Test func `paid months of several subscriptions add up, and thirty days of weeks are a month`() async throws {
        try await withStore { test in
            try await set(test, .init(offerID: "back", paidMonths: 2))
            try await test.store.createAccount("anna")
            // February has 28 days, and counts as a month.
            _ = try await test.store.advance(.init(to: Fixtures.date("2026-02-01T00:00:00Z")))
            try await test.store.buy(.init(productID: "monthly", allowsIntroductoryOffer: false), for: "anna")
            try await end(test)
            #expect(try await eligible(test) == ["free"])
            _ = try await test.store.advance(.init(period: .months(1)))
            try await test.store.buy(.init(productID: "weekly"), for: "anna")
            _ = try await test.store.advance(.init(period: .weeks(3)))
            try await end(test, "weekly")
            // Four weeks are less than 30 days. The offers of the renewal info are those of the last product.
            let listed = try test.store.winBackOffers(for: "anna")
            #expect(listed.map(\.isEligible) == [false, true] && listed[0].reason?.contains("2 paid months") == true)
            try await test.store.buy(.init(productID: "weekly"), for: "anna")
            try await end(test, "weekly")
            #expect(try test.store.winBackOffers(for: "anna").map(\.isEligible) == [true, true])
        }
    }

    @Test func `a customer waits between two win-back offers`() async throws {
        try await withStore { test in
            try await test.store.createAccount("anna")
            try await test.store.buy(.init(productID: "monthly", allowsIntroductoryOffer: false), for: "anna")
            try await end(test)
            try await set(test, .init(offerID: "back", monthsBetweenOffers: 2))
            #expect(try await eligible(test) == ["back", "free"])
            let redeemed = test.store.clock.now()
            // Another win-back offer of the group counts as well.
            try await test.store.buy(
                .init(productID: "monthly", offerID: "free", offerKind: .winBack), for: "anna")
            try await end(test)
            #expect(try await eligible(test) == ["free"])
            let end = SubscriptionPeriod.months(2).end(from: redeemed)
            _ = try await test.store.advance(.init(to: end.addingTimeInterval(-0.001)))
            #expect(try await eligible(test) == ["free"])
            _ = try await test.store.advance(.init(to: end))
            #expect(try await eligible(test) == ["back", "free"])
            let sold = try await test.store.buy(
                .init(productID: "monthly", offerID: "back", offerKind: .winBack), for: "anna")
            #expect(try test.payload(sold.signedTransaction).offerIdentifier == "back")
        }
    }

    @Test func `a device reads the conditions in the renewal info, and its purchase follows them`() async throws {
        try await withStore { test in
            let phone = try await Listener(test)
            try await test.store.buy(.init(productID: "monthly", allowsIntroductoryOffer: false), for: "anna")
            try await end(test)
            _ = try await phone.receive()
            for id in ["back", "free"] { try await set(test, .init(offerID: id, minimumMonthsSinceEnd: 1)) }
            try await test.store.add(
                Payment(id: "p", productID: "monthly", offer: .winBack("back")), from: phone.device)
            #expect(try await phone.receive().last?.failure?.code == .ineligibleForOffer)
            _ = try await test.store.advance(.init(period: .months(1)))
            try await test.store.add(
                Payment(id: "q", productID: "monthly", offer: .winBack("back")), from: phone.device)
            let sold = try #require(try await phone.receive().last)
            #expect(sold.paymentID == "q" && sold.transaction?.offer?.id == "back")
        }
    }

    @Test func `conditions are kept and exported, and are refused outside of App Store Connect's ranges`() async throws
    {
        try await withStore { test in
            let client = StoreRoutesTests.Client(test)
            let path = "/control/v1/products/monthly/win-back-conditions"
            for (body, status) in [
                (#"{"offerID":"nothing"}"#, 422), (#"{"offerID":"back","paidMonths":0}"#, 400),
                (#"{"offerID":"back","paidMonths":61}"#, 400), (#"{"offerID":"back","minimumMonthsSinceEnd":25}"#, 400),
                (#"{"offerID":"back","monthsBetweenOffers":1}"#, 400), (#"{"paidMonths":2}"#, 400),
                (#"{"offerID":"back","minimumMonthsSinceEnd":3,"maximumMonthsSinceEnd":2}"#, 422),
            ] { #expect(try await client.ask(.put, path, body).status == status, "\(body)") }
            #expect(
                try await client.ask(.put, "/control/v1/products/x/win-back-conditions", #"{"offerID":"back"}"#).status
                    == 404)
            #expect(
                try test.store.winBackOffers().map(\.conditions) == [.init(offerID: "back"), .init(offerID: "free")])
            let given =
                #"{"offerID":"back","paidMonths":6,"minimumMonthsSinceEnd":2,"maximumMonthsSinceEnd":24,"monthsBetweenOffers":2}"#
            #expect(try await client.ask(.put, path, given).status == 200)
            try await set(test, .init(offerID: "free", paidMonths: 1))
            let state = try await test.store.exportState()
            try await set(test, .init(offerID: "free"))
            try await test.store.importState(state)
            let listed = try await client.ask(
                .get, "/control/v1/win-back-offers", as: StoreControlWire.WinBackOffers.self
            ).winBackOffers
            #expect(listed.map(\.conditions.paidMonths) == [6, 1] && listed[0].conditions.monthsBetweenOffers == 2)

            let text = "\(state)"
            #expect(text.contains(#"paidMonths\":6"#))
            let changed = try JSONValue(parsing: text.replacing(#"paidMonths\":6"#, with: #"paidMonths\":-6"#))
            await test.fails(.invalidValue) { try await test.store.importState(changed) }
        }
    }
}
