import AppStorePayloads
import StoreModel

/// One thing that Apple would tell the app's server: what happened, and to which transaction.
struct Notice: Sendable, Hashable {
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
    func repeats(_ other: Notice) -> Bool { type == other.type && subtype == other.subtype }
}

/// What a subscription's server is told, found by comparing how it stood with how it stands: whether somebody did
/// something or time did is the same.
///
/// Source: Apple, App Store Server Notifications, `notificationType` and `subtype`.
extension Course {
    /// What to tell of the one step that led here from `before`, in Apple's order; `nil` before there was a subscription.
    /// `isFirst`: whether the customer had none of the group before, bought or through the family.
    func notices(since before: Course?, isFirst: Bool = true) -> [Notice] {
        guard let before else { return [Notice(.subscribed, isFirst ? .initialBuy : .resubscribe, latest)] }
        let sales = sales(since: before)
        // While a payment is tried again nobody hears of what the next one costs.
        guard sales.isEmpty else { return sales + [changeOfPrice(since: before)].compactMap(\.self) }
        var notices: [Notice] = []
        if let change = changeOfPlan(since: before) { notices.append(change) }
        if let change = changeOfAutoRenewal(since: before) { notices.append(change) }
        notices += takenBack(since: before)
        if let change = changeOfPrice(since: before) { notices.append(change) }
        if status != .revoked, expiresDate > before.expiresDate {
            notices.append(Notice(.renewalExtended, nil, latest))
        }
        if let end = end(since: before) { notices.append(end) }
        return notices
    }

    private func sales(since before: Course) -> [Notice] {
        var notices: [Notice] = []
        for transaction in latest(count - before.count) {
            let isFirst = notices.isEmpty
            let wasPaidFor = !isFirst || before.isActive
            if transaction.isRenewal {
                let isRecovery = isFirst && (before.status == .gracePeriod || before.status == .billingRetry)
                notices.append(Notice(.didRenew, isRecovery ? .billingRecovery : nil, transaction))
            } else if wasPaidFor {
                let isOffer = transaction.offer.map { $0.kind != .introductory } ?? false
                notices.append(Notice(isOffer ? .offerRedeemed : .didChangeRenewalPref, .upgrade, transaction))
            } else {
                notices.append(Notice(.subscribed, .resubscribe, transaction))
            }
        }
        return notices
    }

    private func changeOfPlan(since before: Course) -> Notice? {
        guard isRunning, before.isRunning else { return nil }
        // Condensed: what was asked for and has been sold is asked for no more.
        let (old, new) = (before.condensed.renewal.offer, condensed.renewal.offer)
        let isOffer = new != nil && new != old
        let next = nextSale().plan.productID
        guard next != before.nextSale().plan.productID else {
            return isOffer ? Notice(.offerRedeemed, nil, latest) : nil
        }
        let isBack = next == current.plan.productID
        return Notice(isOffer ? .offerRedeemed : .didChangeRenewalPref, isBack ? nil : .downgrade, latest)
    }

    private func changeOfAutoRenewal(since before: Course) -> Notice? {
        guard before.isRunning else { return nil }
        let (wasOn, isOn) = (before.record.renewal.offSince == nil, record.renewal.offSince == nil)
        if isOn, !wasOn { return Notice(.didChangeRenewalStatus, .autoRenewEnabled, latest) }
        // A tester who ends a period ends it; the customer has turned nothing off.
        let isCut = before.status == .active && status == .expired
        guard wasOn, before.autoRenews, !isCut else { return nil }
        let isRefunded = status == .revoked && record.share == nil
        return !isOn || isRefunded ? Notice(.didChangeRenewalStatus, .autoRenewDisabled, latest) : nil
    }

    private func takenBack(since before: Course) -> [Notice] {
        var notices: [Notice] = []
        for (id, revocation) in record.revocations.sorted(by: { $0.key < $1.key }) {
            let old = before.record.revocations[id]
            guard revocation != old, let transaction = transaction(id) else { continue }
            let isShared = revocation.kind == .familyRevoke
            if revocation.isInForce(at: instant) {
                notices.append(Notice(isShared ? .revoke : .refund, nil, transaction))
            } else if old?.isInForce(at: before.instant) == true {
                // Who has access again through the family has subscribed again.
                notices.append(
                    isShared
                        ? Notice(.subscribed, .resubscribe, transaction) : Notice(.refundReversed, nil, transaction))
            }
        }
        guard notices.isEmpty, status == .revoked, before.isRunning else { return notices }
        return [Notice(.revoke, nil, latest)]
    }

    private func changeOfPrice(since before: Course) -> Notice? {
        guard let increase else { return nil }
        let isNew = before.increase?.at != increase.at
        if increase.needsConsent, !hasConsented { return isNew ? Notice(.priceIncrease, .pending, latest) : nil }
        return isNew || !before.hasConsented ? Notice(.priceIncrease, .accepted, latest) : nil
    }

    /// A payment that failed, or the end of what there was.
    private func end(since before: Course) -> Notice? {
        guard before.isRunning, status != before.status else { return nil }
        switch status {
        case .gracePeriod: return Notice(.didFailToRenew, .gracePeriod, latest)
        case .billingRetry:
            return Notice(before.status == .gracePeriod ? .gracePeriodExpired : .didFailToRenew, nil, latest)
        case .expired: return Notice(.expired, expirationIntent?.subtype, latest)
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
