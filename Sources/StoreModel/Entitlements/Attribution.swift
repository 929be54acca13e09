import Foundation

/// The rule for a purchase that a second customer presents. Each app chooses one.
///
/// The rule does not apply to a purchase whose `appAccountToken` is that of a known customer. The purchase belongs to
/// this customer, and others are refused.
public enum TransferMode: String, Hashable, Sendable, Codable, CaseIterable {
    /// The purchase moves to the customer who presents it. The default.
    case transfer
    /// If the purchase gives its present owners nothing, it moves to the customer who presents it. Otherwise others are
    /// refused.
    case transferIfInactive
    /// The purchase stays with the first customer, and others are refused.
    case keepWithOriginal
    /// All customers who present the purchase have it. A server can limit them to those who presented it last.
    case share
}

/// Decides which customers have a purchase: a pure function of the accepted claims, in their order.
///
/// A purchase with an `appAccountToken` belongs to the customer of this token as soon as that customer is known, even
/// if another customer claimed it before. Others can no longer claim it. If that customer is not known, or the purchase
/// has no token, the claims and the app's transfer mode decide. A transfer by an operator replaces the token and all
/// earlier claims.
package enum Attribution {
    /// The known customer who has the app account token of a purchase.
    ///
    /// An id that is not a UUID is called a name here. Two customers can have the same token: a customer whose id is a
    /// name, of which the token is a hash, and a customer whose id is this UUID. The name has priority: anyone can
    /// compute the UUID of a name and choose it as an id, but cannot find a name for a given UUID.
    package struct TokenOwner: Hashable, Sendable {
        /// The customer who has the purchase. After a merge it is the customer into which `name` was merged.
        package let customer: CustomerID
        let isNamed: Bool

        /// - Parameters:
        ///   - customer: The customer who has the token.
        ///   - name: The id from which the token was derived, if it is not `customer`.
        package init(_ customer: CustomerID, as name: CustomerID? = nil) {
            self.customer = customer
            isNamed = !(name ?? customer).isUUID
        }
    }

    /// An accepted claim: a customer presented a purchase, or received it from an operator.
    package struct Claim: Hashable, Sendable {
        /// The effect of a claim on the present owners. It is decided when the claim is made, so that a change of the
        /// app's transfer mode moves no purchase.
        package enum Kind: String, Hashable, Sendable {
            /// The customer presented the purchase. The former owners lose it.
            case presented
            /// The customer presented the purchase in an app whose customers share. The owners keep it.
            case shared
            /// An operator transferred the purchase. The former owners lose it, whatever the token.
            case transferred
        }

        /// The customer who has the purchase by this claim. After a merge it is the customer into which the presenting
        /// customer was merged.
        package var customer: CustomerID
        /// The token of the customer who presented the purchase.
        package var token: UUID
        package var kind: Kind
        /// Whether the token was derived from a name, not from a UUID.
        fileprivate let isNamed: Bool

        /// - Parameters:
        ///   - customer: The customer who has the purchase by this claim.
        ///   - name: The id of the customer at the time of the claim, if it was not `customer`.
        ///   - token: The token of that id, or `nil` to derive the token from the id.
        ///   - kind: The effect on the present owners.
        package init(
            by customer: CustomerID, as name: CustomerID? = nil, token: UUID? = nil, _ kind: Kind = .presented
        ) {
            let name = name ?? customer
            self.customer = customer
            self.token = token ?? name.appAccountToken
            self.kind = kind
            isNamed = !name.isUUID
        }
    }

    /// Returns the customer that a purchase is bound to, so that others are refused, or `nil` if claims decide.
    ///
    /// For a purchase with a token, that is the receiver of the last transfer by an operator. Without a transfer, it is
    /// the last customer with the token who claimed the purchase; a customer with a name has priority. Without a claim,
    /// it is `tokenOwner`.
    ///
    /// - Parameters:
    ///   - token: The newest token that the store states for the purchase.
    ///   - claims: The claims, the oldest first.
    ///   - tokenOwner: The known customer of the token.
    package static func bound(token: UUID?, claims: [Claim], tokenOwner: TokenOwner?) -> CustomerID? {
        binding(token: token, claims: claims, tokenOwner: tokenOwner)?.customer
    }

    private static func binding(
        token: UUID?, claims: [Claim], tokenOwner: TokenOwner?
    ) -> (customer: CustomerID, isNamed: Bool)? {
        guard let token else { return nil }
        if let transfer = claims.last(where: { $0.kind == .transferred }) { return (transfer.customer, false) }
        let claim = claims.last { $0.token == token && $0.isNamed } ?? claims.last { $0.token == token }
        if let claim { return (claim.customer, claim.isNamed) }
        return tokenOwner.map { ($0.customer, $0.isNamed) }
    }

    /// Returns whether a purchase is bound to another customer than `customer`, or `nil` if claims decide.
    ///
    /// A customer with the token can present the purchase of another customer with the same token. But a customer whose
    /// id is a UUID cannot present the purchase of a customer whose id is a name. After a transfer, only the receiver
    /// can present a purchase with a token.
    ///
    /// - Parameters:
    ///   - customer: The customer who presents the purchase.
    ///   - name: The id under which `customer` presents the purchase.
    ///   - token: The newest token that the store states for the purchase.
    ///   - claims: The claims, the oldest first.
    ///   - tokenOwner: The known customer of the token.
    package static func excludes(
        _ customer: CustomerID, as name: CustomerID, token: UUID?, claims: [Claim], tokenOwner: TokenOwner?
    ) -> Bool? {
        guard let binding = binding(token: token, claims: claims, tokenOwner: tokenOwner) else { return nil }
        if binding.customer == customer { return false }
        if claims.contains(where: { $0.kind == .transferred }) { return true }
        return name.appAccountToken != token || (binding.isNamed && name.isUUID)
    }

    /// Returns the customers who have a purchase. There is no such customer if no customer claimed the purchase and the
    /// token has no known customer. There are several only if they share the purchase.
    package static func holders(token: UUID?, claims: [Claim], tokenOwner: TokenOwner?) -> [CustomerID] {
        if let bound = bound(token: token, claims: claims, tokenOwner: tokenOwner) { return [bound] }
        let first = claims.lastIndex { $0.kind != .shared } ?? claims.startIndex
        var known: Set<CustomerID> = []
        return claims[first...].map(\.customer).filter { known.insert($0).inserted }
    }

    /// Returns whether `customer` may present a purchase that is bound to no customer.
    ///
    /// - Parameters:
    ///   - customer: The customer who presents the purchase.
    ///   - holders: The customers who have the purchase now.
    ///   - mode: The app's transfer mode.
    ///   - isActive: Returns whether the purchase gives its owners anything now.
    package static func accepts(
        _ customer: CustomerID, holders: [CustomerID], mode: TransferMode, isActive: () throws -> Bool
    ) rethrows -> Bool {
        if holders.isEmpty || holders.contains(customer) { return true }
        switch mode {
        case .transfer, .share: return true
        case .keepWithOriginal: return false
        case .transferIfInactive: return try !isActive()
        }
    }
}
