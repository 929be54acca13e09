import Foundation
import SQLStorage

/// The migrations of the ledger. New ones are only appended. Dates are milliseconds since 1970, except in `server` and
/// `lease`. Identifiers are strings in their wire format. The tables of one ledger are keyed by app and environment.
enum Schema {
    /// Returns the migrations of a dialect. SQLite has all migrations since the first ledger; PostgreSQL begins with a
    /// baseline. Later migrations have SQL for both, except `programs`.
    static func migrations(for dialect: SQLDialect) -> [SQLMigration] {
        dialect == .postgreSQL
            ? [
                baseline, programs, answerDigests, LedgerEvent.digests, figures, auditLog, operations, figureSums,
                grantedCredit, refunds, batches, googlePlay, doublePayments,
                chargebackReviews, replacements,
            ]
            : history
    }

    private static let history = [
        SQLMigration(
            "0001 ledger",
            [
                .sqlite: """
                CREATE TABLE app (
                    bundle_id TEXT NOT NULL PRIMARY KEY,
                    rules_digest BLOB NOT NULL,
                    created_at INTEGER NOT NULL
                ) STRICT;

                CREATE TABLE api_key (
                    digest BLOB NOT NULL PRIMARY KEY,
                    app TEXT NOT NULL REFERENCES app (bundle_id),
                    kind TEXT NOT NULL CHECK (kind IN ('public', 'secret')),
                    created_at INTEGER NOT NULL,
                    revoked_at INTEGER
                ) STRICT;
                CREATE INDEX api_key_of_app ON api_key (app);

                CREATE TABLE fact (
                    sequence INTEGER NOT NULL PRIMARY KEY,
                    app TEXT NOT NULL REFERENCES app (bundle_id),
                    environment TEXT NOT NULL,
                    source TEXT NOT NULL,
                    digest BLOB NOT NULL,
                    kind TEXT NOT NULL CHECK (kind IN ('transaction', 'renewal')),
                    transaction_id TEXT,
                    original_transaction_id TEXT NOT NULL,
                    app_account_token TEXT,
                    signed_at INTEGER NOT NULL,
                    received_at INTEGER NOT NULL,
                    payload BLOB NOT NULL,
                    signed BLOB NOT NULL,
                    UNIQUE (app, environment, source, digest)
                ) STRICT;
                CREATE INDEX fact_of_purchase
                    ON fact (app, environment, original_transaction_id, sequence);

                CREATE TABLE claim (
                    sequence INTEGER NOT NULL PRIMARY KEY,
                    app TEXT NOT NULL REFERENCES app (bundle_id),
                    environment TEXT NOT NULL,
                    original_transaction_id TEXT NOT NULL,
                    customer TEXT NOT NULL,
                    claimed_at INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX claim_of_purchase
                    ON claim (app, environment, original_transaction_id, sequence);

                CREATE TABLE purchase (
                    app TEXT NOT NULL REFERENCES app (bundle_id),
                    environment TEXT NOT NULL,
                    original_transaction_id TEXT NOT NULL,
                    app_account_token TEXT,
                    owner TEXT,
                    PRIMARY KEY (app, environment, original_transaction_id)
                ) STRICT;
                CREATE INDEX purchase_of_owner
                    ON purchase (app, environment, owner, original_transaction_id);
                CREATE INDEX purchase_of_token
                    ON purchase (app, environment, app_account_token, owner);

                CREATE TABLE customer (
                    app TEXT NOT NULL REFERENCES app (bundle_id),
                    environment TEXT NOT NULL,
                    id TEXT NOT NULL,
                    app_account_token TEXT NOT NULL,
                    first_seen_at INTEGER NOT NULL,
                    revision INTEGER NOT NULL,
                    answer BLOB NOT NULL,
                    etag TEXT NOT NULL,
                    content_digest BLOB NOT NULL,
                    valid_from INTEGER NOT NULL,
                    valid_until INTEGER,
                    PRIMARY KEY (app, environment, id)
                ) STRICT;
                CREATE INDEX customer_of_token ON customer (app, environment, app_account_token);

                CREATE TABLE customer_grant (
                    app TEXT NOT NULL REFERENCES app (bundle_id),
                    environment TEXT NOT NULL,
                    customer TEXT NOT NULL,
                    id TEXT NOT NULL,
                    feature TEXT NOT NULL,
                    valid_from INTEGER NOT NULL,
                    valid_until INTEGER,
                    reason TEXT NOT NULL,
                    withdrawn_at INTEGER,
                    PRIMARY KEY (app, environment, customer, id)
                ) STRICT;

                CREATE TABLE idempotency_key (
                    app TEXT NOT NULL REFERENCES app (bundle_id),
                    environment TEXT NOT NULL,
                    key TEXT NOT NULL,
                    request_digest BLOB NOT NULL,
                    status INTEGER NOT NULL,
                    content_type TEXT NOT NULL,
                    body BLOB NOT NULL,
                    created_at INTEGER NOT NULL,
                    PRIMARY KEY (app, environment, key)
                ) STRICT;
                CREATE INDEX idempotency_key_by_age ON idempotency_key (created_at);
                """
            ]),
        customers,
        ingestion,
        webhooks,
        headers,
        claims,
        places,
        spending,
        erasures,
        keptAnswers,
        readiness,
        ownParts,
        repeatedErasures,
        deliveries,
        erasedBefore,
        statusPolls,
        answerDigests,
        LedgerEvent.digests,
        figures,
        auditLog,
        operations,
        figureSums,
        grantedCredit,
        refunds,
        batches,
        googlePlay,
        doublePayments,
        chargebackReviews,
        replacements,
    ]
}

extension Date {
    /// The date as the ledger stores it.
    var milliseconds: Int64 { Self.clamped((timeIntervalSince1970 * 1000).rounded()) }

    init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }

    /// This date rounded down to whole milliseconds, the precision of the stores. A date that is just below a
    /// millisecond, because of a rounding error of `Double`, counts as that millisecond.
    var wholeMillisecond: Date {
        Date(milliseconds: Self.clamped((timeIntervalSince1970 * 1000 + 0.001).rounded(.down)))
    }

    /// Converts to the nearest 64-bit integer. A `Date` can round a stored value beyond the range.
    private static func clamped(_ milliseconds: Double) -> Int64 {
        Int64(exactly: milliseconds) ?? (milliseconds < 0 ? .min : .max)
    }
}
