import Foundation
import StoreModel

/// Subscriptions over several apps: seed 001's aggregation of receipt validation statuses.
extension StoreState {
    /// The subscription that counts in this app: its own, or a sibling's that counts in several apps. Active before ended,
    /// then the one with the later end; of equals this app's own.
    func countingSubscription(at now: Date) -> (info: SubscriptionInfo, teller: SharedUserInfo?)? {
        let own = ownSubscriptions(at: now).map { (info: $0, teller: nil as SharedUserInfo?) }
        let others = believedSiblings.flatMap { sibling in
            sibling.infos(at: now).map { (info: $0, teller: sibling as SharedUserInfo?) }
        }
        return (own + others).max { $0.info.countsLess(than: $1.info) }
    }

    /// This app's own status. Without one, a sibling's subscription that counts makes one, of production.
    func receiptValidationStatus(at now: Date) -> ReceiptValidationStatus? {
        if let answer { return ReceiptValidationStatus(answer) }
        return countingSubscription(at: now)?.teller.map {
            ReceiptValidationStatus(environment: .production, validatedAt: $0.validatedAt)
        }
    }

    /// The status of each app that has one: this one's as it is, a sibling's as it has told.
    var multiAppReceiptValidationStatus: [BundleID: ReceiptValidationStatus] {
        var statuses = siblings.mapValues {
            ReceiptValidationStatus(environment: $0.environment, validatedAt: $0.validatedAt)
        }
        if let application { statuses[application] = answer.map(ReceiptValidationStatus.init) }
        return statuses
    }

    /// Subscriptions of a test environment cost nothing, so they count for nobody who is known to buy in production.
    private var believedSiblings: [SharedUserInfo] {
        let isProduction = answer?.customer.environment == .production
        return siblings.values.filter { !isProduction || $0.environment == .production }
            .sorted { $0.application < $1.application }
    }

    /// What this app tells its siblings: only what the server said, nothing provisional and nothing of theirs. `nil` when
    /// the server has not spoken of this customer.
    func sharedUserInfo(of application: BundleID) -> SharedUserInfo? {
        guard let answer else { return nil }
        let all = answer.customer.subscriptions
            .map { SharedSubscription($0, accessUntil: lastAccess(of: $0)) }
            .sorted { $0.accessUntil > $1.accessUntil }
        let active = all.filter { $0.accessUntil > answer.receivedAt }
        return SharedUserInfo(
            application: application, environment: answer.customer.environment, validatedAt: answer.receivedAt,
            subscriptions: Array((active.isEmpty ? all : active).prefix(active.isEmpty ? 1 : Self.toldAtMost)))
    }

    /// More subscriptions than anybody has at once, so that what is told stays small.
    private static let toldAtMost = 16
}

extension ReceiptValidationStatus {
    fileprivate init(_ answer: StoreState.Answer) {
        self.init(
            environment: answer.customer.environment, validatedAt: answer.receivedAt, failingSince: answer.failingSince)
    }
}
