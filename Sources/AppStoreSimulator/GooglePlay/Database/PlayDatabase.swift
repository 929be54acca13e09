import Foundation
import GooglePlay
import Primitives
import SQLStorage
import StoreModel

/// The records of Google Play within one read or write: converts between rows and purchases, and writes the consequences
/// of changes.
struct PlayDatabase {
    let db: SimulatorDatabase
    let packageName: PackageName
    /// Whether changes are notified.
    let notifies: Bool

    private var sql: any SQLConnection { db.sql }

    init(_ db: SimulatorDatabase, _ packageName: PackageName) throws {
        self.db = db
        self.packageName = packageName
        notifies = StoreSetting.playNotificationsURL.isSet(in: try db.settings())
    }

    /// A purchase with the instant of its last change. A later change is not earlier, whatever the clock says.
    struct Entry {
        var purchase: PlayPurchase
        var changedAt: Date
        let number: Int64
    }

    // MARK: - Purchases

    func entry(_ token: String) throws -> Entry? {
        try sql.first("SELECT * FROM play_purchase WHERE token = ?1", [.text(token)]).map(Self.entry)
    }

    func entries(of account: Int64) throws -> [Entry] {
        try sql.query("SELECT * FROM play_purchase WHERE account = ?1 ORDER BY number", [.integer(account)])
            .map(Self.entry)
    }

    func nextNumber() throws -> Int64 {
        let last: Int64? = try sql.first("SELECT max(number) AS number FROM play_purchase")?["number"]
        try ColumnRange.check(last ?? 0, in: ColumnRange.readable, as: "the number of a purchase")
        return (last ?? 0) + 1
    }

    func add(_ purchase: PlayPurchase, number: Int64, at now: Date) throws {
        let info = purchase.info
        try sql.execute(
            """
            INSERT INTO play_purchase (token, number, account, changed_at, due, body)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            """,
            [
                .text(info.token), .integer(number), .integer(info.account), .integer(now.microseconds),
                SQLValue(purchase.nextChange), .text(try Self.text(purchase)),
            ])
    }

    func save(_ entry: Entry) throws {
        try sql.execute(
            "UPDATE play_purchase SET changed_at = ?2, due = ?3, body = ?4 WHERE token = ?1",
            [
                .text(entry.purchase.info.token), .integer(entry.changedAt.microseconds),
                SQLValue(entry.purchase.nextChange), .text(try Self.text(entry.purchase)),
            ])
    }

    static func entry(_ row: SQLRow) throws -> Entry {
        let body: String = try row["body"]
        return Entry(
            purchase: try WireJSON.decode(PlayPurchase.self, from: Array(body.utf8)),
            changedAt: try row.date("changed_at"), number: try row["number"])
    }

    private static func text(_ value: some Encodable) throws -> String {
        String(decoding: try WireJSON.encode(value), as: UTF8.self)
    }

    // MARK: - Time

    /// Returns the tokens of purchases with a change that is due by `now`, the longest overdue first.
    func due(by now: Date, limit: Int) throws -> [String] {
        try sql.query(
            "SELECT token FROM play_purchase WHERE due <= ?1 ORDER BY due, token LIMIT ?2",
            [.integer(now.microseconds), .integer(Int64(limit))]
        ).map { try $0["token"] }
    }

    func nextDue() throws -> Date? {
        try sql.first("SELECT due FROM play_purchase WHERE due IS NOT NULL ORDER BY due LIMIT 1")?.date("due")
    }

    /// Performs at most `limit` changes that are due by `now`. Returns their number.
    func settle(_ entry: inout Entry, until now: Date, limit: Int) throws -> Int {
        var steps = 0
        while steps < limit, let due = entry.purchase.nextChange, due <= now {
            let effects = entry.purchase.step()
            try write(effects, of: entry.purchase)
            entry.changedAt = max(entry.changedAt, due)
            steps += 1
        }
        return steps
    }

    // MARK: - Consequences

    func write(_ effects: [PlayEffect], of purchase: PlayPurchase) throws {
        for effect in effects {
            switch effect {
            case .order(let order): try add(order)
            case .refund(let refund): try write(refund, of: purchase)
            case .subscriptionEvent(let event, let instant):
                try notify(at: instant, about: purchase) {
                    $0.subscriptionNotification = DeveloperNotification.Subscription {
                        $0.version = "1.0"
                        $0.notificationType = event
                        $0.purchaseToken = purchase.info.token
                    }
                }
            case .reviewRequested(let review, let instant):
                try notify(at: instant, about: purchase) {
                    $0.pendingRefundReviewNotification = DeveloperNotification.PendingRefundReview {
                        $0.version = "1.0"
                        $0.pendingRefundToken = review.token
                        $0.orderId = review.orderID
                        $0.refundReason = 7
                        $0.obfuscatedAccountId = purchase.info.obfuscatedAccountID
                        $0.obfuscatedProfileId = purchase.info.obfuscatedProfileID
                    }
                }
            case .productEvent(let type, let instant):
                try notify(at: instant, about: purchase) {
                    $0.oneTimeProductNotification = DeveloperNotification.OneTimeProduct {
                        $0.version = "1.0"
                        $0.notificationType = type
                        $0.purchaseToken = purchase.info.token
                        $0.sku = purchase.info.productID.rawValue
                    }
                }
            }
        }
    }

