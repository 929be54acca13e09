import Foundation
import HTTPCore
import Primitives
import StoreModel

/// The endpoints of `/v1/figures`: the list of figures, and the series of one.
struct FigureRoutes: Sendable {
    let ledger: Ledger
    let settings: FigureSettings

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .get, "/v1/figures", "getFigures", "List the figures", tag: .figures, answer: .figures,
                handler: .authorized(.secretKey, list)),
            Endpoint(
                .get, "/v1/figures/{name}", "getFigure", "Get the values of a figure by day, week or month",
                tag: .figures,
                parameters: [
                    .init("from", in: .query, .day, "the first day, in UTC; 30 days, 13 weeks or 12 months if absent"),
                    .init("to", in: .query, .day, "the last day, in UTC; today if absent or later"),
                    .init("by", in: .query, .choice(FigureInterval.self), "the length of a period; day if absent"),
                    .init("group", in: .query, .choice(FigureGroup.self), "the dimension that divides the values"),
                    .init(
                        "currency", in: .query, .text,
                        "the currency into which a table of the operator converts money; as it was paid if absent"),
                ], answer: .figure, refusals: [404: ["unknown_figure", "unknown_currency"]],
                handler: .authorized(.secretKey, figure)),
        ]
    }

    @Sendable private func list(_ context: RequestContext) throws -> HTTPReply {
        .ready(HTTPResponse(json: ["figures": .array(Figure.all.map(\.json))]))
    }

    @Sendable private func figure(_ context: RequestContext) throws -> HTTPReply {
        guard let items = context.request.query else { throw Refusal.malformedQuery }
        guard let figure = Figure.named(context.path["name"]) else { throw Refusal.unknownFigure }
        let query = try FigureQuery(figure, items, settings, today: FigureDay.containing(ledger.clock.now()))
        let ledgerID = context.ledgerID
        return context.later {
            let answer = try await ledger.database.readAsync { connection in
                try query.answer(for: [ledgerID.app], in: ledgerID.environment, connection)
            }
            guard let answer else {
                throw Refusal.invalid("by", "should be longer, or the days fewer: \(FigureQuery.tooManyRows)")
            }
            return HTTPResponse(json: answer.json)
        }
    }
}

extension FigureQuery {
    /// Reads `from`, `to`, `by`, `group` and `currency`.
    init(_ figure: Figure, _ items: HTTPQuery, _ settings: FigureSettings, today: Int64) throws(Refusal) {
        func day(_ name: String) throws(Refusal) -> Int64? {
            guard let text = items[name] else { return nil }
            guard let day = FigureInterval.day(from: text) else {
                throw Refusal.invalid(name, "should be a day such as 2026-11-20")
            }
            return day
        }
        func choice<Choice: RawRepresentable & CaseIterable>(
            _ name: String, _: Choice.Type
        ) throws(Refusal) -> Choice? where Choice.RawValue == String {
            guard let text = items[name] else { return nil }
            guard let choice = Choice.allCases.first(where: { $0.rawValue.hasSameBytes(as: text) }) else {
                let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
                throw Refusal.invalid(name, "should be one of \(names)")
            }
            return choice
        }
        let interval = try choice("by", FigureInterval.self) ?? .day
        let to = min(try day("to") ?? today, today)
        // A first day after `to` becomes `to`, because the OpenAPI document allows any two days.
        let from = min(try day("from") ?? interval.usualStart(before: to), to)
        let group = try choice("group", FigureGroup.self)
        var rates: CurrencyRates?
        if let currency = items["currency"] {
            rates = settings.rates(to: currency)
            guard rates != nil else { throw Refusal.unknownCurrency(settings) }
        }
        guard
            let query = FigureQuery(
                figure, from: from, to: to, by: interval, group: group, commissions: settings.commissions, rates: rates)
        else {
            throw Refusal.invalid(
                "from", "should be a day up to \(FigureInterval.text(of: to)), and at most 50,000 days before it")
        }
        self = query
    }
}

extension Refusal {
    fileprivate static let unknownFigure = Refusal(
        HTTPProblem(
            status: 404, code: "unknown_figure", title: "Unknown figure",
            detail: "There is no figure of this name; GET /v1/figures lists them.", field: "name"))

    fileprivate static func unknownCurrency(_ settings: FigureSettings) -> Refusal {
        let known = settings.rates.map(\.currency).joined(separator: ", ")
        let advice =
            known.isEmpty
            ? "This server has no table of rates; start it with --currency-rates, or leave currency out."
            : "This server has tables of rates to \(known); ask for one of these, or leave currency out."
        return Refusal(
            HTTPProblem(
                status: 404, code: "unknown_currency", title: "No rates for this currency", detail: advice,
                field: "currency"))
    }
}
