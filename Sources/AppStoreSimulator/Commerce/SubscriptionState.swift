import Foundation
import StoreModel

/// What has become of a subscription by an instant: its last event and the time since then, nothing else.
///
/// Nothing of it is stored: whoever asks computes it, and gets the same whenever they ask.
struct SubscriptionState: Sendable, Hashable {
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
    private(set) var increase: PendingIncrease?
    /// When how it stands last changed otherwise than by a sale.
    private(set) var changedAt: Date
    /// When time alone changes something next.
    private(set) var nextChange: Date?
    /// Whether the plan or the offer that the record wants next has been sold since.
    private var isRequestedSold = false

    /// `instant` is not before the record's last event.
    init(of record: SubscriptionRecord, under conditions: Conditions, at instant: Date) {
        self.record = record
        self.instant = instant
        runs = record.runs
        changedAt = record.changedAt
        if let until = record.share?.until, until <= instant {
            runs = Self.runs(sharedUntil: until, record, under: conditions)
            endShare(at: until)
            return
        }
        while advance(under: conditions) {}
        guard autoRenews else { return }
        // What is overdue costs what it did when it was due.
        let reading = status == .active ? instant : current.end
        increase = conditions.increase(for: upcoming(after: current).plan, at: reading)
        if let increase { changedAt = max(changedAt, increase.at) }
    }

    /// What a member of the family had by the time the share was lost, whatever its owner bought later.
    private static func runs(
        sharedUntil until: Date, _ record: SubscriptionRecord, under conditions: Conditions
    ) -> [Run] {
        var before = record
        before.share?.until = nil
        before.runs = record.runs.compactMap { $0.sold(before: until) }
        guard let last = before.runs.last else { return Array(record.runs.prefix(1)) }
        // Where the record holds more, it holds everything there was.
        guard before.runs.count == record.runs.count, last.count == record.runs.last?.count else { return before.runs }
        return SubscriptionState(of: before, under: conditions, at: until.addingTimeInterval(-0.001).wholeMilliseconds)
            .runs
    }

    /// The run of the latest period.
    var current: Run { runs[runs.count - 1] }
    var expiresDate: Date { current.end }
    /// Whether the customer may use it: paid for, or within the grace period.
    var isActive: Bool { status == .active || status == .gracePeriod }
    /// Whether there is something to go on: access, or attempts to be paid.
    var isRunning: Bool { isActive || status == .billingRetry }
    /// Whether the store means to sell another period.
    var autoRenews: Bool { record.renewal.offSince == nil && isRunning }
    /// Whether the higher price that comes will be paid.
    var hasConsented: Bool { increase?.isAgreed(by: record.renewal.consentedAt) ?? false }

    /// The record with what time has done written down, for an event to change.
    var condensed: SubscriptionRecord {
        var record = record
        if isRequestedSold || current.plan.productID == record.renewal.plan.productID {
            record.renewal.plan = current.plan
        }
        if isRequestedSold { record.renewal.offer = nil }
        record.runs = runs
        return record
    }

    /// What the store means to sell after a run.
    struct Upcoming: Sendable, Hashable {
        var plan: Plan
        var offer: AppliedOffer?
        /// Whether it is what the record wants next, rather than more of the same.
        var isRequested = false
    }

    /// What is sold next, if nothing happens until then.
    func nextSale() -> Upcoming {
        var next = upcoming(after: current)
        if let increase, next.offer == nil {
            next.plan.price = increase.price
            next.plan.pricedAt = increase.at
        }
        return next
    }

    // MARK: - Time

    /// What the family shared no longer goes on.
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

    /// One step: the current period's end, if it was before now. Returns whether there may be another.
    private mutating func advance(under conditions: Conditions) -> Bool {
        let run = current
        let end = run.end
        // What was taken back when it was over ended nothing.
        if let revocation = revocation(of: run), revocation.at < end { return revoke(at: revocation.at) }
        guard end <= instant else {
            nextChange = end
            return false
        }
        if let off = record.renewal.offSince, off <= end { return expire(.cancelled, at: end) }
        guard let next = nextRun(after: run, at: end, under: conditions) else { return false }
        if failsToPay(at: end, under: conditions) { return payLate(next, due: end, under: conditions) }
        let isMore = next.run.count > 0
        append(next)
        if isMore { sellMore(from: end, under: conditions) }
        return true
    }

