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
    /// Everybody who presents it has it.
    case share
}

/// Whose a purchase is: a pure fold over the claims that were accepted, in the order they were made.
///
/// A purchase that carries an `appAccountToken` belongs to the customer of that token before all others: once that customer
/// is known it is theirs, whoever claimed it before, and nobody else may claim it. As long as that customer is unknown, and
/// where there is no token, claims decide, by the app's transfer mode. A transfer by hand takes the place of the token and
/// of all claims before it.
public enum Attribution {
    /// A customer having presented a purchase, or having been given it by hand, and this having been accepted.
    public struct Claim: Hashable, Sendable {
        /// What a claim means for those who have the purchase already: decided when it is made, so that an app that changes
        /// its transfer mode moves no purchase.
        public enum Kind: String, Hashable, Sendable {
            /// Presented: they have it no longer.
            case presented
            /// Presented in an app whose customers share: they keep it.
            case shared
            /// Given by hand: they have it no longer, whatever the token says.
            case transferred
        }

        /// Who has it by this claim: after a merge, the customer the presenting one was merged into.
        public var customer: CustomerID
        /// The token of the customer who presented it.
        public var token: UUID
        public var kind: Kind

        public init(by customer: CustomerID, token: UUID? = nil, _ kind: Kind = .presented) {
            self.customer = customer
            self.token = token ?? customer.appAccountToken
            self.kind = kind
        }
    }

    /// Whom a purchase is bound to, so that others are refused; `nil` when claims decide.
    ///
    /// Of several customers of the token the one who claimed it last, else `bearer`.
    ///
    /// - Parameters:
    ///   - token: the newest token the store states for the purchase.
    ///   - claims: oldest first.
    ///   - bearer: the known customer of the token.
    public static func bound(token: UUID?, claims: [Claim], bearer: CustomerID?) -> CustomerID? {
        guard let token else { return nil }
        if let given = claims.last(where: { $0.kind == .transferred }) { return given.customer }
        return claims.last { $0.token == token }?.customer ?? bearer
    }

    /// Who has a purchase: nobody when nobody claimed it and its token is nobody's, several only when they share it.
    public static func holders(token: UUID?, claims: [Claim], bearer: CustomerID?) -> [CustomerID] {
        if let bound = bound(token: token, claims: claims, bearer: bearer) { return [bound] }
        return claims.reduce(into: []) { holders, claim in
            if claim.kind != .shared { holders = [] }
            if !holders.contains(claim.customer) { holders.append(claim.customer) }
        }
    }

    /// Whether `customer` may present a purchase that is bound to nobody.
    ///
    /// - Parameters:
    ///   - holders: who has it now.
    ///   - isActive: whether it gives them anything now.
    public static func accepts(
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
