import Foundation
import HTTPCore
import Primitives

/// Offers of subscriptions. To sign one, the server requires the customer's own token (`Configuration.customerToken`) or
/// a secret key.
extension EntitlementServiceClient: OfferService {
    /// Signs a promotional offer for one purchase of a customer.
    ///
    /// - Parameters:
    ///   - offerID: The identifier of the offer at the store.
    ///   - product: The product.
    ///   - customer: The customer who buys.
    /// - Returns: The offer with its signatures.
    /// - Throws: `PurchaseError`. The `underlying` problem has the code `not_eligible` for a customer who is not
    ///   eligible, and `unknown_offer` for an offer that the server does not sign.
    public func sign(
        offer offerID: String, of product: ProductID, for customer: CustomerID
    ) async throws -> SignedOffer {
        try await sign(offer: offerID, of: product, nonce: nil, for: customer)
    }

    /// Signs a promotional offer with a nonce of the caller. Repeat it with the same nonce for the same purchase.
    ///
    /// - Parameters:
    ///   - offerID: The identifier of the offer at the store.
    ///   - product: The product.
    ///   - nonce: A UUID for one purchase, or `nil` if the server chooses it.
    ///   - customer: The customer who buys.
    /// - Returns: The offer with its signatures.
    /// - Throws: `PurchaseError`, as `sign(offer:of:for:)` does.
    public func sign(
        offer offerID: String, of product: ProductID, nonce: UUID?, for customer: CustomerID
    ) async throws -> SignedOffer {
        let request = OfferSignatureRequest(productID: product, offerID: offerID, nonce: nonce)
        let signed = try await post(request, to: "/offer-signatures", of: customer).decoded(SignedOffer.self)
        guard signed.productID == product, signed.offerID.hasSameBytes(as: offerID) else {
            throw PurchaseError(.protocolError, "The server signed another offer than the one in the request.")
        }
        return signed
    }

    /// Returns which offers a customer can use, as the server's ledger states.
    ///
    /// - Parameters:
    ///   - customer: The customer.
    ///   - product: The product, or `nil` for all products.
    /// - Returns: The products with the eligibility for their offers.
    /// - Throws: `PurchaseError`.
    public func offerEligibility(
        of customer: CustomerID, for product: ProductID? = nil
    ) async throws -> OfferEligibilityAnswer {
        let query = product.map { "?productID=\(PercentEncoding.encode($0.rawValue))" } ?? ""
        return try await get("/offer-eligibility" + query, of: customer, OfferEligibilityAnswer.self)
    }
}
