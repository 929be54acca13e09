import Foundation
import Primitives
import SQLStorage
import StoreModel

extension Ledger {
    /// The reason why customers cannot be merged or a purchase cannot move.
    enum CustomerRefusal: Error {
        /// The alias belongs to another customer, or is the pseudonym of an erased customer.
        case aliasTaken
        /// The customer has no such purchase.
        case unknownPurchase
        /// The name is the pseudonym of an erased customer.
        case erased
    }

    /// Makes `alias` another name of a customer, and moves all data of the alias to the customer. A repetition changes
    /// nothing.
    ///
    /// Throws `CustomerRefusal.aliasTaken`, and `erased` if the customer is a pseudonym.
    func merge(
        _ alias: CustomerID, into key: CustomerKey, as request: IdempotentRequest?, noting note: AuditNote? = nil,
        respond: @escaping @Sendable (StoredAnswer) throws -> KeptAnswer
    ) async throws -> KeptAnswer {
        try await write(once: request) { connection, outcome in
            var transaction = transaction(connection, on: key.ledgerID)
            try transaction.lock(holdingsOf: [alias, key.customer])
            let customer = try transaction.register(key.customer)
            if try transaction.merge(alias, into: customer) {
                try transaction.write(note, about: customer, and: alias)
            }
            return try respond(try finish(transaction, for: customer, &outcome))
        }
    }

    /// Moves a purchase to another customer, regardless of which customers presented it. `respond` gets the receiver's
    /// answer.
    ///
    /// Throws `CustomerRefusal.unknownPurchase`, and `erased` for a pseudonym.
    func transfer(
        _ original: TransactionID, from key: CustomerKey, to receiver: CustomerID, as request: IdempotentRequest?,
        noting note: AuditNote? = nil,
        respond: @escaping @Sendable (StoredAnswer) throws -> KeptAnswer
    ) async throws -> KeptAnswer {
        try await write(once: request) { connection, outcome in
            var transaction = transaction(connection, on: key.ledgerID)
            try transaction.lock(tokens: [receiver.appAccountToken])
            try transaction.lock(purchases: [original])
            let sender = try transaction.customer(named: key.customer) ?? key.customer
            guard try !transaction.isErased(sender) else { throw CustomerRefusal.erased }
            guard try transaction.holders(of: original).contains(sender) else { throw CustomerRefusal.unknownPurchase }
            let receiver = try transaction.register(receiver)
            try transaction.transfer(original, to: receiver)
            try transaction.write(note, about: sender, and: receiver)
            // The answer names the receiver only, so it is erased with the receiver.
            outcome.subject = receiver
            return try respond(try finish(transaction, for: receiver, &outcome))
        }
    }

    /// Erases a customer: deletes the encryption keys of purchases that no other customer has, and replaces all names
    /// by `pseudonym`. Returns `nil` for an erased or unknown customer. For an unknown one, deletes only the stored
    /// answers to requests about it.
    ///
    /// Then removes the names from the database files. If a reader has an older snapshot, a later `purge` does this.
    /// The operator must compact a file above `maximumCompactedBytes`.
    func erase(
        _ key: CustomerKey, leaving pseudonym: CustomerID, noting note: AuditNote? = nil
    ) async throws -> ErasedCustomer? {
        // Registers a customer of which only a purchase is known, so that it can be erased.
        _ = try await answer(key)
        // Read before the write, because the query is slow and would delay other writes.
        let withTokens = try database.read { connection -> Set<TransactionID> in
            let transaction = transaction(connection, on: key.ledgerID)
            let customer = try transaction.customer(named: key.customer) ?? key.customer
            guard try transaction.isKnown(customer), try !transaction.isErased(customer) else { return [] }
            return try transaction.purchasesWithTokens(of: [customer] + transaction.aliases(of: customer))
        }
        let (erased, deletedAnswers) = try await write { connection, outcome -> (ErasedCustomer?, Int) in
            var transaction = transaction(connection, on: key.ledgerID)
            try transaction.lock(holdingsOf: [key.customer], and: withTokens)
            let customer = try transaction.lockedCustomer(named: key.customer)
            guard try transaction.isKnown(customer) else {
                try transaction.deleteUnused()
                return (nil, try IdempotentRequest.delete(key.customer, of: key.ledgerID, connection))
            }
            guard try !transaction.isErased(customer) else { return (nil, 0) }
            let count = try transaction.erase(customer, leaving: pseudonym, withTokens: withTokens)
            var note = note
            note?.detail["purchases"] = .number(count)
            try transaction.write(note, about: pseudonym)
            try computeAnswers(transaction, including: nil, &outcome)
            return (ErasedCustomer(pseudonym: pseudonym, erasedPurchases: count), 0)
        }
        guard erased != nil || deletedAnswers > 0 else { return nil }
        needsPurge.withLock { $0 = true }
        try? await purge()
        return erased
    }

