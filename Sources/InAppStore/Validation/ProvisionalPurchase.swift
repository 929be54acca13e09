import Foundation
import StoreModel

/// A purchase that only this device has verified. It gives access until the server decides or it expires, and never for
/// longer than `offlineTimeToLive`. Its transaction is not acknowledged.
struct ProvisionalPurchase: Sendable, Equatable, Codable {
    var transactionID: TransactionID
    var originalTransactionID: TransactionID
    var productID: ProductID
    var kind: ProductType
    var purchasedAt: Date
    var expiresAt: Date?
    /// When this device first verified the purchase.
    var since: Date

    /// Creates the purchase that a signed transaction gives `customer`. Returns `nil` if `verified` differs from
    /// `transaction`, belongs to another customer, is for a consumable, is revoked or upgraded, or lacks its kind or a required
    /// date.
    init?(
        _ verified: VerifiedTransaction, of transaction: StoreTransaction, for customer: CustomerID, at now: Date
    ) {
        guard verified.id == transaction.id, verified.productID == transaction.productID,
            verified.appAccountToken.map({ $0 == customer.appAccountToken }) ?? true,
            verified.revocationDate == nil, !verified.isUpgraded, let purchasedAt = verified.purchaseDate,
            let kind = verified.kind, kind != .consumable,
            kind != .autoRenewableSubscription || verified.expiresDate != nil
        else { return nil }
        transactionID = transaction.id
        originalTransactionID = verified.originalID ?? transaction.id
        productID = transaction.productID
        self.kind = kind
        self.purchasedAt = purchasedAt
        expiresAt = verified.expiresDate
        since = now
    }

    /// Returns the first instant without access.
    func end(after timeToLive: TimeInterval) -> Date { min(since + timeToLive, expiresAt ?? .distantFuture) }
}

extension StoreState {
    /// Returns the purchases that give provisional access at `now`. A purchase that the server has revoked gives none.
    func activeProvisionalPurchases(at now: Date) -> [ProvisionalPurchase] {
        provisional.filter { now < $0.end(after: timeLimits.offline) && !isRevokedByServer($0) }
    }

    var provisionalSubscriptions: [CustomerSubscription] {
        provisional.filter { $0.kind == .autoRenewableSubscription && !isRevokedByServer($0) }.map { purchase in
            let end = purchase.end(after: timeLimits.offline)
            return CustomerSubscription(
                productID: purchase.productID, originalTransactionID: purchase.originalTransactionID, state: .active,
                startedAt: purchase.purchasedAt, expiresAt: purchase.expiresAt ?? end, effectiveUntil: end)
        }
    }

    private func isRevokedByServer(_ provisional: ProvisionalPurchase) -> Bool {
        guard let customer = answer?.customer else { return false }
        return customer.purchases.contains { $0.transactionID == provisional.transactionID && $0.revokedAt != nil }
            || customer.subscriptions.contains { subscription in
                subscription.originalTransactionID == provisional.originalTransactionID
                    && subscription.revokedAt.map { $0 >= provisional.purchasedAt } ?? false
            }
    }
}
