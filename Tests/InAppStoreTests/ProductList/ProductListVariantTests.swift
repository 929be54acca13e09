import Foundation
import StoreModel
import Testing

@testable import InAppStore

/// Variants and discounts: products that count as another product.
struct ProductListVariantTests {
    private let list = ProductList(
        ListedProduct(
            id: "pro", productType: .renewableSubscription, enablesProducts: ["film"], discountedProducts: ["half"],
            variants: ["TierA", "TierB"]
        ).withDiscountsAndVariants + [ListedProduct(id: "film", productType: .nonConsumable, isSubscribersOnly: true)])

    @Test func `a product is followed by its discounts, and then by all variants`() throws {
        let text = """
            [{"identifier": "pro", "productType": "renewableSubscription", "enablesProducts": ["film"],
              "discountedProducts": ["half"], "variants": ["TierA", "TierB"]},
             {"identifier": "film", "productType": "nonConsumable", "isSubscribersOnly": true}]
            """
        let read = try ProductList(parsing: Array(text.utf8), file: "list.json")
        #expect(read == list)
        #expect(
            read.products.map(\.id) == [
                "pro", "half", "pro.Variant.TierA", "pro.Variant.TierB", "half.Variant.TierA", "half.Variant.TierB",
                "film",
            ])
    }

    @Test func `a variant has the properties of its product, under another identifier`() throws {
        let variant = try #require(list["half.Variant.TierB"])
        #expect(variant.productType == .renewableSubscription)
        #expect(variant.enablesProducts == ["film"])
        #expect(variant.baseProduct == "half")
        #expect(variant.fullPriceProduct == "pro")
        #expect(variant.variants == [] && variant.discountedProducts == [])
    }

    @Test(arguments: [
        ("pro", "pro"), ("half", "pro"), ("pro.Variant.TierA", "pro"), ("half.Variant.TierA", "pro"), ("film", "film"),
        ("pro.Variant.Old", "pro"), ("half.Variant.Old", "pro"), ("gone.Variant.Old", "gone"), ("gone", "gone"),
        (".Variant.Old", ".Variant.Old"),
    ])
    func `a variant counts as its product, and a discount as the product at full price`(id: ProductID, base: ProductID)
    {
        #expect(list.base(of: id) == base)
    }

    @Test func `a subscription at any price enables the same products`() {
        for subscription in list.products.dropLast() {
            #expect(list.isEnabled("film", by: subscription.id))
            #expect(list.productsEnabled(by: subscription.id) == ["film"])
        }
        #expect(
            list.isEnabled("film", by: "pro.Variant.Old"), "A variant that is no longer listed counts as its product.")
        #expect(!list.isEnabled("pro", by: "pro"), "A subscription cannot be enabled.")
        #expect(!list.isEnabled("gone", by: "pro"))
        #expect(!list.isEnabled("film", by: "film"), "Only a subscription enables products.")
        #expect(list.isEnabled("film", by: "unknown"), "An unlisted subscription enables everything.")
    }

    @Test func `a selector selects a variant only if the list has it`() {
        let tiers = VariantSelector.tiers(byCountry: ["POL": "TierB", "IND": "TierC"])
        func sold(_ id: ProductID, in country: String?) -> ProductID {
            tiers.variant(of: id, in: list, country: country)
        }
        #expect(sold("pro", in: "POL") == "pro.Variant.TierB")
        #expect(sold("half", in: "pol") == "half.Variant.TierB")
        #expect(sold("pro", in: "IND") == "pro", "The list has no such variant.")
        #expect(sold("pro", in: "USA") == "pro")
        #expect(sold("pro", in: nil) == "pro", "The storefront is unknown.")
        #expect(sold("film", in: "POL") == "film")
        #expect(sold("gone", in: "POL") == "gone")
        #expect(VariantSelector.base.variant(of: "pro", in: list, country: "POL") == "pro")
    }

    @Test(
        arguments: [
            (#"{"POL": "TierB"}"#, nil), (#"["#, "not JSON"), (#"[]"#, "must be an object"),
            (#"{"Poland": "TierB"}"#, "at /Poland: a country must be three capital letters"),
            (#"{"POL": ""}"#, "at /POL: a tier"),
            (#"{"POL": 2}"#, "at /POL: a tier"),
        ] as [(String, String?)])
    func `tiers by country are read from a file, and faults are reported`(text: String, fault: String?) throws {
        let path = FileManager.default.temporaryDirectory.path + "/tiers-\(UUID().uuidString).json"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        guard let fault else {
            let selector = try VariantSelector(countryTiersAt: path)
            #expect(selector.variant(of: "pro", in: list, country: "POL") == "pro.Variant.TierB")
            return
        }
        #expect {
            try VariantSelector(countryTiersAt: path)
        } throws: { error in
            (error as? PurchaseError)?.code == .productListMalformed && "\(error)".contains(path)
                && "\(error)".contains(fault)
        }
    }

    @Test func `a missing file of tiers is an error`() {
        #expect(throws: PurchaseError(.productListUnreadable, "")) {
            try VariantSelector(countryTiersAt: "/nowhere/t.json")
        }
    }
}
