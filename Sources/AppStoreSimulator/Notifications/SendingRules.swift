import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// How the settings want notifications to be sent, and what follows from it for one of them.
struct SendingRules: Sendable, Hashable {
    /// `nil`: nothing is sent.
    var url: String?
    var schedule = RetrySchedule.production
    /// What has arrived is sent once more.
    var duplicates = false
    /// Of two neighbours that wait, the later one goes first.
    var swapsNeighbours = false

    /// When a notification is sent again unless the attempt succeeds that begins `now`. What has arrived before is not.
    func due(ifFailing number: Int, begun now: Date, hasArrived: Bool) -> Date? {
        hasArrived ? nil : schedule.next(after: number, madeAt: now)
    }

    /// Whether a notification goes out once more at once, after attempt `number` ended so.
    func repeats(_ number: Int, _ result: AppStoreServerAPI.SendAttemptResult) -> Bool {
        duplicates && number == 1 && result == .success
    }
}

extension SendingRules {
    init(_ settings: [String: JSONValue]) {
        func value(_ setting: StoreSetting) -> JSONValue { settings[setting.name] ?? setting.off }
        if StoreSetting.notificationsURL.isSet(in: settings) { url = value(.notificationsURL).stringValue }
        if value(.notificationRetries) == "sandbox" { schedule = .once }
        duplicates = value(.notificationDuplicates).boolValue ?? false
        swapsNeighbours = value(.notificationsOutOfOrder).boolValue ?? false
    }
}
