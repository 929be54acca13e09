import SQLStorage

/// Comparison of a database with a list of migrations. It changes nothing; servers may use the database meanwhile.
extension PostgresDatabase {
    /// Returns the status of `migrations` in the database. Throws the errors of `migrate` about the recorded
    /// migrations. Does not look for tables of another program.
    package func schema(_ migrations: [SQLMigration]) throws -> SQLSchemaStatus {
        let plan = try MigrationPlan(migrations, dialect: dialect)
        let applied = try read { try Self.applied($0) }
        let remaining = try plan.remaining(after: applied, at: place)
        return SQLSchemaStatus(applied: applied.map(\.name), pending: remaining.map(\.name))
    }

    static func applied(_ connection: any SQLConnection) throws -> [AppliedMigration] {
        let table = try connection.first(
            "SELECT 1 AS one FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'schema_migrations'")
        return table == nil ? [] : try AppliedMigration.all(in: connection)
    }

    /// Returns manual changes of the schema: the differences between the database and `migrations`, one sentence each.
    /// All of the migrations must be applied. If a newer program migrated the database, additions are not reported.
    ///
    /// Creates the tables in a separate schema, in a transaction that is rolled back. The role must be allowed to
    /// create schemas.
    ///
    /// - Parameter migrations: All migrations of the program.
    /// - Returns: The differences; empty when there are none.
    /// - Throws: `SQLError`.
    public func deviations(from migrations: [SQLMigration]) throws -> [String] {
        let plan = try MigrationPlan(migrations, dialect: dialect)
        return try onOwnConnection { connection, session in
            try connection.runScript("BEGIN ISOLATION LEVEL READ COMMITTED")
            defer { try? connection.runScript("ROLLBACK") }
            guard let row = try session.first("SELECT CAST(current_schema() AS TEXT) AS name"),
                let name: String = try row["name"]
            else { throw SQLError(.cannotOpen, "The role has no schema in the database \(place).") }
            let isNewer = try Self.applied(session).count > migrations.count
            let found = try Self.shape(of: name, session)
            try connection.runScript("CREATE SCHEMA \(Self.model); SET LOCAL search_path = \(Self.model)")
            try connection.runScript(MigrationPlan.table)
            for step in try plan.remaining(after: [], at: place) { try connection.runScript(step.text) }
            let expected = try Self.shape(of: Self.model, session)
            return expected.subtracting(found).sorted().map { "\($0) is missing." }
                + (isNewer ? [] : found.subtracting(expected)).sorted().map { "\($0) is not from a migration." }
        }
    }

    private static let model = "souk_model_of_schema"

    /// Describes each column, constraint, index, trigger, view and sequence of a schema.
    private static func shape(of schema: String, _ session: any SQLConnection) throws -> Set<String> {
        let queries = [
            """
            SELECT 'The column ' || table_name || '.' || column_name || ' ' || data_type
                || coalesce(' COLLATE ' || collation_name, '') || CASE is_nullable WHEN 'NO' THEN ' NOT NULL' ELSE '' END
                || coalesce(' DEFAULT ' || column_default, '') || CASE is_identity WHEN 'YES' THEN ' IDENTITY' ELSE '' END
                AS part
            FROM information_schema.columns WHERE table_schema = ?1
            """,
            """
            SELECT 'The constraint ' || conname || ' of ' || relname || ' ' || pg_get_constraintdef(c.oid) AS part
            FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid JOIN pg_namespace n ON n.oid = c.connamespace
            WHERE n.nspname = ?1
            """,
            """
            SELECT 'The index ' || pg_get_indexdef(indexrelid) || CASE WHEN indisvalid THEN '' ELSE ' INVALID' END AS part
            FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace
            WHERE n.nspname = ?1
            """,
            """
            SELECT 'The trigger ' || tgname || ' of ' || relname AS part
            FROM pg_trigger g JOIN pg_class t ON t.oid = g.tgrelid JOIN pg_namespace n ON n.oid = t.relnamespace
            WHERE n.nspname = ?1 AND NOT tgisinternal
            """,
            """
            SELECT CASE relkind WHEN 'S' THEN 'The sequence ' ELSE 'The view ' END || relname AS part
            FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace
            WHERE n.nspname = ?1 AND relkind IN ('S', 'v', 'm')
            """,
        ]
        var parts: Set<String> = []
        for query in queries {
            for row in try session.query(query, [.text(schema)]) {
                parts.insert((try row["part"] as String).replacing("\(schema).", with: ""))
            }
        }
        return parts
    }

    /// Runs `body` on a new connection, outside a transaction.
    func onOwnConnection<T>(_ body: (PostgresConnection, PostgresSession) throws -> T) throws -> T {
        let connection = try PostgresConnection(settings, for: .transactions)
        defer { connection.close() }
        let session = PostgresSession(connection, statements, begin: [])
        return try body(connection, session)
    }
}
