import SQLStorage

extension Schema {
    /// Customers with aliases, several holders of a purchase, encrypted sources, credits, promotions and events.
    ///
    /// Earlier facts have no summary and are not encrypted. `sealOpenFacts` changes both at the next start.
    static let customers = SQLMigration(
        "0002 customers",
        [
            .sqlite: """
            ALTER TABLE app ADD COLUMN token_secret BLOB;
            ALTER TABLE api_key ADD COLUMN label TEXT;
            ALTER TABLE idempotency_key ADD COLUMN customer TEXT;
            CREATE INDEX idempotency_key_of_customer ON idempotency_key (app, environment, customer);

            CREATE TABLE data_key (
                id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
                app TEXT NOT NULL REFERENCES app (bundle_id),
                environment TEXT NOT NULL,
                key BLOB NOT NULL
            ) STRICT;

            CREATE TABLE summarized_fact (
                sequence INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
                app TEXT NOT NULL REFERENCES app (bundle_id),
                environment TEXT NOT NULL,
                source TEXT NOT NULL,
                digest BLOB NOT NULL,
                kind TEXT NOT NULL CHECK (kind IN ('transaction', 'renewal')),
                format TEXT NOT NULL,
                transaction_id TEXT,
                original_transaction_id TEXT NOT NULL,
                order_id TEXT,
                app_account_token TEXT,
                signed_at INTEGER NOT NULL,
                received_at INTEGER NOT NULL,
                summary TEXT,
                data_key INTEGER,
                source_bytes BLOB NOT NULL,
                UNIQUE (app, environment, source, digest)
            ) STRICT;
            INSERT INTO summarized_fact (sequence, app, environment, source, digest, kind, format, transaction_id,
                original_transaction_id, app_account_token, signed_at, received_at, source_bytes)
            SELECT sequence, app, environment, source, digest, kind, 'jws', transaction_id, original_transaction_id,
                app_account_token, signed_at, received_at, signed FROM fact;
            DROP TABLE fact;
            ALTER TABLE summarized_fact RENAME TO fact;
            CREATE INDEX fact_of_purchase ON fact (app, environment, original_transaction_id, sequence);
            CREATE INDEX fact_of_transaction ON fact (app, environment, transaction_id);
            CREATE INDEX fact_of_order ON fact (app, environment, order_id);
            CREATE INDEX fact_without_summary ON fact (sequence) WHERE summary IS NULL;

            CREATE TABLE holder (
                app TEXT NOT NULL REFERENCES app (bundle_id),
                environment TEXT NOT NULL,
                customer TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                PRIMARY KEY (app, environment, customer, original_transaction_id)
            ) STRICT;
            CREATE INDEX holder_of_purchase ON holder (app, environment, original_transaction_id, customer);
            INSERT INTO holder (app, environment, customer, original_transaction_id)
            SELECT app, environment, owner, original_transaction_id FROM purchase WHERE owner IS NOT NULL;

            DROP INDEX purchase_of_owner;
            DROP INDEX purchase_of_token;
            ALTER TABLE purchase DROP COLUMN owner;
            ALTER TABLE purchase ADD COLUMN data_key INTEGER;
            ALTER TABLE purchase ADD COLUMN is_erased INTEGER NOT NULL DEFAULT 0;
            CREATE INDEX purchase_of_token ON purchase (app, environment, app_account_token);

            ALTER TABLE claim ADD COLUMN kind TEXT NOT NULL DEFAULT 'presented'
                CHECK (kind IN ('presented', 'shared', 'transferred'));
            CREATE INDEX claim_of_customer ON claim (app, environment, customer);

            CREATE TABLE alias (
                app TEXT NOT NULL REFERENCES app (bundle_id),
                environment TEXT NOT NULL,
                alias TEXT NOT NULL,
                customer TEXT NOT NULL,
                app_account_token TEXT NOT NULL,
                created_at INTEGER NOT NULL,
                PRIMARY KEY (app, environment, alias)
            ) STRICT;
            CREATE INDEX alias_of_customer ON alias (app, environment, customer, alias);
            CREATE INDEX alias_of_token ON alias (app, environment, app_account_token);

            ALTER TABLE customer ADD COLUMN erased_at INTEGER;
            CREATE INDEX customer_due ON customer (app, environment, valid_until);

            CREATE TABLE redemption (
                app TEXT NOT NULL REFERENCES app (bundle_id),
                environment TEXT NOT NULL,
                customer TEXT NOT NULL,
                credit TEXT NOT NULL,
                item TEXT NOT NULL,
                type TEXT NOT NULL,
                cost INTEGER NOT NULL,
                redeemed_at INTEGER NOT NULL,
                PRIMARY KEY (app, environment, customer, credit, item)
            ) STRICT;

            CREATE TABLE promotion (
                app TEXT NOT NULL REFERENCES app (bundle_id),
                environment TEXT NOT NULL,
                code TEXT NOT NULL,
                feature TEXT NOT NULL,
                lasts TEXT,
                grant_until INTEGER,
                redeemable_until INTEGER,
                redemption_limit INTEGER,
                redemptions INTEGER NOT NULL DEFAULT 0,
                created_at INTEGER NOT NULL,
                withdrawn_at INTEGER,
                PRIMARY KEY (app, environment, code)
            ) STRICT;
            CREATE TABLE promotion_redemption (
                app TEXT NOT NULL REFERENCES app (bundle_id),
                environment TEXT NOT NULL,
                code TEXT NOT NULL,
                customer TEXT NOT NULL,
                grant_id TEXT NOT NULL,
                redeemed_at INTEGER NOT NULL,
                PRIMARY KEY (app, environment, customer, code)
            ) STRICT;

            CREATE TABLE event (
                sequence INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
                app TEXT NOT NULL REFERENCES app (bundle_id),
                environment TEXT NOT NULL,
                customer TEXT NOT NULL,
                type TEXT NOT NULL,
                body BLOB NOT NULL,
                created_at INTEGER NOT NULL
            ) STRICT;
            CREATE INDEX event_of_book ON event (app, environment, sequence);
            CREATE INDEX event_of_customer ON event (app, environment, customer, sequence);
            CREATE INDEX event_by_age ON event (created_at);
            """
        ])

