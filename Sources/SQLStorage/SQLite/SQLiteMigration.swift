extension MigrationPlan {
    /// Applies the missing migrations. `connection` must be in no transaction.
    ///
    /// Another process may do the same concurrently, so each transaction reads the applied migrations again.
    /// Foreign keys are off around all transactions, because the pragma has no effect inside one.
    func apply(to connection: SQLiteConnection, at path: String) throws {
        try connection.runInternal("PRAGMA foreign_keys = OFF")
        defer { try? connection.runInternal("PRAGMA foreign_keys = ON") }
        var isUpToDate = false
        while !isUpToDate {
            try connection.run(.beginImmediate)
            do {
                isUpToDate = try !applyNext(to: connection, at: path)
                try connection.run(.commit)
            } catch {
                connection.endQuietly()
                throw error
            }
        }
    }

    /// Applies the first missing migration; returns false if none is missing.
    private func applyNext(to connection: SQLiteConnection, at path: String) throws -> Bool {
        let applied = try connection.session { session in
            let isOwn =
                try session.first(
                    "SELECT count(*) = 2 AS is_own FROM pragma_table_info('schema_migrations') WHERE name IN ('name', 'checksum')"
                ).map { try $0["is_own"] as Bool } ?? false
            let tables = try session.query(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' LIMIT 1")
            if !isOwn, let other: String = try tables.first.map({ try $0["name"] }) {
                throw MigrationPlan.otherOwner(of: path, table: other)
            }
            try session.execute(
                """
                CREATE TABLE IF NOT EXISTS schema_migrations (
                    position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, checksum TEXT NOT NULL) STRICT
                """)
            return try AppliedMigration.all(in: session)
        }
        guard let step = try remaining(after: applied, at: path).first else { return false }
        do throws(SQLError) {
            try connection.runScript(step.text)
        } catch {
            throw SQLError(error.code, "The migration \(step.name) failed. \(error.message)", underlying: error)
        }
        try connection.session { session in
            if let broken = try session.first("PRAGMA foreign_key_check") {
                let (child, parent): (String, String) = (try broken["table"], try broken["parent"])
                throw SQLError(
                    .foreignKeyViolation,
                    "The migration \(step.name) leaves rows of \(child) in the database \(path) that refer to "
                        + "rows of \(parent) which do not exist.")
            }
            try session.execute(
                "INSERT INTO schema_migrations (position, name, checksum) VALUES (?1, ?2, ?3)",
                [.integer(Int64(applied.count)), .text(step.name), .text(step.checksum)])
        }
        return true
    }
}
