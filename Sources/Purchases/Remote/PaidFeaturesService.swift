import Foundation
import StoreModel

/// Fetches the features that a user paid for, and joins each with its subscription.
struct PaidFeaturesService: Sendable {
    let features: FeaturesService
    let subscriptions: SubscriptionsService

    /// Returns the paid features. Requests the subscriptions only if a feature has a `lastSubscriptionId`. The result
    /// then has the origin of the older of the two answers. Subscriptions that cannot be read or have an unknown state
    /// are passed to `report`.
    func paidFeatures(
        of user: UserId, ignoringCache: Bool = false, report: @Sendable ([UnreadableRow]) -> Void
    ) async throws -> Sourced<PaidFeatures> {
        let rows = try await features.features(of: user, ignoringCache: ignoringCache)
        guard rows.value.contains(where: { $0.lastSubscriptionId != nil }) else {
            return rows.map { PaidFeatures(joining: $0, with: SubscriptionChain([])) }
        }
        let answer = try await subscriptions.subscriptions(of: user, ignoringCache: ignoringCache)
        report(answer.value.unusable)
        let joined = PaidFeatures(joining: rows.value, with: SubscriptionChain(answer.value.subscriptions))
        return Sourced(
            value: joined, origin: rows.origin.asOf <= answer.origin.asOf ? rows.origin : answer.origin)
    }
}

extension PaidFeatures {
    /// Joins features with subscriptions, by the table in Documentation/RemotePlugin.md.
    ///
    /// Start dates are not compared with the clock of the device, because the backend lists only features that have
    /// started. A subscription in an unknown state counts by its dates.
    init(joining rows: [FeatureInternal], with subscriptions: SubscriptionChain) {
        self.init(
            features: rows.map { row in
                guard let subscription = row.lastSubscriptionId.flatMap({ subscriptions[$0] }) else {
                    return PaidFeature(
                        name: row.feature, paymentType: row.actualTill.map { .until($0) } ?? .oneOff,
                        transactionType: .web, authority: .server)
                }
                return PaidFeature(row, paidBy: subscription, then: subscriptions.successor(of: subscription))
            })
    }
}

extension PaidFeature {
    fileprivate init(
        _ row: FeatureInternal, paidBy subscription: SubscriptionInternal, then next: SubscriptionInternal?
    ) {
        var current = Period(subscription)
        // After a refund, the feature ends before the period. In a grace period, it ends after the period.
        if let end = row.actualTill { current.endDate = end }
        let ident = subscription.pricePoint.ident
        self.init(
            name: row.feature, productIdentifier: subscription.transactionType == .web ? nil : ident,
            pricePointIdent: ident,
            originalTransactionID: subscription.originalTransactionID,
            paymentType: .subscription(Subscriptions(current: current, next: next.map(Period.init))),
            transactionType: subscription.transactionType, authority: .server)
    }
}

extension PaidFeature.Period {
    fileprivate init(_ subscription: SubscriptionInternal) {
        let point = subscription.pricePoint
        self.init(
            id: subscription.id, startDate: subscription.currentPeriodStartAt,
            endDate: subscription.currentPeriodEndAt, cancellationDate: subscription.canceledAt,
            isTrial: subscription.tags.contains(.trial), price: point.nextPrice, currencyCode: point.currencyCode,
            subscriptionPeriod: point.nextPeriod, introPrice: point.introPrice,
            introSubscriptionPeriod: point.introPeriod)
    }
}
