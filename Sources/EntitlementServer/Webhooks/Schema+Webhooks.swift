import SQLStorage

extension Schema {
    /// The deliveries of each webhook, and the last deleted event of each ledger.
    ///
    /// Each webhook has at most one `due` delivery per customer. Later ones are `waiting`. So the deliveries of a customer
    /// keep their order, and a receiver that is down does not fill the list of due deliveries. Dates are real time.
    static let webhooks = SQLMigration(
        "0004 webhooks",
        [
            .sqlite: """
            CREATE TABLE event_horizon (
                app TEXT NOT NULL REFERENCES app (bundle_id),
                environment TEXT NOT NULL,
                sequence INTEGER NOT NULL,
                PRIMARY KEY (environment, app)
            ) STRICT;

            CREATE TABLE webhook_cursor (
                app TEXT NOT NULL REFERENCES app (bundle_id),
                environment TEXT NOT NULL,
                webhook TEXT NOT NULL,
                sequence INTEGER NOT NULL,
                PRIMARY KEY (app, environment, webhook)
            ) STRICT;

            CREATE TABLE webhook_delivery (
                id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
                app TEXT NOT NULL REFERENCES app (bundle_id),
                environment TEXT NOT NULL,
                webhook TEXT NOT NULL,
                customer TEXT NOT NULL,
                event INTEGER NOT NULL,
                state TEXT NOT NULL CHECK (state IN ('waiting', 'due', 'delivered', 'dead')),
                attempts INTEGER NOT NULL,
                due_at INTEGER NOT NULL,
                created_at INTEGER NOT NULL,
                finished_at INTEGER,
                last_status INTEGER,
                last_error TEXT
            ) STRICT;
            CREATE INDEX webhook_delivery_due ON webhook_delivery (app, webhook, state, due_at);
            CREATE INDEX webhook_delivery_by_age ON webhook_delivery (app, webhook, state, created_at);
            CREATE INDEX webhook_delivery_in_line
                ON webhook_delivery (app, environment, customer, webhook, state, id);
            CREATE INDEX webhook_delivery_listed ON webhook_delivery (app, environment, state, id);
            CREATE INDEX webhook_delivery_of_event ON webhook_delivery (event, webhook);
            """
        ])

    /// An event has one delivery to each webhook.
    static let deliveries = SQLMigration(
        "0014 deliveries",
        [
            .sqlite: """
            DELETE FROM webhook_delivery WHERE EXISTS (
                SELECT 1 FROM webhook_delivery AS other
                WHERE other.event = webhook_delivery.event AND other.webhook = webhook_delivery.webhook
                    AND other.id < webhook_delivery.id);
            DROP INDEX webhook_delivery_of_event;
            CREATE UNIQUE INDEX webhook_delivery_of_event ON webhook_delivery (event, webhook);
            """
        ])
}
