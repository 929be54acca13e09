import StoreModel

/// Reads the customer's purchases from StoreKit, without a prompt to the customer.
struct StoreKitEntitlements: Sendable {
    /// The transactions that give access now, without renewal info.
    var current: @Sendable () async -> [StoreTransaction]
    /// The latest state of each subscription.
    var statuses: @Sendable () async -> [StoreSubscriptionStatus]
    var timeouts = StoreKitTimeouts()

    /// Returns the transactions that give access now. All renewal info shares one timeout: if it takes longer than
    /// `StoreKitTimeouts.details`, the transactions are returned without it.
    ///
    /// - Parameter onLateResult: Receives the latest transactions of subscriptions if their renewal info arrives later.
    /// - Throws: `StoreFailure` with the code `unreachable` if StoreKit does not answer; `CancellationError`.
    func transactions(onLateResult: @escaping StoreKitTransaction.LateHandler = { _ in }) async throws
        -> [StoreTransaction]
    {
        let owned = try await timeouts.answer("about purchases of this customer") { [current] in await current() }
        guard owned.contains(where: { $0.kind == .autoRenewableSubscription }) else { return owned }
        let subscriptions = Set(owned.map(\.originalID))
        let statuses = await timeouts.budget().answer(
            onLateResult: { statuses in
                for status in statuses where subscriptions.contains(status.transaction.originalID) {
                    await onLateResult(status.transaction)
                }
            }, { [statuses] in await statuses() })
        let infos = Dictionary(
            (statuses ?? []).map { ($0.transaction.originalID, $0.transaction.signedRenewalInfo) },
            uniquingKeysWith: { first, _ in first })
        return owned.map { transaction in
            var complete = transaction
            complete.signedRenewalInfo = infos[transaction.originalID] ?? nil
            return complete
        }
    }

    /// Returns the latest state of each subscription. Throws as `transactions(onLateResult:)`.
    func subscriptionStatuses() async throws -> [StoreSubscriptionStatus] {
        try await timeouts.answer("about subscriptions of this customer") { [statuses] in await statuses() }
    }
}
