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
    /// say the same of later periods all are kept, not only the last.
    init(
        of record: SubscriptionRecord, under conditions: Conditions, from start: Date, to end: Date, isEveryOne: Bool
    ) {
        course = Course(of: record, under: conditions, at: start)
        while course.instant < end {
            let product = course.nextSale().plan.productID
            let news = [course.nextChange, conditions.nextIncrease(of: product, after: course.instant)].compactMap(
                \.self)
            // What was computed once is not computed again from the beginning.
            let next = Course(of: course.condensed, under: conditions, at: min(news.min() ?? end, end))
            guard next.instant > course.instant else { break }
            for notice in next.notices(since: course) {
                let step = Step(notice: notice, course: next)
                if !isEveryOne, let last = steps.last, last.notice.repeats(notice) {
                    steps[steps.count - 1] = step
                } else {
                    steps.append(step)
                }
            }
            course = next
        }
    }
}

extension Conditions {
    /// When subscribers of a product next hear of a higher price.
    func nextIncrease(of product: ProductID, after instant: Date) -> Date? {
        priceIncreases.first { $0.productID == product && $0.at > instant }?.at
    }
}
