import Foundation
import StoreModel

/// A customer's subscription in one group since the first purchase, with all its plans: one original transaction.
///
/// It has the values of the last event. `SubscriptionState` computes the renewals since then.
struct SubscriptionRecord: Sendable, Hashable {
    /// The number of its first transaction.
    var originalID: Int64
    var accountID: Int64
    var groupID: String
    /// The token of the latest period.
    private(set) var appAccountToken: UUID?
    /// The tokens that earlier periods had instead, oldest first.
    private(set) var earlierTokens: [EarlierToken] = []
    /// The periods sold until the last event, oldest first; never empty.
    var runs: [Run]
    var renewal: Renewal
    var hasUsedIntroductoryOffer = false
    /// The instant at which the customer last subscribed after having no access.
    var startedAt: Date
    /// The instant of the last event.
    var changedAt: Date
    /// The revocations, by transaction.
    var revocations: [Int64: Revocation] = [:]
    /// Present on a family member's part of another member's subscription, and on an assigned seat.
    var share: Share?
    /// The seats that were added to periods, oldest first.
    var additions: [SeatAddition] = []
    /// The numbers of seats that were refunded, by transaction.
    var refundedSeats: [Int64: Int] = [:]

    /// The next renewal.
    struct Renewal: Sendable, Hashable {
        /// The plan of the next period. `offer` applies to its first periods.
        var plan: Plan
        var offer: AppliedOffer?
        /// The instant at which auto-renewal was turned off. The bills of a commitment continue until its end.
        var offSince: Date?
        /// Whether no further bill of the present commitment is paid.
        var endsCommitment = false
        /// The start of the time in which payments fail.
        var failsFrom: Date?
        var failsUntil: Date?
        /// The instant at which the customer last consented to a higher price.
        var consentedAt: Date?
    }

    /// The token of the periods sold between the preceding entry's instant and `before`.
    struct EarlierToken: Sendable, Hashable {
        var before: Date
        var token: UUID?
    }

    var originalPurchaseDate: Date { runs[0].soldAt }

    /// Sets the token of the latest period, which was sold at `date`, and of later ones. Earlier periods keep theirs.
    mutating func use(_ token: UUID?, from date: Date) {
        if date > originalPurchaseDate, earlierTokens.last?.before != date, token != appAccountToken {
            earlierTokens.append(EarlierToken(before: date, token: appAccountToken))
        }
        appAccountToken = token
    }

    func appAccountToken(at date: Date) -> UUID? {
        earlierTokens.first { date < $0.before }.map(\.token) ?? appAccountToken
    }
}

/// The part of another customer's purchase that a family member has, or that has an assigned seat.
struct Share: Sendable, Hashable {
    var ownerOriginalID: Int64
    /// The owner's transaction with which the member's share begins.
    var first: Int64
    var from: Date
    /// The instant at which the member lost access.
    var until: Date?
    /// Whether the owner assigned a seat to the member. Otherwise it is Family Sharing.
    var isAssigned = false
}

/// The revocation of a transaction, and its reversal.
struct Revocation: Sendable, Hashable {
    /// How much of the price is refunded. Raw values are Apple's `revocationType`. The set is closed.
    enum Kind: String, Sendable {
        case refundFull = "REFUND_FULL"
        case refundProrated = "REFUND_PRORATED"
        case familyRevoke = "FAMILY_REVOKE"
    }

    var at: Date
    var kind = Kind.refundFull
    /// Apple's `revocationReason`: 1 for a problem with the app, 0 for another reason; `nil` if Family Sharing ended.
    var reason: Int?
    /// The refunded part of the price, in thousandths of a percent.
    var percentage: Int?
    /// The instant at which the revocation was reversed.
    var reversedAt: Date?

    /// The revocation of a family member's share. It follows from this revocation of the owner's transaction and has no
    /// refund.
    var shared: Revocation { Revocation(at: at, kind: .familyRevoke, reversedAt: reversedAt) }

    func isInForce(at instant: Date) -> Bool { at <= instant && reversedAt.map { instant < $0 } ?? true }
}

/// The reason why a subscription of this store ended. Raw values are Apple's `expirationIntent`. The set is closed.
enum ExpirationIntent: Int, Sendable { case cancelled = 1, billingError, priceIncrease, productUnavailable }
