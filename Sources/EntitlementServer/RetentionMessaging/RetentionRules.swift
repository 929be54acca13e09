import Foundation
import StoreModel

/// The rules that choose the message for a customer who may cancel a subscription (Retention Messaging API). The
/// developer of an app writes them.
///
/// The rules are tried in their order. The first rule whose conditions are all met gives the answer. If there is none,
/// the App Store shows the default message.
///
///     {"rules": [
///         {"name": "loyal", "when": {"daysSubscribed": {"min": 365}, "usedPromotionalOffer": false},
///          "answer": {"promotionalOffer": {"messageIdentifier": "…", "offerIdentifier": "half"}}},
///         {"name": "others", "answer": {"message": {"messageIdentifier": "…"}}}
///     ]}
package struct RetentionRules: Sendable, Hashable {
    struct Rule: Sendable, Hashable {
        let name: String
        var condition = Condition()
        let answer: Answer
    }

    /// The conditions of a rule. Absent ones are always met.
    struct Condition: Sendable, Hashable {
        var products: Set<ProductID>?
        var locales: [LanguageRange]?
        var environment: StoreEnvironment?
        var history = HistoryCondition()
    }

    enum Answer: Sendable, Hashable {
        /// Leaves the choice to the App Store, which shows the default message.
        case noMessage
        case message(UUID)
        case alternateProduct(ProductID, message: UUID)
        case promotionalOffer(String, message: UUID, SignatureVersion)
    }

    /// The form of the signature of a promotional offer.
    enum SignatureVersion: String, Sendable, CaseIterable {
        case v1 = "V1"
        case v2 = "V2"
    }

    let rules: [Rule]

    /// Returns whether the answer to a request depends on the history of the subscription.
    func dependOnHistory(for request: RetentionRequest) -> Bool {
        rules.first { $0.accepts(request) }?.condition.needsHistory ?? false
    }

    /// Returns the first rule whose conditions are met; `nil` if there is none.
    ///
    /// - Parameter history: The history of the subscription; `nil` if it is unknown. A condition about the history of
    ///   an unknown subscription is not met.
    func rule(for request: RetentionRequest, _ history: SubscriptionHistory?, at instant: Date) -> Rule? {
        rules.first { rule in
            rule.accepts(request)
                && (!rule.condition.needsHistory
                    || history.map { rule.condition.history.failure(for: $0, at: instant) == nil } ?? false)
        }
    }
}

/// The request of the App Store for a message.
struct RetentionRequest: Sendable, Hashable {
    let originalTransactionID: TransactionID
    let productID: ProductID
    /// The language and region of the device, such as `en-US`.
    let locale: String
    let environment: StoreEnvironment
}

extension RetentionRules.Rule {
    /// Whether the rule may match every request.
    var isUnconditional: Bool {
        if case .alternateProduct = answer { return false }
        return condition == RetentionRules.Condition()
    }

    /// Returns whether the conditions about the request are met. A customer is not offered the present subscription as
    /// an alternative.
    fileprivate func accepts(_ request: RetentionRequest) -> Bool {
        if case .alternateProduct(request.productID, _) = answer { return false }
        return condition.accepts(request)
    }
}

extension RetentionRules.Condition {
    fileprivate var needsHistory: Bool { !history.isEmpty }

    fileprivate func accepts(_ request: RetentionRequest) -> Bool {
        products?.contains(request.productID) != false
            && locales?.contains { $0.contains(request.locale) } != false
            && (environment == nil || environment == request.environment)
    }
}
