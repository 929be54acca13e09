import Foundation
import Primitives
import SQLStorage
import StoreModel

/// One transaction on one book: everything that happens between the first statement and the commit.
///
/// Collects the customers whose answer changes; `settle` computes those answers once, at the end.
struct LedgerTransaction {
    let connection: any SQLConnection
    let book: Book
    let reducer: EntitlementReducer
    let now: Date
    private var affected: Set<CustomerID> = []

    init(_ connection: any SQLConnection, book: Book, reducer: EntitlementReducer, now: Date) {
        self.connection = connection
        self.book = book
        self.reducer = reducer
        self.now = now
    }

    /// The two placeholders every statement begins with, `?1` and `?2`.
    private func values(_ more: SQLValue...) -> [SQLValue] {
        [.text(book.app.rawValue), .text(book.environment.rawValue)] + more
    }

    // MARK: - Customers

    /// Remembers a customer and the token of its purchases; what bears that token becomes theirs, whoever claimed it.
    mutating func register(_ customer: CustomerID) throws {
        let known = try connection.first(
            "SELECT 1 AS one FROM customer WHERE app = ?1 AND environment = ?2 AND id = ?3",
            values(.text(customer.rawValue)))
        guard known == nil else { return }
        let token = customer.appAccountToken.wireText
        try connection.execute(
            """
            INSERT INTO customer (app, environment, id, app_account_token, first_seen_at, revision, answer, etag,
                content_digest, valid_from, valid_until) VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, '', ?6, 0, 0)
            """, values(.text(customer.rawValue), .text(token), .integer(now.milliseconds), .blob([])))
        affected.insert(customer)
        let bound = try connection.query(
            """
            SELECT original_transaction_id FROM purchase WHERE app = ?1 AND environment = ?2 AND app_account_token = ?3
            """, values(.text(token)))
        for row in bound { try attribute(TransactionID(unchecked: try row["original_transaction_id"])) }
    }

    private func customer(bearing token: UUID) throws -> CustomerID? {
        try connection.first(
            """
            SELECT id FROM customer WHERE app = ?1 AND environment = ?2 AND app_account_token = ?3
            ORDER BY first_seen_at, id LIMIT 1
            """, values(.text(token.wireText))
        ).map { CustomerID(unchecked: try $0["id"]) }
    }

    // MARK: - Facts and claims

    /// Whether `customer` may not present this transaction, because it is bound to somebody else.
    func isBound(_ fact: TransactionFact, againstClaimOf customer: CustomerID) throws -> Bool {
        let token = try fact.appAccountToken ?? newestToken(of: fact.originalID)
        return try Attribution.refuses(customer, token: token) { try self.customer(bearing: $0) != nil }
    }

    /// Whether any transaction of this purchase is in the book.
    func knows(_ original: TransactionID) throws -> Bool {
        try connection.first(
            """
            SELECT 1 AS one FROM purchase WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
            """, values(.text(original.rawValue))) != nil
    }

    /// Appends a fact unless the same one is there already.
    mutating func append(_ fact: PresentedFact) throws {
        let row = FactRow(fact)
        let isNew = try connection.execute(
            """
            INSERT INTO fact (app, environment, source, digest, kind, transaction_id, original_transaction_id,
                app_account_token, signed_at, received_at, payload, signed)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
            ON CONFLICT (app, environment, source, digest) DO NOTHING
            """,
            values(
                .text(row.source.rawValue), .blob(row.digest), .text(row.kind), SQLValue(row.transactionID),
                .text(row.original.rawValue), SQLValue(row.token?.wireText), .integer(row.signedAt.milliseconds),
                .integer(now.milliseconds), .blob(fact.payload), .blob(Array(fact.signed.utf8))))
        guard isNew > 0 else { return }
        if row.kind == FactRow.transaction {
            try connection.execute(
                """
                INSERT INTO purchase (app, environment, original_transaction_id, app_account_token, owner)
                VALUES (?1, ?2, ?3, NULL, NULL) ON CONFLICT (app, environment, original_transaction_id) DO NOTHING
                """, values(.text(row.original.rawValue)))
            try attribute(row.original)
        }
        if let owner = try owner(of: row.original) { affected.insert(owner) }
    }

    /// Notes that `customer` presented a purchase, unless theirs is the latest claim already.
    mutating func claim(_ original: TransactionID, by customer: CustomerID) throws {
        let latest = try connection.first(
            """
            SELECT customer FROM claim WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
            ORDER BY sequence DESC LIMIT 1
            """, values(.text(original.rawValue)))
        if let latest, try latest["customer"] == customer.rawValue { return }
        try connection.execute(
            """
            INSERT INTO claim (app, environment, original_transaction_id, customer, claimed_at)
            VALUES (?1, ?2, ?3, ?4, ?5)
            """, values(.text(original.rawValue), .text(customer.rawValue), .integer(now.milliseconds)))
        try attribute(original)
    }

