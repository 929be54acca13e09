import EntitlementServer
import Foundation
import Primitives
import SimulatorControl
import StoreModel

/// `souk figures`: prints the figures of a ledger. `souk figures verify`: recomputes them from the facts.
enum FigureCommands {
    static let figures = Command(
        words: ["figures"], summary: "Print the figures of a ledger, such as revenue and churn", operands: ["[NAME]"],
        operandChoices: Figure.all.map(\.name),
        options: [
            LedgerLocation.option,
            .init(name: "bundle-id", value: "B", help: "the app (all apps of the ledger)"),
            .init(
                name: "environment", value: "E",
                help: "production, sandbox or xcode (the first of them that has figures)",
                choices: SignedDataOptions.environmentNames),
            .init(
                name: "from", value: "D",
                help: "the first day, in UTC (for 30 days, 13 weeks or 12 months up to --to)"),
            .init(name: "to", value: "D", help: "the last day (today)"),
            .init(
                name: "by", value: "PERIOD", help: "day, week or month (day)",
                choices: FigureInterval.allCases.map(\.rawValue)),
            .init(
                name: "group", value: "WHAT", help: "product, country, source, offer or app",
                choices: FigureGroup.allCases.map(\.rawValue)),
            .init(name: "currency", value: "CODE", help: "convert money into this currency; needs --currency-rates"),
        ] + FigureOptions.options + [
            .init(name: "clock", value: "URL", help: "the simulator whose virtual time the server follows"),
            .init(name: "json", help: "print one JSON value, as GET /v1/figures/{name}"),
        ],
        details: """
            Without a NAME it prints the latest values of all figures. A running server adds new facts to the figures
            within seconds. Weeks begin on Monday. Currencies are never added, unless --currency converts them. A currency
            without a rate is not converted, and is named on standard error.
            """
    ) { arguments in
        let figure = try arguments.operands.first.map { name in
            guard let figure = Figure.named(name) else {
                let suggestion = Suggestion.sentence(for: name, among: Figure.all.map(\.name) + ["verify"]).map {
                    ". \($0)"
                }
                throw UsageError(
                    "there is no figure \(name.quoted)\(suggestion ?? "; souk figures prints all of them")")
            }
            return figure
        }
        let settings = try FigureOptions.settings(arguments)
        let environment = try environment(arguments)
        let app = try arguments.identifier("bundle-id", as: BundleID.self)
        let clock = try await SimulatorClock.started(by: arguments)
        let today = FigureDay.containing((clock ?? SystemClock() as any WallClock).now())
        await clock?.stop()
        let queries = try (figure.map { [$0] } ?? Figure.all).map { try query($0, arguments, settings, today: today) }
        let (answers, last) = try await LedgerLocation(arguments).withSharedDatabase { database in
            let ledger = try FigureLedger(of: database, app: app, environment: environment)
            return (try queries.map { try ledger.answer(to: $0) }, try ledger.lastFact())
        }
        let complete = try answers.map { answer in
            guard let answer else {
                throw UsageError("\(FigureQuery.tooManyRows): choose fewer days, or --by week or month")
            }
            return answer
        }
        if let position = complete.first?.position, position < last {
            Terminal.note(
                "souk: the figures contain the facts up to \(position) of \(last); a running souk serve adds the others"
            )
        }
        if let rates = complete.compactMap(\.rates).first {
            Terminal.note("souk: money is converted to \(rates.currency) with the rates \(rates.name.quoted)")
            let unconverted = Set(complete.flatMap(\.unconverted).map { ExactString($0) }).sorted().map(\.rawValue)
            if !unconverted.isEmpty {
                Terminal.note("souk: the table has no rate for \(unconverted.joined(separator: ", ")): not converted")
            }
        }
        if arguments.has("json") {
            let values = complete.map(\.json)
            try Terminal.print(json: figure == nil ? ["figures": .array(values)] : values[0])
        } else if figure != nil {
            try print(complete[0])
        } else {
            for answer in complete { try printLatest(answer) }
        }
        return .success
    }

