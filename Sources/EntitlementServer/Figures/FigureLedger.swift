import Primitives
import SQLStorage
import StoreModel

/// The figures of some apps of a database, in one environment, for tools without a server.
package struct FigureLedger: Sendable {
    package let apps: [BundleID]
    package let environment: StoreEnvironment
    private let database: any SQLDatabase

    /// - Parameters:
    ///   - app: The app; `nil` for all of the database.
    ///   - environment: The environment. If `nil`, the first of production, sandbox and Xcode that has figures, or else
    ///     production.
    package init(
        of database: any SQLDatabase, app: BundleID?, environment: StoreEnvironment?
    ) throws {
        let apps = try app.map { [$0] } ?? LedgerReplay.apps(in: database)
        let known = [StoreEnvironment.production, .sandbox, .xcode]
        let found = try database.read { connection in
            try known.first { environment in
                try apps.contains { app in
                    try connection.first(
                        "SELECT 1 AS one FROM figure WHERE app = ?1 AND environment = ?2 AND measure > '' LIMIT 1",
                        LedgerID(app: app, environment: environment).values) != nil
                }
            }
        }
        self.apps = apps
        self.environment = environment ?? found ?? .production
        self.database = database
    }

    /// Returns the answer to a query; `nil` if it has too many rows.
    package func answer(to query: FigureQuery) throws -> FigureQuery.Answer? {
        try database.read { try query.answer(for: apps, in: environment, $0) }
    }

    /// Returns the number of the last fact of the database.
    package func lastFact() throws -> Int64 {
        let row = try database.read {
            try $0.first("SELECT sequence FROM fact WHERE sequence > 0 ORDER BY sequence DESC LIMIT 1", [])
        }
        return try row.map { try $0["sequence"] } ?? 0
    }
}

extension Ledger {
    /// Returns the number of facts that the figures do not count yet, at most `limit`.
    func factsWithoutFigures(upTo limit: Int64) throws -> Int64? {
        try database.read { connection in
            let rows = try connection.query(
                """
                SELECT 1 AS one FROM fact
                WHERE sequence > (SELECT position FROM figure_position WHERE id = 1) LIMIT ?1
                """, [.integer(limit)])
            return Int64(rows.count)
        }
    }
}

extension EntitlementService {
    /// Adds facts to the figures, as the background job does, until none is left that can be added now.
    package func addAllFactsToFigures() async throws {
        guard let job = jobs.first(where: { $0.name == Self.figuresJob }) else { return }
        while try await job.step() {}
    }

    /// The name of the background job.
    static let figuresJob = "figures"
}
