import Foundation
import Primitives
import SQLStorage
import SignedData
import StoreModel

extension LedgerTransaction {
    /// Returns the stored answer of a customer, even if it has expired; `nil` for an unknown customer. An answer of
    /// former rules or with damaged bytes counts as expired, so that it is recomputed.
    func stored(_ customer: CustomerID) throws -> StoredAnswer? {
        try written(customer).map { $0.isIntact ? $0.answer : StoredAnswer.none }
    }

    /// Returns the stored answer of a customer, and whether its bytes are intact. For an answer of former rules,
    /// returns `StoredAnswer.none`.
    func written(_ customer: CustomerID) throws -> (answer: StoredAnswer, isIntact: Bool)? {
        try connection.first(
            """
            SELECT revision, answer, etag, content_digest, valid_from, valid_until\(formerRulesColumn) FROM customer
            WHERE app = ?1 AND environment = ?2 AND id = ?3
            """, values(.text(customer.rawValue))
        ).map { row in
            if try hasFormerAnswers || epoch != nil && row["is_former"] { return (.none, true) }
            let answer = try StoredAnswer(row)
            return (
                answer,
                answer.matches(digest: try row["content_digest"])
                    && answer.isAbout(customer.rawValue, ledgerID.environment.rawValue)
            )
        }
    }

    /// The SQL of a column that is true for an answer of former rules. Empty if the database is not shared.
    private var formerRulesColumn: String {
        epoch == nil
            ? ""
            : ", rules_epoch <> (SELECT rules_epoch FROM app WHERE bundle_id = ?1) AS is_former"
    }

    /// The number of seconds by which the clock of another server may be ahead.
    private var skew: TimeInterval { epoch == nil ? 0 : StoredAnswer.clockSkew }

    /// The assignment of the epoch in an `UPDATE`. It is a number, so it needs no placeholder.
    private var withEpoch: String { epoch.map { ", rules_epoch = \($0)" } ?? "" }

    /// Returns whether a purchase waits for this unknown customer.
    func hasPurchaseWaiting(for customer: CustomerID) throws -> Bool {
        try connection.first(
            """
            SELECT 1 AS one FROM purchase WHERE app = ?1 AND environment = ?2 AND app_account_token = ?3
            LIMIT 1
            """, values(.text(customer.appAccountToken.wireText))) != nil
    }

    /// Computes and stores the answers of all affected customers, and returns them. Includes the answer of `customer`,
    /// which is recomputed only if it has expired or `customer` is affected.
    ///
    /// If the content is equal to the stored one, the stored bytes and ETag remain, so that a repetition changes
    /// nothing.
    mutating func computeAnswers(including customer: CustomerID?) throws -> [CustomerID: StoredAnswer] {
        var answers: [CustomerID: StoredAnswer] = [:]
        let affected = affected.subtracting(removed)
        if connection.isConcurrent {
            try deleteUnused()
            try lock(customers: affected.union(customer.map { [$0] } ?? []).subtracting(newcomers.keys))
        }
        for changed in affected { answers[changed] = try recompute(changed) }
        if let customer, answers[customer] == nil {
            let present = try stored(customer)
            answers[customer] =
                if let present, present.isValid(at: now, skew: skew) { present } else { try recompute(customer) }
        }
        return answers
    }

