import AppStorePayloads
import Foundation
import Primitives
import SignedData
import StoreModel

/// Writes down what the app's server is to be told, in the entry in which it happens: both are in the books, or neither.
struct NotificationWriter {
    let db: SimulatorDatabase
    let signer: StoreSigner
    /// The app's version, as notifications name it.
    let version: String
    private let isEveryOne: Bool

    /// How many notifications of what time does are written in one entry, so that others get their turn in between.
    static let limit = 1000

    /// `nil` while nobody is to be told.
    init?(_ db: SimulatorDatabase, _ signer: StoreSigner, version: String) throws {
        let settings = try db.settings()
        guard StoreSetting.notificationsURL.isSet(in: settings) else { return nil }
        self.db = db
        self.signer = signer
        self.version = version
        isEveryOne = settings[StoreSetting.notifySkippedTime.name]?.stringValue == "all"
    }

    // MARK: - Subscriptions

    /// Writes down what time has done to a subscription since it was last looked at. What is seen for the first time is
    /// told from now on.
    ///
    /// Returns its state at `now`; or an earlier one, if there was more than `limit` to write. Then another call goes on
    /// from there.
    func catchUp(
        _ record: SubscriptionRecord, of account: SimulatorDatabase.Account, under conditions: Conditions, at now: Date,
        limit: inout Int
    ) throws -> SubscriptionState {
        let reported = try db.reported(of: record.originalID) ?? now
        // The books may know already what happens a moment after what the clock reads.
        guard reported < now else { return SubscriptionState(of: record, under: conditions, at: max(reported, now)) }
        let timeline = NotificationTimeline(
            of: record, under: conditions, from: reported, to: now, isEveryOne: isEveryOne, limit: limit)
        limit -= timeline.steps.count
        for step in timeline.steps { try write(step.notification, step.state, of: account, at: step.state.instant) }
        return timeline.state
    }

    /// Tells how `state` differs from how it stood before, and goes on watching it. `isFirst`: of its group.
    func writeChanges(
        _ state: SubscriptionState, since before: SubscriptionState?, isFirst: Bool,
        of account: SimulatorDatabase.Account
    ) throws {
        for notification in state.notifications(since: before, isFirst: isFirst) {
            try write(notification, state, of: account, at: state.instant)
        }
        try watch(state)
    }

    /// Looks at it again when time does something; at once where it stood so before `now`.
    func watch(_ state: SubscriptionState, at now: Date? = nil) throws {
        let isBehind = now.map { state.instant < $0 } ?? false
        try db.watch(
            state.record.originalID, reported: state.instant, due: isBehind ? state.instant : state.nextChange)
    }

    // MARK: - Notifications

    /// About a transaction, and the subscription that it is of.
    func write(
        _ notification: StoreNotification, _ state: SubscriptionState?, of account: SimulatorDatabase.Account,
        at now: Date,
        reason: AppStoreServerAPI.ConsumptionRequestReason? = nil
    ) throws {
        let appTransactionID = account.appTransactionID
        try write(notification.type, notification.subtype, about: notification.transaction, of: account, at: now) {
            body in
            body.payload.data = AppStoreServerAPI.NotificationData {
                $0.bundleId = signer.bundleID.rawValue
                $0.bundleVersion = version
                $0.environment = .sandbox
                $0.status = state.map { .init(rawValue: $0.status.rawValue) }
                $0.consumptionRequestReason = reason
            }
            body.transaction = signer.payload(of: notification.transaction, appTransactionID: appTransactionID, at: now)
            body.renewalInfo = state.map {
                signer.payload(of: signer.renewalInfo($0), appTransactionID: appTransactionID, at: now)
            }
        }
    }

    /// About nothing but whether notifications arrive. Returns its UUID.
    func writeTest(at now: Date) throws -> String {
        try write(.test, nil, at: now) { body in
            body.payload.data = AppStoreServerAPI.NotificationData {
                $0.bundleId = signer.bundleID.rawValue
                $0.bundleVersion = version
                $0.environment = .sandbox
            }
        }
    }

    /// About a mass extension that has ended.
    func write(_ summary: AppStoreServerAPI.NotificationSummary, at now: Date) throws {
        try write(.renewalExtension, .summary, at: now) { $0.payload.summary = summary }
    }

    /// About a parent who no longer consents to a child's use of the app.
    func writeRescindConsent(of account: SimulatorDatabase.Account, at now: Date) throws {
        try write(.rescindConsent, nil, of: account, at: now) { body in
            body.payload.appData = AppStoreServerAPI.NotificationAppData {
                $0.bundleId = signer.bundleID.rawValue
                $0.environment = .sandbox
            }
            body.appTransaction = signer.payload(ofAppTransaction: account, version: version, at: now)
        }
    }

    @discardableResult
    private func write(
        _ type: StoreNotification.Kind, _ subtype: StoreNotification.Subtype?,
        about transaction: TransactionRecord? = nil,
        of account: SimulatorDatabase.Account? = nil, at now: Date, _ fill: (inout NotificationBody) -> Void
    ) throws -> String {
        let id = try db.nextNotification()
        // A state that is imported again goes on under another revision of the clock.
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

/// Time has done more to a subscription than one entry in the books writes down: the rest comes first, in entries of
/// its own.
struct NotificationsBehind: Error {
    var original: Int64
}

extension StoreSigner {
    /// A notification as it is sent. Throws `SignedDataError`.
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
