import StoreModel

/// The restore that is under way: who waits for it, and what of it has not been delivered yet.
struct Restores {
    typealias Caller = UInt64

    /// Whoever waited gets this.
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
        /// The first reason why one of them is not acknowledged yet.
        var pending: PaymentError?
        var rejection: PaymentError?
    }

    private var current: Restore?
    private var lastNumber: UInt64 = 0

    /// Joins the restore under way; else returns the number of the one that is to be asked for.
    mutating func join(_ caller: Caller) -> UInt64? {
        guard current == nil else {
            current?.callers.append(caller)
            return nil
        }
        lastNumber += 1
        current = Restore(number: lastNumber, callers: [caller])
        return lastNumber
    }

    /// The store's answer; returns what is to be delivered. What an abandoned restore brings is nobody's.
    mutating func receive(_ transactions: [StoreTransaction], number: UInt64) -> [StoreTransaction] {
        guard current?.number == number else { return [] }
        current?.transactions = transactions
        current?.open = Set(transactions.map(\.id))
        return transactions
    }

    /// The end of a restore that had nothing to bring.
    mutating func endIfEmpty(number: UInt64) -> Ending? {
        guard let current, current.number == number, current.transactions.isEmpty else { return nil }
        return end(.success([]))
    }

    mutating func fail(_ error: PaymentError, number: UInt64) -> Ending? {
        current?.number == number ? end(.failure(error)) : nil
    }

    /// One transaction of the restore has ended. The restore fails while any of them is pending, and when nothing is left
    /// and some were rejected; a rejected one and one that is somebody else's are left out.
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

    /// Returns whether the caller was waiting; the restore goes on.
    mutating func leave(_ caller: Caller) -> Bool {
        guard current?.callers.contains(caller) == true else { return false }
        current?.callers.removeAll { $0 == caller }
        return true
    }

    /// Nobody wants it any more.
    mutating func abandon(_ error: PaymentError) -> Ending? { current == nil ? nil : end(.failure(error)) }

    private mutating func end(_ result: Result<[StoreTransaction], any Error>) -> Ending {
        defer { current = nil }
        return Ending(callers: current?.callers ?? [], result: result)
    }
}
