import StoreModel

/// The StoreKit queries for a payment.
struct StoreKitQueries: Sendable {
    /// Asks the customer to confirm a purchase. Returns the customer's answer.
    typealias Sell = @Sendable () async -> Sale

    /// The result of Apple's purchase sheet.
    enum Sale: Sendable {
        case bought(StoreKitTransaction)
        /// The purchase waits for an approval.
        case pending
        /// Nothing was bought.
        case failed(StoreFailure)
        /// The store may have received the request, and StoreKit did not report its outcome.
        case unknown(StoreFailure)
    }

    /// Finds the product of a payment, without a prompt to the customer; `nil` if the store does not sell it. Throws
    /// `StoreFailure` and `CancellationError`.
    var product: @Sendable (Payment) async throws -> Sell?
    /// Returns the customer's latest transaction of a product.
    var latest: @Sendable (ProductID) async -> StoreTransaction?
    /// Returns a transaction of the customer, finished or not, if the store still has it.
    var find: @Sendable (TransactionID) async -> StoreKitTransaction?
    /// Finishes an unfinished transaction. Returns `false` when no unfinished transaction has that id.
    var finish: @Sendable (TransactionID) async -> Bool

    /// Makes a purchase.
    ///
    /// - Parameters:
    ///   - payment: The payment to make.
    ///   - budget: How long the purchase may wait for details, in total.
    ///   - timeouts: How long it may wait for the product.
    ///   - onLateResult: Receives renewal info that arrives after the end of the budget.
    func answer(
        to payment: Payment, within budget: TimeoutBudget, _ timeouts: StoreKitTimeouts,
        onLateResult: @escaping StoreKitTransaction.LateHandler
    ) async -> StoreKitStateMachine.Answer {
        let found: Sell?
        do {
            found = try await timeouts.answer("about the product") { [product] in try await product(payment) }
        } catch let failure as StoreFailure {
            return .failed(failure)
        } catch {
            return .failed(Self.cancelled)
        }
        guard let sell = found else {
            let reason = "The App Store does not sell the product \(payment.productID) to this app in this storefront."
            return .failed(StoreFailure(code: .invalidProduct, reason: reason))
        }
        let owned = await budget.answer { [latest] in await latest(payment.productID) }
        // The connection was closed, so no sheet may open.
        guard !Task.isCancelled else { return .failed(Self.cancelled) }
        switch await sell() {
        case .bought(let bought):
            return .bought(await bought.withRenewalInfo(within: budget, onLateResult: onLateResult), owned: owned)
        case .pending: return .pending
        case .failed(let failure): return .failed(failure)
        case .unknown(let failure): return .unknown(failure)
        }
    }

    private static let cancelled = StoreFailure(
        code: .cancelled, reason: "The purchase was cancelled before the App Store asked the customer.")
}
