import Primitives
import SQLStorage
import StoreModel

/// Exports the facts, the answers and the events of a database, or the daily sums of its figures, as rows for other
/// tools.
///
/// A fact has what the ledger keeps unencrypted: products, amounts and dates, and nothing that identifies a person.
/// Answers and events name customers by pseudonyms. The feed has the complete events, as `GET /v1/events` sends them.
package enum LedgerExport {
    /// The kind of rows in an export.
    package enum Content: String, CaseIterable, Sendable {
        case facts, states, events, feed, figures

        /// Whether an export can continue after the cursor of an earlier one.
        package var hasCursor: Bool { [.facts, .events, .feed].contains(self) }

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
            case .feed: LedgerExport.feedColumns
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
        ("isAssigned", false), ("sharesPeriod", false), ("packageName", false), ("isPaused", false),
        ("cancelledDate", true), ("refundedQuantity", false), ("replaces", false), ("replacedBy", false),
        ("paidUntilDate", true),
    ]

    static let pageSize = 1000

    /// A row of facts, events or the feed, and its position, from which an export can continue.
    package struct Row: Sendable {
        package let position: Int64
        /// The values in the order of `columns`; an absent value is `null`.
        package let values: [JSONValue]
    }

    /// Calls `body` with each row, whose values have the order of `columns`; an absent value is `null`.
    ///
    /// - Parameters:
    ///   - cursor: The cursor of the last export; facts or events after it are exported. States and figures ignore it.
    ///   - clock: The clock of the server, see `page`.
    /// - Returns: The cursor of the next export: the number of the last fact or event that was exported, or of the last
    ///   fact that the figures contain, or of the last event before the answers.
    package static func run(
        _ content: Content, of database: any SQLDatabase, since cursor: Int64 = 0, clock: any WallClock,
        _ body: ([JSONValue]) throws -> Void
    ) throws -> Int64 {
        switch content {
        case .facts, .events, .feed:
            var last = cursor
            while true {
                let page = try page(content, of: database, after: last, clock: clock)
                guard let end = page.last else { return last }
                for row in page { try body(row.values) }
                last = end.position
            }
        case .states: return try exportStates(of: database, body)
        case .figures: return try exportFigures(of: database, body)
        }
    }

    /// Returns the next facts, events or entries of the feed, in the order of their positions; none at the end. Rows
    /// with the same position are in the same page. States and figures have no pages.
    ///
    /// - Parameter clock: The clock of the server. It dates the rows `events.expired` of the feed, as `GET /v1/events`
    ///   does. A ledger does not contain the time of its store: after an event the store's time is only known to be
    ///   later.
    package static func page(
        _ content: Content, of database: any SQLDatabase, after cursor: Int64, clock: any WallClock
    ) throws -> [Row] {
        switch content {
        case .facts: try facts(of: database, after: cursor)
        case .events: try events(of: database, after: cursor)
        case .feed: try feed(of: database, after: cursor, clock: clock)
        case .states, .figures: []
        }
    }

    private static func facts(of database: any SQLDatabase, after cursor: Int64) throws -> [Row] {
        try database.read { connection in
            // On PostgreSQL a fact can be committed after one with a greater number. Up to the position of the figures,
            // no fact can appear any more.
            var end = Int64.max
            if database.dialect != .sqlite {
                let row = try connection.first("SELECT position FROM figure_position WHERE id = 1", [])
                end = try row.map { try $0["position"] } ?? 0
            }
            return try connection.query(
                """
                SELECT sequence, app, environment, kind, source, original_transaction_id, signed_at, received_at,
                    digest, summary
                FROM fact WHERE sequence > ?1 AND sequence <= ?2 ORDER BY sequence LIMIT ?3
                """, [.integer(cursor), .integer(end), .integer(Int64(pageSize))]
            ).map { Row(position: try $0["sequence"], values: try values(ofFact: $0)) }
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