    /// Removes erased data from the database files, at the first call and after each erasure.
    func purge() async throws {
        guard needsPurge.withLock({ $0 }) else { return }
        needsPurge.withLock { $0 = false }
        do {
            let isCompact = try await compactIfDue()
            if try await !database.removeDeleted() || !isCompact { needsPurge.withLock { $0 = true } }
        } catch {
            needsPurge.withLock { $0 = true }
            throw error
        }
    }

    /// The largest ledger that is compacted automatically, in bytes. The operator chooses the time for a larger one.
    private static let maximumCompactedBytes: Int64 = 256 << 20

    /// Compacts the database after an erasure, because free pages of SQLite keep copies of moved rows. Returns `false`
    /// if a later call must try again. After a compaction, the next one waits for 100 times its duration, so that
    /// compactions take at most a hundredth of the time.
    private func compactIfDue() async throws -> Bool {
        guard let erasure = try database.read(Schema.erasureToCompact) else { return true }
        let start = ContinuousClock.now
        guard nextCompaction.withLock({ $0.map { start >= $0 } ?? true }) else { return false }
        defer { nextCompaction.withLock { $0 = .now + start.duration(to: .now) * 100 } }
        guard try await database.compact(upTo: Self.maximumCompactedBytes) else { return true }
        try await database.write { try Schema.noteCompaction(after: erasure, $0) }
        return try database.read(Schema.erasureToCompact) == nil
    }

    /// Rewrites a ledger of any size, so that it contains no erased data. Writes wait. A server may have it open.
    static func compact(_ database: SQLiteDatabase) async throws {
        let erasure = try database.read(Schema.erasureToCompact)
        try await database.compact()
        if let erasure { try await database.write { try Schema.noteCompaction(after: erasure, $0) } }
    }

    /// Returns the customers after `cursor`, ordered by id: all customers, or those that match `query`. A query is the
    /// beginning of an id or alias, or a complete transaction or order id.
    func customers(_ query: String?, in ledgerID: LedgerID, after cursor: String, limit: Int) throws -> CustomerList {
        try database.read { connection in
            let transaction = transaction(connection, on: ledgerID)
            let ids = try transaction.customers(query, after: cursor, limit: limit + 1)
            let page = try ids.prefix(limit).map(transaction.entry(of:))
            return CustomerList(
                customers: page.compactMap(\.self), nextCursor: ids.count > limit ? ids[limit - 1].rawValue : nil)
        }
    }
}

extension LedgerTransaction {
    /// Merges a name into a customer. Returns whether that changed anything.
    @discardableResult
    mutating func merge(_ alias: CustomerID, into customer: CustomerID) throws -> Bool {
        guard alias != customer else { return false }
        if let present = try self.customer(named: alias) {
            guard present == customer else { throw Ledger.CustomerRefusal.aliasTaken }
            return false
        }
        guard try !isErased(alias) else { throw Ledger.CustomerRefusal.aliasTaken }
        let names = values(.text(alias.rawValue), .text(customer.rawValue))
        let held = try connection.query(
            "SELECT original_transaction_id FROM holder WHERE app = ?1 AND environment = ?2 AND customer = ?3",
            values(.text(alias.rawValue)))
        try connection.perform(
            "UPDATE alias SET customer = ?4 WHERE app = ?1 AND environment = ?2 AND customer = ?3", names)
        try connection.perform(
            """
            INSERT INTO alias (app, environment, alias, customer, app_account_token, created_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            """, names + [.text(alias.appAccountToken.wireText), .integer(now.milliseconds)])
        tokenOwners = [:]
        locked.newTokens.remove(alias.appAccountToken)
        try move(from: alias, to: customer)
        try moveDoublePayments(from: alias, to: customer)
        try connection.perform(
            "DELETE FROM customer WHERE app = ?1 AND environment = ?2 AND id = ?3", values(.text(alias.rawValue)))
        let waiting = try connection.query(
            """
            SELECT original_transaction_id FROM purchase WHERE app = ?1 AND environment = ?2 AND app_account_token = ?3
            """, values(.text(alias.appAccountToken.wireText)))
        for row in held + waiting { try attribute(TransactionID(unchecked: try row["original_transaction_id"])) }
        let body: JSONValue = ["customer": .string(customer.rawValue), "alias": .string(alias.rawValue)]
        try addEvent(.merged, of: customer, body.encoded())
        affected.insert(customer)
        removed.insert(alias)
        return true
    }

