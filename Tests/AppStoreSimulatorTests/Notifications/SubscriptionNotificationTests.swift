import Foundation
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Notifications of a subscription, computed without a store: events and the expected notifications.
struct SubscriptionNotificationTests {
    /// Returns a line for each notification, with its day, type and subtype: `01-31 SUBSCRIBED INITIAL_BUY`.
    private func reported(
        _ steps: [(String, SubscriptionScript.Step)], until end: String, keepsRepeats: Bool = true
    ) throws -> [String] {
        var script = try SubscriptionScript()
        var lines: [String] = []
        func day(_ date: Date) -> String { String(date.formatted(.iso8601).dropFirst(5).prefix(5)) }
        func line(_ notification: StoreNotification, at date: Date) {
            lines.append(
                [day(date), notification.type.rawValue, notification.subtype?.rawValue].compactMap(\.self).joined(
                    separator: " "))
        }
        var reported = Date.distantPast
        func timeline(to date: Date) -> SubscriptionState? {
            guard let record = script.record else { return nil }
            let timeline = NotificationTimeline(
                of: record, under: script.conditions, from: max(reported, record.changedAt), to: date,
                keepsRepeats: keepsRepeats)
            for step in timeline.steps { line(step.notification, at: step.state.instant) }
            return timeline.state
        }
        for (text, step) in steps {
            let date = SubscriptionScript.date(text)
            let before = timeline(to: date)
            reported = date
            try script.happen(step, at: date)
            guard let after = script.state(at: date) else { continue }
            for notification in after.notifications(since: before) { line(notification, at: date) }
        }
        _ = timeline(to: SubscriptionScript.date(end))
        return lines
    }

