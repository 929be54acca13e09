import Foundation
import SQLStorage
import StoreModel

/// Computes answers anew whose time has passed, so that whoever is told of changes hears of an expiry although nobody asks.
struct Sweeper: Sendable {
    /// As many as are computed in one transaction: it holds other writes up for so long.
    private static let batch = 100

    /// After how many failures in one book the rest waits for the next step.
    private static let failureLimit = 1000

    let ledger: Ledger
    let ledgerIDs: [LedgerID]

    /// One batch of each book. Returns whether there may be more.
    ///
    /// Where a batch fails, its book's customers are computed one by one, so that one who cannot be computed does
    /// not hold up the others. Throws the first failure when there is nothing more to do at once.
    func step() async throws -> Bool {
        var isMore = false
        var failure: (any Error)?
        for ledgerID in ledgerIDs {
            do {
                if try await ledger.refreshOverdue(in: ledgerID, limit: Self.batch) == Self.batch { isMore = true }
            } catch {
                try Task.checkCancellation()
                failure = failure ?? error
                do { try await refreshEach(in: ledgerID) } catch { failure = failure ?? error }
            }
        }
        if let failure, !isMore { throw failure }
        return isMore
    }

    /// Computes every overdue answer of a book in a transaction of its own.
    private func refreshEach(in ledgerID: LedgerID) async throws {
        var last: Ledger.Overdue?
        var failures = 0
        while true {
            let page = try ledger.overdue(in: ledgerID, after: last, limit: Self.batch)
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
    /// A customer whose answer is no longer true, and since when, in milliseconds.
    fileprivate struct Overdue: Sendable {
        let customer: CustomerID
        let since: Int64
    }

    /// Customers of a book whose `validUntil` has passed, the longest overdue first, from after `last` on.
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

    /// Computes one answer, unless its customer was merged or erased meanwhile.
    fileprivate func refresh(_ overdue: Overdue, in ledgerID: LedgerID) async throws {
        try await write { connection, outcome in
            var transaction = transaction(connection, on: ledgerID)
            try transaction.lock(customers: [overdue.customer])
            guard try transaction.isKnown(overdue.customer) else { return }
            transaction.affected.insert(overdue.customer)
            transaction.continuing.insert(overdue.customer)
            try settle(transaction, asking: nil, &outcome)
        }
    }

    /// Computes up to `limit` answers of a book whose `validUntil` has passed. Returns how many.
    func refreshOverdue(in ledgerID: LedgerID, limit: Int) async throws -> Int {
        let looked = try database.read { connection in
            try transaction(connection, on: ledgerID).overdue(limit: 1)
        }
        guard !looked.isEmpty else { return 0 }
        return try await write { connection, outcome in
            var transaction = transaction(connection, on: ledgerID)
            let overdue = try transaction.overdue(limit: limit)
            let customers = try transaction.lockedCustomers(among: overdue)
            transaction.affected.formUnion(customers)
            transaction.continuing.formUnion(customers)
            try settle(transaction, asking: nil, &outcome)
            return overdue.count
        }
    }
}

extension LedgerTransaction {
    /// Locks customers and returns those who are still there: one can have been merged or erased meanwhile.
    fileprivate mutating func lockedCustomers(among customers: [CustomerID]) throws -> [CustomerID] {
        guard connection.isConcurrent else { return customers }
        try lock(customers: Set(customers))
        return try customers.filter(isKnown)
    }

    /// Customers whose answer is no longer true, the longest overdue first.
    fileprivate func overdue(limit: Int) throws -> [CustomerID] {
        try connection.query(
            """
            SELECT id FROM customer WHERE app = ?1 AND environment = ?2 AND valid_until <= ?3
            ORDER BY valid_until LIMIT ?4
            """, values(.integer(now.milliseconds), .integer(Int64(limit)))
        ).map { CustomerID(unchecked: try $0["id"]) }
    }
}