    private func recompute(_ customer: CustomerID) throws -> StoredAnswer {
        if newcomers[customer] != nil {
            let first = try firstAnswer(of: customer)
            try insert(customer, with: first.stored, first.digest)
            if !first.isEmpty { try addEvent(.updated, of: customer, first.stored.bytes) }
            try record(first.doublePayments, of: customer, known: nil)
            return first.stored
        }
        let row = try connection.first(
            """
            SELECT revision, answer, etag, content_digest, valid_from, valid_until, double_payments FROM customer
            WHERE app = ?1 AND environment = ?2 AND id = ?3
            """, values(.text(customer.rawValue)))
        let known: String? = try row.flatMap { try $0["double_payments"] }
        // The time of a customer's answers must not go back, even if another server's clock is ahead of this one.
        let from: Date? = try row.map { Date(milliseconds: try $0["valid_from"]) }
        let isAhead = from.map { $0 > now && $0 <= now.addingTimeInterval(skew) } ?? false
        let storedEnd: Int64? = try row.flatMap { try $0["valid_until"] }
        let state = try state(of: customer)
        let lastEnd =
            isContinuing(customer) ? self.lastEnd(after: storedEnd.map(Date.init(milliseconds:)), customer, state) : nil
        let instant = lastEnd ?? (isAhead ? from : nil) ?? now
        let answer = rules.reducer.customer(customer, in: ledgerID.environment, state, at: instant)
        let doublePayments = rules.reducer.doublePayments(in: state, at: instant)
        let content = answer.wireContent()
        let digest = MessageDigest.sha256(content)
        let revision: Int64 = try row.map { try $0["revision"] } ?? 0
        let isUnchanged = try row.map { try $0["content_digest"] == digest && $0["valid_from"] <= instant.milliseconds }
        if let row, isUnchanged == true {
            let present = try StoredAnswer(row).ending(at: answer.validUntil)
            if present.matches(digest: digest) {
                try connection.perform(
                    "UPDATE customer SET valid_until = ?4\(withEpoch) WHERE app = ?1 AND environment = ?2 AND id = ?3",
                    values(.text(customer.rawValue), SQLValue(answer.validUntil?.milliseconds)))
                try record(doublePayments, of: customer, known: known)
                return present
            }
        }
        let (next, isTooLarge) = revision.addingReportingOverflow(1)
        guard !isTooLarge else {
            throw EntitlementServerError(
                .damagedAnswer, "The ledger is damaged: the revision of a customer's answer is too large.")
        }
        let fresh = StoredAnswer(answer, around: content, digest, revision: next)
        try connection.perform(
            """
            UPDATE customer SET revision = ?4, answer = ?5, etag = ?6, content_digest = ?7, valid_from = ?8,
                valid_until = ?9\(withEpoch) WHERE app = ?1 AND environment = ?2 AND id = ?3
            """,
            values(
                .text(customer.rawValue), .integer(fresh.revision), .blob(fresh.bytes), .text(fresh.etag),
                .blob(digest), .integer(fresh.validFrom.milliseconds), SQLValue(fresh.validUntil?.milliseconds)))
        // No event for a customer that was only read, or for an answer that was only damaged.
        if isUnchanged != true, revision > 0 || !answer.isEmpty { try addEvent(.updated, of: customer, fresh.bytes) }
        try record(doublePayments, of: customer, known: known)
        return fresh
    }

    /// Returns whether a customer of a shared database has no new facts. If time alone changed the answer, every server
    /// must compute the same one, so its time is the instant of that change and not this server's time.
    private func isContinuing(_ customer: CustomerID) -> Bool { epoch != nil && continuing.contains(customer) }

    /// Returns the last instant, from `first` to now, at which time alone changed a customer's answer. Returns `nil` if
    /// there is none or the answer must be recomputed.
    private func lastEnd(after first: Date?, _ customer: CustomerID, _ state: CustomerState) -> Date? {
        guard var instant = first, instant > Date(milliseconds: 0), instant <= now else { return nil }
        for _ in 0..<1000 {
            let answer = rules.reducer.customer(customer, in: ledgerID.environment, state, at: instant)
            guard let next = answer.validUntil, next > instant, next <= now else { return instant }
            instant = next
        }
        return nil
    }

    /// Returns the answer that follows an expired one, without a write. All servers and replicas of a shared database
    /// compute the same bytes, and a later write stores the same bytes. Returns `nil` if a write must come first.
    func continued(_ stored: StoredAnswer, of customer: CustomerID) throws -> StoredAnswer? {
        guard epoch != nil, stored.revision > 0 else { return nil }
        let state = try state(of: customer)
        guard let instant = lastEnd(after: stored.validUntil, customer, state) else { return nil }
        let answer = rules.reducer.customer(customer, in: ledgerID.environment, state, at: instant)
        let content = answer.wireContent()
        let digest = MessageDigest.sha256(content)
        let extended = stored.ending(at: answer.validUntil)
        guard !extended.matches(digest: digest) else { return extended }
        return StoredAnswer(answer, around: content, digest, revision: stored.revision)
    }

    private func firstAnswer(of customer: CustomerID) throws -> FirstAnswer {
        if let precomputed, let facts = factsOfNewcomer(customer),
            let answer = precomputed.answer(of: customer, with: facts, in: version, at: now)
        {
            return answer
        }
        let state = try state(of: customer)
        return FirstAnswer(
            rules.reducer.customer(customer, in: ledgerID.environment, state, at: now),
            paying: rules.reducer.doublePayments(in: state, at: now))
    }

    /// The types of events. An event is stored in the transaction of its change.
    enum EventType: String {
        /// The answer changed; the body is the answer.
        case updated = "customer.updated"
        /// Another id was merged into this customer; the body names both.
        case merged = "customer.merged"
        /// The customer was erased; the body has the pseudonym.
        case erased = "customer.erased"
        /// An operator gave the customer credit; the body has the amount and the balance.
        case credited = "customer.credited"
        /// The customer now pays two subscriptions for the same features; the body has both.
        case paidTwice = "customer.paidTwice"
    }

