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
    }

    /// Days of access while a payment fails; 0: none. Oldest first, as all of these.
    var gracePeriods: [Dated<Int>] = []
    /// Whether every renewal's payment fails.
    var failingPayments: [Dated<Bool>] = []
    var priceIncreases: [PriceIncrease] = []
    /// Products that are no longer sold.
    var withdrawals: [ProductID: Date] = [:]

    /// How long payment is tried again, with the grace period.
    static let retryDays = 60

    /// When the grace period that begins at `end` is over; `nil` where there is none. A week's subscription has at most
    /// 6 days.
    func graceEnd(after end: Date, of plan: Plan) -> Date? {
        let days = gracePeriods.last { $0.at <= end }?.value ?? 0
        let isWeekly = plan.period == .weeks(1) || plan.period == .days(7)
        let length = isWeekly ? min(days, 6) : days
        return length > 0 ? end.addingTimeInterval(Double(length) * 86400) : nil
    }

    func paymentsFail(at instant: Date) -> Bool { failingPayments.last { $0.at <= instant }?.value ?? false }

    /// When they no longer fail, at `instant` or later, as far as is known.
    func paymentsWork(from instant: Date) -> Date? {
        paymentsFail(at: instant) ? failingPayments.first { $0.at > instant && !$0.value }?.at : instant
    }

    /// The increase that a subscriber of `plan` meets at `instant`, if there is one.
    func increase(for plan: Plan, at instant: Date) -> PriceIncrease? {
        guard !priceIncreases.isEmpty else { return nil }
        return priceIncreases.last {
            $0.productID == plan.productID && $0.at <= instant && $0.at > plan.pricedAt && $0.price != plan.price
        }
    }

    func isWithdrawn(_ product: ProductID, at instant: Date) -> Bool {
        withdrawals[product].map { $0 <= instant } ?? false
    }
}
