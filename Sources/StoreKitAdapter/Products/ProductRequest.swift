import Primitives
import StoreModel

/// The reason why a request for products failed.
public enum ProductRequestError: Error {
    /// The store does not sell these products: all requested products, or the product of a purchase.
    case invalidProducts(invalidProductIdentifiers: [String])
    /// The response is empty.
    case noProducts
    /// The request to the store failed.
    case requestFailed(error: any Error)
}

/// Failures are equal if their errors are, by `areEqual(_:_:)`.
extension ProductRequestError: Equatable {
    public static func == (left: ProductRequestError, right: ProductRequestError) -> Bool {
        switch (left, right) {
        case (.invalidProducts(let left), .invalidProducts(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.hasSameBytes(as: $1) }
        case (.noProducts, .noProducts): true
        case (.requestFailed(let left), .requestFailed(let right)): areEqual(left, right)
        default: false
        }
    }
}

/// Fetches products from the store and caches them.
///
/// A product is fetched once. It is fetched again only after the storefront changes, or if the caller requests a
/// refresh. Prices and names depend on the storefront, and the connection reports each change of it. Callers that
/// request the same product at the same time share one request; a cancelled caller does not affect the others. Failures
/// are not cached.
///
///     let products = try await request.products(["com.example.pro"])
public actor ProductRequest {
    private struct RequestKey: Hashable {
        var id: ProductID
        /// The revision of the storefront, so that a request after a change of the storefront is a new one.
        var revision: Int
    }

    /// A storefront and its revision. The greater revision is the newer one.
    package struct StorefrontRevision: Sendable, Hashable {
        package var storefront: Storefront
        package var number: Int
    }

    private let connection: any StoreConnection
    private var cache: [ProductID: StoreProduct] = [:]
    /// The customer's storefront, to which the cached products belong; `nil` while it is unknown.
    package private(set) var storefrontRevision: StorefrontRevision?
    private let revisions = Broadcast<StorefrontRevision>(replaysLast: true)
    private var inFlight: [RequestKey: Task<ProductAnswer, any Error>] = [:]
    private var storefrontsInFlight: [Int: Task<Void, any Error>] = [:]
    private var listener: Task<Void, Never>?
    /// The number of callers that wait for the store.
    private(set) var waiting = 0

    /// Creates an empty cache of the products of `connection`.
    public init(connection: any StoreConnection) { self.connection = connection }

    /// The customer's storefront, to which the cached products belong; `nil` while it is unknown.
    public var storefront: Storefront? { storefrontRevision?.storefront }
    private var revision: Int { storefrontRevision?.number ?? 0 }

    deinit { listener?.cancel() }

    /// Returns the products among `ids` that the store sells. Cached products are returned without a request, even if
    /// the store is unreachable.
    ///
    /// - Parameters:
    ///   - ids: The ids of the products.
    ///   - refresh: Whether to fetch the products again, even if they are cached.
    /// - Returns: The products, sorted by id, and the ids that the store does not sell.
    /// - Throws: ``ProductRequestError``: `invalidProducts` if the store sells none of them, `noProducts` if the
    ///   response is empty, `requestFailed` if the request fails; `CancellationError` if the caller is cancelled.
    public func products(_ ids: Set<ProductID>, refresh: Bool = false) async throws -> ProductAnswer {
        listen()
        while true {
            if refresh || storefront == nil, !ids.isEmpty { try await fetchStorefront() }
            var known = refresh ? [:] : cache.filter { ids.contains($0.key) }
            let missing = ids.subtracting(known.keys)
            guard !missing.isEmpty else { return ProductAnswer(products: known.values.sorted { $0.id < $1.id }) }
            let requestedRevision = revision
            let answer = try await fetch(missing)
            guard revision == requestedRevision else { continue }
            for product in answer.products { known[product.id] = product }
            let invalid = answer.invalidProductIDs.sorted()
            guard !known.isEmpty else {
                guard !invalid.isEmpty else { throw ProductRequestError.noProducts }
                throw ProductRequestError.invalidProducts(invalidProductIdentifiers: invalid.map(\.rawValue))
            }
            return ProductAnswer(products: known.values.sorted { $0.id < $1.id }, invalidProductIDs: invalid)
        }
    }

    /// Returns one product, for a purchase.
    ///
    /// - Parameter id: The id of the product.
    /// - Returns: The product.
    /// - Throws: ``ProductRequestError``, as ``products(_:refresh:)`` does; `invalidProducts` if the store does not
    ///   sell it, even if the response contains other products; `CancellationError`.
    public func product(_ id: ProductID) async throws -> StoreProduct {
        guard let product = try await products([id]).products.first(where: { $0.id == id }) else {
            throw ProductRequestError.invalidProducts(invalidProductIdentifiers: [id.rawValue])
        }
        return product
    }

    /// Returns the customer's storefront, once it is known, and each change.
    package func storefrontRevisions() -> AsyncStream<StorefrontRevision> {
        listen()
        return revisions.stream()
    }

    private func listen() {
        guard listener == nil else { return }
        listener = Task { [weak self, changes = connection.storefrontUpdates] in
            for await storefront in changes { await self?.setStorefront(storefront) }
        }
    }

    private func setStorefront(_ current: Storefront) {
        guard storefront != current else { return }
        let storefrontRevision = StorefrontRevision(storefront: current, number: revision + 1)
        self.storefrontRevision = storefrontRevision
        cache = [:]
        revisions.send(storefrontRevision)
    }

    /// Fetches the customer's storefront. An update that arrives meanwhile is newer than the response.
    private func fetchStorefront() async throws {
        let requestedRevision = revision
        let task =
            storefrontsInFlight[requestedRevision]
            ?? Task { [connection] in
                defer { storefrontsInFlight[requestedRevision] = nil }
                let answer = try await connection.storefront()
                if revision == requestedRevision { setStorefront(answer) }
            }
        storefrontsInFlight[requestedRevision] = task
        try await awaitResult { try await task.value }
    }

    /// Joins the running requests for these ids, and begins one for the rest. A request outlives its callers.
    private func fetch(_ ids: Set<ProductID>) async throws -> ProductAnswer {
        let keys = ids.map { RequestKey(id: $0, revision: revision) }
        let newKeys = keys.filter { inFlight[$0] == nil }
        if !newKeys.isEmpty {
            let task = Task { [connection] in
                defer { for key in newKeys { inFlight[key] = nil } }
                let answer = try await connection.products(Set(newKeys.map(\.id)))
                remember(answer, to: newKeys)
                return answer
            }
            for key in newKeys { inFlight[key] = task }
        }
        var all = ProductAnswer(products: [])
        for task in Set(keys.compactMap { inFlight[$0] }) {
            let answer = try await awaitResult { try await task.value }
            all.products += answer.products.filter { ids.contains($0.id) }
            all.invalidProductIDs += answer.invalidProductIDs.filter(ids.contains)
        }
        return all
    }

    /// Caches an answer before its request is removed, so that no caller requests the same product in between.
    private func remember(_ answer: ProductAnswer, to keys: [RequestKey]) {
        for product in answer.products where keys.contains(RequestKey(id: product.id, revision: revision)) {
            cache[product.id] = product
        }
    }

    /// Waits for a shared request; a cancelled caller stops waiting at once.
    private func awaitResult<Answer: Sendable>(
        _ operation: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        waiting += 1
        defer { waiting -= 1 }
        do {
            return try await cancellableWait(operation)
        } catch let error as CancellationError {
            throw error
        } catch {
            throw ProductRequestError.requestFailed(error: error)
        }
    }
}
