import StoreModel
import WebPages

/// A chart of one figure in one currency, as inline SVG without texts: the labels are HTML beside it, so that they keep
/// their size on every screen.
struct FigureChart: Sendable {
    /// A line of the chart.
    struct Line: Sendable {
        let label: String
        /// The values by period; `nil` where the figure has none.
        let values: [FigureValue?]
    }

    /// The largest number of lines. The CSV file has all of them.
    static let maximumLines = 6

    let title: String
    let unit: Figure.Unit
    let currency: String?
    /// The name of the table whose rates converted the values.
    let rates: String?
    /// The first days of the periods.
    let days: [Int64]
    let lines: [Line]
    /// Whether a value is the sum of a period, such as its revenue or proceeds. A single line is then drawn as bars.
    let isFlow: Bool
    /// The number of lines that are left out.
    let omitted: Int
    /// The values at the upper and lower edge.
    private let (top, bottom): (Double, Double)

    private static let (width, height): (Double, Double) = (1000, 300)

    /// Returns the charts of an answer, one for each currency.
    static func charts(of answer: FigureQuery.Answer, days: [Int64]) -> [FigureChart] {
        let currencies = Set(answer.rows.map(\.currency)).sorted {
            ($0 ?? "").utf8.lexicographicallyPrecedes(($1 ?? "").utf8)
        }
        let places = Dictionary(days.enumerated().map { ($1, $0) }) { first, _ in first }
        return currencies.map { currency in
            var lines: [(label: String, values: [FigureValue?])] = []
            for row in answer.rows where row.currency == currency && row.age == nil {
                let label = row.group ?? ""
                let index: Int
                if let known = lines.firstIndex(where: { $0.label.utf8.elementsEqual(label.utf8) }) {
                    index = known
                } else {
                    index = lines.count
                    lines.append((label, Array(repeating: nil, count: days.count)))
                }
                if let place = places[row.day] { lines[index].values[place] = row.value }
            }
            func size(_ values: [FigureValue?]) -> FigureValue { values.compactMap { $0?.magnitude }.max() ?? 0 }
            let largest = lines.sorted { size($0.values) > size($1.values) }
            let isFlow =
                switch answer.figure.formula {
                case .flow, .withoutCommission: true
                default: false
                }
            return FigureChart(
                answer, currency, days: days,
                lines: largest.prefix(maximumLines).map { Line(label: $0.label, values: $0.values) }, isFlow: isFlow,
                omitted: max(0, largest.count - maximumLines))
        }
    }

    private init(
        _ answer: FigureQuery.Answer, _ currency: String?, days: [Int64], lines: [Line], isFlow: Bool, omitted: Int
    ) {
        title = answer.figure.title
        unit = answer.figure.unit
        self.currency = currency
        rates = answer.rates.flatMap { rates in
            currency.map { $0.utf8.elementsEqual(rates.currency.utf8) } ?? false ? rates.name : nil
        }
        self.days = days
        self.lines = lines
        self.isFlow = isFlow
        self.omitted = omitted
        let values = lines.flatMap(\.values).compactMap { $0?.double }
        top = Self.rounded(max(values.max() ?? 0, 0))
        bottom = -Self.rounded(max(-(values.min() ?? 0), 0))
    }

    // MARK: - Scale

    /// Rounds up to 1, 2 or 5 times a power of ten; values up to 1 become 1, and 0 stays 0.
    static func rounded(_ value: Double) -> Double {
        guard value > 0 else { return 0 }
        var power = 1.0
        while power * 10 <= value { power *= 10 }
        return [1, 2, 5, 10].map { $0 * power }.first { $0 >= value } ?? value
    }

    private func y(_ value: Double) -> Double {
        let range = top - bottom
        return range > 0 ? Self.height * (top - value) / range : Self.height
    }

    private func x(_ index: Int) -> Double {
        Self.width * (Double(index) + 0.5) / Double(max(1, days.count))
    }

    private static func text(_ number: Double) -> String { String((number * 10).rounded() / 10) }

    // MARK: - Markup

    var html: HTML {
        """
        <figure class="chart">
        <div class="scale"><span>top: \(label(top))</span><span>bottom: \(label(bottom))</span></div>
        <svg viewBox="0 0 1000 300" preserveAspectRatio="none" role="img" aria-label="\(description)">
        \(grid)\(drawing)</svg>
        <div class="days"><span>\(day(0))</span><span>\(day(days.count - 1))</span></div>
        \(legend)
        </figure>
        """
    }

    private func label(_ value: Double) -> String {
        let number = FigureValue(rounding: value)
        let text = unit == .ratio ? FiguresPage.percent(number) : unit.text(of: number)
        return currency.map { "\(text) \($0)" } ?? text
    }

    private func day(_ index: Int) -> String {
        days.indices.contains(index) ? FigureInterval.text(of: days[index]) : ""
    }

    private var description: String {
        let latest = lines.prefix(1).compactMap { $0.values.last ?? nil }.first
        let end = latest.map { "; the last value is \(label($0.double))" } ?? ""
        let conversion = rates.map { ", converted with the rates \($0)," } ?? ""
        return
            "Chart of \(title)\(conversion) from \(day(0)) to \(day(days.count - 1))\(end). The values are in the table."
    }

    private var grid: HTML {
        [0, 0.25, 0.5, 0.75, 1].map { part -> HTML in
            let height = Self.text(Self.height * part)
            return "<line class=\"grid\" x1=\"0\" x2=\"1000\" y1=\"\(height)\" y2=\"\(height)\"/>"
        }.joined()
            + "<line class=\"zero\" x1=\"0\" x2=\"1000\" y1=\"\(Self.text(y(0)))\" y2=\"\(Self.text(y(0)))\"/>"
    }

    private var drawing: HTML {
        if isFlow, lines.count == 1 { return bars(lines[0]) }
        return lines.enumerated().map { index, line in path(line, index) }.joined()
    }

    private func bars(_ line: Line) -> HTML {
        let width = Self.width / Double(max(1, days.count)) * 0.7
        return line.values.enumerated().map { index, value -> HTML in
            guard let value, !value.isZero else { return .empty }
            let (start, end) = (y(max(0, value.double)), y(min(0, value.double)))
            return """
                <rect class="bar" x="\(Self.text(x(index) - width / 2))" y="\(Self.text(start))" \
                width="\(Self.text(width))" height="\(Self.text(max(1, end - start)))"/>
                """
        }.joined()
    }

    private func path(_ line: Line, _ index: Int) -> HTML {
        var (path, isDown) = ("", false)
        for (place, value) in line.values.enumerated() {
            guard let value else {
                isDown = false
                continue
            }
            path += "\(isDown ? "L" : "M")\(Self.text(x(place))) \(Self.text(y(value.double)))"
            // The short line makes a point without neighbours visible.
            if !isDown { path += "h0.1" }
            isDown = true
        }
        return "<path class=\"line l\(String(index))\" d=\"\(path)\"/>"
    }

    private var legend: HTML {
        guard lines.count > 1 || lines.contains(where: { !$0.label.isEmpty }) else { return .empty }
        let items = lines.enumerated().map { index, line -> HTML in
            """
            <li><svg viewBox="0 0 24 10" aria-hidden="true"><path class="line l\(String(index))" d="M0 5H24"/></svg>\
            <bdi>\(line.label.isEmpty ? "(none)" : line.label)</bdi></li>
            """
        }
        let more: HTML = omitted > 0 ? "<li class=\"soft\">\(String(omitted)) more in the table</li>" : .empty
        return "<ul class=\"legend\">\(items.joined())\(more)</ul>"
    }
}
