import Foundation
import Primitives
import StoreModel
import WebPages

/// The page about the operation of the server: notifications, webhooks, keys, the database and slow requests.
struct OperationsPage: Sendable {
    let frame: ConsoleFrame
    let record: OperationsRecord
    /// The time of the store's clock, by which notifications and events are dated.
    let storeNow: Date
    /// The real time, by which deliveries and keys are dated.
    let now: Date
    /// The slow requests of this server, newest first.
    let slow: [RequestRecord]
    /// The number of deliveries that were just repeated; `nil` if none were.
    let replayed: Int?

    var page: Page {
        frame.page(
            "Operations",
            """
            \(replayed.map { number -> HTML in
                let deliveries = number == 1 ? "1 delivery is" : "\(number) deliveries are"
                return "<p class=\"notice\" role=\"status\">\(deliveries) queued again.</p>"
            })
            <section class="card pane" aria-labelledby="title">
            <h1 id="title">Operations</h1>
            \(environments)
            <h2 id="notifications">Notifications of the App Store</h2>
            \(notifications)
            </section>
            <section class="card pane" aria-labelledby="deliveries">
            <h2 id="deliveries">Webhook deliveries</h2>
            \(deliveries)
            </section>
            <section class="card pane" aria-labelledby="database">
            <h2 id="database">Event feed and database</h2>
            \(database)
            </section>
            <section class="card pane" aria-labelledby="keys">
            <h2 id="keys">Keys</h2>
            \(keys)
            </section>
            <section class="card pane" aria-labelledby="slow">
            <h2 id="slow">Slow requests</h2>
            \(slowRequests)
            </section>
            """)
    }

    private var environments: HTML {
        let links = frame.environments.map { environment -> HTML in
            guard environment != frame.environment else { return "<strong>\(environment.rawValue)</strong>" }
            let target = ConsoleRoute.root + "/operations?environment=" + environment.rawValue
            return "<a href=\"\(target)\">\(environment.rawValue)</a>"
        }
        return "<p>Environment: \(links.joined(separator: " · "))</p>"
    }

    private static func count(_ number: Int, upTo limit: Int = OperationsRecord.countLimit) -> HTML {
        number >= limit ? "at least \(limit)" : "\(number)"
    }

    // MARK: - Notifications

    private var notifications: HTML {
        guard let last = record.lastNotificationAt else {
            return """
                <p class="fault" id="alarm">No notification has ever arrived in this environment. Enter the URL of this \
                server with the path <code>/v1/notifications/app-store</code> in App Store Connect, version 2, and send a \
                test notification.</p>
                """
        }
        return """
            <dl class="facts">
            \(ConsoleFrame.row("Last received", ConsoleFrame.time(last)))\
            \(ConsoleFrame.row("In the last 24 hours", Self.count(record.notifications)))
            </dl>
            """
    }

    // MARK: - Deliveries

    private var deliveries: HTML {
        """
        <dl class="facts">
        \(ConsoleFrame.row("Pending", Self.count(record.pendingCount)))\
        \(ConsoleFrame.row("Failed", Self.count(record.deadCount)))
        </dl>
        <h3>Failed deliveries, which the server does not attempt again</h3>
        \(table("Failed deliveries", record.dead, isDead: true))\(replayAll)
        <h3>Pending deliveries</h3>
        \(table("Pending deliveries", record.pending, isDead: false))
        """
    }

    private func table(_ caption: String, _ list: [OperationsRecord.Delivery], isDead: Bool) -> HTML {
        guard !list.isEmpty else { return "<p>There are none.</p>" }
        let rows = list.map { delivery -> HTML in
            let error = delivery.lastError ?? delivery.lastStatus.map { "status \($0)" } ?? "–"
            let customer = frame.path("/customer", [("id", delivery.customer)])
            let last: HTML =
                isDead
                ? replayForm(delivery) : ConsoleFrame.time(delivery.nextAttemptAt, otherwise: "after an earlier one")
            return """
                <tr><th scope="row">\(delivery.id)</th><td><bdi>\(delivery.webhook)</bdi></td>\
                <td><bdi>\(delivery.type ?? "–")</bdi></td>\
                <td><a href="\(customer)">\(ConsoleFrame.code(delivery.customer))</a></td>\
                <td>\(ConsoleFrame.time(delivery.createdAt))</td><td>\(delivery.attempts)</td>\
                <td><bdi>\(error)</bdi></td><td>\(last)</td></tr>

                """
        }
        let columns = ["Delivery", "Webhook", "Event", "Customer", "Created", "Attempts", "Last error"]
        return ConsoleFrame.table(caption, columns + [isDead ? "Action" : "Next attempt"], rows)
    }

