import StoreModel

/// The transactions that are being finished at the store. Each has one request at a time, which is repeated until the
/// store confirms it.
struct Finishes {
    private struct Finish {
        /// The acknowledged transaction; `nil` if the app itself requested the finish.
        var transaction: StoreTransaction?
        var isRunning = true
        var attempt = 0
        /// Whether a newer signature requires another finish after the running one.
        var isDueAgain = false
    }

    private var finishes: [TransactionID: Finish] = [:]

    /// Returns whether this very signature is being finished.
    func contains(_ transaction: StoreTransaction) -> Bool { finishes[transaction.id]?.transaction == transaction }

    /// Returns whether to finish the transaction now.
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

    /// Ends a finish that succeeded. Returns whether to finish the transaction once more.
    mutating func end(_ id: TransactionID) -> Bool {
        guard let finish = finishes.removeValue(forKey: id), finish.isDueAgain else { return false }
        finishes[id] = Finish(transaction: finish.transaction)
        return true
    }

    /// Ends a finish that failed. Returns the number of the next attempt.
    mutating func fail(_ id: TransactionID) -> Int? {
        guard var finish = finishes[id] else { return nil }
        finish.attempt += 1
        finish.isRunning = false
        finish.isDueAgain = false
        finishes[id] = finish
        return finish.attempt
    }

    /// Returns whether to finish the transaction now.
    mutating func retry(_ id: TransactionID) -> Bool {
        guard let finish = finishes[id], !finish.isRunning else { return false }
        finishes[id]?.isRunning = true
        return true
    }
}
