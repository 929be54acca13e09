import Foundation
import StoreModel

/// The notifications of a subscription that follow from time alone, for example about renewals, failed payments and
/// expiry. The database does not have these changes.
struct NotificationTimeline {
    struct Step: Sendable, Hashable {
        var notification: StoreNotification
        /// The subscription at the instant of the notification.
        var state: SubscriptionState
    }

    private(set) var steps: [Step] = []
    /// The state at the end.
    private(set) var state: SubscriptionState

    /// Computes the steps from `start`, which must not be before the record's last event, to `end`.
    ///
    /// - Parameters:
    ///   - keepsRepeats: Whether all of several consecutive equal notifications are kept, not only the last one.
    ///   - limit: The number of steps after which the timeline ends early. Another one can continue from there.
    init(
        of record: SubscriptionRecord, under conditions: RenewalConditions, from start: Date, to end: Date,
        keepsRepeats: Bool,
        limit: Int = .max
    ) {
        state = SubscriptionState(of: record, under: conditions, at: start)
        while state.instant < end, steps.count < limit {
            let product = state.nextTerm().plan.productID
            let increase = conditions.nextIncrease(of: product, after: state.instant)
            if !keepsRepeats { skipRenewals(until: min(increase ?? end, end), under: conditions) }
            let changes = [state.nextChange, increase].compactMap(\.self)
            let next = SubscriptionState(of: state.condensed, under: conditions, at: min(changes.min() ?? end, end))
            guard next.instant > state.instant else { break }
            for notification in next.notifications(since: state) {
                add(notification, of: next, keepsRepeats: keepsRepeats)
            }
            state = next
        }
    }

    private mutating func add(_ notification: StoreNotification, of state: SubscriptionState, keepsRepeats: Bool) {
        let step = Step(notification: notification, state: state)
        if !keepsRepeats, let last = steps.last, last.notification.repeats(notification) {
            steps[steps.count - 1] = step
        } else {
            steps.append(step)
        }
    }

    /// Moves to the second to last of the equal renewals until `end`. Their notifications are equal, and only the last
    /// one would be kept.
    private mutating func skipRenewals(until end: Date, under conditions: RenewalConditions) {
        let place = state.runs.count - 1
        let run = SubscriptionState(of: state.condensed, under: conditions, at: end).runs[place]
        guard run.count > state.current.count + 2 else { return }
        let next = SubscriptionState(of: state.condensed, under: conditions, at: run.purchaseDate(of: run.count - 2))
        add(StoreNotification(.didRenew, nil, next.latest), of: next, keepsRepeats: false)
        state = next
    }
}

extension RenewalConditions {
    /// Returns the instant of the next price increase of a product.
    func nextIncrease(of product: ProductID, after instant: Date) -> Date? {
        priceIncreases.first { $0.productID == product && $0.at > instant }?.at
    }
}
