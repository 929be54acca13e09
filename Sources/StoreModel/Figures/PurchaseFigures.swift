import Foundation
import Primitives

/// The contributions of one purchase to the figures: a pure function of the facts about it.
///
/// They are changes on days, also on future days: a subscription adds 1 on the day on which it starts, and -1 on the day
/// on which its paid time ends. A later fact gives other contributions, and the difference corrects the figures.
/// Documentation/Figures.md has the definitions.
package struct PurchaseFigures {
    /// The greatest age of a cohort, in months.
    package static let maximumAge: Int64 = 60
    /// The largest amount of one payment, in millionths. A larger one counts as unknown: it is an error of a store.
    package static let maximumAmount: Int64 = 1_000_000_000_000_000
    /// The number of days after a trial in which the first payment counts as its conversion: the store repeats a failed
    /// payment for this time.
    static let conversionDays: Int64 = 60

    private var sums = FigureSums()

    private init() {}

    /// Returns the contributions of all facts about one purchase, in any order.
    package static func contributions(
        of transactions: [TransactionFact], renewals: [RenewalFact]
    ) -> FigureSums {
        var state = CustomerState()
        for fact in transactions { state.apply(fact) }
        for fact in renewals { state.apply(fact) }
        return contributions(of: state)
    }

    /// Returns the contributions of a state with one purchase, without grants.
    package static func contributions(of state: CustomerState) -> FigureSums {
        var figures = PurchaseFigures()
        // A shared purchase belongs to the figures of the family member who paid.
        let own = state.transactions.values.filter { !$0.newest.isFamilyShared }
        let payments = own.map(\.newest)
        let renewing = payments.filter { $0.kind == .autoRenewableSubscription }.withoutSeatAdditions
            .sorted { $0.starts(before: $1) }
        let periods = FigurePeriod.periods(of: renewing, renewals: state.renewals.values.flatMap(\.self))
        let cohort = figures.addSubscription(periods)
        for payment in payments { figures.addPayment(payment, of: cohort) }
        return figures.sums
    }

    // MARK: - Money

    private mutating func addPayment(_ fact: TransactionFact, of cohort: FigurePeriod?) {
        let amount = fact.paidMillionths
        let paidOn = FigureDay.containing(fact.purchaseDate)
        guard amount > 0 else { return }
        sums.add(1, to: fact.key(.payments, on: paidOn))
        sums.add(amount, to: fact.key(.revenue, on: paidOn))
        addCohortRevenue(amount, fact, on: paidOn, of: cohort)
        guard let revoked = fact.revocationDate else { return }
        let refundedOn = FigureDay.containing(revoked)
        let refund = fact.refundedMillionths
        sums.add(1, to: fact.key(.refunded, on: refundedOn))
        sums.add(refund, to: fact.key(.refunds, on: refundedOn))
        sums.add(-refund, to: fact.key(.revenue, on: refundedOn))
        addCohortRevenue(-refund, fact, on: refundedOn, of: cohort)
    }

    private mutating func addCohortRevenue(
        _ amount: Int64, _ fact: TransactionFact, on day: Int64, of cohort: FigurePeriod?
    ) {
        guard let cohort, fact.kind == .autoRenewableSubscription else { return }
        let start = cohort.key(.cohortRevenue, on: cohort.startDay)
        // Amounts in different currencies are never added.
        guard let price = fact.price, price.currency.hasSameBytes(as: start.currency.rawValue) else { return }
        var key = start
        key.age = min(FigureDay.months(from: cohort.startDay, to: day), Self.maximumAge)
        sums.add(amount, to: key)
    }

    // MARK: - Subscriptions

    /// Adds the periods of a subscription. Returns the first paid one, with which its cohort begins.
    private mutating func addSubscription(_ periods: [FigurePeriod]) -> FigurePeriod? {
        var first: FigurePeriod?
        var previous: FigurePeriod?
        var trial: (started: FigurePeriod, end: Int64)?
        for period in periods {
            let continues = previous.map { period.startDay <= $0.endDay } ?? false
            sums.add(1, to: period.key(period.isTrial ? .trials : .active, on: period.startDay))
            sums.add(-1, to: period.key(period.isTrial ? .trials : .active, on: period.endDay))
            if let last = previous, !last.isTrial, !continues || period.isTrial { addEnd(of: last) }
            if period.isTrial {
                if continues, previous?.isTrial == true, let started = trial?.started {
                    trial = (started, period.endDay)
                } else {
                    sums.add(1, to: period.key(.trialsStarted, on: period.startDay))
                    trial = (period, period.endDay)
                }
            } else {
                addMRR(of: period)
                if let previous, continues, !previous.isTrial {
                    addMovement(from: previous, to: period)
                } else {
                    sums.add(1, to: period.key(first == nil ? .new : .reactivated, on: period.startDay))
                    sums.add(
                        period.mrr, to: period.key(first == nil ? .mrrNew : .mrrReactivation, on: period.startDay))
                }
                if let trial, period.startDay <= trial.end + Self.conversionDays {
                    sums.add(1, to: trial.started.key(.conversions, on: period.startDay))
                    sums.add(1, to: trial.started.key(.trialsConverted, on: trial.started.startDay))
                }
                trial = nil
                first = first ?? period
            }
            previous = period
        }
        if let previous, !previous.isTrial { addEnd(of: previous) }
        if let first { addRetention(of: periods, since: first) }
        return first
    }

    private mutating func addEnd(of period: FigurePeriod) {
        sums.add(1, to: period.key(.lost, on: period.endDay))
        sums.add(-period.mrr, to: period.key(.mrrChurn, on: period.endDay))
    }

    private mutating func addMRR(of period: FigurePeriod) {
        sums.add(period.mrr, to: period.key(.mrr, on: period.startDay))
        sums.add(-period.mrr, to: period.key(.mrr, on: period.endDay))
    }

    /// Adds the change of the monthly revenue from one period to the next.
    private mutating func addMovement(from last: FigurePeriod, to next: FigurePeriod) {
        let (old, new) = (last.key(.mrr, on: next.startDay), next.key(.mrr, on: next.startDay))
        guard old.currency == new.currency else {
            sums.add(-last.mrr, to: last.key(.mrrContraction, on: next.startDay))
            sums.add(next.mrr, to: next.key(.mrrExpansion, on: next.startDay))
            return
        }
        let change = next.mrr - last.mrr
        sums.add(change, to: next.key(change > 0 ? .mrrExpansion : .mrrContraction, on: next.startDay))
    }

    private mutating func addRetention(of periods: [FigurePeriod], since first: FigurePeriod) {
        let paid = periods.filter { !$0.isTrial }
        guard let end = paid.last?.endDay else { return }
        for age in 1...Self.maximumAge {
            let day = FigureDay.adding(months: age, to: first.startDay)
            guard day < end else { return }
            guard paid.contains(where: { $0.startDay <= day && day < $0.endDay }) else { continue }
            var key = first.key(.retained, on: first.startDay)
            key.age = age
            sums.add(1, to: key)
        }
    }
}

