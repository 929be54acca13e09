import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// The rules by which a server answers the consumption requests of one app (Documentation/RefundDesk.md).
///
/// The first rule whose conditions all hold decides. A condition about an unknown value does not hold. A rule whose
/// answer the App Store would refuse is passed over.
package struct RefundPolicy: Hashable, Sendable {
    /// The customers that consented to sending consumption information to Apple. The set is closed.
    package enum Consent: String, CaseIterable, Sendable {
        /// Customers whose consent was reported to the server.
        case reported
        /// All customers, because the terms of the app contain the consent, except those whose refusal was reported.
        case assumed
    }

    /// A range of values; it is unbounded where a bound is `nil`.
    struct Bounds<Value: Hashable & Sendable>: Hashable, Sendable {
        var atLeast: Value?
        /// The upper bound, exclusive.
        var below: Value?
    }

    /// An amount of money that was refunded.
    struct Refunded: Hashable, Sendable {
        var currency: ExactString
        var amount: Bounds<Decimal>
    }

    /// The conditions of a rule. All that are not `nil` must hold.
    struct Conditions: Hashable, Sendable {
        var products: Set<ProductID>?
        var types: Set<ProductType>?
        var reasons: Set<AppStoreServerAPI.ConsumptionRequestReason>?
        /// The time since the first purchase of the customer, or since the server knows the customer.
        var tenure: Bounds<SubscriptionPeriod>?
        /// The time since the purchase.
        var owned: Bounds<SubscriptionPeriod>?
        /// The number of other transactions of the customer that the store refunded.
        var refunds: Bounds<Int>?
        /// The sum of these refunds. It is unknown if one has no price, or another currency.
        var refunded: Refunded?
        /// The used part, in thousandths of a percent.
        var usage: Bounds<Int>?

        /// Whether the conditions hold in every case.
        var isEmpty: Bool { self == Conditions() }
    }

    /// A rule. Without an answer nothing is sent.
    struct Rule: Hashable, Sendable {
        var name: String
        var conditions = Conditions()
        var answer: ConsumptionAnswer?
    }

    var consent = Consent.reported
    /// Whether decisions are recorded and nothing is sent.
    package var isDryRun = false
    /// The version of Apple's request, 1 or 2. Purchases of the Advanced Commerce API always have version 1.
    var version = 2
    /// The value for answers that do not state it.
    var sampleContentProvided = false
    /// The units that one unit of a product has, for usage that is reported in units.
    var units: [ProductID: Int] = [:]
    var rules: [Rule] = []
}

/// The content of an answer to a consumption request.
///
/// It comes from a rule or an operator. The values that are `nil` are taken from the report of the app, and then from
/// the policy.
struct ConsumptionAnswer: Hashable, Sendable {
    var preference: AppStoreServerAPI.RefundPreference?
    var deliveryStatus: AppStoreServerAPI.DeliveryStatus?
    var sampleContentProvided: Bool?
    /// The used part in thousandths of a percent. Only an operator gives it.
    var percentage: Int?
}

/// The facts about a refund request from which a policy decides.
struct RefundCase: Hashable, Sendable {
    /// The store that asks.
    var source = PurchaseSource.appStore
    var product: ProductID
    var kind: ProductType
    var quantity = 1
    var reason: AppStoreServerAPI.ConsumptionRequestReason?
    var isFamilyShared = false
    /// Whether the purchase was made through the Advanced Commerce API.
    var isAdvancedCommerce = false
    var purchasedAt: Date
    var requestedAt: Date
    /// The customer's own statement; `nil` if the customer made none.
    var consent: Bool?
    /// The earliest date at which the customer is known; `nil` if no customer has the purchase.
    var customerSince: Date?
    /// The customer's other refunds; `nil` if no customer has the purchase.
    var refunds: RefundHistory?
    var usage: UsageReport?
}