    private func write(_ refund: PlayRefund, of purchase: PlayPurchase) throws {
        guard var order = try order(refund.orderID) else { return }
        if order.refund(refund) {
            try sql.execute(
                "UPDATE play_order SET body = ?2 WHERE id = ?1", [.text(refund.orderID), .text(try Self.text(order))])
        }
        guard let (source, reason) = refund.voided, try voidedPurchase(ofOrder: refund.orderID) == nil else { return }
        let isPartial = refund.quantity != nil
        let isSubscription = if case .subscription = purchase { true } else { false }
        let voided = AndroidPublisher.VoidedPurchase {
            $0.kind = AndroidPublisher.VoidedPurchase.kind
            $0.orderId = refund.orderID
            $0.purchaseToken = purchase.info.token
            $0.purchaseTimeMillis = order.createTime?.playMilliseconds
            $0.voidedTimeMillis = refund.at.playMilliseconds
            $0.voidedSource = source
            $0.voidedReason = reason
            $0.voidedQuantity = refund.quantity
        }
        try sql.execute(
            "INSERT INTO play_voided (order_id, at, is_subscription, is_partial, body) VALUES (?1, ?2, ?3, ?4, ?5)",
            [
                .text(refund.orderID), .integer(refund.at.microseconds), SQLValue(isSubscription), SQLValue(isPartial),
                .text(try Self.text(voided)),
            ])
        try notify(at: refund.at, about: purchase) {
            $0.voidedPurchaseNotification = DeveloperNotification.VoidedPurchase {
                $0.purchaseToken = purchase.info.token
                $0.orderId = refund.orderID
                $0.productType = isSubscription ? 1 : 2
                $0.refundType = isPartial ? 2 : 1
            }
        }
    }

    // MARK: - Orders

    private func add(_ order: AndroidPublisher.Order) throws {
        try sql.execute(
            "INSERT INTO play_order (id, token, at, body) VALUES (?1, ?2, ?3, ?4)",
            [
                .text(order.orderId ?? ""), .text(order.purchaseToken ?? ""),
                .integer((order.createTime ?? .distantPast).microseconds), .text(try Self.text(order)),
            ])
    }

    func order(_ id: String) throws -> AndroidPublisher.Order? {
        try sql.first("SELECT body FROM play_order WHERE id = ?1", [.text(id)]).map { row in
            let body: String = try row["body"]
            return try WireJSON.decode(AndroidPublisher.Order.self, from: Array(body.utf8))
        }
    }

    /// Returns the orders of an account's purchases, oldest first.
    func orders(of account: Int64) throws -> [AndroidPublisher.Order] {
        try sql.query(
            """
            SELECT play_order.body AS body FROM play_purchase JOIN play_order ON play_order.token = play_purchase.token
            WHERE play_purchase.account = ?1 ORDER BY play_order.at, play_purchase.number, play_order.id
            """, [.integer(account)]
        ).map { row in
            let body: String = try row["body"]
            return try WireJSON.decode(AndroidPublisher.Order.self, from: Array(body.utf8))
        }
    }

    private func voidedPurchase(ofOrder id: String) throws -> Int64? {
        try sql.first("SELECT id FROM play_voided WHERE order_id = ?1 AND is_partial = 0", [.text(id)])?["id"]
    }

    /// Returns at most `limit` voided purchases after the one with the number `after`, oldest first, with their numbers.
    func voidedPurchases(
        from start: Date, to end: Date, withSubscriptions: Bool, withPartial: Bool, after: Int64, limit: Int
    ) throws -> [(number: Int64, purchase: AndroidPublisher.VoidedPurchase)] {
        try sql.query(
            """
            SELECT id, body FROM play_voided
            WHERE id > ?1 AND at >= ?2 AND at <= ?3 AND (is_subscription = 0 OR ?4) AND (is_partial = 0 OR ?5)
            ORDER BY id LIMIT ?6
            """,
            [
                .integer(after), .integer(start.microseconds), .integer(end.microseconds),
                SQLValue(withSubscriptions), SQLValue(withPartial), .integer(Int64(limit)),
            ]
        ).map { row in
            let body: String = try row["body"]
            return (
                try row["id"], try WireJSON.decode(AndroidPublisher.VoidedPurchase.self, from: Array(body.utf8))
            )
        }
    }

    // MARK: - Notifications

    /// Writes a notification, which is then sent. Does nothing while no URL is set.
    func notify(
        at instant: Date, about purchase: PlayPurchase?, _ fill: (inout DeveloperNotification) -> Void
    ) throws {
        guard notifies else { return }
        let notification = DeveloperNotification {
            $0.version = "1.0"
            $0.packageName = packageName.rawValue
            $0.eventTimeMillis = instant.playMilliseconds
            fill(&$0)
        }
        try sql.execute(
            "INSERT INTO play_notification (at, token, body, due) VALUES (?1, ?2, ?3, ?1)",
            [
                .integer(instant.microseconds), SQLValue(purchase?.info.token), .text(try Self.text(notification)),
            ])
    }
}
