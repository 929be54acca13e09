import StoreModel

/// What StoreKit is asked for a payment.
struct StoreKitQuestions: Sendable {
    /// Asks the customer to confirm a purchase; ends when they have answered.
    typealias Sell = @Sendable () async -> Sale

    /// How Apple's sheet ended.
    enum Sale: Sendable {
        case bought(StoreKitTransaction)
        /// Waits for an approval.
        case pending
        /// Nothing was bought.
        case failed(StoreFailure)
        /// StoreKit was asked and did not say how it ended.
        case unknown(StoreFailure)
    }

    /// Looks up what a payment is for; `nil` when the store does not sell it. Asks the customer nothing. Throws
    /// `StoreFailure` and `CancellationError`.
    var product: @Sendable (Payment) async throws -> Sell?
    /// The customer's latest transaction of a product.
    var latest: @Sendable (ProductID) async -> StoreTransaction?
    /// One of the customer's transactions, finished or not, as far as the store remembers it.
    var find: @Sendable (TransactionID) async -> StoreKitTransaction?
    /// Finishes an unfinished transaction. Returns `false` when no unfinished transaction has that id.
    var finish: @Sendable (TransactionID) async -> Bool

    /// Makes a purchase.
    ///
    /// - Parameters:
    ///   - payment: what is bought.
    ///   - budget: how long the purchase may wait for details, all together.
    ///   - timeouts: how long it may wait for the product.
    ///   - late: gets renewal info that comes after the end of the budget.
    func answer(
        to payment: Payment, within budget: TimeoutBudget, _ timeouts: StoreKitTimeouts,
        late: @escaping StoreKitTransaction.Late
    ) async -> StoreKitStateMachine.Answer {
        let found: Sell?
        do {
            found = try await timeouts.answer("about the product") { [product] in try await product(payment) }
        } catch let failure as StoreFailure {
            return .failed(failure)
        } catch {
            return .failed(Self.givenUp)
        }
        guard let sell = found else {
            let reason = "The App Store sells no product \(payment.productID) to this app here and now."
            return .failed(StoreFailure(code: .invalidProduct, reason: reason))
        }
        let owned = await budget.answer { [latest] in await latest(payment.productID) }
        // The connection was closed: a sheet must not open now.
        guard !Task.isCancelled else { return .failed(Self.givenUp) }
        switch await sell() {
        case .bought(let bought):
            return .bought(await bought.withRenewalInfo(within: budget, late: late), owned: owned)
        case .pending: return .pending
        case .failed(let failure): return .failed(failure)
        case .unknown(let failure): return .unknown(failure)
        }
    }

    private static let givenUp = StoreFailure(
        code: .cancelled, reason: "The purchase was given up before the App Store asked the customer.")
}
