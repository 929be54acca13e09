import BaseTestSupport
import Foundation
import GooglePlay
import Primitives
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The state machine, in tables without a store.
struct PlaySubscriptionTests {
    private typealias Money = AndroidPublisher.Money

    static let start = Fixtures.date("2026-01-31T10:00:00Z")

    static func info(_ region: String = "US") -> PlayPurchaseInfo {
        PlayPurchaseInfo(
            token: "token", account: 1, regionCode: region, productID: "plus", title: "Plus", orderID: "GPA.1")
    }

    static func subscription(
        _ plan: String, offer: String? = nil, acknowledged: Bool = true, region: String = "US"
    ) throws -> (PlaySubscription, [PlayEffect]) {
        let product = try #require(try PlayFixtures.catalogue().subscription("plus"))
        let base = try #require(product.basePlans.first { $0.id == plan })
        let chosen = product.offers.first { $0.id == offer }
        let terms = try #require(PlayTerms(base, chosen, in: "US"))
        var subscription = PlaySubscription(info(region), terms, at: start)
        let effects = try subscription.begin(at: start)
        if acknowledged { try subscription.acknowledge(nil) }
        return (subscription, effects)
    }

    /// Performs the steps until `end`, and returns one line for each effect.
    static func run(_ subscription: inout PlaySubscription, until end: String) -> [String] {
        let limit = Fixtures.date(end)
        var lines: [String] = []
        while let due = subscription.nextChange, due <= limit { lines += subscription.step().map(line) }
        return lines
    }

    static func line(_ effect: PlayEffect) -> String {
        switch effect {
        case .order(let order):
            let details = order.lineItems?.first?.subscriptionDetails
            return "\(day(order.createTime)) \(order.orderId ?? "") \(order.total?.amount ?? 0) "
                + "\(details?.offerPhase ?? "") until \(day(details?.servicePeriodEndTime))"
        case .refund(let refund):
            return "\(day(refund.at)) refund \(refund.orderID) \(refund.numerator)/\(refund.denominator) "
                + "\(refund.voided.map { "\($0)" } ?? "kept")"
        case .subscriptionEvent(let event, let at): return "\(day(at)) event \(event.rawValue)"
        case .productEvent(let type, let at): return "\(day(at)) product \(type)"
        case .reviewRequested(let review, let at): return "\(day(at)) review \(review.orderID)"
        }
    }

    static func day(_ date: Date?) -> String { String(RFC3339.string(from: date ?? .distantPast).prefix(10)) }

