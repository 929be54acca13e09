import Primitives

/// One step of a schema, which never changes after its publication.
///
/// Lists of migrations are append-only: a new step goes to the end, an old one is never edited, moved or removed. The
/// text is plain SQL, several statements if needed, and names no type of the program.
///
/// On SQLite, foreign keys are not enforced while a migration runs, so that tables can be rebuilt. They are checked as
/// a whole before the commit.
public struct SQLMigration: Sendable, Hashable {
    /// The name, unique in its list, for example `0001 ledger`.
    public let name: String
    /// The SQL for each dialect that the program runs on.
    public let texts: [SQLDialect: String]
    /// The last step that a program must know to use a database with this step. Other programs refuse the database.
    /// `nil` means this step. Only used by PostgreSQL, where programs of two releases share a database.
    public let minimumProgram: String?

    /// Creates a step.
    ///
    /// - Parameters:
    ///   - name: the step's name, which never changes.
    ///   - texts: the statements for each dialect.
    ///   - minimumProgram: the name of an earlier step of the list. A step that only adds tables, or columns with a
    ///     default, can name one: then programs that do not know the step can still use the database.
    public init(_ name: String, _ texts: [SQLDialect: String], minimumProgram: String? = nil) {
        self.name = name
        self.texts = texts
        self.minimumProgram = minimumProgram
    }
}

/// The migrations of a list that a database has, and those that it lacks, in order.
package struct SQLSchemaStatus: Sendable, Hashable {
    package let applied: [String]
    package let pending: [String]

    package init(applied: [String], pending: [String]) {
        self.applied = applied
        self.pending = pending
    }
}

/// A migration that a database has recorded.
package struct AppliedMigration: Equatable {
    package var name: String
    package var checksum: String
    /// See `SQLMigration.minimumProgram`; `nil` on SQLite, which does not record it.
    package var minimumProgram: String?

    package init(name: String, checksum: String, minimumProgram: String?) {
        self.name = name
        self.checksum = checksum
        self.minimumProgram = minimumProgram
    }

    /// The name recorded last in the target of an unfinished copy, so that no program uses the incomplete target.
    package static let unfinishedCopy = "copy that is not finished"
    /// The prefix of the name recorded last in a database whose contents were moved. The new location follows. Programs
    /// refuse a database with a name that they do not know.
    package static let movedTo = "moved to "

    /// Returns the recorded migrations of a database, in the order of application.
    package static func all(in connection: any SQLConnection) throws -> [AppliedMigration] {
        let minimum = connection.isConcurrent ? "minimum_program" : "NULL"
        return try connection.query(
            "SELECT name, checksum, \(minimum) AS minimum_program FROM schema_migrations ORDER BY position"
        ).map { row in
            AppliedMigration(
                name: try row["name"], checksum: try row["checksum"], minimumProgram: try row["minimum_program"])
        }
    }

    /// Records a name after those of the migrations, so that `MigrationPlan` refuses the database.
    package static func mark(_ name: String, _ connection: any SQLConnection) throws {
        try connection.perform(
            """
            INSERT INTO schema_migrations (position, name, checksum)
            SELECT MAX(position) + 1, ?1, '' FROM schema_migrations
            """, [.text(name)])
    }
}

/// The list of migrations for one dialect, compared with those that a database has recorded.
package struct MigrationPlan {
    package struct Step {
        package let name: String
        package let text: String
        package let checksum: String
        package let minimumProgram: String
    }

    let steps: [Step]

    package init(_ migrations: [SQLMigration], dialect: SQLDialect) throws(SQLError) {
        var names: Set<String> = []
        var steps: [Step] = []
        for migration in migrations {
            guard names.insert(migration.name).inserted else {
                throw SQLError(.invalidMigration, "Two migrations are called \(migration.name); names must differ.")
            }
            guard let text = migration.texts[dialect] else {
                throw SQLError(
                    .invalidMigration, "The migration \(migration.name) has no text for \(dialect.rawValue).")
            }
            let minimum = (dialect == .sqlite ? nil : migration.minimumProgram) ?? migration.name
            guard names.contains(minimum) else {
                throw SQLError(
                    .invalidMigration,
                    "The migration \(migration.name) has the minimum program \(minimum), which is no earlier step."
                )
            }
            steps.append(
                Step(
                    name: migration.name, text: text, checksum: Hex.encode(SHA256.hash(text.utf8)),
                    minimumProgram: minimum))
        }
        self.steps = steps
    }

    /// The error for a database with another program's tables.
    package static func otherOwner(of place: String, table: String) -> SQLError {
        SQLError(
            .otherSchema,
            "The database \(place) has the table \(table) of another program; name another database, or a new one.")
    }

    /// Returns the steps after `applied`, the migrations of the database at `place` in the order of application.
    package func remaining(after applied: [AppliedMigration], at place: String) throws(SQLError) -> ArraySlice<Step> {
        let names = Set(steps.map(\.name))
        if let last = applied.last?.name {
            if last == AppliedMigration.unfinishedCopy {
                throw SQLError(
                    .newerSchema, "The database \(place) is a copy that is not finished; run souk migrate copy again.")
            }
            if last.hasPrefix(AppliedMigration.movedTo) {
                throw SQLError(.newerSchema, "The database \(place) was \(last); open that one.")
            }
        }
        if let first = applied.first?.name, let own = steps.first?.name, !names.contains(first) {
            throw SQLError(
                .otherSchema,
                "The database \(place) is of another kind: it begins with the migration \(first), not with \(own). "
                    + "Name another file.")
        }
        for (index, past) in applied.enumerated() {
            guard names.contains(past.name) else {
                if index >= steps.count, let minimum = past.minimumProgram, names.contains(minimum) { continue }
                throw SQLError(
                    .newerSchema,
                    "The database \(place) has the migration \(past.name), which this program does not know: "
                        + "it was used by a newer version; run that version.")
            }
            guard index < steps.count, steps[index].name == past.name else {
                let own = index < steps.count ? steps[index].name : "no step"
                throw SQLError(
                    .migrationChanged,
                    "The database \(place) applied \(past.name) where this program has \(own); "
                        + "migrations may only be added at the end.")
            }
            guard steps[index].checksum == past.checksum else {
                throw SQLError(
                    .migrationChanged,
                    "The text of the migration \(past.name) is not the one applied to the database \(place); "
                        + "put the old text back and add a new migration.")
            }
        }
        return steps.dropFirst(applied.count)
    }
}
