import Foundation

/// Operations on a database file: compare its schema, check it, back it up, replace another database with a copy of it.
/// A server can use the file meanwhile, except during `compact`.
///
///     let file = try SQLiteFile(path: "/var/lib/souk/ledger.sqlite")
///     try file.backUp(to: "/var/backups/ledger-2026-11-20.sqlite")
package struct SQLiteFile: Sendable {
    package let path: String
    let limits: SQLiteConnection.Limits

    /// Throws `SQLError` with `cannotOpen` when there is no file at `path`.
    package init(path: String, busyTimeout: Duration = .seconds(5)) throws {
        guard access(path, F_OK) == 0 else {
            throw SQLError(.cannotOpen, "The database \(path) cannot be opened: there is no such file.")
        }
        self.path = path
        var configuration = SQLiteDatabase.Configuration()
        configuration.busyTimeout = busyTimeout
        limits = SQLiteConnection.Limits(configuration)
        recover()
    }

    /// Rolls back the unfinished work of a killed process. SQLite leaves that to the next writer, and refuses readers
    /// until then. If this fails, later reads report the error.
    private func recover() {
        guard access(path + "-journal", F_OK) == 0,
            let connection = try? SQLiteConnection(path: path, mode: .plain, limits: limits)
        else { return }
        _ = try? connection.session { try $0.first("SELECT count(*) AS count FROM sqlite_schema") }
        connection.close()
    }

    /// Returns the status of `migrations` in the file. Throws the errors of `SQLDatabase.migrate` about the recorded
    /// migrations. Does not look for tables of another program.
    package func schema(_ migrations: [SQLMigration]) throws -> SQLSchemaStatus {
        let plan = try MigrationPlan(migrations, dialect: .sqlite)
        let applied = try reading { session in
            let table = try session.first("SELECT 1 AS one FROM sqlite_schema WHERE name = 'schema_migrations'")
            return table == nil ? [] : try AppliedMigration.all(in: session)
        }
        let remaining = try plan.remaining(after: applied, at: path)
        return SQLSchemaStatus(applied: applied.map(\.name), pending: remaining.map(\.name))
    }

    /// Returns the damage of the file, or else its rows that refer to missing rows: at most `limit` sentences, and none
    /// for an intact file. Reads the whole file.
    package func damage(limit: Int = 20) throws -> [String] {
        try reading { session in
            let pages = try session.query("PRAGMA integrity_check(\(limit))").map { try $0[0] as String }
            guard pages == ["ok"] else { return pages.map { "The file is damaged: \($0)." } }
            return try session.query("PRAGMA foreign_key_check").prefix(limit).map { row in
                "A row of \(try row["table"] as String) refers to a missing row of \(try row["parent"] as String)."
            }
        }
    }

    /// Returns the differences between the tables and indexes of the file and those of `migrations`, in sentences:
    /// manual changes. All of the migrations must be applied.
    package func deviations(from migrations: [SQLMigration]) async throws -> [String] {
        let model = try SQLiteDatabase.temporary()
        let expected: Set<String>
        do {
            try model.migrate(migrations)
            expected = try model.read(Self.shape)
        } catch {
            await model.close()
            throw error
        }
        await model.close()
        let found = try reading(Self.shape)
        return expected.subtracting(found).sorted().map { "\($0) is missing." }
            + found.subtracting(expected).sorted().map { "\($0) is not from a migration." }
    }

    /// Describes each column, index, trigger and view. SQLite rewrites the original texts, so they cannot be compared.
    @Sendable private static func shape(_ session: any SQLConnection) throws -> Set<String> {
        var parts: Set<String> = []
        try session.each(
            """
            SELECT object.name AS "table", part.name AS name, part.type AS type, part."notnull" AS required,
                part.pk AS key
            FROM sqlite_schema AS object JOIN pragma_table_xinfo(object.name) AS part WHERE object.type = 'table'
            """
        ) { row in
            let (table, name, type): (String, String, String) = (try row["table"], try row["name"], try row["type"])
            let (required, key): (Int64, Int64) = (try row["required"], try row["key"])
            let rules = (required == 1 ? " NOT NULL" : "") + (key > 0 ? " in the key at \(key)" : "")
            parts.insert("The column \(table).\(name) \(type)\(rules)")
        }
        try session.each(
            """
            SELECT object.name AS name, object.tbl_name AS "table", part.seqno AS number, part.name AS part
            FROM sqlite_schema AS object JOIN pragma_index_info(object.name) AS part WHERE object.type = 'index'
            """
        ) { row in
            let (name, table, part): (String, String, String?) = (try row["name"], try row["table"], try row["part"])
            parts.insert(
                "The index \(name) of \(table) with \(part ?? "an expression") at \(try row["number"] as Int64)")
        }
        try session.each("SELECT type, name FROM sqlite_schema WHERE type IN ('trigger', 'view')") { row in
            parts.insert("The \(try row["type"] as String) \(try row["name"] as String)")
        }
        return parts
    }

    /// Runs `body` on a snapshot of the file.
    func reading<T>(_ body: (any SQLConnection) throws -> T) throws -> T {
        let connection = try SQLiteConnection(path: path, mode: .read, limits: limits)
        defer { connection.close() }
        try connection.run(.begin)
        defer { connection.endQuietly() }
        return try connection.session(body)
    }
}
