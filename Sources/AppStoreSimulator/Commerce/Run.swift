import Foundation
import StoreModel

/// Consecutive periods without a gap, sold at one price.
struct Run: Sendable, Hashable {
    /// The transaction number of the first period of the sale. Each renewal has the next number, and the first period
    /// of this run has `base + first`.
    var base: Int64
    var first = 0
    /// The instant from which the ends of all periods are computed, so that they keep the day of the month. `offset`
    /// periods lie between the anchor and the first period of the run.
    var anchor: Date
    var offset = 0
    /// The purchase date of the first period. It is later than the period's start if an overdue payment succeeded in
    /// the grace period.
    var soldAt: Date
    var plan: Plan
    var offer: AppliedOffer?
    /// The number of periods sold; at least one.
    var count = 1
    /// Whether the first period is a renewal. All later periods are renewals.
    var isRenewal = false
    /// The instant at which another plan replaced the last period.
    var upgradedAt: Date?
    /// The end of the last period if it was ended early or extended.
    var endsAt: Date?

    /// The transaction number of the last period.
    var latestID: Int64 { id(of: count - 1) }

    func id(of index: Int) -> Int64 { base + Int64(first + index) }

    /// Whether the sale has a transaction number left for another period.
    var hasNumbersLeft: Bool { max(first, offset) + count < Int(TransactionNumber.span) }

    /// Whether the offer has another period; true without an offer.
    var offerHasPeriodsLeft: Bool { offer.map { offset + count < $0.transactionCount } ?? true }

    var end: Date { end(of: count - 1) }

    /// Returns the start of period `index`; the first period of the run has the index 0.
    func start(of index: Int) -> Date { index + offset == 0 ? anchor : naturalEnd(of: index - 1) }

    /// Returns the purchase date of period `index`.
    func purchaseDate(of index: Int) -> Date { index == 0 ? soldAt : start(of: index) }

    func end(of index: Int) -> Date {
        if index == count - 1, let endsAt { return endsAt }
        return naturalEnd(of: index)
    }

    /// Returns the end of period `index` by the calendar, without an early end or an extension.
    func naturalEnd(of index: Int) -> Date {
        let place = index + offset
        let end = offer?.end(from: anchor, index: place) ?? plan.period.end(from: anchor, count: place + 1)
        return end.wholeMilliseconds
    }

    /// Makes `date` the anchor. An offer keeps the periods that it has left.
    mutating func restart(at date: Date) {
        if let used = offer, used.paymentMode == .payAsYouGo { offer?.periodCount = used.periodCount - offset }
        anchor = date
        offset = 0
    }

    /// Returns the run as it was just before `date`; `nil` if none of its periods was sold by then.
    func sold(before date: Date) -> Run? {
        let sold = (0..<count).firstIndex(reaching: { purchaseDate(of: $0) >= date })
        guard sold > 0 else { return nil }
        var run = self
        run.count = sold
        let isWhole = run.count == count
        run.upgradedAt = isWhole ? upgradedAt.flatMap { $0 < date ? $0 : nil } : nil
        // An early end is not known before it occurs; an extension stays.
        run.endsAt = isWhole ? endsAt.flatMap { $0 < date || $0 > naturalEnd(of: count - 1) ? $0 : nil } : nil
        return run
    }
}

extension Range<Int> {
    /// Returns the first number for which `isReached` is true; the upper bound if there is none. `isReached` must be
    /// true for all following numbers as well.
    ///
    /// The number of calls is logarithmic in the distance of the result from the lower bound.
    func firstIndex(reaching isReached: (Int) -> Bool) -> Int {
        var (low, high) = (lowerBound, upperBound)
        var step = 1
        while low < high {
            let probe = step < high - low ? low + step - 1 : low + (high - low) / 2
            if isReached(probe) {
                high = probe
                step = high - low
            } else {
                low = probe + 1
                step = step < high - low ? step * 2 : high - low
            }
        }
        return low
    }
}
