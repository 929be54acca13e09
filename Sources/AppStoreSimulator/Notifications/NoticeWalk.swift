import Foundation
import StoreModel

/// Walks a subscription through the instants at which time alone does something to it, which nobody has written down.
struct NoticeWalk {
    struct Step: Sendable, Hashable {
        var notice: Notice
        /// How the subscription stood then; its instant is that of the notice.
        var course: Course
    }

    private(set) var steps: [Step] = []
    /// How it stands at the end.
    private(set) var course: Course

    /// From `start`, which is not before the record's last event, to `end`. `isEveryOne`: of several notices in a row that
    /// say the same of later periods all are kept, not only the last. Ends early, where another walk can go on, with
    /// `limit` steps.
    init(
        of record: SubscriptionRecord, under conditions: Conditions, from start: Date, to end: Date, isEveryOne: Bool,
        limit: Int = .max
    ) {
        course = Course(of: record, under: conditions, at: start)
        while course.instant < end, steps.count < limit {
            let product = course.nextSale().plan.productID
            let increase = conditions.nextIncrease(of: product, after: course.instant)
            if !isEveryOne { skipRenewals(until: min(increase ?? end, end), under: conditions) }
            let news = [course.nextChange, increase].compactMap(\.self)
            // What was computed once is not computed again from the beginning.
            let next = Course(of: course.condensed, under: conditions, at: min(news.min() ?? end, end))
            guard next.instant > course.instant else { break }
            for notice in next.notices(since: course) { add(notice, of: next, isEveryOne: isEveryOne) }
            course = next
        }
    }

    private mutating func add(_ notice: Notice, of course: Course, isEveryOne: Bool) {
        let step = Step(notice: notice, course: course)
        if !isEveryOne, let last = steps.last, last.notice.repeats(notice) {
            steps[steps.count - 1] = step
        } else {
            steps.append(step)
        }
    }

    /// Goes on to the last but one of the renewals until `end` that are more of the same: all of them say the same, so that
    /// only the last would be kept.
    private mutating func skipRenewals(until end: Date, under conditions: Conditions) {
        let place = course.runs.count - 1
        let run = Course(of: course.condensed, under: conditions, at: end).runs[place]
        guard run.count > course.current.count + 2 else { return }
        let next = Course(of: course.condensed, under: conditions, at: run.purchaseDate(of: run.count - 2))
        add(Notice(.didRenew, nil, next.latest), of: next, isEveryOne: false)
        course = next
    }
}

extension Conditions {
    /// When subscribers of a product next hear of a higher price.
    func nextIncrease(of product: ProductID, after instant: Date) -> Date? {
        priceIncreases.first { $0.productID == product && $0.at > instant }?.at
    }
}
