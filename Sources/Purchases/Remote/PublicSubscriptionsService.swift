import Foundation
import StoreModel

/// Returns a user's subscriptions as values of `Subscription`, the type for apps.
struct PublicSubscriptionsService: Sendable {
    let subscriptions: SubscriptionsService

    /// Returns all subscriptions in the order of the answer, each with a copy of its successor. The copy has no
    /// successor of its own, because the list also contains the successor itself. Passes subscriptions that cannot be
    /// read, or have an unknown state, to `report`.
    func subscriptions(
        of user: UserId, at date: Date, report: @Sendable ([UnreadableRow]) -> Void
    ) async throws -> Sourced<[Subscription]> {
        let answer = try await subscriptions.subscriptions(of: user)
        let usable = answer.value.usable
        report(usable.unusable)
        let chain = SubscriptionChain(usable.rows)
        let listed = chain.rows.map { row in
            var subscription = Subscription(row, at: date)
            subscription.next = chain.successor(of: row).map { Subscription($0, at: date) }
            return subscription
        }
        return answer.map { _ in listed }
    }
}

extension Subscription {
    fileprivate init(_ row: SubscriptionInternal, at date: Date) {
        self.init(
            id: row.id, productIdentifier: row.pricePoint.ident, startDate: row.currentPeriodStartAt,
            endDate: row.currentPeriodEndAt, state: State(row, at: date), type: Origin(row.transactionType),
            price: row.pricePoint.nextPrice ?? row.pricePoint.introPrice, currencyCode: row.pricePoint.currencyCode,
            providedFeatures: row.pricePoint.services.map(\.featureIdent),
            originalTransactionID: row.originalTransactionID)
    }
}

extension Subscription.Origin {
    fileprivate init(_ type: PaidFeature.TransactionType) {
        self =
            switch type {
            case .appStore: .apple
            case .googlePlay: .android
            case .web: .web
            }
    }
}

extension Subscription.State {
    /// A cancelled subscription whose period is over has expired. A subscription with the backend's state `active` or
    /// `new` is active, whatever its dates.
    fileprivate init(_ row: SubscriptionInternal, at date: Date) {
        self =
            switch row.state {
            case .canceled: date < row.currentPeriodEndAt ? .cancelled : .expired
            case .isUpcoming: .upcoming
            default: .active
            }
    }
}
