import Foundation
import SQLStorage
import StoreModel

/// The identity of customers: their ids, aliases and tokens.
extension LedgerTransaction {
    /// Registers a customer and the token of its purchases. The customer gets all purchases with this token, even if
    /// others claimed them. Returns the customer that an alias belongs to.
    ///
    /// Throws `CustomerRefusal.erased` for the pseudonym of an erased customer, whose data could not be erased again.
    ///
    /// - Parameters:
    ///   - isPresenting: Whether the customer presents facts, and nothing else is done for it in this transaction. Its
    ///     row is
    ///     then written once, with the answer.
    ///   - isReading: Whether nothing is done for the customer.
    @discardableResult
    mutating func register(
        _ asked: CustomerID, isPresenting: Bool = false, isReading: Bool = false
    ) throws -> CustomerID {
        let token = precomputed?.token(of: asked) ?? asked.appAccountToken
        try lock(tokens: [token])
        let isNew = locked.newTokens.contains(token)
        if !isNew { try lock(customers: [asked]) }
        let nameState = try isNew ? nameState(ofNew: asked, bearing: token) : nameState(of: asked, bearing: token)
        guard !nameState.isErased || isReading else { throw Ledger.CustomerRefusal.erased }
        if nameState.isKnown { return asked }
        if let customer = nameState.customer {
            return connection.isConcurrent ? try lockedCustomer(named: asked) : customer
        }
        bearers = nameState.isTokenUsed ? [:] : [token: Attribution.TokenOwner(asked)]
        if isPresenting {
            newcomers[asked] = token
        } else {
            try insert(asked, with: .none, [])
            locked.newTokens.remove(token)
        }
        affected.insert(asked)
        guard nameState.isAwaited else { return asked }
        let bound = try connection.query(
            """
            SELECT original_transaction_id FROM purchase WHERE app = ?1 AND environment = ?2 AND app_account_token = ?3
            """, values(.text(token.wireText)))
        let purchases = try bound.map { TransactionID(unchecked: try $0["original_transaction_id"]) }
        try lock(purchases: Set(purchases))
        for original in purchases { try attribute(original) }
        return asked
    }

    /// Reverts the registration of a customer that presented facts but got nothing: its row is not written. Returns
    /// `false` if the customer was known before or has a purchase now.
    mutating func unregister(_ customer: CustomerID) -> Bool {
        guard newcomers[customer] != nil, heldByNewcomers[customer, default: []].isEmpty else { return false }
        newcomers[customer] = nil
        affected.remove(customer)
        bearers = [:]
        return true
    }

    /// The state of a customer name in the ledger.
    private struct NameState {
        var isKnown = false
        var isErased = false
        /// The customer that the name belongs to.
        var customer: CustomerID?
        /// Whether a customer or alias has the same token, and a purchase states it.
        var isTokenUsed = false
        var isAwaited = false
    }

    /// Returns the state of a name whose token is new. Querying missing rows would conflict with concurrent inserts.
    private func nameState(ofNew asked: CustomerID, bearing token: UUID) -> NameState {
        NameState(isKnown: newcomers[asked] != nil, isTokenUsed: newcomers.values.contains(token))
    }

    /// Reads everything in one query, because each round trip costs more than the rows. A known customer needs nothing
    /// else.
    private func nameState(of asked: CustomerID, bearing token: UUID) throws -> NameState {
        guard newcomers[asked] == nil else { return NameState(isKnown: true) }
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
        guard let row else { return NameState() }
        let customer: String? = try row["customer"]
        return NameState(
            isKnown: try row["known"], isErased: try row["erased"],
            customer: customer.map { CustomerID(unchecked: $0) },
            isTokenUsed: try row["borne"] || newcomers.values.contains(token), isAwaited: try row["awaited"])
    }

    /// Inserts the row of a new customer.
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

    /// Returns the customer of an alias; `nil` if the name is no alias.
    func customer(named alias: CustomerID) throws -> CustomerID? {
        try connection.first(
            "SELECT customer FROM alias WHERE app = ?1 AND environment = ?2 AND alias = ?3",
            values(.text(alias.rawValue))
        ).map { CustomerID(unchecked: try $0["customer"]) }
    }

    /// Returns the customer that has a token. Reads the database once per token.
    mutating func customer(bearing token: UUID) throws -> Attribution.TokenOwner? {
        if let known = bearers[token] { return known }
        try lock(tokens: [token])
        if locked.newTokens.contains(token), !newcomers.values.contains(token) { return nil }
        let tokenOwner = try tokenOwner(of: token)
        bearers[token] = tokenOwner
        return tokenOwner
    }

    /// Returns the customer that has a token. Prefers a name to a UUID, a customer to an alias, the first that was
    /// seen, and otherwise the first by name. Sorts here, since there is hardly ever more than one.
    func tokenOwner(of token: UUID) throws -> Attribution.TokenOwner? {
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
        return first.map { Attribution.TokenOwner($0.customer, as: $0.name) }
    }
}
