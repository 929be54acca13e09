import StoreKitAdapter
import Purchases
import StoreModel

extension Store {
    public func refreshReceipt() async throws {
        do {
            _ = try await queue.restore()
        } catch let error as PaymentError {
            let error = PurchaseError.ofRestore(error)
            guard error.code != .operationCancelled else { throw error }
            coordinator.report(
                StoreEvent(kind: .nonCriticalError, code: error.code, sentence: error.reason))
        }
        try await validateReceipt()
    }

    /// Restores the customer's purchases at the App Store, and presents them to the server.
    ///
    /// - Returns: The restored products.
    /// - Throws: `PurchaseError`: `operationCancelled`, `restorePurchasesFailed` if the App Store is unreachable,
    ///   `acknowledgementPending` if the server is unreachable.
    @discardableResult
    public func restorePurchases() async throws -> RestoreResult {
        do {
            let transactions = try await queue.restore()
            if transactions.isEmpty { try? await coordinator.refresh() }
            return RestoreResult(
                restored: Array(Set(transactions.map { list.base(of: $0.productID).rawValue })).sorted(),
                paidFeatures: coordinator.paidFeatures, nothingToRestore: transactions.isEmpty)
        } catch let error as PaymentError {
            throw PurchaseError.ofRestore(error)
        }
    }

    public func validateReceipt() async throws {
        do {
            try await coordinator.refresh()
        } catch let error as PurchaseError {
            if error.code != .operationCancelled {
                coordinator.report(StoreEvent(kind: .criticalError, code: error.code, sentence: error.reason))
            }
            throw error
        }
    }

    public func validateTransaction(_ transactionIdentifier: String) async throws {
        guard let id = TransactionID(rawValue: transactionIdentifier) else {
            throw Self.notUnfinished(transactionIdentifier)
        }
        try await validateTransaction(id)
    }

    /// Presents an unfinished transaction again, as `validateTransaction(_:)` with a string does.
    ///
    /// - Parameter id: The id of the transaction.
    /// - Throws: `PurchaseError`.
    public func validateTransaction(_ id: TransactionID) async throws {
        do {
            try await queue.redeliver(id)
        } catch let error as PaymentError {
            switch error.code {
            case .unknownTransaction: throw Self.notUnfinished(id.rawValue)
            case .rejected:
                throw PurchaseError(.receiptValidationFailed, error.verdict ?? error.sentence, underlying: error)
            default: throw PurchaseError.ofPurchase(error)
            }
        }
    }
}

extension Store {
    private static func notUnfinished(_ transaction: String) -> PurchaseError {
        PurchaseError(.invalidTransactionIdentifier, "\"\(transaction)\" is not an unfinished transaction.")
    }
}

extension PurchaseError {
    fileprivate static func ofRestore(_ error: PaymentError) -> PurchaseError {
        let code: Code =
            switch error.code {
            case .cancelled, .customerChanged: .operationCancelled
            case .acknowledgementPending: .acknowledgementPending
            default: .restorePurchasesFailed
            }
        return PurchaseError(code, error.sentence, underlying: error)
    }
}
