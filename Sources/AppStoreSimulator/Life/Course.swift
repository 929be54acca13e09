import Foundation
import StoreModel

/// What has become of a subscription by an instant: its last event and the time since then, nothing else.
///
/// Nothing of it is stored: whoever asks computes it, and gets the same whenever they ask.
struct Course: Sendable, Hashable {
    /// Closed: how it stands. Raw values are those of Apple's subscription status.
    enum Status: Int, Sendable { case active = 1, expired, billingRetry, gracePeriod, revoked }

    let record: SubscriptionRecord
    let instant: Date
    /// Everything sold by then, oldest first; never empty.
    private(set) var runs: [Run]
    private(set) var status = Status.active
    /// Why it ended.
    private(set) var expirationIntent: ExpirationIntent?
    /// While a payment fails: when access ends, where there still is any, and when the attempts do.
    private(set) var graceEnd: Date?
    private(set) var retryEnd: Date?
    /// A higher price that the next renewal meets.
    private(set) var increase: Conditions.PriceIncrease?
    /// When how it stands last changed otherwise than by a sale.
    private(set) var changedAt: Date
    /// When time alone changes something next.
    private(set) var nextChange: Date?

    /// `instant` is not before the record's last event.
    init(of record: SubscriptionRecord, under conditions: Conditions, at instant: Date) {
        self.record = record
        self.instant = instant
        runs = record.runs
        changedAt = record.changedAt
        if let until = record.share?.until, until <= instant {
            status = .revoked
            changedAt = until
            return
        }
        while goOn(under: conditions) {}
        guard isActive, record.renewal.offSince == nil else { return }
        increase = conditions.increase(for: next(after: current).plan, at: instant)
        if let increase { changedAt = max(changedAt, increase.at) }
    }

    /// The run of the latest period.
    var current: Run { runs[runs.count - 1] }
    var expiresDate: Date { current.end }
    /// Whether the customer may use it: paid for, or within the grace period.
    var isActive: Bool { status == .active || status == .gracePeriod }
    /// Whether the store means to sell another period.
    var autoRenews: Bool { record.renewal.offSince == nil && (isActive || status == .billingRetry) }
    /// Whether the customer agreed to the higher price that comes.
    var hasConsented: Bool {
        guard let increase else { return false }
        return !increase.needsConsent || record.renewal.consentedAt.map { $0 >= increase.at } ?? false
    }

    /// The record with what time has done written down, for an event to change.
    var condensed: SubscriptionRecord {
        var record = record
        if runs.count > record.runs.count || current.plan.productID == record.renewal.plan.productID {
            record.renewal.plan = current.plan
        }
        if runs.count > record.runs.count { record.renewal.offer = nil }
        record.runs = runs
        return record
    }

    /// What is sold next, if nothing happens until then.
    func nextSale() -> (plan: Plan, offer: AppliedOffer?) {
        var (plan, offer) = next(after: current)
        if let increase, offer == nil { plan.price = increase.price }
        return (plan, offer)
    }

    // MARK: - Time

    /// One step: the current period's end, if it was before now. Returns whether there may be another.
    private mutating func goOn(under conditions: Conditions) -> Bool {
        let run = current
        let end = run.end
        if let revocation = record.revocations[run.latestID] {
            if revocation.isInForce(at: instant) {
                status = .revoked
                changedAt = max(changedAt, revocation.at)
                return false
            }
            // Given back too late: nothing was renewed meanwhile.
            if end <= instant, revocation.isInForce(at: end) { return expire(.cancelled, at: end) }
        }
        guard end <= instant else {
            nextChange = end
            return false
        }
        if let off = record.renewal.offSince, off <= end { return expire(.cancelled, at: end) }
        guard let next = nextRun(after: run, at: end, under: conditions) else { return false }
        if isFailing(at: end) || conditions.paymentsFail(at: end) { return payLate(next, due: end, under: conditions) }
        append(next)
        return true
    }

    private mutating func expire(_ intent: ExpirationIntent, at date: Date) -> Bool {
        status = .expired
        expirationIntent = intent
        changedAt = max(changedAt, date)
        return false
    }