    /// Sells at once all periods that follow the one sold at `date` and are more of the same: nothing that decides about a
    /// sale changes before they are due. A history of a million periods costs no more than a short one.
    private mutating func sellMore(from date: Date, under conditions: Conditions) {
        let run = current
        var most = Int(TransactionNumber.span) - max(run.first, run.offset)
        if let offer = run.offer { most = min(most, offer.transactionCount - run.offset) }
        for (id, revocation) in record.revocations where id >= run.latestID && revocation.isInForce(at: instant) {
            let index = Int(clamping: id - run.id(of: 0))
            if index < most, revocation.at < run.naturalEnd(of: index) { most = index + 1 }
        }
        guard most > run.count else { return }
        let change = nextCondition(after: date, under: conditions)
        let last = (run.count - 1..<most - 1).firstIndex(reaching: { index in
            let end = run.naturalEnd(of: index)
            return end > instant || change.map { end >= $0 } ?? false
        })
        runs[runs.count - 1].count = last + 1
    }

    /// When something next changes that decides whether the current plan is sold, and at which price.
    private func nextCondition(after date: Date, under conditions: Conditions) -> Date? {
        let product = current.plan.productID
        let changes = [
            record.renewal.offSince, record.renewal.failsFrom,
            conditions.failingPayments.first { $0.at > date }?.at,
            conditions.withdrawals[product]?.first { $0.at > date }?.at,
            conditions.nextIncrease(of: product, after: date),
        ]
        return changes.compactMap(\.self).filter { $0 > date }.min()
    }

    /// That of its latest period, if it is in force.
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

    private func upcoming(after run: Run) -> Upcoming {
        let renewal = record.renewal
        if !isRequestedSold {
            if renewal.plan.productID != run.plan.productID {
                return Upcoming(plan: renewal.plan, offer: renewal.offer, isRequested: true)
            }
            // One offer waits for the end of another.
            if let offer = renewal.offer, run.offer == nil || !run.hasRoom {
                return Upcoming(plan: run.plan, offer: offer, isRequested: true)
            }
        }
        return Upcoming(plan: run.plan, offer: run.hasRoom ? run.offer : nil)
    }

    /// A sale that is due: a run of which one more period is sold, perhaps its first.
    private struct DueSale {
        var run: Run
        var isRequested: Bool
    }

    /// What is sold when `run` ends at `end`. `nil`: nothing is, it has expired.
    private mutating func nextRun(after run: Run, at end: Date, under conditions: Conditions) -> DueSale? {
        guard run.hasNumbers else {
            _ = expire(.productUnavailable, at: end)
            return nil
        }
        var next = upcoming(after: run)
        if conditions.isWithdrawn(next.plan.productID, at: end) {
            _ = expire(.productUnavailable, at: end)
            return nil
        }
        // An offer's price stays what it was.
        if next.offer == nil, let increase = conditions.increase(for: next.plan, at: end) {
            guard increase.isAgreed(by: record.renewal.consentedAt) else {
                _ = expire(.priceIncrease, at: end)
                return nil
            }
            next.plan.price = increase.price
            next.plan.pricedAt = increase.at
        }
        let isMore = !next.isRequested && next.plan == run.plan && next.offer == run.offer
        if isMore, run.endsAt == nil { return DueSale(run: run, isRequested: false) }
        var new = Run(
            base: run.base, first: run.first + run.count, anchor: end, soldAt: end, plan: next.plan, offer: next.offer,
            count: 0, isRenewal: true)
        // Periods of the same length are counted on, but from where the last one was moved to.
        if run.endsAt == nil, next.offer == nil, run.offer == nil, next.plan.period == run.plan.period {
            new.anchor = run.anchor
            new.offset = run.offset + run.count
        } else if isMore, run.offer != nil {
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

    /// Whether a payment at that instant would fail, as far as is known.
    func failsToPay(at instant: Date, under conditions: Conditions) -> Bool {
        isFailing(at: instant) || conditions.paymentsFail(at: instant)
    }

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
    private mutating func payLate(_ next: DueSale, due: Date, under conditions: Conditions) -> Bool {
        let grace = conditions.graceEnd(after: due, of: current.plan)
        let retry = due.addingTimeInterval(Double(Conditions.retryDays) * 86400)
        let stop = min(retry, record.renewal.offSince ?? retry)
        let recovery = recovery(from: due, under: conditions)
        // Who gets the money of the last period back is not asked to pay for the next one.
        if let revocation = revocation(of: current), revocation.at < min(stop, recovery ?? stop) {
            return revoke(at: revocation.at)
        }
        if let recovery, recovery <= instant, recovery < stop {
            sellLate(next, at: recovery, isInGrace: grace.map { recovery < $0 } ?? false)
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

    /// Within the grace period the days of renewal stay what they were; after it they begin anew.
    private mutating func sellLate(_ next: DueSale, at date: Date, isInGrace: Bool) {
        var late = next.run
        late.first += late.count
        late.offset += late.count
        late.soldAt = date
        late.isRenewal = true
        late.count = 1
        if !isInGrace || late.end <= date { late.restart(at: date) }
        runs.append(late)
        isRequestedSold = isRequestedSold || next.isRequested
        changedAt = max(changedAt, date)
    }
}
