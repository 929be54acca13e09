import StoreKitAdapter
import StoreModel

/// The App Store's services to its customers, besides purchases.
extension Store {
    /// Shows the subscriptions, so that the customer can cancel or change them. On iOS it shows a sheet, and returns
    /// when the customer has closed it. On macOS it opens a page of the App Store, and returns at once.
    ///
    ///     try await store.showManageSubscriptions()
    ///
    /// - Parameter subscriptionGroupID: The group whose subscriptions are shown (`StoreProduct.subscription`); `nil`
    ///   shows all.
    /// - Throws: `PurchaseError`: `unsupported` if the store has no such sheet, `operationCancelled`, otherwise
    ///   `manageSubscriptionsFailed`.
    public func showManageSubscriptions(subscriptionGroupID: String? = nil) async throws {
        do {
            try await queue.showManageSubscriptions(subscriptionGroupID: subscriptionGroupID)
        } catch {
            throw PurchaseError.ofStoreRequest(error, otherwise: .manageSubscriptionsFailed)
        }
    }

    /// Shows the sheet on which the customer requests a refund from the App Store. Returns when the customer has
    /// answered.
    ///
    /// The App Store decides within days. A refund then arrives as an event, `purchaseRevoked`, and ends the access.
    ///
    ///     let status = try await store.beginRefundRequest(for: transaction.id)
    ///
    /// - Parameter transaction: The transaction to refund, for example `StorePurchase.transaction`.
    /// - Returns: Whether the App Store received the request.
    /// - Throws: `PurchaseError`: `unsupported` if the store accepts no requests, `operationCancelled`, otherwise
    ///   `refundRequestFailed`. After a second request, `underlying` is a `PaymentError` whose `underlying` is the
    ///   `StoreFailure` `duplicateRefundRequest`.
    public func beginRefundRequest(for transaction: TransactionID) async throws -> RefundRequestStatus {
        do {
            return try await queue.beginRefundRequest(for: transaction)
        } catch {
            throw PurchaseError.ofStoreRequest(error, otherwise: .refundRequestFailed)
        }
    }

    /// Returns whether the customer may get the introductory offer of a product now. A customer gets one introductory
    /// offer in each subscription group.
    ///
    ///     if try await store.isEligibleForIntroductoryOffer("pro.monthly") { showTrial() }
    ///
    /// - Parameter productIdentifier: A product of the list.
    /// - Returns: Whether the customer is eligible; `false` for a product without an introductory offer.
    /// - Throws: `PurchaseError`: `invalidProductIdentifier` for an unlisted product, `productsMetadataFetchingFailed`,
    ///   `unsupported` if the store does not report the eligibility before a purchase, `operationCancelled`, otherwise
    ///   `offerEligibilityFailed`.
    public func isEligibleForIntroductoryOffer(_ productIdentifier: String) async throws -> Bool {
        let product = try await fetchProductsInfo([productIdentifier])[productIdentifier]
        guard let terms = product?.subscription, terms.introductoryOffer != nil else { return false }
        do {
            return try await queue.isEligibleForIntroductoryOffer(subscriptionGroupID: terms.groupID)
        } catch {
            throw PurchaseError.ofStoreRequest(error, otherwise: .offerEligibilityFailed)
        }
    }

    /// Returns the app transaction, which the App Store signed for this device: how the customer got the app, for
    /// example the version of the first installation. Send it to a server that verifies it.
    ///
    /// - Returns: Apple's app transaction as a JWS in compact serialization.
    /// - Throws: `PurchaseError`: `unsupported` if the store has none, `operationCancelled`, otherwise
    ///   `appTransactionFailed`.
    public func appTransaction() async throws -> String {
        do {
            return try await queue.appTransaction()
        } catch {
            throw PurchaseError.ofStoreRequest(error, otherwise: .appTransactionFailed)
        }
    }
}
