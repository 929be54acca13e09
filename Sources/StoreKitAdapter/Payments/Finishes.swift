import StoreModel

/// Which transactions the store is being told to finish: each once at a time, and again until it has heard it.
struct Finishes {
    private struct Finish {
        /// What was acknowledged; `nil` when the app itself asked to finish.
        var transaction: StoreTransaction?
        var isRunning = true
        var attempt = 0
        /// Asked for once more, for a newer signature, while the store was being told.
        var isDueAgain = false
    }

    private var finishes: [TransactionID: Finish] = [:]

    /// Whether the store is being told of this very signature.
    func include(_ transaction: StoreTransaction) -> Bool { finishes[transaction.id]?.transaction == transaction }

    /// Returns whether the store is to be told now.
    mutating func begin(_ id: TransactionID, _ transaction: StoreTransaction?) -> Bool {
        guard let known = finishes[id] else {
            finishes[id] = Finish(transaction: transaction)
            return true
        }
        let isSame = known.transaction == transaction
        finishes[id]?.transaction = transaction ?? known.transaction
        if known.isRunning, !isSame { finishes[id]?.isDueAgain = true }
        return false
    }

    /// The store was told; returns whether it is to be told once more.
    mutating func end(_ id: TransactionID) -> Bool {
        guard let finish = finishes.removeValue(forKey: id), finish.isDueAgain else { return false }
        finishes[id] = Finish(transaction: finish.transaction)
        return true
    }

    /// The store could not be told; returns the number of the next attempt.
    mutating func fail(_ id: TransactionID) -> Int? {
        guard var finish = finishes[id] else { return nil }
        finish.attempt += 1
        finish.isRunning = false
        finish.isDueAgain = false
        finishes[id] = finish
        return finish.attempt
    }

    /// Returns whether the store is to be told now.
    mutating func retry(_ id: TransactionID) -> Bool {
        guard let finish = finishes[id], !finish.isRunning else { return false }
        finishes[id]?.isRunning = true
        return true
    }
}
