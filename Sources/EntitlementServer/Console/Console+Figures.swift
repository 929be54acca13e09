import Foundation
import HTTPCore
import Primitives
import StoreModel

extension Console {
    /// The routes of the figures.
    var figureRoutes: [ConsoleRoute] {
        [
            ConsoleRoute(.get, "/figures", "consoleFigures", .signedIn(.readOnly, figures)),
            ConsoleRoute(.get, "/figures.csv", "consoleFigureValues", .signedIn(.readOnly, figureValues)),
        ]
    }

    @Sendable private func figures(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let chosen = try request.fields["figure"].flatMap { try $0.isEmpty ? nil : Self.figure($0) }
        let figures = chosen.map { [$0] } ?? Figure.all.filter { FiguresPage.overview.contains($0.name) }
        let today = FigureDay.containing(ledger.clock.now())
        let queries = try figures.map { try query($0, request.figureFields, today: today) }
        let answers = try await ledger.database.readAsync { connection in
            try queries.map { query in
                try query.answer(for: [request.ledgerID.app], in: request.ledgerID.environment, connection)
            }
        }
        guard let query = queries.first else { throw ConsoleRefusal.invalid("figure", "should be one of the list") }
        let page = FiguresPage(
            frame: request.frame, chosen: chosen, query: query, fields: request.figureFields,
            tables: figureSettings.rates,
            answers: answers.compactMap(\.self), hasTooManyRows: answers.contains { $0 == nil })
        return Self.response(page.page)
    }

    @Sendable private func figureValues(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let figure = try Self.figure(request.fields["figure"] ?? "")
        let query = try query(figure, request.figureFields, today: FigureDay.containing(ledger.clock.now()))
        let answer = try await ledger.database.readAsync { connection in
            try query.answer(for: [request.ledgerID.app], in: request.ledgerID.environment, connection)
        }
        guard let answer else { throw ConsoleRefusal.invalid("by", "should be longer, or the days fewer") }
        return HTTPResponse(
            status: 200,
            headers: [
                "Content-Type": "text/csv; charset=utf-8", "Cache-Control": "no-store",
                "Content-Disposition": "attachment; filename=\"\(figure.name).csv\"",
                "X-Content-Type-Options": "nosniff",
            ], body: .text(answer.csv))
    }

    private func query(_ figure: Figure, _ fields: HTTPQuery, today: Int64) throws -> FigureQuery {
        do { return try FigureQuery(figure, fields, figureSettings, today: today) } catch {
            throw ConsoleRefusal(error.problem.status, "Invalid value", error.problem.detail)
        }
    }

    private static func figure(_ name: String) throws -> Figure {
        guard let figure = Figure.named(name) else {
            throw ConsoleRefusal(404, "Unknown figure", "There is no figure of this name.")
        }
        return figure
    }
}

extension ConsoleRequest {
    /// The fields of a figure query that are not empty. A form sends a field that was not filled as an empty string.
    fileprivate var figureFields: HTTPQuery {
        HTTPQuery(
            ["from", "to", "by", "group", "currency"].compactMap { name in
                fields[name].flatMap { $0.isEmpty ? nil : (name, $0) }
            })
    }
}
