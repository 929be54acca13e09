import StoreModel

/// A transaction of StoreKit. How its subscription renews is a question of its own, which may need the network.
struct StoreKitTransaction: Sendable {
    typealias Late = @Sendable (StoreTransaction) async -> Void

    /// Has no renewal info.
    var transaction: StoreTransaction
    /// Returns the latest transaction of the same subscription with its renewal info, where StoreKit has them.
    var subscriptionStatus: @Sendable () async -> StoreTransaction?

    /// Returns the transaction with its renewal info. When StoreKit takes longer than `budget` allows, the transaction is
    /// returned without it, and `late` gets the latest transaction of the subscription with the info.
    func withRenewalInfo(within budget: TimeoutBudget, late: @escaping Late) async -> StoreTransaction {
        guard transaction.kind == .autoRenewableSubscription else { return transaction }
        let status = await budget.answer(late: late, subscriptionStatus)
        var complete = transaction
        complete.signedRenewalInfo = status?.signedRenewalInfo
        return complete
    }
}
