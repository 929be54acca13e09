import Foundation
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Whoever follows nothing but notifications knows how a subscription stands, over random lives.
struct NoticePropertyTests {
    /// What a server makes of notifications, by Apple's words for them alone.
    struct Reader {
        var status: Course.Status?
        var autoRenews = false
        var sold: [Int64] = []
        var taken: Set<Int64> = []

        mutating func read(_ notice: Notice) {
            let id = notice.transaction.id
            switch (notice.type, notice.subtype) {
            case (.subscribed, _), (.didRenew, _), (.didChangeRenewalPref, .upgrade), (.offerRedeemed, .upgrade):
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
    func `notifications alone say what was sold, what was taken back and how it stands`(seed: UInt64) throws {
        var source = CoursePropertyTests.Source(state: seed)
        for _ in 0..<20 {
            let events = CoursePropertyTests.life(&source)
            var script = try SubscriptionScript()
            var reader = Reader()
            var reversed = false
            var told = Date.distantPast
            func walk(to date: Date) -> Course? {
                guard let record = script.record else { return nil }
                let walk = NoticeWalk(
                    of: record, under: script.conditions, from: max(told, record.changedAt), to: date, isEveryOne: true)
                for step in walk.steps { reader.read(step.notice) }
                told = date
                return walk.course
            }
            for event in events {
                let before = walk(to: event.at)
                told = event.at
                try script.happen(event.step, at: event.at)
                guard let after = script.course(at: event.at) else { continue }
                for notice in after.notices(since: before) { reader.read(notice) }
                if case .reverse = event.step { reversed = true }
                try compare(reader, after, "\(events)", isReversed: reversed)
            }
            if let end = walk(to: events[events.count - 1].at.addingTimeInterval(86400 * 400)) {
                try compare(reader, end, "\(events)", isReversed: reversed)
            }
        }
    }

    private func compare(_ reader: Reader, _ course: Course, _ life: String, isReversed: Bool) throws {
        try #require(reader.sold == course.transactions.map(\.id), "\(life)")
        let taken = course.record.revocations.filter { $0.value.isInForce(at: course.instant) }
        try #require(reader.taken == Set(taken.keys), "\(life)")
        // What a refund does to a subscription follows from which period it was of, and its reversal from the date.
        guard course.status != .revoked, !isReversed else { return }
        try #require(reader.status == course.status, "\(life)")
        guard course.isRunning else { return }
        try #require(reader.autoRenews == course.autoRenews, "\(life)")
    }
}
