import AppStorePayloads
import Foundation
import SignedData
import StoreModel

/// A statement of a verified notification about a refund.
enum RefundNotification: Sendable {
    /// The store requests consumption information, because the customer requested a refund.
    case requested(RequestedRefund)
    /// The store decided.
    case decided(RefundOutcome, of: TransactionID)
}

/// A decision of the store about a refund, by its name in records. The set is closed.
enum RefundOutcome: String, CaseIterable, Sendable {
    case refunded, declined, reversed

    init?(_ type: AppStoreServerAPI.NotificationType?) {
        switch type {
        case .refund: self = .refunded
        case .refundDeclined: self = .declined
        case .refundReversed: self = .reversed
        default: return nil
        }
    }
}

/// The transaction of a consumption request, and the customer's reason.
struct RequestedRefund: Sendable {
    let transaction: TransactionFact
    let reason: AppStoreServerAPI.ConsumptionRequestReason?
    let isAdvancedCommerce: Bool
}

extension RefundNotification {
    /// Returns `nil` for a notification that is not about a refund, or without a transaction.
    init?(_ notification: VerifiedNotification, _ facts: [PresentedFact], in environment: StoreEnvironment) {
        let transactions = facts.compactMap { fact -> TransactionFact? in
            guard fact.environment == environment, case .transaction(let transaction) = fact.content else { return nil }
            return transaction
        }
        guard let transaction = transactions.first else { return nil }
        let type = notification.payload.notificationType
        if type == .consumptionRequest {
            self = .requested(
                RequestedRefund(
                    transaction: transaction, reason: notification.payload.data?.consumptionRequestReason,
                    isAdvancedCommerce: notification.transaction?.payload.advancedCommerceInfo != nil))
        } else if let outcome = RefundOutcome(type) {
            self = .decided(outcome, of: transaction.id)
        } else {
            return nil
        }
    }
}
