import AppStorePayloads
import Foundation
import Primitives
import SignedData
import StoreModel

/// Writes notifications for the app's server into the database. Those about an event are in the commit of that event.
struct NotificationWriter {
    let db: SimulatorDatabase
    let signer: StoreSigner
    /// The app's version in notifications.
    let version: String
    private let keepsRepeats: Bool

    /// The maximum number of notifications that follow from time alone in one commit. Other writes run between the
    /// commits.
    static let limit = 1000

    /// Returns `nil` while no URL for notifications is set.
    init?(_ db: SimulatorDatabase, _ signer: StoreSigner, _ settings: [String: JSONValue], version: String) {
        guard StoreSetting.notificationsURL.isSet(in: settings) else { return nil }
        self.db = db
        self.signer = signer
        self.version = version
        keepsRepeats = settings[StoreSetting.notifySkippedTime.name]?.stringValue == "all"
    }

    /// Writes the notifications that follow from time alone since the last call for the subscription. The first call
    /// writes none.
    ///
    /// Returns the state at `now`, or an earlier one if there were more than `limit` notifications. Another call
    /// continues from there.
    func catchUp(
        _ record: SubscriptionRecord, of account: SimulatorDatabase.Account, under conditions: RenewalConditions,
        at now: Date,
        limit: inout Int
    ) throws -> SubscriptionState {
        let reported = try db.reported(of: record.originalID) ?? now
        // The last event can be microseconds later than the clock.
        guard reported < now else { return SubscriptionState(of: record, under: conditions, at: max(reported, now)) }
        let timeline = NotificationTimeline(
            of: record, under: conditions, from: reported, to: now, keepsRepeats: keepsRepeats, limit: limit)
        limit -= timeline.steps.count
        for step in timeline.steps { try write(step.notification, step.state, of: account, at: step.state.instant) }
        return timeline.state
    }

    /// Writes the notifications about the difference between two states, and the instant of the next change. `isFirst`
    /// states whether this is the account's first subscription of the group.
    func writeChanges(
        _ state: SubscriptionState, since before: SubscriptionState?, isFirst: Bool,
        of account: SimulatorDatabase.Account
    ) throws {
        for notification in state.notifications(since: before, isFirst: isFirst) {
            try write(notification, state, of: account, at: state.instant)
        }
        try watch(state)
    }

    /// Stores the instant at which the subscription changes next, or the instant of `state` if that is before `now`.
    func watch(_ state: SubscriptionState, at now: Date? = nil) throws {
        let isBehind = now.map { state.instant < $0 } ?? false
        try db.watch(
            state.record.originalID, reported: state.instant, due: isBehind ? state.instant : state.nextChange)
    }

    /// Writes a notification about a transaction and its subscription. Returns its UUID.
    @discardableResult
    func write(
        _ notification: StoreNotification, _ state: SubscriptionState?, of account: SimulatorDatabase.Account,
        at now: Date,
        reason: AppStoreServerAPI.ConsumptionRequestReason? = nil, unclaimed: [UUID]? = nil
    ) throws -> String {
        let appTransactionID = account.appTransactionID
        return try write(notification.type, notification.subtype, about: notification.transaction, of: account, at: now)
        {
            body in
            body.payload.data = AppStoreServerAPI.NotificationData {
                $0.bundleId = signer.bundleID.rawValue
                $0.bundleVersion = version
                $0.environment = .sandbox
                $0.status = state.map { .init(rawValue: $0.status.rawValue) }
                $0.consumptionRequestReason = reason
            }
            body.payload.unclaimInfo = unclaimed.map { ids in .init { $0.unclaimSeatIds = ids } }
            body.transaction = signer.payload(of: notification.transaction, appTransactionID: appTransactionID, at: now)
            body.renewalInfo = state.map {
                signer.payload(of: signer.renewalInfo($0), appTransactionID: appTransactionID, at: now)
            }
        }
    }

    /// Writes a test notification. Returns its UUID.
    func writeTest(at now: Date) throws -> String {
        try write(.test, nil, at: now) { body in
            body.payload.data = AppStoreServerAPI.NotificationData {
                $0.bundleId = signer.bundleID.rawValue
                $0.bundleVersion = version
                $0.environment = .sandbox
            }
        }
    }

    /// Writes the summary of a mass extension.
    func write(_ summary: AppStoreServerAPI.NotificationSummary, at now: Date) throws {
        try write(.renewalExtension, .summary, at: now) { $0.payload.summary = summary }
    }

    /// Writes a notification that a parent rescinded the consent to a child's use of the app.
    func writeRescindConsent(of account: SimulatorDatabase.Account, at now: Date) throws {
        try write(.rescindConsent, nil, of: account, at: now) { body in
            body.payload.appData = AppStoreServerAPI.NotificationAppData {
                $0.bundleId = signer.bundleID.rawValue
                $0.environment = .sandbox
            }
            body.appTransaction = signer.payload(ofAppTransaction: account, version: version, at: now)
        }
    }

    /// Writes a notification about a token for purchases outside the App Store. Returns its UUID.
    func writeExternalPurchaseToken(
        _ subtype: StoreNotification.Subtype, appAppleID: Int, at now: Date
    ) throws -> String {
        try write(.externalPurchaseToken, subtype, at: now) { body in
            let id = body.payload.notificationUUID ?? ""
            body.payload.externalPurchaseToken = AppStoreServerAPI.ExternalPurchaseToken {
                $0.externalPurchaseId = "SANDBOX_\(id)"
                $0.tokenCreationDate = StoreSigner.signedDate(now)
                $0.appAppleId = appAppleID
                $0.bundleId = signer.bundleID.rawValue
            }
        }
    }

    @discardableResult
    private func write(
        _ type: StoreNotification.Kind, _ subtype: StoreNotification.Subtype?,
        about transaction: TransactionRecord? = nil,
        of account: SimulatorDatabase.Account? = nil, at now: Date, _ fill: (inout NotificationBody) -> Void
    ) throws -> String {
        let id = try db.nextNotification()
        // An imported state has another revision of the clock, so its new notifications get other UUIDs.
        let name = "notification \(try db.seed()) \(try db.clock().revision) \(id)"
        let uuid = UUID(namespace: .simulatedStore, name: name).uuidString.lowercased()
        var body = NotificationBody(
            ResponseBodyV2DecodedPayload {
                $0.notificationType = type
                $0.subtype = subtype
                $0.notificationUUID = uuid
                $0.version = "2.0"
                $0.signedDate = StoreSigner.signedDate(now)
            })
        fill(&body)
        try db.insert(
            NotificationRecord(
                id: id, uuid: uuid, at: now, type: type, subtype: subtype, account: account?.id,
                original: transaction?.originalID, transaction: transaction?.id, body: body, due: now))
        return uuid
    }
}

/// An error for a subscription with more due notifications than one commit writes. They must be written before the
/// event.
struct TooManyDueNotifications: Error {
    var original: Int64
}

extension StoreSigner {
    /// Returns the signed payload of a notification. Throws `SignedDataError`.
    func sign(_ body: NotificationBody) throws -> String {
        var payload = body.payload
        try sign(body.transaction) { payload.data?.signedTransactionInfo = $0 }
        try sign(body.renewalInfo) { payload.data?.signedRenewalInfo = $0 }
        try sign(body.appTransaction) { payload.appData?.signedAppTransactionInfo = $0 }
        return try signer.sign(payload)
    }

    private func sign(_ part: AppStorePayload<some AppStorePayloadFields>?, _ put: (String) -> Void) throws {
        if let part { put(try signer.sign(part)) }
    }
}
