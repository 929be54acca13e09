import Foundation
import StoreModel
import Testing

@testable import InAppStore

/// How long the server's last answer replaces a new one (Documentation/Offline.md).
struct OfflineRulesTests {
    private static let day: TimeInterval = 86400
    private let start = Fixture.start

    private func state(
        _ subscriptions: [CustomerSubscription], _ environment: StoreEnvironment = .production,
        failingSince: Date? = nil, validUntil: Date?? = nil
    ) -> StoreState {
        let customer = Fixture.customer(
            environment: environment, validUntil: validUntil, subscriptions: subscriptions,
            purchases: [Fixture.purchase("pack")])
        return StoreState(
            list: Fixture.list, owner: .init(customer: "anna", isAnonymous: false),
            answer: .init(customer: customer, receivedAt: start, failingSince: failingSince),
            acquiredViaSubscription: ["film.noir"])
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var environment: StoreEnvironment = .production
        var expires: Double
        var failingSince: Double?
        var ends: Double
    }

    @Test(arguments: [
        Row(testDescription: "no request failed", expires: 30, failingSince: nil, ends: 37),
        Row(testDescription: "failing for a day", expires: 30, failingSince: 29, ends: 37),
        Row(testDescription: "the time to live ends within the grace", expires: 63, failingSince: 5, ends: 65),
        Row(testDescription: "the time to live ends at the expiry", expires: 60, failingSince: 0, ends: 60),
        Row(testDescription: "a year is paid, and the server is unreachable", expires: 365, failingSince: 1, ends: 365),
        Row(
            testDescription: "a year is paid, and the server is unreachable at its end", expires: 365,
            failingSince: 350, ends: 372),
        Row(testDescription: "sandbox", environment: .sandbox, expires: 30, failingSince: 29, ends: 30),
        Row(testDescription: "Xcode", environment: .xcode, expires: 30, failingSince: nil, ends: 30),
    ])
    func `access ends at the expiry, plus the grace period within the offline time to live`(_ row: Row) throws {
        let state = state(
            [Fixture.subscription(until: start + row.expires * Self.day)], row.environment,
            failingSince: row.failingSince.map { start + $0 * Self.day })
        let end = start + row.ends * Self.day
        let before = state.snapshot(at: end - 0.001)
        #expect(before.subscriptionInfo?.isExpired == false)
        #expect(before.allowedProducts == ["pack", "film.noir"])
        #expect(before.features.filter(\.isActive).count == 1)
        let after = state.snapshot(at: end)
        #expect(after.subscriptionInfo?.isExpired == true)
        #expect(after.allowedProducts == ["pack"], "A bought product must stay allowed.")
        #expect(after.features.filter(\.isActive).isEmpty)
        var instants: [Date] = []
        while let next = state.nextChange(after: instants.last ?? start) { instants.append(next) }
        #expect(instants.contains(end))
    }

    @Test func `a subscription in the store's grace period also has the client's grace period`() {
        var subscription = Fixture.subscription(until: start, state: .inGracePeriod)
        subscription.effectiveUntil = start + 16 * Self.day
        let state = state([subscription])
        #expect(state.snapshot(at: start + 15 * Self.day).subscriptionInfo?.isExpired == false)
        #expect(state.snapshot(at: start + 23 * Self.day).subscriptionInfo?.isExpired == true)
    }

    struct Interval: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var environment: StoreEnvironment
        var subscriptions: [CustomerSubscription]
        var seconds: TimeInterval
    }

    @Test(arguments: [
        Interval(
            testDescription: "production", environment: .production, subscriptions: [Fixture.subscription()],
            seconds: 14 * day),
        Interval(
            testDescription: "sandbox", environment: .sandbox, subscriptions: [Fixture.subscription()], seconds: 150),
        Interval(testDescription: "Xcode", environment: .xcode, subscriptions: [Fixture.subscription()], seconds: 150),
        Interval(
            testDescription: "sandbox without a subscription", environment: .sandbox, subscriptions: [],
            seconds: 14 * day),
        Interval(
            testDescription: "sandbox, expired", environment: .sandbox,
            subscriptions: [Fixture.subscription(until: Fixture.start, state: .expired)], seconds: 14 * day),
        Interval(
            testDescription: "sandbox, refunded", environment: .sandbox,
            subscriptions: [Fixture.subscription(revoked: Fixture.start, state: .revoked)], seconds: 14 * day),
        Interval(
            testDescription: "sandbox, retrying the payment", environment: .sandbox,
            subscriptions: [Fixture.subscription(until: Fixture.start, state: .inBillingRetry)], seconds: 150),
    ])
    func `the server is asked every 14 days, and for a running sandbox subscription every 150 s`(_ row: Interval) {
        let state = state(row.subscriptions, row.environment, validUntil: .some(nil))
        #expect(state.nextRefresh == start + row.seconds)
    }

    @Test func `a failed periodic validation is repeated, and a success restarts the interval`() {
        var state = state([Fixture.subscription()], validUntil: .some(nil))
        let due = start + 14 * Self.day
        #expect(state.nextRefresh == due)
        state.recordFailure(at: due)
        #expect(state.nextRefresh == due + 60)
        #expect(state.answer?.failingSince == due)
        state.recordFailure(at: due + 60)
        #expect(state.nextRefresh == due + 60 + 120)
        #expect(state.answer?.failingSince == due, "The first failure of the series must be kept.")
        state.record(Fixture.customer(environment: .production, validUntil: .some(nil)), at: due + 180)
        #expect(state.nextRefresh == due + 180 + 14 * Self.day)
        #expect(state.answer?.failingSince == nil)
    }
}
