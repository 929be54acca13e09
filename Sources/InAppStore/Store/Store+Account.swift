import StoreKitAdapter
import StoreModel

/// The App Store's services to its customer besides selling.
extension Store {
    /// Shows where the customer cancels or changes subscriptions. On iOS it is a sheet, and this returns when it was closed.
    /// On macOS it is a page of the App Store, and this returns at once.
    ///
    ///     try await store.showManageSubscriptions()
    ///
    /// - Parameter subscriptionGroupID: shows the subscriptions of this group alone (`StoreProduct.subscription`); `nil`
    ///   shows all of the customer's.
    /// - Throws: `PurchaseError`: `unsupported` where the store shows nothing, `operationCancelled`, else
    ///   `manageSubscriptionsFailed`.
    public func showManageSubscriptions(subscriptionGroupID: String? = nil) async throws {
        do {
            try await queue.showManageSubscriptions(subscriptionGroupID: subscriptionGroupID)
        } catch {
            throw PurchaseError.ofQuestion(error, otherwise: .manageSubscriptionsFailed)
        }
    }

    /// Shows the sheet on which the customer asks the App Store for a refund, and returns when they have answered.
    ///
    /// The App Store decides within days. A refund then comes as an event, `purchaseRevoked`, and ends the access.
    ///
    ///     let status = try await store.beginRefundRequest(for: transaction.id)
    ///
    /// - Parameter transaction: the transaction to be refunded, for example `StorePurchase.transaction`.
    /// - Returns: whether the App Store has received the request.
    /// - Throws: `PurchaseError`: `unsupported` where the store takes no requests, `operationCancelled`, else
    ///   `refundRequestFailed`. The `StoreFailure` behind it is `duplicateRefundRequest` for a second request.
    public func beginRefundRequest(for transaction: TransactionID) async throws -> RefundRequestStatus {
        do {
            return try await queue.beginRefundRequest(for: transaction)
        } catch {
            throw PurchaseError.ofQuestion(error, otherwise: .refundRequestFailed)
        }
    }

    /// Returns whether the customer may get the introductory offer of a product now. A customer gets one introductory offer
    /// in each subscription group.
    ///
    ///     if try await store.isEligibleForIntroductoryOffer("pro.monthly") { showTrial() }
    ///
    /// - Parameter productIdentifier: a product of the list.
    /// - Returns: `false` also for a product that has no introductory offer.
    /// - Throws: `PurchaseError`: `invalidProductIdentifier` for what is not listed, `productsMetadataFetchingFailed`,
    ///   `unsupported` where the store does not say before a purchase, `operationCancelled`, else
    ///   `offerEligibilityFailed`.
    public func isEligibleForIntroductoryOffer(_ productIdentifier: String) async throws -> Bool {
        let product = try await fetchProductsInfo([productIdentifier])[productIdentifier]
        guard let terms = product?.subscription, terms.introductoryOffer != nil else { return false }
        do {
            return try await queue.isEligibleForIntroductoryOffer(subscriptionGroupID: terms.groupID)
        } catch {
            throw PurchaseError.ofQuestion(error, otherwise: .offerEligibilityFailed)
        }
    }

    /// Returns how the customer got the app, as the App Store signed it for this device: for example, with which version
    /// they began. Send it to a server that verifies it.
    ///
    /// - Returns: a JWS in compact serialization, of Apple's app transaction.
    /// - Throws: `PurchaseError`: `unsupported` where the store has none, `operationCancelled`, else `appTransactionFailed`.
    public func appTransaction() async throws -> String {
        do {
            return try await queue.appTransaction()
        } catch {
            throw PurchaseError.ofQuestion(error, otherwise: .appTransactionFailed)
        }
    }
}