    @Test func `a first purchase and each renewal are notified`() throws {
        #expect(
            try reported([("01-31", .buy("plain"))], until: "03-31") == [
                "01-31 SUBSCRIBED INITIAL_BUY", "02-28 DID_RENEW", "03-31 DID_RENEW",
            ])
    }

    @Test func `the first paid period after a free trial is a renewal`() throws {
        #expect(
            try reported([("01-31", .buy("basic"))], until: "02-08") == [
                "01-31 SUBSCRIBED INITIAL_BUY", "02-07 DID_RENEW",
            ])
    }

    @Test func `only the latest of consecutive skipped renewals is notified`() throws {
        #expect(
            try reported([("01-31", .buy("plain")), ("12-01", .cancel)], until: "2027-02-01", keepsRepeats: false) == [
                "01-31 SUBSCRIBED INITIAL_BUY", "11-30 DID_RENEW",
                "12-01 DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED", "12-31 EXPIRED VOLUNTARY",
            ])
    }

    @Test func `a cancelled subscription expires voluntarily, and a new subscription is a resubscription`() throws {
        #expect(
            try reported(
                [("01-31", .buy("plain")), ("02-10", .cancel), ("03-10", .buy("plain"))], until: "03-11") == [
                    "01-31 SUBSCRIBED INITIAL_BUY", "02-10 DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED",
                    "02-28 EXPIRED VOLUNTARY", "03-10 SUBSCRIBED RESUBSCRIBE",
                ])
    }

    @Test func `auto-renewal that is turned on again is notified once`() throws {
        #expect(
            try reported(
                [("01-31", .buy("plain")), ("02-10", .cancel), ("02-11", .resume()), ("02-12", .resume())],
                until: "02-20") == [
                    "01-31 SUBSCRIBED INITIAL_BUY", "02-10 DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED",
                    "02-11 DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_ENABLED",
                ])
    }

    @Test func `an upgrade is notified at once, a downgrade when it is chosen and when it is withdrawn`() throws {
        #expect(
            try reported(
                [
                    ("01-31", .buy("plain")), ("02-10", .buy("pro")), ("02-11", .buy("plain")), ("02-12", .buy("pro")),
                    ("02-13", .buy("plain")),
                ], until: "03-12") == [
                    "01-31 SUBSCRIBED INITIAL_BUY", "02-10 DID_CHANGE_RENEWAL_PREF UPGRADE",
                    "02-11 DID_CHANGE_RENEWAL_PREF DOWNGRADE", "02-12 DID_CHANGE_RENEWAL_PREF",
                    "02-13 DID_CHANGE_RENEWAL_PREF DOWNGRADE", "03-10 DID_RENEW",
                ])
    }

    @Test func `a failed payment, the end of its grace period and the end of billing retry are notified`() throws {
        #expect(
            try reported(
                [("01-31", .grace(3)), ("01-31", .buy("plain")), ("02-10", .fail)], until: "2026-06-01") == [
                    "01-31 SUBSCRIBED INITIAL_BUY", "02-28 DID_FAIL_TO_RENEW GRACE_PERIOD",
                    "03-03 GRACE_PERIOD_EXPIRED", "04-29 EXPIRED BILLING_RETRY",
                ])
    }

    @Test func `without a grace period the failure has no subtype, and a late payment is a recovery`()
        throws
    {
        #expect(
            try reported([("01-31", .buy("plain")), ("02-10", .fail), ("03-10", .resolve)], until: "03-11") == [
                "01-31 SUBSCRIBED INITIAL_BUY", "02-28 DID_FAIL_TO_RENEW", "03-10 DID_RENEW BILLING_RECOVERY",
            ])
    }

    @Test func `a recovery of all payments has the instant at which they work again`() throws {
        #expect(
            try reported(
                [("01-31", .buy("weekly")), ("02-01", .allFail(true)), ("02-10", .allFail(false))], until: "02-18") == [
                    "01-31 SUBSCRIBED INITIAL_BUY", "02-07 DID_FAIL_TO_RENEW", "02-10 DID_RENEW BILLING_RECOVERY",
                    "02-17 DID_RENEW",
                ])
    }

    @Test func `a higher price that needs consent is pending, then accepted, or ends the subscription`() throws {
        let increase = SubscriptionScript.Step.increase("plain", milliunits: 7990, needsConsent: true)
        #expect(
            try reported([("01-31", .buy("plain")), ("02-10", increase), ("02-11", .agree(true))], until: "03-01") == [
                "01-31 SUBSCRIBED INITIAL_BUY", "02-10 PRICE_INCREASE PENDING", "02-11 PRICE_INCREASE ACCEPTED",
                "02-28 DID_RENEW",
            ])
        #expect(
            try reported([("01-31", .buy("plain")), ("02-10", increase)], until: "03-01") == [
                "01-31 SUBSCRIBED INITIAL_BUY", "02-10 PRICE_INCREASE PENDING", "02-28 EXPIRED PRICE_INCREASE",
            ])
        #expect(
            try reported([("01-31", .buy("plain")), ("02-10", increase), ("02-11", .agree(false))], until: "03-01") == [
                "01-31 SUBSCRIBED INITIAL_BUY", "02-10 PRICE_INCREASE PENDING",
                "02-11 DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED", "02-28 EXPIRED VOLUNTARY",
            ])
    }

    @Test func `a price increase during billing retry is notified after the recovery`() throws {
        let increase = SubscriptionScript.Step.increase("plain", milliunits: 7990, needsConsent: true)
        #expect(
            try reported(
                [("01-31", .buy("plain")), ("02-10", .fail), ("03-05", increase), ("03-10", .resolve)], until: "04-11")
                == [
                    "01-31 SUBSCRIBED INITIAL_BUY", "02-28 DID_FAIL_TO_RENEW", "03-10 DID_RENEW BILLING_RECOVERY",
                    "03-10 PRICE_INCREASE PENDING", "04-10 EXPIRED PRICE_INCREASE",
                ])
    }

    @Test func `a higher price without consent is accepted as soon as it is known`() throws {
        let increase = SubscriptionScript.Step.increase("plain", milliunits: 7990, needsConsent: false)
        #expect(
            try reported([("01-31", .buy("plain")), ("02-10", increase)], until: "03-01") == [
                "01-31 SUBSCRIBED INITIAL_BUY", "02-10 PRICE_INCREASE ACCEPTED", "02-28 DID_RENEW",
            ])
    }

    @Test func `a refund turns auto-renewal off; the refund and its reversal are notified`() throws {
        #expect(
            try reported([("01-31", .buy("plain")), ("02-10", .refund()), ("02-12", .reverse())], until: "03-01") == [
                "01-31 SUBSCRIBED INITIAL_BUY", "02-10 DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED", "02-10 REFUND",
                "02-12 REFUND_REVERSED", "02-28 DID_RENEW",
            ])
    }

    @Test func `a refund of an earlier period does not end the subscription`() throws {
        #expect(
            try reported([("01-31", .buy("plain")), ("03-10", .refund(0))], until: "04-01") == [
                "01-31 SUBSCRIBED INITIAL_BUY", "02-28 DID_RENEW", "03-10 REFUND", "03-31 DID_RENEW",
            ])
    }

    @Test func `an offer is notified as a redemption for a subscriber, and as a subscription for a new customer`()
        throws
    {
        #expect(
            try reported(
                [
                    ("01-31", .buy("basic", offer: "hello", .code)), ("02-10", .buy("basic", offer: "half")),
                    ("02-11", .buy("pro")), ("02-12", .buy("basic", offer: "half")),
                ], until: "02-13") == [
                    "01-31 SUBSCRIBED INITIAL_BUY", "02-10 OFFER_REDEEMED", "02-11 DID_CHANGE_RENEWAL_PREF UPGRADE",
                    "02-12 OFFER_REDEEMED DOWNGRADE",
                ])
    }

    @Test func `a used offer is not redeemed again by later events`() throws {
        #expect(
            try reported(
                [("01-31", .buy("basic")), ("02-10", .buy("basic", offer: "half")), ("06-01", .cancel)], until: "06-08")
                == [
                    "01-31 SUBSCRIBED INITIAL_BUY", "02-07 DID_RENEW", "02-10 OFFER_REDEEMED", "03-07 DID_RENEW",
                    "05-07 DID_RENEW", "06-01 DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED", "06-07 EXPIRED VOLUNTARY",
                ])
    }

    @Test func `the subscriptions of a withdrawn product expire`() throws {
        #expect(
            try reported([("01-31", .buy("plain")), ("02-10", .withdraw("plain", true))], until: "03-01") == [
                "01-31 SUBSCRIBED INITIAL_BUY", "02-28 EXPIRED PRODUCT_NOT_FOR_SALE",
            ])
    }

    @Test func `an extended period is notified, and renewals are counted from its end`() throws {
        var script = try SubscriptionScript()
        try script.happen(.buy("plain"), at: SubscriptionScript.date("01-31"))
        let now = SubscriptionScript.date("02-10")
        let before = try #require(script.state(at: now))
        script.record = StoreRules.extend(before, byDays: 10, at: now)
        let after = try #require(script.state(at: now))
        #expect(after.notifications(since: before).map(\.type) == [.renewalExtended])
        #expect(
            script.summary(at: "04-11") == [
                "plain 2026-01-31…2026-03-10 5.99", "plain 2026-03-10…2026-04-10 5.99",
                "plain 2026-04-10…2026-05-10 5.99", "active",
            ])
    }

    @Test func `a free trial and an ended subscription cannot be extended`() throws {
        for steps in [
            [("01-31", SubscriptionScript.Step.buy("basic"))], [("01-31", .buy("plain")), ("02-01", .expire)],
        ] {
            var script = try SubscriptionScript()
            for (date, step) in steps { try script.happen(step, at: SubscriptionScript.date(date)) }
            let now = SubscriptionScript.date("02-02")
            #expect(StoreRules.extend(try #require(script.state(at: now)), byDays: 1, at: now) == nil)
        }
    }

    @Test(arguments: 1...30)
    func `the notifications do not depend on the steps of the clock`(seed: Int) throws {
        var script = try SubscriptionScript()
        try script.happen(.grace(16), at: SubscriptionScript.date("01-31"))
        try script.happen(.buy("weekly"), at: SubscriptionScript.date("01-31"))
        try script.happen(.fail, at: SubscriptionScript.date("03-01"))
        script.record?.renewal.failsUntil = SubscriptionScript.date("03-20")
        let record = try #require(script.record)
        let (start, end) = (record.changedAt, SubscriptionScript.date("06-01"))
        var random = Chance(seed: UInt64(seed))
        let whole = NotificationTimeline(of: record, under: script.conditions, from: start, to: end, keepsRepeats: true)
        var parts: [NotificationTimeline.Step] = []
        var instant = start
        while instant < end {
            let next = min(end, instant.addingTimeInterval(Double.random(in: 1...2_000_000, using: &random).rounded()))
            parts +=
                NotificationTimeline(of: record, under: script.conditions, from: instant, to: next, keepsRepeats: true)
                .steps
            instant = next
        }
        #expect(parts.map(\.notification) == whole.steps.map(\.notification))
        #expect(parts.map(\.state.instant) == whole.steps.map(\.state.instant))
        #expect(whole.steps.count > 10)
    }
}
