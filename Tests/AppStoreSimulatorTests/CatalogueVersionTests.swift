import Foundation
import Primitives
import StoreModel
import Testing

@testable import AppStoreSimulator

struct CatalogueVersionTests {
    private typealias Fixtures = CatalogueFixtures

    @Test(arguments: CatalogueFixtures.byVersion)
    func `every version of the format is read without a finding`(version: String, text: String) throws {
        #expect(Fixtures.findings(text).isEmpty)
        let catalogue = try Fixtures.catalogue(text)
        let read = try #require(catalogue.version)
        #expect("\(read.major).\(read.minor)" == version)
        #expect(catalogue.items.allSatisfy { $0.internalID != nil })
        for item in catalogue.items {
            #expect(catalogue.document.at(item.pointer)?["productID"]?.stringValue == item.id.rawValue)
        }
    }

    @Test func `version 1 has products and groups, sold in the USA in real time`() throws {
        let catalogue = try Fixtures.catalogue(Fixtures.version1)
        #expect(catalogue.settings == CatalogueSettings())
        #expect(catalogue.storefront == Storefronts.usa)
        let group = try #require(catalogue.group("11AA22BB"))
        #expect(group.name == "Club" && group.products == ["club.monthly"] && catalogue.group("other") == nil)
        #expect(catalogue.items(inGroup: "11AA22BB").map(\.id) == ["club.monthly"])
        let item = try #require(catalogue["club.monthly"])
        #expect(item.isFamilyShareable && item.subscription?.groupDisplayName == "Club")
        #expect(item.subscription?.introductoryOffer == Offer(paymentMode: .freeTrial, period: .weeks(1)))
        #expect(item.introductoryOffers.map(\.internalID) == ["55EE66FF"])
    }

    @Test func `an offer code has its eligibility, and whether it can be combined with the introductory offer`() throws
    {
        let catalogue = try Fixtures.catalogue(Fixtures.version12)
        let code = try #require(catalogue["club.monthly"]?.offerCodes.first)
        #expect(code.id == "spring" && code.internalID == "99CC00DD" && !code.isStackable)
        #expect(code.eligibility == [.existing, .expired])
        #expect(code.offer == Offer(id: "spring", paymentMode: .freeTrial, period: .months(1)))
        #expect(catalogue["season"]?.kind == .nonRenewingSubscription && catalogue["season"]?.referenceName == nil)
        #expect(catalogue.settings.timeRate == .init(rawValue: 6))
    }

    @Test func `an offer code without eligibility is for all customers`() throws {
        let text = Fixtures.version12.replacingOccurrences(of: "\"isStackable\" : false,", with: "")
            .replacingOccurrences(of: "\"eligibility\" : [", with: "\"formerly\" : [")
        let code = try #require(Fixtures.catalogue(text)["club.monthly"]?.offerCodes.first)
        #expect(code.isStackable && code.eligibility == [.new, .existing, .expired])
    }

    @Test func `the switches of Xcode's menu and the fields from App Store Connect are settings`() throws {
        let catalogue = try Fixtures.catalogue(Fixtures.version2)
        var expected = CatalogueSettings()
        expected.storefront = "DEU"
        expected.locale = "de_DE"
        expected.timeRate = .init(rawValue: 15)
        expected.asksToBuy = true
        expected.interruptsPurchases = true
        expected.failsRenewals = true
        expected.allowsGracePeriod = true
        expected.failsTransactions = true
        expected.transactionError = .invalidSignature
        expected.hidesDialogs = true
        expected.developerTeamID = "ABCDE12345"
        expected.applicationInternalID = "1500000000"
        #expect(catalogue.settings == expected)
        #expect(catalogue.storeProducts.map(\.displayPrice) == ["12,00\u{A0}€"])
    }

    @Test func `simulated errors are chosen by API`() throws {
        let settings = try Fixtures.catalogue(Fixtures.version3).settings
        #expect(settings.simulatedErrors.map(\.api) == [.loadProducts, .purchase])
        #expect(settings.failure(of: .loadProducts)?.error == .init(family: "generic", index: 2))
        #expect(settings.failure(of: .purchase) == nil && settings.failure(of: .sync) == nil)
    }

    @Test func `amounts are in the storefront's currency, and an offer of each mode has its price and length`() throws {
        let catalogue = try Fixtures.catalogue(Fixtures.version3)
        let terms = try #require(catalogue["club.monthly"]?.subscription)
        #expect(terms.groupDisplayName == "クラブ" && terms.level == 2)
        let introductory = Offer(
            paymentMode: .payUpFront, period: .months(2), price: Price(amount: 1200, currency: "JPY"))
        let promotional = Offer(
            id: "three", paymentMode: .payAsYouGo, period: .months(1), periodCount: 3,
            price: Price(amount: 500, currency: "JPY"))
        #expect(terms.introductoryOffer == introductory && terms.promotionalOffers == [promotional])
        #expect(catalogue["club.monthly"]?.promotionalOffers.first?.referenceName == "Three cheap months")
        #expect(catalogue.storeProducts.map(\.displayPrice) == ["¥980"])
    }

