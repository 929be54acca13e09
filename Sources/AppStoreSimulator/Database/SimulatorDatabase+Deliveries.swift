import AppStorePayloads
import Foundation
import SQLStorage
import StoreModel

/// One sending of a notification, written down and not ended yet.
struct Sending: Sendable, Hashable {
    var notification: Int64
    var uuid: String
    var lane: Int64
    var attempt: Int
    var signedPayload: String
    /// When it is tried again if it fails.
    var next: Date?
}

/// Everything up to an instant that was written down by then.
struct DeliveryMark: Sendable, Hashable {
    var lastNotification: Int64
    var now: Date
}

extension NotificationRecord {
    /// Notifications about one purchase are sent one after another; those about none have a lane for themselves.
    var lane: Int64 { original ?? 0 }
}

/// How notifications are sent.
extension SimulatorDatabase {
    // MARK: - Beginning and ending

    /// Writes down, before anything is sent, what is sent now: what is due by `now` in as many lanes as are free.
    func beginSendings(
        _ rules: SendingRules, outside busy: Set<Int64>, upTo width: Int, signer: StoreSigner, at now: Date
    ) throws -> [Sending] {
        guard rules.url != nil else { return [] }
        var busy = busy
        var begun: [Sending] = []
        while busy.count < width, let first = try firstDue(by: now, outside: busy) {
            let record = try rules.swapsNeighbours ? neighbourToSwap(with: first) ?? first : first
            begun.append(try begin(record, rules, signer, at: now))
            busy.insert(record.lane)
        }
        return begun
    }

    private func begin(
        _ record: NotificationRecord, _ rules: SendingRules, _ signer: StoreSigner, at now: Date
    ) throws -> Sending {
        let number = record.attempts + 1
        // What happens on a clock that stands still may be ahead of it.
        let begun = max(now, record.at.wholeMilliseconds)
        let next = rules.due(ifFailing: number, begun: begun, hasArrived: try hasArrived(record.id))
        let signed = try record.signed ?? signer.sign(record.body)
        try sql.execute(
            "INSERT INTO attempt (notification, number, at) VALUES (?1, ?2, ?3)",
            [.integer(record.id), .integer(Int64(number)), .integer(begun.microseconds)])
        try sql.execute(
            "UPDATE notification SET signed = ?2, due = ?3, attempts = ?4 WHERE id = ?1",
            [.integer(record.id), .text(signed), SQLValue(next), .integer(Int64(number))])
        return Sending(
            notification: record.id, uuid: record.uuid, lane: record.lane, attempt: number, signedPayload: signed,
            next: next)
    }

    /// Writes down what came of a sending; unless it failed, the notification is sent no more, or, as the rules may want
    /// it, once more at once. Does nothing where the books were replaced meanwhile.
    func end(
        _ sending: Sending, _ result: AppStoreServerAPI.SendAttemptResult, _ rules: SendingRules, at now: Date
    ) throws {
        let changed = try sql.execute(
            """
            UPDATE attempt SET result = ?4 WHERE result IS NULL AND number = ?3
                AND notification = (SELECT id FROM notification WHERE id = ?1 AND uuid = ?2)
            """,
            [
                .integer(sending.notification), .text(sending.uuid), .integer(Int64(sending.attempt)),
                .text(result.rawValue),
            ])
        guard changed > 0, result == .success else { return }
        let due = rules.repeats(sending.attempt, result) ? now : nil
        // What somebody asked to be sent again meanwhile still is.
        try sql.execute(
            "UPDATE notification SET due = ?3 WHERE id = ?1 AND due IS ?2",
            [.integer(sending.notification), SQLValue(sending.next), SQLValue(due)])
    }

    /// What was being sent when the store ended: nobody knows what came of it.
    func endLostSendings() throws {
        try sql.execute(
            "UPDATE attempt SET result = ?1 WHERE result IS NULL",
            [.text(AppStoreServerAPI.SendAttemptResult.other.rawValue)])
    }

    /// Whatever is sent again is signed anew: the books came from a store that may have another root.
    func forgetSignatures() throws { try sql.execute("UPDATE notification SET signed = NULL WHERE signed IS NOT NULL") }

    /// Lets a notification be sent when `record` says, whatever became of it before.
    func sendAgain(_ record: NotificationRecord) throws {
        try sql.execute("UPDATE notification SET due = ?2 WHERE id = ?1", [.integer(record.id), SQLValue(record.due)])
    }

    // MARK: - What is due

    /// The first notification to send by `now` of a lane that is not busy. What was never sent is due at once, also where
    /// it happened a moment ahead of the clock.
    private func firstDue(by now: Date, outside busy: Set<Int64>) throws -> NotificationRecord? {
        let lanes = " AND coalesce(original, 0) NOT IN (\(busy.map(String.init).joined(separator: ", ")))"
        let new = try sql.first(
            "SELECT * FROM notification WHERE due IS NOT NULL AND attempts = 0\(lanes) ORDER BY due, id LIMIT 1"
        ).map(Self.notification)
        let old = try sql.first(
            "SELECT * FROM notification WHERE due <= ?1 AND attempts > 0\(lanes) ORDER BY due, id LIMIT 1",
            [.integer(now.microseconds)]
        ).map(Self.notification)
        guard let new, let old else { return new ?? old }
        return (new.due ?? now, new.id) < (old.due ?? now, old.id) ? new : old
    }

    /// The notification that follows one which was never sent, in its lane; `nil` where it was sent before it already.
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

    /// When something is to be sent again after `now`; what is due already waits for its lane.
    func nextRetry(after now: Date) throws -> Date? {
        try sql.first(
            "SELECT due FROM notification WHERE due > ?1 AND attempts > 0 ORDER BY due LIMIT 1",
            [.integer(now.microseconds)])?.date("due")
    }

    /// How many notifications are to be sent again.
    func countRetries() throws -> Int {
        try sql.first("SELECT count(*) AS count FROM notification WHERE due IS NOT NULL AND attempts > 0")?["count"]
            ?? 0
    }

    // MARK: - What was attempted

    func deliveryMark(at now: Date) throws -> DeliveryMark {
        DeliveryMark(lastNotification: try nextNotification() - 1, now: now)
    }

    /// Whether something that was due at `mark` has not been attempted since.
    func isUnderWay(_ mark: DeliveryMark) throws -> Bool {
        try sql.first(
            """
            SELECT 1 WHERE
                EXISTS (SELECT 1 FROM notification WHERE due IS NOT NULL AND attempts = 0 AND id <= ?1)
                OR EXISTS (SELECT 1 FROM notification WHERE due <= ?2 AND attempts > 0 AND id <= ?1)
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
