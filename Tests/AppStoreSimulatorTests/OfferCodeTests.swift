import Primitives
import SimulatorControl
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Offer codes. `Fixtures.catalogueText` sells `paygo` with an introductory offer and `spring`, a free month by code.
struct OfferCodeTests {
    @Test func `a customer gets the offer of a code once`() async throws {
        try await TestStore.with { test in
            try await test.store.createAccount("anna")
            let redeemed = try await test.store.redeem(.init(code: "spring"), for: "anna")
            #expect(redeemed.productID == "paygo")
            await #expect(throws: StoreFailure.self) { try await test.store.redeem(.init(code: "spring"), for: "anna") }
            try await test.advance(.months(1))
            _ = try await test.store.cancel("paygo", for: "anna")
            try await test.advance(.months(2))
            let failure = await #expect(throws: StoreFailure.self, "The code must be refused months later too.") {
                try await test.store.redeem(.init(code: "spring"), for: "anna")
            }
            #expect(failure?.code == .ineligibleForOffer)
            try await test.store.createAccount("ben")
            try await test.store.redeem(.init(code: "spring"), for: "ben")
        }
    }

    @Test func `a code of an active customer is used up before its offer is sold`() async throws {
        try await TestStore.with { test in
            try await test.buy("paygo")
            try await test.store.redeem(.init(code: "spring"), for: "anna")
            #expect(try await test.payloads().count == 1, "The offer must be sold at the next renewal only.")
            await #expect(throws: StoreFailure.self) { try await test.store.redeem(.init(code: "spring"), for: "anna") }
            try await test.advance(.months(4))
            let offers = try await test.payloads().map(\.offerIdentifier)
            #expect(offers.filter { $0 == "spring" }.count == 1)
            await #expect(throws: StoreFailure.self) { try await test.store.redeem(.init(code: "spring"), for: "anna") }
        }
    }

    @Test func `the list of codes has the state for an account, and the prices of its storefront`() async throws {
        let texts = [
            #"{"id": "one", "name": "One", "subscriptions": ["#
                + #"{"productID": "a", "displayPrice": "4.99", "recurringSubscriptionPeriod": "P1M", "groupNumber": 1, "codeOffers": ["#
                + #"{"referenceName": "both", "paymentMode": "payUpFront", "displayPrice": "1.99", "subscriptionPeriod": "P1M", "eligibility": ["new"], "isStackable": false},"#
                + #"{"referenceName": "again", "paymentMode": "free", "subscriptionPeriod": "P1W", "eligibility": ["existing", "expired"]}]}]}"#,
            #"{"id": "two", "name": "Two", "subscriptions": ["#
                + #"{"productID": "b", "displayPrice": "4.99", "recurringSubscriptionPeriod": "P1M", "groupNumber": 1, "codeOffers": ["#
                + #"{"referenceName": "both", "paymentMode": "free", "subscriptionPeriod": "P1M", "eligibility": ["new", "existing", "expired"]}]}]}"#,
        ]
        let text =
            #"{"version": {"major": 4, "minor": 0}, "settings": {"_storefront": "USA"}, "subscriptionGroups": [\#(texts.joined(separator: ","))]}"#
        let file = try CatalogueFixtures.catalogue(text)
        try await TestStore.with(change: { $0.catalogue = file }) { test in
            try await test.store.createAccount("anna", storefront: "DEU")
            let client = StoreRoutesTests.Client(test)
            func list(_ query: String = "?account=anna") async throws -> [StoreControlWire.OfferCode] {
                try await client.ask(
                    .get, "/control/v1/offer-codes" + query, as: StoreControlWire.OfferCodes.self
                ).offerCodes
            }
            func states() async throws -> [StoreControlWire.OfferCode.State?] { try await list().map(\.state) }
            let all = try await list("")
            #expect(all.map(\.code) == ["a:both", "again", "b:both"] && all.map(\.productID) == ["a", "a", "b"])
            #expect(
                all.allSatisfy { $0.state == nil && $0.reason == nil } && all.map(\.isStackable) == [false, true, true])
            #expect(all[0].offer.price?.currency == "USD" && all[0].eligibility == ["new"])
            let first = try await list()
            #expect(first.map(\.state) == [.available, .unavailable, .available])
            #expect(first[0].offer.price?.currency == "EUR")
            #expect(first[1].reason?.contains("not for new customers") == true, "\(first[1])")

            // Each listed code can be redeemed, and is listed as redeemed after that.
            for code in ["a:both", "b:both"] { try await test.store.redeem(.init(code: code), for: "anna") }
            #expect(try await states() == [.redeemed, .available, .redeemed])
            try await test.store.redeem(.init(code: "again"), for: "anna")
            #expect(
                try await states() == [.redeemed, .redeemed, .redeemed],
                "The code `again` counts as redeemed before a period with its offer is sold.")
            try await test.advance(.years(2))
            #expect(try await states() == [.redeemed, .redeemed, .redeemed])

            try await test.store.createAccount("ben")
            try await test.store.setWithdrawn("b", true)
            let ben = try await list("?account=ben")
            #expect(ben.map(\.state) == [.available, .unavailable, .unavailable])
            #expect(ben[2].reason?.contains("no longer sold") == true)
            try await test.store.change("ben", .init(canMakePayments: false))
            #expect(try await list("?account=ben").allSatisfy { $0.state == .unavailable && $0.reason != nil })
            #expect(try await client.ask(.get, "/control/v1/offer-codes?account=carl").status == 404)
        }
    }

    @Test func `listing codes sells nothing, and a code is unavailable to a member with the shared subscription`()
        async throws
    {
        let shared = Fixtures.catalogueText.replacing(
            #"{"productID": "paygo","#, with: #"{"productID": "paygo", "familyShareable": true,"#)
        let file = try CatalogueFixtures.catalogue(shared)
        try await TestStore.with(change: { $0.catalogue = file }) { test in
            try await test.store.createAccount("anna")
            try await test.store.createAccount("ben")
            _ = try await test.store.createFamily("home", organizer: "anna")
            _ = try await test.store.join("home", "ben")
            #expect(try test.store.offerCodes(for: "ben").map(\.state) == [.available])
            #expect(try await test.store.transactions(of: "ben").isEmpty)
            try await test.store.redeem(.init(code: "spring"), for: "anna")
            let code = try #require(try test.store.offerCodes(for: "ben").first)
            #expect(code.state == .unavailable && code.reason?.contains("Family Sharing") == true)
        }
    }
}
