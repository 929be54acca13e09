import HTTPCore
import Purchases
import StoreModel

/// The offers of subscriptions, as the server's ledger states.
extension Store {
    /// Fetches which offers the customer can use.
    ///
    /// - Parameter product: The product, or `nil` for all products.
    /// - Returns: The products with the eligibility for their offers.
    /// - Throws: `PurchaseError`: `offerEligibilityFailed`, `unsupported` without an offer service,
    ///   `operationCancelled`.
    public func offerEligibility(for product: ProductID? = nil) async throws -> OfferEligibilityAnswer {
        guard let offers else {
            throw PurchaseError(.unsupported, "This store has no offer service. Set one in its configuration.")
        }
        do {
            return try await offers.offerEligibility(of: customer, for: product)
        } catch is CancellationError {
            throw PurchaseError(.operationCancelled, "The request for offers was cancelled.")
        } catch {
            throw PurchaseError(
                .offerEligibilityFailed, (error as? PurchaseError)?.reason ?? "The request for offers failed.",
                underlying: error)
        }
    }

    /// Requests the signature of a promotional offer for the current customer.
    ///
    /// - Parameters:
    ///   - id: The identifier of the offer at the store.
    ///   - product: The listed product. The offer is that of the variant that a purchase would buy.
    /// - Returns: The signed offer, for one purchase, or `nil` without an offer service, and if the service does not sign
    ///   this offer.
    /// - Throws: `PurchaseError`, for example if the customer is not eligible.
    public func signedOffer(_ id: String, of product: ListedProduct) async throws -> SignedOffer? {
        guard let offers, !product.isSubscribersOnly else { return nil }
        do {
            return try await offers.sign(offer: id, of: try await idToBuy(for: product), for: customer)
        } catch let error as PurchaseError {
            let status = (error.underlying as? HTTPProblem)?.status
            guard error.code == .unsupported || status == 404 else { throw error }
            return nil
        }
    }
}
