import SQLStorage

extension Schema {
    /// The daily sums of the figures, and the last fact that they contain.
    static let figures = SQLMigration(
        "0019 figures",
        [
            .sqlite: """
            CREATE TABLE figure (
                app TEXT NOT NULL,
                environment TEXT NOT NULL,
                measure TEXT NOT NULL,
                day INTEGER NOT NULL,
                age INTEGER NOT NULL,
                product TEXT NOT NULL,
                country TEXT NOT NULL,
                source TEXT NOT NULL,
                offer TEXT NOT NULL,
                currency TEXT NOT NULL,
                value INTEGER NOT NULL,
                PRIMARY KEY (app, environment, measure, day, age, product, country, source, offer, currency)
            ) STRICT, WITHOUT ROWID;

            CREATE TABLE figure_position (
                id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
                version INTEGER NOT NULL,
                position INTEGER NOT NULL
            ) STRICT;
            INSERT INTO figure_position (id, version, position) VALUES (1, 1, 0);
            """,
            .postgreSQL: """
            CREATE TABLE figure (
                app TEXT COLLATE "C" NOT NULL,
                environment TEXT COLLATE "C" NOT NULL,
                measure TEXT COLLATE "C" NOT NULL,
                day BIGINT NOT NULL,
                age BIGINT NOT NULL,
                product TEXT COLLATE "C" NOT NULL,
                country TEXT COLLATE "C" NOT NULL,
                source TEXT COLLATE "C" NOT NULL,
                offer TEXT COLLATE "C" NOT NULL,
                currency TEXT COLLATE "C" NOT NULL,
                value BIGINT NOT NULL,
                PRIMARY KEY (app, environment, measure, day, age, product, country, source, offer, currency)
            );

            CREATE TABLE figure_position (
                id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
                version BIGINT NOT NULL,
                position BIGINT NOT NULL
            );
            INSERT INTO figure_position (id, version, position) VALUES (1, 1, 0);
            """,
        ],
        minimumProgram: Schema.programs.name)

    /// The multiple of 10^18 in a sum is in the column `high`, so that neither column exceeds 64 bits. Servers that do not
    /// know this column do not change the sums, because the version of the sums is new.
    static let figureSums = SQLMigration(
        "0022 figure sums",
        [
            .sqlite: "ALTER TABLE figure ADD COLUMN high INTEGER NOT NULL DEFAULT 0;" + splitSums,
            .postgreSQL: "ALTER TABLE figure ADD COLUMN high BIGINT NOT NULL DEFAULT 0;" + splitSums,
        ],
        minimumProgram: Schema.programs.name)

    private static let splitSums = """

        UPDATE figure SET high = value / 1000000000000000000, value = value % 1000000000000000000
            WHERE value >= 1000000000000000000 OR value <= -1000000000000000000;
        UPDATE figure_position SET version = 2 WHERE version = 1;
        """
}
