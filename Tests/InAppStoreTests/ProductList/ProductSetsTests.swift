import BaseTestSupport
import StoreModel
import Testing

@testable import InAppStore

/// The formula of the allowed products: (E ∩ A) ∪ B ∪ the pre-acquired products. E are the listed products that the
/// active subscription enables, A the products that were acquired with a subscription, and B the bought products.
struct ProductSetsTests {
    private static let list = ProductList([
        ListedProduct(id: "all", productType: .renewableSubscription),
        ListedProduct(id: "film.only", productType: .renewableSubscription, enablesProducts: ["film.", "x"]),
        ListedProduct(id: "nothing", productType: .nonRenewingSubscription, enablesProducts: []),
        ListedProduct(id: "everything", productType: .nonRenewingSubscription, enablesProducts: [""]),
        ListedProduct(id: "film.noir", productType: .nonConsumable, isSubscribersOnly: true),
        ListedProduct(id: "film.sepia", productType: .nonConsumable, isSubscribersOnly: true),
        ListedProduct(id: "lens", productType: .nonConsumable),
        ListedProduct(id: "pack", productType: .nonConsumable, discountedProducts: ["pack.half"], variants: ["A"]),
        ListedProduct(id: "pack.half", productType: .nonConsumable, fullPriceProduct: "pack"),
        ListedProduct(id: "pack.Variant.A", productType: .nonConsumable, baseProduct: "pack"),
    ])

    struct Case: CustomTestStringConvertible, Sendable {
        let sentence: String
        var list: ProductList? = ProductSetsTests.list
        var bought: Set<ProductID> = []
        var acquired: Set<ProductID> = []
        var active: ProductID?
        let allowed: Set<String>
        var testDescription: String { sentence }
    }

    @Test(arguments: [
        Case(sentence: "without purchases nothing is allowed", allowed: []),
        Case(sentence: "a bought product is allowed", bought: ["lens"], allowed: ["lens"]),
        Case(
            sentence: "an unlisted bought product is allowed", bought: ["old"], allowed: ["old"]),
        Case(
            sentence: "acquired products are allowed to a subscriber", acquired: ["film.noir", "lens"], active: "all",
            allowed: ["film.noir", "lens"]),
        Case(
            sentence: "an enabled product that was not acquired is not allowed", acquired: ["lens"], active: "all",
            allowed: ["lens"]),
        Case(
            sentence: "after the subscription only bought products are allowed", bought: ["pack"], acquired: ["lens"],
            allowed: ["pack"]),
        Case(
            sentence: "a partial subscription allows acquired products with its prefixes",
            acquired: ["film.noir", "film.sepia", "lens"], active: "film.only", allowed: ["film.noir", "film.sepia"]),
        Case(
            sentence: "a subscription that enables nothing allows nothing", bought: ["pack"], acquired: ["film.noir"],
            active: "nothing", allowed: ["pack"]),
        Case(
            sentence: "the empty prefix enables everything", acquired: ["film.noir", "lens"], active: "everything",
            allowed: ["film.noir", "lens"]),
        Case(
            sentence: "an unlisted subscription allows every acquired product", acquired: ["film.noir", "lens"],
            active: "unknown", allowed: ["film.noir", "lens"]),
        Case(
            sentence: "a product that is not a subscription enables nothing", acquired: ["film.noir"], active: "lens",
            allowed: []),
        Case(
            sentence: "subscriptions themselves are not enabled", acquired: ["film.only", "lens"], active: "all",
            allowed: ["lens"]),
        Case(
            sentence: "an acquired product that is no longer listed is not allowed", acquired: ["old"], active: "all",
            allowed: []),
        Case(
            sentence: "without a list a subscriber is allowed all acquired and bought products", list: nil,
            bought: ["pack"],
            acquired: ["lens", "old"], active: "unknown", allowed: ["pack", "lens", "old"]),
        Case(
            sentence: "without a list and a subscription bought products are allowed", list: nil, bought: ["pack"],
            acquired: ["lens"],
            allowed: ["pack"]),
        Case(
            sentence: "with an empty list bought products are allowed", list: ProductList([]), bought: ["pack"],
            acquired: ["lens"], active: "all", allowed: ["pack"]),
        Case(
            sentence: "discounts and variants count as their product", bought: ["pack.half"],
            acquired: ["pack.Variant.A"], active: "all", allowed: ["pack"]),
    ])
    func `the allowed products follow the formula`(_ known: Case) {
        let sets = ProductSets(
            list: known.list, purchased: known.bought, acquiredViaSubscription: known.acquired,
            subscription: known.active)
        #expect(sets.allowed == known.allowed)
    }

