import Primitives
import SQLStorage
import StoreModel

/// Exports the facts, the answers and the events of a database, or the daily sums of its figures, as rows for other
/// tools.
///
/// A fact has what the ledger keeps unencrypted: products, amounts and dates, and nothing that identifies a person.
/// Answers and events name customers by pseudonyms.
package enum LedgerExport {
    /// The kind of rows in an export.
    package enum Content: String, CaseIterable, Sendable {
        case facts, states, events, figures

        /// Whether an export can continue after the cursor of an earlier one.
        package var hasCursor: Bool { self == .facts || self == .events }

        /// The names of the columns, in their order.
        package var columns: [String] {
            switch self {
            case .facts:
                [
                    "sequence", "app", "environment", "kind", "source", "originalTransactionId", "signedDate",
                    "receivedDate", "digest",
                ] + LedgerExport.summaryColumns.map(\.name)
            case .states: LedgerExport.stateColumns
            case .events: LedgerExport.eventColumns
            case .figures:
                [
                    "app", "environment", "measure", "day", "age", "product", "country", "source", "offer", "currency",
                    "value",
                ]
            }
        }
    }

    /// The members of a summary; dates are milliseconds since 1970 there.
    private static let summaryColumns: [(name: String, isDate: Bool)] = [
        ("transactionId", false), ("productId", false), ("type", false), ("purchaseDate", true),
        ("originalPurchaseDate", true), ("expiresDate", true), ("revocationDate", true),
        ("subscriptionGroupIdentifier", false), ("quantity", false), ("price", false), ("currency", false),
        ("isUpgraded", false), ("isFamilyShared", false), ("isTrial", false), ("isIntroductory", false),
        ("isFromReceipt", false), ("storefront", false), ("offerType", false), ("offerIdentifier", false),
        ("revocationPercentage", false), ("autoRenewStatus", false), ("autoRenewProductId", false),
        ("gracePeriodExpiresDate", true), ("isInBillingRetryPeriod", false), ("commitmentAutoRenewStatus", false),
        ("isAssigned", false), ("sharesPeriod", false),
    ]

    static let pageSize: Int64 = 1000

    /// Calls `body` with each row, whose values have the order of `columns`; an absent value is `null`.
    ///
    /// - Parameters:
    ///   - cursor: The cursor of the last export; facts or events after it are exported. States and figures ignore it.
    /// - Returns: The cursor of the next export: the number of the last fact or event that was exported, or of the last
    ///   fact that the figures contain, or of the last event before the answers.
    package static func run(
        _ content: Content, of database: any SQLDatabase, since cursor: Int64 = 0, _ body: ([JSONValue]) throws -> Void
    ) throws -> Int64 {
        switch content {
        case .facts: try exportFacts(of: database, since: cursor, body)
        case .states: try exportStates(of: database, body)
        case .events: try exportEvents(of: database, since: cursor, body)
        case .figures: try exportFigures(of: database, body)
        }
    }

    private static func exportFacts(
        of database: any SQLDatabase, since cursor: Int64, _ body: ([JSONValue]) throws -> Void
    ) throws -> Int64 {
        // On PostgreSQL a fact can be committed after one with a greater number. Up to the position of the figures, no
        // fact can appear any more.
        let end: Int64 =
            database.dialect == .sqlite
            ? .max
            : try database.read { connection in
                let row = try connection.first("SELECT position FROM figure_position WHERE id = 1", [])
                return try row.map { try $0["position"] } ?? 0
            }
        var last = cursor
        while true {
            let rows = try database.read { connection in
                try connection.query(
                    """
                    SELECT sequence, app, environment, kind, source, original_transaction_id, signed_at, received_at,
                        digest, summary
                    FROM fact WHERE sequence > ?1 AND sequence <= ?2 ORDER BY sequence LIMIT ?3
                    """, [.integer(last), .integer(end), .integer(pageSize)])
            }
            for row in rows {
                try body(try values(ofFact: row))
                last = try row["sequence"]
            }
            guard rows.count == pageSize else { return last }
        }
    }

    private static func values(ofFact row: SQLRow) throws -> [JSONValue] {
        let (sequence, digest): (Int64, [UInt8]) = (try row["sequence"], try row["digest"])
        let (signedAt, receivedAt): (Int64, Int64) = (try row["signed_at"], try row["received_at"])
        let names = try ["app", "environment", "kind", "source", "original_transaction_id"].map { column in
            JSONValue.string(try row[column])
        }
        let text: String? = try row["summary"]
        // A summary that cannot be read has no values; `souk ledger replay` reports it.
        let summary = text.flatMap { try? JSONValue(parsing: $0) } ?? [:]
        return [.number(sequence)] + names + [date(signedAt), date(receivedAt), .string(Hex.encode(digest))]
            + summaryColumns.map { name, isDate in
                guard let value = summary[name] else { return .null }
                return isDate ? value.intValue.map { date(Int64($0)) } ?? .null : value
            }
    }

    static func date(_ milliseconds: Int64) -> JSONValue {
        .string(RFC3339.string(from: .init(milliseconds: milliseconds)))
    }

    private static func exportFigures(
        of database: any SQLDatabase, _ body: ([JSONValue]) throws -> Void
    ) throws -> Int64 {
        try database.read { connection in
            let position = try connection.first("SELECT position FROM figure_position WHERE id = 1", [])
            try connection.each(
                """
                SELECT app, environment, measure, day, age, product, country, source, offer, currency, high, value
                FROM figure WHERE value <> 0 OR high <> 0
                ORDER BY app, environment, measure, day, age, product, country, source, offer, currency
                """, []
            ) { row in
                guard let key = try FigureKey(row) else { return }
                let (app, environment): (String, String) = (try row["app"], try row["environment"])
                let texts = [key.product, key.country, key.source, key.offer, key.currency]
                try body(
                    [
                        .string(app), .string(environment), .string(key.measure.rawValue),
                        .string(FigureInterval.text(of: key.day)), .number(key.age),
                    ] + texts.map { .string($0.rawValue) } + [key.measure.unit.json(of: try FigureValue(row))])
            }
            return try position.map { try $0["position"] } ?? 0
        }
    }
}

extension FigureMeasure {
    fileprivate var unit: Figure.Unit {
        switch self {
        case .mrr, .mrrNew, .mrrExpansion, .mrrContraction, .mrrReactivation, .mrrChurn, .revenue, .refunds,
            .cohortRevenue:
            .money
        default: .count
        }
    }
}
