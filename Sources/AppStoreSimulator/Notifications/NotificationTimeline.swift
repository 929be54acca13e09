import Foundation
import StoreModel

/// Walks a subscription through the instants at which time alone does something to it, which nobody has written down.
struct NotificationTimeline {
    struct Step: Sendable, Hashable {
        var notification: StoreNotification
        /// How the subscription stood then; its instant is that of the notice.
        var state: SubscriptionState
    }

    private(set) var steps: [Step] = []
    /// How it stands at the end.
    private(set) var state: SubscriptionState

    /// From `start`, which is not before the record's last event, to `end`. `isEveryOne`: of several notices in a row that
    /// say the same of later periods all are kept, not only the last. Ends early, where another walk can go on, with
    /// `limit` steps.
    init(
        of record: SubscriptionRecord, under conditions: Conditions, from start: Date, to end: Date, isEveryOne: Bool,
        limit: Int = .max
    ) {
        state = SubscriptionState(of: record, under: conditions, at: start)
        while state.instant < end, steps.count < limit {
            let product = state.nextSale().plan.productID
            let increase = conditions.nextIncrease(of: product, after: state.instant)
            if !isEveryOne { skipRenewals(until: min(increase ?? end, end), under: conditions) }
            let changes = [state.nextChange, increase].compactMap(\.self)
            // What was computed once is not computed again from the beginning.
            let next = SubscriptionState(of: state.condensed, under: conditions, at: min(changes.min() ?? end, end))
            guard next.instant > state.instant else { break }
            for notification in next.notifications(since: state) { add(notification, of: next, isEveryOne: isEveryOne) }
            state = next
        }
    }

    private mutating func add(_ notification: StoreNotification, of state: SubscriptionState, isEveryOne: Bool) {
        let step = Step(notification: notification, state: state)
        if !isEveryOne, let last = steps.last, last.notification.repeats(notification) {
            steps[steps.count - 1] = step
        } else {
            steps.append(step)
        }
    }

    /// Goes on to the last but one of the renewals until `end` that are more of the same: all of them say the same, so that
    /// only the last would be kept.
    private mutating func skipRenewals(until end: Date, under conditions: Conditions) {
        let place = state.runs.count - 1
        let run = SubscriptionState(of: state.condensed, under: conditions, at: end).runs[place]
        guard run.count > state.current.count + 2 else { return }
        let next = SubscriptionState(of: state.condensed, under: conditions, at: run.purchaseDate(of: run.count - 2))
        add(StoreNotification(.didRenew, nil, next.latest), of: next, isEveryOne: false)
        state = next
    }
}

extension Conditions {
    /// When subscribers of a product next hear of a higher price.
    func nextIncrease(of product: ProductID, after instant: Date) -> Date? {
        priceIncreases.first { $0.productID == product && $0.at > instant }?.at
    }
}
