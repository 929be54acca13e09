import SQLStorage

/// The tables of the store's books. Instants are milliseconds since 1970 in virtual time, prices are milliunits.
enum BooksSchema {
    static let migrations = [SQLMigration("0001 books", [.sqlite: books])]

    private static let books = """
        CREATE TABLE store (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            bundle TEXT NOT NULL,
            seed INTEGER NOT NULL,
            next_transaction INTEGER NOT NULL,
            next_order INTEGER NOT NULL,
            next_device INTEGER NOT NULL,
            clock_base INTEGER NOT NULL,
            clock_reading INTEGER NOT NULL,
            clock_rate REAL NOT NULL,
            clock_revision INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE account (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            app_transaction TEXT NOT NULL
        ) STRICT;

        CREATE TABLE device (
            id TEXT PRIMARY KEY,
            account INTEGER NOT NULL REFERENCES account (id),
            seen INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE purchase (
            id INTEGER PRIMARY KEY,
            account INTEGER NOT NULL REFERENCES account (id),
            original INTEGER NOT NULL,
            web_order INTEGER,
            product TEXT NOT NULL,
            kind TEXT NOT NULL,
            group_id TEXT,
            purchased_at INTEGER NOT NULL,
            original_purchased_at INTEGER NOT NULL,
            expires_at INTEGER,
            quantity INTEGER NOT NULL,
            token TEXT,
            price INTEGER NOT NULL,
            currency TEXT NOT NULL,
            is_renewal INTEGER NOT NULL,
            offer_kind INTEGER,
            offer_id TEXT,
            offer_mode TEXT,
            offer_period TEXT,
            is_upgraded INTEGER NOT NULL DEFAULT 0,
            revoked_at INTEGER,
            is_finished INTEGER NOT NULL DEFAULT 0,
            signed_from INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE INDEX purchase_of_account ON purchase (account, product, id);

        CREATE TABLE subscription (
            original INTEGER PRIMARY KEY,
            account INTEGER NOT NULL REFERENCES account (id),
            group_id TEXT NOT NULL,
            product TEXT NOT NULL,
            latest INTEGER NOT NULL,
            original_purchased_at INTEGER NOT NULL,
            started_at INTEGER NOT NULL,
            expires_at INTEGER NOT NULL,
            phase_start INTEGER NOT NULL,
            phase_sold INTEGER NOT NULL,
            phase_offer_kind INTEGER,
            phase_offer_id TEXT,
            renews INTEGER NOT NULL,
            renews_to TEXT NOT NULL,
            token TEXT,
            used_introductory INTEGER NOT NULL,
            is_active INTEGER NOT NULL,
            expiration_intent INTEGER,
            signed_from INTEGER NOT NULL DEFAULT 0,
            UNIQUE (account, group_id)
        ) STRICT;
        CREATE INDEX subscription_due ON subscription (expires_at, original) WHERE is_active = 1;

        CREATE TABLE payment (
            account INTEGER NOT NULL REFERENCES account (id),
            id TEXT NOT NULL,
            cursor INTEGER NOT NULL,
            PRIMARY KEY (account, id)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE news (
            cursor INTEGER PRIMARY KEY,
            account INTEGER NOT NULL REFERENCES account (id),
            device TEXT,
            payment TEXT,
            product TEXT NOT NULL,
            state TEXT NOT NULL,
            purchase INTEGER,
            is_already_owned INTEGER NOT NULL,
            failure_code TEXT,
            failure_reason TEXT
        ) STRICT;
        CREATE INDEX news_of_account ON news (account, cursor);
        """
}