    /// Moves grants, redeemed codes, redemptions, credit grants, audit entries, and what was reported for refund requests
    /// from one customer to another. A grant or a redeemed code that both have is kept once.
    private func move(from old: CustomerID, to new: CustomerID) throws {
        let names = values(.text(old.rawValue), .text(new.rawValue))
        for (table, identity) in [("customer_grant", "id"), ("promotion_redemption", "code")] {
            try connection.perform(
                """
                DELETE FROM \(table) WHERE app = ?1 AND environment = ?2 AND customer = ?3 AND EXISTS (
                    SELECT 1 FROM \(table) AS other
                    WHERE other.app = ?1 AND other.environment = ?2 AND other.customer = ?4
                        AND other.\(identity) = \(table).\(identity))
                """, names)
            try connection.perform(
                "UPDATE \(table) SET customer = ?4 WHERE app = ?1 AND environment = ?2 AND customer = ?3", names)
        }
        try moveRedemptions(from: old, to: new)
        try moveAuditEntries(from: old, to: new)
        try moveRefundData(from: old, to: new)
    }

    // MARK: - Erasing

    func isErased(_ customer: CustomerID) throws -> Bool {
        try connection.first(
            """
            SELECT 1 AS one FROM customer WHERE app = ?1 AND environment = ?2 AND id = ?3 AND erased_at IS NOT NULL
            """, values(.text(customer.rawValue))) != nil
    }

    /// Erases a customer. Returns the number of purchases whose encryption keys were deleted.
    ///
    /// - Parameter withTokens: The result of `purchasesWithTokens(of:)`; `nil` computes it here.
    mutating func erase(
        _ customer: CustomerID, leaving pseudonym: CustomerID, withTokens: Set<TransactionID>? = nil
    ) throws -> Int {
        let names = [customer] + (try aliases(of: customer))
        let withTokens = try withTokens ?? purchasesWithTokens(of: names)
        let purchases = try connection.query(
            "SELECT original_transaction_id FROM holder WHERE app = ?1 AND environment = ?2 AND customer = ?3",
            values(.text(customer.rawValue))
        ).map { TransactionID(unchecked: try $0["original_transaction_id"]) }
        // A purchase that other customers also have keeps its source. Only the name of this customer is replaced.
        let unshared = try purchases.filter { try withoutErased(holders(of: $0)) == [customer] }
        try lock(tokens: [pseudonym.appAccountToken])
        var tokens = Set(names.map(\.appAccountToken))
        for original in unshared {
            tokens.formUnion(try statedTokens(of: original))
            try eraseSources(of: original)
        }
        // Locks the webhooks, so that they read no event of the customer meanwhile.
        try connection.lockRows(
            "SELECT 1 FROM webhook_cursor WHERE app = ?1 AND environment = ?2 ORDER BY webhook", values())
        for name in names {
            let both = values(.text(name.rawValue), .text(pseudonym.rawValue))
            try connection.perform(
                "UPDATE claim SET customer = ?4 WHERE app = ?1 AND environment = ?2 AND customer = ?3", both)
            try IdempotentRequest.delete(name, of: ledgerID, connection)
            for table in ["event", "webhook_delivery"] {
                try connection.perform(
                    "DELETE FROM \(table) WHERE app = ?1 AND environment = ?2 AND customer = ?3",
                    values(.text(name.rawValue)))
            }
        }
        try eraseRefundData(of: customer, purchases)
        let both = values(.text(customer.rawValue), .text(pseudonym.rawValue))
        try connection.perform(
            "DELETE FROM alias WHERE app = ?1 AND environment = ?2 AND customer = ?3", values(.text(customer.rawValue)))
        for table in ["holder", "redemption", "promotion_redemption"] {
            try connection.perform(
                "UPDATE \(table) SET customer = ?4 WHERE app = ?1 AND environment = ?2 AND customer = ?3", both)
        }
        for table in ["customer_grant", "granted_credit"] {
            try connection.perform(
                """
                UPDATE \(table) SET customer = ?4, reason = 'erased'
                WHERE app = ?1 AND environment = ?2 AND customer = ?3
                """, both)
        }
        let items = try connection.query(
            """
            SELECT sequence FROM redemption WHERE app = ?1 AND environment = ?2 AND customer = ?3
            ORDER BY credit, item
            """, values(.text(pseudonym.rawValue)))
        for (number, row) in items.enumerated() {
            try connection.perform(
                "UPDATE redemption SET item = ?2 WHERE sequence = ?1",
                [.integer(try row["sequence"]), .text("\(pseudonym)-\(number)")])
        }
        try connection.perform(
            """
            UPDATE customer SET id = ?4, app_account_token = ?5, erased_at = ?6
            WHERE app = ?1 AND environment = ?2 AND id = ?3
            """, both + [.text(pseudonym.appAccountToken.wireText), .integer(now.milliseconds)])
        try eraseAuditEntries(about: names, leaving: pseudonym)
        tokenOwners = [:]
        try replaceTokens(of: names, by: pseudonym, in: withTokens)
        for original in unshared { try keep(original, with: pseudonym) }
        try deleteTokens(tokens)
        try keepErasure(of: names, leaving: pseudonym)
        let body: JSONValue = ["customer": .string(pseudonym.rawValue)]
        try addEvent(.erased, of: pseudonym, body.encoded())
        removed.formUnion(names)
        affected.insert(pseudonym)
        return unshared.count
    }

