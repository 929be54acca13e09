import StoreModel

/// What the customer acquired through a subscription, on this device.
extension StoreKeeper {
    /// Adds a product that an active subscription enables to those acquired; durable when it returns.
    func acquire(_ product: ProductID) throws {
        guard enabledNow().contains(product) else {
            throw StoreError(
                .invalidProductForPurchasing,
                "\"\(product)\" is for subscribers only, and no active subscription enables it.")
        }
        try add(acquired: [product])
    }

    /// Adds everything that the active subscription enables; durable when it returns.
    func acquireAll() throws {
        guard state.subscriptionInfo(at: now)?.isExpired == false else {
            throw StoreError(
                .acquireAllRequestedForNonSubscriber, "Only subscribers can acquire what a subscription enables.")
        }
        try add(acquired: enabledNow())
    }

    func acquireWhatComesByItself() {
        let state = state
        let due = Set(state.list.products.filter(\.preAcquiredViaSubscription).map(\.id)).intersection(enabledNow())
        guard !due.isSubset(of: state.acquiredViaSubscription) else { return }
        do {
            try add(acquired: due)
        } catch {
            report(.storage("What the subscription brings by itself could not be written down: \(error)"))
        }
    }

    private func enabledNow() -> Set<ProductID> {
        let state = state
        return state.enabledProducts(by: state.subscriptionInfo(at: now))
    }

    private func add(acquired products: Set<ProductID>) throws {
        let all = state.acquiredViaSubscription.union(products)
        do {
            try records.set(all, for: StoreRecords.Key.acquired, of: owner.customer)
        } catch {
            throw StoreError(.storageFailed, "The acquired products could not be written down.", underlying: error)
        }
        commit { $0.acquiredViaSubscription = all }
    }
}
