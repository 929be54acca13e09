import SQLStorage

/// The tables of the simulator database. Instants are microseconds since 1970 in virtual time, prices are milliunits.
///
/// Renewals have no rows: the periods of a subscription are computed from the rows of its last event and the table
/// `condition`.
enum SimulatorSchema {
    static let migrations = [
        SQLMigration("0001 books", [.sqlite: initial]), SQLMigration("0002 notifications", [.sqlite: notifications]),
        SQLMigration("0003 deliveries", [.sqlite: deliveries]), SQLMigration("0004 server api", [.sqlite: serverAPI]),
        SQLMigration("0005 promoted purchases", [.sqlite: promotedPurchases]),
        SQLMigration("0006 retention messaging", [.sqlite: retentionMessaging]),
        SQLMigration("0007 commitments", [.sqlite: commitments]),
        SQLMigration("0008 offer codes", [.sqlite: offerCodes]),
        SQLMigration("0009 seats", [.sqlite: seats]),
        SQLMigration("0010 google play", [.sqlite: googlePlay]),
        SQLMigration("0011 google play attempts", [.sqlite: googlePlayAttempts]),
    ]

    /// The name of the current version of the tables.
    static var version: String { migrations.map(\.name).last ?? "" }

    private static let initial = """
        CREATE TABLE store (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            bundle TEXT NOT NULL,
            seed INTEGER NOT NULL,
            next_sale INTEGER NOT NULL,
            next_device INTEGER NOT NULL,
            clock_base INTEGER NOT NULL,
            clock_reading INTEGER NOT NULL,
            clock_rate REAL NOT NULL,
            clock_revision INTEGER NOT NULL
        ) STRICT;

        -- What holds in the whole store, and since when; the value is JSON.
        CREATE TABLE condition (
            at INTEGER NOT NULL,
            name TEXT NOT NULL,
            value TEXT NOT NULL,
            PRIMARY KEY (at, name)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE setting (
            name TEXT PRIMARY KEY,
            value TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE account (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            app_transaction TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            last_at INTEGER NOT NULL,
            family TEXT,
            storefront TEXT,
            can_pay INTEGER NOT NULL DEFAULT 1,
            asks_to_buy INTEGER,
            is_interrupted INTEGER
        ) STRICT;
        CREATE INDEX account_of_family ON account (family) WHERE family IS NOT NULL;

        -- Accounts that share what they buy; the organizer is one of them.
        CREATE TABLE family (
            name TEXT PRIMARY KEY,
            organizer INTEGER NOT NULL REFERENCES account (id)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE device (
            id TEXT PRIMARY KEY,
            number INTEGER NOT NULL,
            account INTEGER NOT NULL REFERENCES account (id),
            seen INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX device_of_account ON device (account, number);

        -- What is bought once.
        CREATE TABLE purchase (
            id INTEGER PRIMARY KEY,
            account INTEGER NOT NULL REFERENCES account (id),
            product TEXT NOT NULL,
            kind TEXT NOT NULL,
            purchased_at INTEGER NOT NULL,
            quantity INTEGER NOT NULL,
            token TEXT,
            price INTEGER NOT NULL,
            currency TEXT NOT NULL,
            storefront TEXT,
            is_finished INTEGER NOT NULL DEFAULT 0,
            share_owner INTEGER,
            share_first INTEGER,
            share_from INTEGER,
            share_until INTEGER
        ) STRICT;
        CREATE INDEX purchase_of_account ON purchase (account, product, id);
        CREATE INDEX purchase_unfinished ON purchase (account, id) WHERE is_finished = 0;
        CREATE INDEX purchase_shared ON purchase (share_owner) WHERE share_owner IS NOT NULL;

        CREATE TABLE subscription (
            original INTEGER PRIMARY KEY,
            account INTEGER NOT NULL REFERENCES account (id),
            group_id TEXT NOT NULL,
            token TEXT,
            started_at INTEGER NOT NULL,
            changed_at INTEGER NOT NULL,
            used_introductory INTEGER NOT NULL,
            next_product TEXT NOT NULL,
            next_period TEXT NOT NULL,
            next_price INTEGER NOT NULL,
            next_currency TEXT NOT NULL,
            next_priced_at INTEGER NOT NULL,
            next_storefront TEXT,
            next_offer TEXT,
            off_since INTEGER,
            fails_from INTEGER,
            fails_until INTEGER,
            consented_at INTEGER,
            share_owner INTEGER,
            share_first INTEGER,
            share_from INTEGER,
            share_until INTEGER
        ) STRICT;
        CREATE INDEX subscription_of_account ON subscription (account, group_id);
        -- One of an account's own; what others share with it has numbers of its own.
        CREATE UNIQUE INDEX subscription_own ON subscription (account, group_id) WHERE share_owner IS NULL;
        CREATE INDEX subscription_shared ON subscription (share_owner) WHERE share_owner IS NOT NULL;

        CREATE TABLE run (
            original INTEGER NOT NULL REFERENCES subscription (original),
            place INTEGER NOT NULL,
            base INTEGER NOT NULL,
            first INTEGER NOT NULL,
            anchor INTEGER NOT NULL,
            offset INTEGER NOT NULL,
            sold_at INTEGER NOT NULL,
            product TEXT NOT NULL,
            period TEXT NOT NULL,
            price INTEGER NOT NULL,
            currency TEXT NOT NULL,
            priced_at INTEGER NOT NULL,
            storefront TEXT,
            offer TEXT,
            count INTEGER NOT NULL,
            is_renewal INTEGER NOT NULL,
            upgraded_at INTEGER,
            cut_at INTEGER,
            PRIMARY KEY (original, place)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX run_of_sale ON run (base);

        CREATE TABLE revocation (
            id INTEGER PRIMARY KEY,
            original INTEGER NOT NULL,
            at INTEGER NOT NULL,
            kind TEXT NOT NULL,
            reason INTEGER,
            percentage INTEGER,
            reversed_at INTEGER
        ) STRICT;
        CREATE INDEX revocation_of_original ON revocation (original);

        -- The transactions of subscriptions that were delivered.
        CREATE TABLE finished (
            original INTEGER NOT NULL,
            id INTEGER NOT NULL,
            PRIMARY KEY (original, id)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE held (
            number INTEGER PRIMARY KEY,
            account INTEGER NOT NULL REFERENCES account (id),
            at INTEGER NOT NULL,
            reason TEXT NOT NULL,
            product TEXT NOT NULL,
            quantity INTEGER NOT NULL,
            token TEXT,
            offer TEXT,
            offer_kind INTEGER,
            allows_introductory INTEGER,
            payment TEXT,
            device TEXT
        ) STRICT;
        CREATE INDEX held_of_account ON held (account);

        CREATE TABLE payment (
            account INTEGER NOT NULL REFERENCES account (id),
            id TEXT NOT NULL,
            news INTEGER NOT NULL,
            PRIMARY KEY (account, id)
        ) STRICT, WITHOUT ROWID;

        -- Of signatures that were accepted: each is good for one purchase.
        CREATE TABLE nonce (
            id TEXT PRIMARY KEY
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE news (
            id INTEGER PRIMARY KEY,
            account INTEGER NOT NULL REFERENCES account (id),
            at INTEGER NOT NULL,
            device TEXT,
            payment TEXT,
            product TEXT NOT NULL,
            state TEXT NOT NULL,
            purchase INTEGER,
            is_already_owned INTEGER NOT NULL,
            failure_code TEXT,
            failure_reason TEXT
        ) STRICT;
        CREATE INDEX news_of_account ON news (account, at);

        -- What the customer has put aside of what the store had to say.
        CREATE TABLE answered_message (
            account INTEGER NOT NULL REFERENCES account (id),
            id TEXT NOT NULL,
            at INTEGER NOT NULL,
            PRIMARY KEY (account, id)
        ) STRICT, WITHOUT ROWID;
        """

