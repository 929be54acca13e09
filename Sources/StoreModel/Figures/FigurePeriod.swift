import Foundation
import Primitives

/// One period of a subscription with the days on which it is active.
struct FigurePeriod {
    var fact: TransactionFact
    let startDay: Int64
    /// The end of the access, exclusive.
    var end: Date { didSet { endDay = FigureDay.containing(end) } }
    /// The day on which it ends: it is not active at the end of this day.
    private(set) var endDay: Int64
    /// The end of the time that was paid, which determines the monthly price.
    let paidUntil: Date
    /// The price of a month, in millionths of the currency.
    var mrr: Int64

    var isTrial: Bool { fact.isTrial }
    var start: Date { fact.purchaseDate }

    private init(_ fact: TransactionFact, until end: Date, paidUntil: Date, mrr: Int64) {
        (self.fact, self.end, self.paidUntil, self.mrr) = (fact, end, paidUntil, mrr)
        startDay = FigureDay.containing(fact.purchaseDate)
        endDay = FigureDay.containing(end)
    }

    func key(_ measure: FigureMeasure, on day: Int64) -> FigureKey { fact.key(measure, on: day) }

    /// Returns the periods that give access, in their order and without overlap.
    ///
    /// - Parameter facts: The newest facts of the transactions, in the order of their starts.
    static func periods(of facts: [TransactionFact], renewals: [RenewalFact]) -> [FigurePeriod] {
        let ends = facts.map { $0.expiresDate ?? $0.purchaseDate }
        let paidEnds = zip(facts, ends).map { $0.paidUntil ?? $1 }
        let graceEnds = graceEnds(of: facts, ends, renewals)
        var accessEnds = graceEnds
        for (index, fact) in facts.enumerated() {
            if let revoked = fact.revocationDate { accessEnds[index] = min(accessEnds[index], revoked) }
            if fact.isUpgraded { accessEnds[index] = min(accessEnds[index], fact.signedDate) }
        }
        var periods: [FigurePeriod] = []
        var next: Date?
        for index in facts.indices.reversed() {
            let fact = facts[index]
            let end = next.map { min($0, accessEnds[index]) } ?? accessEnds[index]
            guard end > fact.purchaseDate else { continue }
            next = fact.purchaseDate
            var start = fact.purchaseDate
            // A payment in the grace period is late, and its period ends as if the payment had been in time. But another
            // plan that is bought in the grace period begins with its payment.
            let paidEnd = paidEnds[index]
            if index > 0, fact.purchaseDate > paidEnds[index - 1], fact.purchaseDate <= graceEnds[index - 1],
                isWhole(from: paidEnds[index - 1], to: paidEnd),
                !isWholePlan(from: start, to: paidEnd, orWeek: fact.productID != facts[index - 1].productID)
            {
                start = paidEnds[index - 1]
            }
            let mrr = fact.isTrial ? 0 : monthly(fact.paidMillionths, from: start, to: paidEnd)
            periods.append(FigurePeriod(fact, until: end, paidUntil: paidEnd, mrr: mrr))
        }
        return periods.reversed()
    }

    /// Returns the end of each period with its grace period.
    ///
    /// Each renewal info counts for the last period that had begun when the info was signed. A grace period extends this
    /// period, also if the payment never succeeds. An info without a grace period that is signed in the grace period
    /// ends it: the customer has turned renewal off.
    private static func graceEnds(
        of facts: [TransactionFact], _ ends: [Date], _ renewals: [RenewalFact]
    ) -> [Date] {
        var graces: [Int: (signed: Date, end: Date)] = [:]
        for renewal in renewals {
            guard let grace = renewal.gracePeriodExpiresDate,
                let index = facts.indices.last(where: {
                    facts[$0].purchaseDate <= renewal.signedDate && ends[$0] <= grace
                })
            else { continue }
            let found = (signed: renewal.signedDate, end: grace)
            if let known = graces[index], known >= found { continue }
            graces[index] = found
        }
        var graceEnds = ends
        for (index, grace) in graces { graceEnds[index] = grace.end }
        for renewal in renewals where renewal.gracePeriodExpiresDate == nil {
            guard let index = facts.indices.last(where: { facts[$0].purchaseDate <= renewal.signedDate }),
                let grace = graces[index], renewal.signedDate > max(grace.signed, ends[index])
            else { continue }
            graceEnds[index] = min(graceEnds[index], renewal.signedDate)
        }
        return graceEnds
    }

    /// Whether the time between two instants is a whole number of weeks or, with a tolerance, of months.
    private static func isWhole(from start: Date, to end: Date) -> Bool {
        let (length, week) = (end.figureMilliseconds - start.figureMilliseconds, 7 * day)
        let months = (length + month / 2) / month
        return length > 0 && (length % week == 0 || months >= 1 && abs(length - months * month) <= tolerance)
    }

    /// Whether the time between two instants is exactly a period that stores sell: 1, 2, 3, 6 or 12 months of the
    /// calendar, or, if `orWeek`, a week. Summer time in the store's time zone may begin or end meanwhile.
    private static func isWholePlan(from start: Date, to end: Date, orWeek: Bool) -> Bool {
        let (first, length) = (FigureDay.containing(start), end.figureMilliseconds - start.figureMilliseconds)
        func isLength(_ days: Int64) -> Bool { [0, 3_600_000].contains(abs(length - days * day)) }
        return orWeek && isLength(7)
            || [1, 2, 3, 6, 12].contains { isLength(FigureDay.adding(months: $0, to: first) - first) }
    }

    /// The mean length of a month, and the tolerance of a period of whole months, in milliseconds.
    static let month: Int64 = 2_629_800_000
    private static let day: Int64 = 86_400_000
    private static let tolerance: Int64 = 3 * day

    /// Returns the amount for one month of a period that costs `amount`.
    ///
    /// A period within three days of a number of mean months, 30.4375 days each, counts as that number of months. For
    /// any other period, the exact length in mean months counts.
    static func monthly(_ amount: Int64, from start: Date, to end: Date) -> Int64 {
        let length = end.figureMilliseconds - start.figureMilliseconds
        guard amount > 0, length > 0 else { return 0 }
        let months = (length + month / 2) / month
        if months >= 1, abs(length - months * month) <= tolerance { return (2 * amount + months) / (2 * months) }
        let product = amount.multipliedFullWidth(by: month)
        guard product.high < length else { return PurchaseFigures.maximumAmount }
        let (quotient, remainder) = length.dividingFullWidth(product)
        return min(remainder >= length - remainder ? quotient + 1 : quotient, PurchaseFigures.maximumAmount)
    }
}
