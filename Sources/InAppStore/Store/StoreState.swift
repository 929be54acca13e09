import Foundation
import StoreModel

/// What the store knows, and what follows from it at an instant. Pure: nothing here asks anybody.
///
/// The server's last answer stands until its `validUntil`. After that, and until the next answer, what it gave ends only
/// by its own expiry plus the client's grace; no failure to reach the server takes anything away.
struct StoreState: Sendable, Equatable {
    var list: ProductList
    /// Whose purchases these are; what is below is about nobody else.
    var owner: Owner
    var answer: Answer?
    var acquiredViaSubscription: Set<ProductID> = []
    /// Products whose content is on the device.
    var downloadedContent: Set<ProductID> = []
    var storefront: Storefront?
    /// How long an entitlement outlives its expiry while no authoritative answer can be had; production only.
    var grace: TimeInterval
    /// How long an answer is not asked for again while nothing in it changes by itself.
    var validationInterval: TimeInterval = 14 * 86400
    /// Questions since the last answer that got none, and when the last of them ended.
    var failures = 0
    var lastFailure: Date?

    /// A customer of this device.
    struct Owner: Sendable, Hashable {
        var customer: CustomerID
        var isAnonymous: Bool
    }

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
            customer: owner.customer, allowedProducts: texts(allowed), purchasedProducts: texts(purchased),
            acquiredViaSubscriptionProducts: texts(acquiredViaSubscription),
            acquiredProducts: texts(purchased.union(acquiredViaSubscription)),
            downloadedContentProducts: texts(
                downloadedContent.union(list.products.filter { $0.contentFetcherParameters == nil }.map(\.id))),
            subscriptionInfo: info,
            receiptValidationStatus: answer.map {
                ReceiptValidationStatus(
                    environment: $0.customer.environment, validatedAt: $0.receivedAt, failingSince: $0.failingSince)
            },
            appStoreLocale: storefront?.locale,
            features: (customer(at: now)?.features ?? []).map { feature in
                guard feature.isActive, let end = feature.effectiveUntil, now >= end else { return feature }
                var ended = feature
                ended.isActive = false
                ended.because = "ended, and the server has not said more"
                return ended
            })
    }

    /// All products, not subscriptions themselves, that the active subscription enables; empty without one.
    func enabledProducts(by info: SubscriptionInfo?) -> Set<ProductID> {
        guard let info, !info.isExpired else { return [] }
        let candidates = list.products.filter { !$0.productType.isSubscription }
        guard let subscribed = list[info.subscription.productID] else { return Set(candidates.map(\.id)) }
        return Set(candidates.map(\.id).filter(subscribed.enables))
    }

    private static func isOwned(_ purchase: CustomerPurchase) -> Bool {
        purchase.revokedAt == nil && purchase.kind != .consumable && purchase.kind != .autoRenewableSubscription
    }

    /// Discounts count as the product at full price.
    private func texts(_ ids: Set<ProductID>) -> Set<String> {
        Set(ids.map { (list[$0]?.fullPriceProduct ?? $0).rawValue })
    }
}
