import Foundation
import Primitives
import SQLStorage

/// Copies a ledger from SQLite to PostgreSQL, and then replaces it with the copy.
///
///     let copy = LedgerCopy(
///         from: sqlite, named: "sqlite:/var/lib/souk/ledger.sqlite", to: postgres, named: "postgres://…")
///     try await copy.begin()
///     let counts = try await copy.run { print($0) }  // repeatable, while a server runs
///     try await copy.finish()  // the server is stopped
///
/// Each run compares both ledgers row by row and writes the differences. So an interrupted copy can continue, and a
/// second run writes only what changed. The target is marked as unfinished until `finish` has marked the source as
/// moved; until then, no server accepts the target.
package struct LedgerCopy: Sendable {
    /// The numbers of rows in the copy.
    package struct Counts: Sendable {
        /// Customers, including erased ones.
        package var customers = 0
        /// Facts.
        package var facts = 0
        /// Events that are still kept.
        package var events = 0
        /// Rows that this run inserted or changed in the target, without the tables that only the target has.
        package var written = 0
    }

    private struct Table: Sendable {
        let name: String
        let columns: [String]
        /// The columns of the key, in their order.
        let key: [String]

        private var columnList: String { columns.joined(separator: ", ") }

        /// Returns a query for rows after `first` up to `last`, at most `limit`.
        func page(after first: [SQLValue]?, upTo last: [SQLValue]?, limit: Int?) -> SQLQuery {
            let keys = key.joined(separator: ", ")
            var values: [SQLValue] = []
            var conditions: [String] = []
            for (comparison, bound) in [(">", first), ("<=", last)] {
                guard let bound else { continue }
                let placeholders = bound.indices.map { "?\(values.count + $0 + 1)" }.joined(separator: ", ")
                conditions.append("(\(keys)) \(comparison) (\(placeholders))")
                values += bound
            }
            let condition = conditions.isEmpty ? "" : " WHERE \(conditions.joined(separator: " AND "))"
            let end = limit.map { " LIMIT \($0)" } ?? ""
            return SQLQuery("SELECT \(columnList) FROM \(name)\(condition) ORDER BY \(keys)\(end)", values)
        }

        var insertion: String {
            let placeholders = columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
            let others = columns.filter { !key.contains($0) }.map { "\($0) = excluded.\($0)" }
            let change = others.isEmpty ? "NOTHING" : "UPDATE SET \(others.joined(separator: ", "))"
            return """
                INSERT INTO \(name) (\(columnList)) VALUES (\(placeholders))
                ON CONFLICT (\(key.joined(separator: ", "))) DO \(change)
                """
        }

        var deletion: String {
            let keys = key.indices.map { "\(key[$0]) = ?\($0 + 1)" }
            return "DELETE FROM \(name) WHERE \(keys.joined(separator: " AND "))"
        }

        func key(of row: [SQLValue]) -> [SQLValue] { key.map { name in row[columns.firstIndex(of: name) ?? 0] } }
    }

    private static let pageSize = 500

    private let source: any SQLDatabase
    private let target: any SQLDatabase
    private let sourceName: String
    private let targetName: String

    /// - Parameters:
    ///   - sourceName: The name of the SQLite ledger in messages.
    ///   - targetName: The URL that the source stores after the move, without a password.
    package init(
        from source: any SQLDatabase, named sourceName: String, to target: any SQLDatabase, named targetName: String
    ) {
        self.source = source
        self.target = target
        self.sourceName = sourceName
        self.targetName = targetName
    }

    // MARK: - Steps

    /// Checks both databases, and creates the tables of the target.
    ///
    /// Throws `EntitlementServerError` with `invalidConfiguration` if the source is not a ledger of this program's
    /// schema or its move was finished, or if the target contains another ledger, or an unfinished copy by another
    /// version.
    package func begin() async throws {
        var applied = try source.read(AppliedMigration.ofLedger)
        if let moved = applied.last?.name, moved.hasPrefix(AppliedMigration.movedTo) {
            guard moved == AppliedMigration.movedTo + targetName else {
                throw Self.refusal("The ledger \(sourceName) was \(moved); open that one.")
            }
            applied.removeLast()
        }
        let plan = try MigrationPlan(Schema.migrations(for: source.dialect), dialect: source.dialect)
        guard !applied.isEmpty, try plan.remaining(after: applied, at: sourceName).isEmpty else {
            throw Self.refusal(
                "The ledger \(sourceName) does not have this program's schema; run souk migrate apply first.")
        }
        let targetMigrations = try target.read(AppliedMigration.ofLedger)
        let isMoved = try source.read(AppliedMigration.ofLedger).count > applied.count
        guard !isMoved || targetMigrations.last?.name == AppliedMigration.unfinishedCopy else {
            throw Self.refusal("The ledger \(sourceName) was moved to \(targetName) already.")
        }
        if targetMigrations.last?.name == AppliedMigration.unfinishedCopy {
            let own = try MigrationPlan(Schema.migrations(for: target.dialect), dialect: target.dialect)
            guard try own.remaining(after: Array(targetMigrations.dropLast()), at: targetName).isEmpty else {
                throw Self.refusal(
                    "The copy in \(targetName) was started by another version of this program; empty that database first."
                )
            }
            return
        }
        try target.migrate(Schema.migrations(for: target.dialect))
        guard try target.read({ try $0.first("SELECT 1 AS one FROM app LIMIT 1") }) == nil else {
            throw Self.refusal("The database \(targetName) holds a ledger already; name an empty database.")
        }
        try await target.write { try AppliedMigration.mark(AppliedMigration.unfinishedCopy, $0) }
    }

    /// Makes the target equal to the current source. `progress` receives the finished share, from 0 to 1.
    package func run(progress: @Sendable (Double) -> Void = { _ in }) async throws -> Counts {
        var counts = Counts()
        let tables = try tables()
        // Rows that refer to others are deleted first. Deletions precede insertions, which may reuse unique values.
        for table in tables.reversed() { try await deleteObsoleteRows(from: table) }
        for (index, table) in tables.enumerated() {
            let rows = try await write(table, &counts.written)
            switch table.name {
            case "customer": counts.customers = rows
            case "fact": counts.facts = rows
            case "event": counts.events = rows
            default: break
            }
            progress(Double(index + 1) / Double(tables.count))
        }
        try await insertTokens()
        try await setCounters()
        return counts
    }

    /// Finishes the move: from now on the source is refused and the target is used. Call it after a `run` without
    /// concurrent writes to the source, and after source and target were verified.
    ///
    /// Throws `internalInconsistency` if source and target differ.
    package func finish() async throws {
        for table in try tables() {
            var last: [SQLValue]?
            repeat {
                let page = try rows(of: table, in: source, after: last, limit: Self.pageSize)
                let end = page.count < Self.pageSize ? nil : page.last.map(table.key)
                guard try rows(of: table, in: target, after: last, upTo: end) == page else {
                    throw EntitlementServerError(
                        .internalInconsistency,
                        "The table \(table.name) of \(sourceName) changed while it was copied; run the copy again.")
                }
                last = end
            } while last != nil
        }
        let mark = AppliedMigration.movedTo + targetName
        try await source.write { connection in
            guard try AppliedMigration.all(in: connection).last?.name != mark else { return }
            try AppliedMigration.mark(mark, connection)
        }
        try await target.write { connection in
            try connection.perform(
                "DELETE FROM schema_migrations WHERE name = ?1", [.text(AppliedMigration.unfinishedCopy)])
        }
    }

    private static func refusal(_ sentence: String) -> EntitlementServerError {
        EntitlementServerError(.invalidConfiguration, sentence)
    }

    // MARK: - Rows

    /// Returns the tables of the source, each after those that it refers to.
    private func tables() throws -> [Table] {
        try source.read { connection in
            let names = try connection.query(
                """
                SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
                    AND name NOT IN ('schema_migrations', 'readiness_probe') ORDER BY name <> 'app', name
                """
            ).map { try $0["name"] as String }
            return try names.map { name in
                let columns = try connection.query("SELECT name, pk FROM pragma_table_info(?1)", [.text(name)])
                let keyed = try columns.map { (name: try $0["name"] as String, keyPosition: try $0["pk"] as Int64) }
                return Table(
                    name: name, columns: keyed.map(\.name),
                    key: keyed.filter { $0.keyPosition > 0 }.sorted { $0.keyPosition < $1.keyPosition }.map(\.name))
            }
        }
    }

    private func rows(
        of table: Table, in database: any SQLDatabase, after first: [SQLValue]?, upTo last: [SQLValue]? = nil,
        limit: Int? = nil
    ) throws -> [[SQLValue]] {
        let query = table.page(after: first, upTo: last, limit: limit)
        return try database.read { try $0.query(query.sql, query.values).map(\.values) }
    }

    private func deleteObsoleteRows(from table: Table) async throws {
        var last: [SQLValue]?
        repeat {
            let page = try rows(of: table, in: target, after: last, limit: Self.pageSize).map(table.key)
            let end = page.count < Self.pageSize ? nil : page.last
            guard !page.isEmpty else { return }
            let kept = Set(try rows(of: table, in: source, after: last, upTo: end).map(table.key))
            let obsolete = page.filter { !kept.contains($0) }
            if !obsolete.isEmpty {
                try await target.write { connection in
                    for key in obsolete { try connection.perform(table.deletion, key) }
                }
            }
            last = end
        } while last != nil
    }

    /// Writes the rows that are missing or different in the target. Returns the number of rows in the source.
    private func write(_ table: Table, _ written: inout Int) async throws -> Int {
        var last: [SQLValue]?
        var count = 0
        repeat {
            let page = try rows(of: table, in: source, after: last, limit: Self.pageSize)
            let end = page.count < Self.pageSize ? nil : page.last.map(table.key)
            let present = Set(try rows(of: table, in: target, after: last, upTo: end))
            let missing = page.filter { !present.contains($0) }
            if !missing.isEmpty {
                try await target.write { connection in
                    for row in missing { try connection.perform(table.insertion, row) }
                }
            }
            count += page.count
            written += missing.count
            last = end
        } while last != nil
        return count
    }

    // MARK: - Tables of the target only

    private func insertTokens() async throws {
        try await target.write { connection in
            try connection.perform("DELETE FROM token", [])
            try connection.perform(
                """
                INSERT INTO token (app, environment, token)
                SELECT app, environment, app_account_token FROM customer
                UNION SELECT app, environment, app_account_token FROM alias
                UNION SELECT app, environment, app_account_token FROM purchase WHERE app_account_token IS NOT NULL
                """, [])
        }
    }

    /// Continues the source's sequences, so that no number is used again, even if its row was deleted.
    private func setCounters() async throws {
        let counters = try source.read { connection in
            try connection.query("SELECT name, seq FROM sqlite_sequence").map {
                (try $0["name"] as String, try $0["seq"] as Int64)
            }
        }
        let lastNumbers = Dictionary(uniqueKeysWithValues: counters)
        try await target.write { connection in
            let columns = try connection.query(
                """
                SELECT CAST(table_name AS TEXT) AS "table", CAST(column_name AS TEXT) AS "column"
                FROM information_schema.columns WHERE table_schema = current_schema() AND is_identity = 'YES'
                """)
            for row in columns {
                let (table, column): (String, String) = (try row["table"], try row["column"])
                let row = try connection.first("SELECT MAX(\(column)) AS last FROM \(table)")
                let largest: Int64? = try row?["last"]
                let last = max(lastNumbers[table] ?? 0, largest ?? 0)
                _ = try connection.query(
                    "SELECT setval(pg_get_serial_sequence('\(table)', '\(column)'), ?1, \(last > 0)) AS last",
                    [.integer(max(1, last))])
            }
            try connection.perform("UPDATE feed SET last = ?1 WHERE id = 1", [.integer(lastNumbers["event"] ?? 0)])
        }
    }
}

extension AppliedMigration {
    /// Returns the applied migrations of a ledger on either engine; none if it is empty.
    fileprivate static func ofLedger(_ connection: any SQLConnection) throws -> [AppliedMigration] {
        let query =
            connection.isConcurrent
            ? "SELECT 1 AS one FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'schema_migrations'"
            : "SELECT 1 AS one FROM sqlite_schema WHERE name = 'schema_migrations'"
        return try connection.first(query) == nil ? [] : all(in: connection)
    }
}
