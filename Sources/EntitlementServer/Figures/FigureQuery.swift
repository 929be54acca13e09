import Foundation
import Primitives
import SQLStorage
import StoreModel

/// A query for one figure: its days, the length of its periods, and the dimension that divides it.
package struct FigureQuery: Sendable {
    /// The largest number of rows in an answer.
    package static let maximumRows = 50_000

    package let figure: Figure
    /// The first day of the first period, and the last day.
    package let days: ClosedRange<Int64>
    package let interval: FigureInterval
    package let group: FigureGroup?
    let commissions: Commissions
    /// The rates that convert amounts; `nil` for amounts as they were paid.
    package let rates: CurrencyRates?

    /// - Parameters:
    ///   - from: The first day; its whole period counts.
    ///   - to: The last day.
    ///   - rates: The rates that convert amounts of money.
    /// - Returns: `nil` if `to` is before `from`, for more than `maximumRows` periods of a day, and for over 200 years.
    package init?(
        _ figure: Figure, from: Int64, to: Int64, by interval: FigureInterval, group: FigureGroup?,
        commissions: Commissions = .usual, rates: CurrencyRates? = nil
    ) {
        let start = interval.start(of: from)
        guard from <= to, to - start < 366 * 200, interval != .day || to - start < Int64(Self.maximumRows) else {
            return nil
        }
        self.figure = figure
        days = start...to
        self.interval = interval
        self.group = group
        self.commissions = commissions
        self.rates = figure.unit == .money ? rates : nil
    }

    /// One value of a series.
    package struct Row: Sendable, Equatable {
        /// The first day of the period.
        package let day: Int64
        package let group: String?
        /// The age of a cohort in months.
        package let age: Int64?
        /// The value by the unit of the figure: a count, millionths of the currency, or a ratio in millionths.
        package let value: FigureValue
        package let currency: String?
    }

    package struct Answer: Sendable {
        package let figure: Figure
        /// The number of the last fact in the figures.
        package let position: Int64
        package let rows: [Row]
        /// The commissions that the values do not contain; `nil` for other figures than proceeds.
        package let commissions: Commissions?
        /// The rates that converted the values.
        package let rates: CurrencyRates?

        /// The currencies of rows for which the table has no rate, sorted.
        package var unconverted: [String] {
            guard let rates else { return [] }
            let currencies = Set(rows.compactMap { $0.currency.map { ExactString($0) } })
            return currencies.filter { $0 != ExactString(rates.currency) && $0 != "" }.sorted().map(\.rawValue)
        }
    }

    /// Returns the values of the figure for some apps in one environment.
    ///
    /// - Returns: `nil` if there could be over `maximumRows` rows.
    package func answer(
        for apps: [BundleID], in environment: StoreEnvironment, _ connection: any SQLConnection
    ) throws -> Answer? {
        let position = try connection.first("SELECT position FROM figure_position WHERE id = 1", [])
        let ledgers = apps.map { LedgerID(app: $0, environment: environment) }
        let reader = FigureSeries.Reader(ledgers: ledgers, query: self, connection: connection)
        guard let rows = try rows(reader) else { return nil }
        return Answer(
            figure: figure, position: try position.map { try $0["position"] } ?? 0, rows: rows,
            commissions: figure.isWithoutCommission ? commissions : nil, rates: rates)
    }

    // MARK: - Formulas

    private func rows(_ reader: FigureSeries.Reader) throws -> [Row]? {
        let isMoney = figure.unit == .money
        switch figure.formula {
        case .flow(let measure), .withoutCommission(let measure):
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
            let numbers = try reader.flow(number, byCurrency: true, isMoney: false)
            let parts = try reader.flow(part, byCurrency: true)
            return rows(numbers) { place, count in
                guard count > 0 else { return nil }
                return (parts.values[place] ?? FigureSum()).rounded(dividedBy: count.clamped)
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
            return Self.ratio(parts.values[place]?.rounded ?? 0, to: whole)
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
                return value(place, series.values[place]?.rounded ?? 0).map { row(line, start, $0) }
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
                guard let count = started.values[place]?.rounded, count > 0 else { continue }
                for age in 1...PurchaseFigures.maximumAge {
                    guard FigureDay.adding(months: age, to: lastDay) <= days.upperBound else { break }
                    let active = retained[age]?.values[place]?.rounded ?? 0
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

    /// Returns the ratio of two numbers in millionths, rounded to the nearest millionth.
    private static func ratio(_ part: FigureValue, to whole: FigureValue) -> FigureValue {
        FigureValue.product(part.clamped, 1_000_000).rounded(dividedBy: whole.clamped)
    }

    package static let tooManyRows = "the answer would have over \(maximumRows) rows"
}
