import StoreModel

/// The products that the customer acquired on this device through a subscription.
extension StoreCoordinator {
    /// Acquires a product that an active subscription enables. The change is durable when the call returns.
    func acquire(_ product: ProductID) throws {
        guard let subscription = activeSubscription, state.list.isEnabled(product, by: subscription) else {
            throw PurchaseError(
                .invalidProductForPurchasing,
                "\"\(product)\" is for subscribers only, and no active subscription enables it.")
        }
        try add(acquired: [product])
    }

    /// Acquires all products that the active subscription enables. The change is durable when the call returns.
    func acquireAll() throws {
        guard let subscription = activeSubscription else {
            throw PurchaseError(
                .acquireAllRequestedForNonSubscriber, "Only subscribers can acquire what a subscription enables.")
        }
        try add(acquired: state.list.productsEnabled(by: subscription))
    }

    private var activeSubscription: ProductID? { state.subscriptionInfo(at: now)?.activeProduct }

    private func add(acquired products: Set<ProductID>) throws {
        let all = state.acquiredViaSubscription.union(products)
        do {
            try records.set(all, for: StoreRecords.Key.acquired, of: owner.customer)
        } catch {
            throw PurchaseError(.storageFailed, "Cannot store the acquired products.", underlying: error)
        }
        commit { $0.acquiredViaSubscription = all }
    }
}
