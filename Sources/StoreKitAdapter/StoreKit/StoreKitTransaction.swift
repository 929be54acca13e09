import StoreModel

/// A transaction of StoreKit. Its renewal info is a separate query, which may need the network.
struct StoreKitTransaction: Sendable {
    typealias LateHandler = @Sendable (StoreTransaction) async -> Void

    /// The transaction without renewal info.
    var transaction: StoreTransaction
    /// Returns the latest transaction of the same subscription with its renewal info, if StoreKit has them.
    var subscriptionStatus: @Sendable () async -> StoreTransaction?

    /// Returns the transaction with its renewal info. If StoreKit takes longer than `budget` allows, returns the
    /// transaction without it, and passes the latest transaction of the subscription with the info to `onLateResult`.
    func withRenewalInfo(within budget: TimeoutBudget, onLateResult: @escaping LateHandler) async -> StoreTransaction {
        guard transaction.kind == .autoRenewableSubscription else { return transaction }
        let status = await budget.answer(onLateResult: onLateResult, subscriptionStatus)
        var complete = transaction
        complete.signedRenewalInfo = status?.signedRenewalInfo
        return complete
    }
}