    static let verify = Command(
        words: ["figures", "verify"], summary: "Recompute the figures from the ledger's facts, and compare",
        options: [LedgerLocation.option, .init(name: "json", help: "print one JSON value")],
        details: """
            Reads all facts up to the last one that the figures contain, and compares every daily sum. Changes nothing; a
            server may be running. Exit 1 when a sum differs.
            """
    ) { arguments in
        let report = try await LedgerLocation(arguments).withSharedDatabase { try FigureCheck.run(on: $0) }
        if arguments.has("json") {
            try Terminal.print(json: [
                "ok": .bool(report.differenceCount == 0), "position": .number(report.position),
                "lastFact": .number(report.lastFact), "facts": .number(report.facts), "sums": .number(report.sums),
                "differenceCount": .number(report.differenceCount),
                "differences": .array(report.differences.map { .string($0) }),
            ])
        } else {
            for difference in report.differences { try Terminal.print("\(difference)") }
            let counts = "\(LintReport.count(report.facts, "fact")) and \(LintReport.count(report.sums, "sum"))"
            try Terminal.print(
                report.differenceCount == 0
                    ? "\(counts): all sums follow from the facts"
                    : "\(counts): \(report.differenceCount) sums do not follow from the facts")
        }
        return report.differenceCount == 0 ? .success : .failure
    }

    private static func environment(_ arguments: Arguments) throws -> StoreEnvironment? {
        guard let name = arguments.text("environment") else { return nil }
        let known = [StoreEnvironment.production, .sandbox, .xcode]
        guard let environment = known.first(where: { $0 == StoreEnvironment(rawValue: name) }) else {
            throw UsageError("--environment is production, sandbox or xcode, not \(name.quoted)")
        }
        return environment
    }

    private static func query(
        _ figure: Figure, _ arguments: Arguments, _ settings: FigureSettings, today: Int64
    ) throws -> FigureQuery {
        func day(_ name: String) throws -> Int64? {
            try arguments.text(name).map { text in
                guard let day = FigureInterval.day(from: text) else {
                    throw UsageError("--\(name) is a day such as 2026-11-20, not \(text.quoted)")
                }
                return day
            }
        }
        let interval: FigureInterval = try arguments.choice("by") ?? .day
        let to = min(try day("to") ?? today, today)
        let from = try day("from") ?? interval.usualStart(before: to)
        guard
            let query = FigureQuery(
                figure, from: from, to: to, by: interval, group: try arguments.choice("group"),
                commissions: settings.commissions, rates: try rates(arguments, settings))
        else {
            throw UsageError(
                "--from is a day up to \(FigureInterval.text(of: to)), and at most 50,000 days before it")
        }
        return query
    }

    /// Returns the table of rates to the currency of `--currency`; `nil` without this option.
    private static func rates(_ arguments: Arguments, _ settings: FigureSettings) throws -> CurrencyRates? {
        guard let currency = arguments.text("currency") else { return nil }
        if let rates = settings.rates(to: currency) { return rates }
        guard !settings.rates.isEmpty else {
            throw UsageError("--currency needs --currency-rates with a table of rates to \(currency)")
        }
        let known = settings.rates.map(\.currency).joined(separator: ", ")
        throw UsageError("--currency is the currency of a table of --currency-rates (\(known)), not \(currency.quoted)")
    }

    private static func columns(_ row: FigureQuery.Row, of answer: FigureQuery.Answer) -> [String] {
        var columns = [FigureInterval.text(of: row.day)]
        if let group = row.group { columns.append(group.isEmpty ? "(none)" : group) }
        if let age = row.age { columns.append("\(age) months") }
        columns.append(answer.figure.unit.text(of: row.value) + (row.currency.map { " \($0)" } ?? ""))
        return columns
    }

    private static func print(_ answer: FigureQuery.Answer) throws {
        let rows = answer.rows.map { columns($0, of: answer) }
        let widths = (0..<(rows.first?.count ?? 0)).map { index in rows.map { $0[index].count }.max() ?? 0 }
        for row in rows {
            let padded = zip(row.dropLast(), widths).map { text, width in
                text.padding(toLength: width, withPad: " ", startingAt: 0)
            }
            try Terminal.print("\((padded + row.suffix(1)).joined(separator: "  "))")
        }
        if rows.isEmpty { try Terminal.print("no values in these days") }
    }

    private static func printLatest(_ answer: FigureQuery.Answer) throws {
        let name = answer.figure.name.padding(toLength: 26, withPad: " ", startingAt: 0)
        guard let day = answer.rows.last?.day else { return try Terminal.print("\(name)–") }
        let latest = answer.rows.filter { $0.day == day }.map {
            columns($0, of: answer).dropFirst().joined(separator: " ")
        }
        let shown = latest.prefix(6).joined(separator: ", ") + (latest.count > 6 ? ", …" : "")
        try Terminal.print("\(name)\(FigureInterval.text(of: day))  \(shown)")
    }
}