    @Test func `a subscription renews on its day of the month`() throws {
        var (subscription, effects) = try Self.subscription("monthly")
        #expect(effects.map(Self.line) == ["2026-01-31 GPA.1 4 BASE until 2026-02-28", "2026-01-31 event 4"])
        #expect(
            Self.run(&subscription, until: "2026-04-01T00:00:00Z") == [
                "2026-02-28 GPA.1..0 4 BASE until 2026-03-31", "2026-02-28 event 2",
                "2026-03-31 GPA.1..1 4 BASE until 2026-04-30", "2026-03-31 event 2",
            ])
        #expect(subscription.state == .active)
        #expect(subscription.latestOrderID == "GPA.1..1")
    }

    @Test func `a free trial and an introductory price precede the base plan`() throws {
        var (subscription, effects) = try Self.subscription("monthly", offer: "trial")
        #expect(effects.map(Self.line).first == "2026-01-31 GPA.1 0 FREE_TRIAL until 2026-02-07")
        #expect(
            Self.run(&subscription, until: "2026-04-08T00:00:00Z").filter { $0.contains("GPA") } == [
                "2026-02-07 GPA.1..0 2 INTRODUCTORY until 2026-03-07",
                "2026-03-07 GPA.1..1 2 INTRODUCTORY until 2026-04-07", "2026-04-07 GPA.1..2 4 BASE until 2026-05-07",
            ])
    }

    @Test func `a failed payment leads to a grace period, an account hold and the end`() throws {
        var (subscription, _) = try Self.subscription("monthly")
        try subscription.failPayments()
        #expect(Self.run(&subscription, until: "2026-03-01T00:00:00Z") == ["2026-02-28 event 6"])
        #expect(subscription.resource.subscriptionState == .inGracePeriod)
        #expect(subscription.resource.inGracePeriodStateContext?.renewalDeclined?.pendingOrderId == "GPA.1..0")
        #expect(Self.day(subscription.expiryTime) == "2026-03-07")
        #expect(Self.run(&subscription, until: "2026-03-08T00:00:00Z") == ["2026-03-07 event 5"])
        #expect(subscription.resource.subscriptionState == .onHold)
        #expect(Self.day(subscription.expiryTime) == "2026-03-07")
        #expect(
            Self.run(&subscription, until: "2027-01-01T00:00:00Z") == ["2026-04-06 event 3", "2026-04-06 event 13"])
        #expect(subscription.resource.canceledStateContext?.systemInitiatedCancellation != nil)
        #expect(subscription.nextChange == nil)
    }

    @Test func `a recovery in the grace period keeps the day, one in the account hold begins a new period`() throws {
        var (subscription, _) = try Self.subscription("monthly")
        try subscription.failPayments()
        var held = subscription
        _ = Self.run(&subscription, until: "2026-03-01T00:00:00Z")
        #expect(
            try subscription.recover(at: Fixtures.date("2026-03-02T00:00:00Z")).map(Self.line)
                == ["2026-03-02 GPA.1..0 4 BASE until 2026-03-31", "2026-03-02 event 2"])
        _ = Self.run(&held, until: "2026-03-10T00:00:00Z")
        #expect(
            try held.recover(at: Fixtures.date("2026-03-15T00:00:00Z")).map(Self.line)
                == ["2026-03-15 GPA.1..0 4 BASE until 2026-04-15", "2026-03-15 event 1"])
        #expect(throws: PlayRefusal.self) { try held.recover(at: Self.start) }
    }

    @Test func `a cancelled subscription ends with its period, and can be restarted before`() throws {
        var (subscription, _) = try Self.subscription("monthly")
        let now = Fixtures.date("2026-02-01T00:00:00Z")
        #expect(try subscription.cancel(by: .user, at: now).map(Self.line) == ["2026-02-01 event 3"])
        #expect(subscription.resource.canceledStateContext?.userInitiatedCancellation?.cancelTime == now)
        #expect(throws: PlayRefusal.self) { try subscription.cancel(by: .developer, at: now) }
        #expect(try subscription.restart(at: now).map(Self.line) == ["2026-02-01 event 7"])
        #expect(throws: PlayRefusal.self) { try subscription.restart(at: now) }
        _ = try subscription.cancel(by: .developer, at: now)
        #expect(Self.run(&subscription, until: "2027-01-01T00:00:00Z") == ["2026-02-28 event 13"])
        #expect(subscription.resource.canceledStateContext?.developerInitiatedCancellation != nil)
        #expect(throws: PlayRefusal.self) { try subscription.restart(at: now) }
        #expect(throws: PlayRefusal.self) { try subscription.failPayments() }
    }

    @Test func `a pause begins at the end of the period and ends with a payment`() throws {
        var (subscription, _) = try Self.subscription("monthly")
        #expect(throws: PlayRefusal.self) { try subscription.schedulePause(.days(6), at: Self.start) }
        #expect(throws: PlayRefusal.self) { try subscription.schedulePause(.months(4), at: Self.start) }
        #expect(
            try subscription.schedulePause(.months(1), at: Self.start).map(Self.line) == ["2026-01-31 event 11"])
        #expect(Self.run(&subscription, until: "2026-03-01T00:00:00Z") == ["2026-02-28 event 10"])
        #expect(Self.day(subscription.resource.pausedStateContext?.autoResumeTime) == "2026-03-28")
        #expect(Self.day(subscription.expiryTime) == "2026-02-28")
        var early = subscription
        #expect(
            Self.run(&subscription, until: "2026-03-29T00:00:00Z")
                == ["2026-03-28 GPA.1..0 4 BASE until 2026-04-28", "2026-03-28 event 1"])
        #expect(
            try early.resume(at: Fixtures.date("2026-03-05T00:00:00Z")).map(Self.line)
                == ["2026-03-05 GPA.1..0 4 BASE until 2026-04-05", "2026-03-05 event 1"])
        #expect(throws: PlayRefusal.self) { try early.resume(at: Self.start) }
    }

    @Test func `a payment that fails after a pause leads to the account hold`() throws {
        var (subscription, _) = try Self.subscription("monthly")
        _ = try subscription.schedulePause(.weeks(1), at: Self.start)
        try subscription.failPayments()
        #expect(
            Self.run(&subscription, until: "2026-03-10T00:00:00Z") == ["2026-02-28 event 10", "2026-03-07 event 5"])
    }

    @Test func `a purchase that is not acknowledged is refunded after three days`() throws {
        var (subscription, _) = try Self.subscription("monthly", acknowledged: false)
        #expect(
            Self.run(&subscription, until: "2027-01-01T00:00:00Z")
                == ["2026-02-03 refund GPA.1 1/1 (source: 2, reason: 8)", "2026-02-03 event 12"])
        #expect(subscription.resource.subscriptionState == .expired)
        #expect(throws: PlayRefusal.self) { try subscription.acknowledge(nil) }
        var (short, _) = try Self.subscription("short", acknowledged: false)
        #expect(short.nextChange == Self.start.addingTimeInterval(43_200))
        try short.acknowledge(nil)
        #expect(Self.run(&short, until: "2027-01-01T00:00:00Z") == ["2026-02-01 event 13"])
    }

    @Test func `instalments are cancelled at the end of their commitment`() throws {
        var (subscription, _) = try Self.subscription("instalments")
        #expect(
            subscription.resource.lineItems?[0].autoRenewingPlan?.installmentDetails?.remainingCommittedPaymentsCount
                == 2)
        #expect(try subscription.cancel(by: .user, at: Self.start).map(Self.line) == ["2026-01-31 event 18"])
        #expect(throws: PlayRefusal.self) { try subscription.cancel(by: .user, at: Self.start) }
        #expect(subscription.resource.lineItems?[0].autoRenewingPlan?.autoRenewEnabled == true)
        #expect(
            Self.run(&subscription, until: "2027-01-01T00:00:00Z") == [
                "2026-02-28 GPA.1..0 3 BASE until 2026-03-31", "2026-02-28 event 2",
                "2026-03-31 GPA.1..1 3 BASE until 2026-04-30", "2026-03-31 event 2", "2026-03-31 event 3",
                "2026-04-30 event 13",
            ])
        var (other, _) = try Self.subscription("instalments")
        #expect(try other.cancel(by: .developer, at: Self.start).map(Self.line) == ["2026-01-31 event 3"])
    }

    @Test func `a deferral moves the next payment`() throws {
        var (subscription, _) = try Self.subscription("monthly")
        let end = Fixtures.date("2026-03-10T10:00:00Z")
        #expect(try subscription.defer(to: end, at: Self.start, true).isEmpty)
        #expect(Self.day(subscription.expiryTime) == "2026-02-28")
        #expect(try subscription.defer(to: end, at: Self.start).map(Self.line) == ["2026-01-31 event 9"])
        #expect(throws: PlayRefusal.self) { try subscription.defer(to: end, at: Self.start) }
        #expect(throws: PlayRefusal.self) { try subscription.defer(to: .distantFuture, at: Self.start) }
        #expect(
            Self.run(&subscription, until: "2026-03-11T00:00:00Z")
                == ["2026-03-10 GPA.1..0 4 BASE until 2026-04-10", "2026-03-10 event 2"])
    }

    @Test func `a prorated revocation refunds the unused part of the period`() throws {
        var (subscription, _) = try Self.subscription("monthly")
        let half = Fixtures.date("2026-02-14T10:00:00Z")
        let effects = subscription.revoke(at: half, by: .developer, voided: (1, 0), prorated: true)
        guard case .refund(let refund) = effects[0] else {
            Issue.record("no refund")
            return
        }
        #expect((refund.numerator, refund.denominator) == (14 * 86_400_000, 28 * 86_400_000))
        #expect(subscription.isEnded)
    }

    @Test(
        arguments: [
            ("CHARGE_FULL_PRICE", nil, "2026-03-21"), ("WITH_TIME_PRORATION", "0", "2026-02-21"),
            ("WITHOUT_PRORATION", "0", "2026-02-28"), ("CHARGE_PRORATED_PRICE", "2", "2026-02-28"),
        ] as [(String, String?, String)])
    func `a replacement ends the old subscription and counts its unused value`(
        _ mode: String, _ payment: String?, _ end: String
    ) throws {
        let (old, _) = try Self.subscription("monthly")
        let pro = try #require(try PlayFixtures.catalogue().subscription("pro")?.basePlans[0])
        let terms = try #require(PlayTerms(pro, nil, in: "US"))
        let now = Fixtures.date("2026-02-14T10:00:00Z")
        let replacement = try PlaySubscription.Replacement(
            of: old, by: "pro", terms, mode: .init(rawValue: mode), at: now)
        var new = PlaySubscription(Self.info(), terms, replacing: replacement, at: now)
        let effects = try new.begin(at: now)
        guard case .order(let order) = effects[0] else {
            Issue.record("no order")
            return
        }
        #expect(order.total?.amount == Decimal(string: payment ?? "8"))
        #expect(Self.day(new.expiryTime) == end)
        #expect(new.resource.linkedPurchaseToken == "token")
        try new.acknowledge(nil)
        let renewal = Self.run(&new, until: "2026-03-25T00:00:00Z").first { $0.contains("GPA") }
        #expect(renewal?.hasPrefix("\(end) GPA.1..0 8 BASE") == true)
    }

    @Test func `a replacement in another mode or of an ended subscription is refused`() throws {
        var (old, _) = try Self.subscription("monthly")
        let terms = old.terms
        for mode in ["KEEP_EXISTING", ""] {
            #expect(throws: PlayRefusal.self) {
                try PlaySubscription.Replacement(
                    of: old, by: "plus", terms, mode: .init(rawValue: mode), at: Self.start)
            }
        }
        #expect(throws: PlayRefusal.self) {
            try PlaySubscription.Replacement(of: old, by: "plus", terms, mode: .chargeProratedPrice, at: Self.start)
        }
        _ = old.replace(at: Self.start)
        #expect(throws: PlayRefusal.self) {
            try PlaySubscription.Replacement(of: old, by: "plus", terms, mode: .chargeFullPrice, at: Self.start)
        }
    }

    @Test func `a state is read as it was written`() throws {
        var (subscription, _) = try Self.subscription("monthly", offer: "trial")
        try subscription.failPayments()
        _ = Self.run(&subscription, until: "2026-02-10T00:00:00Z")
        let purchase = PlayPurchase.subscription(subscription)
        #expect(purchase.isReadable)
        #expect(try WireJSON.decode(PlayPurchase.self, from: try WireJSON.encode(purchase)) == purchase)
    }

    private static func act(
        _ number: Int, on subscription: inout PlaySubscription, at now: Date
    ) throws(PlayRefusal) -> [PlayEffect] {
        switch number {
        case 0: return try subscription.cancel(by: .user, at: now)
        case 1: return try subscription.restart(at: now)
        case 2: return try subscription.schedulePause(.weeks(2), at: now)
        case 3: return try subscription.resume(at: now)
        case 4: try subscription.failPayments()
        case 5, 6: return try subscription.recover(at: now)
        case 7: return try subscription.defer(to: subscription.paidUntil.addingTimeInterval(86400), at: now)
        default: break
        }
        return []
    }

    @Test(arguments: 0..<200)
    func `random lives end no period early and pay no period twice`(_ seed: Int) throws {
        var random = SeededNumbers(state: UInt64(seed))
        let plan = ["monthly", "yearly", "prepaid", "instalments"].randomElement(using: &random)!
        var (subscription, first) = try Self.subscription(
            plan, offer: plan == "monthly" && Bool.random(using: &random) ? "trial" : nil)
        var now = Self.start
        var effects = first
        for _ in 0..<60 {
            now = now.addingTimeInterval(Double.random(in: 3600...3_000_000, using: &random)).wholeMilliseconds
            while let due = subscription.nextChange, due <= now { effects += subscription.step() }
            let before = subscription
            if let done = try? Self.act(Int.random(in: 0..<9, using: &random), on: &subscription, at: now) {
                effects += done
            } else {
                #expect(subscription == before)
            }
            #expect(subscription.nextChange.map { $0 > now || subscription.state == .active } ?? true)
            while let due = subscription.nextChange, due <= now { effects += subscription.step() }
        }
        var orders: [AndroidPublisher.Order] = []
        for case .order(let order) in effects { orders.append(order) }
        #expect(Set(orders.compactMap(\.orderId)).count == orders.count)
        let periods = orders.compactMap { $0.lineItems?[0].subscriptionDetails }
        for (period, next) in zip(periods, periods.dropFirst()) {
            let (end, start) = (try #require(period.servicePeriodEndTime), try #require(next.servicePeriodStartTime))
            #expect(start >= end, "a period begins before the last one ends")
            #expect(try #require(next.servicePeriodEndTime) > start)
        }
    }
}
