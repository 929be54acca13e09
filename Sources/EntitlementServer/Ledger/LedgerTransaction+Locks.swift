import Foundation
import SQLStorage
import StoreModel

/// Row locks of concurrent transactions.
///
/// A transaction locks rows before it reads them: tokens, then purchases, then customers, each in the order of their
/// bytes, so that two transactions do not deadlock. A name that is resolved only later is locked later; if that causes
/// a deadlock, the database ends one of the two transactions, which runs again.
///
/// If transactions run one at a time, nothing is locked.
extension LedgerTransaction {
    /// Locks app account tokens.
    ///
    /// A customer with a token can be registered while another transaction appends a purchase with the token. The
    /// second transaction waits for the lock of the token's row, and then finds the rows of the first. Each customer,
    /// alias and waiting purchase has a token row. So if the row is new, there is no customer, alias or waiting
    /// purchase with the token.
    mutating func lock(tokens: Set<UUID>) throws { try lock(tokens: tokens, inserting: []) }

    /// Locks purchases that facts will be appended to, their tokens, and the customer's token. An unknown purchase gets
    /// its row here, and `computeAnswers` deletes it if no fact was appended.
    mutating func lock(forAppending facts: [PresentedFact], by customer: CustomerID? = nil) throws {
        guard connection.isConcurrent else { return }
        let token = customer.map { precomputed?.token(of: $0) ?? $0.appAccountToken }
        try lock(
            tokens: Set(facts.compactMap(\.row.token) + facts.compactMap(\.webPayment) + (token.map { [$0] } ?? [])),
            inserting: Set(facts.map(\.original)))
    }

    /// Locks rows in one round trip, and inserts missing ones. `DO UPDATE … WHERE false` locks an existing row without
    /// writing it.
    private mutating func lock(tokens: Set<UUID>, inserting purchases: Set<TransactionID>) throws {
        guard connection.isConcurrent else { return }
        let missing = tokens.subtracting(locked.tokens).map(\.wireText).sorted()
        let originals = purchases.subtracting(locked.purchases).sorted()
        guard !missing.isEmpty || !originals.isEmpty else { return }
        let inserted = try connection.queries(
            missing.map { token in
                SQLQuery(
                    """
                    INSERT INTO token (app, environment, token) VALUES (?1, ?2, ?3)
                    ON CONFLICT (app, environment, token) DO UPDATE SET token = excluded.token WHERE false
                    RETURNING token
                    """, values(.text(token)))
            }
                + originals.map { original in
                    SQLQuery(
                        """
                        INSERT INTO purchase (app, environment, original_transaction_id) VALUES (?1, ?2, ?3)
                        ON CONFLICT (app, environment, original_transaction_id) DO UPDATE SET is_erased = 0 WHERE false
                        RETURNING original_transaction_id
                        """, values(.text(original.rawValue)))
                })
        for row in inserted[..<missing.count].flatMap(\.self) {
            if let token = UUID(text: try row["token"]) { locked.newTokens.insert(token) }
        }
        for (original, rows) in zip(originals, inserted[missing.count...]) where !rows.isEmpty {
            unwritten.insert(original)
        }
        locked.tokens.formUnion(tokens)
        locked.purchases.formUnion(originals)
    }

    /// Locks purchases that have a row.
    mutating func lock(purchases: Set<TransactionID>) throws {
        guard connection.isConcurrent else { return }
        for original in purchases.subtracting(locked.purchases).sorted() {
            try connection.lockRows(
                "SELECT 1 FROM purchase WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3",
                values(.text(original.rawValue)))
        }
        locked.purchases.formUnion(purchases)
    }

    /// Locks customers, before their data is read for a change.
    mutating func lock(customers: Set<CustomerID>) throws {
        guard connection.isConcurrent else { return }
        for customer in customers.subtracting(locked.customers).sorted() {
            try connection.lockRows(
                "SELECT 1 FROM customer WHERE app = ?1 AND environment = ?2 AND id = ?3",
                values(.text(customer.rawValue)))
        }
        locked.customers.formUnion(customers)
    }

