import Foundation
import GooglePlay
import Primitives
import StoreModel
import Testing

@testable import AppStoreSimulator

struct PlayCatalogueTests {
    private func findings(_ change: (String) -> String) -> [CatalogueFinding] {
        PlayCatalogue.lint(Array(change(PlayFixtures.text).utf8), file: "play.json")
    }

    @Test func `a catalogue has products, base plans and offers with prices by region`() throws {
        let catalogue = try PlayFixtures.catalogue()
        #expect(catalogue.warnings.isEmpty)
        #expect(catalogue.packageName == "com.example.souk_play")
        let plus = try #require(catalogue.subscription("plus"))
        #expect(plus.basePlans.map(\.id) == ["monthly", "yearly", "prepaid", "short", "instalments"])
        #expect(plus.basePlans.map(\.kind) == [.autoRenewing, .autoRenewing, .prepaid, .prepaid, .installments])
        #expect(plus.basePlans.map(\.graceDays) == [7, 7, 0, 0, 7])
        #expect(plus.basePlans.map(\.holdDays) == [30, 53, 0, 0, 53])
        #expect(plus.offers[0].phases.map { $0.prices.price(in: "US")?.units } == [0, 2])
        #expect(plus.offers[0].audience == .newToSubscription)
        #expect(catalogue.product("coins")?.options[0].prices.map(\.regionCode) == ["US", "DE"])
        #expect(PlayCatalogue.recognizes(try JSONValue(parsing: PlayFixtures.text)))
        #expect(!PlayCatalogue.recognizes(try JSONValue(parsing: Fixtures.catalogueText)))
    }

    @Test(arguments: [
        (#""packageName": "com.example.souk_play""#, #""packageName": "a b""#, "/packageName"),
        (#""regionCode": "US","#, #""regionCode": "usa","#, "/regionCode"),
        (#""productId": "coins""#, #""productId": "Coins""#, "/oneTimeProducts/0/productId"),
        (#""productId": "coins""#, #""productId": "plus""#, "/subscriptions/0/productId"),
        (#""basePlanId": "yearly""#, #""basePlanId": "monthly""#, "/subscriptions/0/basePlans/1/basePlanId"),
        (#""basePlanId": "yearly""#, #""basePlanId": "Ye_ar""#, "/subscriptions/0/basePlans/1/basePlanId"),
        (#""P1Y""#, #""P1X""#, "/subscriptions/0/basePlans/1/autoRenewingBasePlanType/billingPeriodDuration"),
        (#""P7D""#, #""P31D""#, "/subscriptions/0/basePlans/0/autoRenewingBasePlanType/gracePeriodDuration"),
        (#""P30D""#, #""P60D""#, "/subscriptions/0/basePlans/0/autoRenewingBasePlanType"),
        (#""units": "40""#, #""units": "-40""#, "/subscriptions/0/basePlans/1/regionalConfigs/0/price"),
        (#""units": "40""#, #""units": "99999999999""#, "/subscriptions/0/basePlans/1/regionalConfigs/0/price"),
        (#""units": "40""#, #""units": "0""#, "/subscriptions/0/basePlans/1/regionalConfigs/0/price"),
        (
            #""relativeDiscount": 0.5"#, #""relativeDiscount": 1"#,
            "/subscriptions/0/offers/0/phases/1/regionalConfigs/0"
        ),
        (
            #""basePlanId": "monthly", "offerId""#, #""basePlanId": "weekly", "offerId""#,
            "/subscriptions/0/offers/0/basePlanId"
        ),
        (#""recurrenceCount": 2"#, #""recurrenceCount": 0"#, "/subscriptions/0/offers/0/phases/1/recurrenceCount"),
        (
            #""committedPaymentsCount": 3"#, #""committedPaymentsCount": 1"#,
            "/subscriptions/0/basePlans/4/installmentsBasePlanType/committedPaymentsCount"
        ),
    ])
    func `an error names its place`(_ good: String, _ bad: String, _ pointer: String) throws {
        #expect(PlayFixtures.text.contains(good))
        let found = findings { text in
            text.replacingOccurrences(of: good, with: bad, range: text.range(of: good))
        }
        #expect(found.filter { $0.severity == .error }.map(\.pointer).contains(pointer), "\(found)")
    }

    @Test(arguments: ["", "[]", "{}", "null", #"{"packageName": 4}"#, #"{"packageName":"a","subscriptions":4}"#])
    func `a file that is no catalogue is refused`(_ text: String) {
        #expect(throws: CatalogueError.self) { try PlayCatalogue(parsing: Array(text.utf8), file: "play.json") }
    }

    @Test func `what cannot be sold is a warning`() {
        #expect(
            findings { $0.replacing(#""buyOption": {"multiQuantityEnabled": true}"#, with: #""rentOption": {}"#) }.map(
                \.severity) == [.warning, .warning])
        #expect(PlayCatalogue.lint(Array(#"{"packageName":"a.b"}"#.utf8), file: "f").map(\.code) == [.noProducts])
    }
}
