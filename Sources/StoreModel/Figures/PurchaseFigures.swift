import Foundation
import Primitives

/// The contributions of one purchase to the figures: a pure function of the facts about it. Subscriptions at Google Play
/// that replaced one another contribute as one (`contributions(of:)` of a chain).
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
        let known = payments(of: state)
        return contributions(of: known, periods(of: known, state))
    }

    /// Returns the contributions of purchases that count as one subscription: each replaced the one before it.
    ///
    /// - Parameter chain: The states, each with one purchase and without grants.
    package static func contributions(of chain: [CustomerState]) -> FigureSums {
        let known = chain.map { payments(of: $0) }
        let merged = FigurePeriod.merged(zip(known, chain).map { periods(of: $0, $1) })
        return contributions(of: known.countedOnce, merged)
    }

    private static func contributions(of payments: [TransactionFact], _ periods: [FigurePeriod]) -> FigureSums {
        var figures = PurchaseFigures()
        let cohort = figures.addSubscription(periods)
        for payment in payments { figures.addPayment(payment, of: cohort) }
        return figures.sums
    }

    /// Returns the newest facts about one purchase. A shared purchase belongs to the figures of the family member who
    /// paid.
    private static func payments(of state: CustomerState) -> [TransactionFact] {
        state.transactions.values.map(\.newest).filter { !$0.isFamilyShared }
    }

    private static func periods(of payments: [TransactionFact], _ state: CustomerState) -> [FigurePeriod] {
        let renewing = payments.filter { $0.kind == .autoRenewableSubscription }.withoutSeatAdditions
            .sorted { $0.starts(before: $1) }
        return FigurePeriod.periods(of: renewing, renewals: state.renewals.values.flatMap(\.self))
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

extension TransactionFact {
    /// The amount that was paid, in millionths of the currency; 0 if it is unknown or nothing.
    var paidMillionths: Int64 {
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

    func key(_ measure: FigureMeasure, on day: Int64) -> FigureKey {
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
