import AppStorePayloads
import Foundation
import Primitives
import SQLStorage
import SimulatorControl
import StoreModel

/// Notifications for the app's server.
extension SimulatedAppStore {
    /// The maximum number of subscriptions in one commit.
    private static let commitSize = 500

    /// Writes the notifications that follow from time alone until now, for example about renewals, failed payments and
    /// expiry. Returns the instant of the next such change.
    ///
    /// Consecutive notifications of a subscription with the same type and subtype become one, unless
    /// `notifySkippedTime` is `all`. Throws `CancellationError` between two commits if the store closes or the task is
    /// cancelled; the rest is written later.
    func writeDueNotifications() async throws -> Date? {
        try await writeDueNotifications { _, _, _ in }.next
    }

    /// Writes due notifications as above, and makes further changes in the last commit.
    ///
    /// - Parameter further: Gets the database, its settings and the instant of the commit.
    func writeDueNotifications<Result: Sendable>(
        _ further: @escaping @Sendable (SimulatorDatabase, [String: JSONValue], Date) throws -> Result
    ) async throws -> (next: Date?, further: Result) {
        while true {
            let done = try await database.write { [self] sql -> (next: Date?, further: Result)? in
                let db = SimulatorDatabase(sql)
                let settings = try db.settings()
                let now = try db.now(virtualClock)
                var next: Date?
                if let writer = NotificationWriter(db, signer, settings, version: configuration.applicationVersion) {
                    guard try writeSomeDueNotifications(writer, at: now) else { return nil }
                    next = try db.nextWatch()
                }
                return (next, try further(db, settings, now))
            }
            if let done { return done }
            if signal.isClosed { throw CancellationError() }
            try Task.checkCancellation()
        }
    }

    /// Writes as many due notifications as one commit may have. Returns whether these were all.
    private func writeSomeDueNotifications(_ writer: NotificationWriter, at now: Date) throws -> Bool {
        let db = writer.db
        let conditions = try db.conditions()
        let due = try db.watched(dueBy: now, limit: Self.commitSize)
        var limit = NotificationWriter.limit
        for original in due where limit > 0 {
            guard let record = try db.subscription(original), let account = try db.account(record.accountID) else {
                throw SimulatorDatabase.empty
            }
            let end = max(now, account.lastEvent)
            let state = try writer.catchUp(record, of: account, under: conditions, at: end, limit: &limit)
            try writer.watch(state, at: end)
            timestamps.reported(account.id, until: end)
        }
        return due.count < Self.commitSize && limit > 0
    }

    /// Writes all due notifications, because those of one subscription are too many for the commit of an event.
    func writeDueNotifications(of original: Int64) async throws {
        try await database.write { try SimulatorDatabase($0).setDue(original) }
        _ = try await writeDueNotifications()
    }

    /// Writes a notification of the type `TEST`, which is then sent.
    ///
    /// - Returns: The token for the status of the test notification.
    /// - Throws: `SimulatorError` (`notNow`) while no URL for notifications is set.
    public func requestTestNotification() async throws -> String {
        try await writeNotification { writer, now in "\(try writer.writeTest(at: now))_\(now.microseconds / 1000)" }
    }

    /// Notifies the app's server that a parent rescinded the consent to the use of the app by an account. The account
    /// does not change. Does nothing while no URL for notifications is set.
    ///
    /// - Parameter account: The account of the child.
    /// - Throws: `SimulatorError` (`unknownAccount`).
    public func rescindConsent(of account: AccountName) async throws {
        try await recordEvent({ try $0.existingAccount(account) }) { try $0.notifyOfRescindedConsent() }
    }

    /// The types of notifications about a subscription that `createNotification` takes.
    static let createdTypes: [AppStoreServerAPI.NotificationType] = [.metadataUpdate, .migration, .priceChange]
    /// The subtypes of `EXTERNAL_PURCHASE_TOKEN` that `createNotification` takes; the first one is the default.
    static let tokenSubtypes: [AppStoreServerAPI.Subtype] = [.unreported, .created, .activeTokenReminder]

    /// Creates a notification of a type that no simulated event sends, and sends it.
    ///
    /// - Parameter new: The type and, except for `EXTERNAL_PURCHASE_TOKEN`, a transaction of a subscription.
    /// - Returns: The notification.
    /// - Throws: `SimulatorError` (`unknownTransaction`, `invalidValue`; `notNow` while no URL for notifications is
    ///   set).
    package func createNotification(
        _ new: StoreControlWire.NewNotification
    ) async throws -> StoreControlWire.Notification {
        let type = AppStoreServerAPI.NotificationType(rawValue: new.type)
        let uuid: String
        switch type {
        case .externalPurchaseToken:
            let subtype = new.subtype.map { AppStoreServerAPI.Subtype(rawValue: $0) } ?? .unreported
            guard new.transactionID == nil, Self.tokenSubtypes.contains(subtype) else {
                throw SimulatorError(
                    .invalidValue,
                    "EXTERNAL_PURCHASE_TOKEN has no transaction, and the subtype UNREPORTED, CREATED or "
                        + "ACTIVE_TOKEN_REMINDER.")
            }
            let appAppleID = appAppleID
            uuid = try await writeNotification {
                try $0.writeExternalPurchaseToken(subtype, appAppleID: appAppleID, at: $1)
            }
        case _ where Self.createdTypes.contains(type):
            guard new.subtype == nil, let transaction = new.transactionID else {
                throw SimulatorError(.invalidValue, "\(new.type) needs a transaction, and has no subtype.")
            }
            uuid = try await notify(type, of: transaction)
        default:
            throw SimulatorError(
                .invalidValue,
                "This is not METADATA_UPDATE, MIGRATION, PRICE_CHANGE or EXTERNAL_PURCHASE_TOKEN. "
                    + "Other types follow from events, such as a purchase.")
        }
        return try database.read { sql in
            let db = SimulatorDatabase(sql)
            guard let record = try db.notification(uuid) else { throw SimulatorDatabase.empty }
            return try db.describe(record)
        }
    }