    private static let notifications = """
        ALTER TABLE run RENAME COLUMN cut_at TO ends_at;
        CREATE INDEX account_of_app_transaction ON account (app_transaction);

        -- What the app's server is told. The body is unsigned JSON; it is signed when it is first sent, and no more.
        CREATE TABLE notification (
            id INTEGER PRIMARY KEY,
            uuid TEXT NOT NULL UNIQUE,
            at INTEGER NOT NULL,
            type TEXT NOT NULL,
            subtype TEXT,
            account INTEGER REFERENCES account (id),
            original INTEGER,
            purchase INTEGER,
            body TEXT NOT NULL,
            signed TEXT,
            due INTEGER,
            attempts INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE INDEX notification_due ON notification (due, id) WHERE due IS NOT NULL;
        CREATE INDEX notification_at ON notification (at, id);
        CREATE INDEX notification_of_account ON notification (account, at);

        -- How it was sent; without a result while it is.
        CREATE TABLE attempt (
            notification INTEGER NOT NULL REFERENCES notification (id),
            number INTEGER NOT NULL,
            at INTEGER NOT NULL,
            result TEXT,
            PRIMARY KEY (notification, number)
        ) STRICT, WITHOUT ROWID;

        -- Up to when the server has been told what time did to a subscription, and when time may do something next.
        CREATE TABLE watch (
            original INTEGER PRIMARY KEY REFERENCES subscription (original),
            told INTEGER NOT NULL,
            due INTEGER
        ) STRICT;
        CREATE INDEX watch_due ON watch (due, original) WHERE due IS NOT NULL;

        -- Renewal dates that the app's server moved.
        CREATE TABLE extension (
            id INTEGER PRIMARY KEY,
            original INTEGER NOT NULL REFERENCES subscription (original),
            at INTEGER NOT NULL,
            days INTEGER NOT NULL,
            request TEXT NOT NULL
        ) STRICT;
        CREATE INDEX extension_of_original ON extension (original, at);

        CREATE TABLE mass_extension (
            product TEXT NOT NULL,
            request TEXT NOT NULL,
            at INTEGER NOT NULL,
            succeeded INTEGER NOT NULL,
            failed INTEGER NOT NULL,
            PRIMARY KEY (product, request)
        ) STRICT, WITHOUT ROWID;

        -- Refunds that customers ask for; what became of it is none as long as nobody has decided.
        CREATE TABLE refund_request (
            purchase INTEGER PRIMARY KEY,
            at INTEGER NOT NULL,
            reason TEXT NOT NULL,
            declined_at INTEGER
        ) STRICT;
        """

