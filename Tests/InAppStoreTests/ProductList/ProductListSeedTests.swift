import Foundation
import StoreModel
import Testing

@testable import InAppStore

/// The rules of the first product list format. Each test name is a rule.
struct ProductListSeedTests {
    static let example = """
        [
          {
            "identifier": "com.lightricks.Facetune2.Retouch.Structure",
            "productType": "nonConsumable",
            "isSubscribersOnly": true,
            "contentFetcherParameters": {
              "type": "BZRRemoteContentFetcher",
              "URL": "https:///foo/bar.zip"
            }
          },
          {
            "identifier": "com.lightricks.Facetune2.V2.FullPrice.1MonthTrial.FullAccess.Monthly",
            "productType": "renewableSubscription",
            "discountedProducts": [
              "com.lightricks.Facetune2.V2.25Off.1MonthTrial.FullAccess.Monthly",
              "com.lightricks.Facetune2.V2.50Off.1MonthTrial.FullAccess.Monthly",
              "com.lightricks.Facetune2.V2.75Off.1MonthTrial.FullAccess.Monthly"
            ]
          }
        ]
        """

    private func list(_ text: String = example) throws -> ProductList {
        try ProductList(parsing: Array(text.utf8), file: "list.json")
    }

    private func products(_ text: String = example) throws -> [ListedProduct] { try list(text).products }

    @Test func `the example has one warning: its URL has no host`() throws {
        let (list, findings) = ProductList.lint(Array(Self.example.utf8), file: "list.json")
        #expect(list?.products.count == 5)
        #expect(findings.map(\.severity) == [.warning])
        #expect(findings.map(\.pointer) == ["/0/contentFetcherParameters/URL"])
    }

    @Test func `the product list contains a list of all the products that the application wants managed`() throws {
        let products = try products()
        #expect(
            products.map(\.id.rawValue) == [
                "com.lightricks.Facetune2.Retouch.Structure",
                "com.lightricks.Facetune2.V2.FullPrice.1MonthTrial.FullAccess.Monthly",
                "com.lightricks.Facetune2.V2.25Off.1MonthTrial.FullAccess.Monthly",
                "com.lightricks.Facetune2.V2.50Off.1MonthTrial.FullAccess.Monthly",
                "com.lightricks.Facetune2.V2.75Off.1MonthTrial.FullAccess.Monthly",
            ])
    }

    @Test(arguments: [
        ("nonConsumable", ProductType.nonConsumable), ("consumable", .consumable),
        ("renewableSubscription", .renewableSubscription), ("nonRenewingSubscription", .nonRenewingSubscription),
    ])
    func `productType can be one of four words`(word: String, type: ProductType) throws {
        #expect(try products(#"[{"identifier": "a", "productType": "\#(word)"}]"#).map(\.productType) == [type])
    }

    @Test func `isSubscribersOnly is false by default`() throws {
        #expect(try products().map(\.isSubscribersOnly) == [true, false, false, false, false])
    }

    @Test func `everything but identifier and productType can be left out`() throws {
        let product = try #require(try products(#"[{"identifier": "a", "productType": "consumable"}]"#).first)
        #expect(product == ListedProduct(id: "a", productType: .consumable))
        #expect(!product.preAcquired && !product.preAcquiredViaSubscription)
        #expect(product.enablesProducts == nil && product.fullPriceProduct == nil && product.baseProduct == nil)
        #expect(product.discountedProducts == [] && product.variants == [])
    }

    @Test func `discountedProducts are discounts of the product with identifier`() throws {
        let products = try products()
        let full = products[1]
        for discount in products[2...] {
            #expect(discount.fullPriceProduct == full.id)
            #expect(discount.productType == full.productType)
            #expect(discount.discountedProducts == [])
            #expect(full.discountedProducts.contains(discount.id))
        }
        #expect(try list().base(of: products[3].id) == full.id)
    }

    @Test func `contentFetcherParameters are those that the fetcher is given, type among them`() throws {
        let parameters = try products()[0].contentFetcherParameters
        #expect(parameters == ["type": "BZRRemoteContentFetcher", "URL": "https:///foo/bar.zip"])
    }

    @Test func `type is a mandatory field`() {
        let text =
            #"[{"identifier": "a", "productType": "consumable", "contentFetcherParameters": {"URL": "https://a"}}]"#
        #expect {
            try products(text)
        } throws: { error in
            "\(error)".contains("list.json at /0/contentFetcherParameters/type")
        }
    }

    @Test func `a product without contentFetcherParameters has no additional content`() throws {
        let sets = ProductSets(list: try list(), purchased: [], acquiredViaSubscription: [], subscription: nil)
        #expect(sets.downloadedContent == ["com.lightricks.Facetune2.V2.FullPrice.1MonthTrial.FullAccess.Monthly"])
    }

    @Test func `an active subscription allows access to a subscribers-only product that was acquired`() throws {
        let list = try list()
        let (structure, monthly) = (list.products[0].id, list.products[1].id)
        func allowed(acquired: Set<ProductID>, _ subscription: ProductID?) -> Set<String> {
            ProductSets(
                list: list, purchased: [], acquiredViaSubscription: acquired, subscription: subscription
            ).allowed
        }
        #expect(allowed(acquired: [structure], monthly) == [structure.rawValue])
        #expect(
            allowed(acquired: [structure], list.products[4].id) == [structure.rawValue],
            "A discounted subscription must enable it too.")
        #expect(allowed(acquired: [], monthly) == [], "A subscription alone must not acquire a product.")
        #expect(allowed(acquired: [structure], nil) == [])
    }
}
