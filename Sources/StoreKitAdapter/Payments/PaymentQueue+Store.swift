import Foundation
import StoreModel

/// What the store is asked besides purchases and restores.
extension PaymentQueue {
    /// What restoring brought, in the outcomes of a restore: `restored` for each product once, `nothingToRestore`, or
    /// `failed`.
    public func restorePurchases() async -> [PurchaseOutcome] {
        do {
            let products = Set(try await restore().map(\.productID)).sorted()
            return products.isEmpty ? [.nothingToRestore] : products.map { .restored(productId: $0.rawValue) }
        } catch {
            return [.failed(error: error)]
        }
    }

    /// Whether this device may pay at all. Throws `PaymentError`: `storeFailed`, `cancelled`, `shutDown`.
    public func canMakePayments() async throws -> Bool { try await asking { try await $0.canMakePayments() } }

    /// Where the customer shops. Throws as `canMakePayments`.
    public func storefront() async throws -> Storefront { try await asking { try await $0.storefront() } }

    /// Each storefront of the customer, the one last known first.
    public nonisolated var storefrontUpdates: AsyncStream<Storefront> { configuration.connection.storefrontUpdates }

    /// Redeems an offer code; `nil` lets the store ask for it. What it gives arrives as a completion, bound to
    /// `appAccountToken` where the store can. Throws as `canMakePayments`; `underlying` is the store's `StoreFailure`.
    public func redeemOfferCode(_ code: String?, appAccountToken: UUID? = nil) async throws {
        let redemption = OfferCodeRedemption(code: code, appAccountToken: appAccountToken)
        try await asking { try await $0.redeem(redemption) }
    }

    /// What the customer has begun to buy in the store itself: `purchase` goes on with it. For one listener.
    public nonisolated var promotedPurchases: AsyncStream<PromotedPurchase> {
        configuration.connection.promotedPurchases
    }

    /// What the store wants to tell the customer, such as a price that rises: all that is open, again at each change.
    public nonisolated var messages: AsyncStream<[StoreMessage]> { configuration.connection.messages }

    /// Lets the store show a message, or tells it what the customer said, such as whether they accept a higher price.
    /// Throws as `redeemOfferCode`.
    public func answer(_ message: StoreMessage.ID, with answer: StoreMessage.Answer) async throws {
        try await asking { try await $0.answer(message, with: answer) }
    }

    /// Returns the transactions that give this customer access now, without asking them anything. Empty where the store does
    /// not say. Throws as `canMakePayments`.
    public func ownedTransactions() async throws -> [StoreTransaction] {
        try await asking { try await $0.ownedTransactions() }
    }

    /// Returns the latest state of each subscription that this customer has or had. Throws as `redeemOfferCode`.
    public func subscriptionStatuses() async throws -> [StoreSubscriptionStatus] {
        try await asking { try await $0.subscriptionStatuses() }
    }

    /// Returns how the customer got the app: a JWS of Apple's app transaction. Throws as `redeemOfferCode`.
    public func appTransaction() async throws -> String { try await asking { try await $0.appTransaction() } }

    /// Returns whether this customer may get the introductory offer of a subscription group. Throws as `redeemOfferCode`.
    public func isEligibleForIntroductoryOffer(subscriptionGroupID: String) async throws -> Bool {
        try await asking { try await $0.isEligibleForIntroductoryOffer(subscriptionGroupID: subscriptionGroupID) }
    }

    /// Shows where the customer cancels or changes the subscriptions of a group, or all with `nil`. Throws as
    /// `redeemOfferCode`.
    public func showManageSubscriptions(subscriptionGroupID: String? = nil) async throws {
        try await asking { try await $0.showManageSubscriptions(subscriptionGroupID: subscriptionGroupID) }
    }

    /// Lets the customer ask the store for a refund of a transaction. Throws as `redeemOfferCode`.
    public func beginRefundRequest(for transaction: TransactionID) async throws -> RefundRequestStatus {
        try await asking { try await $0.beginRefundRequest(for: transaction) }
    }

    /// Whether a product can be bought now. Throws `PaymentError`, and `ProductRequestError` as it is.
    nonisolated func inquire(about product: ProductID) async throws {
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

    private func asking<Answer: Sendable>(
        _ question: @escaping @Sendable (any StoreConnection) async throws -> Answer
    ) async throws -> Answer {
        guard !isShutDown else { throw PaymentError.isShutDown }
        let connection = configuration.connection
        do {
            return try await abandonable { try await question(connection) }
        } catch {
            throw PaymentError(storeAnswered: error)
        }
    }
}

extension PaymentError {
    static let isShutDown = PaymentError(.shutDown, "The payment queue was shut down; make a new one.")

    /// What a connection threw.
    init(storeAnswered error: any Error) {
        switch error {
        case let failure as StoreFailure:
            self.init(failure.code == .cancelled ? .cancelled : .storeFailed, failure.reason, underlying: failure)
        case is CancellationError: self.init(.cancelled, "The store was no longer asked.", underlying: error)
        default: self.init(.storeFailed, "The store could not be asked; try again.", underlying: error)
        }
    }
}
