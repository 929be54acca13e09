import Foundation
import SQLStorage
import StoreModel

/// Who somebody is: customers, the names they go by, and the tokens of their purchases.
extension LedgerTransaction {
    /// Remembers a customer and the token of its purchases; what bears that token becomes theirs, whoever claimed it.
    /// Returns whom an alias stands for.
    ///
    /// Throws `CustomerRefusal.erased` for the pseudonym of a customer who was erased: whatever is done under it could never
    /// be erased again.
    ///
    /// - Parameters:
    ///   - isPresenting: they came with facts, and nothing else is done for them in this transaction. Their row is then
    ///     written once, with their answer.
    ///   - isReading: nothing is done for them.
    @discardableResult
    mutating func register(
        _ asked: CustomerID, isPresenting: Bool = false, isReading: Bool = false
    ) throws -> CustomerID {
        let token = foreseen?.token(of: asked) ?? asked.appAccountToken
        try lock(tokens: [token])
        let isNew = locked.newTokens.contains(token)
        if !isNew { try lock(customers: [asked]) }
        let place = try isNew ? place(ofNew: asked, bearing: token) : place(of: asked, bearing: token)
        guard !place.isErased || isReading else { throw Ledger.CustomerRefusal.erased }
        if place.isKnown { return asked }
        if let customer = place.customer {
            return connection.isConcurrent ? try lockedCustomer(named: asked) : customer
        }
        // Where nobody bears the token, now they do.
        bearers = place.isTokenBorne ? [:] : [token: Attribution.Bearer(asked)]
        if isPresenting {
            newcomers[asked] = token
        } else {
            try insert(asked, with: .none, [])
            locked.newTokens.remove(token)
        }
        affected.insert(asked)
        guard place.isAwaited else { return asked }
        let bound = try connection.query(
            """
            SELECT original_transaction_id FROM purchase WHERE app = ?1 AND environment = ?2 AND app_account_token = ?3
            """, values(.text(token.wireText)))
        let purchases = try bound.map { TransactionID(unchecked: try $0["original_transaction_id"]) }
        try lock(purchases: Set(purchases))
        for original in purchases { try attribute(original) }
        return asked
    }

    /// Takes the registration of a customer back who came with facts and got nothing: no row of theirs is written. Returns
    /// `false` for a customer who was known before or has a purchase now.
    mutating func unregister(_ customer: CustomerID) -> Bool {
        guard newcomers[customer] != nil, heldByNewcomers[customer, default: []].isEmpty else { return false }
        newcomers[customer] = nil
        affected.remove(customer)
        bearers = [:]
        return true
    }

    /// What the book knows of a name that somebody asks under.
    private struct Place {
        var isKnown = false
        var isErased = false
        /// Whom the name stands for.
        var customer: CustomerID?
        /// Whether there is a customer or an alias with the same token, and a purchase with it.
        var isTokenBorne = false
        var isAwaited = false
    }

    /// Of a name whose token is new. To look for what is not there would make a conflict with those who insert beside it.
    private func place(ofNew asked: CustomerID, bearing token: UUID) -> Place {
        Place(isKnown: newcomers[asked] != nil, isTokenBorne: newcomers.values.contains(token))
    }

