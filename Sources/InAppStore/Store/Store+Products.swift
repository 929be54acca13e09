import StoreKitAdapter
import StoreModel

extension Store {
    public func productList() async throws -> [StoreProduct] {
        let shown = list.products.filter { $0.fullPriceProduct == nil && $0.baseProduct == nil }
        return try await describe(shown).values.sorted { $0.id < $1.id }
    }

    public func fetchProductsInfo(_ productIdentifiers: Set<String>) async throws -> [String: StoreProduct] {
        let requested = productIdentifiers.compactMap { text in
            ProductID(rawValue: text).flatMap { list[$0] }
        }
        guard requested.count == productIdentifiers.count else {
            let known = Set(requested.map(\.id.rawValue))
            let unknown = productIdentifiers.subtracting(known).sorted()
            throw PurchaseError(
                .invalidProductIdentifier, "Not in the product list: \(unknown.joined(separator: ", ")).")
        }
        return Dictionary(uniqueKeysWithValues: try await describe(requested).map { ($0.key.rawValue, $0.value) })
    }

    /// Returns the id under which a product is bought: its own id, or the id of the variant that is sold in its place.
    func idToBuy(for product: ListedProduct) async throws -> ProductID {
        guard !product.variants.isEmpty else { return product.id }
        if coordinator.state.storefront == nil {
            _ = try await Self.fetch(requests, for: [product.id], reportingTo: coordinator)
        }
        return variant(of: product)
    }

    private func variant(of product: ListedProduct) -> ProductID {
        variants.variant(of: product.id, in: list, country: coordinator.state.storefront?.countryCode)
    }

    /// Returns the store's description of products: each under its own id, with the price of the variant that is sold
    /// in its place.
    private func describe(_ products: [ListedProduct]) async throws -> [ProductID: StoreProduct] {
        let products = products.filter { !$0.isSubscribersOnly }
        let related = products.flatMap { product in
            [product.id, product.fullPriceProduct].compactMap { $0 }
                + product.variants.compactMap { ListedProduct.variantID($0, of: product.id) }
        }
        let found = try await fetch(for: Set(related)).products
        let known = Dictionary(found.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        return products.reduce(into: [:]) { described, product in
            guard var answer = known[variant(of: product)] else { return }
            answer.id = product.id
            described[product.id] = answer
        }
    }

    /// Fetches prices in advance. Later callers share the request and its answer. After a failure, they repeat it.
    static func prefetch(_ list: ProductList, _ requests: ProductRequest, reportingTo coordinator: StoreCoordinator)
        async
    {
        do {
            let sold = Set(list.products.filter { !$0.isSubscribersOnly }.map(\.id))
            _ = try await fetch(requests, for: sold, reportingTo: coordinator)
        } catch is CancellationError {
        } catch {
            coordinator.report(
                StoreEvent(
                    kind: .nonCriticalError, code: .productsMetadataFetchingFailed,
                    sentence: "Prices could not be fetched. The next request for products fetches them again. \(error)"
                ))
        }
    }

    private func fetch(for ids: Set<ProductID>) async throws -> ProductAnswer {
        do {
            let answer = try await Self.fetch(requests, for: ids, reportingTo: coordinator)
            report(unsold: answer.invalidProductIDs)
            return answer
        } catch ProductRequestError.invalidProducts, ProductRequestError.noProducts {
            report(unsold: ids.sorted())
            return ProductAnswer(products: [], invalidProductIDs: ids.sorted())
        } catch is CancellationError {
            throw PurchaseError(.operationCancelled, "The request for products was cancelled.")
        } catch {
            throw PurchaseError(
                .productsMetadataFetchingFailed, "The request for products failed. Try again later.",
                underlying: error)
        }
    }

    /// Reports products that the store does not sell, each only once in a run.
    private func report(unsold ids: [ProductID]) {
        let newlyUnsold = unsold.withLock { known in ids.filter { known.insert($0).inserted } }
        guard !newlyUnsold.isEmpty else { return }
        let names = newlyUnsold.map(\.rawValue).joined(separator: ", ")
        coordinator.report(
            StoreEvent(
                kind: .nonCriticalError, code: .invalidProductIdentifier,
                sentence: "The store does not sell these products of the product list: \(names)."))
    }

    /// Fetches products, and stores the storefront in which they are sold.
    private static func fetch(
        _ requests: ProductRequest, for ids: Set<ProductID>, reportingTo coordinator: StoreCoordinator
    ) async throws -> ProductAnswer {
        let answer = try await requests.products(ids)
        if let storefrontRevision = await requests.storefrontRevision {
            await coordinator.setStorefront(storefrontRevision)
        }
        return answer
    }
}
