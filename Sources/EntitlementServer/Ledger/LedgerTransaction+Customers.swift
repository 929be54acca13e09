import Foundation
import SQLStorage
import StoreModel

/// The identity of customers: their ids, aliases and tokens.
extension LedgerTransaction {
    /// Registers a customer and the token of its purchases. The customer gets all purchases that wait for this token,
    /// even if others claimed them. Returns the customer, or for an alias the customer that it belongs to.
    ///
    /// Throws `CustomerRefusal.erased` for the pseudonym of an erased customer, because its new data could not be
    /// erased.
    ///
    /// - Parameters:
    ///   - isPresenting: Whether the transaction only appends facts that the customer presents. The row of a new
    ///     customer is then written once, with the answer.
    ///   - isReading: Whether the transaction only computes the customer's answer. The pseudonym of an erased customer
    ///     is then accepted.
    @discardableResult
    mutating func register(
        _ name: CustomerID, isPresenting: Bool = false, isReading: Bool = false
    ) throws -> CustomerID {
        let token = precomputed?.token(of: name) ?? name.appAccountToken
        try lock(tokens: [token])
        let isNew = locked.newTokens.contains(token)
        if !isNew { try lock(customers: [name]) }
        let nameState = try isNew ? nameState(ofNew: name, bearing: token) : nameState(of: name, bearing: token)
        guard !nameState.isErased || isReading else { throw Ledger.CustomerRefusal.erased }
        if nameState.isKnown { return name }
        if let customer = nameState.customer {
            return connection.isConcurrent ? try lockedCustomer(named: name) : customer
        }
        tokenOwners = nameState.isTokenUsed ? [:] : [token: Attribution.TokenOwner(name)]
        if isPresenting {
            newcomers[name] = token
        } else {
            try insert(name, with: .none, [])
            locked.newTokens.remove(token)
        }
        affected.insert(name)
        guard nameState.isAwaited else { return name }
        let awaiting = try connection.query(
            """
            SELECT original_transaction_id FROM purchase WHERE app = ?1 AND environment = ?2 AND app_account_token = ?3
            """, values(.text(token.wireText)))
        let purchases = try awaiting.map { TransactionID(unchecked: try $0["original_transaction_id"]) }
        try lock(purchases: Set(purchases))
        for original in purchases { try attribute(original) }
        return name
    }

    /// Reverts the registration of a new customer that presented facts but got no purchase. Its row was not written
    /// yet. Returns `false` if the customer existed before or has a purchase now.
    mutating func unregister(_ customer: CustomerID) -> Bool {
        guard newcomers[customer] != nil, heldByNewcomers[customer, default: []].isEmpty else { return false }
        newcomers[customer] = nil
        affected.remove(customer)
        tokenOwners = [:]
        return true
    }

    /// The state of a customer name in the ledger.
    private struct NameState {
        var isKnown = false
        var isErased = false
        /// The customer that the name belongs to.
        var customer: CustomerID?
        /// Whether a customer or alias has the same token.
        var isTokenUsed = false
        /// Whether a purchase waits for the customer with this token.
        var isAwaited = false
    }

    /// Returns the state of a name whose token is new, without a query: a query for missing rows would conflict with
    /// concurrent inserts.
    private func nameState(ofNew name: CustomerID, bearing token: UUID) -> NameState {
        NameState(isKnown: newcomers[name] != nil, isTokenUsed: newcomers.values.contains(token))
    }

    /// Returns the state of a name. Uses one query for everything, because a round trip costs more than the rows.
    private func nameState(of name: CustomerID, bearing token: UUID) throws -> NameState {
        guard newcomers[name] == nil else { return NameState(isKnown: true) }
        let row = try connection.first(
            """
            SELECT 1 AS known, NULL AS customer, 0 AS used, 0 AS awaited,
                CASE WHEN erased_at IS NULL THEN 0 ELSE 1 END AS erased
            FROM customer WHERE app = ?1 AND environment = ?2 AND id = ?3
            UNION ALL SELECT 0, (SELECT customer FROM alias WHERE app = ?1 AND environment = ?2 AND alias = ?3),
                CASE WHEN EXISTS (SELECT 1 FROM customer WHERE app = ?1 AND environment = ?2 AND app_account_token = ?4)
                    OR EXISTS (SELECT 1 FROM alias WHERE app = ?1 AND environment = ?2 AND app_account_token = ?4)
                    THEN 1 ELSE 0 END,
                CASE WHEN EXISTS (SELECT 1 FROM purchase WHERE app = ?1 AND environment = ?2 AND app_account_token = ?4)
                    THEN 1 ELSE 0 END, 0
            LIMIT 1
            """, values(.text(name.rawValue), .text(token.wireText)))
        guard let row else { return NameState() }
        let customer: String? = try row["customer"]
        return NameState(
            isKnown: try row["known"], isErased: try row["erased"],
            customer: customer.map { CustomerID(unchecked: $0) },
            isTokenUsed: try row["used"] || newcomers.values.contains(token), isAwaited: try row["awaited"])
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

    /// Returns the customer of an alias; `nil` if the name is not an alias.
    func customer(named alias: CustomerID) throws -> CustomerID? {
        try connection.first(
            "SELECT customer FROM alias WHERE app = ?1 AND environment = ?2 AND alias = ?3",
            values(.text(alias.rawValue))
        ).map { CustomerID(unchecked: try $0["customer"]) }
    }

    /// Returns the customer that has a token. Reads the database once per token.
    mutating func customer(bearing token: UUID) throws -> Attribution.TokenOwner? {
        if let cached = tokenOwners[token] { return cached }
        try lock(tokens: [token])
        if locked.newTokens.contains(token), !newcomers.values.contains(token) { return nil }
        let tokenOwner = try tokenOwner(of: token)
        tokenOwners[token] = tokenOwner
        return tokenOwner
    }

    /// Returns the customer that has a token. If there are several, prefers a name that is not a UUID, then a customer
    /// to an alias, then the one that was registered first, then the first by name. Sorts in memory, because there is
    /// rarely more than one.
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
