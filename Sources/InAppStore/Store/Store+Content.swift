import Primitives
import StoreModel

extension Store {
    public func fetchProductContent(_ productIdentifier: String) -> AsyncThrowingStream<ContentProgress, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: ContentProgress.self)
        let fetch = Task { [keeper, content, list] in
            do {
                guard let product = try Self.withContent(productIdentifier, in: list, keeper.board.current) else {
                    continuation.yield(.nothing)
                    return continuation.finish()
                }
                for try await progress in content.fetch(product.id, parameters: product.parameters) {
                    // Whoever hears that it is there finds it in the snapshot.
                    if progress.location != nil { await keeper.look(at: content) }
                    continuation.yield(progress)
                }
                continuation.finish()
            } catch {
                if let event = StoreEvent.contentFailed(productIdentifier, error) { keeper.report(event) }
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in fetch.cancel() }
        return stream
    }

    public func deleteProductContent(_ productIdentifier: String) async throws {
        guard let product = list[productIdentifier] else {
            throw PurchaseError(.invalidProductIdentifier, "\"\(productIdentifier)\" is not in the product list.")
        }
        guard product.contentFetcherParameters != nil else { return }
        try await content.delete(list.base(of: product.id))
        await keeper.look(at: content)
    }

    /// The folder of a product's content; `nil` when it is not on the device or there is none.
    public func contentLocation(_ productIdentifier: String) -> String? {
        guard let product = ProductID(rawValue: productIdentifier).flatMap({ list[$0] }) else { return nil }
        return content.location(of: list.base(of: product.id))
    }

    /// Under which identifier a product's content is kept, and how it is fetched; `nil` when it has none.
    private static func withContent(
        _ identifier: String, in list: ProductList, _ snapshot: StoreSnapshot
    ) throws -> (id: ProductID, parameters: JSONObject)? {
        guard let product = ProductID(rawValue: identifier).flatMap({ list[$0] }) else {
            throw PurchaseError(.invalidProductIdentifier, "\"\(identifier)\" is not in the product list.")
        }
        let base = list.base(of: product.id)
        guard let parameters = product.contentFetcherParameters else { return nil }
        guard snapshot.allowedProducts.union(snapshot.acquiredProducts).contains(base.rawValue) else {
            throw PurchaseError(
                .contentNotAcquired, "The content of \"\(identifier)\" is for whoever bought or acquired it.")
        }
        return (base, parameters)
    }
}