    private static let deliveries = """
        -- What was never sent, and what is to be sent again, each in its order; the lane is a purchase's.
        DROP INDEX notification_due;
        CREATE INDEX notification_unsent ON notification (due, id, original) WHERE due IS NOT NULL AND attempts = 0;
        CREATE INDEX notification_retry ON notification (due, id, original) WHERE due IS NOT NULL AND attempts > 0;
        CREATE INDEX attempt_open ON attempt (notification) WHERE result IS NULL;
        """

    private static let serverAPI = """
        -- What tokens the app gave to periods before the one in `token`: JSON.
        ALTER TABLE subscription ADD COLUMN earlier_tokens TEXT;

        -- What the app's server last said about the use of a purchase; the body is JSON.
        CREATE TABLE consumption (
            purchase INTEGER PRIMARY KEY,
            at INTEGER NOT NULL,
            version INTEGER NOT NULL,
            body TEXT NOT NULL
        ) STRICT;
        """

    private static let promotedPurchases = """
        -- What customers have begun to buy in the store itself and no device has taken yet.
        CREATE TABLE promoted_purchase (
            account INTEGER NOT NULL REFERENCES account (id),
            product TEXT NOT NULL,
            offer TEXT,
            at INTEGER NOT NULL,
            PRIMARY KEY (account, product)
        ) STRICT, WITHOUT ROWID;
        """

