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
    private let connection: any StoreConnection
    private var cache: [ProductID: StoreProduct] = [:]
    private var cachedStorefront: Storefront?
    private var inFlight: [Set<ProductID>: Task<ProductAnswer, any Error>] = [:]

    public init(connection: any StoreConnection) { self.connection = connection }

    /// The products among `ids` that the store sells.
    ///
    /// Throws `ProductRequestError`: `invalidProducts` when the store knows none of them, `noProducts` when it answers
    /// nothing at all, `requestFailed` when it cannot be asked; `CancellationError` when the caller is cancelled.
    public func products(_ ids: Set<ProductID>, refresh: Bool = false) async throws -> ProductAnswer {
        let storefront = try await asking { try await self.connection.storefront() }
        if cachedStorefront != storefront { cache = [:] }
        cachedStorefront = storefront
        let missing = refresh ? ids : ids.filter { cache[$0] == nil }
        var invalid: [ProductID] = []
        if !missing.isEmpty {
            let answer = try await fetch(missing)
            guard !answer.products.isEmpty || !answer.invalidProductIDs.isEmpty else {
                throw ProductRequestError.noProducts
            }
            if cachedStorefront == storefront {
                for product in answer.products { cache[product.id] = product }
            }
            invalid = answer.invalidProductIDs.sorted()
            let known = ids.compactMap { id in answer.products.first { $0.id == id } ?? cache[id] }
            return try Self.checked(known, invalid)
        }
        return try Self.checked(ids.compactMap { cache[$0] }, invalid)
    }

    /// One product, for a purchase: an unknown identifier is `invalidProducts`, whatever else the store answered.
    public func product(_ id: ProductID) async throws -> StoreProduct {
        guard let product = try await products([id]).products.first(where: { $0.id == id }) else {
            throw ProductRequestError.invalidProducts(invalidProductIdentifiers: [id.rawValue])
        }
        return product
    }

    private static func checked(_ products: [StoreProduct], _ invalid: [ProductID]) throws -> ProductAnswer {
        guard !products.isEmpty || invalid.isEmpty else {
            throw ProductRequestError.invalidProducts(invalidProductIdentifiers: invalid.map(\.rawValue))
        }
        return ProductAnswer(products: products.sorted { $0.id < $1.id }, invalidProductIDs: invalid)
    }

    /// Joins the request for the same identifiers that is under way, or begins one that outlives its callers.
    private func fetch(_ ids: Set<ProductID>) async throws -> ProductAnswer {
        if inFlight[ids] == nil {
            inFlight[ids] = Task { [connection] in
                defer { inFlight[ids] = nil }
                return try await connection.products(ids)
            }
        }
        guard let task = inFlight[ids] else { throw ProductRequestError.noProducts }
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
