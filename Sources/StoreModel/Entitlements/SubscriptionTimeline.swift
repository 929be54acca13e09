import Foundation
import Primitives

/// The periods of one auto-renewable subscription, with its renewal infos. It computes the status at any instant.
///
/// Google Play states a subscription as a whole, so of its statements only the newest counts. The earlier ones remain for
/// the figures.
struct SubscriptionTimeline {
    /// All periods, in the order of their starts.
    private let periods: [TransactionFact]
    /// The periods that were not upgraded to another product, in the order of their starts.
    private let notUpgraded: [TransactionFact]
    /// The renewal infos about the last period in `notUpgraded`, the oldest first.
    private let renewals: [RenewalFact]

    init(_ transactions: [CustomerState.KnownTransaction], renewals: [RenewalFact]) {
        let fetched = transactions.filter { $0.newest.source == .googlePlay }
            .max { $1.newest.isNewer(than: $0.newest) }
        let ordered = fetched.map { [$0] } ?? transactions.sorted { $0.newest.starts(before: $1.newest) }
        periods = ordered.map(\.newest)
        notUpgraded = periods.filter { !$0.isUpgraded }
        // A renewal is sold and signed up to a day before its period. Older renewal infos are about an earlier period.
        let latest = ordered.last { !$0.newest.isUpgraded }
        let since =
            fetched?.newest.signedDate ?? latest.map { min($0.newest.purchaseDate, $0.firstSigned) } ?? .distantPast
        self.renewals = renewals.filter { $0.signedDate >= since }
    }

    /// The status of the subscription at one instant, with the period that decides it.
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

    /// The instants at which the status can change without a new fact.
    var instants: [Date] {
        notUpgraded.flatMap { [$0.purchaseDate, expiry(of: $0), effectiveEnd(of: $0)] }
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

    /// Returns the period that gives access: a period that has started or, without one, the next period. The store has
    /// sold the next period already, and the store's clock can be ahead of the local clock.
    ///
    /// If no period gives access, returns the last period, which shows why access ended.
    private func current(at instant: Date) -> TransactionFact {
        let started = notUpgraded.filter { $0.purchaseDate <= instant }
        let givesAccess = { (period: TransactionFact) in
            period.revocationDate == nil && instant < effectiveEnd(of: period)
        }
        return started.last(where: givesAccess)
            ?? notUpgraded.first { $0.purchaseDate > instant && givesAccess($0) }
            ?? started.last ?? notUpgraded.first ?? periods[periods.endIndex - 1]
    }

    private func state(of period: TransactionFact, at instant: Date) -> CustomerSubscription.State {
        if period.revocationDate != nil { return .revoked }
        if period.isUpgraded { return .expired }
        let (expiry, grace) = (expiry(of: period), grace(of: period))
        if let grace, instant < grace, instant >= expiry || grace == expiry { return .inGracePeriod }
        if instant < expiry { return .active }
        if isLatest(period), renewals.last?.isInBillingRetry == true { return .inBillingRetry }
        if isLatest(period), renewals.last?.isPaused == true { return .paused }
        return .expired
    }

    private func isLatest(_ period: TransactionFact) -> Bool { period.id == notUpgraded.last?.id }

    private func expiry(of period: TransactionFact) -> Date { period.expiresDate ?? period.purchaseDate }

    /// Returns the end of the grace period that the store states for the latest period, if it is later than the end of
    /// the period. Google Play may state no other end of the period than that of the grace period.
    private func grace(of period: TransactionFact) -> Date? {
        guard isLatest(period), period.revocationDate == nil, let end = renewals.last?.gracePeriodExpiresDate,
            end > expiry(of: period) || end == expiry(of: period) && period.source == .googlePlay
        else { return nil }
        return end
    }

    private func effectiveEnd(of period: TransactionFact) -> Date {
        if let revoked = period.revocationDate { return min(revoked, expiry(of: period)) }
        if period.isUpgraded {
            // Google Play states the instant of the replacement, and Apple does not.
            return period.source == .googlePlay ? expiry(of: period) : min(period.signedDate, expiry(of: period))
        }
        return grace(of: period) ?? expiry(of: period)
    }

    /// The date from which every renewal info states that the subscription, or its commitment, does not renew. Apple does
    /// not report the date of a cancellation itself; Google Play reports that of the customer.
    private var cancelledAt: Date? {
        if periods.last?.source == .googlePlay { return renewals.last?.cancelledAt }
        return renewals.suffix(while: \.isCancelled).first?.signedDate
    }
}

extension TransactionFact {
    func starts(before other: TransactionFact) -> Bool {
        if purchaseDate != other.purchaseDate { return purchaseDate < other.purchaseDate }
        let (end, otherEnd) = (expiresDate ?? purchaseDate, other.expiresDate ?? other.purchaseDate)
        return end != otherEnd ? end < otherEnd : id < other.id
    }
}

extension Array {
    /// Returns the longest suffix whose elements all satisfy `predicate`.
    fileprivate func suffix(while predicate: (Element) -> Bool) -> ArraySlice<Element> {
        let start = lastIndex { !predicate($0) }.map { $0 + 1 } ?? startIndex
        return self[start...]
    }
}
