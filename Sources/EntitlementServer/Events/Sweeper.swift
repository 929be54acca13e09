import Foundation
import SQLStorage
import StoreModel

/// Computes answers anew whose time has passed, so that whoever is told of changes hears of an expiry although nobody asks.
struct Sweeper: Sendable {
    /// As many as are computed in one transaction: it holds other writes up for so long.
    private static let batch = 100

    let ledger: Ledger
    let books: [Book]

    /// One batch of each book. Returns whether there may be more.
    func step() async throws -> Bool {
        var isMore = false
        for book in books where try await ledger.refreshOverdue(in: book, limit: Self.batch) == Self.batch {
            isMore = true
        }
        return isMore
    }
}

extension Ledger {
    /// Computes up to `limit` answers of a book whose `validUntil` has passed. Returns how many.
    func refreshOverdue(in book: Book, limit: Int) async throws -> Int {
        let looked = try database.read { connection in
            try transaction(connection, on: book).overdue(limit: 1)
        }
        guard !looked.isEmpty else { return 0 }
        return try await write { connection, outcome in
            var transaction = transaction(connection, on: book)
            let overdue = try transaction.overdue(limit: limit)
            transaction.affected.formUnion(overdue)
            try settle(transaction, asking: nil, &outcome)
            return overdue.count
        }
    }
}

extension LedgerTransaction {
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
