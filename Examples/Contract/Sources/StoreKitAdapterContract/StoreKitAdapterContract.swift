import StoreKitAdapter

func request(_ error: ProductRequestError) -> [String] {
    let named: ResponseError = error
    switch named {
    case .invalidProducts(let invalidProductIdentifiers): return invalidProductIdentifiers
    case .noProducts: return []
    case .requestFailed(let error): return [String(describing: error)]
    }
}

func payment(_ outcome: PurchaseOutcome) -> String {
    let named: ResultType = outcome
    switch named {
    case .purchased(let productId): return productId
    case .restored(let productId): return productId
    case .nothingToRestore: return ""
    case .failed(let error): return String(describing: error)
    }
}

func made() -> ([PurchaseOutcome], [ProductRequestError]) {
    let failure = ProductRequestError.noProducts
    return (
        [.purchased(productId: "a"), .restored(productId: "b"), .nothingToRestore, .failed(error: failure)],
        [.invalidProducts(invalidProductIdentifiers: ["c"]), failure, .requestFailed(error: failure)]
    )
}

/// The older names of `ProductRequest` and `PaymentQueue`.
typealias Query = InAppProductQueryRequest
typealias Purchase = InAppProductPurchaseRequest

/// The module re-exports the types in its signatures.
func products(_ request: InAppProductQueryRequest) async throws -> [ProductID] {
    let answer: ProductAnswer = try await request.products(["a"])
    return answer.products.map(\.id)
}
