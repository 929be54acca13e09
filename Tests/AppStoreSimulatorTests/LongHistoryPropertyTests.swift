import AppStorePayloads
import Foundation
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Compares states that are computed at once with those that are computed period by period, for random events.
struct LongHistoryPropertyTests {
    private struct Life {
        var record: SubscriptionRecord
        var conditions: RenewalConditions
        var end: Date
    }

    /// Returns random events, a few changes of the whole store, and an end years later.
    private static func life(_ source: inout SubscriptionStatePropertyTests.Source) throws -> Life? {
        var script = try SubscriptionScript()
        let events = SubscriptionStatePropertyTests.randomEvents(&source)
        for event in events { try script.happen(event.step, at: event.at) }
        guard let record = script.record else { return nil }
        var date = events[events.count - 1].at
        for _ in 0..<Int.random(in: 0...4, using: &source) {
            date = date.addingTimeInterval(86400 * Double.random(in: 1...500, using: &source)).wholeMilliseconds
            let step: SubscriptionScript.Step =
                switch Int.random(in: 0..<3, using: &source) {
                case 0: .allFail(Bool.random(using: &source))
                case 1: .grace([0, 3, 16].randomElement(using: &source) ?? 0)
                default: .increase(record.renewal.plan.productID, milliunits: 90_000, needsConsent: false)
                }
            try script.happen(step, at: date)
        }
        return Life(
            record: record, conditions: script.conditions,
            end: events[events.count - 1].at.addingTimeInterval(86400 * 2500))
    }

    /// Computes the last state of a subscription change by change.
    private static func walkedState(_ life: Life) -> SubscriptionState {
        var state = SubscriptionState(of: life.record, under: life.conditions, at: life.record.changedAt)
        while let next = state.nextChange, next <= life.end, next > state.instant {
            state = SubscriptionState(of: state.condensed, under: life.conditions, at: next)
        }
        return SubscriptionState(of: state.condensed, under: life.conditions, at: life.end)
    }

    @Test(arguments: 0..<20)
    func `transactions of years equal those computed period by period`(seed: UInt64) throws {
        var source = SubscriptionStatePropertyTests.Source(seed: seed)
        for _ in 0..<10 {
            guard let life = try Self.life(&source) else { continue }
            let (whole, walked) = (
                SubscriptionState(of: life.record, under: life.conditions, at: life.end), Self.walkedState(life)
            )
            try #require(whole.runs == walked.runs)
            #expect(whole.status == walked.status && whole.nextChange == walked.nextChange)
            #expect(whole.expirationIntent == walked.expirationIntent && whole.count == whole.transactions.count)
        }
    }

    @Test(arguments: 0..<20)
    func `skipped years give every notification except repeated ones`(seed: UInt64) throws {
        var source = SubscriptionStatePropertyTests.Source(seed: seed)
        for _ in 0..<10 {
            guard let life = try Self.life(&source) else { continue }
            func timeline(keepsRepeats: Bool, limit: Int = .max) -> NotificationTimeline {
                NotificationTimeline(
                    of: life.record, under: life.conditions, from: life.record.changedAt, to: life.end,
                    keepsRepeats: keepsRepeats, limit: limit)
            }
            let every = timeline(keepsRepeats: true)
            var expected: [NotificationTimeline.Step] = []
            for step in every.steps {
                if let last = expected.last, last.notification.repeats(step.notification) { expected.removeLast() }
                expected.append(step)
            }
            let skipped = timeline(keepsRepeats: false)
            try #require(skipped.steps.map(\.notification) == expected.map(\.notification))
            #expect(skipped.steps.map(\.state.instant) == expected.map(\.state.instant))
            #expect(skipped.state.runs == every.state.runs)
            let part = timeline(keepsRepeats: true, limit: 5)
            let rest = NotificationTimeline(
                of: life.record, under: life.conditions, from: part.state.instant, to: life.end, keepsRepeats: true)
            #expect((part.steps + rest.steps).map(\.notification) == every.steps.map(\.notification))
        }
    }

    @Test(arguments: 0..<20)
    func `computed pages equal those of filtering and sorting all transactions`(seed: UInt64) throws {
        var source = SubscriptionStatePropertyTests.Source(seed: seed)
        for _ in 0..<5 {
            guard let life = try Self.life(&source) else { continue }
            let own = SubscriptionState(of: life.record, under: life.conditions, at: life.end)
            for state in [own, try Self.share(of: own, life, &source)] {
                let sold = state.transactions
                let date = sold[sold.count / 3].purchaseDate.wholeMilliseconds.payloadValue.text()
                for query in [
                    [], [("startDate", date)], [("endDate", date)], [("revoked", "true")], [("revoked", "false")],
                    [("productId", "plain")], [("productType", "CONSUMABLE")],
                    [("inAppOwnershipType", "PURCHASED")],
                ] {
                    for sort in ["ASCENDING", "DESCENDING"] {
                        let request = try AppStoreServerAPI.TransactionHistoryRequest(query: query + [("sort", sort)])
                        var pages = TransactionPages(subject: "test")
                        pages.isDescending = sort == "DESCENDING"
                        let all = sold.filter(request.admits).map(TransactionPages.Entry.init)
                            .sorted { $0.position < $1.position }.map(\.transaction.id)
                        var (reported, place, hasMore) = ([Int64](), PageTokens.Place.beginning, true)
                        while hasMore {
                            let page = pages.page(state.entries(HistorySearch(request, from: place)), from: place)
                            reported += page.transactions.map(\.id)
                            place = try pages.start(after: page.revision)
                            hasMore = page.hasMore
                        }
                        #expect(reported == (pages.isDescending ? all.reversed() : all), "\(query) \(sort)")
                    }
                }
            }
        }
    }

    /// Returns a family member's share of the subscription, with or without an end.
    private static func share(
        of state: SubscriptionState, _ life: Life, _ source: inout SubscriptionStatePropertyTests.Source
    ) throws -> SubscriptionState {
        let sold = state.transactions
        let first = try #require(sold.randomElement(using: &source))
        let from = first.purchaseDate.addingTimeInterval(1000)
        let until = Bool.random(using: &source) ? from.addingTimeInterval(86400 * 100) : nil
        var member = state.condensed
        member.originalID = 900 * TransactionNumber.span
        member.share = Share(ownerOriginalID: state.record.originalID, first: first.id, from: from, until: until)
        member.takeShare(of: state.condensed)
        return SubscriptionState(of: member, under: life.conditions, at: life.end)
    }

    @Test(arguments: [0, 1, 2, 7, 1000])
    func `the search in a range finds the first matching number`(count: Int) {
        for place in 0...min(count, 40) {
            #expect((5..<5 + count).firstIndex(reaching: { $0 >= 5 + place }) == 5 + place)
            #expect((5..<5 + count).firstIndex(reaching: { $0 >= 5 + count - place }) == 5 + count - place)
        }
        var asked = 0
        let found = (0..<1_000_000).firstIndex(reaching: { number in
            asked += 1
            return number >= 123_456
        })
        #expect(found == 123_456 && asked < 60)
    }
}
