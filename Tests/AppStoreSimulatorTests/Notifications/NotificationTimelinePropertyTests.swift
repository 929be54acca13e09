import Foundation
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The state of a subscription follows from its notifications, in random histories.
struct NotificationTimelinePropertyTests {
    /// A server that computes the state of a subscription from its notifications alone.
    struct Reader {
        var status: SubscriptionState.Status?
        var autoRenews = false
        var sold: [Int64] = []
        var taken: Set<Int64> = []

        mutating func read(_ notification: StoreNotification) {
            let id = notification.transaction.id
            switch (notification.type, notification.subtype) {
            case (.didRenew, _):
                // The bills of a commitment continue while its renewal is off.
                sold.append(id)
                status = .active
            case (.subscribed, _), (.didChangeRenewalPref, .upgrade), (.offerRedeemed, .upgrade):
                sold.append(id)
                status = .active
                autoRenews = true
            case (.didFailToRenew, .gracePeriod): status = .gracePeriod
            case (.didFailToRenew, _), (.gracePeriodExpired, _): status = .billingRetry
            case (.expired, _): status = .expired
            case (.didChangeRenewalStatus, .autoRenewEnabled): autoRenews = true
            case (.didChangeRenewalStatus, .autoRenewDisabled): autoRenews = false
            case (.refund, _): taken.insert(id)
            case (.refundReversed, _): taken.remove(id)
            default: break
            }
        }
    }

    @Test(arguments: 100..<130)
    func `the sales, revocations and status follow from the notifications alone`(seed: UInt64) throws {
        var source = SubscriptionStatePropertyTests.Source(seed: seed)
        for _ in 0..<20 {
            let events = SubscriptionStatePropertyTests.randomEvents(&source)
            var script = try SubscriptionScript()
            var reader = Reader()
            var reversed = false
            var reported = Date.distantPast
            func timeline(to date: Date) -> SubscriptionState? {
                guard let record = script.record else { return nil }
                let timeline = NotificationTimeline(
                    of: record, under: script.conditions, from: max(reported, record.changedAt), to: date,
                    keepsRepeats: true)
                for step in timeline.steps { reader.read(step.notification) }
                reported = date
                return timeline.state
            }
            for event in events {
                let before = timeline(to: event.at)
                reported = event.at
                try script.happen(event.step, at: event.at)
                guard let after = script.state(at: event.at) else { continue }
                for notification in after.notifications(since: before) { reader.read(notification) }
                if case .reverse = event.step { reversed = true }
                try compare(reader, after, "\(events)", isReversed: reversed)
            }
            if let end = timeline(to: events[events.count - 1].at.addingTimeInterval(86400 * 400)) {
                try compare(reader, end, "\(events)", isReversed: reversed)
            }
        }
    }

    private func compare(_ reader: Reader, _ state: SubscriptionState, _ life: String, isReversed: Bool) throws {
        try #require(reader.sold == state.transactions.map(\.id), "\(life)")
        let taken = state.record.revocations.filter { $0.value.isInForce(at: state.instant) }
        try #require(reader.taken == Set(taken.keys), "\(life)")
        // After a refund the status depends on the refunded period, and after a reversal on the date of the reversal.
        guard state.status != .revoked, !isReversed else { return }
        try #require(reader.status == state.status, "\(life)")
        guard state.isRunning else { return }
        try #require(reader.autoRenews == state.renewsTerm, "\(life)")
    }
}
