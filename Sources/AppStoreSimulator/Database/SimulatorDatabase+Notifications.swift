import Foundation
import SQLStorage
import StoreModel

/// The notifications for the app's server, and the subscriptions that are watched for them.
extension SimulatorDatabase {
    /// The instant up to which a subscription's changes by time were reported to the server.
    func reported(of original: Int64) throws -> Date? {
        try sql.first("SELECT told FROM watch WHERE original = ?1", [.integer(original)])?.date("told")
    }

    func watch(_ original: Int64, reported: Date, due: Date?) throws {
        try sql.execute(
            "INSERT OR REPLACE INTO watch (original, told, due) VALUES (?1, ?2, ?3)",
            [.integer(original), .integer(reported.microseconds), SQLValue(due)])
    }

    /// Watches every subscription from now on.
    func watchAll(at now: Date) throws {
        try sql.execute(
            "INSERT OR REPLACE INTO watch (original, told, due) SELECT original, max(changed_at, ?1), 0 FROM subscription",
            [.integer(now.microseconds)])
    }

    /// Makes a subscription due, so that it is checked as soon as possible.
    func setDue(_ original: Int64) throws {
        try sql.execute("UPDATE watch SET due = 0 WHERE original = ?1", [.integer(original)])
    }

    func watchNone() throws { try sql.execute("DELETE FROM watch") }

    /// Makes every running subscription due, after a change that affects all.
    func setAllDue() throws { try sql.execute("UPDATE watch SET due = 0 WHERE due > 0") }

    /// Returns at most `limit` subscriptions that are due by `now`, the longest overdue first.
    func watched(dueBy now: Date, limit: Int) throws -> [Int64] {
        try sql.query(
            "SELECT original FROM watch WHERE due <= ?1 ORDER BY due, original LIMIT ?2",
            [.integer(now.microseconds), .integer(Int64(limit))]
        ).map { try $0["original"] }
    }

    /// The instant at which the next subscription is due.
    func nextWatch() throws -> Date? {
        try sql.first("SELECT due FROM watch WHERE due IS NOT NULL ORDER BY due LIMIT 1")?.date("due")
    }

    /// The number of the next notification.
    func nextNotification() throws -> Int64 {
        let last: Int64? = try sql.first("SELECT max(id) AS id FROM notification")?["id"]
        try ColumnRange.check(last ?? 0, in: ColumnRange.readable, as: "the number of a notification")
        return (last ?? 0) + 1
    }

    func insert(_ record: NotificationRecord) throws {
        try sql.execute(
            """
            INSERT INTO notification (id, uuid, at, type, subtype, account, original, purchase, body, signed, due, attempts)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
            """,
            [
                .integer(record.id), .text(record.uuid), .integer(record.at.microseconds), .text(record.type.rawValue),
                SQLValue(record.subtype?.rawValue), SQLValue(record.account), SQLValue(record.original),
                SQLValue(record.transaction), .text(record.body.text), SQLValue(record.signed), SQLValue(record.due),
                .integer(Int64(record.attempts)),
            ])
    }

    func notification(_ uuid: String) throws -> NotificationRecord? {
        try sql.first("SELECT * FROM notification WHERE uuid = ?1", [.text(uuid)]).map(Self.notification)
    }

    func notifications(_ query: NotificationQuery) throws -> [NotificationRecord] {
        let account = try query.transaction.map { try existingAccount(ofAnyTransaction: $0).id }
        let after = query.after
        return try sql.query(
            """
            SELECT * FROM notification
            WHERE at >= ?1 AND at < ?2 AND (?3 IS NULL OR type = ?3) AND (?4 IS NULL OR subtype = ?4)
                AND (?5 IS NULL OR account = ?5) AND (at, id) > (?6, ?7) AND (attempts > 0 OR ?8)
                AND (NOT ?9 OR (
                    EXISTS (SELECT 1 FROM attempt WHERE notification = notification.id AND result != 'SUCCESS')
                    AND NOT EXISTS (SELECT 1 FROM attempt WHERE notification = notification.id AND result = 'SUCCESS')))
            ORDER BY at, id LIMIT ?10
            """,
            [
                .integer(query.start.microseconds), .integer(query.end.microseconds), SQLValue(query.type?.rawValue),
                SQLValue(query.subtype?.rawValue), SQLValue(account), .integer(after?.at.microseconds ?? .min),
                .integer(after?.number ?? 0), SQLValue(query.includesUnsent), SQLValue(query.onlyFailures),
                .integer(Int64(query.limit)),
            ]
        ).map(Self.notification)
    }

    func sent(_ record: NotificationRecord, _ signer: StoreSigner) throws -> SentNotification {
        SentNotification(
            number: record.id, uuid: record.uuid, at: record.at, type: record.type,
            subtype: record.subtype, signedPayload: try record.signed ?? signer.sign(record.body),
            attempts: try attempts(of: record.id).map { .init(at: $0.at.wholeMilliseconds, result: $0.result) },
            due: record.due?.wholeMilliseconds)
    }

    /// Returns the account of a transaction or an app transaction. Throws `unknownTransaction`.
    func existingAccount(ofAnyTransaction id: TransactionID) throws -> Account {
        if let account = try account(appTransactionID: id.rawValue) { return account }
        guard let number = id.number else {
            throw SimulatorError(.unknownTransaction, "There is no transaction \(id).")
        }
        return try existingAccount(ofTransaction: number)
    }

    static func notification(_ row: SQLRow) throws -> NotificationRecord {
        let subtype: String? = try row["subtype"]
        let body: String = try row["body"]
        return NotificationRecord(
            id: try row["id"], uuid: try row["uuid"], at: try row.date("at"),
            type: .init(rawValue: try row["type"]), subtype: subtype.map { .init(rawValue: $0) },
            account: try row["account"], original: try row["original"], transaction: try row["purchase"],
            body: try NotificationBody(text: body), signed: try row["signed"], due: try row.optionalDate("due"),
            attempts: Int(try row.number("attempts", in: ColumnRange.readable)))
    }
}