/// The refunds of one customer.
struct RefundHistory: Hashable, Sendable {
    var count = 0
    /// The refunded amounts by currency; `nil` if the price of a refunded transaction is unknown.
    var amounts: [ExactString: Decimal]? = [:]
    /// The amounts that the customer paid, including those refunded later; `nil` if a price is unknown.
    var paid: [ExactString: Decimal]? = [:]

    /// Returns the sum of amounts if all are in one currency.
    static func sum(_ amounts: [ExactString: Decimal]?, in currency: ExactString) -> Decimal? {
        guard let amounts, amounts.keys.allSatisfy({ $0 == currency }) else { return nil }
        return amounts[currency] ?? 0
    }
}

/// A report of the app's server about the use of one transaction.
struct UsageReport: Hashable, Sendable {
    /// The used part in thousandths of a percent.
    var percentage: Int?
    /// The number of used units, of which the policy has the total.
    var used: Int?
    var deliveryStatus: AppStoreServerAPI.DeliveryStatus?
    var sampleContentProvided: Bool?
    /// The time for which the customer used the app, in seconds.
    var playTime: Int?
}

/// The decision of a policy, with its reason.
struct RefundDecision: Hashable, Sendable {
    /// The reason why nothing is sent, as a code. The set is closed.
    enum Silence: String, CaseIterable, Sendable {
        case consentRefused, consentUnknown, familyShared, unsupportedType, byRule, noRule, byOperator, alreadyDecided
    }

    /// The rule that decided.
    var rule: String?
    /// The request; `nil` if nothing is sent.
    var request: ConsumptionInformation?
    /// Why nothing is sent.
    var silence: Silence?
}

extension RefundPolicy {
    /// Decides a case. The same policy and case always give the same decision.
    func decision(on refund: RefundCase) -> RefundDecision {
        if let silence = obstacle(to: refund, isVouchedFor: false) { return RefundDecision(silence: silence) }
        for rule in rules where holds(rule.conditions, for: refund) {
            guard let answer = rule.answer else { return RefundDecision(rule: rule.name, silence: .byRule) }
            if let request = request(answer, for: refund) { return RefundDecision(rule: rule.name, request: request) }
        }
        return RefundDecision(silence: .noRule)
    }

    /// Returns why nothing may be sent about a case, whatever the answer; `nil` if something may be sent.
    ///
    /// Google Play asks for the developer's preference and requires no consent. The used part, which is data about the
    /// customer, is still sent only with the consent.
    ///
    /// - Parameter isVouchedFor: Whether an operator states that the customer consented. The customer's own refusal
    ///   still counts.
    func obstacle(to refund: RefundCase, isVouchedFor: Bool) -> RefundDecision.Silence? {
        if refund.source == .googlePlay { return nil }
        if refund.isFamilyShared { return .familyShared }
        if let missing = missingConsent(of: refund, isVouchedFor: isVouchedFor) { return missing }
        return requestVersion(for: refund) == 1 && ![.consumable, .autoRenewableSubscription].contains(refund.kind)
            ? .unsupportedType : nil
    }

    /// Returns why data about the customer may not be sent; `nil` with a consent.
    private func missingConsent(of refund: RefundCase, isVouchedFor: Bool) -> RefundDecision.Silence? {
        switch refund.consent {
        case true?: nil
        case false?: .consentRefused
        case nil: consent == .reported && !isVouchedFor ? .consentUnknown : nil
        }
    }

    /// Returns the version of Apple's request; `nil` for a review of Google Play.
    private func requestVersion(for refund: RefundCase) -> Int? {
        guard refund.source != .googlePlay else { return nil }
        return refund.isAdvancedCommerce ? 1 : version
    }

