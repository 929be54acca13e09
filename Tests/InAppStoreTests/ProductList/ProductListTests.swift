import Foundation
import StoreModel
import Testing

@testable import InAppStore

struct ProductListTests {
    private func lint(_ text: String) -> (list: ProductList?, findings: [ProductListFinding]) {
        ProductList.lint(Array(text.utf8), file: "list.json")
    }

    @Test(arguments: [
        (#"{"#, "", "this is not JSON"),
        (#"{}"#, "", "an array of products"),
        (#"[1]"#, "/0", "a product is an object"),
        (#"[{"productType": "consumable"}]"#, "/0/identifier", "no identifier"),
        (#"[{"identifier": 1, "productType": "consumable"}]"#, "/0/identifier", "is a text"),
        (#"[{"identifier": "", "productType": "consumable"}]"#, "/0/identifier", "1 to 255 bytes"),
        (#"[{"identifier": "a"}]"#, "/0/productType", "missing"),
        (#"[{"identifier": "a", "productType": 1}]"#, "/0/productType", "is a text"),
        (#"[{"identifier": "a", "productType": "gift"}]"#, "/0/productType", "\"gift\" is not a productType"),
        (#"[{"identifier": "a", "productType": "consumable", "preAcquired": 1}]"#, "/0/preAcquired", "true or false"),
        (
            #"[{"identifier": "a", "productType": "consumable", "isSubscribersOnly": "yes"}]"#, "/0/isSubscribersOnly",
            "true or false"
        ),
        (
            #"[{"identifier": "a", "productType": "renewableSubscription", "enablesProducts": "b"}]"#,
            "/0/enablesProducts", "array of texts"
        ),
        (
            #"[{"identifier": "a", "productType": "renewableSubscription", "enablesProducts": ["b", 2]}]"#,
            "/0/enablesProducts/1", "a text"
        ),
        (
            #"[{"identifier": "a", "productType": "consumable", "discountedProducts": [""]}]"#,
            "/0/discountedProducts/0", "needs an identifier"
        ),
        (
            #"[{"identifier": "a", "productType": "consumable", "discountedProducts": ["a"]}]"#,
            "/0/discountedProducts/0", "discount of itself"
        ),
        (
            #"[{"identifier": "a", "productType": "consumable", "contentFetcherParameters": []}]"#,
            "/0/contentFetcherParameters", "is an object"
        ),
        (
            #"[{"identifier": "a", "productType": "consumable", "contentFetcherParameters": {"URL": "file:///a"}}]"#,
            "/0/contentFetcherParameters/type", "missing"
        ),
        (
            #"[{"identifier": "a", "productType": "consumable"}, {"identifier": "a", "productType": "consumable"}]"#,
            "/1/identifier", "already, at /0/identifier"
        ),
        (
            """
            [{"identifier": "a", "productType": "consumable", "discountedProducts": ["b"]},
             {"identifier": "b", "productType": "consumable"}]
            """, "/1/identifier", "already, at /0/discountedProducts/0"
        ),
    ])
    func `a fault is named with its file, its place and its reason`(text: String, pointer: String, reason: String) {
        let (list, findings) = lint(text)
        #expect(list == nil)
        let errors = findings.filter { $0.severity == .error }
        #expect(errors.count == 1)
        #expect(errors.first?.pointer == pointer)
        #expect(errors.first?.reason.contains(reason) == true, "\(errors)")
        #expect(errors.first?.description.hasPrefix("list.json") == true)
    }

    @Test(arguments: [
        (
            #"[{"identifier": "a", "productType": "nonConsumable", "isSubscribersOnly": true}]"#,
            "/0/isSubscribersOnly"
        ),
        (#"[{"identifier": "a", "productType": "nonConsumable", "isSubscriberOnly/": true}]"#, "/0/isSubscriberOnly~1"),
        (#"[{"identifier": "a", "productType": "nonConsumable", "enablesProducts": ["b"]}]"#, "/0/enablesProducts"),
        (
            #"[{"identifier": "a", "productType": "consumable", "contentFetcherParameters": {"type": "t", "URL": "/x"}}]"#,
            "/0/contentFetcherParameters/URL"
        ),
    ])
    func `what is doubtful is a warning, and the list is used`(text: String, pointer: String) {
        let (list, findings) = lint(text)
        #expect(list?.products.count == 1)
        #expect(findings.map(\.severity) == [.warning])
        #expect(findings.map(\.pointer) == [pointer])
    }

    @Test func `the example of the seed is a list, with a warning about its URL`() throws {
        let (list, findings) = lint(
            """
            [{"identifier": "com.lightricks.Facetune2.Retouch.Structure", "productType": "nonConsumable",
              "isSubscribersOnly": true,
              "contentFetcherParameters": {"type": "BZRRemoteContentFetcher", "URL": "https:///foo/bar.zip"}},
             {"identifier": "com.lightricks.Facetune2.V2.FullPrice.1MonthTrial.FullAccess.Monthly",
              "productType": "renewableSubscription",
              "discountedProducts": ["com.lightricks.Facetune2.V2.25Off.1MonthTrial.FullAccess.Monthly",
                "com.lightricks.Facetune2.V2.50Off.1MonthTrial.FullAccess.Monthly",
                "com.lightricks.Facetune2.V2.75Off.1MonthTrial.FullAccess.Monthly"]}]
            """)
        #expect(findings.map(\.severity) == [.warning])
        #expect(findings.map(\.pointer) == ["/0/contentFetcherParameters/URL"])
        let products = try #require(list).products
        #expect(products.count == 5)
        #expect(products.map(\.isSubscribersOnly) == [true, false, false, false, false])
        #expect(products[4].fullPriceProduct == products[1].id)
        #expect(products[4].productType == .renewableSubscription)
        #expect(products[3].enables(products[0].id))
    }

    @Test func `every fault is found, not the first one only`() {
        let (_, findings) = lint(#"[{"identifier": 1}, {"identifier": "a"}, {"identifier": "b", "productType": "x"}]"#)
        #expect(findings.map(\.pointer) == ["/0/identifier", "/1/productType", "/2/productType"])
    }

    @Test func `a file that is missing or malformed is one sentence with its path`() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("list-\(UUID().uuidString).json").path
        #expect {
            try ProductList(contentsOf: path)
        } throws: { error in
            (error as? StoreError)?.code == .productListUnreadable && "\(error)".contains(path)
        }
        try Data("[{}]".utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect {
            try Store(configuration: StoreConfiguration(productListPath: path))
        } throws: { error in
            (error as? StoreError)?.code == .productListMalformed && "\(error)".contains("\(path) at /0/identifier")
        }
    }

    @Test func `a product that is no subscription enables nothing`() {
        #expect(!ListedProduct(id: "a", productType: .nonConsumable).enables("b"))
        #expect(ListedProduct(id: "a", productType: .nonRenewingSubscription).enables("b"))
        let partial = ListedProduct(id: "a", productType: .renewableSubscription, enablesProducts: ["", "z"])
        #expect(partial.enables("b"), "an empty prefix is everybody's")
        #expect(!ListedProduct(id: "a", productType: .renewableSubscription, enablesProducts: []).enables("b"))
    }
}
