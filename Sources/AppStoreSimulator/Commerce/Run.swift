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
    /// The number of bills of the commitment that were paid before the first period; 0 without a commitment.
    var billed = 0
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

    /// The number of bills of each commitment. `nil` for a plan that is paid up front, and for the periods of an offer,
    /// which come before the bills.
    var bills: Int? { offer == nil ? plan.bills : nil }

    /// Returns the number of the bill that pays period `index`, counted from 1; `nil` without a commitment.
    func bill(of index: Int) -> Int? { bills.map { (billed + index) % $0 + 1 } }

    /// Counts `count` bills more as paid before the first period.
    mutating func skipBills(_ count: Int) {
        if let bills { billed = (billed + count) % bills }
    }

    /// The number of bills of the commitment that follow the last period.
    var billsLeft: Int {
        guard let bills, let paid = bill(of: count - 1) else { return 0 }
        return bills - paid
    }

    /// Returns the progress of the commitment in period `index`; `nil` without a commitment. The dates of the bills that
    /// follow are counted as those of the run, or from the end of a period that was extended or ended early.
    func commitment(of index: Int) -> CommitmentProgress? {
        guard let bills, let bill = bill(of: index) else { return nil }
        let end =
            index == count - 1 && endsAt != nil
            ? plan.period.end(from: end(of: index), count: bills - bill).wholeMilliseconds
            : naturalEnd(of: index + bills - bill)
        return CommitmentProgress(bill: bill, bills: bills, endsAt: end, price: plan.termPrice)
    }

    /// Makes `date` the anchor. An offer keeps the periods that it has left.
    mutating func restart(at date: Date) {
        if let used = offer, used.paymentMode == .payAsYouGo { offer?.periodCount = used.periodCount - offset }
        anchor = date
        offset = 0
    }

    /// Returns the run with the periods that were sold before `date`, and with a renewal at `date`. Returns `nil` if
    /// there is no such period.
    ///
    /// - Parameter renews: Whether the first period is a renewal too.
    func sold(before date: Date, renews: Bool) -> Run? {
        let sold = (0..<count).firstIndex(reaching: { index in
            let purchased = purchaseDate(of: index)
            return index == 0 && !renews ? purchased >= date : purchased > date
        })
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

/// The progress of a commitment that is billed monthly.
struct CommitmentProgress: Sendable, Hashable {
    /// The number of the latest bill, counted from 1.
    var bill: Int
    var bills: Int
    /// The end of the commitment, if the bills that follow are paid when they are due.
    var endsAt: Date
    /// The price of all bills.
    var price: Price
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
