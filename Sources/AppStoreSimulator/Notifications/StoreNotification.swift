import AppStorePayloads
import StoreModel

/// One thing that Apple would tell the app's server: what happened, and to which transaction.
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

    /// Whether it says the same of another transaction or instant.
    func repeats(_ other: StoreNotification) -> Bool { type == other.type && subtype == other.subtype }
}

/// What a subscription's server is told, found by comparing how it stood with how it stands: whether somebody did
/// something or time did is the same.
///
/// Source: Apple, App Store Server Notifications, `notificationType` and `subtype`.
extension SubscriptionState {
    /// What to tell of the one step that led here from `before`, in Apple's order; `nil` before there was a subscription.
    /// `isFirst`: whether the customer had none of the group before, bought or through the family.
    func notifications(since before: SubscriptionState?, isFirst: Bool = true) -> [StoreNotification] {
        guard let before else { return [StoreNotification(.subscribed, isFirst ? .initialBuy : .resubscribe, latest)] }
        let sales = sales(since: before)
        // While a payment is tried again nobody hears of what the next one costs.
        guard sales.isEmpty else { return sales + [changeOfPrice(since: before)].compactMap(\.self) }
        var notifications: [StoreNotification] = []
        if let change = changeOfPlan(since: before) { notifications.append(change) }
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
        // Condensed: what was asked for and has been sold is asked for no more.
        let (old, new) = (before.condensed.renewal.offer, condensed.renewal.offer)
        let isOffer = new != nil && new != old
        let next = nextSale().plan.productID
        guard next != before.nextSale().plan.productID else {
            return isOffer ? StoreNotification(.offerRedeemed, nil, latest) : nil
        }
        let isBack = next == current.plan.productID
        return StoreNotification(isOffer ? .offerRedeemed : .didChangeRenewalPref, isBack ? nil : .downgrade, latest)
    }

    private func changeOfAutoRenewal(since before: SubscriptionState) -> StoreNotification? {
        guard before.isRunning else { return nil }
        let (wasOn, isOn) = (before.record.renewal.offSince == nil, record.renewal.offSince == nil)
        if isOn, !wasOn { return StoreNotification(.didChangeRenewalStatus, .autoRenewEnabled, latest) }
        // A tester who ends a period ends it; the customer has turned nothing off.
        let isCut = before.status == .active && status == .expired
        guard wasOn, before.autoRenews, !isCut else { return nil }
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
                // Who has access again through the family has subscribed again.
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

    /// A payment that failed, or the end of what there was.
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
