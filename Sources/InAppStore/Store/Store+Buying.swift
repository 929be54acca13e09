import StoreKitAdapter
import StoreModel

extension Store {
    public func purchaseProduct(_ productIdentifier: String) async throws {
        let id = ProductID(rawValue: productIdentifier)
        try await reportingOutcome(of: id) { try await buy(listed(id, named: productIdentifier)) }
    }

    /// Buys one unit of a product, as `purchaseProduct(_:)` with a string does.
    ///
    /// - Parameter product: The product to buy.
    /// - Throws: `PurchaseError`.
    public func purchaseProduct(_ product: ProductID) async throws { try await purchase(product) }

    public func purchaseConsumableProduct(_ productIdentifier: String, quantity: Int) async throws {
        try await buyConsumable(ProductID(rawValue: productIdentifier), named: productIdentifier, quantity)
    }

    /// Buys a consumable, as `purchaseConsumableProduct(_:quantity:)` with a string does.
    ///
    /// - Parameters:
    ///   - product: The consumable to buy.
    ///   - quantity: 1 to 10.
    /// - Throws: `PurchaseError`.
    public func purchaseConsumableProduct(_ product: ProductID, quantity: Int) async throws {
        try await buyConsumable(product, named: product.rawValue, quantity)
    }

    private func buyConsumable(_ id: ProductID?, named name: String, _ quantity: Int) async throws {
        try Self.check(quantity)
        let product = try listed(id, named: name)
        try Self.checkConsumable(product)
        try await purchase(product, quantity: quantity)
    }

    /// Buys a product as `purchaseProduct(_:)` does, and returns the purchase.
    ///
    /// - Parameters:
    ///   - product: A product of the list.
    ///   - quantity: 1 to 10; more than 1 only for a consumable.
    ///   - offer: The offer whose price the customer pays; only for a quantity of 1.
    /// - Returns: The purchase.
    /// - Throws: `PurchaseError`.
    @discardableResult
    public func purchase(
        _ product: ProductID, quantity: Int = 1, offer: PaymentOffer? = nil
    ) async throws -> StorePurchase {
        guard quantity == 1 else {
            return try await purchase(listed(product, named: product.rawValue), quantity: quantity, offer: offer)
        }
        return try await reportingOutcome(of: product) {
            try await buy(listed(product, named: product.rawValue), offer: offer)
        }
    }

    /// Buys a product that was looked up in `list` before, without looking it up again.
    ///
    /// - Parameters:
    ///   - product: A product of the list.
    ///   - quantity: 1 to 10; more than 1 only for a consumable.
    ///   - offer: The offer whose price the customer pays; only for a quantity of 1.
    /// - Returns: The purchase.
    /// - Throws: `PurchaseError`.
    @discardableResult
    public func purchase(
        _ product: ListedProduct, quantity: Int = 1, offer: PaymentOffer? = nil
    ) async throws -> StorePurchase {
        if quantity != 1 {
            try Self.check(quantity)
            guard offer == nil else {
                throw PurchaseError(
                    .invalidQuantityForPurchasing, "A purchase with an offer has the quantity 1, not \(quantity).")
            }
            try Self.checkConsumable(product)
        }
        return try await reportingOutcome(of: product.id) { try await buy(product, quantity: quantity, offer: offer) }
    }

    public func acquireAllEnabledProducts() async throws { try await coordinator.acquireAll() }

    private static func check(_ quantity: Int) throws {
        guard (1...10).contains(quantity) else {
            throw PurchaseError(
                .invalidQuantityForPurchasing, "The quantity of a purchase is 1 to 10, not \(quantity).")
        }
    }

    private static func checkConsumable(_ product: ListedProduct) throws {
        guard product.productType == .consumable else {
            throw PurchaseError(.invalidProductForPurchasing, "\"\(product.id)\" is not a consumable.")
        }
    }

    /// - Parameter name: The id as the app passed it.
    private func listed(_ id: ProductID?, named name: String) throws -> ListedProduct {
        guard let product = id.flatMap({ list[$0] }) else {
            throw PurchaseError(.invalidProductForPurchasing, "\"\(name)\" is not in the product list.")
        }
        return product
    }

    /// Sends an event about the outcome of a purchase that a caller waits for.
    @discardableResult
    private func reportingOutcome(
        of product: ProductID?, _ buy: () async throws -> StorePurchase
    ) async throws -> StorePurchase {
        do {
            let purchase = try await buy()
            if let product { coordinator.report(.purchased(product, purchase.transaction)) }
            return purchase
        } catch {
            if let event = StoreEvent.failed(product, error) { coordinator.report(event) }
            throw error
        }
    }

    private func buy(
        _ product: ListedProduct, quantity: Int = 1, offer: PaymentOffer? = nil
    ) async throws -> StorePurchase {
        guard !product.isSubscribersOnly else {
            try await coordinator.acquire(product.id)
            return StorePurchase(transaction: nil, isPendingAcknowledgement: false)
        }
        let id: ProductID
        do { id = try await idToBuy(for: product) } catch { throw PurchaseError.ofPurchase(error) }
        let owner = coordinator.owner
        let answer = await queue.purchase(
            id, quantity: quantity,
            appAccountToken: owner.isAnonymous ? nil : owner.customer.appAccountToken, offer: offer)
        let isPending = answer.transaction.map { coordinator.isProvisional($0.id) } ?? false
        if case .failed(let error) = answer.outcome, !isPending { throw PurchaseError.ofPurchase(error) }
        return StorePurchase(transaction: answer.transaction, isPendingAcknowledgement: isPending)
    }
}

extension PurchaseError {
    /// Converts the error of a failed purchase.
    static func ofPurchase(_ error: any Error) -> PurchaseError {
        if let error = error as? ProductRequestError { return PurchaseError(error) }
        if error is CancellationError { return PurchaseError(.operationCancelled, "The purchase was cancelled.") }
        guard let error = error as? PaymentError else {
            return PurchaseError(.purchaseFailed, "The purchase failed.", underlying: error)
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
        return PurchaseError(code, error.verdict ?? error.sentence, underlying: error)
    }
}

extension PurchaseError {
    /// Converts the reason why a product is unavailable: the App Store does not sell it, or the request failed.
    init(_ error: ProductRequestError) {
        switch error {
        case .invalidProducts, .noProducts:
            self.init(.invalidProductForPurchasing, "The App Store does not sell this product.", underlying: error)
        case .requestFailed:
            self.init(
                .productsMetadataFetchingFailed, "The request for products failed. Try again later.",
                isRetryable: true, underlying: error)
        }
    }
}

extension PaymentError {
    /// The reason of the verdict on a transaction; `nil` if the error has another cause.
    var verdict: String? {
        guard let error = underlying as? PurchaseError else { return nil }
        return [.receiptValidationFailed, .acknowledgementPending].contains(error.code) ? error.reason : nil
    }
}
