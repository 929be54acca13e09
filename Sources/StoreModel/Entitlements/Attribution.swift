import Foundation

/// What becomes of a purchase that a second customer presents: chosen for each app.
///
/// None of them matters for a purchase whose `appAccountToken` is a known customer's: that one has it, and others are
/// refused.
public enum TransferMode: String, Hashable, Sendable, Codable, CaseIterable {
    /// It follows who presents it last. The default.
    case transfer
    /// It follows who presents it while it gives nothing to those who have it; else others are refused.
    case transferIfInactive
    /// It stays with the first customer; others are refused.
    case keepWithOriginal
    /// Everybody who presents it has it. A server may keep only those who presented it last.
    case share
}

/// Whose a purchase is: a pure fold over the claims that were accepted, in the order they were made.
///
/// A purchase that carries an `appAccountToken` belongs to the customer of that token before all others: once that customer
/// is known it is theirs, whoever claimed it before, and nobody else may claim it. As long as that customer is unknown, and
/// where there is no token, claims decide, by the app's transfer mode. A transfer by hand takes the place of the token and
/// of all claims before it.
package enum Attribution {
    /// The known customer whose token a purchase carries.
    ///
    /// A name comes before a UUID with the same token. Anybody can work out the UUID of a name, but no name can be found
    /// for a UUID: the customer with the UUID may have chosen it to get what belongs to the name.
    package struct TokenOwner: Hashable, Sendable {
        /// The customer who has the purchase: after a merge, the one that `name` was merged into.
        package let customer: CustomerID
        let isNamed: Bool

        /// - Parameter name: what the token is of, if it is not the customer's present name.
        package init(_ customer: CustomerID, as name: CustomerID? = nil) {
            self.customer = customer
            isNamed = !(name ?? customer).isUUID
        }
    }

    /// A customer having presented a purchase, or having been given it by hand, and this having been accepted.
    package struct Claim: Hashable, Sendable {
        /// What a claim means for those who have the purchase already: decided when it is made, so that an app that changes
        /// its transfer mode moves no purchase.
        package enum Kind: String, Hashable, Sendable {
            /// Presented: they have it no longer.
            case presented
            /// Presented in an app whose customers share: they keep it.
            case shared
            /// Given by hand: they have it no longer, whatever the token says.
            case transferred
        }

        /// Who has it by this claim: after a merge, the customer the presenting one was merged into.
        package var customer: CustomerID
        /// The token of the customer who presented it.
        package var token: UUID
        package var kind: Kind
        /// Whether the token was derived from the name of the customer who presented it.
        fileprivate let isNamed: Bool

        /// - Parameters:
        ///   - name: what the presenting customer was called, if not as now.
        ///   - token: that of the name, where it is known already.
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

    /// Whom a purchase is bound to, so that others are refused; `nil` when claims decide.
    ///
    /// Of several customers of the token the one who claimed it last, a name before a UUID; else `tokenOwner`.
    ///
    /// - Parameters:
    ///   - token: the newest token the store states for the purchase.
    ///   - claims: oldest first.
    ///   - bearer: the known customer of the token.
    package static func bound(token: UUID?, claims: [Claim], tokenOwner: TokenOwner?) -> CustomerID? {
        binding(token: token, claims: claims, tokenOwner: tokenOwner)?.customer
    }

    private static func binding(
        token: UUID?, claims: [Claim], tokenOwner: TokenOwner?
    ) -> (customer: CustomerID, isNamed: Bool)? {
        guard let token else { return nil }
        if let given = claims.last(where: { $0.kind == .transferred }) { return (given.customer, false) }
        let claim = claims.last { $0.token == token && $0.isNamed } ?? claims.last { $0.token == token }
        if let claim { return (claim.customer, claim.isNamed) }
        return tokenOwner.map { ($0.customer, $0.isNamed) }
    }

    /// Whether a purchase is bound to somebody else than `customer`; `nil` when claims decide.
    ///
    /// A customer of the token may present what another one of its customers has. A UUID may not present what a name has, and
    /// what was given by hand is presented by its receiver alone.
    ///
    /// - Parameter name: what `customer` was called when presenting it.
    package static func excludes(
        _ customer: CustomerID, as name: CustomerID, token: UUID?, claims: [Claim], tokenOwner: TokenOwner?
    ) -> Bool? {
        guard let binding = binding(token: token, claims: claims, tokenOwner: tokenOwner) else { return nil }
        if binding.customer == customer { return false }
        if claims.contains(where: { $0.kind == .transferred }) { return true }
        return name.appAccountToken != token || (binding.isNamed && name.isUUID)
    }

    /// Who has a purchase: nobody when nobody claimed it and its token is nobody's, several only when they share it.
    package static func holders(token: UUID?, claims: [Claim], tokenOwner: TokenOwner?) -> [CustomerID] {
        if let bound = bound(token: token, claims: claims, tokenOwner: tokenOwner) { return [bound] }
        let first = claims.lastIndex { $0.kind != .shared } ?? claims.startIndex
        var known: Set<CustomerID> = []
        return claims[first...].map(\.customer).filter { known.insert($0).inserted }
    }

    /// Whether `customer` may present a purchase that is bound to nobody.
    ///
    /// - Parameters:
    ///   - holders: who has it now.
    ///   - isActive: whether it gives them anything now.
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
