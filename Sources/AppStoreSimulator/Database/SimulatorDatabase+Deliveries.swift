import AppStorePayloads
import Foundation
import SQLStorage
import StoreModel

/// A recorded attempt to send a notification that has not ended.
struct SendAttempt: Sendable, Hashable {
    var notification: Int64
    var uuid: String
    var lane: Int64
    var number: Int
    var signedPayload: String
    /// The instant of the next attempt if this one fails.
    var next: Date?
}

/// The notifications that were written up to an instant.
struct DeliveryMark: Sendable, Hashable {
    var lastNotification: Int64
    var now: Date
}

extension NotificationRecord {
    /// The lane of the notification. Notifications about one purchase are sent one after another; those about no
    /// purchase share a lane.
    var lane: Int64 { original ?? 0 }
}

/// The delivery of notifications.
extension SimulatorDatabase {
    /// Records the attempts that begin now, before anything is sent: notifications that are due by `now`, in free
    /// lanes.
    func beginAttempts(
        _ rules: SendingRules, outside busy: Set<Int64>, upTo width: Int, signer: StoreSigner, at now: Date
    ) throws -> [SendAttempt] {
        guard rules.url != nil else { return [] }
        var busy = busy
        var begun: [SendAttempt] = []
        while busy.count < width, let first = try firstDue(by: now, outside: busy) {
            let record = try rules.swapsNeighbours ? neighbourToSwap(with: first) ?? first : first
            begun.append(try begin(record, rules, signer, at: now))
            busy.insert(record.lane)
        }
        return begun
    }

    private func begin(
        _ record: NotificationRecord, _ rules: SendingRules, _ signer: StoreSigner, at now: Date
    ) throws -> SendAttempt {
        let number = record.attempts + 1
        // The event can be later than the time of a stopped clock.
        let begun = max(now, record.at.wholeMilliseconds)
        let next = rules.due(ifFailing: number, begun: begun, hasArrived: try hasArrived(record.id))
        let signed = try record.signed ?? signer.sign(record.body)
        try sql.execute(
            "INSERT INTO attempt (notification, number, at) VALUES (?1, ?2, ?3)",
            [.integer(record.id), .integer(Int64(number)), .integer(begun.microseconds)])
        try sql.execute(
            "UPDATE notification SET signed = ?2, due = ?3, attempts = ?4 WHERE id = ?1",
            [.integer(record.id), .text(signed), SQLValue(next), .integer(Int64(number))])
        return SendAttempt(
            notification: record.id, uuid: record.uuid, lane: record.lane, number: number, signedPayload: signed,
            next: next)
    }

    /// Records the result of an attempt.
    ///
    /// After a success the notification is not sent again, unless the rules repeat it at once. Does nothing if the
    /// database was replaced meanwhile.
    func end(
        _ attempt: SendAttempt, _ result: AppStoreServerAPI.SendAttemptResult, _ rules: SendingRules, at now: Date
    ) throws {
        let changed = try sql.execute(
            """
            UPDATE attempt SET result = ?4 WHERE result IS NULL AND number = ?3
                AND notification = (SELECT id FROM notification WHERE id = ?1 AND uuid = ?2)
            """,
            [
                .integer(attempt.notification), .text(attempt.uuid), .integer(Int64(attempt.number)),
                .text(result.rawValue),
            ])
        guard changed > 0, result == .success else { return }
        let due = rules.repeats(attempt.number, result) ? now : nil
        // Keeps a resend that was requested meanwhile.
        try sql.execute(
            "UPDATE notification SET due = ?3 WHERE id = ?1 AND due IS ?2",
            [.integer(attempt.notification), SQLValue(attempt.next), SQLValue(due)])
    }

    /// Ends the attempts that were under way when the store closed or exported its state. Their results are unknown.
    func endLostAttempts() throws {
        for table in ["attempt", "play_attempt"] {
            try sql.execute(
                "UPDATE \(table) SET result = ?1 WHERE result IS NULL",
                [.text(AppStoreServerAPI.SendAttemptResult.other.rawValue)])
        }
    }

    /// Removes all signatures, so that notifications are signed anew: an imported state can come from a store with
    /// another root.
    func forgetSignatures() throws { try sql.execute("UPDATE notification SET signed = NULL WHERE signed IS NOT NULL") }

