import StoreKitAdapter
import StoreModel

extension Store {
    public func productList() async throws -> [StoreProduct] {
        let sold = Set(list.products.filter { !$0.isSubscribersOnly && $0.fullPriceProduct == nil }.map(\.id))
        return try await ask(for: sold).products
    }

    public func fetchProductsInfo(_ productIdentifiers: Set<String>) async throws -> [String: StoreProduct] {
        let asked = productIdentifiers.compactMap { text in
            ProductID(rawValue: text).flatMap { list[$0] }
        }
        guard asked.count == productIdentifiers.count else {
            let known = Set(asked.map(\.id.rawValue))
            let unknown = productIdentifiers.subtracting(known).sorted()
            throw StoreError(
                .invalidProductIdentifier, "Not in the product list: \(unknown.joined(separator: ", ")).")
        }
        let sold = asked.filter { !$0.isSubscribersOnly }
        // A discount is shown beside the full price.
        let products = try await ask(for: Set(sold.map(\.id) + sold.compactMap(\.fullPriceProduct))).products
            .filter { productIdentifiers.contains($0.id.rawValue) }
        return Dictionary(products.map { ($0.id.rawValue, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Asks for prices before anybody needs them; who asks later shares this request or repeats it.
    static func prefetch(_ list: ProductList, _ requests: ProductRequest, telling keeper: StoreKeeper) async {
        do {
            let sold = Set(list.products.filter { !$0.isSubscribersOnly }.map(\.id))
            _ = try await ask(requests, for: sold, telling: keeper)
        } catch is CancellationError {
        } catch {
            keeper.report(
                StoreEvent(
                    kind: .nonCriticalError, code: .productsMetadataFetchingFailed,
                    sentence: "Prices could not be fetched; they are asked for again when somebody needs them. \(error)"
                ))
        }
    }

    private func ask(for ids: Set<ProductID>) async throws -> ProductAnswer {
        do {
            return try await Self.ask(requests, for: ids, telling: keeper)
        } catch ProductRequestError.invalidProducts, ProductRequestError.noProducts {
            return ProductAnswer(products: [], invalidProductIDs: ids.sorted())
        } catch is CancellationError {
            throw StoreError(.operationCancelled, "The question about products was cancelled.")
        } catch {
            throw StoreError(
                .productsMetadataFetchingFailed, "The store could not be asked about products; try again later.",
                underlying: error)
        }
    }

    /// Asks for products, and tells the keeper in which storefront they are sold.
    private static func ask(
        _ requests: ProductRequest, for ids: Set<ProductID>, telling keeper: StoreKeeper
    ) async throws -> ProductAnswer {
        let answer = try await requests.products(ids)
        if let storefront = await requests.storefront { await keeper.set(storefront: storefront) }
        return answer
    }
}
