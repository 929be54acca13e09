import Foundation
import StoreModel

/// What holds in the whole store and decides how subscriptions go on: each with the instant from which it holds, because
/// what was due before is computed later.
struct Conditions: Sendable, Hashable {
    struct Dated<Value: Sendable & Hashable>: Sendable, Hashable {
        var at: Date
        var value: Value
    }

    /// A product that costs its subscribers another price from their next renewal on.
    struct PriceIncrease: Sendable, Hashable {
        var productID: ProductID
        var at: Date
        var price: Price
        /// Without the customer's consent before the renewal the subscription expires.
        var needsConsent: Bool

        /// The same amount in the money of another country, as a catalogue is sold there.
        func price(in currency: String) -> Price { Price(amount: price.amount, currency: currency) }
    }

    /// Days of access while a payment fails; 0: none. Oldest first, as all of these.
    var gracePeriods: [Dated<Int>] = []
    /// Whether every renewal's payment fails.
    var failingPayments: [Dated<Bool>] = []
    var priceIncreases: [PriceIncrease] = []
    /// Whether a product is no longer sold.
    var withdrawals: [ProductID: [Dated<Bool>]] = [:]

    /// How long payment is tried again, with the grace period.
    static let retryDays = 60

    /// When the grace period that begins at `end` is over; `nil` where there is none. A week's subscription has at most
    /// 6 days, and a shorter one a day less than it is long.
    func graceEnd(after end: Date, of plan: Plan) -> Date? {
        let days = min(gracePeriods.last { $0.at <= end }?.value ?? 0, Self.longestGrace(of: plan.period))
        return days > 0 ? end.addingTimeInterval(Double(days) * 86400) : nil
    }

    private static func longestGrace(of period: SubscriptionPeriod) -> Int {
        switch period.unit {
        case .second, .minute, .hour: 0
        case .day where period.value <= 7: period.value - 1
        case .week where period.value == 1: 6
        case .day, .week, .month, .year: .max
        }
    }

    func paymentsFail(at instant: Date) -> Bool { failingPayments.last { $0.at <= instant }?.value ?? false }

    /// When they no longer fail, at `instant` or later, as far as is known.
    func paymentsWork(from instant: Date) -> Date? {
        paymentsFail(at: instant) ? failingPayments.first { $0.at > instant && !$0.value }?.at : instant
    }

    /// What a subscriber of `plan` has to expect at `instant`: the latest price since theirs, if it is another one. Of
    /// several increases one that needs consent is enough to need it.
    func increase(for plan: Plan, at instant: Date) -> PendingIncrease? {
        guard !priceIncreases.isEmpty else { return nil }
        let since = priceIncreases.filter {
            $0.productID == plan.productID && $0.at <= instant && $0.at > plan.pricedAt
        }
        guard let last = since.last, last.price.amount != plan.price.amount else { return nil }
        return PendingIncrease(
            at: last.at, price: Price(amount: last.price.amount, currency: plan.price.currency),
            askedAt: since.last(where: \.needsConsent)?.at)
    }

    /// What a product costs those who do not subscribe to it yet, where it is not what the catalogue says.
    func price(of product: ProductID, at instant: Date) -> Price? {
        priceIncreases.last { $0.productID == product && $0.at <= instant }?.price
    }

    func isWithdrawn(_ product: ProductID, at instant: Date) -> Bool {
        withdrawals[product]?.last { $0.at <= instant }?.value ?? false
    }
}

/// The higher price that a subscriber's next renewal meets.
struct PendingIncrease: Sendable, Hashable {
    /// Since when the price is known, and what it is in the subscriber's money.
    var at: Date
    var price: Price
    /// Since when the customer's consent is asked for; `nil` where it is not needed.
    var askedAt: Date?

    var needsConsent: Bool { askedAt != nil }

    /// Whether the renewal is sold, to somebody who last agreed at `consent`.
    func isAgreed(by consent: Date?) -> Bool {
        guard let askedAt else { return true }
        return consent.map { $0 >= askedAt } ?? false
    }
}
