import Primitives
import StoreModel

/// Why a question about products has no answer.
public enum ProductRequestError: Error {
    /// The store does not know these identifiers: all that were asked for, or, for a purchase, the one.
    case invalidProducts(invalidProductIdentifiers: [String])
    /// The store answered without any product.
    case noProducts
    /// The store could not be asked.
    case requestFailed(error: any Error)
}

/// Asks the store about products and remembers what it said.
///
/// A product seen once is not asked for again in this run, until the storefront changes (its prices and names belong to
/// it) or the caller forces a refresh. Callers who ask for the same identifiers at the same time share one request; one
/// who is cancelled leaves the others undisturbed. Failures are never remembered.
///
///     let products = try await request.products(["com.example.pro"])
public actor ProductRequest {
    private struct Question: Hashable {
        var ids: Set<ProductID>
        var storefront: Storefront
    }

    private let connection: any StoreConnection
    private var cache: [ProductID: StoreProduct] = [:]
    /// The storefront to which the cache belongs; `nil` until the store was first asked.
    public private(set) var storefront: Storefront?
    private var inFlight: [Question: Task<ProductAnswer, any Error>] = [:]

    public init(connection: any StoreConnection) { self.connection = connection }

    /// The products among `ids` that the store sells.
    ///
    /// What is known is also given while the store cannot be reached. Throws `ProductRequestError`: `invalidProducts`
    /// when the store knows none of them, `noProducts` when it answers nothing at all, `requestFailed` when it cannot be
    /// asked; `CancellationError` when the caller is cancelled.
    public func products(_ ids: Set<ProductID>, refresh: Bool = false) async throws -> ProductAnswer {
        let storefront: Storefront
        do {
            storefront = try await currentStorefront()
        } catch ProductRequestError.requestFailed(let error) {
            let known = ids.compactMap { cache[$0] }
            guard !refresh, known.count == ids.count else { throw ProductRequestError.requestFailed(error: error) }
            return ProductAnswer(products: known.sorted { $0.id < $1.id })
        }
        var known = refresh ? [:] : cache.filter { ids.contains($0.key) }
        let missing = ids.subtracting(known.keys)
        guard !missing.isEmpty else { return ProductAnswer(products: known.values.sorted { $0.id < $1.id }) }
        let answer = try await fetch(Question(ids: missing, storefront: storefront))
        for product in answer.products where ids.contains(product.id) { known[product.id] = product }
        if self.storefront == storefront { cache.merge(known) { _, new in new } }
        let invalid = answer.invalidProductIDs.sorted()
        guard !known.isEmpty else {
            guard !invalid.isEmpty else { throw ProductRequestError.noProducts }
            throw ProductRequestError.invalidProducts(invalidProductIdentifiers: invalid.map(\.rawValue))
        }
        return ProductAnswer(products: known.values.sorted { $0.id < $1.id }, invalidProductIDs: invalid)
    }

    private func currentStorefront() async throws -> Storefront {
        let current = try await asking { [connection] in try await connection.storefront() }
        if storefront != current {
            cache = [:]
            storefront = current
        }
        return current
    }

    /// One product, for a purchase: an unknown identifier is `invalidProducts`, whatever else the store answered.
    public func product(_ id: ProductID) async throws -> StoreProduct {
        guard let product = try await products([id]).products.first(where: { $0.id == id }) else {
            throw ProductRequestError.invalidProducts(invalidProductIdentifiers: [id.rawValue])
        }
        return product
    }

    /// Joins the request for the same identifiers that is under way, or begins one that outlives its callers.
    private func fetch(_ question: Question) async throws -> ProductAnswer {
        let task =
            inFlight[question]
            ?? Task { [connection] in
                defer { inFlight[question] = nil }
                return try await connection.products(question.ids)
            }
        inFlight[question] = task
        return try await asking { try await task.value }
    }

    /// Runs a question whose end the caller need not wait for once it is cancelled.
    private func asking<Answer: Sendable>(
        _ question: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        do {
            return try await abandonable(question)
        } catch let error as CancellationError {
            throw error
        } catch {
            throw ProductRequestError.requestFailed(error: error)
        }
    }
}