    /// Asked at once, because each question costs more than its answer; and of a customer who is known nothing more.
    private func place(of asked: CustomerID, bearing token: UUID) throws -> Place {
        guard newcomers[asked] == nil else { return Place(isKnown: true) }
        let row = try connection.first(
            """
            SELECT 1 AS known, NULL AS customer, 0 AS borne, 0 AS awaited,
                CASE WHEN erased_at IS NULL THEN 0 ELSE 1 END AS erased
            FROM customer WHERE app = ?1 AND environment = ?2 AND id = ?3
            UNION ALL SELECT 0, (SELECT customer FROM alias WHERE app = ?1 AND environment = ?2 AND alias = ?3),
                CASE WHEN EXISTS (SELECT 1 FROM customer WHERE app = ?1 AND environment = ?2 AND app_account_token = ?4)
                    OR EXISTS (SELECT 1 FROM alias WHERE app = ?1 AND environment = ?2 AND app_account_token = ?4)
                    THEN 1 ELSE 0 END,
                CASE WHEN EXISTS (SELECT 1 FROM purchase WHERE app = ?1 AND environment = ?2 AND app_account_token = ?4)
                    THEN 1 ELSE 0 END, 0
            LIMIT 1
            """, values(.text(asked.rawValue), .text(token.wireText)))
        guard let row else { return Place() }
        let customer: String? = try row["customer"]
        return Place(
            isKnown: try row["known"], isErased: try row["erased"],
            customer: customer.map { CustomerID(unchecked: $0) },
            isTokenBorne: try row["borne"] || newcomers.values.contains(token), isAwaited: try row["awaited"])
    }

    /// Writes the row of a customer who has none.
    func insert(_ customer: CustomerID, with answer: StoredAnswer, _ digest: [UInt8]) throws {
        try connection.perform(
            """
            INSERT INTO customer (app, environment, id, app_account_token, first_seen_at, revision, answer, etag,
                content_digest, valid_from, valid_until\(epoch == nil ? "" : ", rules_epoch"))
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11\(epoch.map { ", \($0)" } ?? ""))
            """,
            values(
                .text(customer.rawValue), .text(token(of: customer).wireText), .integer(now.milliseconds),
                .integer(answer.revision), .blob(answer.bytes), .text(answer.etag), .blob(digest),
                .integer(answer.validFrom.milliseconds), SQLValue(answer.validUntil?.milliseconds)))
    }

    func token(of customer: CustomerID) -> UUID { newcomers[customer] ?? customer.appAccountToken }

    func isKnown(_ customer: CustomerID) throws -> Bool {
        try newcomers[customer] != nil
            || connection.first(
                "SELECT 1 AS one FROM customer WHERE app = ?1 AND environment = ?2 AND id = ?3",
                values(.text(customer.rawValue))) != nil
    }

    /// Whom an alias stands for; `nil` for what is no alias.
    func customer(named alias: CustomerID) throws -> CustomerID? {
        try connection.first(
            "SELECT customer FROM alias WHERE app = ?1 AND environment = ?2 AND alias = ?3",
            values(.text(alias.rawValue))
        ).map { CustomerID(unchecked: try $0["customer"]) }
    }

    /// Whose purchases bear this token, asked of the database once.
    mutating func customer(bearing token: UUID) throws -> Attribution.Bearer? {
        if let known = bearers[token] { return known }
        try lock(tokens: [token])
        if locked.newTokens.contains(token), !newcomers.values.contains(token) { return nil }
        let bearer = try bearer(of: token)
        bearers[token] = bearer
        return bearer
    }

    /// A name before a UUID, a customer before an alias, the first who was seen, and by name among equals: sorted here,
    /// since there is hardly ever more than one.
    func bearer(of token: UUID) throws -> Attribution.Bearer? {
        var bearers = newcomers.filter { $0.value == token }
            .map { (name: $0.key, customer: $0.key, since: now.milliseconds) }
        try connection.each(
            """
            SELECT id AS name, id AS customer, first_seen_at AS since FROM customer
            WHERE app = ?1 AND environment = ?2 AND app_account_token = ?3
            UNION ALL SELECT alias, customer, ?4 FROM alias
            WHERE app = ?1 AND environment = ?2 AND app_account_token = ?3
            """, values(.text(token.wireText), .integer(.max))
        ) { row in
            bearers.append(
                (CustomerID(unchecked: try row["name"]), CustomerID(unchecked: try row["customer"]), try row["since"]))
        }
        let first = bearers.min {
            ($0.name.isUUID ? 1 : 0, $0.since, $0.name) < ($1.name.isUUID ? 1 : 0, $1.since, $1.name)
        }
        return first.map { Attribution.Bearer($0.customer, as: $0.name) }
    }
}
