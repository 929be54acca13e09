import BaseTestSupport
import Primitives
import StoreKitAdapter
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

@Suite(.timeLimit(.minutes(2)))
struct StoreProductsTests {
    private let test = StoreTestContext()

    private func asked() -> [Set<ProductID>] {
        test.connection.calls.all.compactMap { if case .products(let ids) = $0 { ids } else { nil } }
    }

    private func breakStore() {
        test.connection.before { call in
            if case .products = call { throw StoreFailure(code: .unreachable, reason: "gone") }
        }
    }

    @Test func `prices are fetched in every run without a request of the app`() async throws {
        for _ in 0..<2 {
            let before = asked().count
            let store = try await test.open()
            await test.connection.calls.wait { calls in
                calls.filter { if case .products = $0 { true } else { false } }.count > before
            }
            #expect(asked().last == Set(Fixture.products.map(\.id)))
            await store.close()
        }
    }

    @Test func `prices that could not be fetched are reported, and requested again`() async throws {
        breakStore()
        let store = try await test.open()
        var events = store.events.makeAsyncIterator()
        #expect(await events.next()?.code == .productsMetadataFetchingFailed)
        await #expect {
            _ = try await store.productList()
        } throws: { error in
            guard let error = error as? PurchaseError, case ProductRequestError.requestFailed? = error.underlying else {
                return false
            }
            return error.code == .productsMetadataFetchingFailed
        }
        await #expect(throws: PurchaseError(.productsMetadataFetchingFailed, "")) {
            _ = try await store.fetchProductsInfo(["pack"])
        }
        test.connection.before { _ in }
        #expect(try await store.productList().count == 4)
        await store.close()
    }

    @Test func `a product that the store does not sell is absent, and reported once`() async throws {
        test.connection.set(products: Fixture.products.filter { $0.id != "coins" })
        let store = try await test.open()
        var events = store.events.makeAsyncIterator()
        #expect(try await store.productList().map(\.id) == ["basic.monthly", "pack", "pro.monthly"])
        let event = await events.next()
        #expect(event?.code == .invalidProductIdentifier && event?.sentence.contains("coins") == true)
        #expect(try await store.fetchProductsInfo(["coins"]).isEmpty)
        await store.close()
        #expect(await events.next() == nil)
    }

    @Test func `a list that contains only subscribers' products is not an error`() async throws {
        let list = ProductList([
            ListedProduct(id: "film", productType: .nonConsumable, isSubscribersOnly: true)
        ])
        let store = try await test.open(list: list)
        #expect(try await store.productList().isEmpty)
        #expect(try await store.fetchProductsInfo(["film"]).isEmpty)
        await store.close()
    }

    @Test func `the error names identifiers that are not in the list`() async throws {
        let store = try await test.open()
        await #expect {
            _ = try await store.fetchProductsInfo(["pack", "y", "x", ""])
        } throws: { error in
            (error as? PurchaseError)?.code == .invalidProductIdentifier && "\(error)".contains("x, y")
                && !"\(error)".contains("pack")
        }
        await store.close()
    }

    @Test func `a cancelled request for products throws operationCancelled`() async throws {
        test.connection.before { call in if case .products = call { try await Gate().pass() } }
        let store = try await test.open()
        let question = Task { _ = try await store.productList() }
        await test.connection.calls.wait { $0.contains { if case .products = $0 { true } else { false } } }
        question.cancel()
        await #expect(throws: PurchaseError(.operationCancelled, "")) { try await question.value }
        await store.close()
    }

    // MARK: - Variants

    private var withVariants: ProductList {
        get throws {
            let json = """
                [{"identifier": "lens", "productType": "nonConsumable", "variants": ["TierA", "TierB"]}]
                """
            return try ProductList(parsing: Array(json.utf8), file: "list.json")
        }
    }

    private func sellVariants(in country: String) {
        test.connection.set(
            storefront: Storefront(countryCode: country, id: "1", locale: "en_IN", currency: "USD"))
        let prices: [ProductID: Int64] = ["lens": 4990, "lens.Variant.TierA": 2990, "lens.Variant.TierB": 990]
        test.connection.set(
            products: prices.map {
                StoreProduct(id: $0.key, kind: .nonConsumable, price: Price(milliunits: $0.value, currency: "USD"))
            })
    }

    @Test(arguments: [
        ("IND", "lens.Variant.TierB", 990), ("POL", "lens.Variant.TierA", 2990), ("USA", "lens", 4990),
    ])
    func `the variant of the country is shown and sold, under the product's own identifier`(
        country: String, sold: String, milliunits: Int64
    ) async throws {
        sellVariants(in: country)
        var configuration = test.configuration(list: try withVariants)
        configuration.variantSelector = .tiers(byCountry: ["IND": "TierB", "POL": "TierA"])
        let store = try await test.open(configuration)
        let shown = try await store.productList()
        #expect(shown.map(\.id) == ["lens"])
        #expect(shown.map(\.price.milliunits) == [milliunits])
        #expect(try await store.fetchProductsInfo(["lens"])["lens"]?.price.milliunits == milliunits)
        let id = try #require(ProductID(rawValue: sold))
        test.setAnswer(Fixture.customer(purchases: [Fixture.purchase(id)]))
        try await store.purchaseProduct("lens")
        #expect(test.connection.payments.map(\.productID) == [id])
        #expect(store.purchasedProducts == ["lens"] && store.allowedProducts == ["lens"])
        test.connection.set(restorable: [ScriptedStoreConnection.transaction("1", id)])
        #expect(try await store.restorePurchases().restored == ["lens"])
        await store.close()
    }

    @Test func `a purchase fails with a PurchaseError if the storefront cannot be requested`() async throws {
        breakStore()
        let store = try await test.open(list: try withVariants)
        await #expect(throws: PurchaseError(.productsMetadataFetchingFailed, "")) {
            try await store.purchaseProduct("lens")
        }
        #expect(test.connection.payments.isEmpty)
        await store.close()
    }

    @Test func `a purchase that is cancelled during the request for the storefront throws operationCancelled`()
        async throws
    {
        test.connection.before { call in if case .products = call { try await Gate().pass() } }
        let store = try await test.open(list: try withVariants)
        let purchase = Task { try await store.purchaseProduct("lens") }
        await test.connection.calls.wait { $0.contains { if case .products = $0 { true } else { false } } }
        purchase.cancel()
        await #expect(throws: PurchaseError(.operationCancelled, "")) { try await purchase.value }
        #expect(test.connection.payments.isEmpty)
        await store.close()
    }

    @Test func `a purchase before the prices are known buys the variant of the storefront`() async throws {
        sellVariants(in: "IND")
        test.connection.before { call in
            if case .products(let ids) = call, ids.count > 1 { throw StoreFailure(code: .unreachable, reason: "") }
        }
        var configuration = test.configuration(list: try withVariants)
        configuration.variantSelector = .tiers(byCountry: ["IND": "TierB"])
        let store = try await test.open(configuration)
        var events = store.events.makeAsyncIterator()
        #expect(await events.next()?.code == .productsMetadataFetchingFailed)
        try await store.purchaseProduct("lens")
        #expect(test.connection.payments.map(\.productID) == ["lens.Variant.TierB"])
        await store.close()
    }
}