    /// Returns the purchases of any customer that have a fact with the app account token of one of these names.
    ///
    /// Reads all facts. Erasures are rare, and an index on the tokens would have to be updated with each new fact.
    fileprivate func purchasesWithTokens(of names: [CustomerID]) throws -> Set<TransactionID> {
        let tokens = names.map { SQLValue.text($0.appAccountToken.wireText) }
        let placeholders = tokens.indices.map { "?\($0 + 3)" }.joined(separator: ", ")
        // The order and form of the conditions keep SQLite from looking up each row through an index.
        let rows = try connection.query(
            """
            SELECT original_transaction_id FROM fact
            WHERE sequence > 0 AND app_account_token IN (\(placeholders))
                AND CASE WHEN app = ?1 AND environment = ?2 THEN 1 ELSE 0 END = 1
            """, values() + tokens)
        return Set(try rows.map { TransactionID(unchecked: try $0["original_transaction_id"]) })
    }

    /// Replaces the tokens of the former names by the pseudonym's, in purchases that other customers have. Their
    /// holders do not change, and transfers remain valid.
    private func replaceTokens(
        of names: [CustomerID], by pseudonym: CustomerID, in purchases: Set<TransactionID>
    ) throws {
        for token in Set(names.map(\.appAccountToken)) {
            guard try tokenOwner(of: token) == nil else { continue }
            let tokens: [SQLValue] = [.text(token.wireText), .text(pseudonym.appAccountToken.wireText)]
            for original in purchases {
                try connection.perform(
                    """
                    UPDATE fact SET app_account_token = ?5
                    WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3 AND app_account_token = ?4
                    """, values(.text(original.rawValue)) + tokens)
            }
            try connection.perform(
                """
                UPDATE purchase SET app_account_token = NULL
                WHERE app = ?1 AND environment = ?2 AND app_account_token = ?3
                """, values(.text(token.wireText)))
        }
    }

    /// Claims an erased purchase for the pseudonym, if the purchase belonged to the customer only because of the
    /// deleted token.
    private mutating func keep(_ original: TransactionID, with pseudonym: CustomerID) throws {
        guard try Set(computedHolders(of: original)) != Set(holders(of: original)) else { return }
        try connection.perform(
            """
            INSERT INTO claim (app, environment, original_transaction_id, customer, kind, claimed_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            """,
            values(
                .text(original.rawValue), .text(pseudonym.rawValue),
                .text(Attribution.Claim.Kind.presented.rawValue), .integer(now.milliseconds)))
        try attribute(original)
    }

    private func eraseSources(of original: TransactionID) throws {
        try eraseDocuments(about: original)
        try erasePlayToken(of: original)
        let purchase = values(.text(original.rawValue))
        try connection.perform(
            """
            DELETE FROM data_key WHERE id IN (SELECT data_key FROM fact
                WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3)
            """, purchase)
        try connection.perform(
            """
            UPDATE fact SET app_account_token = NULL, order_id = NULL
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
            """, purchase)
        try connection.perform(
            """
            UPDATE purchase SET app_account_token = NULL, data_key = NULL, is_erased = 1
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
            """, purchase)
    }

