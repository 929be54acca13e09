import SQLStorage

extension Schema {
    /// The purchases of Google Play, and the positions of each app.
    ///
    /// `play_purchase` has one row for each purchase token that has a fact. `sealed_token` is the token, encrypted with
    /// the purchase's data key; it cannot be read after an erasure. `fetched_at` is the begin of the newest fetch, and
    /// `content_digest` the digest of what it returned. `replaced_at` is the instant at which another purchase replaced
    /// this subscription, and `voided_at` that at which Google voided this one-time purchase.
    ///
    /// `acknowledgement` is `pending` while Google awaits the acknowledgement or the consumption, and else `done`.
    /// `acknowledge_by` is Google's deadline, and `acknowledgement_due_at` the next attempt in real time. `check_at` is
    /// the instant from which a new fetch is worth its quota. All other dates are those of the store's clock.
    ///
    /// `play_app` has the begin of the app's last fetch, and the end of the last complete list of voided purchases.
    static let googlePlay = SQLMigration(
        "0026 Google Play",
        [
            .sqlite: """
            CREATE TABLE play_app (
                app TEXT NOT NULL PRIMARY KEY REFERENCES app (bundle_id),
                fetched_at INTEGER NOT NULL,
                voided_until INTEGER
            ) STRICT;

            CREATE TABLE play_purchase (
                app TEXT NOT NULL REFERENCES app (bundle_id),
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                data_key INTEGER,
                sealed_token BLOB NOT NULL,
                package_name TEXT NOT NULL,
                product TEXT NOT NULL,
                kind TEXT NOT NULL,
                fetched_at INTEGER NOT NULL,
                content_digest BLOB NOT NULL,
                replaced_at INTEGER,
                voided_at INTEGER,
                acknowledgement TEXT NOT NULL,
                acknowledge_by INTEGER,
                acknowledgement_attempts INTEGER NOT NULL DEFAULT 0,
                acknowledgement_due_at INTEGER,
                check_at INTEGER,
                check_attempts INTEGER NOT NULL DEFAULT 0,
                PRIMARY KEY (app, environment, original_transaction_id)
            ) STRICT;
            CREATE INDEX play_purchase_to_acknowledge ON play_purchase (app, environment, acknowledgement_due_at);
            CREATE INDEX play_purchase_to_check ON play_purchase (app, environment, check_at);
            """,
            .postgreSQL: """
            CREATE TABLE play_app (
                app TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES app (bundle_id),
                fetched_at BIGINT NOT NULL,
                voided_until BIGINT
            );

            CREATE TABLE play_purchase (
                app TEXT COLLATE "C" NOT NULL REFERENCES app (bundle_id),
                environment TEXT COLLATE "C" NOT NULL,
                original_transaction_id TEXT COLLATE "C" NOT NULL,
                data_key BIGINT,
                sealed_token BYTEA NOT NULL,
                package_name TEXT COLLATE "C" NOT NULL,
                product TEXT COLLATE "C" NOT NULL,
                kind TEXT COLLATE "C" NOT NULL,
                fetched_at BIGINT NOT NULL,
                content_digest BYTEA NOT NULL,
                replaced_at BIGINT,
                voided_at BIGINT,
                acknowledgement TEXT COLLATE "C" NOT NULL,
                acknowledge_by BIGINT,
                acknowledgement_attempts BIGINT NOT NULL DEFAULT 0,
                acknowledgement_due_at BIGINT,
                check_at BIGINT,
                check_attempts BIGINT NOT NULL DEFAULT 0,
                PRIMARY KEY (app, environment, original_transaction_id)
            );
            CREATE INDEX play_purchase_to_acknowledge ON play_purchase (app, environment, acknowledgement_due_at);
            CREATE INDEX play_purchase_to_check ON play_purchase (app, environment, check_at);
            """,
        ],
        minimumProgram: programs.name)

    /// The purchase that replaced a subscription. Servers that do not know the column keep it in rows that they write.
    static let replacements = SQLMigration(
        "0029 replacements",
        [
            .sqlite: "ALTER TABLE play_purchase ADD COLUMN replaced_by TEXT;",
            .postgreSQL: "ALTER TABLE play_purchase ADD COLUMN replaced_by TEXT COLLATE \"C\";",
        ],
        minimumProgram: programs.name)
}
