import Foundation
import Primitives
import StoreModel
import Testing

/// Apple's names, the names in JSON, and unknown names, which are kept.
@Suite struct StoreVocabularyTests {
    @Test(arguments: [
        ("Production", StoreEnvironment.production), ("Sandbox", .sandbox), ("Xcode", .xcode),
        ("LocalTesting", .localTesting), ("Moon", StoreEnvironment(rawValue: "moon")),
        ("", StoreEnvironment(rawValue: "")),
    ])
    func `an environment has Apple's spelling and ours`(apple: String, environment: StoreEnvironment) {
        #expect(StoreEnvironment(apple: apple) == environment)
        #expect(environment.appleText == apple)
    }

    @Test(arguments: [
        ("Consumable", "consumable"), ("Non-Consumable", "nonConsumable"),
        ("Auto-Renewable Subscription", "autoRenewableSubscription"),
        ("Non-Renewing Subscription", "nonRenewingSubscription"), ("Rental", "Rental"),
    ])
    func `a kind of product has Apple's spelling and ours`(apple: String, name: String) throws {
        let kind = ProductType(apple: apple)
        #expect(kind.rawValue == name && kind.appleText == apple)
        #expect(try JSONValue(encoding: [kind]).decode([ProductType].self) == [kind])
    }

    @Test(arguments: [
        (0, ProductType.nonConsumable), (1, .consumable), (2, .nonRenewingSubscription),
        (3, .autoRenewableSubscription), (4, ProductType(rawValue: "4")), (-1, ProductType(rawValue: "-1")),
        (Int.max, ProductType(rawValue: "9223372036854775807")),
    ])
    func `a number of app receipts becomes a kind of product and back`(number: Int, kind: ProductType) {
        #expect(ProductType(receiptNumber: number) == kind)
        #expect(kind.receiptNumber == number)
        #expect(kind.isKnown == (0...3).contains(number))
        #expect(ProductType(rawValue: "Rental").receiptNumber == nil)
    }

    @Test func `the alternative names are the same kinds of product`() {
        #expect(ProductType.nonRenewableSubscription == .nonRenewingSubscription)
        #expect(ProductType.renewableSubscription == .autoRenewableSubscription)
        #expect(Set(ProductType.allCases).count == 4)
    }

    @Test func `terms of a store without win-back offers have none`() throws {
        let text = #"{"groupID":"g","level":1,"period":"P1M","promotionalOffers":[]}"#
        let terms = try WireJSON.decode(SubscriptionTerms.self, from: Array(text.utf8))
        #expect(terms.winBackOffers == [] && terms.introductoryOffer == nil && terms.groupDisplayName == nil)
        #expect(throws: DecodingError.self) {
            try WireJSON.decode(SubscriptionTerms.self, from: Array(text.replacing("P1M", with: "monthly").utf8))
        }
    }

    @Test func `a product with every kind of offer survives encoding`() throws {
        let offers = [Offer.PaymentMode.freeTrial, .payAsYouGo, .payUpFront, .init(rawValue: "BARTER")].map {
            Offer(
                id: $0.rawValue, paymentMode: $0, period: .weeks(2), periodCount: 3,
                price: Price(amount: 1, currency: "CHF"))
        }
        let terms = SubscriptionTerms(
            groupID: "g", groupDisplayName: "Pro", level: 2, period: .years(1), introductoryOffer: offers[0],
            promotionalOffers: offers, winBackOffers: [offers[2]])
        let product = StoreProduct(
            id: "pro", kind: .autoRenewableSubscription, price: Price(milliunits: 4990, currency: "EUR"),
            displayPrice: "4,99 €", displayName: "Pro", description: "Everything", isFamilyShareable: true,
            subscription: terms)
        #expect(try WireJSON.decode(StoreProduct.self, from: WireJSON.encode(product)) == product)
    }

    // MARK: - Identifiers

    @Test func `identifiers are sorted by their bytes and written as strings`() throws {
        let ids: [ProductID] = ["b", "a.b", "a", "B"]
        #expect(ids.sorted() == ["B", "a", "a.b", "b"])
        #expect(try JSONValue(encoding: ids) == ["b", "a.b", "a", "B"])
        #expect("\(ids[1])" == "a.b")
    }

    @Test(arguments: ["null", "1", "[]", "{}", "true"]) func `a JSON value that is not a string is not an identifier`(
        json: String
    ) {
        #expect(throws: DecodingError.self) {
            try WireJSON.decode([TransactionID].self, from: Array("[\(json)]".utf8))
        }
    }

    @Test(arguments: [
        ("7E3FB20B-4CDB-47CC-936D-99D65F608138", "7e3fb20b-4cdb-47cc-936d-99d65f608138"),
        ("7E3FB20B4CDB47CC936D99D65F608138", "7E3FB20B4CDB47CC936D99D65F608138"),
        ("{7E3FB20B-4CDB-47CC-936D-99D65F608138}", "{7E3FB20B-4CDB-47CC-936D-99D65F608138}"),
        ("7E3FB20B-4CDB-47CC-936D-99D65F60813G", "7E3FB20B-4CDB-47CC-936D-99D65F60813G"), ("ANNA", "ANNA"),
    ])
    func `a customer id is stored in lower case only if it is a UUID with hyphens`(text: String, kept: String) throws {
        #expect(CustomerID(rawValue: text)?.rawValue == kept)
        #expect(try JSONValue.string(text).decode(CustomerID.self).rawValue == kept)
        #expect(ProductID(rawValue: text)?.rawValue == text, "a product id keeps its case")
    }

    @Test func `the id of a payment is its UUID in lower case`() throws {
        let uuid = try #require(UUID(uuidString: "7E3FB20B-4CDB-47CC-936D-99D65F608138"))
        #expect(PaymentID(uuid).rawValue == "7e3fb20b-4cdb-47cc-936d-99d65f608138")
    }

    /// The expected values are Python's `uuid5(uuid5(NAMESPACE_DNS, "souk.invalid"), name)`.
    @Test func `the UUIDs of customers and purchases are those that Python computes`() {
        #expect(CustomerID("ada").appAccountToken == UUID(uuidString: "8922fca5-6119-5ef2-837c-1b453b55e5fd"))
        #expect(
            TransactionID("2000000123").subscriptionUUID == UUID(uuidString: "9fa4e0a6-078d-5972-8ab8-5a80c977cff6"))
        #expect(
            CustomerID("anna@example.com").appAccountToken == UUID(uuidString: "ab08d5af-da4b-55fd-b719-1bafb5fde831"))
    }

    @Test func `a literal that is not a valid identifier stops the program`() async {
        await #expect(processExitsWith: .failure) { _ = "" as ProductID }
        await #expect(processExitsWith: .failure) { _ = "com.example_app" as BundleID }
        await #expect(processExitsWith: .failure) { _ = "a\nb" as CustomerID }
    }
}

