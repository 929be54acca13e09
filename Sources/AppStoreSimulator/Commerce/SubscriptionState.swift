import Foundation
import StoreModel

/// The periods and the status of a subscription at an instant.
///
/// The state is not stored, because renewals need no event. It is computed from the record, which contains the state
/// after the last event. The same record, conditions and instant always give the same state.
struct SubscriptionState: Sendable, Hashable {
    /// The subscription status. Raw values are those of Apple's subscription status.
    enum Status: Int, Sendable { case active = 1, expired, billingRetry, gracePeriod, revoked }

    let record: SubscriptionRecord
    let instant: Date
    /// All periods sold until `instant`, oldest first; never empty.
    private(set) var runs: [Run]
    private(set) var status = Status.active
    /// The reason why the subscription expired; `nil` if it has not expired.
    private(set) var expirationIntent: ExpirationIntent?
    /// The end of the grace period, if `instant` is in it.
    private(set) var graceEnd: Date?
    /// The end of billing retry, if a payment is overdue at `instant`.
    private(set) var retryEnd: Date?
    /// The price increase of the next renewal.
    private(set) var increase: PendingIncrease?
    /// The instant of the last change. A renewal that was paid on time does not count.
    private(set) var changedAt: Date
    /// The next instant at which the state changes without an event.
    private(set) var nextChange: Date?
    /// Whether the plan or offer that the record requests for the next renewal was sold since the last event.
    private var isRequestedSold = false
    /// The conditions of the win-back offers.
    let winBackConditions: [ProductID: [WinBackConditions]]

    /// Computes the state at `instant`, which must not be before the record's last event.
    init(of record: SubscriptionRecord, under conditions: RenewalConditions, at instant: Date) {
        self.record = record
        self.instant = instant
        runs = record.runs
        changedAt = record.changedAt
        winBackConditions = conditions.winBackConditions
        if let until = record.share?.until, until <= instant {
            runs = Self.runs(sharedUntil: until, record, under: conditions)
            endShare(at: until)
            return
        }
        while advance(under: conditions) {}
        guard renewsTerm else { return }
        // An overdue period has the price that was valid when it was due.
        let priceDate = status == .active || isCommitted ? instant : current.end
        increase = conditions.increase(for: renewal(of: current).plan, at: priceDate)
        if let increase { changedAt = max(changedAt, increase.at) }
    }

    /// Returns the periods that a share has until its end, without those that the owner bought later.
    private static func runs(
        sharedUntil until: Date, _ record: SubscriptionRecord, under conditions: RenewalConditions
    ) -> [Run] {
        let isAssigned = record.share?.isAssigned ?? false
        var before = record
        before.share?.until = nil
        before.runs = runs(record.runs, sharedUntil: until, isAssigned)
        guard let last = before.runs.last else { return Array(record.runs.prefix(1)) }
        // A record with periods after the end of the share has all earlier ones. Otherwise the rest is computed.
        guard before.runs.count == record.runs.count, last.count == record.runs.last?.count else { return before.runs }
        return runs(SubscriptionState(of: before, under: conditions, at: until).runs, sharedUntil: until, isAssigned)
    }

    /// Returns the periods that begin before `until`, and a renewal at that instant: the share ends after it. A share
    /// that ends with a period, because the owner's next product is not shareable, does not contain the next period.
    private static func runs(_ runs: [Run], sharedUntil until: Date, _ isAssigned: Bool) -> [Run] {
        var found: [Run] = []
        for run in runs {
            let renews = found.last.map { run.isRenewal && (isAssigned || run.plan.productID == $0.plan.productID) }
            guard let sold = run.sold(before: until, renews: renews ?? false) else { break }
            found.append(sold)
        }
        return found
    }

