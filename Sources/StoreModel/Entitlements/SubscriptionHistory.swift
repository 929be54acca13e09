import Foundation

/// The past of one subscription, or of a customer's subscriptions of one group, as the store's facts state it.
package struct SubscriptionHistory: Hashable, Sendable {
    /// The date of the first purchase.
    package let startedAt: Date
    /// The number of periods that the customer has paid for. Free periods, refunded periods, and those that a family
    /// member paid for do not count.
    package let paidPeriods: Int
    /// Whether a period was sold with an introductory offer, refunded or not.
    package let hasUsedIntroductoryOffer: Bool
    /// Whether a period was sold with a promotional offer, refunded or not.
    package let hasUsedPromotionalOffer: Bool

    package init(
        startedAt: Date, paidPeriods: Int, hasUsedIntroductoryOffer: Bool = false, hasUsedPromotionalOffer: Bool = false
    ) {
        self.startedAt = startedAt
        self.paidPeriods = paidPeriods
        self.hasUsedIntroductoryOffer = hasUsedIntroductoryOffer
        self.hasUsedPromotionalOffer = hasUsedPromotionalOffer
    }

    /// Creates the history of a subscription of the App Store. Returns `nil` if the state has no transaction of it.
    package init?(of original: TransactionID, in state: CustomerState) {
        self.init(Self.periods(in: state) { $0.originalID == original })
    }

    /// Creates the history of periods of one customer. Returns `nil` without a period.
    package init?(_ periods: [TransactionFact]) {
        guard let startedAt = periods.map(\.originalPurchaseDate).min() else { return nil }
        self.init(
            startedAt: startedAt, paidPeriods: periods.withoutSeatAdditions.count(where: \.isPaid),
            hasUsedIntroductoryOffer: periods.contains(where: \.usedIntroductoryOffer),
            hasUsedPromotionalOffer: periods.contains { $0.offerType == Self.promotional })
    }

    /// Returns the periods of subscriptions of the App Store for which `isIncluded` is true.
    package static func periods(
        in state: CustomerState, where isIncluded: (TransactionFact) -> Bool
    ) -> [TransactionFact] {
        state.transactions.values.map(\.newest).filter {
            $0.kind == .autoRenewableSubscription && $0.source == .appStore && isIncluded($0)
        }
    }

    /// Apple's numbers of the kinds of offers.
    fileprivate static let (introductory, promotional) = (1, 2)

    /// Returns the number of complete days since the first purchase; 0 before it.
    package func days(at instant: Date) -> Int {
        let days = (instant.timeIntervalSince(startedAt) / 86400).rounded(.down)
        return days > 0 ? Int(exactly: min(days, 1e9)) ?? 0 : 0
    }
}

extension TransactionFact {
    /// Returns whether the period was sold with this promotional offer. A receipt states no kind of offer.
    package func used(promotionalOffer id: String) -> Bool {
        offerType.map { $0 == SubscriptionHistory.promotional } ?? isFromReceipt
            && offerIdentifier?.hasSameBytes(as: id) == true
    }

    /// A receipt states no price, so one of its periods is free only if it was a trial.
    fileprivate var isPaid: Bool {
        !isTrial && !isFamilyShared && (revocationDate == nil || isUpgraded) && price.map { $0.amount > 0 } != false
    }

    /// A receipt states no kind of offer.
    fileprivate var usedIntroductoryOffer: Bool {
        offerType.map { $0 == SubscriptionHistory.introductory } ?? (isTrial || isIntroductory)
    }
}
