import Foundation
import Primitives
import SQLStorage
import StoreModel

/// A question for one figure: its days, the length of its periods, and the dimension that divides it.
package struct FigureQuery: Sendable {
    /// The largest number of rows in an answer.
    package static let maximumRows = 50_000

    package let figure: Figure
    /// The first day of the first period, and the last day.
    package let days: ClosedRange<Int64>
    package let interval: FigureInterval
    package let group: FigureGroup?

    /// - Parameters:
    ///   - from: The first day; its whole period counts.
    ///   - to: The last day.
    /// - Returns: `nil` if `to` is before `from`, or if there are more than `maximumRows` periods.
    package init?(_ figure: Figure, from: Int64, to: Int64, by interval: FigureInterval, group: FigureGroup?) {
        let start = interval.start(of: from)
        guard from <= to, to - start < 366 * 200, interval != .day || to - start < Int64(Self.maximumRows) else {
            return nil
        }
        self.figure = figure
        days = start...to
        self.interval = interval
        self.group = group
    }

    /// One value of a series.
    package struct Row: Sendable, Equatable {
        /// The first day of the period.
        package let day: Int64
        package let group: String?
        /// The age of a cohort in months.
        package let age: Int64?
        /// A number, or millionths of a currency, or millionths.
        package let value: FigureValue
        package let currency: String?
    }

    package struct Answer: Sendable {
        package let figure: Figure
        /// The number of the last fact in the figures.
        package let position: Int64
        package let rows: [Row]
    }

    /// Returns the series of some ledgers of one environment.
    ///
    /// - Returns: `nil` if there are over `maximumRows` rows.
    package func answer(
        for apps: [BundleID], in environment: StoreEnvironment, _ connection: any SQLConnection
    ) throws -> Answer? {
        let position = try connection.first("SELECT position FROM figure_position WHERE id = 1", [])
        let ledgers = apps.map { LedgerID(app: $0, environment: environment) }
        let reader = FigureSeries.Reader(ledgers: ledgers, query: self, connection: connection)
        guard let rows = try rows(reader) else { return nil }
        return Answer(figure: figure, position: try position.map { try $0["position"] } ?? 0, rows: rows)
    }

    // MARK: - Formulas

    private func rows(_ reader: FigureSeries.Reader) throws -> [Row]? {
        let isMoney = figure.unit == .money
        switch figure.formula {
        case .flow(let measure):
            return try values(of: reader.flow(measure, byCurrency: isMoney))
        case .level(let measure):
            return try values(of: reader.level(measure, byCurrency: isMoney))
        case .ratio(let part, let whole):
            let wholes = try reader.flow(whole, byCurrency: false)
            return try ratios(reader.flow(part, byCurrency: false), to: wholes)
        case .ratioToLevel(let part, let whole):
            let wholes = try reader.level(whole, byCurrency: false, isBefore: true)
            return try ratios(reader.flow(part, byCurrency: false), to: wholes)
        case .mean(let part, let number):
            let numbers = try reader.flow(number, byCurrency: true)
            let parts = try reader.flow(part, byCurrency: true)
            return rows(numbers) { place, count in
                guard count > 0 else { return nil }
                return (parts.values[place] ?? 0).rounded(dividedBy: count.clamped)
            }
        case .retention: return try retention(reader)
        }
    }

    private func values(of series: FigureSeries) -> [Row]? {
        var series = series
        if figure.unit == .count, group == nil { series.lines.insert(.init(label: "", currency: "")) }
        return rows(series) { $1 }
    }

    private func ratios(_ parts: FigureSeries, to wholes: FigureSeries) throws -> [Row]? {
        rows(wholes) { place, whole in
            guard whole > 0 else { return nil }
            return Self.ratio(parts.values[place] ?? 0, to: whole)
        }
    }

    /// Returns a row for each place whose `value` is not `nil`, by day, group and currency.
    private func rows(
        _ series: FigureSeries, _ value: (FigureSeries.Place, FigureValue) -> FigureValue?
    ) -> [Row]? {
        let periods = periods
        guard periods.count * series.lines.count <= Self.maximumRows else { return nil }
        let lines = series.lines.sorted { ($0.label, $0.currency) < ($1.label, $1.currency) }
        return periods.flatMap { start in
            lines.compactMap { line in
                let place = FigureSeries.Place(start: start, line: line)
                return value(place, series.values[place] ?? 0).map { row(line, start, $0) }
            }
        }
    }

    private func row(_ line: FigureSeries.Line, _ start: Int64, age: Int64? = nil, _ value: FigureValue) -> Row {
        Row(
            day: start, group: group == nil ? nil : line.label.rawValue, age: age, value: value,
            currency: figure.unit == .money ? line.currency.rawValue : nil)
    }

    private func retention(_ reader: FigureSeries.Reader) throws -> [Row]? {
        let started = try reader.flow(.new, byCurrency: false)
        let retained = try reader.ages(of: .retained)
        var rows: [Row] = []
        for start in periods {
            let lastDay = min(interval.next(after: start) - 1, days.upperBound)
            for line in started.lines.sorted(by: { $0.label < $1.label }) {
                let place = FigureSeries.Place(start: start, line: line)
                guard let count = started.values[place], count > 0 else { continue }
                for age in 1...PurchaseFigures.maximumAge {
                    guard FigureDay.adding(months: age, to: lastDay) <= days.upperBound else { break }
                    let active = retained[age]?.values[place] ?? 0
                    rows.append(row(line, start, age: age, Self.ratio(active, to: count)))
                    guard rows.count <= Self.maximumRows else { return nil }
                }
            }
        }
        return rows
    }

    /// The first days of the periods.
    var periods: [Int64] {
        var (starts, start): ([Int64], Int64) = ([], days.lowerBound)
        while start <= days.upperBound {
            starts.append(start)
            start = interval.next(after: start)
        }
        return starts
    }

    /// Returns the ratio of two numbers in millionths, rounded to the nearest one.
    private static func ratio(_ part: FigureValue, to whole: FigureValue) -> FigureValue {
        FigureValue.product(part.clamped, 1_000_000).rounded(dividedBy: whole.clamped)
    }

    package static let tooManyRows = "the answer would have over \(maximumRows) rows"
}

