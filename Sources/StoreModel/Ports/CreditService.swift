/// A service that stores credit. Products add credit, and items are redeemed for it. The entitlement server is one.
public protocol CreditService: Sendable {
    /// Returns the balance of a customer.
    ///
    /// - Parameters:
    ///   - type: The kind of credit.
    ///   - customer: The customer.
    /// - Returns: The balance, with the costs of items.
    /// - Throws: An error if the service does not answer.
    func credit(_ type: String, of customer: CustomerID) async throws -> CreditBalance
    /// Spends credit on 1 to 100 items: on all of them or on none. An item that was redeemed before costs nothing, so a
    /// repeated call is safe.
    ///
    /// - Parameters:
    ///   - items: The items to unlock.
    ///   - type: The kind of credit.
    ///   - customer: The customer.
    /// - Returns: The cost of each item and the new balance.
    /// - Throws: An error if the balance is too small, or if the service does not answer.
    func redeem(
        _ items: [RedeemRequest.Item], credit type: String, of customer: CustomerID
    ) async throws -> RedeemAnswer
}
