import Foundation
import StoreModel

/// Subscriptions across several apps: combines the receipt validation statuses of the apps.
extension StoreState {
    /// Returns the effective subscription in this app: its own, or a sibling's that counts in several apps. An active
    /// subscription takes precedence over an ended one. Otherwise, the one with the later end takes precedence, and at
    /// the same end, this app's own.
    func effectiveSubscription(at now: Date) -> (info: SubscriptionInfo, source: SharedUserInfo?)? {
        let own = ownSubscriptions(at: now).map { (info: $0, source: nil as SharedUserInfo?) }
        let others = applicableSiblings.flatMap { sibling in
            sibling.infos(at: now).map { (info: $0, source: sibling as SharedUserInfo?) }
        }
        return (own + others).max { $0.info.hasLowerPriority(than: $1.info) }
    }

    /// Returns this app's own status. Without one, returns the status of a sibling whose subscription is effective,
    /// with the environment `production`.
    func receiptValidationStatus(at now: Date) -> ReceiptValidationStatus? {
        if let answer { return ReceiptValidationStatus(answer) }
        return effectiveSubscription(at: now)?.source.map {
            ReceiptValidationStatus(environment: .production, validatedAt: $0.validatedAt)
        }
    }

    /// The status of each app that has one: this app's own, and those that siblings share.
    var multiAppReceiptValidationStatus: [BundleID: ReceiptValidationStatus] {
        var statuses = siblings.mapValues {
            ReceiptValidationStatus(environment: $0.environment, validatedAt: $0.validatedAt)
        }
        if let application { statuses[application] = answer.map(ReceiptValidationStatus.init) }
        return statuses
    }

    /// The siblings whose subscriptions give access here. Subscriptions of a test environment are free, so they give no
    /// access to a customer who buys in production.
    private var applicableSiblings: [SharedUserInfo] {
        let isProduction = answer?.customer.environment == .production
        return siblings.values.filter { !isProduction || $0.environment == .production }
            .sorted { $0.application < $1.application }
    }

    /// Returns the information that this app shares with its siblings: only data of the server, without provisional
    /// purchases and without the siblings' subscriptions. `nil` before the server's first answer about this customer.
    func sharedUserInfo(of application: BundleID) -> SharedUserInfo? {
        guard let answer else { return nil }
        let all = answer.customer.subscriptions
            .map { SharedSubscription($0, accessUntil: accessEnd(of: $0)) }
            .sorted { $0.accessUntil > $1.accessUntil }
        let active = all.filter { $0.accessUntil > answer.receivedAt }
        return SharedUserInfo(
            application: application, environment: answer.customer.environment, validatedAt: answer.receivedAt,
            subscriptions: Array((active.isEmpty ? all : active).prefix(active.isEmpty ? 1 : Self.maximumSubscriptions))
        )
    }

    /// The limit of shared subscriptions, which keeps the information small. No customer has so many at once.
    private static let maximumSubscriptions = 16
}

extension ReceiptValidationStatus {
    fileprivate init(_ answer: StoreState.Answer) {
        self.init(
            environment: answer.customer.environment, validatedAt: answer.receivedAt, failingSince: answer.failingSince)
    }
}
