import BaseTestSupport
import StoreModel
import Testing

@testable import InAppStore

/// The formula of the allowed products, with P the list, B what was bought, A what was acquired through a subscription
/// and E what the active subscription enables.
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
        Case(sentence: "who has nothing is allowed nothing", allowed: []),
        Case(sentence: "what was bought is allowed", bought: ["lens"], allowed: ["lens"]),
        Case(
            sentence: "what was bought is allowed though nobody lists it", bought: ["old"], allowed: ["old"]),
        Case(
            sentence: "what was acquired is allowed to a subscriber", acquired: ["film.noir", "lens"], active: "all",
            allowed: ["film.noir", "lens"]),
        Case(sentence: "what was not acquired is not allowed", acquired: ["lens"], active: "all", allowed: ["lens"]),
        Case(
            sentence: "after the subscription only what was bought is allowed", bought: ["pack"], acquired: ["lens"],
            allowed: ["pack"]),
        Case(
            sentence: "a partial subscription allows what begins with its prefixes",
            acquired: ["film.noir", "film.sepia", "lens"], active: "film.only", allowed: ["film.noir", "film.sepia"]),
        Case(
            sentence: "a subscription that enables nothing allows nothing", bought: ["pack"], acquired: ["film.noir"],
            active: "nothing", allowed: ["pack"]),
        Case(
            sentence: "the empty prefix begins everything", acquired: ["film.noir", "lens"], active: "everything",
            allowed: ["film.noir", "lens"]),
        Case(
            sentence: "a subscription that is not listed allows everything acquired", acquired: ["film.noir", "lens"],
            active: "unknown", allowed: ["film.noir", "lens"]),
        Case(
            sentence: "a product that is no subscription enables nothing", acquired: ["film.noir"], active: "lens",
            allowed: []),
        Case(
            sentence: "subscriptions themselves are not enabled", acquired: ["film.only", "lens"], active: "all",
            allowed: ["lens"]),
        Case(
            sentence: "what was acquired and is not listed any more is not allowed", acquired: ["old"], active: "all",
            allowed: []),
        Case(
            sentence: "without a list a subscriber keeps everything acquired and bought", list: nil, bought: ["pack"],
            acquired: ["lens", "old"], active: "unknown", allowed: ["pack", "lens", "old"]),
        Case(
            sentence: "without a list others keep what they bought", list: nil, bought: ["pack"], acquired: ["lens"],
            allowed: ["pack"]),
        Case(
            sentence: "with an empty list what was bought is allowed", list: ProductList([]), bought: ["pack"],
            acquired: ["lens"], active: "all", allowed: ["pack"]),
        Case(
            sentence: "discounts and variants count as their product", bought: ["pack.half"],
            acquired: ["pack.Variant.A"], active: "all", allowed: ["pack"]),
    ])
    func `the formula`(_ known: Case) {
        let sets = ProductSets(
            list: known.list, purchased: known.bought, acquiredViaSubscription: known.acquired,
            subscription: known.active)
        #expect(sets.allowed == known.allowed)
    }

    @Test func `what was bought and what was acquired are told apart, and together whether allowed or not`() {
        let sets = ProductSets(
            list: Self.list, purchased: ["pack.half", "lens"], acquiredViaSubscription: ["film.noir", "lens", "old"],
            subscription: nil)
        #expect(sets.purchased == ["pack", "lens"])
        #expect(sets.acquiredViaSubscription == ["film.noir", "lens", "old"])
        #expect(sets.acquired == ["pack", "lens", "film.noir", "old"])
        #expect(sets.allowed == ["pack", "lens"])
    }

    @Test func `what is acquired from the start is allowed from the start`() {
        let list = ProductList([
            ListedProduct(id: "grain", productType: .nonConsumable, isSubscribersOnly: true, preAcquired: true)
        ])
        let sets = ProductSets(list: list, purchased: [], acquiredViaSubscription: [], subscription: nil)
        #expect(sets.allowed == ["grain"])
        #expect(sets.acquired == [])
    }

    @Test func `what comes with a subscription by itself is acquired, and allowed to subscribers only`() {
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

    @Test func `content is there when it was downloaded, or when there is none`() {
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
    func `whatever the prefixes, the same is enabled as by trying each`(seed: Int) {
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