    /// The latest run, which ends with the latest period.
    var current: Run { runs[runs.count - 1] }
    var expiresDate: Date { current.end }
    /// Whether the customer has access, which continues in the grace period.
    var isActive: Bool { status == .active || status == .gracePeriod }
    /// Whether the subscription has not ended: it gives access or is in billing retry.
    var isRunning: Bool { isActive || status == .billingRetry }
    /// Whether bills of the current commitment follow, which cancelling does not stop.
    var isCommitted: Bool { isRunning && isCommitted(after: current) }
    /// Whether the store will try to sell another period.
    var autoRenews: Bool { renewsTerm || isCommitted }
    /// Whether the store will try to sell another commitment. Without a commitment, the same as `autoRenews`.
    var renewsTerm: Bool { record.renewal.offSince == nil && isRunning }
    /// Whether the customer has agreed to the price increase of the next renewal.
    var hasConsented: Bool { increase?.hasConsent(givenAt: record.renewal.consentedAt) ?? false }

    /// The record with all renewals until `instant`, to which the next event is applied.
    var condensed: SubscriptionRecord {
        var record = record
        if isRequestedSold {
            record.renewal.plan = current.plan
        } else if current.plan.isSame(as: record.renewal.plan) {
            let seats = record.renewal.plan.seats
            record.renewal.plan = current.plan
            record.renewal.plan.seats = seats
        }
        if isRequestedSold { record.renewal.offer = nil }
        record.runs = runs
        return record
    }

    /// The plan and the offer of the next sale.
    struct Upcoming: Sendable, Hashable {
        var plan: Plan
        var offer: AppliedOffer?
        /// Whether the sale applies the plan or offer that the record requests for the next renewal.
        var isRequested = false
    }

    /// Returns the next sale, provided that no event comes before it. In a commitment, it is the next bill.
    func nextSale() -> Upcoming { isCommitted(after: current) ? Upcoming(plan: current.plan) : nextTerm() }

    /// Returns the sale after the current commitment, provided that no event comes before it. Without a commitment, it
    /// is the next sale.
    func nextTerm() -> Upcoming {
        var next = renewal(of: current)
        if let increase, next.offer == nil {
            next.plan.price = increase.price
            next.plan.pricedAt = increase.at
        }
        return next
    }

    // MARK: - Time

    /// Ends a family member's share.
    private mutating func endShare(at until: Date) {
        if current.end > until {
            status = .revoked
            changedAt = until
        } else {
            status = .expired
            expirationIntent = .cancelled
            changedAt = current.end
        }
    }

    /// Applies the next change of the current period, if it is due at `instant`: its revocation, or its end with a
    /// renewal, a failed payment or an expiry. Returns whether a period was sold. That period can have ended too, so
    /// the caller repeats the call.
    private mutating func advance(under conditions: RenewalConditions) -> Bool {
        let run = current
        let end = run.end
        // A revocation after the end of the period is not a change of this period.
        if let revocation = revocation(of: run), revocation.at < end { return revoke(at: revocation.at) }
        guard end <= instant else {
            nextChange = end
            return false
        }
        if let off = record.renewal.offSince, off <= end, !isCommitted(after: run) {
            return expire(.cancelled, at: end)
        }
        guard let next = nextRun(after: run, at: end, under: conditions) else { return false }
        if failsToPay(at: end, under: conditions) { return applyFailedPayment(next, due: end, under: conditions) }
        let continuesRun = next.run.count > 0
        append(next)
        if continuesRun { extendCurrentRun(from: end, under: conditions) }
        return true
    }

    /// Adds all equal periods that follow the one sold at `date`, until `instant` or until a condition of the sale
    /// changes. A binary search finds the last one, so a history of a million periods is computed as fast as a short
    /// one.
    private mutating func extendCurrentRun(from date: Date, under conditions: RenewalConditions) {
        let run = current
        var limit = Int(TransactionNumber.span) - max(run.first, run.offset)
        if let offer = run.offer { limit = min(limit, offer.transactionCount - run.offset) }
        // Another commitment is sold under the conditions at the end of this one.
        if run.bills != nil { limit = min(limit, run.count + run.billsLeft) }
        for (id, revocation) in record.revocations where id >= run.latestID && revocation.isInForce(at: instant) {
            let index = Int(clamping: id - run.id(of: 0))
            if index < limit, revocation.at < run.naturalEnd(of: index) { limit = index + 1 }
        }
        guard limit > run.count else { return }
        let change = nextCondition(after: date, under: conditions)
        let last = (run.count - 1..<limit - 1).firstIndex(reaching: { index in
            let end = run.naturalEnd(of: index)
            return end > instant || change.map { end >= $0 } ?? false
        })
        runs[runs.count - 1].count = last + 1
    }

