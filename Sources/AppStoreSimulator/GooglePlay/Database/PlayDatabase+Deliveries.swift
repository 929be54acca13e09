import Foundation
import GooglePlay
import Primitives
import SQLStorage
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
    /// The result of the latest attempt; `nil` while it is in progress, and before the first one.
    var result: String?
}

/// The delivery of notifications as Cloud Pub/Sub pushes messages.
extension PlayDatabase {
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
            record.due = Retries.next(after: record.attempts, of: record.at, madeAt: begun)
            record.result = nil
            try db.sql.execute(
                "UPDATE play_notification SET due = ?2, attempts = ?3, result = NULL WHERE id = ?1",
                [.integer(record.id), SQLValue(record.due), .integer(Int64(record.attempts))])
            return record
        }
    }

    /// Records the result of an attempt. After a success, the notification is not sent again.
    func end(_ record: PlayNotificationRecord, _ result: String, isSuccess: Bool) throws {
        try db.sql.execute(
            """
            UPDATE play_notification SET result = ?2, due = CASE WHEN ?3 THEN NULL ELSE due END
            WHERE id = ?1 AND attempts = ?4
            """,
            [.integer(record.id), .text(result), SQLValue(isSuccess), .integer(Int64(record.attempts))])
    }

    /// The instant of the next retry after `now`.
    func nextRetry(after now: Date) throws -> Date? {
        try db.sql.first(
            "SELECT due FROM play_notification WHERE due > ?1 AND attempts > 0 ORDER BY due LIMIT 1",
            [.integer(now.microseconds)])?.date("due")
    }

    func notifications(after: Int64, limit: Int) throws -> [PlayNotificationRecord] {
        try db.sql.query(
            "SELECT * FROM play_notification WHERE id > ?1 ORDER BY id LIMIT ?2",
            [.integer(after), .integer(Int64(limit))]
        ).map(Self.notification)
    }

    /// Sends a notification again at once.
    func sendAgain(_ id: Int64, at now: Date) throws -> Bool {
        try db.sql.execute(
            "UPDATE play_notification SET due = ?2 WHERE id = ?1", [.integer(id), .integer(now.microseconds)]) > 0
    }

    static func notification(_ row: SQLRow) throws -> PlayNotificationRecord {
        let body: String = try row["body"]
        return PlayNotificationRecord(
            id: try row["id"], at: try row.date("at"), token: try row["token"],
            notification: try WireJSON.decode(DeveloperNotification.self, from: Array(body.utf8)),
            due: try row.optionalDate("due"), attempts: Int(try row.number("attempts", in: ColumnRange.readable)),
            result: try row["result"])
    }
}