    /// Decides anew whose a purchase is.
    private mutating func attribute(_ original: TransactionID) throws {
        let token = try newestToken(of: original)
        let claims = try connection.query(
            """
            SELECT customer FROM claim WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
            ORDER BY sequence
            """, values(.text(original.rawValue))
        ).map { CustomerID(unchecked: try $0["customer"]) }
        let bearer = try token.flatMap { try customer(bearing: $0) }
        let before = try owner(of: original)
        let after = Attribution.owner(token: token, claims: claims, bearer: bearer)
        try connection.execute(
            """
            UPDATE purchase SET app_account_token = ?4, owner = ?5
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
            """, values(.text(original.rawValue), SQLValue(token?.wireText), SQLValue(after?.rawValue)))
        if before != after { affected.formUnion([before, after].compactMap(\.self)) }
    }

    private func owner(of original: TransactionID) throws -> CustomerID? {
        let row = try connection.first(
            "SELECT owner FROM purchase WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3",
            values(.text(original.rawValue)))
        let owner: String? = try row.flatMap { try $0["owner"] }
        return owner.map { CustomerID(unchecked: $0) }
    }

    /// The token the store stated last for any transaction of the purchase.
    private func newestToken(of original: TransactionID) throws -> UUID? {
        try connection.first(
            """
            SELECT app_account_token FROM fact WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
                AND app_account_token IS NOT NULL ORDER BY signed_at DESC, digest DESC LIMIT 1
            """, values(.text(original.rawValue))
        ).flatMap { UUID(uuidString: try $0["app_account_token"]) }
    }

    // MARK: - Grants

    mutating func add(_ grant: Grant, to customer: CustomerID) throws {
        try connection.execute(
            """
            INSERT INTO customer_grant (app, environment, customer, id, feature, valid_from, valid_until, reason)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            """,
            values(
                .text(customer.rawValue), .text(grant.id), .text(grant.feature), .integer(grant.from.milliseconds),
                SQLValue(grant.until?.milliseconds), .text(grant.reason)))
        affected.insert(customer)
    }

    /// Takes a grant back; `false` when the customer has no such grant.
    mutating func withdrawGrant(_ id: String, of customer: CustomerID) throws -> Bool {
        let count = try connection.execute(
            """
            UPDATE customer_grant SET withdrawn_at = ?5 WHERE app = ?1 AND environment = ?2 AND customer = ?3
                AND id = ?4 AND withdrawn_at IS NULL
            """, values(.text(customer.rawValue), .text(id), .integer(now.milliseconds)))
        if count > 0 { affected.insert(customer) }
        return count > 0
    }

    // MARK: - Answers

    /// The answer of a customer as it stands in the book, valid or not; `nil` for one never seen.
    func stored(_ customer: CustomerID) throws -> StoredAnswer? {
        try connection.first(
            """
            SELECT revision, answer, etag, valid_from, valid_until FROM customer
            WHERE app = ?1 AND environment = ?2 AND id = ?3
            """, values(.text(customer.rawValue))
        ).map(StoredAnswer.init)
    }

    /// Whether there is a purchase that becomes this customer's, never seen before, as soon as they are.
    func hasPurchaseWaiting(for customer: CustomerID) throws -> Bool {
        try connection.first(
            """
            SELECT 1 AS one FROM purchase WHERE app = ?1 AND environment = ?2 AND app_account_token = ?3
            LIMIT 1
            """, values(.text(customer.appAccountToken.wireText))) != nil
    }

    /// Writes the answers of all customers this transaction affected and of `asked`, and returns them.
    ///
    /// An answer that says the same as the stored one leaves it as it is, bytes and ETag, so that repetition changes
    /// nothing.
    func settle(asking asked: CustomerID?) throws -> [CustomerID: StoredAnswer] {
        var answers: [CustomerID: StoredAnswer] = [:]
        for customer in affected { answers[customer] = try recompute(customer) }
        if let asked, answers[asked] == nil {
            let present = try stored(asked)
            answers[asked] =
                if let present, present.isValid(at: now) { present } else { try recompute(asked) }
        }
        return answers
    }

    private func recompute(_ customer: CustomerID) throws -> StoredAnswer {
        let answer = reducer.customer(customer, in: book.environment, try state(of: customer), at: now)
        let content = try answer.contentDigest()
        let row = try connection.first(
            """
            SELECT revision, answer, etag, content_digest, valid_from FROM customer
            WHERE app = ?1 AND environment = ?2 AND id = ?3
            """, values(.text(customer.rawValue)))
        let revision: Int64 = try row.map { try $0["revision"] } ?? 0
        if let row, try row["content_digest"] == content, try row["valid_from"] <= now.milliseconds {
            try connection.execute(
                "UPDATE customer SET valid_until = ?4 WHERE app = ?1 AND environment = ?2 AND id = ?3",
                values(.text(customer.rawValue), SQLValue(answer.validUntil?.milliseconds)))
            return StoredAnswer(
                revision: revision, bytes: try row["answer"], etag: try row["etag"],
                validFrom: Date(milliseconds: try row["valid_from"]), validUntil: answer.validUntil)
        }
        let fresh = try StoredAnswer(answer, revision: revision + 1)
        try connection.execute(
            """
            UPDATE customer SET revision = ?4, answer = ?5, etag = ?6, content_digest = ?7, valid_from = ?8,
                valid_until = ?9 WHERE app = ?1 AND environment = ?2 AND id = ?3
            """,
            values(
                .text(customer.rawValue), .integer(fresh.revision), .blob(fresh.bytes), .text(fresh.etag),
                .blob(content), .integer(fresh.validFrom.milliseconds), SQLValue(fresh.validUntil?.milliseconds)))
        return fresh
    }