    /// Returns the next instant after `date` at which a condition of the current plan's sale or price changes.
    private func nextCondition(after date: Date, under conditions: RenewalConditions) -> Date? {
        let product = current.plan.productID
        let changes = [
            record.renewal.offSince, record.renewal.failsFrom,
            conditions.failingPayments.first { $0.at > date }?.at,
            conditions.withdrawals[product]?.first { $0.at > date }?.at,
            conditions.nextIncrease(of: product, after: date),
        ]
        return changes.compactMap(\.self).filter { $0 > date }.min()
    }

    /// Returns the revocation of the run's last period if it is in force.
    private func revocation(of run: Run) -> Revocation? {
        record.revocations[run.latestID].flatMap { $0.isInForce(at: instant) ? $0 : nil }
    }

    private mutating func revoke(at date: Date) -> Bool {
        status = .revoked
        changedAt = max(changedAt, date)
        return false
    }

    private mutating func expire(_ intent: ExpirationIntent, at date: Date) -> Bool {
        status = .expired
        expirationIntent = intent
        changedAt = max(changedAt, date)
        return false
    }

    /// Whether another bill of the commitment follows the last period of `run`.
    private func isCommitted(after run: Run) -> Bool { run.billsLeft > 0 && !record.renewal.endsCommitment }

    /// Returns the sale after `run`, or after its commitment. A requested offer of the same plan begins when the present
    /// offer has ended.
    private func renewal(of run: Run) -> Upcoming {
        let renewal = record.renewal
        if !isRequestedSold {
            if !renewal.plan.isSame(as: run.plan) {
                return Upcoming(plan: renewal.plan, offer: renewal.offer, isRequested: true)
            }
            if let offer = renewal.offer, run.offer == nil || !run.offerHasPeriodsLeft {
                return Upcoming(plan: run.plan, offer: offer, isRequested: true)
            }
            if renewal.plan.seats != run.plan.seats {
                var plan = run.plan
                plan.seats = renewal.plan.seats
                return Upcoming(plan: plan, isRequested: true)
            }
        }
        return Upcoming(plan: run.plan, offer: run.offerHasPeriodsLeft ? run.offer : nil)
    }

    /// A sale that is due. `run` is the current run, which gets one more period, or a new run without periods.
    private struct DueSale {
        var run: Run
        var isRequested: Bool
    }

    /// Returns the sale that is due when `run` ends at `end`. Returns `nil` if there is none; the subscription then
    /// expires. A price increase does not change the price of an offer.
    private mutating func nextRun(after run: Run, at end: Date, under conditions: RenewalConditions) -> DueSale? {
        guard run.hasNumbersLeft else {
            _ = expire(.productUnavailable, at: end)
            return nil
        }
        let isCommitted = isCommitted(after: run)
        var next = isCommitted ? Upcoming(plan: run.plan) : renewal(of: run)
        if !isCommitted, conditions.isWithdrawn(next.plan.productID, at: end) {
            _ = expire(.productUnavailable, at: end)
            return nil
        }
        if !isCommitted, next.offer == nil, let increase = conditions.increase(for: next.plan, at: end) {
            guard increase.hasConsent(givenAt: record.renewal.consentedAt) else {
                _ = expire(.priceIncrease, at: end)
                return nil
            }
            next.plan.price = increase.price
            next.plan.pricedAt = increase.at
        }
        let continuesRun = !next.isRequested && next.plan == run.plan && next.offer == run.offer
        if continuesRun, run.endsAt == nil { return DueSale(run: run, isRequested: false) }
        var new = Run(
            base: run.base, first: run.first + run.count, anchor: end, soldAt: end, plan: next.plan, offer: next.offer,
            count: 0, billed: isCommitted ? run.bill(of: run.count - 1) ?? 0 : 0, isRenewal: true)
        // Periods of the same length keep the anchor of their dates, unless the end of the last one was changed.
        if run.endsAt == nil, next.offer == nil, run.offer == nil, next.plan.period == run.plan.period {
            new.anchor = run.anchor
            new.offset = run.offset + run.count
        } else if continuesRun, run.offer != nil {
            new.offset = run.offset + run.count
            new.restart(at: end)
        }
        return DueSale(run: new, isRequested: next.isRequested)
    }

