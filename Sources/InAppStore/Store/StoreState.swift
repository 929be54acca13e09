import Foundation
import StoreKitAdapter
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
    /// What only this device has found true, and the server has not judged.
    var provisional: [ProvisionalPurchase] = []
    /// Transactions that the server found untrue, so that they never become provisional.
    var refuted: Set<TransactionID> = []
    /// Products whose content is on the device.
    var downloadedContent: Set<ProductID> = []
    var visit: ProductRequest.Visit?
    /// What sibling apps have told of their subscriptions, those alone that count in several apps.
    var siblings: [BundleID: SharedUserInfo] = [:]
    /// This app, where it tells its siblings.
    var application: BundleID?
    var patience = Patience()
    /// Questions since the last answer that got none, and when the last of them ended.
    var failures = 0
    var lastFailure: Date?

    /// How long things are let be, in seconds.
    struct Patience: Sendable, Equatable {
        /// How long an entitlement outlives its expiry while no authoritative answer can be had; production only.
        var grace: TimeInterval = 7 * 86400
        /// How long the last answer may stand in for the server's, from the first failure on: after that there is no grace.
        var offline: TimeInterval = 60 * 86400
        /// How long an answer is not asked for again while nothing in it changes by itself.
        var validation: TimeInterval = 14 * 86400
        /// The same where subscriptions live for minutes: outside production, while there is one.
        var sandboxValidation: TimeInterval = 150
    }

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

    /// Where the customer shops, once that is known.
    var storefront: Storefront? { visit?.storefront }

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
                ended.because = "ended, and the server has not said more"
                return ended
            })
    }

    private func purchased(at now: Date) -> Set<ProductID> {
        let provisional = standingProvisional(at: now).filter { $0.kind != .autoRenewableSubscription }
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
