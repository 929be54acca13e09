import StoreModel

/// The running restore: its callers, and its transactions that are not delivered yet.
struct Restores {
    typealias Caller = UInt64

    /// The result of a restore, and the callers that receive it.
    struct Ending {
        var callers: [Caller]
        var result: Result<[StoreTransaction], any Error>
    }

    private struct Restore {
        var number: UInt64
        var callers: [Caller] = []
        var transactions: [StoreTransaction] = []
        var open: Set<TransactionID> = []
        var leftOut: Set<TransactionID> = []
        /// The first reason why a transaction is not acknowledged yet.
        var pending: PaymentError?
        var rejection: PaymentError?
    }

    private var current: Restore?
    private var lastNumber: UInt64 = 0

    /// Joins the running restore, or returns the number of a new one to request.
    mutating func join(_ caller: Caller) -> UInt64? {
        guard current == nil else {
            current?.callers.append(caller)
            return nil
        }
        lastNumber += 1
        current = Restore(number: lastNumber, callers: [caller])
        return lastNumber
    }

    /// Takes the store's answer, and returns the transactions to deliver. Ignores the answer of an abandoned restore.
    mutating func receive(_ transactions: [StoreTransaction], number: UInt64) -> [StoreTransaction] {
        guard current?.number == number else { return [] }
        current?.transactions = transactions
        current?.open = Set(transactions.map(\.id))
        return transactions
    }

    /// Ends a restore that found no transactions.
    mutating func endIfEmpty(number: UInt64) -> Ending? {
        guard let current, current.number == number, current.transactions.isEmpty else { return nil }
        return end(.success([]))
    }

    mutating func fail(_ error: PaymentError, number: UInt64) -> Ending? {
        current?.number == number ? end(.failure(error)) : nil
    }

    /// Records the result of one transaction. The restore fails if a transaction is pending, or if all were left out
    /// and one was rejected. It leaves out rejected transactions and those of other customers.
    mutating func close(_ id: TransactionID, _ ending: Deliveries.Ending) -> Ending? {
        guard var restore = current, restore.open.remove(id) != nil else { return nil }
        switch ending {
        case .acknowledged: break
        case .pending(let error): restore.pending = restore.pending ?? error
        case .held: restore.leftOut.insert(id)
        case .rejected(let error):
            restore.leftOut.insert(id)
            restore.rejection = restore.rejection ?? error
        }
        current = restore
        guard restore.open.isEmpty else { return nil }
        let restored = restore.transactions.filter { !restore.leftOut.contains($0.id) }
        if let failure = restore.pending ?? (restored.isEmpty ? restore.rejection : nil) {
            return end(.failure(failure))
        }
        return end(.success(restored))
    }

    /// Removes a caller; the restore continues. Returns whether the caller was waiting.
    mutating func remove(_ caller: Caller) -> Bool {
        guard current?.callers.contains(caller) == true else { return false }
        current?.callers.removeAll { $0 == caller }
        return true
    }

    mutating func abandon(_ error: PaymentError) -> Ending? { current == nil ? nil : end(.failure(error)) }

    private mutating func end(_ result: Result<[StoreTransaction], any Error>) -> Ending {
        defer { current = nil }
        return Ending(callers: current?.callers ?? [], result: result)
    }
}
