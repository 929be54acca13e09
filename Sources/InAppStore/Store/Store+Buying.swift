import StoreKitAdapter
import StoreModel

extension Store {
    public func purchaseProduct(_ productIdentifier: String) async throws {
        try await telling(of: ProductID(rawValue: productIdentifier)) {
            try await buy(listed(productIdentifier, orThrow: .invalidProductForPurchasing))
        }
    }

    public func purchaseConsumableProduct(_ productIdentifier: String, quantity: Int) async throws {
        try Self.check(quantity)
        let product = try consumable(listed(productIdentifier, orThrow: .invalidProductForPurchasing))
        try await telling(of: product.id) { try await buy(product, quantity: quantity) }
    }

    /// Buys a product as `purchaseProduct(_:)` does, and says what came of it.
    ///
    /// - Parameters:
    ///   - quantity: how many, 1 to 10; of a consumable only can there be more than one.
    ///   - offer: an offer of the product at whose price one is bought.
    @discardableResult
    public func purchase(
        _ product: ProductID, quantity: Int = 1, offer: PaymentOffer? = nil
    ) async throws -> StorePurchase {
        if quantity != 1 {
            try Self.check(quantity)
            guard offer == nil else {
                throw StoreError(.invalidQuantityForPurchasing, "An offer is of one, not of \(quantity).")
            }
            _ = try consumable(listed(product.rawValue, orThrow: .invalidProductForPurchasing))
        }
        return try await telling(of: product) {
            try await buy(
                listed(product.rawValue, orThrow: .invalidProductForPurchasing), quantity: quantity, offer: offer)
        }
    }

    public func acquireAllEnabledProducts() async throws { try await keeper.acquireAll() }

    private static func check(_ quantity: Int) throws {
        guard (1...10).contains(quantity) else {
            throw StoreError(.invalidQuantityForPurchasing, "A purchase is of 1 to 10, not of \(quantity).")
        }
    }

    private func consumable(_ product: ListedProduct) throws -> ListedProduct {
        guard product.productType == .consumable else {
            throw StoreError(.invalidProductForPurchasing, "\"\(product.id)\" is not a consumable.")
        }
        return product
    }

    /// Sends an event about what came of a purchase that somebody waits for.
    @discardableResult
    private func telling(
        of product: ProductID?, _ buy: () async throws -> StorePurchase
    ) async throws -> StorePurchase {
        do {
            let purchase = try await buy()
            if let product { keeper.report(.purchased(product, purchase.transaction)) }
            return purchase
        } catch {
            if let event = StoreEvent.failed(product, error) { keeper.report(event) }
            throw error
        }
    }

    private func buy(
        _ product: ListedProduct, quantity: Int = 1, offer: PaymentOffer? = nil
    ) async throws -> StorePurchase {
        guard !product.isSubscribersOnly else {
            try await keeper.acquire(product.id)
            return StorePurchase(transaction: nil, isPendingAcknowledgement: false)
        }
        let owner = keeper.owner
        let answer = await queue.purchase(
            try await sold(as: product), quantity: quantity,
            appAccountToken: owner.isAnonymous ? nil : owner.customer.appAccountToken, offer: offer)
        let isPending = answer.transaction.map { keeper.isProvisional($0.id) } ?? false
        if case .failed(let error) = answer.outcome, !isPending { throw StoreError.ofPurchase(error) }
        return StorePurchase(transaction: answer.transaction, isPendingAcknowledgement: isPending)
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