    private mutating func append(_ next: DueSale) {
        if next.run.count == 0 { runs.append(next.run) }
        runs[runs.count - 1].count += 1
        isRequestedSold = isRequestedSold || next.isRequested
    }

    // MARK: - Payment

    /// Whether a payment at `instant` fails, according to the record and the conditions.
    func failsToPay(at instant: Date, under conditions: RenewalConditions) -> Bool {
        isFailing(at: instant) || conditions.paymentsFail(at: instant)
    }

    private func isFailing(at instant: Date) -> Bool {
        guard let from = record.renewal.failsFrom, from <= instant else { return false }
        return record.renewal.failsUntil.map { instant < $0 } ?? true
    }

    /// Returns the first instant at or after `due` at which a payment succeeds, or `nil` if none is known.
    private func recovery(from due: Date, under conditions: RenewalConditions) -> Date? {
        var instant = due
        while true {
            if isFailing(at: instant) {
                guard let until = record.renewal.failsUntil else { return nil }
                instant = until
            }
            guard let success = conditions.firstSuccessfulPayment(from: instant) else { return nil }
            if success == instant { return instant }
            instant = success
        }
    }

    /// Applies a payment that failed at `due`. The store retries it until it succeeds, billing retry ends, the customer
    /// turns renewal off, or the last period is revoked.
    private mutating func applyFailedPayment(_ next: DueSale, due: Date, under conditions: RenewalConditions) -> Bool {
        let grace = conditions.graceEnd(after: due, of: current.plan)
        let retry = RenewalConditions.retryEnd(after: due, of: current.plan)
        let off = isCommitted(after: current) ? nil : record.renewal.offSince
        let stop = min(retry, off ?? retry)
        let recovery = recovery(from: due, under: conditions)
        if let revocation = revocation(of: current), revocation.at < min(stop, recovery ?? stop) {
            return revoke(at: revocation.at)
        }
        if let recovery, recovery <= instant, recovery < stop {
            sellOverduePeriod(next, at: recovery, isInGrace: grace.map { recovery < $0 } ?? false)
            return true
        }
        guard instant < stop else { return expire(.billingError, at: stop) }
        retryEnd = retry
        if let grace, instant < grace {
            graceEnd = grace
            status = .gracePeriod
            changedAt = max(changedAt, due)
            nextChange = min(grace, recovery ?? grace)
        } else {
            status = .billingRetry
            changedAt = max(changedAt, grace ?? due)
            nextChange = min(retry, recovery ?? retry)
        }
        return false
    }

    /// Sells an overdue period at `date`. It keeps its dates if it is paid in the grace period and ends after `date`.
    /// Otherwise it starts at `date`.
    private mutating func sellOverduePeriod(_ next: DueSale, at date: Date, isInGrace: Bool) {
        var overdue = next.run
        overdue.first += overdue.count
        overdue.offset += overdue.count
        overdue.skipBills(overdue.count)
        overdue.soldAt = date
        overdue.isRenewal = true
        overdue.count = 1
        if !isInGrace || overdue.end <= date { overdue.restart(at: date) }
        runs.append(overdue)
        isRequestedSold = isRequestedSold || next.isRequested
        changedAt = max(changedAt, date)
    }
}
