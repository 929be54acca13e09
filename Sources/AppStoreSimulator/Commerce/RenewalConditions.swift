import Foundation
import StoreModel

/// The settings of the whole store that affect renewals, each with the instant from which it applies. Renewals are
/// computed later than they are due, so earlier values of a setting are kept. Every list is sorted from the oldest to
/// the newest.
struct RenewalConditions: Sendable, Hashable {
    struct Dated<Value: Sendable & Hashable>: Sendable, Hashable {
        var at: Date
        var value: Value
    }

    /// A new price of a product. It applies to new subscribers from `at`, and to others from their next renewal.
    struct PriceIncrease: Sendable, Hashable {
        var productID: ProductID
        /// The billing plan whose price rises.
        var billingPlan = BillingPlan.Kind.upFront
        var at: Date
        var price: Price
        /// Whether the subscription expires unless the customer consents before the renewal.
        var needsConsent: Bool

        /// Returns the same amount in another currency; a catalogue has the same amounts in each country.
        func price(in currency: String) -> Price { Price(amount: price.amount, currency: currency) }
    }

    /// The length of the grace period in days; 0 means none.
    var gracePeriods: [Dated<Int>] = []
    /// Whether every renewal's payment fails.
    var failingPayments: [Dated<Bool>] = []
    var priceIncreases: [PriceIncrease] = []
    /// Whether a product is no longer sold.
    var withdrawals: [ProductID: [Dated<Bool>]] = [:]
    /// The conditions of the win-back offers of each product. Only the present ones count.
    var winBackConditions: [ProductID: [WinBackConditions]] = [:]

    /// Returns the end of billing retry after a failed payment at `due`: 60 days later, the grace period included, or 90
    /// days for a plan with a commitment.
    static func retryEnd(after due: Date, of plan: Plan) -> Date {
        due.addingTimeInterval(plan.bills == nil ? 60 * 86400 : 90 * 86400)
    }

    /// Returns the end of the grace period that begins at `end`; `nil` if there is none. After a subscription period of
    /// at most 7 days, the grace period is at least a day shorter than that period. A plan with a commitment has no
    /// grace period.
    func graceEnd(after end: Date, of plan: Plan) -> Date? {
        guard plan.bills == nil else { return nil }
        let days = min(gracePeriods.last { $0.at <= end }?.value ?? 0, Self.maximumGraceDays(of: plan.period))
        return days > 0 ? end.addingTimeInterval(Double(days) * 86400) : nil
    }

    private static func maximumGraceDays(of period: SubscriptionPeriod) -> Int {
        switch period.unit {
        case .second, .minute, .hour: 0
        case .day where period.value <= 7: period.value - 1
        case .week where period.value == 1: 6
        case .day, .week, .month, .year: .max
        }
    }

    func paymentsFail(at instant: Date) -> Bool { failingPayments.last { $0.at <= instant }?.value ?? false }

    /// Returns the first instant at `instant` or later at which payments succeed; `nil` if none is known.
    func firstSuccessfulPayment(from instant: Date) -> Date? {
        paymentsFail(at: instant) ? failingPayments.first { $0.at > instant && !$0.value }?.at : instant
    }

    /// Returns the increases since `plan` got its price, as one increase to the latest price; `nil` if the price is the
    /// same. If one of them needs consent, the result does.
    func increase(for plan: Plan, at instant: Date) -> PendingIncrease? {
        guard !priceIncreases.isEmpty else { return nil }
        let increases = priceIncreases.filter {
            $0.productID == plan.productID && $0.billingPlan == plan.billingPlan && $0.at <= instant
                && $0.at > plan.pricedAt
        }
        guard let last = increases.last, last.price.amount != plan.price.amount else { return nil }
        return PendingIncrease(
            at: last.at, price: Price(amount: last.price.amount, currency: plan.price.currency),
            consentRequestedAt: increases.last(where: \.needsConsent)?.at)
    }

    /// Returns a product's price for new subscribers; `nil` if it is the catalogue's. With a monthly billing plan, it is
    /// the price of one bill.
    func price(of product: ProductID, _ plan: BillingPlan.Kind = .upFront, at instant: Date) -> Price? {
        priceIncreases.last { $0.productID == product && $0.billingPlan == plan && $0.at <= instant }?.price
    }

    func isWithdrawn(_ product: ProductID, at instant: Date) -> Bool {
        withdrawals[product]?.last { $0.at <= instant }?.value ?? false
    }
}

/// A price increase that applies to a subscriber's next renewal.
struct PendingIncrease: Sendable, Hashable {
    /// The instant from which the price is known.
    var at: Date
    /// The new price, in the subscriber's currency.
    var price: Price
    /// The instant from which the customer's consent is requested; `nil` if it is not needed.
    var consentRequestedAt: Date?

    var needsConsent: Bool { consentRequestedAt != nil }

    /// Whether the increase needs no consent, or has the consent of a customer who last consented at `consent`.
    func hasConsent(givenAt consent: Date?) -> Bool {
        guard let consentRequestedAt else { return true }
        return consent.map { $0 >= consentRequestedAt } ?? false
    }
}