    /// Returns the used part of a purchase in thousandths of a percent; `nil` if it is unknown.
    func usage(of refund: RefundCase) -> Int? {
        guard let report = refund.usage else { return nil }
        if let percentage = report.percentage { return percentage }
        guard let used = report.used, let units = units[refund.product] else { return nil }
        let (total, isTooMuch) = units.multipliedReportingOverflow(by: refund.quantity)
        guard !isTooMuch, total > 0 else { return nil }
        guard used < total else { return ConsumptionInformation.whole }
        return Int((UInt64(used) * UInt64(ConsumptionInformation.whole)) / UInt64(total))
    }

    /// Returns the request with an answer; `nil` if the store would refuse it.
    ///
    /// - Parameter isVouchedFor: As for ``obstacle(to:isVouchedFor:)``.
    func request(
        _ answer: ConsumptionAnswer, for refund: RefundCase, isVouchedFor: Bool = false
    ) -> ConsumptionInformation? {
        let report = refund.usage
        // The App Store computes the use of auto-renewable subscriptions, and refuses a percentage.
        let isComputed = refund.kind == .autoRenewableSubscription && refund.source != .googlePlay
        let delivery = answer.deliveryStatus ?? report?.deliveryStatus ?? .delivered
        let mayStateUse = missingConsent(of: refund, isVouchedFor: isVouchedFor) == nil
        let used = mayStateUse ? answer.percentage ?? usage(of: refund) : nil
        let information = ConsumptionInformation(
            version: requestVersion(for: refund), kind: refund.kind, preference: answer.preference,
            deliveryStatus: delivery,
            sampleContentProvided: answer.sampleContentProvided ?? report?.sampleContentProvided
                ?? sampleContentProvided,
            percentage: isComputed ? nil : delivery == .delivered ? used : mayStateUse ? 0 : nil,
            usage: delivery == .delivered ? used : 0, tenure: tenure(of: refund), playTime: report?.playTime,
            refunded: RefundHistory.sum(refund.refunds?.amounts, in: "USD"),
            paid: RefundHistory.sum(refund.refunds?.paid, in: "USD"))
        return information.isAcceptable ? information : nil
    }

    /// Returns the age of the customer in whole days; `nil` if it is unknown.
    private func tenure(of refund: RefundCase) -> Int? {
        refund.customerSince.map { max(0, Int(refund.requestedAt.timeIntervalSince($0) / 86_400)) }
    }

    // MARK: - Conditions

    private func holds(_ conditions: Conditions, for refund: RefundCase) -> Bool {
        holds(conditions.products) { $0.contains(refund.product) }
            && holds(conditions.types) { $0.contains(refund.kind) }
            && holds(conditions.reasons) { reasons in refund.reason.map(reasons.contains) ?? false }
            && holds(conditions.tenure) { contains(refund.customerSince, to: refund.requestedAt, in: $0) }
            && holds(conditions.owned) { contains(refund.purchasedAt, to: refund.requestedAt, in: $0) }
            && holds(conditions.refunds) { contains(refund.refunds?.count, in: $0) }
            && holds(conditions.refunded) { refunded in
                contains(RefundHistory.sum(refund.refunds?.amounts, in: refunded.currency), in: refunded.amount)
            }
            && holds(conditions.usage) { contains(usage(of: refund), in: $0) }
    }

    private func holds<Condition>(_ condition: Condition?, _ test: (Condition) -> Bool) -> Bool {
        condition.map(test) ?? true
    }

    private func contains<Value: Comparable>(_ value: Value?, in bounds: Bounds<Value>) -> Bool {
        guard let value else { return false }
        return (bounds.atLeast.map { value >= $0 } ?? true) && (bounds.below.map { value < $0 } ?? true)
    }

    /// Returns whether the time from `start` to `end` is within bounds, which are added to `start` by the calendar.
    private func contains(_ start: Date?, to end: Date, in bounds: Bounds<SubscriptionPeriod>) -> Bool {
        guard let start else { return false }
        return (bounds.atLeast.map { $0.end(from: start) <= end } ?? true)
            && (bounds.below.map { end < $0.end(from: start) } ?? true)
    }
}
