import AppStorePayloads
import Foundation
import Primitives
import SQLStorage
import StoreModel

/// What the app's server is told.
extension SimulatedAppStore {
    /// How many subscriptions are looked at in one entry.
    private static let watchedAtOnce = 500

    /// Writes down what the server is to be told of what time has done by now. Returns when time does something next.
    ///
    /// Several equal notices in a row of one subscription are one, unless `notifySkippedTime` is `all`. Throws
    /// `CancellationError` between two entries when the store closes or the caller is cancelled; the rest is written later.
    func watchTime() async throws -> Date? {
        while true {
            let (isDone, next) = try await database.write { [timestamps, virtualClock, configuration, signer] sql in
                let db = SimulatorDatabase(sql)
                guard let writer = try NotificationWriter(db, signer, version: configuration.applicationVersion)
                else { return (true, nil as Date?) }
                let now = try db.now(virtualClock)
                let conditions = try db.conditions()
                let due = try db.watched(dueBy: now, limit: Self.watchedAtOnce)
                var limit = NotificationWriter.limit
                for original in due where limit > 0 {
                    guard let record = try db.subscription(original),
                        let account = try db.account(record.accountID)
                    else { throw SimulatorDatabase.empty }
                    // What happened to somebody may be a moment ahead of the clock.
                    let end = max(now, account.lastEvent)
                    let state = try writer.catchUp(record, of: account, under: conditions, at: end, limit: &limit)
                    try writer.watch(state, at: end)
                    timestamps.reported(account.id, until: end)
                }
                return (due.count < Self.watchedAtOnce && limit > 0, try db.nextWatch())
            }
            if isDone { return next }
            if signal.isClosed { throw CancellationError() }
            try Task.checkCancellation()
        }
    }

    /// Writes down, in entries of their own, what was too much for another one.
    func catchUp(_ behind: NotificationsBehind) async throws {
        try await database.write { try SimulatorDatabase($0).setDue(behind.original) }
        _ = try await watchTime()
    }

    // MARK: - Asked for

    /// Sends a notification of the type `TEST`. Returns the token that asks what became of it. Throws `notNow` while there
    /// is no URL to send it to.
    public func requestTestNotification() async throws -> String {
        try await writeNotification { writer, now in "\(try writer.writeTest(at: now))_\(now.microseconds / 1000)" }
    }

    /// A parent no longer consents to the use of the app by this account. Throws `unknownAccount`.
    public func rescindConsent(of account: AccountName) async throws {
        try await recordEvent({ try $0.known(account) }) { try $0.notifyOfRescindedConsent() }
    }

    /// Writes something down that concerns nobody's purchases. Throws `notNow` while nobody is told anything.
    private func writeNotification<Value: Sendable>(
        _ body: @escaping @Sendable (NotificationWriter, Date) throws -> Value
    ) async throws -> Value {
        let value = try await database.write { [virtualClock, configuration, signer] sql in
            let db = SimulatorDatabase(sql)
            guard let writer = try NotificationWriter(db, signer, version: configuration.applicationVersion) else {
                throw SimulatorError(
                    .notNow, "There is no URL to notify; set the setting \(StoreSetting.notificationsURL.name).")
            }
            return try body(writer, try db.now(virtualClock))
        }
        signal.raise([Self.notifications])
        return value
    }

    /// Raised when there may be something to send; what happens to accounts and to the clock raises it as well.
    static let notifications: Int64 = -3
    /// Raised when something was sent.
    static let delivered: Int64 = -4

    // MARK: - What was told

    /// What became of a test notification; `nil` for a token that this store did not give.
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

    /// Notifications that were sent at least once, oldest first. Throws `unknownTransaction`.
    package func notificationHistory(_ query: NotificationQuery) throws -> [SentNotification] {
        try database.read { sql in
            let db = SimulatorDatabase(sql)
            return try db.notifications(query).map { try db.sent($0, signer) }
        }
    }
}

/// A notification and how it was sent.
package struct SentNotification: Sendable, Hashable {
    package struct Attempt: Sendable, Hashable {
        /// In virtual time.
        package var at: Date
        /// Absent while it is under way.
        package var result: String?
    }

    /// Its place in the order of all; grows.
    package var number: Int64
    package var uuid: String
    /// When it happened, to the microsecond: whoever asks for those after it asks for those after this.
    package var at: Date
    package var type: AppStoreServerAPI.NotificationType
    package var subtype: AppStoreServerAPI.Subtype?
    /// As it was, or is to be, sent.
    package var signedPayload: String
    package var attempts: [Attempt]
    /// When it is sent next.
    package var due: Date?
}

/// Which notifications are asked for.
package struct NotificationQuery: Sendable, Hashable {
    /// Those that happened at `start` or later, and before `end`.
    package var start = Date.distantPast
    package var end = Date.distantFuture
    package var type: AppStoreServerAPI.NotificationType?
    package var subtype: AppStoreServerAPI.Subtype?
    /// One of the customer's transactions; `nil`: everybody's.
    package var transaction: TransactionID?
    /// Only those whose sending failed and that have not arrived since. One on its first way is not among them.
    package var onlyFailures = false
    /// Also those that were not sent yet.
    package var includesUnsent = false
    /// After the one of that number at that instant, in the order of their instants.
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