    /// All that the book holds about a customer, folded. The cross join keeps SQLite from starting at the facts: it knows
    /// no sizes, and to begin with every fact of the book looks as cheap to it as the purchases of one customer.
    func state(of customer: CustomerID) throws -> CustomerState {
        var state = CustomerState()
        try connection.each(
            """
            SELECT fact.kind AS kind, fact.digest AS digest, fact.payload AS payload
            FROM purchase CROSS JOIN fact
            WHERE purchase.app = ?1 AND purchase.environment = ?2 AND purchase.owner = ?3 AND fact.app = ?1
                AND fact.environment = ?2 AND fact.original_transaction_id = purchase.original_transaction_id
            """, values(.text(customer.rawValue))
        ) { row in
            let payload = try JSONValue(parsing: try row["payload"] as [UInt8])
            let digest: [UInt8] = try row["digest"]
            if try row["kind"] == FactRow.transaction {
                state.apply(try TransactionFact(JWSTransactionDecodedPayload(json: payload), digest: digest))
            } else {
                state.apply(try RenewalFact(JWSRenewalInfoDecodedPayload(json: payload), digest: digest))
            }
        }
        try connection.each(
            """
            SELECT id, feature, valid_from, valid_until, reason FROM customer_grant
            WHERE app = ?1 AND environment = ?2 AND customer = ?3 AND withdrawn_at IS NULL
            """, values(.text(customer.rawValue))
        ) { row in
            let until: Int64? = try row["valid_until"]
            state.apply(
                Grant(
                    id: try row["id"], feature: try row["feature"], from: Date(milliseconds: try row["valid_from"]),
                    until: until.map { Date(milliseconds: $0) }, reason: try row["reason"]))
        }
        return state
    }
}

/// The columns of a fact that are looked up by.
private struct FactRow {
    static let transaction = "transaction"
    static let renewal = "renewal"

    let kind: String
    let source: PurchaseSource
    let digest: [UInt8]
    let transactionID: String?
    let original: TransactionID
    let token: UUID?
    let signedAt: Date

    init(_ fact: PresentedFact) {
        switch fact.content {
        case .transaction(let fact):
            kind = Self.transaction
            source = fact.source
            digest = fact.digest
            transactionID = fact.id.rawValue
            original = fact.originalID
            token = fact.appAccountToken
            signedAt = fact.signedDate
        case .renewal(let fact):
            kind = Self.renewal
            source = .appStore
            digest = fact.digest
            transactionID = nil
            original = fact.originalID
            token = nil
            signedAt = fact.signedDate
        }
    }
}

extension Customer {
    /// Equal for answers that say the same, whenever they were computed.
    fileprivate func contentDigest() throws -> [UInt8] {
        var timeless = self
        timeless.asOf = Date(timeIntervalSince1970: 0)
        return SHA256.hash(try WireJSON.encode(timeless))
    }
}

extension StoredAnswer {
    /// What is answered about a customer never seen, and kept nowhere. Its bytes differ by their `asOf` each time, so the
    /// ETag is a weak one (RFC 9110 section 8.8.1): the same for whatever says the same.
    init(ofUnknown customer: CustomerID, in environment: StoreEnvironment, at instant: Date) throws {
        let empty = Customer(customer: customer, environment: environment, asOf: instant)
        let tag = Base64.encodeURL(try empty.contentDigest().prefix(16))
        self.init(
            revision: 0, bytes: try WireJSON.encode(empty), etag: "W/\"\(tag)\"", validFrom: instant,
            validUntil: nil)
    }

    /// An answer as it goes over the wire, true from its `asOf`.
    init(_ customer: Customer, revision: Int64) throws {
        let bytes = try WireJSON.encode(customer)
        self.init(
            revision: revision, bytes: bytes, etag: "\"\(Base64.encodeURL(SHA256.hash(bytes).prefix(16)))\"",
            validFrom: Date(milliseconds: customer.asOf.milliseconds), validUntil: customer.validUntil)
    }

    fileprivate init(_ row: SQLRow) throws {
        let until: Int64? = try row["valid_until"]
        self.init(
            revision: try row["revision"], bytes: try row["answer"], etag: try row["etag"],
            validFrom: Date(milliseconds: try row["valid_from"]), validUntil: until.map { Date(milliseconds: $0) })
    }
}

extension UUID {
    /// As the App Store writes UUIDs.
    fileprivate var wireText: String { uuidString.lowercased() }
}
