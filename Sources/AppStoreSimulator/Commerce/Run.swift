import Foundation
import StoreModel

/// Periods sold one after another without a gap, at one price.
struct Run: Sendable, Hashable {
    /// The number under which the sale that began it was made, and the place of its first period after that: what goes on
    /// by itself goes on in the same numbers.
    var base: Int64
    var first = 0
    /// Where its periods are counted from, so that the day of the month is kept, and how many lie before its first.
    var anchor: Date
    var offset = 0
    /// When its first period was paid; later than the period's start when an overdue payment came within the grace period.
    var soldAt: Date
    var plan: Plan
    var offer: AppliedOffer?
    /// How many periods of it were sold; at least one.
    var count = 1
    /// Whether its first period went on from an earlier one; all others do.
    var isRenewal = false
    /// When its last period made way for another plan.
    var upgradedAt: Date?
    /// When its last period ends, where somebody moved that: it was ended before its time, or extended.
    var endsAt: Date?

    /// The number of its latest transaction.
    var latestID: Int64 { id(of: count - 1) }

    func id(of index: Int) -> Int64 { base + Int64(first + index) }

    /// Whether the sale has a number for another period.
    var hasNumbers: Bool { max(first, offset) + count < Int(TransactionNumber.span) }

    /// Whether the offer, if it is sold under one, goes on.
    var hasRoom: Bool { offer.map { offset + count < $0.transactionCount } ?? true }

    var end: Date { end(of: count - 1) }

    /// The start of its period `index`, counted from its own first.
    func start(of index: Int) -> Date { index + offset == 0 ? anchor : naturalEnd(of: index - 1) }

    /// When its period `index` was paid.
    func purchaseDate(of index: Int) -> Date { index == 0 ? soldAt : start(of: index) }

    func end(of index: Int) -> Date {
        if index == count - 1, let endsAt { return endsAt }
        return naturalEnd(of: index)
    }

    /// The end of its period `index` as the calendar has it.
    func naturalEnd(of index: Int) -> Date {
        let place = index + offset
        let end = offer?.end(from: anchor, index: place) ?? plan.period.end(from: anchor, count: place + 1)
        return end.wholeMilliseconds
    }

    /// Counts its periods from `date` on; of an offer's those that are left.
    mutating func restart(at date: Date) {
        if let used = offer, used.paymentMode == .payAsYouGo { offer?.periodCount = used.periodCount - offset }
        anchor = date
        offset = 0
    }

    /// What of it was sold before `date`, as it was then; `nil` if nothing was.
    func sold(before date: Date) -> Run? {
        let sold = (0..<count).firstIndex(reaching: { purchaseDate(of: $0) >= date })
        guard sold > 0 else { return nil }
        var run = self
        run.count = sold
        let isWhole = run.count == count
        run.upgradedAt = isWhole ? upgradedAt.flatMap { $0 < date ? $0 : nil } : nil
        // What was ended before its time was so from then on; an extended period does not become a shorter one again.
        run.endsAt = isWhole ? endsAt.flatMap { $0 < date || $0 > naturalEnd(of: count - 1) ? $0 : nil } : nil
        return run
    }
}

extension Range<Int> {
    /// The first of these numbers for which `isReached` holds, which it then does for all that follow; the upper bound if
    /// it holds for none.
    ///
    /// Asks about a logarithm of them, and about few if the number is one of the first.
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
