import Foundation
import GooglePlay
import Primitives
import SQLStorage
import SimulatorControl
import StoreModel

/// A notification of Google Play that is sent or was sent.
struct PlayNotificationRecord: Sendable, Hashable {
    var id: Int64
    var at: Date
    var token: String?
    var notification: DeveloperNotification
    /// The instant of the next attempt; `nil` if there is none.
    var due: Date?
    var attempts: Int
}

/// The delivery of notifications as Cloud Pub/Sub pushes messages.
extension PlayDatabase {
    /// The statuses with which Pub/Sub takes a message as accepted.
    static let accepted: Set<Int> = [102, 200, 201, 202, 204]

    /// The delays between attempts, which double from 10 to 600 seconds, and the time for which a message is kept, both
    /// in virtual time.
    enum Retries {
        static let keptFor: TimeInterval = 7 * 86400

        static func next(after attempt: Int, of created: Date, madeAt instant: Date) -> Date? {
            let delay = min(600, 10 * pow(2, Double(min(attempt, 10) - 1)))
            let next = instant.addingTimeInterval(delay).wholeMilliseconds
            return next <= created.addingTimeInterval(keptFor) ? next : nil
        }
    }

    /// Records the attempts that begin now, before anything is sent. `busy` are the notifications under way.
    func beginAttempts(outside busy: Set<Int64>, upTo width: Int, at now: Date) throws -> [PlayNotificationRecord] {
        guard notifies, busy.count < width else { return [] }
        let due = try db.sql.query(
            """
            SELECT * FROM play_notification WHERE due IS NOT NULL AND (due <= ?1 OR attempts = 0)
            ORDER BY due, id LIMIT ?2
            """, [.integer(now.microseconds), .integer(Int64(width))]
        ).map(Self.notification)
        return try due.filter { !busy.contains($0.id) }.prefix(width - busy.count).map { record in
            var record = record
            record.attempts += 1
            let begun = max(now, record.at)
            // A message that has arrived is sent again on request only.
            record.due =
                try hasArrived(record.id)
                ? nil : Retries.next(after: record.attempts, of: record.at, madeAt: begun)
            try db.sql.execute(
                "INSERT INTO play_attempt (notification, number, at) VALUES (?1, ?2, ?3)",
                [.integer(record.id), .integer(Int64(record.attempts)), .integer(begun.microseconds)])
            try db.sql.execute(
                "UPDATE play_notification SET due = ?2, attempts = ?3 WHERE id = ?1",
                [.integer(record.id), SQLValue(record.due), .integer(Int64(record.attempts))])
            return record
        }
    }

    /// Records the result of an attempt. After a success, the notification is not sent again, unless that was requested
    /// meanwhile.
    func end(_ record: PlayNotificationRecord, _ result: String, isSuccess: Bool) throws {
        let changed = try db.sql.execute(
            "UPDATE play_attempt SET result = ?3 WHERE notification = ?1 AND number = ?2 AND result IS NULL",
            [.integer(record.id), .integer(Int64(record.attempts)), .text(result)])
        guard changed > 0, isSuccess else { return }
        try db.sql.execute(
            "UPDATE play_notification SET due = NULL WHERE id = ?1 AND due IS ?2",
            [.integer(record.id), SQLValue(record.due)])
    }

    private func hasArrived(_ notification: Int64) throws -> Bool {
        let texts = Self.accepted.sorted().map { "'\($0)'" }.joined(separator: ", ")
        return try db.sql.first(
            "SELECT 1 FROM play_attempt WHERE notification = ?1 AND result IN (\(texts)) LIMIT 1",
            [.integer(notification)]) != nil
    }

    /// The instant of the next retry after `now`.
    func nextRetry(after now: Date) throws -> Date? {
        try db.sql.first(
            "SELECT due FROM play_notification WHERE due > ?1 AND attempts > 0 ORDER BY due LIMIT 1",
            [.integer(now.microseconds)])?.date("due")
    }

    /// The number of notifications that wait for a retry.
    func countRetries() throws -> Int {
        try db.sql.first("SELECT count(*) AS count FROM play_notification WHERE due IS NOT NULL AND attempts > 0")?[
            "count"] ?? 0
    }

    func deliveryMark(at now: Date) throws -> DeliveryMark {
        let last: Int64? = try db.sql.first("SELECT max(id) AS id FROM play_notification")?["id"]
        return DeliveryMark(lastNotification: last ?? 0, now: now)
    }

    /// Whether a notification that was due at `mark` still waits or is being sent.
    func isUnderWay(_ mark: DeliveryMark) throws -> Bool {
        try db.sql.first(
            """
            SELECT 1 WHERE
                EXISTS (SELECT 1 FROM play_notification WHERE due IS NOT NULL AND attempts = 0 AND +id <= ?1)
                OR EXISTS (SELECT 1 FROM play_notification WHERE due <= ?2 AND attempts > 0 AND +id <= ?1)
                OR EXISTS (SELECT 1 FROM play_attempt WHERE result IS NULL AND notification <= ?1)
            """, [.integer(mark.lastNotification), .integer(mark.now.microseconds)]) != nil
    }

    /// Returns notifications in their order. `account` and `token` select those about the purchases of an account and
    /// about one purchase.
    func notifications(
        of account: Int64? = nil, token: String? = nil, after: Int64, limit: Int
    ) throws -> [PlayNotificationRecord] {
        try db.sql.query(
            """
            SELECT * FROM play_notification
            WHERE id > ?1 AND (?2 IS NULL OR token IN (SELECT token FROM play_purchase WHERE account = ?2))
                AND (?3 IS NULL OR token = ?3)
            ORDER BY id LIMIT ?4
            """,
            [.integer(after), SQLValue(account), SQLValue(token), .integer(Int64(limit))]
        ).map(Self.notification)
    }

    func notification(_ id: Int64) throws -> PlayNotificationRecord? {
        try db.sql.first("SELECT * FROM play_notification WHERE id = ?1", [.integer(id)]).map(Self.notification)
    }

    /// Sends a notification again at once.
    func sendAgain(_ id: Int64, at now: Date) throws {
        try db.sql.execute(
            "UPDATE play_notification SET due = ?2 WHERE id = ?1", [.integer(id), .integer(now.microseconds)])
    }

    static func notification(_ row: SQLRow) throws -> PlayNotificationRecord {
        let body: String = try row["body"]
        return PlayNotificationRecord(
            id: try row["id"], at: try row.date("at"), token: try row["token"],
            notification: try WireJSON.decode(DeveloperNotification.self, from: Array(body.utf8)),
            due: try row.optionalDate("due"), attempts: Int(try row.number("attempts", in: ColumnRange.readable)))
    }

    func describe(_ record: PlayNotificationRecord) throws -> StoreControlWire.PlayNotification {
        let info = try record.token.flatMap { try entry($0) }?.purchase.info
        return StoreControlWire.PlayNotification(
            number: record.id, at: record.at.wholeMilliseconds, type: record.notification.typeName,
            account: try info.flatMap { try db.account($0.account) }?.name.rawValue, productID: info?.productID,
            purchaseToken: record.token,
            orderID: record.notification.voidedPurchaseNotification?.orderId
                ?? record.notification.pendingRefundReviewNotification?.orderId,
            attempts: try db.sql.query(
                "SELECT at, result FROM play_attempt WHERE notification = ?1 ORDER BY number", [.integer(record.id)]
            ).map { .init(at: try $0.date("at").wholeMilliseconds, result: try $0["result"]) },
            due: record.due?.wholeMilliseconds)
    }
}
