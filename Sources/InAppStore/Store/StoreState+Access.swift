import Foundation
import StoreModel

/// Until when access lasts: what the server said, the clock, and the grace while nobody can be asked.
extension StoreState {
    /// The server's last answer with the ends of access that hold at `now`. Only the dates and what follows from them
    /// are changed: what the server called active stays so, and is over at its end.
    func customer(at now: Date) -> Customer? {
        guard var customer = answer?.customer else { return nil }
        let subscriptions = customer.subscriptions
        for index in customer.features.indices where customer.features[index].isActive {
            let original = customer.features[index].originalTransactionID
            let subscription = subscriptions.first { $0.originalTransactionID == original }
            customer.features[index].effectiveUntil = customer.features[index].effectiveUntil.map {
                accessEnd($0, of: subscription, at: now)
            }
        }
        for index in customer.subscriptions.indices {
            let subscription = customer.subscriptions[index]
            let end = accessEnd(subscription.effectiveUntil, of: subscription, at: now)
            customer.subscriptions[index].effectiveUntil = end
            if now >= end, subscription.state != .revoked { customer.subscriptions[index].state = .expired }
        }
        return customer
    }

    /// The next instant at which the snapshot changes by itself.
    func nextChange(after now: Date) -> Date? {
        let ends = (answer?.customer.features ?? []).compactMap(\.effectiveUntil).flatMap { [$0, $0 + graceSpan] }
        let subscriptionEnds = (answer?.customer.subscriptions ?? []).flatMap {
            [$0.effectiveUntil, $0.effectiveUntil + graceSpan]
        }
        let others =
            [answer?.customer.validUntil, offlineEnd].compactMap { $0 }
            + provisional.map { $0.end(after: patience.offline) } + siblings.values.flatMap(\.ends)
        return (ends + subscriptionEnds + others).filter { $0 > now }.min()
    }

    func subscriptionInfo(at now: Date) -> SubscriptionInfo? { countingSubscription(at: now)?.info }

    /// What the server and this device know of this app's own subscriptions.
    func ownSubscriptions(at now: Date) -> [SubscriptionInfo] {
        let all = (answer?.customer.subscriptions ?? []).map { subscription in
            let end = accessEnd(subscription.effectiveUntil, of: subscription, at: now)
            return SubscriptionInfo(subscription: subscription, isExpired: Self.isRevoked(subscription) || now >= end)
        }
        let provisional = provisionalSubscriptions.map { subscription in
            SubscriptionInfo(subscription: subscription, isExpired: now >= subscription.effectiveUntil)
        }
        return all + provisional
    }

    /// The first instant without access if nothing more is heard of a subscription.
    func lastAccess(of subscription: CustomerSubscription) -> Date {
        Self.isRevoked(subscription)
            ? min(subscription.effectiveUntil, subscription.revokedAt ?? subscription.startedAt)
            : accessEnd(subscription.effectiveUntil, of: subscription, at: subscription.effectiveUntil)
    }

    /// The first instant without access: `end`, or the end of the client's grace where that applies, to a subscription
    /// of production that was to renew and had not ended when the server spoke, once its answer no longer stands. The
    /// grace ends early when nobody has answered for the offline time to live; what has not expired never does.
    private func accessEnd(_ end: Date, of subscription: CustomerSubscription?, at now: Date) -> Date {
        guard let answer, let subscription, now >= end, end > answer.customer.asOf, isStale(at: now),
            subscription.autoRenews != false, !Self.isRevoked(subscription)
        else { return end }
        return max(end, min(end + graceSpan, offlineEnd ?? .distantFuture))
    }

    /// When what was last heard is too old to give anything beyond its own expiry; `nil` while no question has failed.
    private var offlineEnd: Date? { answer?.failingSince.map { $0 + patience.offline } }

    private static func isRevoked(_ subscription: CustomerSubscription) -> Bool {
        subscription.revokedAt != nil || subscription.state == .revoked
    }

    private var graceSpan: TimeInterval { answer?.customer.environment == .production ? patience.grace : 0 }
}
