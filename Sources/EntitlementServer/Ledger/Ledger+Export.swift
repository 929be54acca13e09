import Foundation
import Primitives
import SQLStorage
import StoreModel

extension Ledger {
    /// Returns the data about a customer as JSON, after refreshing an expired answer; `nil` for an unknown customer. The
    /// audit entry is written first, so that no export is without it.
    func export(_ key: CustomerKey, noting note: AuditNote? = nil) async throws -> JSONValue? {
        _ = try await answer(key)
        if let note {
            let name = try knownName(key)
            guard name.isKnown else { return nil }
            try await record(
                note, of: key.ledgerID.app, about: CustomerKey(ledgerID: key.ledgerID, customer: name.customer))
        }
        return try database.read { connection in
            let transaction = transaction(connection, on: key.ledgerID)
            let customer = try transaction.customer(named: key.customer) ?? key.customer
            guard try transaction.isKnown(customer), let stored = try transaction.stored(customer) else { return nil }
            return [
                "customer": .string(customer.rawValue), "environment": .string(key.ledgerID.environment.rawValue),
                "exportedAt": .string(RFC3339.string(from: transaction.now)),
                "aliases": .array(try transaction.aliases(of: customer).map { .string($0.rawValue) }),
                "answer": stored.bytes.isEmpty ? .null : try JSONValue(parsing: stored.bytes),
                "facts": .array(
                    try transaction.factRows(of: customer, before: .max, limit: .max).map {
                        try transaction.exported($0)
                    }),
                "documents": .array(try transaction.documents(about: customer)),
                "claims": .array(try transaction.claims(by: customer)),
                "grants": .array(
                    try transaction.rows(
                        "customer_grant", ["id", "feature", "valid_from", "valid_until", "reason", "withdrawn_at"],
                        customer)),
                "redemptions": .array(
                    try transaction.rows(
                        "redemption", ["credit", "item", "type", "cost", "debt", "granted", "redeemed_at"], customer)),
                "grantedCredit": .array(
                    try transaction.rows(
                        "granted_credit", ["id", "credit", "amount", "reason", "granted_at"], customer)),
                "spending": .array(try transaction.spending(of: customer)),
                "promotions": .array(
                    try transaction.rows(
                        "promotion_redemption", ["code", "grant_id", "redeemed_at"], customer)),
                "refundConsent": .array(
                    try transaction.rows("refund_consent", ["consented", "stated_at"], customer)),
                "usageReports": .array(
                    try transaction.rows(
                        "usage_report",
                        [
                            "transaction_id", "percentage", "used", "delivery_status", "sample_content_provided",
                            "play_time", "reported_at",
                        ], customer)),
                "refundRequests": .array(try transaction.refundRequests(of: customer)),
                "events": .array(try transaction.rows("event", ["type", "created_at"], customer)),
                "actions": .array(
                    try transaction.rows("audit_entry", ["action", "item", "reason", "created_at"], customer)),
            ]
        }
    }
}

extension LedgerTransaction {
    /// Returns a fact with the bytes that were presented (`sourceBytes`), unless they were erased.
    fileprivate func exported(_ row: SQLRow) throws -> JSONValue {
        var fact = try fact(in: row)
        if let source = try source(in: row) {
            fact["format"] = .string(try row["format"])
            fact["sourceBytes"] = .string(String(decoding: source, as: UTF8.self))
        }
        return fact
    }

    fileprivate func claims(by customer: CustomerID) throws -> [JSONValue] {
        try ([customer] + aliases(of: customer)).flatMap { name in
            try rows("claim", ["customer", "original_transaction_id", "kind", "claimed_at"], name)
        }
    }

    /// Returns the purchases that paid for the customer's redemptions.
    fileprivate func spending(of customer: CustomerID) throws -> [JSONValue] {
        try connection.query(
            """
            SELECT spending.original_transaction_id AS original, spending.amount AS amount,
                redemption.credit AS credit, redemption.item AS item
            FROM redemption CROSS JOIN spending
            WHERE redemption.app = ?1 AND redemption.environment = ?2 AND redemption.customer = ?3
                AND spending.redemption = redemption.sequence
            ORDER BY spending.redemption, spending.original_transaction_id
            """, values(.text(customer.rawValue))
        ).map { row in
            [
                "originalTransactionID": .string(try row["original"]), "credit": .string(try row["credit"]),
                "item": .string(try row["item"]), "amount": .number(try row["amount"] as Int64),
            ]
        }
    }

    /// Returns columns of a customer's rows in a table, with JSON names such as `validFrom` and dates as RFC 3339.
    fileprivate func rows(_ table: String, _ columns: [String], _ customer: CustomerID) throws -> [JSONValue] {
        try connection.query(
            """
            SELECT \(columns.joined(separator: ", ")) FROM \(table)
            WHERE app = ?1 AND environment = ?2 AND customer = ?3
            """, values(.text(customer.rawValue))
        ).map { row in
            var members: JSONValue = [:]
            for column in columns { members[Self.member(column)] = try Self.value(row, column) }
            return members
        }
    }

    private static func member(_ column: String) -> String {
        let words = column.split(separator: "_")
        let head = words.first.map(String.init) ?? ""
        return head + words.dropFirst().map { $0 == "id" ? "ID" : $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    private static func value(_ row: SQLRow, _ column: String) throws -> JSONValue? {
        if column.hasSuffix("_at") || column.hasPrefix("valid_") {
            let instant: Int64? = try row[column]
            return instant.map { .string(RFC3339.string(from: Date(milliseconds: $0))) }
        }
        if ["cost", "debt", "granted", "amount"].contains(column) { return .number(try row[column] as Int64) }
        if ["consented", "sample_content_provided"].contains(column) {
            let flag: Int64? = try row[column]
            return flag.map { .bool($0 != 0) }
        }
        if ["percentage", "used", "play_time"].contains(column) {
            let number: Int64? = try row[column]
            return number.map { .number($0) }
        }
        let text: String? = try row[column]
        return text.map { .string($0) }
    }
}
