import StoreModel

/// Provisional access by the local verifier, while the server is unreachable.
extension StoreKeeper {
    /// Verifies transactions locally that could not be presented to the server. Acknowledges nothing.
    func vouch(for transactions: [StoreTransaction]) async {
        guard let localVerifier else { return }
        let customer = owner.customer
        var found: [ProvisionalPurchase] = []
        var takenBack: Set<TransactionID> = []
        for transaction in transactions where !state.refuted.contains(transaction.id) {
            guard let verified = try? await localVerifier.verify(transaction.signedTransaction) else { continue }
            if let purchase = ProvisionalPurchase(verified, of: transaction, for: customer, at: now) {
                found.append(purchase)
            } else if verified.id == transaction.id {
                takenBack.insert(transaction.id)
            }
        }
        guard customer == owner.customer, !Task.isCancelled else { return }
        let known = Set(state.provisional.map(\.transactionID))
        keep(
            state.provisional.filter { !takenBack.contains($0.transactionID) }
                + found.filter { !known.contains($0.transactionID) })
    }

    /// Records the server's verdicts: they replace provisional purchases, and rejections are stored.
    func note(acknowledged: Set<TransactionID>, rejected: Set<TransactionID>) {
        guard localVerifier != nil else { return }
        keep(
            state.provisional.filter {
                !acknowledged.contains($0.transactionID) && !rejected.contains($0.transactionID)
            })
        let refuted = state.refuted.subtracting(acknowledged).union(rejected)
        guard refuted != state.refuted else { return }
        commit { $0.refuted = refuted }
        write(refuted, as: StoreRecords.Key.refuted)
    }

    /// Returns whether a purchase can be used though the server has not acknowledged it.
    nonisolated func isProvisional(_ transaction: TransactionID) -> Bool {
        state.standingProvisional(at: now).contains { $0.transactionID == transaction }
    }

    private func keep(_ provisional: [ProvisionalPurchase]) {
        guard provisional != state.provisional else { return }
        commit { $0.provisional = provisional }
        write(provisional, as: StoreRecords.Key.provisional)
    }

    private func write(_ value: some Codable, as key: String) {
        do {
            try records.set(value, for: key, of: owner.customer)
        } catch {
            report(.storage("What was verified on the device could not be written down: \(error)"))
        }
    }
}
