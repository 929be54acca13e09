import Foundation
import Primitives
import StoreModel
import Testing

@testable import AppStoreSimulator

struct CatalogueTests {
    private static func catalogue(_ text: String) throws -> Catalogue {
        try Catalogue(parsing: Array(text.utf8), file: "test.storekit")
    }

    private static func findings(_ text: String) -> [CatalogueFinding] {
        Catalogue.lint(Array(text.utf8), file: "test.storekit")
    }

    /// Returns a catalogue with one product. Replaces some members of the product; `nil` removes one.
    private static func oneProduct(_ changes: [String: JSONValue?] = [:], settings: JSONValue = [:]) -> String {
        var product: JSONValue = ["productID": "a", "displayPrice": "4.99", "type": "NonConsumable"]
        for (name, value) in changes { product[name] = value }
        let document: JSONValue = ["products": [product], "settings": settings, "version": ["major": 4, "minor": 0]]
        return document.text()
    }

    private static func oneSubscription(_ changes: [String: JSONValue?] = [:]) -> String {
        var product: JSONValue = [
            "productID": "s", "displayPrice": "4.99", "type": "RecurringSubscription",
            "recurringSubscriptionPeriod": "P1M", "groupNumber": 1, "subscriptionGroupID": "g",
        ]
        for (name, value) in changes { product[name] = value }
        let group: JSONValue = ["id": "g", "name": "Group", "subscriptions": [product]]
        return JSONValue.object(["subscriptionGroups": [group], "version": ["major": 4, "minor": 0]]).text()
    }

