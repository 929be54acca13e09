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
        (#"[1]"#, "/0", "a product must be an object"),
        (#"[{"productType": "consumable"}]"#, "/0/identifier", "no identifier"),
        (#"[{"identifier": 1, "productType": "consumable"}]"#, "/0/identifier", "must be a string"),
        (#"[{"identifier": "", "productType": "consumable"}]"#, "/0/identifier", "1 to 255 bytes"),
        (#"[{"identifier": "a"}]"#, "/0/productType", "missing"),
        (#"[{"identifier": "a", "productType": 1}]"#, "/0/productType", "is not a string"),
        (#"[{"identifier": "a", "productType": "gift"}]"#, "/0/productType", "\"gift\" is not a productType"),
        (#"[{"identifier": "a", "productType": "consumable", "preAcquired": 1}]"#, "/0/preAcquired", "true or false"),
        (
            #"[{"identifier": "a", "productType": "consumable", "isSubscribersOnly": "yes"}]"#, "/0/isSubscribersOnly",
            "true or false"
        ),
        (
            #"[{"identifier": "a", "productType": "renewableSubscription", "enablesProducts": "b"}]"#,
            "/0/enablesProducts", "array of strings"
        ),
        (
            #"[{"identifier": "a", "productType": "renewableSubscription", "enablesProducts": ["b", 2]}]"#,
            "/0/enablesProducts/1", "a string"
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
            #"[{"identifier": "a", "productType": "consumable", "discountedProducts": ["b", "c", "b"]}]"#,
            "/0/discountedProducts/2", "already in the list, at /0/discountedProducts/0"
        ),
        (
            #"[{"identifier": "a", "productType": "consumable", "variants": "A"}]"#, "/0/variants", "array of strings"
        ),
        (
            #"[{"identifier": "a", "productType": "consumable", "variants": ["A", ""]}]"#, "/0/variants/1", "not empty"
        ),
        (
            #"[{"identifier": "a", "productType": "consumable", "variants": ["A", "A"]}]"#, "/0/variants/1",
            "\"a.Variant.A\" is already in the list, at /0/variants/0"
        ),
        (
            #"""
            [{"identifier": "a", "productType": "consumable", "variants": ["A"]},
             {"identifier": "a.Variant.A", "productType": "consumable"}]
            """#, "/1/identifier", "already in the list, at /0/variants/0"
        ),
        (
            #"[{"identifier": "a", "productType": "consumable", "fullPriceProductIdentifier": 1}]"#,
            "/0/fullPriceProductIdentifier", "must be a string"
        ),
        (
            #"[{"identifier": "a", "productType": "consumable", "fullPriceProductIdentifier": "a"}]"#,
            "/0/fullPriceProductIdentifier", "discount of itself"
        ),
        (
            #"[{"identifier": "a", "productType": "consumable", "fullPriceProductIdentifier": "b"}]"#,
            "/0/fullPriceProductIdentifier", "not in the list"
        ),
        (
            #"""
            [{"identifier": "a", "productType": "consumable", "discountedProducts": ["b"]},
             {"identifier": "c", "productType": "consumable", "fullPriceProductIdentifier": "b"}]
            """#, "/1/fullPriceProductIdentifier", "is a discount itself"
        ),
        (
            #"[{"identifier": "a", "productType": "consumable", "contentFetcherParameters": {"type": ""}}]"#,
            "/0/contentFetcherParameters/type", "type"
        ),
        (#"[{"identifier": "a", "productType": null}]"#, "/0/productType", "is not a string"),
        (#"[{"identifier": "a", "productType": "noncosumable"}]"#, "/0/productType", "Did you mean \"nonConsumable\"?"),
        (
            #"[{"identifier": "a", "productType": "consumable", "contentFetcherParameters": []}]"#,
            "/0/contentFetcherParameters", "must be an object"
        ),
        (
            #"[{"identifier": "a", "productType": "consumable", "contentFetcherParameters": {"URL": "file:///a"}}]"#,
            "/0/contentFetcherParameters/type", "missing"
        ),
        (
            #"[{"identifier": "a", "productType": "consumable"}, {"identifier": "a", "productType": "consumable"}]"#,
            "/1/identifier", "already in the list, at /0/identifier"
        ),
        (
            """
            [{"identifier": "a", "productType": "consumable", "discountedProducts": ["b"]},
             {"identifier": "b", "productType": "consumable"}]
            """, "/1/identifier", "already in the list, at /0/discountedProducts/0"
        ),
    ])
    func `a fault is reported with its file, its place and its reason`(text: String, pointer: String, reason: String) {
        let (list, findings) = lint(text)
        #expect(list == nil)
        let errors = findings.filter { $0.severity == .error }
        #expect(errors.count == 1)
        #expect(errors.first?.pointer == pointer)
        #expect(errors.first?.reason.contains(reason) == true, "\(errors)")
        #expect(errors.first?.description.hasPrefix("list.json") == true)
    }

    @Test(arguments: [
        (#"[{"identifier": "a", "productType": "nonConsumable", "isSubscriberOnly/": true}]"#, "/0/isSubscriberOnly~1"),
        (#"[{"identifier": "a", "productType": "nonConsumable", "enablesProducts": ["b"]}]"#, "/0/enablesProducts"),
    ])
    func `a probable mistake is a warning, and the list is used`(text: String, pointer: String) {
        let (list, findings) = lint(text)
        #expect(list?.products.count == 1)
        #expect(findings.map(\.severity) == [.warning])
        #expect(findings.map(\.pointer) == [pointer])
    }

    @Test func `all faults are reported, not only the first`() {
        let (_, findings) = lint(#"[{"identifier": 1}, {"identifier": "a"}, {"identifier": "b", "productType": "x"}]"#)
        #expect(findings.map(\.pointer) == ["/0/identifier", "/0/productType", "/1/productType", "/2/productType"])
    }

    @Test func `the error of a missing or malformed file has its path`() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("list-\(UUID().uuidString).json").path
        #expect {
            try ProductList(contentsOf: path)
        } throws: { error in
            (error as? PurchaseError)?.code == .productListUnreadable && "\(error)".contains(path)
        }
        try Data("[{}]".utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect {
            try Store(configuration: StoreConfiguration(productListPath: path))
        } throws: { error in
            (error as? PurchaseError)?.code == .productListMalformed && "\(error)".contains("\(path) at /0/identifier")
        }
    }

    @Test func `only a subscription enables products, by their prefixes`() {
        #expect(!ListedProduct(id: "a", productType: .nonConsumable).enables("b"))
        #expect(ListedProduct(id: "a", productType: .nonRenewingSubscription).enables("b"))
        let partial = ListedProduct(id: "a", productType: .renewableSubscription, enablesProducts: ["", "z"])
        #expect(partial.enables("b"), "An empty prefix must match every product.")
        #expect(!ListedProduct(id: "a", productType: .renewableSubscription, enablesProducts: []).enables("b"))
    }
}
