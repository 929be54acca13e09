import Foundation
import GooglePlay
import Primitives
import SimulatorControl
import StoreModel

/// The real-time developer notifications of Google Play.
extension SimulatedAppStore {
    /// Returns the notifications of Google Play, oldest first, sent or not. Throws `SimulatorError` (`unknownAccount`,
    /// `notNow`).
    ///
    /// - Parameters:
    ///   - account: The account whose purchases the notifications are about; `nil` means all.
    ///   - token: The purchase; `nil` means all.
    ///   - after: The number of the notification after which the list begins.
    ///   - limit: The maximum number of notifications.
    package func playNotifications(
        of account: AccountName? = nil, purchase token: String? = nil, after: Int64 = 0, limit: Int = 100
    ) async throws -> [StoreControlWire.PlayNotification] {
        try await readPlayDatabase { records, _ in
            let account = try account.map { try records.db.existingAccount($0).id }
            return try records.notifications(of: account, token: token, after: after, limit: limit)
                .map(records.describe)
        }
    }

    /// Sends a test notification. Throws `SimulatorError` (`notNow`) while no URL is set.
    package func requestPlayTestNotification() async throws {
        try await writePlayDatabase { records, now in
            try Self.requireNotifications(records)
            try records.notify(at: now, about: nil) {
                $0.testNotification = DeveloperNotification.Test { $0.version = "1.0" }
            }
        }
    }

    /// Sends a notification again at once, whether or not it arrived. Returns it before the new attempt.
    ///
    /// Throws `SimulatorError` (`unknownNotification`, `notNow` while no URL is set).
    package func resendPlayNotification(_ number: Int64) async throws -> StoreControlWire.PlayNotification {
        try await writePlayDatabase { records, now in
            guard var record = try records.notification(number) else {
                throw SimulatorError(.unknownNotification, "Google Play has no notification \(number).")
            }
            try Self.requireNotifications(records)
            try records.sendAgain(number, at: now)
            record.due = now
            return try records.describe(record)
        }
    }

    /// Waits until every notification of Google Play that is due now was sent once. Returns the number of those that will
    /// be sent again, and the instant of the next retry.
    ///
    /// Throws `SimulatorError` (`notNow`) while no notifications are sent; `CancellationError` if the store closes or the
    /// task is cancelled.
    @discardableResult
    package func deliverPlayNotifications() async throws -> (waiting: Int, next: Date?) {
        guard configuration.notificationTransport != nil else {
            throw SimulatorError(.notNow, "This store was opened without a transport, so it sends no notifications.")
        }
        let mark = try await readPlayDatabase { records, now in
            try Self.requireNotifications(records)
            return try records.deliveryMark(at: now)
        }
        signal.raise([Self.notifications])
        while true {
            let raised = signal.mark()
            let isUnderWay = try await readPlayDatabase { records, _ in
                try Self.requireNotifications(records)
                return try records.isUnderWay(mark)
            }
            guard isUnderWay else { break }
            if signal.isClosed { throw CancellationError() }
            try Task.checkCancellation()
            await signal.wait(for: Self.delivered, since: raised)
        }
        return try await readPlayDatabase { records, _ in
            (try records.countRetries(), try records.nextRetry(after: mark.now)?.wholeMilliseconds)
        }
    }

    /// Throws `SimulatorError` (`notNow`) while no notifications are sent.
    private static func requireNotifications(_ records: PlayDatabase) throws {
        guard records.notifies else {
            throw SimulatorError(
                .notNow, "There is no URL for notifications; set \(StoreSetting.playNotificationsURL.name) first.")
        }
    }
}