@Suite struct CreditTableTests {
    private func table(_ credits: String) throws -> CreditTable {
        try CreditTable(json: JSONValue(parsing: #"{"credits":\#(credits)}"#))
    }

    private func purchase(_ product: ProductID, _ quantity: Int = 1, revoked: Bool = false) -> CustomerPurchase {
        CustomerPurchase(
            productID: product, transactionID: "1", originalTransactionID: "1", kind: .consumable,
            purchasedAt: Date(timeIntervalSince1970: 0), quantity: quantity,
            revokedAt: revoked ? Date(timeIntervalSince1970: 1) : nil)
    }

    @Test func `a purchase gives its credit once for each unit`() throws {
        let coins = try #require(
            try table(#"{"coins":{"products":{"ten":10,"none":0},"prices":{"filter":5}}}"#).credits["coins"])
        #expect(
            [purchase("ten"), purchase("ten", 3), purchase("none", 9), purchase("other")].map(coins.given) == [
                10, 30, 0, 0,
            ])
        #expect(coins.given(by: purchase("ten", .max)) == .max)
        #expect(coins.prices == ["filter": 5])
    }

    @Test func `a file without credits has none`() throws {
        #expect(try CreditTable(json: ["features": [:]]).credits.isEmpty)
        #expect(try table("{}").credits.isEmpty)
    }

    @Test func `a product can give a thousand million units, and can be bought a million times at once`() throws {
        let table = try table(#"{"c":{"products":{"a":1000000000},"prices":{"b":0}}}"#)
        #expect(table.credits["c"]?.given(by: purchase("a", 1_000_000)) == 1_000_000_000_000_000)
    }

    @Test(arguments: [
        ("[]", "/credits"), (#"{"":{}}"#, "/credits/"), (#"{"c":{}}"#, "/credits/c/products"),
        (#"{"c":{"products":{}}}"#, "/credits/c/prices"),
        (#"{"c":{"products":[],"prices":{}}}"#, "/credits/c/products"),
        (#"{"c":{"products":{"a":-1},"prices":{}}}"#, "/credits/c/products/a"),
        (#"{"c":{"products":{"a":1000000001},"prices":{}}}"#, "/credits/c/products/a"),
        (#"{"c":{"products":{"a":1.5},"prices":{}}}"#, "/credits/c/products/a"),
        (#"{"c":{"products":{"a":"1"},"prices":{}}}"#, "/credits/c/products/a"),
        (#"{"c/d":{"products":{"a~b":null},"prices":{}}}"#, "/credits/c~1d/products/a~0b"),
        (#"{"c":{"products":{},"prices":{"":1}}}"#, "/credits/c/prices/"),
    ])
    func `a fault in a table is named by its pointer`(credits: String, pointer: String) {
        let error = #expect(throws: FeatureMapError.self) { try table(credits) }
        #expect(error?.pointer == pointer)
    }

    @Test func `a balance is the earned credit without the spent credit, also below zero`() {
        #expect(CreditBalance(type: "c", earned: 10, spent: 4, prices: [:]).balance == 6)
        #expect(CreditBalance(type: "c", earned: 0, spent: 4, prices: [:]).balance == -4)
    }
}
