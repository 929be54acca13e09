import SimulatorControl
import Foundation
import SQLStorage
import StoreKitAdapter
import StoreModel

/// How the app's server is told.
extension SimulatedAppStore {
    // MARK: - Life

    /// Takes up what the last run left, and sends from now on if there is a transport. Throws `invalidValue`.
    func startSending() async throws {
        try await database.write { try SimulatorDatabase($0).endLostSendings() }
        if let url = configuration.notificationsURL,
            try database.read({ SendingRules(try SimulatorDatabase($0).settings()).url }) != url
        {
            try await set(.notificationsURL, to: .string(url))
        }
        guard let transport = configuration.notificationTransport else { return }
        let sender = NotificationSender(
            self, NotificationDelivery(transport: transport, deadline: configuration.notificationTimeout))
        sending.withLock { $0 = Task { await sender.run() } }
    }

    /// Returns when nothing is being sent any more. What waits must have been ended before.
    func stopSending() async {
        await sending.withLock { $0 }?.value
    }

    // MARK: - For a tester

    /// Returns when everything that is due now has been sent once: what time has done until now included, but not what
    /// happens meanwhile. Returns how many will be sent again, and when the next of them.
    ///
    /// Throws `notNow` while nothing is sent at all, and `CancellationError` when the store closes first.
    @discardableResult
    public func deliverNotifications() async throws -> (waiting: Int, next: Date?) {
        _ = try await watchTime()
        let mark = try database.read { sql in
            let db = SimulatorDatabase(sql)
            return try db.deliveryMark(at: try db.now(virtualClock))
        }
        signal.raise([Self.notifications])
        while true {
            let raised = signal.mark()
            let isUnderWay = try database.read { sql in
                let db = SimulatorDatabase(sql)
                try Self.mustSend(db, configuration)
                return try db.isUnderWay(mark)
            }
            guard isUnderWay else { break }
            if signal.isClosed { throw CancellationError() }
            try Task.checkCancellation()
            await signal.wait(for: Self.delivered, since: raised)
        }
        return try database.read { sql in
            let db = SimulatorDatabase(sql)
            return (
                waiting: try db.countRetries(), next: try db.nextRetry(after: mark.now)?.wholeMilliseconds
            )
        }
    }

    /// Sends a notification once more, whatever became of it before, and goes on with its schedule if that fails and it
    /// never arrived. Returns it as it is before that.
    ///
    /// Throws `unknownNotification`, and `notNow` while nothing is sent at all.
    @discardableResult
    public func resendNotification(_ uuid: String) async throws -> StoreControlWire.Notification {
        let notification = try await database.write { [virtualClock, configuration] sql in
            let db = SimulatorDatabase(sql)
            guard var record = try db.notification(uuid.lowercased()) else {
                throw SimulatorError(
                    .unknownNotification, "There is no notification \(uuid); list them to see which there are.")
            }
            try Self.mustSend(db, configuration)
            record.due = try db.now(virtualClock)
            try db.sendAgain(record)
            return try db.describe(record)
        }
        signal.raise([Self.notifications])
        return notification
    }

    /// Everything the server is told, oldest first: after the one of number `after`, at most `limit`.
    ///
    /// Throws `unknownAccount`.
    public func notifications(
        of account: AccountName? = nil, type: String? = nil, after: Int64 = 0, limit: Int = 100
    ) throws -> [StoreControlWire.Notification] {
        try database.read { sql in
            let db = SimulatorDatabase(sql)
            let account = try account.map { try db.known($0).id }
            return try db.notifications(of: account, type: type, after: after, limit: limit).map(db.describe)
        }
    }

    /// Throws `notNow` while nothing is sent at all.
    private static func mustSend(_ db: SimulatorDatabase, _ configuration: Configuration) throws {
        guard configuration.notificationTransport != nil else {
            throw SimulatorError(.notNow, "This store was opened without a transport, so it sends no notifications.")
        }
        guard SendingRules(try db.settings()).url != nil else {
            throw SimulatorError(
                .notNow, "There is no URL to notify; set the setting \(StoreSetting.notificationsURL.name).")
        }
    }
}

extension SimulatorDatabase {
    fileprivate func notifications(
        of account: Int64?, type: String?, after: Int64, limit: Int
    ) throws -> [NotificationRecord] {
        try sql.query(
            """
            SELECT * FROM notification
            WHERE id > ?1 AND (?2 IS NULL OR account = ?2) AND (?3 IS NULL OR type = ?3) ORDER BY id LIMIT ?4
            """,
            [.integer(after), SQLValue(account), SQLValue(type), .integer(Int64(limit))]
        ).map(Self.notification)
    }

    fileprivate func describe(_ record: NotificationRecord) throws -> StoreControlWire.Notification {
        StoreControlWire.Notification(
            number: record.id, uuid: record.uuid, at: record.at.wholeMilliseconds, type: record.type.rawValue,
            subtype: record.subtype?.rawValue, account: try record.account.flatMap { try account($0)?.name.rawValue },
            productID: record.body.transaction?.productId.map { ProductID(unchecked: $0) },
            transactionID: record.transaction.map { TransactionID(unchecked: "\($0)") },
            originalTransactionID: record.original.map { TransactionID(unchecked: "\($0)") },
            signedPayload: record.signed,
            attempts: try attempts(of: record.id).map { .init(at: $0.at.wholeMilliseconds, result: $0.result) },
            due: record.due?.wholeMilliseconds)
    }
}