    /// What is sold when `run` ends at `end`: itself once more, or a new one that has sold nothing yet. `nil`: nothing is,
    /// it has expired.
    private mutating func nextRun(after run: Run, at end: Date, under conditions: Conditions) -> Run? {
        var (plan, offer) = next(after: run)
        if conditions.isWithdrawn(plan.productID, at: end) {
            _ = expire(.productUnavailable, at: end)
            return nil
        }
        if let increase = conditions.increase(for: plan, at: end) {
            let consent = record.renewal.consentedAt
            guard !increase.needsConsent || consent.map({ $0 >= increase.at && $0 <= end }) ?? false else {
                _ = expire(.priceIncrease, at: end)
                return nil
            }
            plan.price = increase.price
            plan.pricedAt = increase.at
        }
        if plan == run.plan, offer == run.offer, run.cutAt == nil { return run }
        var next = Run(
            base: run.base, first: run.first + run.count, anchor: end, soldAt: end, plan: plan, offer: offer, count: 0,
            isRenewal: true)
        // Another price for the same periods: they are counted on.
        if offer == nil, run.offer == nil, plan.period == run.plan.period, run.cutAt == nil {
            next.anchor = run.anchor
            next.offset = run.offset + run.count
        }
        return next
    }

    /// The plan and the offer of the period after the latest of `run`.
    private func next(after run: Run) -> (plan: Plan, offer: AppliedOffer?) {
        let renewal = record.renewal
        // What was asked for has happened as soon as something was sold differently since.
        let isAsked = renewal.plan.productID != run.plan.productID || renewal.offer != nil
        if isAsked, runs.count == record.runs.count { return (renewal.plan, renewal.offer) }
        return (run.plan, run.hasRoom ? run.offer : nil)
    }

    private mutating func append(_ next: Run) {
        if next.count == 0 { runs.append(next) }
        runs[runs.count - 1].count += 1
    }

    // MARK: - Payment

    private func isFailing(at instant: Date) -> Bool {
        guard let from = record.renewal.failsFrom, from <= instant else { return false }
        return record.renewal.failsUntil.map { instant < $0 } ?? true
    }

    /// The first instant from `due` on at which payment works, as far as is known.
    private func recovery(from due: Date, under conditions: Conditions) -> Date? {
        var instant = due
        while true {
            if isFailing(at: instant) {
                guard let until = record.renewal.failsUntil else { return nil }
                instant = until
            }
            guard let works = conditions.paymentsWork(from: instant) else { return nil }
            if works == instant { return instant }
            instant = works
        }
    }

    /// The payment due at `due` failed: it is tried again until it succeeds, or until there is no more point in it.
    private mutating func payLate(_ next: Run, due: Date, under conditions: Conditions) -> Bool {
        let grace = conditions.graceEnd(after: due, of: next.plan)
        let retry = due.addingTimeInterval(Double(Conditions.retryDays) * 86400)
        let stop = min(retry, record.renewal.offSince ?? retry)
        if let recovery = recovery(from: due, under: conditions), recovery <= instant, recovery < stop {
            sellLate(next, at: recovery, isInGrace: grace.map { recovery < $0 } ?? false)
            return true
        }
        guard instant < stop else { return expire(.billingError, at: stop) }
        retryEnd = retry
        if let grace, instant < grace {
            graceEnd = grace
            status = .gracePeriod
            changedAt = max(changedAt, due)
            nextChange = grace
        } else {
            status = .billingRetry
            changedAt = max(changedAt, grace ?? due)
            nextChange = retry
        }
        return false
    }

    /// Within the grace period the days of renewal stay what they were; after it they begin anew.
    private mutating func sellLate(_ next: Run, at date: Date, isInGrace: Bool) {
        var late = next
        late.first = next.first + next.count
        late.offset = next.offset + next.count
        late.soldAt = date
        late.isRenewal = true
        late.count = 1
        late.cutAt = nil
        if !isInGrace {
            // What is left of an offer's periods goes on from here.
            if let offer = next.offer, offer.paymentMode == .payAsYouGo {
                late.offer?.periodCount = offer.periodCount - late.offset
            }
            late.anchor = date
            late.offset = 0
        }
        runs.append(late)
        changedAt = max(changedAt, date)
    }
}
