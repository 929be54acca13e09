import AppStorePayloads
import StoreModel

/// A notification that Apple would send: its type, and the transaction that it is about.
struct StoreNotification: Sendable, Hashable {
    typealias Kind = AppStoreServerAPI.NotificationType
    typealias Subtype = AppStoreServerAPI.Subtype

    var type: Kind
    var subtype: Subtype?
    var transaction: TransactionRecord

    init(_ type: Kind, _ subtype: Subtype? = nil, _ transaction: TransactionRecord) {
        self.type = type
        self.subtype = subtype
        self.transaction = transaction
    }

    /// Whether `other` has the same type and subtype.
    func repeats(_ other: StoreNotification) -> Bool { type == other.type && subtype == other.subtype }
}

/// The notifications about the difference between two states of a subscription, whether an event or time made it.
///
/// Source: Apple, App Store Server Notifications, `notificationType` and `subtype`.
extension SubscriptionState {
    /// Returns the notifications about one step from `before` to this state, in Apple's order.
    ///
    /// - Parameters:
    ///   - before: The state before the step; `nil` if there was no subscription.
    ///   - isFirst: Whether the customer had no subscription of the group before, bought or shared.
    func notifications(since before: SubscriptionState?, isFirst: Bool = true) -> [StoreNotification] {
        guard let before else { return [StoreNotification(.subscribed, isFirst ? .initialBuy : .resubscribe, latest)] }
        let sales = sales(since: before)
        // A price increase during billing retry is reported only with the recovered renewal.
        guard sales.isEmpty else { return sales + [changeOfPrice(since: before)].compactMap(\.self) }
        var notifications: [StoreNotification] = []
        if let change = changeOfPlan(since: before) { notifications.append(change) }
        if let change = changeOfSeats(since: before) { notifications.append(change) }
        if let change = changeOfAutoRenewal(since: before) { notifications.append(change) }
        notifications += revocations(since: before)
        if let change = changeOfPrice(since: before) { notifications.append(change) }
        if status != .revoked, expiresDate > before.expiresDate {
            notifications.append(StoreNotification(.renewalExtended, nil, latest))
        }
        if let end = end(since: before) { notifications.append(end) }
        return notifications
    }

    private func sales(since before: SubscriptionState) -> [StoreNotification] {
        var notifications: [StoreNotification] = []
        for transaction in latest(count - before.count) {
            let isFirst = notifications.isEmpty
            let wasPaidFor = !isFirst || before.isActive
            if transaction.isRenewal {
                let isRecovery = isFirst && (before.status == .gracePeriod || before.status == .billingRetry)
                notifications.append(StoreNotification(.didRenew, isRecovery ? .billingRecovery : nil, transaction))
            } else if wasPaidFor {
                let isOffer = transaction.offer.map { $0.kind != .introductory } ?? false
                notifications.append(
                    StoreNotification(isOffer ? .offerRedeemed : .didChangeRenewalPref, .upgrade, transaction))
            } else {
                notifications.append(StoreNotification(.subscribed, .resubscribe, transaction))
            }
        }
        return notifications
    }

    private func changeOfPlan(since before: SubscriptionState) -> StoreNotification? {
        guard isRunning, before.isRunning else { return nil }
        // `condensed` removes a next offer that was already sold, so that its sale is not a change.
        let (old, new) = (before.condensed.renewal.offer, condensed.renewal.offer)
        let isOffer = new != nil && new != old
        let next = nextTerm().plan
        guard !next.isSame(as: before.nextTerm().plan) else {
            return isOffer ? StoreNotification(.offerRedeemed, nil, latest) : nil
        }
        let isBack = next.isSame(as: current.plan)
        return StoreNotification(isOffer ? .offerRedeemed : .didChangeRenewalPref, isBack ? nil : .downgrade, latest)
    }

    /// Returns the notification about the number of seats of the next period. Seats that were added at once have a
    /// transaction of their own.
    private func changeOfSeats(since before: SubscriptionState) -> StoreNotification? {
        guard isRunning, before.isRunning, record.share == nil,
            let (new, old) = both(nextSale().plan.seats?.count, before.nextSale().plan.seats?.count), new != old
        else { return nil }
        let addition = record.additions.last.flatMap { addition in
            before.record.additions.contains { $0.id == addition.id } ? nil : transaction(of: addition)
        }
        return StoreNotification(
            .didChangeRenewalPref, new > old ? .increaseQuantity : .decreaseQuantity, addition ?? latest)
    }

    private func changeOfAutoRenewal(since before: SubscriptionState) -> StoreNotification? {
        guard before.isRunning else { return nil }
        let (wasOn, isOn) = (before.record.renewal.offSince == nil, record.renewal.offSince == nil)
        if isOn, !wasOn { return StoreNotification(.didChangeRenewalStatus, .autoRenewEnabled, latest) }
        let wasEndedByTester = before.status == .active && status == .expired
        guard wasOn, before.autoRenews, !wasEndedByTester else { return nil }
        let isRefunded = status == .revoked && record.share == nil
        return !isOn || isRefunded ? StoreNotification(.didChangeRenewalStatus, .autoRenewDisabled, latest) : nil
    }

    private func revocations(since before: SubscriptionState) -> [StoreNotification] {
        var notifications: [StoreNotification] = []
        for (id, revocation) in record.revocations.sorted(by: { $0.key < $1.key }) {
            let old = before.record.revocations[id]
            guard revocation != old, let transaction = transaction(id) else { continue }
            let isShared = revocation.kind == .familyRevoke
            if revocation.isInForce(at: instant) {
                notifications.append(StoreNotification(isShared ? .revoke : .refund, nil, transaction))
            } else if old?.isInForce(at: before.instant) == true {
                notifications.append(
                    isShared
                        ? StoreNotification(.subscribed, .resubscribe, transaction)
                        : StoreNotification(.refundReversed, nil, transaction))
            }
        }
        guard notifications.isEmpty, status == .revoked, before.isRunning else { return notifications }
        return [StoreNotification(.revoke, nil, latest)]
    }

    private func changeOfPrice(since before: SubscriptionState) -> StoreNotification? {
        guard let increase else { return nil }
        let isNew = before.increase?.at != increase.at
        if increase.needsConsent, !hasConsented {
            return isNew ? StoreNotification(.priceIncrease, .pending, latest) : nil
        }
        return isNew || !before.hasConsented ? StoreNotification(.priceIncrease, .accepted, latest) : nil
    }

    /// Returns the notification about a failed payment, or about the end of the grace period or the subscription.
    private func end(since before: SubscriptionState) -> StoreNotification? {
        guard before.isRunning, status != before.status else { return nil }
        switch status {
        case .gracePeriod: return StoreNotification(.didFailToRenew, .gracePeriod, latest)
        case .billingRetry:
            return StoreNotification(before.status == .gracePeriod ? .gracePeriodExpired : .didFailToRenew, nil, latest)
        case .expired: return StoreNotification(.expired, expirationIntent?.subtype, latest)
        case .active, .revoked: return nil
        }
    }
}

extension ExpirationIntent {
    fileprivate var subtype: AppStoreServerAPI.Subtype {
        switch self {
        case .cancelled: .voluntary
        case .billingError: .billingRetry
        case .priceIncrease: .priceIncrease
        case .productUnavailable: .productNotForSale
        }
    }
}

private func both<Value>(_ first: Value?, _ second: Value?) -> (Value, Value)? {
    first.flatMap { first in second.map { (first, $0) } }
}
