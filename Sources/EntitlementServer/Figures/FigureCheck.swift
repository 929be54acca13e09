import Primitives
import SQLStorage
import StoreModel

/// Recomputes the daily sums of the figures from all facts up to their position, and compares them with the stored sums.
///
///     let report = try FigureCheck.run(on: database)
///     print(report.differences)
///
/// It changes nothing, and reads one snapshot. A server can use the ledger meanwhile.
package enum FigureCheck {
    package struct Report: Sendable {
        /// The number of the last fact in the figures.
        package var position: Int64 = 0
        /// The number of the last fact in the ledger.
        package var lastFact: Int64 = 0
        package var facts = 0
        /// The number of sums that were compared.
        package var sums = 0
        /// The first hundred differences, as sentences.
        package var differences: [String] = []
        package var differenceCount = 0

        fileprivate mutating func add(_ difference: @autoclosure () -> String) {
            differenceCount += 1
            if differences.count < 100 { differences.append(difference()) }
        }
    }

    package static func run(on database: any SQLDatabase) throws -> Report {
        try database.read { connection in
            var report = Report()
            let position = try connection.first("SELECT position FROM figure_position WHERE id = 1", [])
            report.position = try position.map { try $0["position"] } ?? 0
            let last = try connection.first(
                "SELECT sequence FROM fact WHERE sequence > 0 ORDER BY sequence DESC LIMIT 1", [])
            report.lastFact = try last.map { try $0["sequence"] } ?? 0
            var expected = try recomputed(upTo: report.position, connection, &report)
            try compare(&expected, connection, &report)
            return report
        }
    }

    /// Returns the sums that follow from the facts up to `position`.
    private static func recomputed(
        upTo position: Int64, _ connection: any SQLConnection, _ report: inout Report
    ) throws -> [LedgerID: FigureSums] {
        var sums: [LedgerID: FigureSums] = [:]
        var purchase: (ledgerID: LedgerID, original: TransactionID)?
        var state = CustomerState()
        // Only these purchases are kept until the end.
        var linked: [LedgerID: [TransactionID: CustomerState]] = [:]
        func finish() {
            guard let purchase else { return }
            guard !state.isLinked else { return linked[purchase.ledgerID, default: [:]][purchase.original] = state }
            sums[purchase.ledgerID, default: FigureSums()].add(PurchaseFigures.contributions(of: state))
        }
        var facts = 0
        try connection.each(
            """
            SELECT app, environment, original_transaction_id, source, kind, digest, signed_at, summary FROM fact
            WHERE sequence <= ?1 ORDER BY app, environment, original_transaction_id
            """, [.integer(position)]
        ) { row in
            facts += 1
            let (ledgerID, original) = (
                try LedgerID(row), TransactionID(unchecked: try row["original_transaction_id"])
            )
            if purchase.map({ $0.ledgerID != ledgerID || $0.original != original }) ?? true {
                finish()
                (purchase, state) = ((ledgerID, original), CustomerState())
            }
            if let content = try PresentedFact.Content(readable: row) { state.apply(content) }
        }
        finish()
        for (ledgerID, purchases) in linked {
            sums[ledgerID, default: FigureSums()].add(PurchaseFigures.contributions(ofLinked: purchases))
        }
        report.facts = facts
        return sums
    }

    private static func compare(
        _ expected: inout [LedgerID: FigureSums], _ connection: any SQLConnection, _ report: inout Report
    ) throws {
        var (found, remaining) = (report, expected)
        try connection.each(
            """
            SELECT app, environment, measure, day, age, product, country, source, offer, currency, high, value
            FROM figure
            """, []
        ) { row in
            let (ledgerID, value) = (try LedgerID(row), try FigureValue(row))
            found.sums += 1
            guard let key = try FigureKey(row) else {
                let measure: String = try row["measure"]
                return found.add("\(ledgerID.app), \(ledgerID.environment): the measure \(measure) is unknown")
            }
            let sum = remaining[ledgerID]?.values[key] ?? 0
            if sum != value { found.add(sentence(ledgerID, key, value, sum)) }
            remaining[ledgerID]?.subtract(FigureSums(sum, of: key))
        }
        for (ledgerID, sums) in remaining {
            for (key, sum) in sums.values { found.add(sentence(ledgerID, key, 0, sum)) }
        }
        found.differences.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        report = found
    }

    private static func sentence(
        _ ledgerID: LedgerID, _ key: FigureKey, _ value: FigureValue, _ sum: FigureValue
    ) -> String {
        let dimensions = [key.product, key.country, key.source, key.offer, key.currency].map(\.rawValue)
            .filter { !$0.isEmpty }.joined(separator: ", ")
        return """
            \(ledgerID.app), \(ledgerID.environment): \(key.measure.rawValue) on \
            \(FigureInterval.text(of: key.day)) (\(dimensions)) is \(value), and the facts give \(sum)
            """
    }
}

extension FigureSums {
    fileprivate init(_ value: FigureValue, of key: FigureKey) {
        self.init()
        add(sum: value, to: key)
    }
}
