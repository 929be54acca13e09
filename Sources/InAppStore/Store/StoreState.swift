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
            appStoreLocale: locale, features: features(at: now))
    }

    /// The next instant at which the snapshot changes by itself.
    func nextChange(after now: Date) -> Date? {
        let ends = (answer?.customer.features ?? []).compactMap(\.effectiveUntil).flatMap { [$0, $0 + graceSpan] }
        let subscriptionEnds = (answer?.customer.subscriptions ?? []).flatMap {
            [$0.effectiveUntil, $0.effectiveUntil + graceSpan]
        }
        return (ends + subscriptionEnds + [answer?.customer.validUntil].compactMap { $0 }).filter { $0 > now }.min()
    }

    /// Whether the answer no longer stands at `now` and should be asked for again.
    func isStale(at now: Date) -> Bool { answer?.customer.validUntil.map { now >= $0 } ?? (answer == nil) }

    func enables(_ product: ProductID, at now: Date) -> Bool {
        enabledProducts(by: subscriptionInfo(at: now)).contains(product)
    }

    /// All products, not subscriptions themselves, that the active subscription enables; empty without one.
    func enabledProducts(by info: SubscriptionInfo?) -> Set<ProductID> {
        guard let info, !info.isExpired else { return [] }
        let candidates = list.products.filter { !$0.productType.isSubscription }
        guard let subscribed = list[info.subscription.productID] else { return Set(candidates.map(\.id)) }
        return Set(candidates.map(\.id).filter(subscribed.enables))
    }

    func subscriptionInfo(at now: Date) -> SubscriptionInfo? {
        let all = (answer?.customer.subscriptions ?? []).map { subscription in
            let isRevoked = subscription.revokedAt != nil || subscription.state == .revoked
            let hasEnded = hasEnded(subscription.effectiveUntil, willRenew: subscription.autoRenews != false, at: now)
            return SubscriptionInfo(subscription: subscription, isExpired: isRevoked || hasEnded)
        }
        return all.max { left, right in
            (left.isExpired ? 0 : 1, left.subscription.effectiveUntil)
                < (right.isExpired ? 0 : 1, right.subscription.effectiveUntil)
        }
    }

    private func features(at now: Date) -> [CustomerFeature] {
        (answer?.customer.features ?? []).map { feature in
            guard feature.isActive else { return feature }
            var current = feature
            let subscription = answer?.customer.subscriptions.first {
                $0.originalTransactionID == feature.originalTransactionID
            }
            let willRenew = subscription.map { $0.autoRenews != false } ?? false
            current.isActive = feature.effectiveUntil.map { !hasEnded($0, willRenew: willRenew, at: now) } ?? true
            if !current.isActive { current.because = "ended, and the server has not said more" }
            return current
        }
    }

    /// Past `end`, and past the client's grace where that applies: a production subscription that was to renew, while
    /// the server's answer no longer stands.
    private func hasEnded(_ end: Date, willRenew: Bool, at now: Date) -> Bool {
        let graceApplies = willRenew && isStale(at: now)
        return now >= (graceApplies ? end + graceSpan : end)
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
