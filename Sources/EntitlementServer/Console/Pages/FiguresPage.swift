import HTTPCore
import StoreModel
import WebPages

/// The figures of an app: a form for the days and the dimension, and a chart with a table for each figure.
struct FiguresPage: Sendable {
    /// The figures that the page shows if none is chosen.
    static let overview = [
        "active-subscriptions", "mrr", "revenue", "proceeds", "new-subscriptions", "lost-subscriptions", "churn",
        "active-trials", "refunds",
    ]

    let frame: ConsoleFrame
    /// The only figure of the page; `nil` for the overview.
    let chosen: Figure?
    let query: FigureQuery
    /// The fields of the query, for links.
    let fields: HTTPQuery
    /// The tables of rates into which money can be converted.
    let tables: [CurrencyRates]
    let answers: [FigureQuery.Answer]
    let hasTooManyRows: Bool

    var page: Page {
        var page = frame.page(
            "Figures",
            """
            <section class="card pane" aria-labelledby="title">
            <h1 id="title">Figures</h1>
            \(form)
            <p class="hint">Days are those of UTC, and currencies are never added without a rate. \
            \(answers.first.map { "The values contain the facts up to number \($0.position)." } ?? "")</p>
            \(hasTooManyRows ? "<p class=\"fault\" role=\"alert\">Some figures have too many rows: choose fewer days, or longer periods.</p>" : HTML.empty)
            </section>
            \(answers.map(section).joined())
            """)
        page.styles.append(Self.style)
        return page
    }

    // MARK: - Form

    private var form: HTML {
        """
        <form class="line" method="get" action="/console/figures">
        <div><label for="figure">Figure</label><select id="figure" name="figure">\
        \(option("", "overview", chosen?.name ?? ""))\
        \(Figure.all.map { option($0.name, $0.title, chosen?.name ?? "") }.joined())</select></div>
        <div><label for="by">Period</label><select id="by" name="by">\
        \(FigureInterval.allCases.map { option($0.rawValue, $0.rawValue, query.interval.rawValue) }.joined())\
        </select></div>
        <div><label for="group">Divided by</label><select id="group" name="group">\
        \(option("", "nothing", query.group?.rawValue ?? ""))\
        \(FigureGroup.allCases.map { option($0.rawValue, $0.rawValue, query.group?.rawValue ?? "") }.joined())\
        </select></div>
        \(currencies)<div><label for="from">From</label><input id="from" name="from" type="date" value="\(fields["from"] ?? "")"></div>
        <div><label for="to">To</label><input id="to" name="to" type="date" value="\(fields["to"] ?? "")"></div>
        <div><label for="environment">Environment</label><select id="environment" name="environment">\
        \(frame.environments.map { option($0.rawValue, $0.rawValue, frame.environment.rawValue) }.joined())\
        </select></div>
        <button class="main">Show</button>
        </form>
        """
    }

    /// The choice of a currency, if the operator gave a table of rates.
    private var currencies: HTML {
        guard !tables.isEmpty else { return .empty }
        let chosen = fields["currency"] ?? ""
        let options = tables.map { option($0.currency, "\($0.currency) (\($0.name))", chosen) }.joined()
        return """
            <div><label for="currency">Currency</label><select id="currency" name="currency">\
            \(option("", "as paid", chosen))\(options)</select></div>

            """
    }

    private func option(_ value: String, _ name: String, _ chosen: String) -> HTML {
        "<option value=\"\(value)\"\(" selected", if: value.utf8.elementsEqual(chosen.utf8))>\(name)</option>"
    }

    // MARK: - Figures

    private func section(_ answer: FigureQuery.Answer) -> HTML {
        let figure = answer.figure
        let charts = FigureChart.charts(of: answer, days: query.periods).filter { !$0.lines.isEmpty }
        let values = frame.path("/figures.csv", [("figure", figure.name)] + fields.items.map { ($0.name, $0.value) })
        let table: HTML =
            answer.rows.isEmpty
            ? "<p>There are no values in these days.</p>"
            : "<details\(" open", if: chosen != nil)><summary>Values as a table</summary>\(self.table(answer))</details>"
        return """
            <section class="card pane" aria-labelledby="figure-\(figure.name)">
            <h2 id="figure-\(figure.name)">\(figure.title)</h2>
            <p class="hint">\(figure.summary)\(commissions(of: answer))</p>
            \(conversion(of: answer))
            \(charts.map(\.html).joined())
            \(table)
            <p><a class="button" href="\(values)">\(figure.title) as CSV</a></p>
            </section>

            """
    }

