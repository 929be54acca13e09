import Foundation
import SQLStorage
import SimulatorControl
import StoreModel

typealias WinBackConditions = StoreControlWire.WinBackConditions

extension WinBackConditions {
    /// Returns the conditions as they were read from the database. Throws `unexpectedValue` for a number outside of its
    /// range.
    func checked() throws(SQLError) -> WinBackConditions {
        let numbers = [
            (paidMonths, Self.paidRange), (minimumMonthsSinceEnd, Self.sinceEndRange),
            (maximumMonthsSinceEnd, Self.sinceEndRange), (monthsBetweenOffers, Self.betweenOffersRange),
        ]
        guard numbers.allSatisfy({ number, range in number.map(range.contains) ?? true }) else {
            throw SQLError(.unexpectedValue, "The simulator database has invalid conditions of a win-back offer.")
        }
        return self
    }
}

/// Win-back offers, which depend on the history of the customer in the group.
extension SubscriptionState {
    /// Returns the win-back offers of a product that the customer can redeem now.
    func eligibleWinBackOffers(of item: CatalogueItem) -> [WinBackOffer] {
        guard status == .expired else { return [] }
        return item.winBackOffers.filter { offer in
            offer.isEligible && offer.id.map { refusal(ofWinBackOffer: $0, of: item.id) == nil } ?? true
        }
    }

    /// Returns the first condition of a win-back offer that the customer of an ended subscription does not meet; `nil`
    /// if all hold.
    ///
    /// At the instant at which a minimum is reached the customer is eligible, and at the instant at which the maximum
    /// is reached too.
    func refusal(ofWinBackOffer id: String, of product: ProductID) -> String? {
        guard let conditions = winBackConditions[product]?.first(where: { $0.offerID.hasSameBytes(as: id) }) else {
            return nil
        }
        if let months = conditions.paidMonths, paidDays < Double(months * Self.daysOfMonth) {
            return "The offer \(id) needs \(months) paid months; the customer has paid for less."
        }
        if let months = conditions.minimumMonthsSinceEnd, instant < expiresDate.adding(months: months) {
            return "The offer \(id) begins \(months) months after the end of the subscription."
        }
        if let months = conditions.maximumMonthsSinceEnd, instant > expiresDate.adding(months: months) {
            return "The offer \(id) ended \(months) months after the end of the subscription."
        }
        let last = runs.filter { $0.offer?.kind == .winBack }.map(\.soldAt).max()
        if let months = conditions.monthsBetweenOffers, let last, instant < last.adding(months: months) {
            return "The customer redeemed a win-back offer less than \(months) months ago."
        }
        return nil
    }

    /// The days that count as a month, and as a twelfth of a year.
    private static let daysOfMonth = 30

    /// The length of all periods that were paid for and not refunded. A period of months counts 30 days for each month,
    /// so that equal periods count the same in each month of the year.
    private var paidDays: Double {
        runs.reduce(0) { sum, run in
            let price = run.offer.map { $0.price?.amount ?? 0 } ?? run.plan.price.amount
            guard price > 0 else { return sum }
            let revoked = record.revocations.count { id, revocation in
                id >= run.id(of: 0) && id < run.latestID && revocation.isInForce(at: instant)
            }
            let length = Self.days(of: run)
            return sum + length * Double(run.count - 1 - revoked) + paidDays(ofLastPeriodOf: run, length)
        }
    }

    /// A period that another plan replaced, or that was ended early, counts until its end.
    private func paidDays(ofLastPeriodOf run: Run, _ length: Double) -> Double {
        if record.revocations[run.latestID]?.isInForce(at: instant) == true { return 0 }
        let end = min(run.upgradedAt ?? run.end, run.end)
        guard end < run.naturalEnd(of: run.count - 1) else { return length }
        return min(length, max(0, end.timeIntervalSince(run.start(of: run.count - 1)) / 86400))
    }

    private static func days(of run: Run) -> Double {
        let period = run.offer?.period ?? run.plan.period
        let count = run.offer?.paymentMode == .payUpFront ? run.offer?.periodCount ?? 1 : 1
        let days: Double =
            switch period.unit {
            case .second: 1.0 / 86400
            case .minute: 60.0 / 86400
            case .hour: 3600.0 / 86400
            case .day: 1
            case .week: 7
            case .month: Double(daysOfMonth)
            case .year: Double(12 * daysOfMonth)
            }
        return days * Double(period.value) * Double(count)
    }
}

extension Date {
    /// Returns the same time of day `months` later in the calendar of UTC.
    func adding(months: Int) -> Date { SubscriptionPeriod.months(months).end(from: self).wholeMilliseconds }
}
