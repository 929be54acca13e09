import Foundation
import StoreModel

/// What the store knows, and what follows from it at an instant. Pure: nothing here asks anybody.
///
/// The server's last answer stands until its `validUntil`. After that, and until the next answer, what it gave ends only
/// by its own expiry plus the client's grace; no failure to reach the server takes anything away.
struct StoreState: Sendable, Equatable {
    var list: ProductList
    var answer: Answer?
    var acquiredViaSubscription: Set<ProductID> = []
    var locale: String?
    /// How long an entitlement outlives its expiry while no authoritative answer can be had; production only.
    var grace: TimeInterval
    /// How long an answer is not asked for again while nothing in it changes by itself.
    var validationInterval: TimeInterval = 14 * 86400
    /// Questions since the last answer that got none, and when the last of them ended.
    var failures = 0
    var lastFailure: Date?

    /// The server's last answer, as it is kept on the device.
    struct Answer: Sendable, Equatable, Codable {
        var customer: Customer
        var receivedAt: Date
        var failingSince: Date?
    }

    func snapshot(at now: Date) -> StoreSnapshot {
        let info = subscriptionInfo(at: now)
        let purchased = Set((answer?.customer.purchases ?? []).filter(Self.isOwned).map(\.productID))
        let enabled = enabledProducts(by: info)
        let allowed =
            enabled.intersection(acquiredViaSubscription).union(purchased)
            .union(list.products.filter(\.preAcquired).map(\.id))
        return StoreSnapshot(
            allowedProducts: texts(allowed), purchasedProducts: texts(purchased),
            acquiredViaSubscriptionProducts: texts(acquiredViaSubscription),
            acquiredProducts: texts(purchased.union(acquiredViaSubscription)),
            downloadedContentProducts: texts(
                Set(list.products.filter { $0.contentFetcherParameters == nil }.map(\.id))),
            subscriptionInfo: info,
            receiptValidationStatus: answer.map {
                ReceiptValidationStatus(
                    environment: $0.customer.environment, validatedAt: $0.receivedAt, failingSince: $0.failingSince)
            },
            appStoreLocale: locale,
            features: (customer(at: now)?.features ?? []).map { feature in
                guard feature.isActive, let end = feature.effectiveUntil, now >= end else { return feature }
                var ended = feature
                ended.isActive = false
                ended.because = "ended, and the server has not said more"
                return ended
            })
    }

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
        return (ends + subscriptionEnds + [answer?.customer.validUntil].compactMap { $0 }).filter { $0 > now }.min()
    }

    /// When the server is to be asked again: when its answer ends or has grown old, and after a failure with growing
    /// pauses. Of the distant past when there is no answer at all.
    var nextQuestion: Date {
        if failures > 0, let lastFailure {
            return lastFailure.addingTimeInterval(min(60 * pow(2, Double(min(failures, 10) - 1)), 6 * 3600))
        }
        guard let answer else { return .distantPast }
        let old = answer.receivedAt.addingTimeInterval(validationInterval)
        guard let end = answer.customer.validUntil else { return old }
        // An answer that had ended when it came (two clocks that differ) must not be asked for without a pause.
        return min(end > answer.receivedAt ? end : answer.receivedAt.addingTimeInterval(60), old)
    }

    /// Whether the answer no longer stands at `now` and should be asked for again.
    func isStale(at now: Date) -> Bool { answer?.customer.validUntil.map { now >= $0 } ?? (answer == nil) }

    /// All products, not subscriptions themselves, that the active subscription enables; empty without one.
    func enabledProducts(by info: SubscriptionInfo?) -> Set<ProductID> {
        guard let info, !info.isExpired else { return [] }
        let candidates = list.products.filter { !$0.productType.isSubscription }
        guard let subscribed = list[info.subscription.productID] else { return Set(candidates.map(\.id)) }
        return Set(candidates.map(\.id).filter(subscribed.enables))
    }

    func subscriptionInfo(at now: Date) -> SubscriptionInfo? {
        let all = (answer?.customer.subscriptions ?? []).map { subscription in
            let end = accessEnd(subscription.effectiveUntil, of: subscription, at: now)
            return SubscriptionInfo(subscription: subscription, isExpired: Self.isRevoked(subscription) || now >= end)
        }
        return all.max { left, right in
            (left.isExpired ? 0 : 1, left.subscription.effectiveUntil)
                < (right.isExpired ? 0 : 1, right.subscription.effectiveUntil)
        }
    }

    /// The first instant without access: `end`, or the end of the client's grace where that applies, to a subscription
    /// of production that was to renew and had not ended when the server spoke, once its answer no longer stands.
    private func accessEnd(_ end: Date, of subscription: CustomerSubscription?, at now: Date) -> Date {
        guard let answer, let subscription, now >= end, end > answer.customer.asOf, isStale(at: now),
            subscription.autoRenews != false, !Self.isRevoked(subscription)
        else { return end }
        return end + graceSpan
    }

    private static func isRevoked(_ subscription: CustomerSubscription) -> Bool {
        subscription.revokedAt != nil || subscription.state == .revoked
    }

    private var graceSpan: TimeInterval { answer?.customer.environment == .production ? grace : 0 }

    private static func isOwned(_ purchase: CustomerPurchase) -> Bool {
        purchase.revokedAt == nil && purchase.kind != .consumable && purchase.kind != .autoRenewableSubscription
    }

    /// Discounts count as the product at full price.
    private func texts(_ ids: Set<ProductID>) -> Set<String> {
        Set(ids.map { (list[$0]?.fullPriceProduct ?? $0).rawValue })
    }
}