    private func commissions(of answer: FigureQuery.Answer) -> String {
        guard let commissions = answer.commissions else { return "" }
        return " (" + commissions.texts.map { "\($0.source): \($0.share)" }.joined(separator: ", ") + ")"
    }

    /// The name of the table of rates, and the currencies without a rate.
    private func conversion(of answer: FigureQuery.Answer) -> HTML {
        guard let rates = answer.rates else { return .empty }
        let unconverted = answer.unconverted
        let others: HTML =
            unconverted.isEmpty
            ? .empty
            : """
             <strong>The table has no rate for <bdi>\(unconverted.joined(separator: ", "))</bdi>: these amounts are \
            not converted and not contained in those in \(rates.currency).</strong>
            """
        return """
            <p class="rates">Converted to \(rates.currency) with the rates <bdi>\(rates.name)</bdi>.\(others)</p>
            """
    }

    private func table(_ answer: FigureQuery.Answer) -> HTML {
        let hasAge = answer.rows.contains { $0.age != nil }
        let columns =
            ["From"] + (query.group.map { [$0.rawValue] } ?? []) + (hasAge ? ["Months later"] : []) + ["Value"]
        let limit = 1000
        let rows = answer.rows.suffix(limit).reversed().map { row -> HTML in
            let group = row.group.map { "<td><bdi>\($0.isEmpty ? "(none)" : $0)</bdi></td>" as HTML } ?? .empty
            let age = row.age.map { "<td>\(String($0))</td>" as HTML } ?? .empty
            let number =
                answer.figure.unit == .ratio ? Self.percent(row.value) : answer.figure.unit.text(of: row.value)
            return """
                <tr><td>\(FigureInterval.text(of: row.day))</td>\(group)\(age)\
                <td><bdi>\(row.currency.map { "\(number) \($0)" } ?? number)</bdi></td></tr>

                """
        }
        let more: HTML = answer.rows.count > limit ? "<p class=\"soft\">The CSV file has the other rows.</p>" : .empty
        return ConsoleFrame.table(answer.figure.title, columns, rows) + more
    }

    /// Returns millionths as a percentage with up to two decimals.
    static func percent(_ millionths: FigureValue) -> String {
        let hundredths = millionths.rounded(dividedBy: 100)
        let (whole, part) = hundredths.magnitude(dividedBy: 100)
        let digits = part == 0 ? "" : part % 10 == 0 ? ".\(part / 10)" : part < 10 ? ".0\(part)" : ".\(part)"
        return "\(hundredths < 0 ? "-" : "")\(whole)\(digits) %"
    }

    private static let style: StaticString = """
        .chart { margin: 0; display: grid; gap: .3rem; grid-template-columns: minmax(0, 1fr); }
        .chart > svg { width: 100%; height: 12rem; display: block; overflow: visible; }
        .scale, .days { display: flex; justify-content: space-between; font-size: .8rem; color: var(--soft); font-variant-numeric: tabular-nums; }
        .chart line { stroke: var(--line); vector-effect: non-scaling-stroke; } .chart line.zero { stroke: var(--soft); }
        .line { fill: none; stroke: var(--accent); stroke-width: 2.5px; stroke-linecap: round; stroke-linejoin: round; vector-effect: non-scaling-stroke; }
        .bar { fill: var(--accent); } input[type=date] { height: 2.2rem; }
        .l1 { stroke: var(--good); stroke-dasharray: 7 4; } .l2 { stroke: var(--warning); stroke-dasharray: 2 5; }
        .l3 { stroke: var(--error); stroke-dasharray: 12 4; } .l4 { stroke: var(--soft); } .l5 { stroke: var(--ink); stroke-dasharray: 4 4; }
        .legend { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; font-size: .86rem; }
        .legend li { display: flex; gap: .5rem; align-items: center; overflow-wrap: anywhere; min-width: 0; }
        .legend svg { width: 24px; height: 10px; flex: none; }
        @media (min-width: 80rem) { main { grid-template-columns: repeat(2, minmax(0, 1fr)); } main > :first-child { grid-column: 1 / -1; } main > :last-child:nth-child(2) { grid-column: 1 / -1; } }
        """
}

extension Figure {
    /// The name as the pages show it.
    var title: String {
        let words = name.replacing("-", with: " ")
        return words.hasPrefix("mrr")
            ? words.replacing("mrr", with: "MRR", maxReplacements: 1) : words.prefix(1).uppercased() + words.dropFirst()
    }
}