    /// Compares the kinds of a claim one by one, because SQLite would build a table for an `IN` list at each insertion.
    static let claims = SQLMigration(
        "0006 claims",
        [
            .sqlite: """
            CREATE TABLE stated_claim (
                sequence INTEGER NOT NULL PRIMARY KEY,
                app TEXT NOT NULL REFERENCES app (bundle_id),
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                customer TEXT NOT NULL,
                claimed_at INTEGER NOT NULL,
                kind TEXT NOT NULL CHECK (kind = 'presented' OR kind = 'shared' OR kind = 'transferred')
            ) STRICT;
            INSERT INTO stated_claim (sequence, app, environment, original_transaction_id, customer, claimed_at, kind)
            SELECT sequence, app, environment, original_transaction_id, customer, claimed_at, kind FROM claim;
            DROP TABLE claim;
            ALTER TABLE stated_claim RENAME TO claim;
            CREATE INDEX claim_of_purchase ON claim (app, environment, original_transaction_id, sequence);
            CREATE INDEX claim_of_customer ON claim (app, environment, customer);
            """
        ])

    /// Reduces the index writes of a purchase: its rows are clustered. Digests have no index of their own, because
    /// equal facts belong to the same purchase. Facts and holders have no foreign key to the app.
    static let places = SQLMigration(
        "0007 places",
        [
            .sqlite: """
            CREATE TABLE placed_fact (
                sequence INTEGER NOT NULL PRIMARY KEY,
                app TEXT NOT NULL,
                environment TEXT NOT NULL,
                source TEXT NOT NULL,
                digest BLOB NOT NULL,
                kind TEXT NOT NULL CHECK (kind IN ('transaction', 'renewal')),
                format TEXT NOT NULL,
                transaction_id TEXT,
                original_transaction_id TEXT NOT NULL,
                order_id TEXT,
                app_account_token TEXT,
                signed_at INTEGER NOT NULL,
                received_at INTEGER NOT NULL,
                summary TEXT,
                data_key INTEGER,
                source_bytes BLOB NOT NULL,
                header INTEGER,
                UNIQUE (app, environment, original_transaction_id, source, digest)
            ) STRICT;
            INSERT INTO placed_fact SELECT sequence, app, environment, source, digest, kind, format, transaction_id,
                original_transaction_id, order_id, app_account_token, signed_at, received_at, summary, data_key,
                source_bytes, header FROM fact ORDER BY sequence;
            DROP TABLE fact;
            ALTER TABLE placed_fact RENAME TO fact;
            CREATE INDEX fact_of_transaction ON fact (app, environment, transaction_id)
                WHERE transaction_id <> original_transaction_id;
            CREATE INDEX fact_of_order ON fact (app, environment, order_id) WHERE order_id IS NOT NULL;
            CREATE INDEX fact_without_summary ON fact (sequence) WHERE summary IS NULL;

            CREATE TABLE placed_purchase (
                app TEXT NOT NULL REFERENCES app (bundle_id),
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                app_account_token TEXT,
                data_key INTEGER,
                is_erased INTEGER NOT NULL DEFAULT 0,
                PRIMARY KEY (app, environment, original_transaction_id)
            ) STRICT, WITHOUT ROWID;
            INSERT INTO placed_purchase SELECT app, environment, original_transaction_id, app_account_token, data_key,
                is_erased FROM purchase ORDER BY app, environment, original_transaction_id;
            DROP TABLE purchase;
            ALTER TABLE placed_purchase RENAME TO purchase;
            CREATE INDEX purchase_of_token ON purchase (app, environment, app_account_token)
                WHERE app_account_token IS NOT NULL;

            CREATE TABLE placed_holder (
                app TEXT NOT NULL,
                environment TEXT NOT NULL,
                customer TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                PRIMARY KEY (app, environment, customer, original_transaction_id)
            ) STRICT, WITHOUT ROWID;
            INSERT INTO placed_holder SELECT app, environment, customer, original_transaction_id FROM holder
                ORDER BY app, environment, customer, original_transaction_id;
            DROP TABLE holder;
            ALTER TABLE placed_holder RENAME TO holder;
            CREATE INDEX holder_of_purchase ON holder (app, environment, original_transaction_id, customer);

            DROP INDEX event_by_age;
            """
        ])
}
