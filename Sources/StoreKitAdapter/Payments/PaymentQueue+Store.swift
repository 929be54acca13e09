import Foundation
import StoreModel

/// Requests to the store besides purchases and restores.
extension PaymentQueue {
    /// Restores purchases, and returns the result as outcomes.
    ///
    /// - Returns: `restored` once for each product, `nothingToRestore`, or `failed`.
    public func restorePurchases() async -> [PurchaseOutcome] {
        do {
            let products = Set(try await restore().map(\.productID)).sorted()
            return products.isEmpty ? [.nothingToRestore] : products.map { .restored(productId: $0.rawValue) }
        } catch {
            return [.failed(error: error)]
        }
    }

    /// Returns whether this device may make payments.
    ///
    /// - Throws: ``PaymentError``: `storeFailed`, `cancelled`, `shutDown`.
    public func canMakePayments() async throws -> Bool { try await withConnection { try await $0.canMakePayments() } }

    /// Returns the customer's storefront.
    ///
    /// - Throws: ``PaymentError``, as ``canMakePayments()`` does.
    public func storefront() async throws -> Storefront { try await withConnection { try await $0.storefront() } }

    /// The customer's storefronts: the last known one first, then each change.
    public nonisolated var storefrontUpdates: AsyncStream<Storefront> { configuration.connection.storefrontUpdates }

    /// Redeems an offer code. The purchase that it gives arrives among the completions.
    ///
    /// - Parameters:
    ///   - code: The code; `nil` lets the store ask the customer for it.
    ///   - appAccountToken: The customer's token, to which the store binds the purchase if it can.
    /// - Throws: ``PaymentError``, as ``canMakePayments()`` does; `underlying` is the store's `StoreFailure`.
    public func redeemOfferCode(_ code: String?, appAccountToken: UUID? = nil) async throws {
        let redemption = OfferCodeRedemption(code: code, appAccountToken: appAccountToken)
        try await withConnection { try await $0.redeem(redemption) }
    }

    /// Purchases that the customer began in the App Store. Continue them with `purchase`. The stream has one reader.
    public nonisolated var promotedPurchases: AsyncStream<PromotedPurchase> {
        configuration.connection.promotedPurchases
    }

    /// The store's open messages to the customer, such as a price increase. Each change sends all open messages.
    public nonisolated var messages: AsyncStream<[StoreMessage]> { configuration.connection.messages }

    /// Answers a message of the store: shows it, or passes on the customer's answer, such as the consent to a price
    /// increase.
    ///
    /// - Parameters:
    ///   - message: The id of the message.
    ///   - answer: The answer.
    /// - Throws: ``PaymentError``, as ``redeemOfferCode(_:appAccountToken:)`` does.
    public func answer(_ message: StoreMessage.ID, with answer: StoreMessage.Answer) async throws {
        try await withConnection { try await $0.answer(message, with: answer) }
    }

    /// Returns the transactions that give this customer access now, without a prompt to the customer.
    ///
    /// - Returns: The transactions; none if the store does not list them.
    /// - Throws: ``PaymentError``, as ``canMakePayments()`` does.
    public func ownedTransactions() async throws -> [StoreTransaction] {
        try await withConnection { try await $0.ownedTransactions() }
    }

    /// Returns the latest state of each subscription that this customer has or had.
    ///
    /// - Throws: ``PaymentError``, as ``redeemOfferCode(_:appAccountToken:)`` does.
    public func subscriptionStatuses() async throws -> [StoreSubscriptionStatus] {
        try await withConnection { try await $0.subscriptionStatuses() }
    }

    /// Returns the app transaction as a JWS: how the customer got the app.
    ///
    /// - Throws: ``PaymentError``, as ``redeemOfferCode(_:appAccountToken:)`` does.
    public func appTransaction() async throws -> String { try await withConnection { try await $0.appTransaction() } }

    /// Returns whether this customer may get the introductory offer of a subscription group.
    ///
    /// - Parameter subscriptionGroupID: The id of the subscription group.
    /// - Returns: Whether the customer is eligible.
    /// - Throws: ``PaymentError``, as ``redeemOfferCode(_:appAccountToken:)`` does.
    public func isEligibleForIntroductoryOffer(subscriptionGroupID: String) async throws -> Bool {
        try await withConnection {
            try await $0.isEligibleForIntroductoryOffer(subscriptionGroupID: subscriptionGroupID)
        }
    }

    /// Shows the subscriptions, so that the customer can cancel or change them.
    ///
    /// - Parameter subscriptionGroupID: The group whose subscriptions are shown; `nil` shows all.
    /// - Throws: ``PaymentError``, as ``redeemOfferCode(_:appAccountToken:)`` does.
    public func showManageSubscriptions(subscriptionGroupID: String? = nil) async throws {
        try await withConnection { try await $0.showManageSubscriptions(subscriptionGroupID: subscriptionGroupID) }
    }

    /// Shows the sheet on which the customer requests a refund.
    ///
    /// - Parameter transaction: The transaction to refund.
    /// - Returns: Whether the store received the request.
    /// - Throws: ``PaymentError``, as ``redeemOfferCode(_:appAccountToken:)`` does.
    public func beginRefundRequest(for transaction: TransactionID) async throws -> RefundRequestStatus {
        try await withConnection { try await $0.beginRefundRequest(for: transaction) }
    }

    /// Checks that a product can be bought now. Throws `PaymentError` and `ProductRequestError`.
    nonisolated func checkProduct(_ product: ProductID) async throws {
        do {
            guard try await configuration.connection.canMakePayments() else {
                throw StoreFailure(code: .notAllowed, reason: "This device may not make payments.")
            }
            _ = try await configuration.products?.product(product)
        } catch let error as ProductRequestError {
            throw error
        } catch {
            throw PaymentError(storeAnswered: error)
        }
    }

    private func withConnection<Answer: Sendable>(
        _ operation: @escaping @Sendable (any StoreConnection) async throws -> Answer
    ) async throws -> Answer {
        guard !isShutDown else { throw PaymentError.isShutDown }
        let connection = configuration.connection
        do {
            return try await cancellableWait { try await operation(connection) }
        } catch {
            throw PaymentError(storeAnswered: error)
        }
    }
}

extension PaymentError {
    static let isShutDown = PaymentError(.shutDown, "The payment queue was shut down. Create a new one.")

    /// Converts an error that a connection threw.
    init(storeAnswered error: any Error) {
        switch error {
        case let failure as StoreFailure:
            self.init(failure.code == .cancelled ? .cancelled : .storeFailed, failure.reason, underlying: failure)
        case is CancellationError: self.init(.cancelled, "The request to the store was cancelled.", underlying: error)
        default: self.init(.storeFailed, "The request to the store failed. Try again.", underlying: error)
        }
    }
}