    func addEvent(_ type: EventType, of customer: CustomerID, _ body: [UInt8]) throws {
        try connection.perform(
            """
            INSERT INTO event (app, environment, customer, type, body, created_at, digest)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """,
            values(
                .text(customer.rawValue), .text(type.rawValue), .blob(body), .integer(now.milliseconds),
                .blob(LedgerEvent.digest(of: type.rawValue, body, about: customer, in: ledgerID, at: now.milliseconds)))
        )
    }

    /// Returns the state of a customer from all its facts. The cross join makes SQLite begin with the customer's
    /// purchases. Without statistics of the tables, SQLite would otherwise sometimes begin with all facts of the
    /// ledger.
    func state(of customer: CustomerID) throws -> CustomerState {
        var state = CustomerState()
        if let facts = factsOfNewcomer(customer) {
            for fact in facts { state.apply(fact) }
            return state
        }
        try connection.each(
            """
            SELECT fact.source AS source, fact.kind AS kind, fact.digest AS digest,
                fact.original_transaction_id AS original_transaction_id, fact.signed_at AS signed_at,
                fact.summary AS summary
            FROM holder CROSS JOIN fact
            WHERE holder.app = ?1 AND holder.environment = ?2 AND holder.customer = ?3 AND fact.app = ?1
                AND fact.environment = ?2 AND fact.original_transaction_id = holder.original_transaction_id
            """, values(.text(customer.rawValue))
        ) { try state.apply(factIn: $0) }
        for grant in try grants(of: customer) { state.apply(grant) }
        return state
    }

    /// Returns the facts of a new customer, if all of them were written in this transaction.
    private func factsOfNewcomer(_ customer: CustomerID) -> [PresentedFact.Content]? {
        guard newcomers[customer] != nil else { return nil }
        var facts: [PresentedFact.Content] = []
        for purchase in heldByNewcomers[customer] ?? [] {
            guard let new = newPurchases[purchase] else { return nil }
            facts += new
        }
        return facts
    }

    mutating func add(_ grant: Grant, to customer: CustomerID) throws {
        try connection.perform(
            """
            INSERT INTO customer_grant (app, environment, customer, id, feature, valid_from, valid_until, reason)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            """,
            values(
                .text(customer.rawValue), .text(grant.id), .text(grant.feature), .integer(grant.from.milliseconds),
                SQLValue(grant.until?.milliseconds), .text(grant.reason)))
        affected.insert(customer)
    }

    /// Withdraws a grant; `false` if the customer has no such grant or it was withdrawn before.
    mutating func withdrawGrant(_ id: String, of customer: CustomerID) throws -> Bool {
        let count = try connection.execute(
            """
            UPDATE customer_grant SET withdrawn_at = ?5 WHERE app = ?1 AND environment = ?2 AND customer = ?3
                AND id = ?4 AND withdrawn_at IS NULL
            """, values(.text(customer.rawValue), .text(id), .integer(now.milliseconds)))
        if count > 0 { affected.insert(customer) }
        return count > 0
    }

    /// Returns the grants that were not withdrawn.
    func grants(of customer: CustomerID) throws -> [Grant] {
        try connection.query(
            """
            SELECT id, feature, valid_from, valid_until, reason FROM customer_grant
            WHERE app = ?1 AND environment = ?2 AND customer = ?3 AND withdrawn_at IS NULL
            """, values(.text(customer.rawValue))
        ).map { row in
            let until: Int64? = try row["valid_until"]
            return Grant(
                id: try row["id"], feature: try row["feature"], from: Date(milliseconds: try row["valid_from"]),
                until: until.map { Date(milliseconds: $0) }, reason: try row["reason"])
        }
    }
}

extension CustomerState {
    /// Applies one fact, from its columns source, kind, digest, original_transaction_id, signed_at and summary.
    mutating func apply(factIn row: SQLRow) throws { apply(try PresentedFact.Content(row)) }
}

extension PresentedFact.Content {
    /// Reads the columns source, kind, digest, original_transaction_id, signed_at and summary of a fact.
    init(_ row: SQLRow) throws {
        let original = TransactionID(unchecked: try row["original_transaction_id"])
        let signedAt = Date(milliseconds: try row["signed_at"])
        let digest: [UInt8] = try row["digest"]
        if try row["kind"] == FactRow.transaction {
            self = .transaction(
                try FactSummary.transaction(
                    try row["summary"], of: original, source: PurchaseSource(rawValue: try row["source"]),
                    signedAt: signedAt, digest: digest))
        } else {
            self = .renewal(
                try FactSummary.renewal(try row["summary"], of: original, signedAt: signedAt, digest: digest))
        }
    }
}

extension Customer {
    var isEmpty: Bool { features.isEmpty && subscriptions.isEmpty && purchases.isEmpty }

