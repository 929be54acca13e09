import Foundation

/// The past of one subscription, as the store's facts state it.
///
/// It covers all transactions with one original transaction id. They belong to one subscription group and one customer
/// of the store.
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
        let periods = state.transactions.values.map(\.newest).filter {
            $0.originalID == original && $0.kind == .autoRenewableSubscription && $0.source == .appStore
        }
        guard let startedAt = periods.map(\.originalPurchaseDate).min() else { return nil }
        self.init(
            startedAt: startedAt, paidPeriods: periods.withoutSeatAdditions.count(where: \.isPaid),
            hasUsedIntroductoryOffer: periods.contains(where: \.usedIntroductoryOffer),
            hasUsedPromotionalOffer: periods.contains { $0.offerType == Self.promotional })
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
    /// A receipt states no price, so one of its periods is free only if it was a trial.
    fileprivate var isPaid: Bool {
        !isTrial && !isFamilyShared && (revocationDate == nil || isUpgraded) && price.map { $0.amount > 0 } != false
    }

    /// A receipt states no kind of offer.
    fileprivate var usedIntroductoryOffer: Bool {
        offerType.map { $0 == SubscriptionHistory.introductory } ?? (isTrial || isIntroductory)
    }
}
