/// Who keeps the credit that consumables fill and items cost: the entitlement server.
public protocol CreditService: Sendable {
    /// How much credit of a type `customer` has.
    func credit(_ type: String, of customer: CustomerID) async throws -> CreditBalance
    /// Spends credit on 1 to 100 items, on all of them or none; what was redeemed before costs nothing, so asking again is
    /// safe.
    func redeem(
        _ items: [RedeemRequest.Item], credit type: String, of customer: CustomerID
    ) async throws -> RedeemAnswer
}
