import Foundation
import Primitives
import SQLStorage
import StoreModel

extension Ledger {
    /// The number of facts on a page.
    private static let factsPerPage = 50
    /// The largest number of entries of the audit log on the page of a customer.
    private static let shownEntries = 10

    /// Returns what the console shows about a customer; `nil` for an unknown one.
    ///
    /// - Parameters:
    ///   - purchase: The purchase whose facts are listed; `nil` for all.
    ///   - position: The position of the last fact on the previous page; the list continues with older facts. `nil`
    ///     begins with the newest.
    func record(
        of key: CustomerKey, purchase: TransactionID?, before position: Int64?
    ) async throws -> CustomerRecord? {
        let stored = try await answer(key)
        let keys = try APIKeys(database: database).list(of: key.ledgerID.app)
        return try database.read { connection in
            let transaction = transaction(connection, on: key.ledgerID)
            let customer = try transaction.customer(named: key.customer) ?? key.customer
            guard let entry = try transaction.entry(of: customer) else { return nil }
            let limit = Self.factsPerPage
            let rows = try transaction.factRows(
                of: customer, before: position ?? .max, limit: limit + 1, in: purchase)
            let facts = try rows.prefix(limit).map(FactEntry.init)
            let entries = try transaction.auditEntries(about: customer, before: .max, limit: Self.shownEntries + 1)
            return CustomerRecord(
                entry: entry, answer: try WireJSON.decode(Customer.self, from: stored.bytes),
                answerBytes: stored.bytes, grants: try transaction.grantEntries(of: customer),
                credits: try transaction.accounts(of: customer).map {
                    CustomerRecord.CreditEntry(type: $0.type, account: $0.account)
                },
                creditGrants: try transaction.creditGrants(of: customer, limit: LedgerTransaction.listLimit).map {
                    CustomerRecord.CreditGrantEntry(grant: $0.grant, at: $0.at)
                },
                facts: FactList(
                    facts: facts, purchase: purchase, next: rows.count > limit ? facts.last?.sequence : nil),
                log: AuditList(entries: entries, next: nil, keys: keys).prefix(Self.shownEntries))
        }
    }

    /// Returns whether a customer has a purchase.
    func holds(_ original: TransactionID, _ key: CustomerKey) throws -> Bool {
        try database.read { connection in
            try transaction(connection, on: key.ledgerID).holders(of: original).contains(key.customer)
        }
    }

    /// A customer id or alias, and the customer that it names.
    struct KnownName: Sendable {
        /// The customer that the name belongs to; the name itself if it is no alias.
        let customer: CustomerID
        let isKnown: Bool
        let isErased: Bool
    }

    /// Returns the customer that a customer id or alias names.
    func knownName(_ key: CustomerKey) throws -> KnownName {
        try database.read { connection in
            let transaction = transaction(connection, on: key.ledgerID)
            let customer = try transaction.customer(named: key.customer) ?? key.customer
            return KnownName(
                customer: customer, isKnown: try transaction.isKnown(customer),
                isErased: try transaction.isErased(customer))
        }
    }

    /// Returns a fact of a customer's purchases; `nil` if there is none at this position.
    func factRecord(of key: CustomerKey, at position: Int64) async throws -> FactRecord? {
        _ = try await answer(key)
        return try database.read { connection in
            let transaction = transaction(connection, on: key.ledgerID)
            let customer = try transaction.customer(named: key.customer) ?? key.customer
            guard position < .max,
                let row = try transaction.factRows(of: customer, before: position + 1, limit: 1).first,
                try row["sequence"] == position
            else { return nil }
            let fact = try FactEntry(row)
            return FactRecord(
                customer: customer, fact: fact, source: try transaction.source(in: row),
                claims: try transaction.claimEntries(on: fact.original),
                documents: try transaction.documentEntries(about: fact.original))
        }
    }
}

extension LedgerTransaction {
    /// The largest number of rows in a list of grants, credit grants, sources of credit, claims or documents.
    static let listLimit = 100

    fileprivate func grantEntries(of customer: CustomerID) throws -> [CustomerRecord.GrantEntry] {
        try connection.query(
            """
            SELECT id, feature, valid_from, valid_until, reason, withdrawn_at FROM customer_grant
            WHERE app = ?1 AND environment = ?2 AND customer = ?3 ORDER BY valid_from DESC, id LIMIT ?4
            """, values(.text(customer.rawValue), .integer(Int64(Self.listLimit)))
        ).map { row in
            let (until, withdrawnAt): (Int64?, Int64?) = (try row["valid_until"], try row["withdrawn_at"])
            return CustomerRecord.GrantEntry(
                grant: Grant(
                    id: try row["id"], feature: try row["feature"], from: Date(milliseconds: try row["valid_from"]),
                    until: until.map { Date(milliseconds: $0) }, reason: try row["reason"]),
                withdrawnAt: withdrawnAt.map { Date(milliseconds: $0) })
        }
    }

    fileprivate func claimEntries(on original: TransactionID) throws -> [FactRecord.ClaimEntry] {
        try connection.query(
            """
            SELECT customer, kind, claimed_at FROM claim
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3 ORDER BY sequence DESC LIMIT ?4
            """, values(.text(original.rawValue), .integer(Int64(Self.listLimit)))
        ).map { row in
            FactRecord.ClaimEntry(
                presenter: try row["customer"], kind: try row["kind"], at: Date(milliseconds: try row["claimed_at"]))
        }
    }

    fileprivate func documentEntries(about original: TransactionID) throws -> [FactRecord.DocumentEntry] {
        try connection.query(
            """
            SELECT document.kind AS kind, document.about AS about, document.identity AS identity,
                document.received_at AS received_at
            FROM document_purchase CROSS JOIN document
            WHERE document_purchase.app = ?1 AND document_purchase.environment = ?2
                AND document_purchase.original_transaction_id = ?3
                AND document.sequence = document_purchase.document
            ORDER BY document.sequence DESC LIMIT ?4
            """, values(.text(original.rawValue), .integer(Int64(Self.listLimit)))
        ).map { row in
            FactRecord.DocumentEntry(
                kind: try row["kind"], about: try row["about"], identity: try row["identity"],
                receivedAt: Date(milliseconds: try row["received_at"]))
        }
    }
}
