import Primitives
import StoreModel

extension Store {
    public func fetchProductContent(_ productIdentifier: String) -> AsyncThrowingStream<ContentProgress, any Error> {
        fetchContent(ProductID(rawValue: productIdentifier), named: productIdentifier)
    }

    /// Fetches the content of the product `product`, as `fetchProductContent(_:)` with a string does.
    public func fetchProductContent(_ product: ProductID) -> AsyncThrowingStream<ContentProgress, any Error> {
        fetchContent(product, named: product.rawValue)
    }

    /// - Parameter name: The id as the app passed it.
    private func fetchContent(_ id: ProductID?, named name: String) -> AsyncThrowingStream<ContentProgress, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: ContentProgress.self)
        let fetch = Task { [coordinator, content, list] in
            do {
                guard
                    let product = try Self.withContent(id, named: name, in: list, coordinator.snapshotPublisher.current)
                else {
                    continuation.yield(.nothing)
                    return continuation.finish()
                }
                for try await progress in content.fetch(product.id, parameters: product.parameters) {
                    if progress.location != nil { await coordinator.updateContent(from: content) }
                    continuation.yield(progress)
                }
                continuation.finish()
            } catch {
                if let event = StoreEvent.contentFailed(name, error) { coordinator.report(event) }
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in fetch.cancel() }
        return stream
    }

    public func deleteProductContent(_ productIdentifier: String) async throws {
        try await deleteContent(ProductID(rawValue: productIdentifier), named: productIdentifier)
    }

    /// Removes the content of a product, as `deleteProductContent(_:)` with a string does.
    ///
    /// - Parameter product: The product whose content to remove.
    /// - Throws: `PurchaseError`.
    public func deleteProductContent(_ product: ProductID) async throws {
        try await deleteContent(product, named: product.rawValue)
    }

    private func deleteContent(_ id: ProductID?, named name: String) async throws {
        let product = try Self.listed(id, named: name, in: list)
        guard product.contentFetcherParameters != nil else { return }
        try await content.delete(list.base(of: product.id))
        await coordinator.updateContent(from: content)
    }

    /// Returns the folder of the content of `productIdentifier`; `nil` if it is not on the device.
    public func contentLocation(_ productIdentifier: String) -> String? {
        ProductID(rawValue: productIdentifier).flatMap { contentLocation($0) }
    }

    /// Returns the folder of the content of `product`; `nil` if it is not on the device.
    public func contentLocation(_ product: ProductID) -> String? {
        list[product].flatMap { content.location(of: list.base(of: $0.id)) }
    }

    private static func listed(_ id: ProductID?, named name: String, in list: ProductList) throws -> ListedProduct {
        guard let product = id.flatMap({ list[$0] }) else {
            throw PurchaseError(.invalidProductIdentifier, "\"\(name)\" is not in the product list.")
        }
        return product
    }

    /// Returns the id under which a product's content is stored, and its parameters; `nil` if it has no content.
    private static func withContent(
        _ id: ProductID?, named name: String, in list: ProductList, _ snapshot: StoreSnapshot
    ) throws -> (id: ProductID, parameters: JSONObject)? {
        let product = try listed(id, named: name, in: list)
        let base = list.base(of: product.id)
        guard let parameters = product.contentFetcherParameters else { return nil }
        guard snapshot.allowedProducts.union(snapshot.acquiredProducts).contains(base.rawValue) else {
            throw PurchaseError(
                .contentNotAcquired,
                "The content of \"\(name)\" is available only after the product was bought or acquired.")
        }
        return (base, parameters)
    }
}
