import StoreModel

/// Provisional access by the local verifier, while the server is unreachable.
extension StoreCoordinator {
    /// Verifies on this device the transactions that could not be presented to the server. Does not acknowledge them.
    func verifyLocally(_ transactions: [StoreTransaction]) async {
        guard let localVerifier else { return }
        let customer = owner.customer
        var found: [ProvisionalPurchase] = []
        var withoutAccess: Set<TransactionID> = []
        for transaction in transactions where !state.rejectedTransactions.contains(transaction.id) {
            guard let verified = try? await localVerifier.verify(transaction.signedTransaction) else { continue }
            if let purchase = ProvisionalPurchase(verified, of: transaction, for: customer, at: now) {
                found.append(purchase)
            } else if verified.id == transaction.id {
                withoutAccess.insert(transaction.id)
            }
        }
        guard customer == owner.customer, !Task.isCancelled else { return }
        let known = Set(state.provisional.map(\.transactionID))
        setProvisional(
            state.provisional.filter { !withoutAccess.contains($0.transactionID) }
                + found.filter { !known.contains($0.transactionID) })
    }

    /// Records the server's verdicts: they replace provisional purchases, and rejections are stored.
    func record(acknowledged: Set<TransactionID>, rejected: Set<TransactionID>) {
        guard localVerifier != nil else { return }
        setProvisional(
            state.provisional.filter {
                !acknowledged.contains($0.transactionID) && !rejected.contains($0.transactionID)
            })
        let rejectedTransactions = state.rejectedTransactions.subtracting(acknowledged).union(rejected)
        guard rejectedTransactions != state.rejectedTransactions else { return }
        commit { $0.rejectedTransactions = rejectedTransactions }
        write(rejectedTransactions, as: StoreRecords.Key.rejectedTransactions)
    }

    /// Returns whether a purchase can be used although the server has not acknowledged it.
    nonisolated func isProvisional(_ transaction: TransactionID) -> Bool {
        state.activeProvisionalPurchases(at: now).contains { $0.transactionID == transaction }
    }

    private func setProvisional(_ provisional: [ProvisionalPurchase]) {
        guard provisional != state.provisional else { return }
        commit { $0.provisional = provisional }
        write(provisional, as: StoreRecords.Key.provisional)
    }

    private func write(_ value: some Codable, as key: String) {
        do {
            try records.set(value, for: key, of: owner.customer)
        } catch {
            report(.storage("Cannot store the provisional purchases: \(error)"))
        }
    }
}
