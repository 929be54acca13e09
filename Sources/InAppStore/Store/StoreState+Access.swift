import Foundation
import StoreModel

/// The end of access, computed from the server's last answer, the clock and the grace period.
extension StoreState {
    /// Returns the server's last answer with the ends of access that apply at `now`. A subscription that has ended by
    /// then is `expired`, unless it is `revoked`. A feature only gets its new end.
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

    /// Returns the next instant at which the snapshot can change without new data.
    func nextChange(after now: Date) -> Date? {
        let ends = (answer?.customer.features ?? []).compactMap(\.effectiveUntil).flatMap { [$0, $0 + graceSpan] }
        let subscriptionEnds = (answer?.customer.subscriptions ?? []).flatMap {
            [$0.effectiveUntil, $0.effectiveUntil + graceSpan]
        }
        let others =
            [answer?.customer.validUntil, offlineEnd].compactMap { $0 }
            + provisional.map { $0.end(after: timeLimits.offline) } + siblings.values.flatMap(\.ends)
        return (ends + subscriptionEnds + others).filter { $0 > now }.min()
    }

    func subscriptionInfo(at now: Date) -> SubscriptionInfo? { effectiveSubscription(at: now)?.info }

    /// Returns this app's own subscriptions: those of the server's answer, and provisional ones.
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

    /// Returns the instant at which access ends if the subscription does not renew.
    func accessEnd(of subscription: CustomerSubscription) -> Date {
        Self.isRevoked(subscription)
            ? min(subscription.effectiveUntil, subscription.revokedAt ?? subscription.startedAt)
            : accessEnd(subscription.effectiveUntil, of: subscription, at: subscription.effectiveUntil)
    }

    /// Returns the instant at which access ends: `end`, or the end of the grace period.
    ///
    /// The grace period counts from `end`, and applies while the server's answer is outdated. In production,
    /// subscriptions have one unless auto-renewal is off or they are revoked, and only if they had not ended at the
    /// time of the answer. It ends earlier if the server is unreachable for longer than `offlineTimeToLive`, but access
    /// never ends before `end`.
    private func accessEnd(_ end: Date, of subscription: CustomerSubscription?, at now: Date) -> Date {
        guard let answer, let subscription, now >= end, end > answer.customer.asOf, isStale(at: now),
            subscription.autoRenews != false, !Self.isRevoked(subscription)
        else { return end }
        return max(end, min(end + graceSpan, offlineEnd ?? .distantFuture))
    }

    /// The end of all grace periods while the server is unreachable; `nil` if no request failed since the last answer.
    private var offlineEnd: Date? { answer?.failingSince.map { $0 + timeLimits.offline } }

    private static func isRevoked(_ subscription: CustomerSubscription) -> Bool {
        subscription.revokedAt != nil || subscription.state == .revoked
    }

    private var graceSpan: TimeInterval { answer?.customer.environment == .production ? timeLimits.grace : 0 }
}
