import Foundation
import StoreModel

/// All subscriptions of a user, from the backend.
struct SubscriptionsService: Sendable {
    let requests: CachedRequests<SubscriptionsResponse>

    func subscriptions(of user: UserId, ignoringCache: Bool = false) async throws -> Sourced<SubscriptionsResponse> {
        try await requests.answer(to: .getSubscriptions(.init(customerId: user)), ignoringCache: ignoringCache)
    }
}

extension SubscriptionsResponse {
    /// The subscriptions in a known state.
    var usable: UsableRows<SubscriptionInternal> {
        UsableRows(subscriptions, unreadable: unreadable) { row in
            row.state.isKnown ? nil : "The state \"\(row.state.rawValue)\" is not known."
        }
    }
}

extension SubscriptionInternal {
    /// The system that sold the subscription.
    var transactionType: PaidFeature.TransactionType {
        if tags.contains(.sourceAppStore) { return .appStore }
        return tags.contains(.sourceGooglePlay) ? .googlePlay : .web
    }

    var originalTransactionID: String? { tags.lazy.compactMap(\.originalTransactionID).first?.rawValue }
}

extension SubscriptionInternal.State {
    fileprivate var isKnown: Bool { [.new, .active, .canceled, .isUpcoming].contains(self) }
}

extension SubscriptionInternal.PricePoint {
    var nextPrice: Decimal? { Decimal(wirePrice: nextTotalPrice) }
    var introPrice: Decimal? { Decimal(wirePrice: introTotalPrice) }
    var nextPeriod: SubscriptionPeriod? { SubscriptionPeriod(wireValue: nextPeriodValue, type: nextPeriodType) }
    var introPeriod: SubscriptionPeriod? { SubscriptionPeriod(wireValue: introPeriodValue, type: introPeriodType) }
}