/// The values of a figure by period, label and currency.
struct FigureSeries: Sendable {
    /// A series of its own: a value of the dimension, and a currency.
    struct Line: Hashable, Sendable {
        let label: ExactString
        let currency: ExactString
    }

    struct Place: Hashable, Sendable {
        let start: Int64
        let line: Line
    }

    var values: [Place: FigureValue] = [:]
    var lines: Set<Line> = []

    mutating func add(_ value: FigureValue, _ start: Int64, _ line: Line) {
        lines.insert(line)
        values[Place(start: start, line: line), default: 0] += value
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
            return Line(
                label: ExactString(label), currency: byCurrency ? ExactString(try row["currency"] as String) : "")
        }

        private var label: String {
            guard let group = query.group, group != .app else { return "''" }
            return group.column
        }

        /// Returns the sum of each period.
        func flow(_ measure: FigureMeasure, byCurrency: Bool) throws -> FigureSeries {
            var series = FigureSeries()
            try each(measure) { ledgerID, row in
                series.add(
                    try FigureValue(sumsIn: row), query.interval.start(of: try row["day"]),
                    try line(row, of: ledgerID, byCurrency: byCurrency))
            }
            return series
        }

        /// Returns the sum of each period by age.
        func ages(of measure: FigureMeasure) throws -> [Int64: FigureSeries] {
            var series: [Int64: FigureSeries] = [:]
            try each(measure) { ledgerID, row in
                series[try row["age"], default: FigureSeries()].add(
                    try FigureValue(sumsIn: row), query.interval.start(of: try row["day"]),
                    try line(row, of: ledgerID, byCurrency: false))
            }
            return series
        }

        private func each(_ measure: FigureMeasure, _ body: (LedgerID, SQLRow) throws -> Void) throws {
            for ledgerID in ledgers {
                try connection.each(
                    """
                    SELECT day, age, \(label) AS label, currency, \(FigureValue.sums) FROM figure
                    WHERE app = ?1 AND environment = ?2 AND measure = ?3 AND day >= ?4 AND day <= ?5
                    GROUP BY day, age, 3, currency
                    """,
                    ledgerID.values + [
                        .text(measure.rawValue), .integer(query.days.lowerBound), .integer(query.days.upperBound),
                    ]
                ) { try body(ledgerID, $0) }
            }
        }

        /// Returns the sum of all changes up to the end of each period, or before it.
        func level(_ measure: FigureMeasure, byCurrency: Bool, isBefore: Bool = false) throws -> FigureSeries {
            var changes = try flow(measure, byCurrency: byCurrency)
            var sums: [Line: FigureValue] = [:]
            for ledgerID in ledgers {
                try connection.each(
                    """
                    SELECT \(label) AS label, currency, \(FigureValue.sums) FROM figure
                    WHERE app = ?1 AND environment = ?2 AND measure = ?3 AND day < ?4 GROUP BY 1, currency
                    """, ledgerID.values + [.text(measure.rawValue), .integer(query.days.lowerBound)]
                ) { row in
                    let value = try FigureValue(sumsIn: row)
                    if !value.isZero { sums[try line(row, of: ledgerID, byCurrency: byCurrency), default: 0] += value }
                }
            }
            changes.lines.formUnion(sums.keys)
            var levels = FigureSeries()
            for line in changes.lines {
                var sum = sums[line] ?? 0
                for start in query.periods {
                    if isBefore { levels.add(sum, start, line) }
                    sum += changes.values[Place(start: start, line: line)] ?? 0
                    if !isBefore { levels.add(sum, start, line) }
                }
            }
            return levels
        }
    }
}

extension FigureValue {
    /// The columns of the sum of several rows. Both sums have 64 bits: the number of rows is below 10^9.
    fileprivate static let sums = """
        CAST(SUM(high * 1000000000 + value / 1000000000) AS BIGINT) AS billions,
        CAST(SUM(value % 1000000000) AS BIGINT) AS rest
        """

    fileprivate init(sumsIn row: SQLRow) throws { self.init(billions: try row["billions"], rest: try row["rest"]) }
}