    /// Locks the tokens of customers, all purchases that they have or that wait for them, and then the customers.
    mutating func lock(holdingsOf names: [CustomerID], and more: Set<TransactionID> = []) throws {
        guard connection.isConcurrent else { return }
        let customers = Set(try names.map { try customer(named: $0) ?? $0 })
        let tokens = try customers.flatMap { try [$0] + aliases(of: $0) }.map(\.appAccountToken)
        try lock(tokens: Set(tokens + names.map(\.appAccountToken)))
        try lock(purchases: more.union(try holdings(of: customers, tokens)))
        try lock(customers: customers)
        // The customers may have got more purchases before they were locked.
        try lock(purchases: holdings(of: customers, tokens))
    }

    private func holdings(of customers: Set<CustomerID>, _ tokens: [UUID]) throws -> Set<TransactionID> {
        let queries =
            customers.map {
                SQLQuery(
                    "SELECT original_transaction_id FROM holder WHERE app = ?1 AND environment = ?2 AND customer = ?3",
                    values(.text($0.rawValue)))
            }
            + tokens.map {
                SQLQuery(
                    """
                    SELECT original_transaction_id FROM purchase
                    WHERE app = ?1 AND environment = ?2 AND app_account_token = ?3
                    """, values(.text($0.wireText)))
            }
        return Set(
            try connection.queries(queries).flatMap(\.self).map {
                TransactionID(unchecked: try $0["original_transaction_id"])
            })
    }

    /// Locks and returns the customer of a name; the name itself if there is none.
    mutating func lockedCustomer(named name: CustomerID) throws -> CustomerID {
        guard connection.isConcurrent else { return try customer(named: name) ?? name }
        try lock(customers: [name])
        // The customer may have been merged into another before it was locked.
        while let customer = try customer(named: name) {
            guard !locked.customers.contains(customer) else { return customer }
            try lock(customers: [customer])
        }
        return name
    }

    /// Deletes the rows of tokens that no customer, alias or waiting purchase has.
    mutating func deleteTokens(_ tokens: Set<UUID>) throws {
        guard connection.isConcurrent else { return }
        try lock(tokens: tokens)
        for token in tokens.map(\.wireText).sorted() {
            try connection.perform(
                """
                DELETE FROM token WHERE app = ?1 AND environment = ?2 AND token = ?3
                    AND NOT EXISTS (SELECT 1 FROM customer
                        WHERE app = ?1 AND environment = ?2 AND app_account_token = ?3)
                    AND NOT EXISTS (SELECT 1 FROM alias
                        WHERE app = ?1 AND environment = ?2 AND app_account_token = ?3)
                    AND NOT EXISTS (SELECT 1 FROM purchase
                        WHERE app = ?1 AND environment = ?2 AND app_account_token = ?3)
                """, values(.text(token)))
        }
    }

    /// Returns the tokens in the facts of a purchase. Empty if the database has no token rows.
    func statedTokens(of original: TransactionID) throws -> Set<UUID> {
        guard connection.isConcurrent else { return [] }
        return Set(
            try connection.query(
                """
                SELECT app_account_token FROM fact
                WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3 AND app_account_token IS NOT NULL
                """, values(.text(original.rawValue))
            ).compactMap { UUID(text: try $0["app_account_token"]) })
    }

    /// Deletes rows that were inserted only for a lock: purchases without a fact, and tokens that no customer, alias or
    /// waiting purchase has.
    mutating func deleteUnused() throws {
        for original in unwritten.sorted() {
            try connection.perform(
                "DELETE FROM purchase WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3",
                values(.text(original.rawValue)))
        }
        let unused = locked.newTokens.subtracting(locked.usedTokens).subtracting(newcomers.values)
        if !unused.isEmpty { try deleteTokens(unused) }
    }
}

extension PresentedFact {
    /// The token that locks a web payment while its purchase is looked up and then written. It is no
    /// customer's token, because no customer name contains U+0000.
    fileprivate var webPayment: UUID? {
        guard case .transaction(let fact) = content, fact.source == .web else { return nil }
        return CustomerID(unchecked: "\u{0}payment \(fact.id.rawValue)").appAccountToken
    }
}

/// The rows that a transaction has locked.
struct LockedRows {
    var tokens: Set<UUID> = []
    /// Inserted tokens that still have no customer or alias.
    var newTokens: Set<UUID> = []
    /// Tokens that now have a waiting purchase.
    var usedTokens: Set<UUID> = []
    var purchases: Set<TransactionID> = []
    var customers: Set<CustomerID> = []
}
