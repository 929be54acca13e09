import Foundation
import Primitives
import StoreModel

/// The promotional offers that the server signs, and the subscription groups of the products. The developer of an app
/// writes them.
///
/// A promotional offer is for customers who have or had a subscription of the product's group, as Apple requires. The
/// conditions of an offer restrict it further.
///
///     {"groups": {"21430001": ["plus.monthly", "plus.yearly"]},
///      "offers": [
///         {"productId": "plus.monthly", "offerIdentifier": "comeback",
///          "when": {"states": ["expired"], "paidPeriods": {"min": 3}}, "oncePerCustomer": true}
///     ]}
package struct OfferRules: Sendable, Hashable {
    /// A subscription group, with its products in the order of the file.
    struct Group: Sendable, Hashable {
        let id: ExactString
        let products: [ProductID]
    }

    struct Offer: Sendable, Hashable {
        let productID: ProductID
        let offerID: ExactString
        var condition = Condition()
        /// Whether a customer can redeem the offer only once.
        var isOncePerCustomer = false
    }

    /// The conditions of an offer. Absent ones are always met.
    struct Condition: Sendable, Hashable {
        var states: Set<CustomerSubscription.State>?
        var environment: StoreEnvironment?
        var history = HistoryCondition()
    }

    let groups: [Group]
    let offers: [Offer]

    func group(of product: ProductID) -> Group? { groups.first { $0.products.contains(product) } }

    func offer(_ id: String, of product: ProductID) -> Offer? {
        offers.first { $0.productID == product && $0.offerID.rawValue.hasSameBytes(as: id) }
    }
}

/// The subscriptions of one customer in a subscription group, as the ledger states them.
///
/// Access through a family member, and subscriptions that were not bought in the App Store, do not count.
struct GroupHistory: Sendable {
    let environment: StoreEnvironment
    let periods: [TransactionFact]
    /// `nil` if the customer never had a subscription of the group.
    let history: SubscriptionHistory?
    /// The state of the subscription that gives most access; `nil` without a subscription.
    let state: CustomerSubscription.State?

    /// - Parameter answer: The answer about the customer, computed from `state`.
    init(_ group: OfferRules.Group, in state: CustomerState, _ answer: Customer) {
        environment = answer.environment
        let products = Set(group.products)
        let periods = SubscriptionHistory.periods(in: state) { fact in
            // A receipt states no group.
            let isOfGroup = fact.groupID.map { ExactString($0) } == group.id || products.contains(fact.productID)
            return isOfGroup && !fact.isFamilyShared
        }
        self.periods = periods
        history = SubscriptionHistory(periods)
        let originals = Set(periods.map(\.originalID))
        let states = answer.subscriptions.filter {
            $0.source == .appStore && originals.contains($0.originalTransactionID)
        }.map(\.state)
        self.state = Self.states.first { states.contains($0) } ?? states.first
    }

    /// The states, beginning with the one that gives most access.
    static let states: [CustomerSubscription.State] = [
        .active, .inGracePeriod, .inBillingRetry, .paused, .expired, .revoked,
    ]

    /// The subscription that was bought or renewed last. Of two at the same instant, the one with the greater id.
    var lastSubscription: TransactionID? {
        periods.max { ($0.purchaseDate, $0.id) < ($1.purchaseDate, $1.id) }?.originalID
    }
}

/// The reason why a customer is not eligible for an offer.
struct OfferIneligibility: Error, Hashable {
    let reason: OfferEligibility.Reason
    let sentence: String
}

extension OfferRules {
    /// Returns why a customer is not eligible for a promotional offer; `nil` if the customer is.
    ///
    /// - Parameter history: The customer's history in the group of the product.
    func ineligibility(for offer: Offer, _ history: GroupHistory, at instant: Date) -> OfferIneligibility? {
        guard let past = history.history else {
            return OfferIneligibility(
                reason: .neverSubscribed,
                sentence: "The customer never had a subscription of the product's group; promotional offers are for "
                    + "current and former subscribers.")
        }
        if offer.isOncePerCustomer, history.periods.contains(where: offer.wasUsed) {
            return OfferIneligibility(reason: .alreadyUsed, sentence: "The customer has used this offer before.")
        }
        let condition = offer.condition
        var failure = condition.history.failure(for: past, at: instant)
        if let states = condition.states, history.state.map(states.contains) != true { failure = "states" }
        if let environment = condition.environment, environment != history.environment { failure = "environment" }
        return failure.map {
            OfferIneligibility(
                reason: .conditionNotMet, sentence: "The customer does not meet the condition \"\($0)\" of the offer.")
        }
    }

    /// Returns why a customer is not eligible for the introductory offers of a group; `nil` if the customer is. A
    /// customer can use one introductory offer in each group.
    static func introductoryIneligibility(_ history: GroupHistory) -> OfferIneligibility? {
        guard history.history?.hasUsedIntroductoryOffer == true else { return nil }
        return OfferIneligibility(
            reason: .alreadyUsed, sentence: "The customer has used an introductory offer of the group before.")
    }
}

extension OfferRules.Offer {
    fileprivate func wasUsed(in period: TransactionFact) -> Bool {
        period.productID == productID && period.used(promotionalOffer: offerID.rawValue)
    }
}
