import Foundation
import SQLStorage
import StoreModel

/// Recomputes expired answers, so that an expiry becomes an event without a request.
struct Sweeper: Sendable {
    /// The largest number of answers in one transaction. It is limited because other writes wait for it.
    private static let batchSize = 100

    /// The number of failures in one ledger after which the rest waits for the next step.
    private static let failureLimit = 1000

    let ledger: Ledger
    let ledgerIDs: [LedgerID]

    /// Recomputes one batch of each ledger.
    ///
    /// If a batch fails, the customers of its ledger are recomputed one by one, so that one failure does not delay the
    /// others.
    ///
    /// - Returns: Whether there may be more.
    /// - Throws: The first failure, if there is nothing more to do at once.
    func step() async throws -> Bool {
        var isMore = false
        var failure: (any Error)?
        for ledgerID in ledgerIDs {
            do {
                if try await ledger.refreshOverdue(in: ledgerID, limit: Self.batchSize) == Self.batchSize {
                    isMore = true
                }
            } catch {
                try Task.checkCancellation()
                failure = failure ?? error
                do { try await refreshEach(in: ledgerID) } catch { failure = failure ?? error }
            }
        }
        if let failure, !isMore { throw failure }
        return isMore
    }

    /// Recomputes each overdue answer of a ledger in a transaction of its own.
    private func refreshEach(in ledgerID: LedgerID) async throws {
        var last: Ledger.Overdue?
        var failures = 0
        while true {
            let page = try ledger.overdue(in: ledgerID, after: last, limit: Self.batchSize)
            guard let end = page.last else { return }
            for overdue in page {
                try Task.checkCancellation()
                do { try await ledger.refresh(overdue, in: ledgerID) } catch { failures += 1 }
                guard failures < Self.failureLimit else { return }
            }
            last = end
        }
    }
}

extension Ledger {
    /// A customer with an expired answer, and the time of the expiry in milliseconds.
    fileprivate struct Overdue: Sendable {
        let customer: CustomerID
        let since: Int64
    }

    /// Returns customers with expired answers after `last`, the longest expired first.
    fileprivate func overdue(in ledgerID: LedgerID, after last: Overdue?, limit: Int) throws -> [Overdue] {
        try database.read { connection in
            let transaction = transaction(connection, on: ledgerID)
            return try connection.query(
                """
                SELECT id, valid_until FROM customer
                WHERE app = ?1 AND environment = ?2 AND valid_until <= ?3 AND (valid_until, id) > (?4, ?5)
                ORDER BY valid_until, id LIMIT ?6
                """,
                transaction.values(
                    .integer(transaction.now.milliseconds), .integer(last?.since ?? .min),
                    .text(last?.customer.rawValue ?? ""), .integer(Int64(limit)))
            ).map { Overdue(customer: CustomerID(unchecked: try $0["id"]), since: try $0["valid_until"]) }
        }
    }

    /// Recomputes one answer, unless the customer was merged or erased meanwhile.
    fileprivate func refresh(_ overdue: Overdue, in ledgerID: LedgerID) async throws {
        try await write { connection, outcome in
            var transaction = transaction(connection, on: ledgerID)
            try transaction.lock(customers: [overdue.customer])
            guard try transaction.isKnown(overdue.customer) else { return }
            transaction.affected.insert(overdue.customer)
            transaction.continuing.insert(overdue.customer)
            try computeAnswers(transaction, including: nil, &outcome)
        }
    }

    /// Recomputes up to `limit` expired answers of a ledger. Returns their number.
    func refreshOverdue(in ledgerID: LedgerID, limit: Int) async throws -> Int {
        let first = try database.read { connection in
            try transaction(connection, on: ledgerID).overdue(limit: 1)
        }
        guard !first.isEmpty else { return 0 }
        return try await write { connection, outcome in
            var transaction = transaction(connection, on: ledgerID)
            let overdue = try transaction.overdue(limit: limit)
            let customers = try transaction.lockedCustomers(among: overdue)
            transaction.affected.formUnion(customers)
            transaction.continuing.formUnion(customers)
            try computeAnswers(transaction, including: nil, &outcome)
            return overdue.count
        }
    }
}

extension LedgerTransaction {
    /// Locks customers, and returns those that were not merged or erased meanwhile.
    fileprivate mutating func lockedCustomers(among customers: [CustomerID]) throws -> [CustomerID] {
        guard connection.isConcurrent else { return customers }
        try lock(customers: Set(customers))
        return try customers.filter(isKnown)
    }

    /// Returns customers with expired answers, the longest expired first.
    fileprivate func overdue(limit: Int) throws -> [CustomerID] {
        try connection.query(
            """
            SELECT id FROM customer WHERE app = ?1 AND environment = ?2 AND valid_until <= ?3
            ORDER BY valid_until LIMIT ?4
            """, values(.integer(now.milliseconds), .integer(Int64(limit)))
        ).map { CustomerID(unchecked: try $0["id"]) }
    }
}