    private static let retentionMessaging = """
        -- The images of retention messages, without their pixels.
        CREATE TABLE retention_image (
            id TEXT PRIMARY KEY,
            at INTEGER NOT NULL,
            size TEXT NOT NULL,
            width INTEGER NOT NULL,
            height INTEGER NOT NULL,
            digest TEXT NOT NULL,
            state TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;

        -- The body is the JSON of the upload.
        CREATE TABLE retention_message (
            id TEXT PRIMARY KEY,
            at INTEGER NOT NULL,
            body TEXT NOT NULL,
            state TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE default_message (
            product TEXT NOT NULL,
            locale TEXT NOT NULL,
            message TEXT NOT NULL REFERENCES retention_message (id),
            PRIMARY KEY (product, locale)
        ) STRICT, WITHOUT ROWID;

        -- What customers saw before they cancelled a subscription; the body is JSON of the control API.
        CREATE TABLE shown_message (
            id INTEGER PRIMARY KEY,
            account INTEGER NOT NULL REFERENCES account (id),
            at INTEGER NOT NULL,
            body TEXT NOT NULL
        ) STRICT;
        CREATE INDEX shown_message_of_account ON shown_message (account, id);

        -- The body is the JSON of Apple's response.
        CREATE TABLE performance_test (
            id TEXT PRIMARY KEY,
            at INTEGER NOT NULL,
            is_running INTEGER NOT NULL,
            body TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX performance_test_running ON performance_test (id) WHERE is_running = 1;
        """

    private static let commitments = """
        -- Plans that are billed monthly: the number of bills of a commitment, and those paid before the run.
        ALTER TABLE run ADD COLUMN bills INTEGER;
        ALTER TABLE run ADD COLUMN billed INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE subscription ADD COLUMN next_bills INTEGER;
        ALTER TABLE subscription ADD COLUMN ends_commitment INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE held ADD COLUMN billing_plan TEXT;
        """

    private static let offerCodes = """
        -- The offer of a code, by its identifier; of a purchase at the price of that offer.
        ALTER TABLE purchase ADD COLUMN offer TEXT;

        -- The offers of products that do not renew; the price is 0 if the offer is free. The customers are JSON.
        CREATE TABLE purchase_offer (
            product TEXT NOT NULL,
            id TEXT NOT NULL,
            price INTEGER NOT NULL,
            customers TEXT NOT NULL,
            PRIMARY KEY (product, id)
        ) STRICT, WITHOUT ROWID;

        -- Codes that were created together: a custom code, or one-time codes. The limit is that of each code.
        CREATE TABLE code_batch (
            id INTEGER PRIMARY KEY,
            at INTEGER NOT NULL,
            product TEXT NOT NULL,
            offer TEXT NOT NULL,
            is_custom INTEGER NOT NULL,
            code_limit INTEGER NOT NULL,
            expires_at INTEGER,
            deactivated_at INTEGER
        ) STRICT;
        CREATE INDEX code_batch_of_offer ON code_batch (product, offer);

        CREATE TABLE offer_code (
            code TEXT PRIMARY KEY,
            batch INTEGER NOT NULL REFERENCES code_batch (id),
            place INTEGER NOT NULL,
            redeemed INTEGER NOT NULL DEFAULT 0
        ) STRICT, WITHOUT ROWID;
        CREATE UNIQUE INDEX offer_code_of_batch ON offer_code (batch, place);

        -- An account redeems an offer once, with whatever code.
        CREATE TABLE redemption (
            account INTEGER NOT NULL REFERENCES account (id),
            product TEXT NOT NULL,
            offer TEXT NOT NULL,
            code TEXT NOT NULL,
            at INTEGER NOT NULL,
            PRIMARY KEY (account, product, offer)
        ) STRICT, WITHOUT ROWID;
        """

