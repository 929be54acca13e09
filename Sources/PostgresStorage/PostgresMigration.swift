import SQLStorage

extension MigrationPlan {
    static let table = """
        CREATE TABLE IF NOT EXISTS schema_migrations (
            position BIGINT PRIMARY KEY, name TEXT COLLATE "C" NOT NULL UNIQUE, checksum TEXT NOT NULL,
            minimum_program TEXT COLLATE "C");
        \(CommitMark.table)
        """

    /// Applies the missing migrations, each in its own transaction.
    ///
    /// Another program may do the same concurrently, so each transaction locks the table of the migrations.
    func apply(to connection: PostgresConnection, _ statements: PostgresStatements) throws {
        try checkOwner(connection)
        // When two programs create the table concurrently, the second one fails. Its second attempt finds the table.
        if (try? connection.runScript(Self.table)) == nil { try connection.runScript(Self.table) }
        while try applyNext(to: connection, statements) {}
    }

    /// Throws if the database has another program's tables. Tables of extensions do not count.
    ///
    /// Uses one query, because another server may create the tables between two queries.
    private func checkOwner(_ connection: PostgresConnection) throws {
        let session = PostgresSession(connection, PostgresStatements(), begin: [])
        let found = try session.first(
            """
            SELECT CAST(relname AS TEXT) AS name FROM pg_class
            WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND relkind IN ('r', 'p')
                AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE classid = CAST('pg_class' AS regclass)
                    AND objid = pg_class.oid AND deptype = 'e')
                AND (SELECT count(*) FROM information_schema.columns WHERE table_schema = current_schema()
                    AND table_name = 'schema_migrations' AND column_name IN ('name', 'checksum')) < 2
            LIMIT 1
            """, [])
        if let name: String = try found?["name"] {
            throw MigrationPlan.otherOwner(of: connection.place, table: name)
        }
    }

    /// Applies the first missing migration; returns false if none is missing.
    private func applyNext(to connection: PostgresConnection, _ statements: PostgresStatements) throws -> Bool {
        try connection.runScript("BEGIN ISOLATION LEVEL READ COMMITTED")
        do {
            try connection.runScript("LOCK TABLE schema_migrations IN SHARE ROW EXCLUSIVE MODE")
            let session = PostgresSession(connection, statements, begin: [])
            let applied = try AppliedMigration.all(in: session)
            guard let step = try remaining(after: applied, at: connection.place).first else {
                try connection.runScript("COMMIT")
                return false
            }
            do throws(SQLError) {
                try connection.runScript(step.text)
            } catch {
                throw SQLError(error.code, "The migration \(step.name) failed. \(error.message)", underlying: error)
            }
            try session.execute(
                """
                INSERT INTO schema_migrations (position, name, checksum, minimum_program) VALUES (?1, ?2, ?3, ?4)
                """,
                [.integer(Int64(applied.count)), .text(step.name), .text(step.checksum), .text(step.minimumProgram)])
            try connection.runScript("COMMIT")
            return true
        } catch {
            try? connection.runScript("ROLLBACK")
            throw error
        }
    }
}