    private func replayForm(_ delivery: OperationsRecord.Delivery) -> HTML {
        guard frame.role == .full else { return "–" }
        return form(String(delivery.id), "<button aria-label=\"Repeat the delivery \(delivery.id)\">Repeat…</button>")
    }

    private var replayAll: HTML {
        guard frame.role == .full, record.dead.count > 1 else { return .empty }
        return form("all", "<button>Repeat the oldest 500 failed deliveries…</button>")
    }

    private func form(_ delivery: String, _ button: HTML) -> HTML {
        """
        <form method="post" action="/console/deliveries/replay/review">\(frame.hidden)\
        <input type="hidden" name="delivery" value="\(delivery)">\(button)</form>
        """
    }

    // MARK: - Database

    private var database: HTML {
        let lags = record.webhooks.map { webhook in
            let name = webhook.isBatched ? "Not delivered to \(webhook.name)" : "Not queued for \(webhook.name)"
            let failure: HTML = webhook.failure.map { ". The last attempt failed: <bdi>\($0)</bdi>" } ?? ""
            return ConsoleFrame.row(name, "\(Self.count(webhook.events)) events\(failure)")
        }
        let unseen: HTML = "not known: this server cannot see the disk of the database. Watch it on its own machine."
        return """
            <dl class="facts">
            \(ConsoleFrame.row("Lag of the event feed", feedLag))\(lags.joined())\
            \(ConsoleFrame.row("Size of the database, all apps", record.databaseBytes.map(Self.size) ?? "not known"))\
            \(ConsoleFrame.row("Free on its disk", record.freeBytes.map(Self.size) ?? unseen))
            </dl>
            """
    }

    private static func size(_ bytes: Int64) -> HTML {
        let units: [(name: String, bytes: Double)] = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6)]
        let unit = units.first { Double(bytes) >= $0.bytes } ?? units[units.count - 1]
        return "\((Double(bytes) / unit.bytes * 10).rounded() / 10) \(unit.name)"
    }

    private var feedLag: HTML {
        guard record.isNumberedLater else { return "none: an event is in the feed when its change is committed" }
        guard let oldest = record.oldestUnnumberedAt else { return "none: all events are in the feed" }
        let seconds = max(0, min(storeNow.timeIntervalSince(oldest), 1e9))
        return "\(Int(seconds)) s: an event since \(ConsoleFrame.time(oldest)) has no number yet"
    }

    // MARK: - Keys

    private var keys: HTML {
        let rows = record.keys.map { key -> HTML in
            let state: HTML = key.revokedAt.map { "revoked \(ConsoleFrame.time($0))" } ?? "valid"
            return """
                <tr><th scope="row">\(ConsoleFrame.code(key.id))</th><td><bdi>\(key.label ?? "–")</bdi></td>\
                <td>\(key.kind.rawValue)</td><td>\(ConsoleFrame.time(key.createdAt))</td>\
                <td>\(ConsoleFrame.time(key.usedAt, otherwise: "not known"))</td><td>\(state)</td></tr>

                """
        }
        return """
            <p class="hint">The last use is stored once a minute.</p>
            \(ConsoleFrame.table("Keys of the app", ["Key", "Label", "Kind", "Created", "Last use", "State"], rows))
            """
    }

    // MARK: - Slow requests

    private var slowRequests: HTML {
        let threshold = Int(SlowRequests.threshold / .milliseconds(1))
        let hint: HTML = """
            <p class="hint">The newest requests with a key of the app that took at least \(threshold) ms at this server, \
            since its start.</p>
            """
        guard !slow.isEmpty else { return "\(hint)<p>There are none.</p>" }
        let rows = slow.map { request -> HTML in
            """
            <tr><td>\(ConsoleFrame.time(request.answeredAt))</td><td>\(request.endpoint)</td>\
            <td>\(Int((request.duration / .milliseconds(1)).rounded())) ms</td><td>\(request.status)</td>\
            <td>\(request.keyID.map { ConsoleFrame.code($0) } ?? "–")</td>\
            <td>\(ConsoleFrame.code(request.requestID))</td></tr>

            """
        }
        return hint
            + ConsoleFrame.table(
                "The newest slow requests", ["Answered", "Endpoint", "Duration", "Status", "Key", "Request id"], rows)
    }
}
