/// A service that signs promotional offers, and decides which customers can use them. The entitlement server is one.
public protocol OfferService: Sendable {
    /// Signs a promotional offer for one purchase of a customer.
    ///
    /// - Parameters:
    ///   - offerID: The identifier of the offer at the store.
    ///   - product: The product.
    ///   - customer: The customer who buys.
    /// - Returns: The offer with its signatures.
    /// - Throws: An error if the customer is not eligible, or if the service does not answer.
    func sign(offer offerID: String, of product: ProductID, for customer: CustomerID) async throws -> SignedOffer
    /// Returns which offers a customer can use.
    ///
    /// - Parameters:
    ///   - customer: The customer.
    ///   - product: The product, or `nil` for all products.
    /// - Returns: The products with the eligibility for their offers.
    /// - Throws: An error if the service does not answer.
    func offerEligibility(of customer: CustomerID, for product: ProductID?) async throws -> OfferEligibilityAnswer
}
