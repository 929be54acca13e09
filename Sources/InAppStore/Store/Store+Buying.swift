import StoreKitAdapter
import StoreModel

extension Store {
    public func purchaseProduct(_ productIdentifier: String) async throws {
        try await purchase(productIdentifier, quantity: 1, offer: nil)
    }

    public func purchaseConsumableProduct(_ productIdentifier: String, quantity: Int) async throws {
        try await purchaseConsumable(productIdentifier, quantity: quantity)
    }

    public func acquireAllEnabledProducts() async throws { try await keeper.acquireAll() }

    @discardableResult
    func purchaseConsumable(_ productIdentifier: String, quantity: Int) async throws -> StoreTransaction? {
        guard (1...10).contains(quantity) else {
            throw StoreError(.invalidQuantityForPurchasing, "A purchase is of 1 to 10, not of \(quantity).")
        }
        let product = try listed(productIdentifier, orThrow: .invalidProductForPurchasing)
        guard product.productType == .consumable else {
            throw StoreError(.invalidProductForPurchasing, "\"\(productIdentifier)\" is not a consumable.")
        }
        return try await purchase(productIdentifier, quantity: quantity, offer: nil)
    }

    /// Buys, and returns the store's transaction; `nil` when a subscription gave the product and nothing was paid.
    @discardableResult
    func purchase(_ productIdentifier: String, quantity: Int, offer: PaymentOffer?) async throws -> StoreTransaction? {
        do {
            let product = try listed(productIdentifier, orThrow: .invalidProductForPurchasing)
            let transaction =
                product.isSubscribersOnly
                ? try await acquire(product) : try await pay(for: product, quantity: quantity, offer: offer)
            keeper.report(.purchased(product.id, transaction))
            return transaction
        } catch {
            let event = StoreEvent.failed(ProductID(rawValue: productIdentifier), error)
            if let event { keeper.report(event) }
            throw error
        }
    }

    private func acquire(_ product: ListedProduct) async throws -> StoreTransaction? {
        try await keeper.acquire(product.id)
        return nil
    }

    private func pay(for product: ListedProduct, quantity: Int, offer: PaymentOffer?) async throws -> StoreTransaction?
    {
        let owner = keeper.owner
        let answer = await queue.purchase(
            try await sold(as: product), quantity: quantity,
            appAccountToken: owner.isAnonymous ? nil : owner.customer.appAccountToken, offer: offer)
        if case .failed(let error) = answer.outcome {
            if let transaction = answer.transaction, keeper.isProvisional(transaction.id) { return transaction }
            throw StoreError.ofPurchase(error)
        }
        return answer.transaction
    }
}

extension StoreError {
    /// Why a purchase failed, in the store's words; what was asked about products before it stays as it is.
    static func ofPurchase(_ error: any Error) -> any Error {
        if error is ProductRequestError { return error }
        guard let error = error as? PaymentError else {
            return StoreError(.purchaseFailed, "The purchase failed.", underlying: error)
        }
        let refusal = (error.underlying as? StoreFailure)?.code
        let code: Code =
            switch error.code {
            case .cancelled, .customerChanged: .operationCancelled
            case .deferred: .purchaseDeferred
            case .acknowledgementPending: .acknowledgementPending
            case _ where refusal == .notAllowed: .purchaseNotAllowed
            default: .purchaseFailed
            }
        let detail = (error.underlying as? StoreError)?.sentence
        return StoreError(code, detail ?? error.sentence, underlying: error)
    }
}
