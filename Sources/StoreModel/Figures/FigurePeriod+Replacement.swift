import Foundation
import Primitives

/// The periods of subscriptions at Google Play that replaced one another.
extension FigurePeriod {
    /// Returns the periods of purchases, each of which replaced the one before it, in their order and without overlap.
    ///
    /// - Parameter purchases: The periods of each purchase, as `periods(of:renewals:)` returns them.
    static func merged(_ purchases: [[FigurePeriod]]) -> [FigurePeriod] {
        guard purchases.count > 1 else { return purchases.first ?? [] }
        var merged: [(purchase: Int, period: FigurePeriod)] = []
        var next: Date?
        for (purchase, period) in ordered(withoutGaps(withoutRepetitions(purchases))).reversed() {
            var period = period
            if let next, next < period.end { period.end = next }
            guard period.end > period.start else { continue }
            next = period.start
            merged.append((purchase, period))
        }
        merged.reverse()
        for index in merged.indices.dropFirst() where merged[index - 1].purchase < merged[index].purchase {
            let following = merged.dropFirst(index + 1).first { $0.purchase == merged[index].purchase }
            merged[index].period.addCredit(of: merged[index - 1].period, before: following?.period)
        }
        return merged.map(\.period)
    }

    /// Leaves out periods that a later purchase states again: a deferred replacement states the order of the replaced
    /// purchase until it takes effect. Until then the customer keeps this period.
    private static func withoutRepetitions(_ purchases: [[FigurePeriod]]) -> [[FigurePeriod]] {
        var kept: [[FigurePeriod]] = []
        var places: [TransactionID: (purchase: Int, period: Int)] = [:]
        for periods in purchases {
            var own: [FigurePeriod] = []
            for period in periods {
                if let place = places[period.fact.id] {
                    kept[place.purchase][place.period].end = period.end
                } else {
                    places[period.fact.id] = (kept.count, own.count)
                    own.append(period)
                }
            }
            kept.append(own)
        }
        return kept
    }

    /// Extends a period that lasted until its subscription was replaced, if the first period of the new one begins
    /// later: the customer has access meanwhile.
    private static func withoutGaps(_ purchases: [[FigurePeriod]]) -> [[FigurePeriod]] {
        var purchases = purchases
        var former: Int?
        for index in purchases.indices {
            guard let first = purchases[index].first else { continue }
            if let former, let last = purchases[former].indices.last {
                let end = purchases[former][last].end
                if end >= first.fact.originalPurchaseDate, end < first.start {
                    purchases[former][last].end = first.start
                }
            }
            former = index
        }
        return purchases
    }

    private static func ordered(_ purchases: [[FigurePeriod]]) -> [(purchase: Int, period: FigurePeriod)] {
        let all = purchases.enumerated().flatMap { number, periods in
            periods.enumerated().map { (purchase: number, place: $0, period: $1) }
        }
        return all.sorted { ($0.period.start, $0.purchase, $0.place) < ($1.period.start, $1.purchase, $1.place) }
            .map { ($0.purchase, $0.period) }
    }

    /// Adds the value of the unused time of the replaced period to the price of the first period after a replacement.
    ///
    /// Google Play gives this value as time, or charges a part of the new price for it. So the monthly price is what was
    /// paid, and what the unused time costs, divided by the length. Months have 28 to 31 days, so a result that differs
    /// by up to a tenth from the monthly price of the period before or after counts as that price.
    private mutating func addCredit(of last: FigurePeriod, before next: FigurePeriod?) {
        let rest = last.paidUntil.figureMilliseconds - start.figureMilliseconds
        guard rest > 0, !isTrial else { return }
        let paid = fact.paidMillionths
        if last.isTrial, paid == 0 {
            // The free time continues.
            (fact.isTrial, mrr) = (true, 0)
            return
        }
        // Without access to the orders, the price of this period is unknown.
        let currency = fact.price?.currency ?? last.fact.price?.currency
        let length = paidUntil.figureMilliseconds - start.figureMilliseconds
        guard let currency, last.mrr > 0, length > 0,
            last.fact.price?.currency.hasSameBytes(as: currency) == true
        else { return }
        fact.price = fact.price ?? Price(amount: 0, currency: currency)
        let exact = Self.monthly(paid, Self.month, plus: last.mrr, rest, by: length)
        let known = [last.mrr, next.map { $0.fact.productID == fact.productID ? $0.mrr : 0 } ?? 0]
        let nearest = known.min { abs($0 - exact) < abs($1 - exact) } ?? 0
        mrr = abs(nearest - exact) * 10 <= nearest ? nearest : exact
    }

    /// Returns the sum of two products divided by a number, each above or equal to 0, to the nearest integer.
    private static func monthly(
        _ amount: Int64, _ months: Int64, plus credit: Int64, _ rest: Int64, by length: Int64
    ) -> Int64 {
        let (first, second) = (amount.multipliedFullWidth(by: months), credit.multipliedFullWidth(by: rest))
        let (low, carries) = first.low.addingReportingOverflow(second.low)
        let (high, overflows) = first.high.addingReportingOverflow(second.high + (carries ? 1 : 0))
        guard !overflows, high < length else { return PurchaseFigures.maximumAmount }
        let (quotient, remainder) = length.dividingFullWidth((high, low))
        return min(remainder >= length - remainder ? quotient + 1 : quotient, PurchaseFigures.maximumAmount)
    }
}

extension [[TransactionFact]] {
    /// The facts of several purchases, with one for each transaction: the first, with a revocation that any states.
    var countedOnce: [TransactionFact] {
        guard count > 1 else { return first ?? [] }
        var facts: [TransactionFact] = []
        var places: [TransactionID: Int] = [:]
        for fact in joined() {
            guard let place = places[fact.id] else {
                places[fact.id] = facts.count
                facts.append(fact)
                continue
            }
            if facts[place].revocationDate == nil {
                facts[place].revocationDate = fact.revocationDate
                facts[place].revocationPercentage = fact.revocationPercentage
            }
        }
        return facts
    }
}
