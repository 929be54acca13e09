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

/// Failures are equal when their errors are, as `areEqual(_:_:)` says.
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

/// Asks the store about products and remembers what it said.
///
/// A product seen once is not asked for again in this run, until the storefront changes (its prices and names belong to
/// it; the connection tells by itself) or the caller forces a refresh. Callers who ask for the same product at the same
/// time share one request; one who is cancelled leaves the others undisturbed. Failures are never remembered.
///
///     let products = try await request.products(["com.example.pro"])
public actor ProductRequest {
    private struct Question: Hashable {
        var id: ProductID
        /// Questions before and after a change of the storefront are not the same.
        var epoch: Int
    }

    /// A storefront that was entered, as the how manieth: of two, the one with the greater number is the newer.
    package struct Visit: Sendable, Hashable {
        package var storefront: Storefront
        package var number: Int
    }

    private let connection: any StoreConnection
    private var cache: [ProductID: StoreProduct] = [:]
    /// To what the cache belongs; `nil` until the store was first asked.
    package private(set) var visit: Visit?
    private let visits = Broadcast<Visit>(replaysLast: true)
    private var inFlight: [Question: Task<ProductAnswer, any Error>] = [:]
    private var storefrontsInFlight: [Int: Task<Void, any Error>] = [:]
    private var listener: Task<Void, Never>?
    /// How many callers wait for the store.
    private(set) var waiting = 0

    public init(connection: any StoreConnection) { self.connection = connection }

    /// The storefront in which products were asked for last; `nil` until the store was first asked.
    public var storefront: Storefront? { visit?.storefront }
    private var epoch: Int { visit?.number ?? 0 }

    deinit { listener?.cancel() }

    /// The products among `ids` that the store sells.
    ///
    /// What is known is given without a question to the store, also while it cannot be reached. Throws
    /// `ProductRequestError`: `invalidProducts` when the store knows none of them, `noProducts` when it answers nothing at
    /// all, `requestFailed` when it cannot be asked; `CancellationError` when the caller is cancelled.
    public func products(_ ids: Set<ProductID>, refresh: Bool = false) async throws -> ProductAnswer {
        listen()
        while true {
            if refresh || storefront == nil, !ids.isEmpty { try await lookAtStorefront() }
            var known = refresh ? [:] : cache.filter { ids.contains($0.key) }
            let missing = ids.subtracting(known.keys)
            guard !missing.isEmpty else { return ProductAnswer(products: known.values.sorted { $0.id < $1.id }) }
            let asked = epoch
            let answer = try await fetch(missing)
            // Prices of another storefront than the customer's help nobody.
            guard epoch == asked else { continue }
            for product in answer.products { known[product.id] = product }
            let invalid = answer.invalidProductIDs.sorted()
            guard !known.isEmpty else {
                guard !invalid.isEmpty else { throw ProductRequestError.noProducts }
                throw ProductRequestError.invalidProducts(invalidProductIdentifiers: invalid.map(\.rawValue))
            }
            return ProductAnswer(products: known.values.sorted { $0.id < $1.id }, invalidProductIDs: invalid)
        }
    }

    /// One product, for a purchase: an unknown identifier is `invalidProducts`, whatever else the store answered.
    public func product(_ id: ProductID) async throws -> StoreProduct {
        guard let product = try await products([id]).products.first(where: { $0.id == id }) else {
            throw ProductRequestError.invalidProducts(invalidProductIdentifiers: [id.rawValue])
        }
        return product
    }

    // MARK: - The storefront

    /// Where the customer shops, once that is known, and each storefront entered later.
    package func visited() -> AsyncStream<Visit> {
        listen()
        return visits.stream()
    }

    private func listen() {
        guard listener == nil else { return }
        listener = Task { [weak self, changes = connection.storefrontUpdates] in
            for await storefront in changes { await self?.enter(storefront) }
        }
    }

    private func enter(_ current: Storefront) {
        guard storefront != current else { return }
        let visit = Visit(storefront: current, number: epoch + 1)
        self.visit = visit
        cache = [:]
        visits.send(visit)
    }

    /// Asks where the customer shops; what the connection tells meanwhile is newer than the answer.
    private func lookAtStorefront() async throws {
        let asked = epoch
        let task =
            storefrontsInFlight[asked]
            ?? Task { [connection] in
                defer { storefrontsInFlight[asked] = nil }
                let answer = try await connection.storefront()
                if epoch == asked { enter(answer) }
            }
        storefrontsInFlight[asked] = task
        try await asking { try await task.value }
    }

    // MARK: - Asking

    /// Joins the requests for these identifiers that are under way, and begins one for the rest that outlives its callers.
    private func fetch(_ ids: Set<ProductID>) async throws -> ProductAnswer {
        let questions = ids.map { Question(id: $0, epoch: epoch) }
        let unasked = questions.filter { inFlight[$0] == nil }
        if !unasked.isEmpty {
            let task = Task { [connection] in
                defer { for question in unasked { inFlight[question] = nil } }
                let answer = try await connection.products(Set(unasked.map(\.id)))
                remember(answer, to: unasked)
                return answer
            }
            for question in unasked { inFlight[question] = task }
        }
        var all = ProductAnswer(products: [])
        for task in Set(questions.compactMap { inFlight[$0] }) {
            let answer = try await asking { try await task.value }
            all.products += answer.products.filter { ids.contains($0.id) }
            all.invalidProductIDs += answer.invalidProductIDs.filter(ids.contains)
        }
        return all
    }

    /// Before the request counts as ended, so that nobody asks in between.
    private func remember(_ answer: ProductAnswer, to questions: [Question]) {
        for product in answer.products where questions.contains(Question(id: product.id, epoch: epoch)) {
            cache[product.id] = product
        }
    }

    /// Runs a question whose end the caller need not wait for once it is cancelled.
    private func asking<Answer: Sendable>(
        _ question: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        waiting += 1
        defer { waiting -= 1 }
        do {
            return try await abandonable(question)
        } catch let error as CancellationError {
            throw error
        } catch {
            throw ProductRequestError.requestFailed(error: error)
        }
    }
}
