import Foundation

/// Whose a purchase is: a pure fold over the claims customers made by presenting it, in the order they were made.
///
/// A purchase that carries an `appAccountToken` belongs to the customer of that token before all others: once that customer
/// is known it is theirs, whoever claimed it before, and nobody else may claim it. As long as that customer is unknown, and
/// where there is no token, the latest claim wins (transfer mode `transfer`: a purchase follows who presents it last).
public enum Attribution {
    /// Whether `customer` may not present a purchase bound to `token`.
    ///
    /// - Parameter isKnown: whether a customer with that token was ever seen.
    public static func refuses(_ customer: CustomerID, token: UUID?, isKnown: (UUID) throws -> Bool) rethrows -> Bool {
        guard let token, token != customer.appAccountToken else { return false }
        return try isKnown(token)
    }

    /// The owner of a purchase, `nil` when nobody claimed it and its token is nobody's. Of several customers of the token the
    /// one who claimed it last, else `bearer`.
    ///
    /// - Parameters:
    ///   - token: the newest token the store states for the purchase.
    ///   - claims: who presented it, oldest first.
    ///   - bearer: the known customer of the token.
    public static func owner(token: UUID?, claims: [CustomerID], bearer: CustomerID?) -> CustomerID? {
        if let token, let bound = claims.last(where: { $0.appAccountToken == token }) { return bound }
        return bearer ?? claims.last
    }
}
