import Foundation
import HTTPCore
import Primitives
import StoreModel

/// The endpoints of `/v1/figures`: the list of figures, and the series of one.
struct FigureRoutes: Sendable {
    let ledger: Ledger

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
                ], answer: .figure, refusals: [404: ["unknown_figure"]], handler: .authorized(.secretKey, figure)),
        ]
    }

    @Sendable private func list(_ context: RequestContext) throws -> HTTPReply {
        .ready(HTTPResponse(json: ["figures": .array(Figure.all.map(\.json))]))
    }

    @Sendable private func figure(_ context: RequestContext) throws -> HTTPReply {
        guard let items = context.request.query else { throw Refusal.malformedQuery }
        guard let figure = Figure.named(context.path["name"]) else { throw Refusal.unknownFigure }
        let query = try FigureQuery(figure, items, today: FigureDay.containing(ledger.clock.now()))
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
    /// Reads `from`, `to`, `by` and `group`.
    init(_ figure: Figure, _ items: HTTPQuery, today: Int64) throws(Refusal) {
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
        // A day after `to` counts as `to`: both are days that the document allows.
        let from = min(try day("from") ?? interval.usualStart(before: to), to)
        let group = try choice("group", FigureGroup.self)
        guard let query = FigureQuery(figure, from: from, to: to, by: interval, group: group) else {
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
}