    // MARK: - Finding

    func aliases(of customer: CustomerID) throws -> [CustomerID] {
        try connection.query(
            "SELECT alias FROM alias WHERE app = ?1 AND environment = ?2 AND customer = ?3 ORDER BY alias",
            values(.text(customer.rawValue))
        ).map { CustomerID(unchecked: try $0["alias"]) }
    }

    func entry(of customer: CustomerID) throws -> CustomerList.Entry? {
        try connection.first(
            "SELECT first_seen_at, erased_at FROM customer WHERE app = ?1 AND environment = ?2 AND id = ?3",
            values(.text(customer.rawValue))
        ).map { row in
            let erasedAt: Int64? = try row["erased_at"]
            return CustomerList.Entry(
                customer: customer, aliases: try aliases(of: customer),
                firstSeenAt: Date(milliseconds: try row["first_seen_at"]),
                erasedAt: erasedAt.map { Date(milliseconds: $0) })
        }
    }

    /// Returns at most `limit` customer ids in their order.
    fileprivate func customers(_ query: String?, after cursor: String, limit: Int) throws -> [CustomerID] {
        let page: [SQLValue] = [.text(cursor), .integer(Int64(limit))]
        guard let query else {
            return try ids(
                "SELECT id FROM customer WHERE app = ?1 AND environment = ?2 AND id > ?3 ORDER BY id LIMIT ?4",
                values() + page)
        }
        let end = query + "\u{10FFFF}"
        let found =
            try ids(
                """
                SELECT id FROM customer WHERE app = ?1 AND environment = ?2 AND id >= ?5 AND id < ?6 AND id > ?3
                ORDER BY id LIMIT ?4
                """, values() + page + [.text(query), .text(end)])
            + aliasOwners(query, before: end, after: cursor, limit: limit)
            + [
                "original_transaction_id = ?5", "order_id = ?5",
                "transaction_id = ?5 AND fact.transaction_id <> fact.original_transaction_id",
            ].flatMap { condition in
                try ids(
                    """
                    SELECT DISTINCT holder.customer AS id FROM fact CROSS JOIN holder
                    WHERE fact.app = ?1 AND fact.environment = ?2 AND fact.\(condition) AND holder.app = ?1
                        AND holder.environment = ?2
                        AND holder.original_transaction_id = fact.original_transaction_id AND holder.customer > ?3
                    ORDER BY holder.customer LIMIT ?4
                    """, values() + page + [.text(query)])
            }
        return Array(Set(found).sorted().prefix(limit))
    }

    /// Returns at most `limit` customers after `cursor`, ordered by id, that have an alias from `query` to before
    /// `end`.
    ///
    /// Fewer than 1000 matching aliases are found by the index of the aliases, and their customers are sorted. More
    /// aliases are read in the order of the customers, because the first ones fill the page. The concatenations prevent
    /// the database from choosing the other index: it does not know how many aliases match.
    private func aliasOwners(
        _ query: String, before end: String, after cursor: String, limit: Int
    ) throws -> [CustomerID] {
        let few: Int64 = 1000
        let bounds = values(.text(query), .text(end))
        let counted = try connection.query(
            """
            SELECT 1 AS one FROM alias WHERE app = ?1 AND environment = ?2 AND alias >= ?3 AND alias < ?4 LIMIT ?5
            """, bounds + [.integer(few)])
        let page: [SQLValue] = [.text(cursor), .integer(Int64(limit))]
        guard counted.count < few else {
            return try ids(
                """
                SELECT DISTINCT customer AS id FROM alias
                WHERE app = ?1 AND environment = ?2 AND alias || '' >= ?3 AND alias || '' < ?4 AND customer > ?5
                ORDER BY customer LIMIT ?6
                """, bounds + page)
        }
        return try ids(
            """
            SELECT DISTINCT id FROM (
                SELECT customer || '' AS id FROM alias
                WHERE app = ?1 AND environment = ?2 AND alias >= ?3 AND alias < ?4
            ) AS named WHERE id > ?5 ORDER BY id LIMIT ?6
            """, bounds + page)
    }

    private func ids(_ sql: String, _ values: [SQLValue]) throws -> [CustomerID] {
        try connection.query(sql, values).map { CustomerID(unchecked: try $0["id"]) }
    }
}
