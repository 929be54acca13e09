import Primitives
import SQLStorage
import StoreModel

/// The values of a figure by period, label and currency.
struct FigureSeries: Sendable {
    /// One series of a figure: a value of the dimension `query.group`, and a currency. Each is empty if the series is
    /// not divided by it.
    struct Line: Hashable, Sendable {
        let label: ExactString
        let currency: ExactString
    }

    struct Place: Hashable, Sendable {
        let start: Int64
        let line: Line
    }

    var values: [Place: FigureSum] = [:]
    var lines: Set<Line> = []

    mutating func add(_ value: FigureSum, _ start: Int64, _ line: Line) {
        lines.insert(line)
        values[Place(start: start, line: line), default: FigureSum()] += value
    }

    /// Reads the sums of some ledgers.
    struct Reader {
        let ledgers: [LedgerID]
        let query: FigureQuery
        let connection: any SQLConnection

        private func line(_ row: SQLRow, of ledgerID: LedgerID, byCurrency: Bool) throws -> Line {
            let label: String =
                switch query.group {
                case nil: ""
                case .app: ledgerID.app.rawValue
                default: try row["label"]
                }
            guard byCurrency else { return Line(label: ExactString(label), currency: "") }
            let currency = ExactString(try row["currency"] as String)
            guard let rates = query.rates, rates.rate(of: currency) != nil else {
                return Line(label: ExactString(label), currency: currency)
            }
            return Line(label: ExactString(label), currency: ExactString(rates.currency))
        }

        /// Returns the sum of a row. Subtracts the commission from proceeds, and converts money if the query has a rate
        /// for its currency.
        private func sum(in row: SQLRow, isMoney: Bool) throws -> FigureSum {
            let value = try FigureValue(sumsIn: row)
            guard isMoney, query.rates != nil || query.figure.isWithoutCommission else { return FigureSum(value) }
            let share: Int64 =
                query.figure.isWithoutCommission
                ? query.commissions.remainder(of: PurchaseSource(rawValue: try row["origin"])) : 1_000_000
            let rate = query.rates?.rate(of: ExactString(try row["currency"] as String))
            return FigureSum(value, times: FigureFactor(share: share, rate: rate ?? CurrencyRates.one))
        }

        /// The columns by which sums are divided, apart from those of time. A further column makes the query slower.
        private func dimensions(byCurrency: Bool) -> [String] {
            var columns = byCurrency ? ["currency"] : []
            if let group = query.group, group != .app { columns.append("\(group.column) AS label") }
            // The commission of proceeds depends on the source.
            if byCurrency && query.figure.isWithoutCommission { columns.append("source AS origin") }
            return columns
        }

        /// Returns the sum of each period.
        func flow(_ measure: FigureMeasure, byCurrency: Bool, isMoney: Bool = true) throws -> FigureSeries {
            var series = FigureSeries()
            try each(measure, ["day"] + dimensions(byCurrency: byCurrency), query.days) { ledgerID, row in
                series.add(
                    try sum(in: row, isMoney: byCurrency && isMoney), query.interval.start(of: try row["day"]),
                    try line(row, of: ledgerID, byCurrency: byCurrency))
            }
            return series
        }

        /// Returns the sum of each period by age.
        func ages(of measure: FigureMeasure) throws -> [Int64: FigureSeries] {
            var series: [Int64: FigureSeries] = [:]
            try each(measure, ["day", "age"] + dimensions(byCurrency: false), query.days) { ledgerID, row in
                series[try row["age"], default: FigureSeries()].add(
                    FigureSum(try FigureValue(sumsIn: row)), query.interval.start(of: try row["day"]),
                    try line(row, of: ledgerID, byCurrency: false))
            }
            return series
        }

        private func each(
            _ measure: FigureMeasure, _ columns: [String], _ days: ClosedRange<Int64>,
            _ body: (LedgerID, SQLRow) throws -> Void
        ) throws {
            for ledgerID in ledgers {
                try connection.each(
                    """
                    SELECT \(columns.joined(separator: ", ")), \(FigureValue.sums) FROM figure
                    WHERE app = ?1 AND environment = ?2 AND measure = ?3 AND day >= ?4 AND day <= ?5
                    GROUP BY \(columns.indices.map { String($0 + 1) }.joined(separator: ", "))
                    """,
                    ledgerID.values + [
                        .text(measure.rawValue), .integer(days.lowerBound), .integer(days.upperBound),
                    ]
                ) { try body(ledgerID, $0) }
            }
        }

        /// Returns the sum of all changes up to the end of each period, or, if `isBefore`, up to its beginning.
        func level(_ measure: FigureMeasure, byCurrency: Bool, isBefore: Bool = false) throws -> FigureSeries {
            var changes = try flow(measure, byCurrency: byCurrency)
            var sums: [Line: FigureSum] = [:]
            let past = Int64.min...(query.days.lowerBound - 1)
            try each(measure, ["measure"] + dimensions(byCurrency: byCurrency), past) { ledgerID, row in
                guard try !FigureValue(sumsIn: row).isZero else { return }
                sums[try line(row, of: ledgerID, byCurrency: byCurrency), default: FigureSum()] += try sum(
                    in: row, isMoney: byCurrency)
            }
            changes.lines.formUnion(sums.keys)
            var levels = FigureSeries()
            for line in changes.lines {
                var sum = sums[line] ?? FigureSum()
                for start in query.periods {
                    if isBefore { levels.add(sum, start, line) }
                    sum += changes.values[Place(start: start, line: line)] ?? FigureSum()
                    if !isBefore { levels.add(sum, start, line) }
                }
            }
            return levels
        }
    }
}

extension FigureValue {
    /// The columns of the sum of several rows. Each fits in 64 bits, because the number of rows is below 10^9.
    fileprivate static let sums = """
        CAST(SUM(high * 1000000000 + value / 1000000000) AS BIGINT) AS billions,
        CAST(SUM(value % 1000000000) AS BIGINT) AS rest
        """

    fileprivate init(sumsIn row: SQLRow) throws { self.init(billions: try row["billions"], rest: try row["rest"]) }
}