    /// Writes a notification about a transaction of a subscription. Returns its UUID.
    private func notify(
        _ type: AppStoreServerAPI.NotificationType, of id: TransactionID
    ) async throws -> String {
        let unknown = SimulatorError(.unknownTransaction, "There is no transaction \(id).")
        guard let number = id.number else { throw unknown }
        return try await recordEvent({ try $0.existingAccount(ofTransaction: number) }) { event in
            guard let sale = try event.knownSale(of: number) else { throw unknown }
            guard sale.state != nil else {
                throw SimulatorError(.invalidValue, "The transaction \(id) is not of an auto-renewable subscription.")
            }
            guard let uuid = try event.notify(type, of: sale) else { throw Self.noNotificationsURL }
            return uuid
        }
    }

    private static let noNotificationsURL = SimulatorError(
        .notNow, "There is no URL for notifications; set \(StoreSetting.notificationsURL.name) first.")

    /// Writes a notification that is not about purchases. Throws `SimulatorError` (`notNow`) while no URL for
    /// notifications is set.
    private func writeNotification<Value: Sendable>(
        _ body: @escaping @Sendable (NotificationWriter, Date) throws -> Value
    ) async throws -> Value {
        let value = try await database.write { [virtualClock, configuration, signer] sql in
            let db = SimulatorDatabase(sql)
            guard
                let writer = try NotificationWriter(
                    db, signer, db.settings(), version: configuration.applicationVersion)
            else {
                throw Self.noNotificationsURL
            }
            return try body(writer, try db.now(virtualClock))
        }
        signal.raise([Self.notifications])
        return value
    }

    /// The key of `signal` for notifications to send. Events of accounts and of the clock raise it as well.
    static let notifications: Int64 = -3
    /// The key of `signal` that is raised after each attempt.
    static let delivered: Int64 = -4

    /// Returns the test notification of a token; `nil` if this store did not issue the token.
    package func testNotification(_ token: String) throws -> SentNotification? {
        let parts = token.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        return try database.read { sql in
            let db = SimulatorDatabase(sql)
            guard let record = try db.notification(String(parts[0])), record.type == .test,
                parts[1] == "\(record.at.microseconds / 1000)"
            else { return nil }
            return try db.sent(record, signer)
        }
    }

    /// Returns the notifications that match a query, oldest first. Throws `SimulatorError` (`unknownTransaction`).
    package func notificationHistory(_ query: NotificationQuery) throws -> [SentNotification] {
        try database.read { sql in
            let db = SimulatorDatabase(sql)
            return try db.notifications(query).map { try db.sent($0, signer) }
        }
    }
}

/// A notification and its attempts.
package struct SentNotification: Sendable, Hashable {
    package struct Attempt: Sendable, Hashable {
        /// The instant of the attempt, in virtual time.
        package var at: Date
        /// Absent while the attempt is in progress.
        package var result: String?
    }

    /// The number of the notification in the order of all notifications.
    package var number: Int64
    package var uuid: String
    /// The instant of its event, in whole microseconds. It is a part of the cursor for later notifications.
    package var at: Date
    package var type: AppStoreServerAPI.NotificationType
    package var subtype: AppStoreServerAPI.Subtype?
    /// The payload that was or will be sent.
    package var signedPayload: String
    package var attempts: [Attempt]
    /// The instant of the next attempt.
    package var due: Date?
}

/// A query for notifications.
package struct NotificationQuery: Sendable, Hashable {
    /// The earliest instant of an event. All events are before `end`.
    package var start = Date.distantPast
    package var end = Date.distantFuture
    package var type: AppStoreServerAPI.NotificationType?
    package var subtype: AppStoreServerAPI.Subtype?
    /// A transaction of the customer; `nil` means every customer.
    package var transaction: TransactionID?
    /// Whether only notifications are returned that failed and have not arrived since. A notification whose first
    /// attempt is in progress has not failed.
    package var onlyFailures = false
    /// Whether notifications that were not sent yet are included.
    package var includesUnsent = false
    /// The instant and the number of the notification after which the results begin, in the order of their instants.
    package var after: (at: Date, number: Int64)? {
        get { cursor.map { ($0.at, $0.number) } }
        set { cursor = newValue.map { Cursor(at: $0.at, number: $0.number) } }
    }
    package var limit = 20

    private var cursor: Cursor?
    private struct Cursor: Sendable, Hashable {
        var at: Date
        var number: Int64
    }

    package init() {}
}