    /// The digest of the content without its time: equal for equal content.
    var contentDigest: [UInt8] { MessageDigest.sha256(wireContent()) }
}

extension StoredAnswer {
    /// The answer of a customer before the first computation. Also replaces a stored answer that must be recomputed.
    static let none = StoredAnswer(
        revision: 0, bytes: [], etag: "", validFrom: Date(milliseconds: 0), validUntil: Date(milliseconds: 0))

    /// The answer about an unknown customer, which is not stored. Its bytes differ by `asOf`, so its ETag is weak (RFC
    /// 9110 section 8.8.1).
    init(ofUnknown customer: CustomerID, in environment: StoreEnvironment, at instant: Date) {
        let empty = Customer(customer: customer, environment: environment, asOf: instant)
        let tag = Base64.encodeURL(empty.contentDigest.prefix(16))
        self.init(
            revision: 0, bytes: empty.wireBytes(), etag: "W/\"\(tag)\"", validFrom: instant,
            validUntil: nil)
    }

    /// Creates an answer in its wire format, valid from its `asOf`. `content` is the wire format of `customer` without
    /// the time, and `digest` the digest of `content`. The ETag is computed from the digest and the time, because the
    /// bytes depend on nothing else.
    init(_ customer: Customer, around content: [UInt8], _ digest: [UInt8], revision: Int64) {
        let validFrom = Date(milliseconds: customer.asOf.milliseconds)
        self.init(
            revision: revision, bytes: customer.wireBytes(around: content), etag: Self.etag(digest, from: validFrom),
            validFrom: validFrom, validUntil: customer.validUntil)
    }

    private static func etag(_ digest: [UInt8], from validFrom: Date) -> String {
        let tag = MessageDigest.sha256(digest + Array(String(validFrom.milliseconds).utf8)).prefix(16)
        return "\"\(Base64.encodeURL(tag))\""
    }

    /// Returns whether bytes, ETag and end belong to content with this digest. An end of 0 marks an answer that must be
    /// recomputed; it is not compared.
    fileprivate func matches(digest: [UInt8]) -> Bool {
        let start = Array("{\"asOf\":\"\(RFC3339.string(from: validFrom))\"".utf8)
        return bytes.starts(with: start) && MessageDigest.sha256(Array(bytes[start.count...])) == digest
            && etag == Self.etag(digest, from: validFrom) && hasStoredEnd
    }

    /// Returns whether the bytes are about this customer. In the bytes, the customer and the environment follow the
    /// time.
    fileprivate func isAbout(_ customer: String, _ environment: String) -> Bool {
        guard validUntil != Date(milliseconds: 0) else { return true }
        var names = JSONWriter()
        names.raw(",\"customer\":")
        names.write(customer)
        names.raw(",\"environment\":")
        names.write(environment)
        let start = "{\"asOf\":\"\(RFC3339.string(from: validFrom))\"".utf8.count
        return bytes.dropFirst(start).starts(with: names.bytes)
    }

    /// Whether the bytes contain the end in the row: `validUntil`, the last member of an answer that has an end.
    private var hasStoredEnd: Bool {
        guard validUntil != Date(milliseconds: 0) else { return true }
        let end = validUntil.map { ",\"validUntil\":\"\(RFC3339.string(from: $0))\"}" } ?? "]}"
        return bytes.suffix(end.utf8.count).elementsEqual(end.utf8)
    }

    /// Returns the same answer with another end.
    fileprivate func ending(at validUntil: Date?) -> StoredAnswer {
        StoredAnswer(revision: revision, bytes: bytes, etag: etag, validFrom: validFrom, validUntil: validUntil)
    }

    /// The query of the one row that a read needs in a shared database.
    static let sharedQuery = """
        SELECT revision, answer, etag, content_digest, valid_from, valid_until, id, environment,
            rules_epoch <> (SELECT rules_epoch FROM app WHERE bundle_id = ?1) AS is_former
        FROM customer WHERE app = ?1 AND environment = ?2 AND id = ?3
        """

    /// Reads a row of `sharedQuery`; `nil` for an answer of former rules or with damaged bytes.
    init?(shared row: SQLRow) throws {
        guard try !row["is_former"] else { return nil }
        let answer = try StoredAnswer(row)
        guard try answer.matches(digest: row["content_digest"]), try answer.isAbout(row["id"], row["environment"])
        else {
            return nil
        }
        self = answer
    }

    fileprivate init(_ row: SQLRow) throws {
        let until: Int64? = try row["valid_until"]
        self.init(
            revision: try row["revision"], bytes: try row["answer"], etag: try row["etag"],
            validFrom: Date(milliseconds: try row["valid_from"]), validUntil: until.map { Date(milliseconds: $0) })
    }
}
