import Foundation
import StoreModel

/// A customer's subscription in one group, from the first purchase on and through every plan: one original transaction.
///
/// It is what the last event left. What time alone has done since then is computed (`SubscriptionState`).
struct SubscriptionRecord: Sendable, Hashable {
    /// The number of its first transaction.
    var originalID: Int64
    var accountID: Int64
    var groupID: String
    /// That of the latest period.
    private(set) var appAccountToken: UUID?
    /// Those of earlier ones where they had another, oldest first.
    private(set) var earlierTokens: [EarlierToken] = []
    /// What was sold until the last event, oldest first; never empty.
    var runs: [Run]
    var renewal: Renewal
    var hasUsedIntroductoryOffer = false
    /// When the customer last subscribed anew.
    var startedAt: Date
    /// When the last event was.
    var changedAt: Date
    /// What was taken back, by transaction.
    var revocations: [Int64: Revocation] = [:]
    /// Present on what a family member has of another's subscription.
    var share: Share?

    /// How it goes on after its last period.
    struct Renewal: Sendable, Hashable {
        /// The plan of the next period, and the offer under which it is to begin.
        var plan: Plan
        var offer: AppliedOffer?
        /// Since when it does not renew.
        var offSince: Date?
        /// From when to when its payments fail.
        var failsFrom: Date?
        var failsUntil: Date?
        /// When the customer last agreed to a higher price.
        var consentedAt: Date?
    }

    /// What was sold before an instant, and after the entry before it, has this one.
    struct EarlierToken: Sendable, Hashable {
        var before: Date
        var token: UUID?
    }

    var originalPurchaseDate: Date { runs[0].soldAt }

    /// What was sold at `date`, which is the start of the latest period, and later has this token; what was sold before
    /// keeps its own.
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

/// Which part of somebody's purchase a member of the family has.
struct Share: Sendable, Hashable {
    var ownerOriginalID: Int64
    /// The owner's transaction with which the member's share begins.
    var first: Int64
    var from: Date
    /// When the member lost it.
    var until: Date?
}

/// A transaction that the store took back.
struct Revocation: Sendable, Hashable {
    /// Closed: what becomes of the money. Raw values are Apple's `revocationType`.
    enum Kind: String, Sendable {
        case refundFull = "REFUND_FULL"
        case refundProrated = "REFUND_PRORATED"
        case familyRevoke = "FAMILY_REVOKE"
    }

    var at: Date
    var kind = Kind.refundFull
    /// Apple's `revocationReason`: 1 for a problem with the app, 0 for another; `nil` when the family lost it.
    var reason: Int?
    /// How much of the price was given back, in thousandths of a percent.
    var percentage: Int?
    /// When the customer got it back after all.
    var reversedAt: Date?

    /// What it is to a member of the family who had what was taken back from its owner: no money comes back.
    var shared: Revocation { Revocation(at: at, kind: .familyRevoke, reversedAt: reversedAt) }

    func isInForce(at instant: Date) -> Bool { at <= instant && reversedAt.map { instant < $0 } ?? true }
}

/// Closed: why a subscription of this store ended. Raw values are Apple's `expirationIntent`.
enum ExpirationIntent: Int, Sendable { case cancelled = 1, billingError, priceIncrease, productUnavailable }