    /// Sends a notification again at `record.due`, whatever the earlier results.
    func sendAgain(_ record: NotificationRecord) throws {
        try sql.execute("UPDATE notification SET due = ?2 WHERE id = ?1", [.integer(record.id), SQLValue(record.due)])
    }

    /// The first notification to send by `now` in a lane that is not busy. A notification that was never sent is due at
    /// once, even if its instant is ahead of the clock.
    private func firstDue(by now: Date, outside busy: Set<Int64>) throws -> NotificationRecord? {
        // The number of parameters is fixed, so the statements stay prepared. Unused ones are -1, which no lane has.
        let lanes = busy.sorted() + Array(repeating: -1, count: max(0, NotificationSender.maximumAttempts - busy.count))
        let isFree = "coalesce(original, 0) NOT IN (\(lanes.indices.map { "?\($0 + 1)" }.joined(separator: ", ")))"
        let values = lanes.map(SQLValue.integer)
        let new = try sql.first(
            "SELECT * FROM notification WHERE due IS NOT NULL AND attempts = 0 AND \(isFree) ORDER BY due, id LIMIT 1",
            values
        ).map(Self.notification)
        let old = try sql.first(
            """
            SELECT * FROM notification WHERE due <= ?\(lanes.count + 1) AND attempts > 0 AND \(isFree)
            ORDER BY due, id LIMIT 1
            """, values + [.integer(now.microseconds)]
        ).map(Self.notification)
        guard let new, let old else { return new ?? old }
        return (new.due ?? now, new.id) < (old.due ?? now, old.id) ? new : old
    }

    /// Returns the next notification about the same purchase. Returns `nil` if there is none, or if `first` or the next
    /// notification was already sent.
    private func neighbourToSwap(with first: NotificationRecord) throws -> NotificationRecord? {
        guard first.attempts == 0, let account = first.account, let original = first.original else { return nil }
        let next = try sql.first(
            """
            SELECT * FROM notification WHERE account = ?1 AND original = ?2 AND at >= ?3 AND id > ?4
            ORDER BY at, id LIMIT 1
            """,
            [.integer(account), .integer(original), .integer(first.at.microseconds), .integer(first.id)]
        ).map(Self.notification)
        return next?.attempts == 0 ? next : nil
    }

    /// The instant of the next retry after `now`. Ignores retries that are due already: they wait for their lanes.
    func nextRetry(after now: Date) throws -> Date? {
        try sql.first(
            "SELECT due FROM notification WHERE due > ?1 AND attempts > 0 ORDER BY due LIMIT 1",
            [.integer(now.microseconds)])?.date("due")
    }

    /// The number of notifications that wait for a retry.
    func countRetries() throws -> Int {
        try sql.first("SELECT count(*) AS count FROM notification WHERE due IS NOT NULL AND attempts > 0")?["count"]
            ?? 0
    }

    func deliveryMark(at now: Date) throws -> DeliveryMark {
        DeliveryMark(lastNotification: try nextNotification() - 1, now: now)
    }

    /// Whether a notification that was due at `mark` still waits or is being sent. `+id` keeps SQLite from a search by
    /// row number, which would read all sent notifications.
    func isUnderWay(_ mark: DeliveryMark) throws -> Bool {
        try sql.first(
            """
            SELECT 1 WHERE
                EXISTS (SELECT 1 FROM notification WHERE due IS NOT NULL AND attempts = 0 AND +id <= ?1)
                OR EXISTS (SELECT 1 FROM notification WHERE due <= ?2 AND attempts > 0 AND +id <= ?1)
                OR EXISTS (SELECT 1 FROM attempt WHERE result IS NULL AND notification <= ?1)
            """, [.integer(mark.lastNotification), .integer(mark.now.microseconds)]) != nil
    }

    func attempts(of notification: Int64) throws -> [NotificationAttempt] {
        try sql.query("SELECT * FROM attempt WHERE notification = ?1 ORDER BY number", [.integer(notification)]).map {
            NotificationAttempt(number: try $0["number"], at: try $0.date("at"), result: try $0["result"])
        }
    }

    private func hasArrived(_ notification: Int64) throws -> Bool {
        try sql.first(
            "SELECT 1 FROM attempt WHERE notification = ?1 AND result = ?2",
            [.integer(notification), .text(AppStoreServerAPI.SendAttemptResult.success.rawValue)]) != nil
    }
}