    @Test func `bought and acquired products are separate sets, independent of the allowed ones`() {
        let sets = ProductSets(
            list: Self.list, purchased: ["pack.half", "lens"], acquiredViaSubscription: ["film.noir", "lens", "old"],
            subscription: nil)
        #expect(sets.purchased == ["pack", "lens"])
        #expect(sets.acquiredViaSubscription == ["film.noir", "lens", "old"])
        #expect(sets.acquired == ["pack", "lens", "film.noir", "old"])
        #expect(sets.allowed == ["pack", "lens"])
    }

    @Test func `a pre-acquired product is allowed without a purchase`() {
        let list = ProductList([
            ListedProduct(id: "grain", productType: .nonConsumable, isSubscribersOnly: true, preAcquired: true)
        ])
        let sets = ProductSets(list: list, purchased: [], acquiredViaSubscription: [], subscription: nil)
        #expect(sets.allowed == ["grain"])
        #expect(sets.acquired == [])
    }

    @Test func `a product that a subscription includes is acquired, and allowed only to subscribers`() {
        let list = ProductList([
            ListedProduct(id: "film.only", productType: .renewableSubscription, enablesProducts: ["film."]),
            ListedProduct(id: "film.noir", productType: .nonConsumable, preAcquiredViaSubscription: true),
            ListedProduct(id: "lens", productType: .nonConsumable, preAcquiredViaSubscription: true),
        ])
        func sets(_ subscription: ProductID?) -> ProductSets {
            ProductSets(list: list, purchased: [], acquiredViaSubscription: [], subscription: subscription)
        }
        #expect(sets(nil).acquiredViaSubscription == ["film.noir", "lens"])
        #expect(sets(nil).allowed == [])
        #expect(sets("film.only").allowed == ["film.noir"])
    }

    @Test func `a product is downloaded if its content was downloaded, or if it has none`() {
        let list = ProductList([
            ListedProduct(id: "lens", productType: .nonConsumable),
            ListedProduct(id: "film", productType: .nonConsumable, contentFetcherParameters: ["type": "t"]),
            ListedProduct(id: "pack", productType: .nonConsumable, contentFetcherParameters: ["type": "t"]),
        ])
        func content(_ downloaded: Set<ProductID>) -> Set<String> {
            ProductSets(
                list: list, purchased: ["pack"], acquiredViaSubscription: [], subscription: nil,
                downloadedContent: downloaded
            ).downloadedContent
        }
        #expect(content([]) == ["lens"])
        #expect(content(["film"]) == ["lens", "film"])
    }

    @Test(arguments: 0..<50)
    func `random prefixes enable the same products as a comparison with each prefix`(seed: Int) {
        var random = SeededNumbers(state: UInt64(seed))
        func word() -> String {
            String((0..<Int.random(in: 0...4, using: &random)).map { _ in "ab.é".randomElement(using: &random)! })
        }
        let prefixes = (0..<Int.random(in: 0...12, using: &random)).map { _ in word() }
        let set = PrefixSet(prefixes)
        for _ in 0..<200 {
            let text = word() + word()
            let isExpected = prefixes.contains { text.utf8.starts(with: $0.utf8) }
            #expect(set.contains(prefixOf: text) == isExpected, "\(text) of \(prefixes)")
        }
    }
}
