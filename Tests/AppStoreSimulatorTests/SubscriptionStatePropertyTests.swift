import Foundation
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Properties of every subscription state, in random histories.
struct SubscriptionStatePropertyTests {
    struct Event {
        var at: Date
        var step: SubscriptionScript.Step
    }

    /// A repeatable source of random numbers: SplitMix64.
    struct Source: RandomNumberGenerator {
        var seed: UInt64
        mutating func next() -> UInt64 {
            seed &+= 0x9E37_79B9_7F4A_7C15
            var mixed = seed
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    static func randomEvents(_ source: inout Source) -> [Event] {
        let plans: [ProductID] = ["basic", "plain", "year", "pro"]
        var now = Fixtures.start
        var prices: [ProductID: Int64] = [:]
        let first = plans.randomElement(using: &source) ?? "plain"
        var events = [Event(at: now, step: first == "year" ? .commit(first) : .buy(first))]
        for _ in 0..<Int.random(in: 1...14, using: &source) {
            // Some events follow at once, others after the length of a period.
            let days: [Double] = [0, 3, 7, 28, 31, .random(in: 0...70, using: &source)]
            let gap = 0.001 + 86400 * (days.randomElement(using: &source) ?? 1)
            now = now.addingTimeInterval(gap).wholeMilliseconds
            let plan = plans.randomElement(using: &source) ?? "plain"
            let step: SubscriptionScript.Step
            switch Int.random(in: 0..<20, using: &source) {
            case 0...1: step = .buy(plan)
            case 2: step = .commit("year")
            case 3: step = .buy("basic", offer: ["half", "three", "gift", "back"].randomElement(using: &source))
            case 4: step = .buy("basic", offer: ["spring", "return", "stay"].randomElement(using: &source), .code)
            case 5: step = .cancel
            case 6: step = .resume(Bool.random(using: &source) ? plan : nil)
            case 7: step = .renew
            case 8: step = .expire
            case 9, 10: step = .fail
            case 11: step = .resolve
            case 12: step = .allFail(Bool.random(using: &source))
            case 13: step = .grace([0, 3, 16, 28].randomElement(using: &source) ?? 0)
            case 14:
                prices[plan, default: 50_000] += 1000
                let billing = plan == "year" && Bool.random(using: &source) ? BillingPlan.Kind.monthly : .upFront
                step = .increase(
                    plan, billing, milliunits: prices[plan] ?? 0, needsConsent: Bool.random(using: &source))
            case 15: step = .agree(Bool.random(using: &source))
            case 16: step = .withdraw(plan, Bool.random(using: &source))
            case 17: step = .refund()
            case 18: step = .refund(0)
            default: step = .reverse()
            }
            events.append(Event(at: now, step: step))
        }
        return events
    }

    /// The properties of a transaction that no later event can change.
    struct Sold: Hashable {
        var id: Int64
        var product: ProductID
        var at: Date
        var price: Price
        var offer: String?
        var bill: Int?

        init(_ record: TransactionRecord) {
            (id, product, at) = (record.id, record.productID, record.purchaseDate)
            (price, offer) = (record.price, record.offer.map { "\($0.kind) \($0.id ?? "")" })
            bill = record.commitment?.bill
        }
    }

    @Test(arguments: 0..<20)
    func `writing the present state changes no later transactions`(seed: UInt64) throws {
        var source = Source(seed: seed)
        for _ in 0..<25 {
            let events = Self.randomEvents(&source)
            var plain = try SubscriptionScript()
            var condensed = plain
            for (event, next) in zip(events, events.dropFirst().map(\.at) + [events[events.count - 1].at + 86400 * 400])
            {
                try plain.happen(event.step, at: event.at)
                try condensed.happen(event.step, at: event.at)
                let span = max(next.timeIntervalSince(event.at), 0.001)
                for part in (0..<3).map({ _ in Double.random(in: 0...1, using: &source) }).sorted() {
                    let instant = event.at.addingTimeInterval(span * part).wholeMilliseconds
                    guard instant < next else { continue }
                    condensed.record = condensed.state(at: instant)?.condensed
                    #expect(plain.state(at: instant)?.transactions == condensed.state(at: instant)?.transactions)
                }
                let one = plain.state(at: next)
                let other = condensed.state(at: next)
                try #require(one?.transactions == other?.transactions, "\(events)")
                #expect(one?.status == other?.status && one?.expirationIntent == other?.expirationIntent)
                #expect(one?.nextChange == other?.nextChange && one?.graceEnd == other?.graceEnd)
                #expect(one?.nextSale() == other?.nextSale() && one?.increase == other?.increase)
                #expect(one?.nextTerm() == other?.nextTerm())
            }
        }
    }

    @Test(arguments: 20..<40)
    func `a sold transaction never changes, its id is unique, and dates are in order`(seed: UInt64) throws {
        var source = Source(seed: seed)
        for _ in 0..<25 {
            let events = Self.randomEvents(&source)
            var script = try SubscriptionScript()
            var reported: [Sold] = []
            var changedAt = Date.distantPast
            for (event, next) in zip(events, events.dropFirst().map(\.at) + [events[events.count - 1].at + 86400 * 400])
            {
                try script.happen(event.step, at: event.at)
                for instant in [
                    event.at, event.at.addingTimeInterval(next.timeIntervalSince(event.at) / 2), next - 0.001,
                ] {
                    guard instant >= event.at, instant < next, let state = script.state(at: instant) else { continue }
                    let sold = state.transactions
                    try #require(Array(sold.map(Sold.init).prefix(reported.count)) == reported, "\(events)")
                    if reported.count < sold.count { changedAt = .distantPast }
                    reported = sold.map(Sold.init)
                    #expect(Set(sold.map(\.id)).count == sold.count)
                    #expect(sold.allSatisfy { $0.purchaseDate <= instant })
                    #expect(sold.map(\.purchaseDate) == sold.map(\.purchaseDate).sorted(), "\(events)")
                    #expect(
                        sold.allSatisfy { $0.expiresDate.map { [at = $0.purchaseDate] in $0 > at } ?? false },
                        "\(events)")
                    for id in sold.map(\.id) { #expect(state.transaction(id)?.id == id) }
                    #expect(state.transactions(soldAfter: .distantPast, by: .distantFuture, limit: .max) == sold)
                    #expect(state.changedAt >= changedAt && state.changedAt <= instant, "\(events)")
                    changedAt = state.changedAt
                    #expect(state.nextChange.map { $0 > instant } ?? true)
                    if state.status == .active { #expect(state.expiresDate > instant) }
                    if state.status == .gracePeriod { #expect(state.graceEnd.map { $0 > instant } == true) }
                }
            }
        }
    }

    @Test(arguments: 40..<50)
    func `a family member gets the owner's transactions until leaving, and keeps them`(seed: UInt64) throws {
        var source = Source(seed: seed)
        for _ in 0..<20 {
            let events = Self.randomEvents(&source)
            var owner = try SubscriptionScript()
            let left = events[events.count / 2].at.addingTimeInterval(86400 * 40)
            var share: SubscriptionRecord?
            for event in events {
                try owner.happen(event.step, at: event.at)
                guard let record = owner.record else { continue }
                var member = share ?? record
                member.originalID = 9_000_000
                member.share = Share(
                    ownerOriginalID: record.originalID, first: record.runs[0].id(of: 0), from: event.at)
                member.takeShare(of: record)
                share = member
                let both = [record, member].map { SubscriptionState(of: $0, under: owner.conditions, at: event.at) }
                #expect(both[0].status == both[1].status && both[0].expiresDate == both[1].expiresDate)
                #expect(both[0].transactions.map(\.purchaseDate) == both[1].transactions.map(\.purchaseDate))
                guard event.at > left else { continue }
                member.share?.until = left
                let before = owner.state(at: event.at)?.transactions.filter { $0.purchaseDate < left }
                let kept = SubscriptionState(of: member, under: owner.conditions, at: event.at)
                #expect(kept.status == (kept.expiresDate > left ? .revoked : .expired))
                #expect(kept.changedAt == min(left, kept.expiresDate))
                #expect(kept.transactions.map(\.purchaseDate) == before?.map(\.purchaseDate))
            }
        }
    }
}