    @Test func `the products of a file are sold in another country at the same numbers, in its currency`() throws {
        let catalogue = try Fixtures.catalogue(Fixtures.version3)
        let german = try #require(Storefronts.storefront("DEU"))
        let sold = catalogue.sold(in: german)
        #expect(sold.storefront == german && sold != catalogue)
        #expect(sold.storeProducts.map(\.displayPrice) == ["980,00\u{A0}€"])
        #expect(sold["club.monthly"]?.subscription?.introductoryOffer?.price == Price(amount: 1200, currency: "EUR"))
        #expect(sold.encoded() == catalogue.encoded() && sold.settings == catalogue.settings)
        #expect(sold.sold(in: catalogue.storefront) == catalogue)
    }

    @Test func `win-back offers and policies are read from version 4`() throws {
        let catalogue = try Fixtures.catalogue(Fixtures.version4)
        let item = try #require(catalogue["club.weekly"])
        let offer = Offer(
            id: "come-back", paymentMode: .payAsYouGo, period: .weeks(1), periodCount: 2,
            price: Price(amount: 1.5, currency: "USD"))
        #expect(
            item.winBackOffers
                == [WinBackOffer(offer: offer, referenceName: "Come back", internalID: "44W", isEligible: false)])
        #expect(item.subscription?.winBackOffers == [offer] && item.subscription?.groupDisplayName == "The Club")
        #expect(catalogue.policies.licenceAgreement == "Be kind.")
        #expect(
            catalogue.policies.policies
                == [.init(locale: "en_US", text: "We keep nothing.", url: "https://example.com/privacy")])
    }

    @Test func `in version 5 the billing plan that is paid up front is sold, and the monthly one is only read`() throws
    {
        let item = try #require(Fixtures.catalogue(Fixtures.version5)["club.yearly"])
        #expect(item.billingPlans.map(\.kind) == [.upFront, .monthly] && item.billingPlans.allSatisfy(\.isEnabled))
        #expect(item.billingPlans.map(\.price.amount) == [60, 6])
        #expect(item.billingPlans.map(\.commitmentPrice?.amount) == [60, 72])
        #expect(item.introductoryOffers.map(\.billingPlan) == [.monthly, .upFront])
        #expect(item.subscription?.introductoryOffer?.period == .months(1))
        #expect(item.promotionalOffers.map(\.id) == ["month-free", "two-free"])
        #expect(item.subscription?.promotionalOffers.map(\.id) == ["month-free"])
    }

    @Test(
        arguments: [
            (0, "real"), (6, "30s"), (5, "15m"), (12, "15m"), (13, "5m"), (15, "monthly-30s"), (1000, "15m"),
            (1001, "5m"),
            (1002, "1m"), (1003, "30s"), (1004, "10s"), (1005, "2s"), (10, nil), (1, nil), (14, nil), (-1, nil),
        ] as [(Int, String?)])
    func `Xcode's time rates become those of the simulator, or none`(number: Int, name: String?) {
        #expect(CatalogueSettings.Rate(rawValue: number).simulated?.description == name)
    }

    @Test func `the settings of a file become settings of the store, except those that the store lacks`() throws {
        #expect(CatalogueSettings().storeSettings.isEmpty)
        let switches = try Fixtures.catalogue(Fixtures.version2).settings.storeSettings
        #expect(
            switches == [
                "askToBuy": true, "interruptedPurchases": true, "renewalsFail": true, "gracePeriod": "16d",
                "storefront": "DEU", "timeRate": "monthly-30s", "errors.purchase": "invalidOfferSignature",
            ])
        let errors = try Fixtures.catalogue(Fixtures.version3).settings.storeSettings
        #expect(errors == ["errors.loadProducts": "unknown", "storefront": "JPN", "timeRate": "30s"])
        for (name, value) in switches.merging(errors, uniquingKeysWith: { first, _ in first }) {
            #expect(try StoreSetting.named(name)?.value(of: value) == value)
        }
        var settings = CatalogueSettings()
        settings.storefront = "zzz"
        settings.timeRate = .init(rawValue: 10)
        settings.simulatedErrors = CatalogueSettings.SimulatedFailure.API.all.map { .init(api: $0, isEnabled: true) }
        #expect(
            settings.storeSettings.keys.sorted() == [
                "errors.appStoreSync", "errors.loadProducts", "errors.offerCodeRedeem", "errors.purchase",
            ])
    }

    @Test func `the grace period has the lengths of App Store Connect`() {
        #expect(GracePeriod.allCases.map { $0.days(for: .months(1)) } == [3, 16, 28])
        #expect(GracePeriod.allCases.map { $0.days(for: .weeks(1)) } == [3, 6, 6])
        #expect(GracePeriod.xcode.days(for: .years(1)) == 16)
    }

    @Test func `terms are encoded and decoded, also without the members that older versions lack`() throws {
        let terms = try #require(Fixtures.catalogue(Fixtures.version4)["club.weekly"]?.subscription)
        let wire = try JSONValue(encoding: terms)
        #expect(try wire.decode(SubscriptionTerms.self) == terms)
        var older = wire
        older["winBackOffers"] = nil
        older["groupDisplayName"] = nil
        let read = try older.decode(SubscriptionTerms.self)
        #expect(read.winBackOffers.isEmpty && read.groupDisplayName == nil && read.period == terms.period)
    }
}

extension JSONValue {
    /// Returns the value at a JSON pointer (RFC 6901).
    func at(_ pointer: String) -> JSONValue? {
        JSONPointer.steps(pointer)?.reduce(Optional(self)) { value, step in
            value?.arrayValue == nil ? value?[step] : Int(step).flatMap { value?[$0] }
        }
    }
}