    private static let seats = """
        -- The number of seats and their inviter, such as "5 APPLE".
        ALTER TABLE run ADD COLUMN seats TEXT;
        ALTER TABLE subscription ADD COLUMN next_seats TEXT;
        ALTER TABLE subscription ADD COLUMN share_assigned INTEGER NOT NULL DEFAULT 0;

        -- The subscription and the period to which a purchase added seats.
        ALTER TABLE purchase ADD COLUMN addition_of INTEGER;
        ALTER TABLE purchase ADD COLUMN addition_to INTEGER;
        CREATE INDEX purchase_addition ON purchase (addition_of) WHERE addition_of IS NOT NULL;

        -- Seats that were refunded while the others of their transaction stay valid.
        CREATE TABLE seat_refund (
            id INTEGER PRIMARY KEY,
            original INTEGER NOT NULL,
            at INTEGER NOT NULL,
            count INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX seat_refund_of_original ON seat_refund (original);

        -- Seats that the app's server claimed, each with the identifier of its request.
        CREATE TABLE seat_claim (
            id TEXT PRIMARY KEY,
            original INTEGER NOT NULL REFERENCES subscription (original),
            request TEXT NOT NULL,
            at INTEGER NOT NULL,
            app_transaction TEXT,
            ended_at INTEGER,
            UNIQUE (original, request)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX seat_claim_of_member ON seat_claim (app_transaction) WHERE app_transaction IS NOT NULL;
        """

    private static let googlePlay = """
        -- Purchases on Google Play. The body is the JSON of `PlayPurchase`; time changes it at the instant `due`.
        CREATE TABLE play_purchase (
            token TEXT PRIMARY KEY,
            number INTEGER NOT NULL UNIQUE,
            account INTEGER NOT NULL REFERENCES account (id),
            changed_at INTEGER NOT NULL,
            due INTEGER,
            body TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX play_purchase_due ON play_purchase (due, token) WHERE due IS NOT NULL;
        CREATE INDEX play_purchase_of_account ON play_purchase (account, number);

        -- The body is the JSON of Google's resource, as in the next table.
        CREATE TABLE play_order (
            id TEXT PRIMARY KEY,
            token TEXT NOT NULL REFERENCES play_purchase (token),
            at INTEGER NOT NULL,
            body TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE play_voided (
            id INTEGER PRIMARY KEY,
            order_id TEXT NOT NULL UNIQUE REFERENCES play_order (id),
            at INTEGER NOT NULL,
            is_subscription INTEGER NOT NULL,
            body TEXT NOT NULL
        ) STRICT;

        -- The body is the JSON of Google's notification.
        CREATE TABLE play_notification (
            id INTEGER PRIMARY KEY,
            at INTEGER NOT NULL,
            token TEXT,
            body TEXT NOT NULL,
            due INTEGER,
            attempts INTEGER NOT NULL DEFAULT 0,
            result TEXT
        ) STRICT;
        CREATE INDEX play_notification_due ON play_notification (due, id) WHERE due IS NOT NULL;
        """

    private static let googlePlayAttempts = """
        -- The attempts to send a notification. A result of NULL means that the attempt is under way.
        CREATE TABLE play_attempt (
            notification INTEGER NOT NULL REFERENCES play_notification (id),
            number INTEGER NOT NULL,
            at INTEGER NOT NULL,
            result TEXT,
            PRIMARY KEY (notification, number)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO play_attempt (notification, number, at, result)
            SELECT id, attempts, at, coalesce(result, 'OTHER') FROM play_notification WHERE attempts > 0;
        ALTER TABLE play_notification DROP COLUMN result;

        -- An order can have several refunds of a part of its quantity.
        ALTER TABLE play_voided RENAME TO play_voided_before;
        CREATE TABLE play_voided (
            id INTEGER PRIMARY KEY,
            order_id TEXT NOT NULL REFERENCES play_order (id),
            at INTEGER NOT NULL,
            is_subscription INTEGER NOT NULL,
            is_partial INTEGER NOT NULL,
            body TEXT NOT NULL
        ) STRICT;
        INSERT INTO play_voided SELECT id, order_id, at, is_subscription, 0, body FROM play_voided_before;
        DROP TABLE play_voided_before;
        CREATE UNIQUE INDEX play_voided_of_order ON play_voided (order_id) WHERE is_partial = 0;

        CREATE INDEX play_order_of_purchase ON play_order (token, at);
        """
}
