import Foundation
import StoreKitAdapter
import StoreModel

/// The values that the store knows, and their consequences at an instant. Pure: no requests and no side effects.
///
/// The server's last answer is valid until its `validUntil`. After that, and until the next answer, an entitlement ends
/// only by its own expiry, plus the grace period of a subscription. Even if the server stays unreachable, no
/// entitlement from an answer ends before its expiry.
struct StoreState: Sendable, Equatable {
    var list: ProductList
    /// The customer who owns the values below.
    var owner: Owner
    var answer: Answer?
    var acquiredViaSubscription: Set<ProductID> = []
    /// The purchases that only this device has verified, and the server has not decided about.
    var provisional: [ProvisionalPurchase] = []
    /// The transactions that the server rejected. They never become provisional.
    var rejectedTransactions: Set<TransactionID> = []
    var downloadedContent: Set<ProductID> = []
    var storefrontRevision: ProductRequest.StorefrontRevision?
    /// The shared subscriptions of the sibling apps that give access in several apps.
    var siblings: [BundleID: SharedUserInfo] = [:]
    /// This app's bundle id, if it shares its subscriptions.
    var application: BundleID?
    var timeLimits = TimeLimits()
    /// The number of failed requests since the last answer, and when the last of them failed.
    var failures = 0
    var lastFailure: Date?

    /// The time limits, in seconds.
    struct TimeLimits: Sendable, Equatable {
        /// The time for which a subscription gives access after its expiry while the server's answer is outdated.
        /// Applies to production only.
        var grace: TimeInterval = 7 * 86400
        /// The time after the first failed request in which subscriptions have a grace period. Also the limit of
        /// provisional access.
        var offline: TimeInterval = 60 * 86400
        /// The age at which an answer is requested again, even if nothing in it changes.
        var validation: TimeInterval = 14 * 86400
        /// `validation` outside production, where subscriptions last for minutes. Applies during a subscription.
        var sandboxValidation: TimeInterval = 150
    }

    struct Owner: Sendable, Hashable {
        var customer: CustomerID
        var isAnonymous: Bool
    }

    /// The server's last answer, as it is stored on the device.
    struct Answer: Sendable, Equatable, Codable {
        var customer: Customer
        var receivedAt: Date
        var failingSince: Date?
    }

    /// The customer's storefront, once it is known.
    var storefront: Storefront? { storefrontRevision?.storefront }

    func snapshot(at now: Date) -> StoreSnapshot {
        let info = subscriptionInfo(at: now)
        let sets = ProductSets(
            list: list, purchased: purchased(at: now),
            acquiredViaSubscription: acquiredViaSubscription, subscription: info?.activeProduct,
            downloadedContent: downloadedContent)
        return StoreSnapshot(
            customer: owner.customer, allowedProducts: sets.allowed, purchasedProducts: sets.purchased,
            acquiredViaSubscriptionProducts: sets.acquiredViaSubscription, acquiredProducts: sets.acquired,
            downloadedContentProducts: sets.downloadedContent,
            subscriptionInfo: info,
            receiptValidationStatus: receiptValidationStatus(at: now),
            multiAppReceiptValidationStatus: multiAppReceiptValidationStatus,
            appStoreLocale: storefront?.locale,
            features: (customer(at: now)?.features ?? []).map { feature in
                guard feature.isActive, let end = feature.effectiveUntil, now >= end else { return feature }
                var ended = feature
                ended.isActive = false
                ended.because = "ended, and the server has sent no update"
                return ended
            })
    }

    private func purchased(at now: Date) -> Set<ProductID> {
        let provisional = activeProvisionalPurchases(at: now).filter { $0.kind != .autoRenewableSubscription }
        return Set((answer?.customer.purchases ?? []).filter(Self.isOwned).map(\.productID))
            .union(provisional.map(\.productID))
    }

    private static func isOwned(_ purchase: CustomerPurchase) -> Bool {
        purchase.revokedAt == nil && purchase.kind != .consumable && purchase.kind != .autoRenewableSubscription
    }
}

extension SubscriptionInfo {
    /// The product while it gives access.
    var activeProduct: ProductID? { isExpired ? nil : subscription.productID }
}
