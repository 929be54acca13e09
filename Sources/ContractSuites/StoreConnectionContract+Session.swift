import StoreModel

extension StoreConnectionContract {
    /// A connection and the iterator of its updates.
    struct Session {
        let connection: any StoreConnection
        private var updates: AsyncStream<StoreUpdate>.Iterator

        init(_ connection: any StoreConnection) {
            self.connection = connection
            updates = connection.updates.makeAsyncIterator()
        }

        mutating func next() async -> StoreUpdate? { await next { _ in true } }

        /// Returns the first matching update. Skips others, and `purchasing`, which not every store reports.
        mutating func next(where isWanted: (StoreUpdate) -> Bool) async -> StoreUpdate? {
            while let update = await updates.next() {
                if update.state != .purchasing, isWanted(update) { return update }
            }
            return nil
        }

        mutating func purchase(
            for payment: PaymentID
        ) async -> (transaction: StoreTransaction, alreadyOwned: Bool)? {
            guard
                case .purchased(let transaction, let alreadyOwned)? = await next(where: { $0.paymentID == payment })?
                    .state
            else { return nil }
            return (transaction, alreadyOwned)
        }

        mutating func failure(for payment: PaymentID) async -> StoreFailure? {
            guard case .failed(let failure)? = await next(where: { $0.paymentID == payment })?.state else { return nil }
            return failure
        }

        /// Buys a product and finishes its transaction. Returns `nil` if the purchase fails.
        mutating func buy(_ payment: Payment) async throws -> StoreTransaction? {
            try await connection.add(payment)
            guard let bought = await purchase(for: payment.id)?.transaction else { return nil }
            try await connection.finish(bought.id)
            return bought
        }

        /// Finishes and returns the next purchase of `product` that no payment of this device requested.
        mutating func purchase(of product: ProductID) async throws -> StoreTransaction? {
            let update = await next { update in
                guard case .purchased = update.state else { return false }
                return update.paymentID == nil && update.productID == product
            }
            guard let transaction = update?.transaction else { return nil }
            try await connection.finish(transaction.id)
            return transaction
        }
    }

    /// Connects and sends a first request. The store then knows the device and sends it updates.
    func session() async throws -> Session {
        let connection = try await connect()
        _ = try await connection.storefront()
        return Session(connection)
    }
}

extension StoreUpdate {
    var transaction: StoreTransaction? {
        switch state {
        case .purchased(let transaction, _), .revoked(let transaction), .renewalChanged(let transaction): transaction
        case .purchasing, .deferred, .failed: nil
        }
    }
}
