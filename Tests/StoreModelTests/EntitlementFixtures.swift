import Foundation
import StoreModel

/// Returns the instant `n` days after 2026-01-01T00:00:00Z.
func day(_ number: Double) -> Date { Date(timeIntervalSince1970: 1_767_225_600 + number * 86400) }

let monthly: ProductID = "pro.monthly"
let yearly: ProductID = "pro.yearly"

/// Returns a period of a subscription, signed at its start by default.
func period(
    _ id: TransactionID, of original: TransactionID = "1", product: ProductID = monthly, from: Double, to: Double,
    signed: Double? = nil, revoked: Double? = nil, isUpgraded: Bool = false, isTrial: Bool = false
) -> TransactionFact {
    TransactionFact(
        id: id, originalID: original, productID: product, kind: .autoRenewableSubscription, purchaseDate: day(from),
        originalPurchaseDate: day(0), expiresDate: day(to), revocationDate: revoked.map(day), isUpgraded: isUpgraded,
        groupID: "group", price: Price(amount: 5, currency: "EUR"), isTrial: isTrial, signedDate: day(signed ?? from),
        digest: Array("\(id)/\(signed ?? from)/\(revoked ?? -1)/\(isUpgraded)".utf8))
}

func purchase(
    _ id: TransactionID, of original: TransactionID? = nil, _ product: ProductID = "tools",
    kind: ProductType = .nonConsumable, at: Double = 0, until: Double? = nil, signed: Double? = nil,
    revoked: Double? = nil, quantity: Int = 1, isFamilyShared: Bool = false
) -> TransactionFact {
    TransactionFact(
        id: id, originalID: original, productID: product, kind: kind, purchaseDate: day(at),
        expiresDate: until.map(day), revocationDate: revoked.map(day), quantity: quantity,
        isFamilyShared: isFamilyShared, signedDate: day(signed ?? at),
        digest: Array("\(id)/\(signed ?? at)/\(revoked ?? -1)".utf8))
}

func renewal(
    of original: TransactionID = "1", renews: Bool?, to product: ProductID? = monthly, grace: Double? = nil,
    isRetrying: Bool = false, signed: Double
) -> RenewalFact {
    RenewalFact(
        originalID: original, autoRenews: renews, renewsTo: product, gracePeriodExpiresDate: grace.map(day),
        isInBillingRetry: isRetrying, signedDate: day(signed),
        digest: Array("\(original)/\(signed)/\(renews as Any)/\(grace ?? -1)".utf8))
}

/// A fact of any kind, so that a test can shuffle facts.
enum AnyFact {
    case transaction(TransactionFact)
    case renewal(RenewalFact)
    case grant(Grant)
}

extension CustomerState {
    init(_ facts: [AnyFact]) {
        self.init()
        for fact in facts {
            switch fact {
            case .transaction(let fact): apply(fact)
            case .renewal(let fact): apply(fact)
            case .grant(let grant): apply(grant)
            }
        }
    }

    init(_ transactions: [TransactionFact], renewals: [RenewalFact] = [], grants: [Grant] = []) {
        self.init(
            transactions.map(AnyFact.transaction) + renewals.map(AnyFact.renewal) + grants.map(AnyFact.grant))
    }
}

func answer(_ state: CustomerState, at instant: Double, map: FeatureMap = FeatureMap()) -> Customer {
    EntitlementReducer(features: map).customer("anna", in: .sandbox, state, at: day(instant))
}
