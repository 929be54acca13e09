import Foundation
import Primitives

/// The periods of one auto-renewable subscription, and what the store said about the next.
struct SubscriptionTimeline {
    /// Every period, by start.
    private let periods: [TransactionFact]
    /// Those that were not ended by an upgrade, by start.
    private let live: [TransactionFact]
    /// What was said about the latest period, oldest first.
    private let renewals: [RenewalFact]

    init(_ transactions: [CustomerState.KnownTransaction], renewals: [RenewalFact]) {
        let ordered = transactions.sorted { $0.newest.starts(before: $1.newest) }
        periods = ordered.map(\.newest)
        live = periods.filter { !$0.isUpgraded }
        // A renewal is sold, and spoken about, up to a day before its period starts: what was said before the store first
        // signed the latest period is about an earlier one.
        let latest = ordered.last { !$0.newest.isUpgraded }
        let since = latest.map { min($0.newest.purchaseDate, $0.firstSigned) } ?? .distantPast
        self.renewals = renewals.filter { $0.signedDate >= since }
    }

    /// One period as it stands at one instant.
    struct Status {
        let period: TransactionFact
        let state: CustomerSubscription.State
        let expiresAt: Date
        let effectiveUntil: Date
        let hasAccess: Bool
        let renewal: RenewalFact?
        let gracePeriodUntil: Date?
        let cancelledAt: Date?
        let startedAt: Date
    }

    /// Instants at which anything about the subscription may change by itself.
    var instants: [Date] {
        live.flatMap { [$0.purchaseDate, expiry(of: $0), effectiveEnd(of: $0)] }
    }

    func status(at instant: Date) -> Status {
        let period = current(at: instant)
        let end = effectiveEnd(of: period)
        let state = state(of: period, at: instant)
        return Status(
            period: period, state: state, expiresAt: expiry(of: period), effectiveUntil: end,
            hasAccess: state == .active || state == .inGracePeriod, renewal: renewals.last,
            gracePeriodUntil: grace(of: period), cancelledAt: cancelledAt,
            startedAt: periods.map(\.originalPurchaseDate).min() ?? period.originalPurchaseDate)
    }

    /// The period that gives access; without one, the one that says why not.
    ///
    /// A period that was sold is not withheld because it starts a little later by this clock, unless another one gives
    /// access until then.
    private func current(at instant: Date) -> TransactionFact {
        let started = live.filter { $0.purchaseDate <= instant }
        let open = { (period: TransactionFact) in period.revocationDate == nil && instant < effectiveEnd(of: period) }
        return started.last(where: open) ?? live.first { $0.purchaseDate > instant && open($0) } ?? started.last
            ?? live.first ?? periods[periods.endIndex - 1]
    }

    private func state(of period: TransactionFact, at instant: Date) -> CustomerSubscription.State {
        if period.revocationDate != nil { return .revoked }
        if period.isUpgraded { return .expired }
        if instant < expiry(of: period) { return .active }
        if let grace = grace(of: period), instant < grace { return .inGracePeriod }
        if isLatest(period), renewals.last?.isInBillingRetry == true { return .inBillingRetry }
        return .expired
    }

    private func isLatest(_ period: TransactionFact) -> Bool { period.id == live.last?.id }

    private func expiry(of period: TransactionFact) -> Date { period.expiresDate ?? period.purchaseDate }

    /// The end of the grace period the store states for the latest period, if it is beyond the period's own end.
    private func grace(of period: TransactionFact) -> Date? {
        guard isLatest(period), period.revocationDate == nil, let end = renewals.last?.gracePeriodExpiresDate,
            end > expiry(of: period)
        else { return nil }
        return end
    }

    private func effectiveEnd(of period: TransactionFact) -> Date {
        if let revoked = period.revocationDate { return min(revoked, expiry(of: period)) }
        if period.isUpgraded { return min(period.signedDate, expiry(of: period)) }
        return grace(of: period) ?? expiry(of: period)
    }

    /// The store does not date a cancellation: it is the first signature since which it says the same.
    private var cancelledAt: Date? {
        renewals.suffix(while: { $0.autoRenews == false }).first?.signedDate
    }
}

extension TransactionFact {
    fileprivate func starts(before other: TransactionFact) -> Bool {
        if purchaseDate != other.purchaseDate { return purchaseDate < other.purchaseDate }
        let (end, otherEnd) = (expiresDate ?? purchaseDate, other.expiresDate ?? other.purchaseDate)
        return end != otherEnd ? end < otherEnd : id < other.id
    }
}

extension Array {
    /// The longest run at the end whose elements all satisfy `predicate`.
    fileprivate func suffix(while predicate: (Element) -> Bool) -> ArraySlice<Element> {
        let start = lastIndex { !predicate($0) }.map { $0 + 1 } ?? startIndex
        return self[start...]
    }
}
