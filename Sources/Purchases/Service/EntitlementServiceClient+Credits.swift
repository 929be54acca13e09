import HTTPCore

/// The server gives credit away only to whoever shows the customer's own token (`Configuration.customerToken`), or a
/// secret key.
extension EntitlementServiceClient: CreditService {
    /// Throws as every question does; an `underlying` problem with the code `unknown_credit` for a type that
    /// the app's feature file does not name.
    public func credit(_ type: String, of customer: CustomerID) async throws -> CreditBalance {
        try await get("/credits/\(PercentEncoding.encode(type))", of: customer, CreditBalance.self)
    }

    /// Throws as every question does; an `underlying` problem with the code `insufficient_credit` when there is too little.
    public func redeem(
        _ items: [RedeemRequest.Item], credit type: String, of customer: CustomerID
    ) async throws -> RedeemAnswer {
        try await post(
            RedeemRequest(items: items), to: "/credits/\(PercentEncoding.encode(type))/redeem", of: customer
        ).decoded(RedeemAnswer.self)
    }
}
