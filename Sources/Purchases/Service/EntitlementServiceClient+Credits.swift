import HTTPCore

/// Credits. To spend them, the server requires the customer's own token (`Configuration.customerToken`) or a secret
/// key.
extension EntitlementServiceClient: CreditService {
    /// Returns the balance of a credit.
    ///
    /// - Parameters:
    ///   - type: The type of credit.
    ///   - customer: The customer who owns the credit.
    /// - Returns: The balance.
    /// - Throws: `PurchaseError`. For a type that is not in the app's feature file, its `underlying` problem has the
    ///   code `unknown_credit`.
    public func credit(_ type: String, of customer: CustomerID) async throws -> CreditBalance {
        try await get("/credits/\(PercentEncoding.encode(type))", of: customer, CreditBalance.self)
    }

    /// Spends credit on all of the items, or on none.
    ///
    /// - Parameters:
    ///   - items: The items to redeem, each with its id and type.
    ///   - type: The type of credit.
    ///   - customer: The customer who owns the credit.
    /// - Returns: The answer of the server.
    /// - Throws: `PurchaseError`. If the balance is too low, its `underlying` problem has the code
    ///   `insufficient_credit`.
    public func redeem(
        _ items: [RedeemRequest.Item], credit type: String, of customer: CustomerID
    ) async throws -> RedeemAnswer {
        try await post(
            RedeemRequest(items: items), to: "/credits/\(PercentEncoding.encode(type))/redeem", of: customer
        ).decoded(RedeemAnswer.self)
    }
}