    @Test func `a catalogue sells its products in the order of the file`() throws {
        let text = """
            {"version": {"major": 2, "minor": 0},
             "products": [
               {"productID": "coins", "type": "Consumable", "displayPrice": "0.99", "familyShareable": false},
               {"productID": "pack", "type": "NonConsumable", "displayPrice": "9.99", "familyShareable": true,
                "localizations": [{"locale": "en_US", "displayName": "Pack", "description": "All of it"}]}],
             "nonRenewingSubscriptions": [
               {"productID": "pass", "type": "NonRenewingSubscription", "displayPrice": "4.99"}],
             "subscriptionGroups": [{"id": "21", "name": "Plus", "subscriptions": [
               {"productID": "monthly", "type": "RecurringSubscription", "displayPrice": "2.99", "groupNumber": 2,
                "recurringSubscriptionPeriod": "P1M", "subscriptionGroupID": "21", "referenceName": "Monthly",
                "introductoryOffer": {"paymentMode": "payAsYouGo", "subscriptionPeriod": "P1M",
                                      "numberOfPeriods": 3, "displayPrice": "0.99"},
                "adHocOffers": [{"offerID": "back", "paymentMode": "free", "subscriptionPeriod": "P2W"}],
                "winbackOffers": [{"offerID": "miss-you", "paymentMode": "payUpFront", "subscriptionPeriod": "P1M",
                                   "displayPrice": "1.99"}]}]}]}
            """
        let catalogue = try Self.catalogue(text)
        #expect(catalogue.items.map(\.id) == ["coins", "pack", "pass", "monthly"])
        #expect(
            catalogue.items.map(\.kind)
                == [.consumable, .nonConsumable, .nonRenewingSubscription, .autoRenewableSubscription])
        #expect(catalogue.warnings.isEmpty)
        let pack = try #require(catalogue.storeProducts.first { $0.id == "pack" })
        #expect(pack.displayName == "Pack" && pack.description == "All of it" && pack.isFamilyShareable)
        #expect(pack.displayPrice == "$9.99" && pack.price == Price(amount: 9.99, currency: "USD"))
        let terms = try #require(catalogue["monthly"]?.subscription)
        #expect(terms.level == 2 && terms.groupID == "21" && terms.period == .months(1))
        #expect(
            terms.introductoryOffer
                == Offer(
                    paymentMode: .payAsYouGo, period: .months(1), periodCount: 3,
                    price: Price(amount: 0.99, currency: "USD")))
        #expect(terms.promotionalOffers == [Offer(id: "back", paymentMode: .freeTrial, period: .weeks(2))])
        #expect(catalogue["monthly"]?.winBackOffers.first?.id == "miss-you")
        #expect(catalogue["nobody"] == nil)
    }

    @Test func `a file without settings has the storefront of the USA`() throws {
        let text = #"{"products": [{"productID": "a", "type": "Consumable", "displayPrice": "1"}]}"#
        let catalogue = try Self.catalogue(text)
        #expect(catalogue.storefront == Storefronts.usa)
        #expect(catalogue.storeProducts.map(\.displayPrice) == ["$1.00"])
        #expect(catalogue.warnings.map(\.code) == [.unknownVersion])
    }

    @Test(arguments: [
        ("DEU", "de_DE", "EUR", "143443", "4,99\u{A0}€"), ("JPN", "ja_JP", "JPY", "143462", "¥5"),
        ("GBR", "en_GB", "GBP", "143444", "£4.99"), ("deu", "en_US", "EUR", "143443", "€4.99"),
    ])
    func `prices are written as the storefront writes them`(
        country: String, locale: String, currency: String, id: String, price: String
    ) throws {
        let settings: JSONValue = ["_storefront": .string(country), "_locale": .string(locale)]
        let catalogue = try Self.catalogue(Self.oneProduct(settings: settings))
        #expect(catalogue.storefront.id == id && catalogue.storefront.currency == currency)
        #expect(catalogue.storefront.countryCode == country.uppercased())
        #expect(catalogue.storeProducts.first?.displayPrice == price)
    }

    @Test func `an unknown storefront is a warning, and the currency is that of the USA`() throws {
        let catalogue = try Self.catalogue(Self.oneProduct(settings: ["_storefront": "ZZZ", "_locale": "fr_FR"]))
        #expect(catalogue.warnings.map(\.code) == [.unknownStorefront])
        #expect(catalogue.warnings.first?.pointer == "/settings/_storefront")
        #expect(catalogue.storefront.currency == "USD" && catalogue.storefront.locale == "fr_FR")
    }

    @Test(arguments: [
        ("de_AT", "Filmpaket"), ("de-DE", "Filmpaket"), ("ja_JP", "フィルムパック"), ("fr_FR", "Film Pack"),
    ])
    func `product names are in the storefront's language, else in English`(locale: String, name: String) throws {
        let localizations: JSONValue = [
            ["locale": "ja", "displayName": "フィルムパック", "description": ""],
            ["locale": "de_DE", "displayName": "Filmpaket", "description": ""],
            ["locale": "en_US", "displayName": "Film Pack", "description": ""],
        ]
        let text = Self.oneProduct(
            ["localizations": localizations], settings: ["_storefront": "USA", "_locale": .string(locale)])
        #expect(try Self.catalogue(text).storeProducts.first?.displayName == name)
    }

    @Test func `a product without names is called by its reference name, else by its identifier`() throws {
        let empty: JSONValue = [["locale": "en_US", "displayName": "", "description": ""]]
        let named = Self.oneProduct(["localizations": empty, "referenceName": "Reference"])
        #expect(try Self.catalogue(named).storeProducts.first?.displayName == "Reference")
        #expect(try Self.catalogue(Self.oneProduct()).storeProducts.first?.displayName == "a")
    }

    @Test(arguments: [
        (oneProduct(["productID": nil]), CatalogueFinding.Code.missingField, "/products/0/productID"),
        (oneProduct(["productID": ""]), .missingField, "/products/0/productID"),
        (oneProduct(["productID": 7]), .wrongShape, "/products/0/productID"),
        (oneProduct(["productID": "a\u{7}"]), .badIdentifier, "/products/0/productID"),
        (oneProduct(["type": nil]), .missingField, "/products/0/type"),
        (oneProduct(["type": "RecurringSubscription"]), .wrongShape, "/products/0/type"),
        (oneProduct(["displayPrice": nil]), .missingField, "/products/0/displayPrice"),
        (oneProduct(["displayPrice": "free"]), .badPrice, "/products/0/displayPrice"),
        (oneProduct(["displayPrice": "0,99"]), .badPrice, "/products/0/displayPrice"),
        (oneProduct(["displayPrice": "-1"]), .badPrice, "/products/0/displayPrice"),
        (oneProduct(["displayPrice": "0.9999"]), .badPrice, "/products/0/displayPrice"),
        (oneProduct(["displayPrice": true]), .badPrice, "/products/0/displayPrice"),
        (oneProduct(settings: "fast"), .wrongShape, "/settings"),
        (oneSubscription(["recurringSubscriptionPeriod": nil]), .missingField, "recurringSubscriptionPeriod"),
        (oneSubscription(["recurringSubscriptionPeriod": "P1X"]), .badPeriod, "recurringSubscriptionPeriod"),
        (oneSubscription(["recurringSubscriptionPeriod": "P0D"]), .badPeriod, "recurringSubscriptionPeriod"),
        (oneSubscription(["recurringSubscriptionPeriod": "PT1M"]), .badPeriod, "recurringSubscriptionPeriod"),
        (oneSubscription(["recurringSubscriptionPeriod": "P4Y"]), .badPeriod, "recurringSubscriptionPeriod"),
        (oneSubscription(["recurringSubscriptionPeriod": "P10000D"]), .badPeriod, "recurringSubscriptionPeriod"),
        (oneSubscription(["groupNumber": 0]), .badCount, "groupNumber"),
        (oneSubscription(["adHocOffers": ["paymentMode"]]), .wrongShape, "adHocOffers/0"),
        (oneSubscription(["adHocOffers": [["paymentMode": "free"]]]), .missingField, "adHocOffers/0/offerID"),
        (
            oneSubscription(["introductoryOffer": ["paymentMode": "payUpFront", "subscriptionPeriod": "P1M"]]),
            .missingField, "introductoryOffer/displayPrice"
        ),
        (
            oneSubscription(["introductoryOffer": ["paymentMode": "free", "subscriptionPeriod": "week"]]),
            .badPeriod, "introductoryOffer/subscriptionPeriod"
        ),
        ("[1, 2]", .wrongShape, ""), ("{", .notJSON, ""), ("{}", .wrongShape, ""),
        (#"{"products": {}}"#, .wrongShape, "/products"), (#"{"products": [3]}"#, .wrongShape, "/products/0"),
        (#"{"subscriptionGroups": [{"name": "g"}]}"#, .missingField, "/subscriptionGroups/0/id"),
        (#"{"subscriptionGroups": [{"id": "g"}, {"id": "g"}]}"#, .duplicateGroup, "/subscriptionGroups/1/id"),
    ])
    func `a fault is refused with the file, the place and the reason`(
        text: String, code: CatalogueFinding.Code, pointer: String
    ) throws {
        let error = try #require(throws: CatalogueError.self) { try Self.catalogue(text) }
        let finding = try #require(error.errors.first)
        #expect(finding.code == code && finding.pointer.hasSuffix(pointer))
        #expect(error.description.hasPrefix("test.storekit") && error.description.contains(finding.reason))
        #expect(error.findings == Self.findings(text))
    }

    @Test func `a duplicate product is refused, with the place of the first`() throws {
        let product: JSONValue = ["productID": "a", "displayPrice": "1", "type": "Consumable"]
        let error = try #require(throws: CatalogueError.self) {
            try Self.catalogue(JSONValue.object(["products": [product, product]]).text())
        }
        #expect(error.errors.map(\.code) == [.duplicateProduct])
        #expect(error.errors.first?.reason.contains("/products/0") == true)
    }

    @Test func `lint reports all errors and warnings of a file`() {
        let text = """
            {"version": {"major": 9}, "products": [
              {"productID": "a", "type": "Mystery", "displayPrice": "1"}, {"type": "Consumable"},
              {"productID": "b", "type": "Consumable", "displayPrice": "?"}]}
            """
        let findings = Self.findings(text)
        #expect(findings.map(\.code) == [.unknownVersion, .unknownType, .missingField, .badPrice])
        #expect(findings.map(\.severity) == [.warning, .warning, .error, .error])
        #expect(findings.allSatisfy { $0.file == "test.storekit" })
    }

    @Test func `a product of an unknown type causes a warning and is not in the product list`() throws {
        let catalogue = try Self.catalogue(Self.oneProduct(["type": "Bundle"]))
        #expect(catalogue["a"]?.kind == ProductType(rawValue: "Bundle"))
        #expect(catalogue.warnings.map(\.code) == [.unknownType, .noProducts])
        #expect(catalogue.productList == [] && catalogue.isEmpty)
    }

    @Test func `an offer of an unknown mode is omitted, and two offers with one id are kept, with warnings`() throws {
        let text = Self.oneSubscription([
            "introductoryOffer": ["paymentMode": "barter", "subscriptionPeriod": "P1M"],
            "adHocOffers": [
                ["offerID": "o", "paymentMode": "free", "subscriptionPeriod": "P1M"],
                ["offerID": "o", "paymentMode": "free", "subscriptionPeriod": "P2M"],
            ],
        ])
        let catalogue = try Self.catalogue(text)
        #expect(Set(catalogue.warnings.map(\.code)) == [.unknownPaymentMode, .duplicateOffer])
        #expect(catalogue["s"]?.subscription?.introductoryOffer == nil)
        #expect(catalogue["s"]?.promotionalOffers.map(\.id) == ["o", "o"])
    }

    @Test func `the product list has the SDK's product types and the catalogue's order`() throws {
        let text = """
            {"products": [{"productID": "c", "type": "Consumable", "displayPrice": "1"},
                          {"productID": "n", "type": "NonConsumable", "displayPrice": "1"}],
             "nonRenewingSubscriptions": [{"productID": "p", "displayPrice": "1"}],
             "subscriptionGroups": [{"id": "g", "subscriptions": [
               {"productID": "s", "displayPrice": "1", "recurringSubscriptionPeriod": "P1Y"}]}]}
            """
        let expected = """
            [{"identifier":"c","productType":"consumable","isSubscribersOnly":false},\
            {"identifier":"n","productType":"nonConsumable","isSubscribersOnly":false},\
            {"identifier":"p","productType":"nonRenewingSubscription","isSubscribersOnly":false},\
            {"identifier":"s","productType":"renewableSubscription","isSubscribersOnly":false}]
            """
        #expect(try Self.catalogue(text).productList.text() == expected)
    }

    @Test func `catalogues are distinguished from product lists and feature maps`() throws {
        #expect(Catalogue.recognizes(["products": []]))
        #expect(!Catalogue.recognizes([["identifier": "a"]]))
        #expect(!Catalogue.recognizes(["features": ["pro": ["a"]]]))
    }

    @Test func `unknown fields stay in the document`() throws {
        let catalogue = try Self.catalogue(Self.oneProduct(["somethingNew": ["deep": true]]))
        #expect(catalogue.document["products"]?[0]?["somethingNew"]?["deep"] == true)
    }

    @Test func `the example catalogue has no findings`() throws {
        let package = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
            .deletingLastPathComponent()
            .deletingLastPathComponent()
        let bytes = try Data(contentsOf: package.appendingPathComponent("Examples/darkroom.storekit"))
        #expect(Catalogue.lint(Array(bytes), file: "darkroom.storekit").isEmpty)
        let catalogue = try Catalogue(parsing: Array(bytes), file: "darkroom.storekit")
        #expect(Set(catalogue.items.compactMap(\.subscription?.level)).count == 2)
        #expect(catalogue.items.contains { $0.subscription?.introductoryOffer != nil })
    }
}
