import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// The settings for the delivery of notifications.
struct SendingRules: Sendable, Hashable {
    /// The URL of the app's server; `nil` if no notifications are sent.
    var url: String?
    var schedule = RetrySchedule.production
    /// Whether each notification that arrives at the first attempt is sent a second time.
    var duplicates = false
    /// Whether the second of two waiting notifications about one purchase is sent first.
    var swapsNeighbours = false

    /// Returns the instant of the next attempt if attempt `number`, which begins `now`, fails. Returns `nil` after the
    /// last attempt, and for a notification that has arrived before.
    func due(ifFailing number: Int, begun now: Date, hasArrived: Bool) -> Date? {
        hasArrived ? nil : schedule.next(after: number, madeAt: now)
    }

    /// Whether a notification is sent again at once after attempt `number` ended with `result`.
    func repeats(_ number: Int, _ result: AppStoreServerAPI.SendAttemptResult) -> Bool {
        duplicates && number == 1 && result == .success
    }
}

extension SendingRules {
    init(_ settings: [String: JSONValue]) {
        func value(_ setting: StoreSetting) -> JSONValue { settings[setting.name] ?? setting.defaultValue }
        if StoreSetting.notificationsURL.isSet(in: settings) { url = value(.notificationsURL).stringValue }
        if value(.notificationRetries) == "sandbox" { schedule = .once }
        duplicates = value(.notificationDuplicates).boolValue ?? false
        swapsNeighbours = value(.notificationsOutOfOrder).boolValue ?? false
    }
}