/// One period of a subscription with the days on which it is active.
struct FigurePeriod {
    private let fact: TransactionFact
    let startDay: Int64
    /// The day on which it ends: it is not active at the end of this day.
    let endDay: Int64
    /// The price of a month, in millionths of the currency.
    let mrr: Int64

    var isTrial: Bool { fact.isTrial }

    func key(_ measure: FigureMeasure, on day: Int64) -> FigureKey { fact.key(measure, on: day) }

    /// Returns the periods that give access, in their order and without overlap.
    ///
    /// - Parameter facts: The newest facts of the transactions, in the order of their starts.
    static func periods(of facts: [TransactionFact], renewals: [RenewalFact]) -> [FigurePeriod] {
        let ends = facts.map { $0.expiresDate ?? $0.purchaseDate }
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
            if index > 0, fact.purchaseDate > ends[index - 1], fact.purchaseDate <= graceEnds[index - 1],
                isWhole(from: ends[index - 1], to: ends[index]),
                !isWholePlan(from: start, to: ends[index], orWeek: fact.productID != facts[index - 1].productID)
            {
                start = ends[index - 1]
            }
            periods.append(
                FigurePeriod(
                    fact: fact, startDay: FigureDay.containing(fact.purchaseDate), endDay: FigureDay.containing(end),
                    mrr: fact.isTrial ? 0 : monthly(fact.paidMillionths, from: start, to: ends[index])))
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
    private static let month: Int64 = 2_629_800_000
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

extension TransactionFact {
    /// The amount that was paid, in millionths of the currency; 0 if it is unknown or nothing.
    fileprivate var paidMillionths: Int64 {
        guard let price, price.amount > 0 else { return 0 }
        let largest = Decimal(PurchaseFigures.maximumAmount)
        var scaled = price.amount * 1_000_000 * Decimal(quantity)
        guard scaled.isFinite, scaled <= largest else { return 0 }
        var rounded = Decimal()
        NSDecimalRound(&rounded, &scaled, 0, .plain)
        return NSDecimalNumber(decimal: rounded).int64Value
    }

    /// The amount that a revocation returned.
    fileprivate var refundedMillionths: Int64 {
        guard let share = revocationPercentage, (0...100_000).contains(share) else { return paidMillionths }
        let (quotient, remainder) = paidMillionths.quotientAndRemainder(dividingBy: 100_000)
        return quotient * Int64(share) + (remainder * Int64(share) + 50_000) / 100_000
    }

    fileprivate func key(_ measure: FigureMeasure, on day: Int64) -> FigureKey {
        FigureKey(
            measure, day: day, product: ExactString(productID.rawValue), country: ExactString(storefront ?? ""),
            source: ExactString(source.rawValue), offer: ExactString(offerName),
            currency: ExactString(price?.currency ?? ""))
    }

    /// The kind of the offer, with its identifier after a slash; empty without an offer.
    private var offerName: String {
        let kind =
            switch offerType {
            case nil: offerIdentifier == nil ? "" : "offer"
            case 1: "introductory"
            case 2: "promotional"
            case 3: "offerCode"
            case 4: "winBack"
            case .some(let other): "offer \(other)"
            }
        guard let offerIdentifier, !offerIdentifier.isEmpty else { return kind }
        return "\(kind)/\(offerIdentifier)"
    }
}
