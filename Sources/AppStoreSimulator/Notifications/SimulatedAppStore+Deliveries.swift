import SimulatorControl
import Foundation
import SQLStorage
import StoreKitAdapter
import StoreModel

/// Delivery of notifications to the app's server.
extension SimulatedAppStore {
    /// Ends the attempts of an earlier run, and starts to send if there is a transport. Throws `SimulatorError`
    /// (`invalidValue`) for an invalid URL.
    func startSending() async throws {
        try await database.write { sql in
            try SimulatorDatabase(sql).endLostAttempts()
            try SimulatorDatabase(sql).endLostPerformanceTests()
        }
        if let url = configuration.notificationsURL,
            try database.read({ SendingRules(try SimulatorDatabase($0).settings()).url }) != url
        {
            try await set(.notificationsURL, to: .string(url))
        }
        if let url = configuration.playNotificationsURL { try await set(.playNotificationsURL, to: .string(url)) }
        guard let transport = configuration.notificationTransport else { return }
        let sender = NotificationSender(
            self, NotificationDelivery(transport: transport, deadline: configuration.notificationTimeout))
        senderTask.withLock { $0 = Task { await sender.run() } }
        guard let googlePlay else { return }
        let playSender = PlayNotificationSender(self, googlePlay, transport)
        playSenderTask.withLock { $0 = Task { await playSender.run() } }
    }

    /// Waits for the last attempt. `signal` must be closed first.
    func stopSending() async {
        await senderTask.withLock { $0 }?.value
        await playSenderTask.withLock { $0 }?.value
    }

    /// Waits until every notification that is due now was sent once. Renewals until now are included, later events are
    /// not.
    ///
    /// - Returns: The number of notifications that will be sent again, and the instant of the next retry.
    /// - Throws: `SimulatorError` (`notNow`) while no notifications are sent; `CancellationError` if the store closes
    ///   or the task is cancelled.
    @discardableResult
    public func deliverNotifications() async throws -> (waiting: Int, next: Date?) {
        _ = try await writeDueNotifications()
        let mark = try database.read { sql in
            let db = SimulatorDatabase(sql)
            return try db.deliveryMark(at: try db.now(virtualClock))
        }
        signal.raise([Self.notifications])
        while true {
            let raised = signal.mark()
            let isUnderWay = try database.read { sql in
                let db = SimulatorDatabase(sql)
                try Self.requireSending(db, configuration)
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

    /// Sends a notification again at once, whether or not it arrived. If the attempt fails and the notification never
    /// arrived, its retries continue.
    ///
    /// - Parameter uuid: The UUID of the notification.
    /// - Returns: The notification before the new attempt.
    /// - Throws: `SimulatorError` (`unknownNotification`; `notNow` while no notifications are sent).
    @discardableResult
    public func resendNotification(_ uuid: String) async throws -> StoreControlWire.Notification {
        let notification = try await database.write { [virtualClock, configuration] sql in
            let db = SimulatorDatabase(sql)
            guard var record = try db.notification(uuid.lowercased()) else {
                throw SimulatorError(
                    .unknownNotification, "There is no notification \(uuid); list the notifications to find its UUID.")
            }
            try Self.requireSending(db, configuration)
            record.due = try db.now(virtualClock)
            try db.sendAgain(record)
            return try db.describe(record)
        }
        signal.raise([Self.notifications])
        return notification
    }

    /// Returns the notifications for the app's server, oldest first, sent or not.
    ///
    /// - Parameters:
    ///   - account: The account that the notifications are about; `nil` means all.
    ///   - type: Apple's `notificationType`; `nil` means all.
    ///   - after: The number of the notification after which the list begins.
    ///   - limit: The maximum number of notifications.
    /// - Returns: The notifications.
    /// - Throws: `SimulatorError` (`unknownAccount`).
    public func notifications(
        of account: AccountName? = nil, type: String? = nil, after: Int64 = 0, limit: Int = 100
    ) throws -> [StoreControlWire.Notification] {
        try database.read { sql in
            let db = SimulatorDatabase(sql)
            let account = try account.map { try db.existingAccount($0).id }
            return try db.notifications(of: account, type: type, after: after, limit: limit).map(db.describe)
        }
    }

    /// Throws `SimulatorError` (`notNow`) while no notifications are sent.
    private static func requireSending(_ db: SimulatorDatabase, _ configuration: Configuration) throws {
        guard configuration.notificationTransport != nil else {
            throw SimulatorError(.notNow, "This store was opened without a transport, so it sends no notifications.")
        }
        guard SendingRules(try db.settings()).url != nil else {
            throw SimulatorError(
                .notNow, "There is no URL for notifications; set \(StoreSetting.notificationsURL.name) first.")
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

    func describe(_ record: NotificationRecord) throws -> StoreControlWire.Notification {
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
