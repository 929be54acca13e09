import Foundation
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Subscription states as a table. Each row has a script, and the transactions and the status at its end.
struct SubscriptionStateTests {
    typealias Step = SubscriptionScript.Step

    struct Row: CustomTestStringConvertible {
        let testDescription: String
        let script: [(String, Step)]
        let end: String
        let expected: [String]

        init(_ name: String, _ script: [(String, Step)], at end: String, _ expected: [String]) {
            testDescription = name
            self.script = script
            self.end = end
            self.expected = expected
        }
    }

    @Test(arguments: offers + payment + prices + changes + ends)
    func `a script leads to the transactions of its row`(row: Row) throws {
        var subscription = try SubscriptionScript()
        for (date, step) in row.script { try subscription.happen(step, at: SubscriptionScript.date(date)) }
        #expect(subscription.summary(at: row.end) == row.expected)
    }

    static let offers = [
        Row(
            "a free trial, then the price", [("01-31", .buy("basic"))], at: "03-08",
            [
                "basic 2026-01-31…2026-02-07 0 introductory", "basic 2026-02-07…2026-03-07 4.99",
                "basic 2026-03-07…2026-04-07 4.99", "active",
            ]),
        Row(
            "pay as you go, then the price", [("01-31", .buy("paygo"))], at: "05-01",
            [
                "paygo 2026-01-31…2026-02-28 0.99 introductory", "paygo 2026-02-28…2026-03-31 0.99 introductory",
                "paygo 2026-03-31…2026-04-30 0.99 introductory", "paygo 2026-04-30…2026-05-30 2.99", "active",
            ]),
        Row(
            "pay up front, then the price", [("01-31", .buy("upfront"))], at: "05-01",
            ["upfront 2026-01-31…2026-04-30 1.99 introductory", "upfront 2026-04-30…2026-05-30 2.99", "active"]),
        Row(
            "an offer begins at the next renewal", [("01-31", .buy("basic")), ("02-03", .buy("basic", offer: "half"))],
            at: "04-08",
            [
                "basic 2026-01-31…2026-02-07 0 introductory", "basic 2026-02-07…2026-04-07 4.49 half",
                "basic 2026-04-07…2026-05-07 4.99", "active",
            ]),
        Row(
            "a repeated offer follows the first one",
            [
                ("01-31", .buy("basic")), ("02-03", .buy("basic", offer: "half")),
                ("03-01", .buy("basic", offer: "half")),
            ], at: "06-08",
            [
                "basic 2026-01-31…2026-02-07 0 introductory", "basic 2026-02-07…2026-04-07 4.49 half",
                "basic 2026-04-07…2026-06-07 4.49 half", "basic 2026-06-07…2026-07-07 4.99", "active",
            ]),
        Row(
            "a second offer begins after the first one",
            [
                ("01-31", .buy("basic")), ("02-03", .buy("basic", offer: "three")),
                ("03-10", .buy("basic", offer: "gift")),
            ], at: "06-08",
            [
                "basic 2026-01-31…2026-02-07 0 introductory", "basic 2026-02-07…2026-03-07 1.99 three",
                "basic 2026-03-07…2026-04-07 1.99 three", "basic 2026-04-07…2026-05-07 1.99 three",
                "basic 2026-05-07…2026-06-07 0 gift", "basic 2026-06-07…2026-07-07 4.99", "active",
            ]),
        Row(
            "the offer of a code follows the introductory one", [("01-31", .buy("basic", offer: "spring", .code))],
            at: "03-08",
            [
                "basic 2026-01-31…2026-02-07 0 introductory", "basic 2026-02-07…2026-03-07 0 spring",
                "basic 2026-03-07…2026-04-07 4.99", "active",
            ]),
        Row(
            "the offer of a code replaces the introductory one", [("01-31", .buy("basic", offer: "hello", .code))],
            at: "04-01",
            [
                "basic 2026-01-31…2026-02-28 0.99 hello", "basic 2026-02-28…2026-03-31 0.99 hello",
                "basic 2026-03-31…2026-04-30 4.99", "active",
            ]),
        Row(
            "a win-back offer of an expired customer",
            [
                ("01-31", .buy("plain")), ("02-01", .cancel), ("04-10", .buy("basic", offer: "back", .winBack)),
            ], at: "06-11",
            [
                "plain 2026-01-31…2026-02-28 5.99", "basic 2026-04-10…2026-05-10 2.99 back",
                "basic 2026-05-10…2026-06-10 2.99 back", "basic 2026-06-10…2026-07-10 4.99", "active",
            ]),
        Row(
            "the rest of an offer continues from a late payment",
            [("01-31", .buy("paygo")), ("02-10", .fail), ("03-20", .resolve)], at: "05-21",
            [
                "paygo 2026-01-31…2026-02-28 0.99 introductory", "paygo 2026-03-20…2026-04-20 0.99 introductory",
                "paygo 2026-04-20…2026-05-20 0.99 introductory", "paygo 2026-05-20…2026-06-20 2.99", "active",
            ]),
        Row(
            "an offer keeps its renewal days after a payment in the grace period",
            [("01-31", .grace(16)), ("01-31", .buy("paygo")), ("02-10", .fail), ("03-05", .resolve)], at: "05-01",
            [
                "paygo 2026-01-31…2026-02-28 0.99 introductory", "paygo 2026-03-05…2026-03-31 0.99 introductory",
                "paygo 2026-03-31…2026-04-30 0.99 introductory", "paygo 2026-04-30…2026-05-30 2.99", "active",
            ]),
        Row(
            "an early renewal uses a period of the offer",
            [("01-31", .buy("paygo")), ("02-10", .renew)], at: "04-11",
            [
                "paygo 2026-01-31…2026-02-28 0.99 introductory", "paygo 2026-02-10…2026-03-10 0.99 introductory",
                "paygo 2026-03-10…2026-04-10 0.99 introductory", "paygo 2026-04-10…2026-05-10 2.99", "active",
            ]),
        Row(
            "an early renewal begins a waiting offer",
            [("01-31", .buy("plain")), ("02-01", .buy("plain", offer: "spring", .code)), ("02-10", .renew)],
            at: "04-11",
            [
                "plain 2026-01-31…2026-02-28 5.99", "plain 2026-02-10…2026-03-10 0 spring",
                "plain 2026-03-10…2026-04-10 5.99", "plain 2026-04-10…2026-05-10 5.99", "active",
            ]),
    ]

    static let payment = [
        Row(
            "a payment in the grace period keeps the day of renewal",
            [("01-31", .grace(16)), ("01-31", .buy("plain")), ("02-10", .fail), ("03-05", .resolve)], at: "04-01",
            [
                "plain 2026-01-31…2026-02-28 5.99", "plain 2026-03-05…2026-03-31 5.99",
                "plain 2026-03-31…2026-04-30 5.99", "active",
            ]),
        Row(
            "a payment after the grace period begins a new period",
            [("01-31", .grace(3)), ("01-31", .buy("plain")), ("02-10", .fail), ("03-20", .resolve)], at: "04-21",
            [
                "plain 2026-01-31…2026-02-28 5.99", "plain 2026-03-20…2026-04-20 5.99",
                "plain 2026-04-20…2026-05-20 5.99", "active",
            ]),
        Row(
            "billing retry ends after 60 days", [("01-31", .buy("plain")), ("02-10", .fail)], at: "04-29",
            ["plain 2026-01-31…2026-02-28 5.99", "expired billingError"]),
        Row(
            "turning auto-renewal off in the grace period ends access",
            [("01-31", .grace(16)), ("01-31", .buy("plain")), ("02-10", .fail), ("03-05", .cancel)], at: "03-05",
            ["plain 2026-01-31…2026-02-28 5.99", "expired billingError"]),
        Row(
            "turning auto-renewal off in billing retry ends the retries",
            [("01-31", .buy("plain")), ("02-10", .fail), ("03-05", .cancel), ("03-06", .resolve)], at: "05-01",
            ["plain 2026-01-31…2026-02-28 5.99", "expired billingError"]),
        Row(
            "when the payments of the store work again, the subscription is paid",
            [("01-31", .buy("plain")), ("02-10", .allFail(true)), ("03-20", .allFail(false))], at: "04-21",
            [
                "plain 2026-01-31…2026-02-28 5.99", "plain 2026-03-20…2026-04-20 5.99",
                "plain 2026-04-20…2026-05-20 5.99", "active",
            ]),
        Row(
            "failing payments of the store have no effect between two renewals",
            [("01-31", .buy("plain")), ("02-10", .allFail(true)), ("02-20", .allFail(false))], at: "03-01",
            ["plain 2026-01-31…2026-02-28 5.99", "plain 2026-02-28…2026-03-31 5.99", "active"]),
        Row(
            "a payment succeeds once neither the customer's nor the store's payments fail",
            [
                ("01-31", .buy("plain")), ("02-10", .fail), ("03-01", .allFail(true)), ("03-05", .resolve),
                ("03-10", .allFail(false)),
            ], at: "03-11",
            ["plain 2026-01-31…2026-02-28 5.99", "plain 2026-03-10…2026-04-10 5.99", "active"]),
        Row(
            "a customer whose payments fail again is not charged for the due period",
            [
                ("01-31", .buy("plain")), ("02-10", .fail), ("03-01", .allFail(true)), ("03-05", .resolve),
                ("03-06", .fail), ("03-10", .allFail(false)),
            ], at: "03-11",
            ["plain 2026-01-31…2026-02-28 5.99", "billingRetry"]),
        Row(
            "a grace period that is set during billing retry has no effect on it",
            [("01-31", .buy("plain")), ("02-10", .fail), ("03-01", .grace(16))], at: "03-02",
            ["plain 2026-01-31…2026-02-28 5.99", "billingRetry"]),
        Row(
            "a late payment begins the requested plan",
            [("01-31", .buy("pro")), ("02-05", .buy("plain")), ("02-10", .fail), ("03-20", .resolve)], at: "04-21",
            [
                "pro 2026-01-31…2026-02-28 9.99", "plain 2026-03-20…2026-04-20 5.99",
                "plain 2026-04-20…2026-05-20 5.99", "active",
            ]),
        Row(
            "a purchase during billing retry begins at once",
            [("01-31", .buy("plain")), ("02-10", .fail), ("03-10", .buy("plain"))], at: "04-11",
            [
                "plain 2026-01-31…2026-02-28 5.99", "plain 2026-03-10…2026-04-10 5.99",
                "plain 2026-04-10…2026-05-10 5.99", "active",
            ]),
    ]

    static let prices = [
        Row(
            "a higher price without consent keeps the day of renewal",
            [("01-31", .buy("plain")), ("02-10", .increase("plain", milliunits: 6990, needsConsent: false))],
            at: "04-01",
            [
                "plain 2026-01-31…2026-02-28 5.99", "plain 2026-02-28…2026-03-31 6.99",
                "plain 2026-03-31…2026-04-30 6.99", "active",
            ]),
        Row(
            "a higher price without the required consent ends the subscription",
            [("01-31", .buy("plain")), ("02-10", .increase("plain", milliunits: 6990, needsConsent: true))],
            at: "04-01",
            ["plain 2026-01-31…2026-02-28 5.99", "expired priceIncrease"]),
        Row(
            "a higher price with consent is paid",
            [
                ("01-31", .buy("plain")), ("02-10", .increase("plain", milliunits: 6990, needsConsent: true)),
                ("02-11", .agree(true)),
            ], at: "03-01", ["plain 2026-01-31…2026-02-28 5.99", "plain 2026-02-28…2026-03-31 6.99", "active"]),
        Row(
            "a refused higher price ends the subscription with its period",
            [
                ("01-31", .buy("plain")), ("02-10", .increase("plain", milliunits: 6990, needsConsent: true)),
                ("02-11", .agree(false)),
            ], at: "03-01", ["plain 2026-01-31…2026-02-28 5.99", "expired cancelled"]),
        Row(
            "consent to one price is not consent to the next",
            [
                ("01-31", .buy("plain")), ("02-05", .increase("plain", milliunits: 6990, needsConsent: true)),
                ("02-06", .agree(true)), ("02-10", .increase("plain", milliunits: 7990, needsConsent: true)),
            ], at: "03-01", ["plain 2026-01-31…2026-02-28 5.99", "expired priceIncrease"]),
        Row(
            "a later increase without consent does not replace a missing consent",
            [
                ("01-31", .buy("plain")), ("02-05", .increase("plain", milliunits: 6990, needsConsent: true)),
                ("02-10", .increase("plain", milliunits: 7990, needsConsent: false)),
            ], at: "03-01", ["plain 2026-01-31…2026-02-28 5.99", "expired priceIncrease"]),
        Row(
            "the last of two increases is paid, also at an early renewal",
            [
                ("01-31", .buy("plain")), ("02-05", .increase("plain", milliunits: 6990, needsConsent: false)),
                ("02-10", .increase("plain", milliunits: 7990, needsConsent: false)), ("02-11", .renew),
            ], at: "03-12",
            [
                "plain 2026-01-31…2026-02-28 5.99", "plain 2026-02-11…2026-03-11 7.99",
                "plain 2026-03-11…2026-04-11 7.99", "active",
            ]),
        Row(
            "an increase does not change the price of an offer",
            [("01-31", .buy("paygo")), ("02-10", .increase("paygo", milliunits: 3990, needsConsent: false))],
            at: "05-01",
            [
                "paygo 2026-01-31…2026-02-28 0.99 introductory", "paygo 2026-02-28…2026-03-31 0.99 introductory",
                "paygo 2026-03-31…2026-04-30 0.99 introductory", "paygo 2026-04-30…2026-05-30 3.99", "active",
            ]),
        Row(
            "new customers pay the new price without consent",
            [("01-31", .increase("plain", milliunits: 6990, needsConsent: true)), ("02-01", .buy("plain"))],
            at: "03-02",
            ["plain 2026-02-01…2026-03-01 6.99", "plain 2026-03-01…2026-04-01 6.99", "active"]),
        Row(
            "a withdrawn product ends with its period",
            [("01-31", .buy("plain")), ("02-10", .withdraw("plain", true))], at: "03-01",
            ["plain 2026-01-31…2026-02-28 5.99", "expired productUnavailable"]),
        Row(
            "an expired subscription stays expired when the product is sold again",
            [("01-31", .buy("plain")), ("02-10", .withdraw("plain", true)), ("03-10", .withdraw("plain", false))],
            at: "05-01", ["plain 2026-01-31…2026-02-28 5.99", "expired productUnavailable"]),
        Row(
            "a subscription renews if the product is sold again before its renewal",
            [("01-31", .buy("plain")), ("02-10", .withdraw("plain", true)), ("02-20", .withdraw("plain", false))],
            at: "03-01", ["plain 2026-01-31…2026-02-28 5.99", "plain 2026-02-28…2026-03-31 5.99", "active"]),
    ]

    static let changes = [
        Row(
            "an upgrade, then a plan of another length",
            [("01-31", .buy("plain")), ("02-10", .buy("pro")), ("02-15", .buy("year"))], at: "03-11",
            [
                "plain 2026-01-31…2026-02-28 5.99 upgraded", "pro 2026-02-10…2026-03-10 9.99",
                "year 2026-03-10…2027-03-10 49.99", "active",
            ]),
        Row(
            "a withdrawn downgrade",
            [("01-31", .buy("pro")), ("02-05", .buy("plain")), ("02-06", .buy("pro"))], at: "04-01",
            [
                "pro 2026-01-31…2026-02-28 9.99", "pro 2026-02-28…2026-03-31 9.99", "pro 2026-03-31…2026-04-30 9.99",
                "active",
            ]),
        Row(
            "a downgrade keeps the day of renewal", [("01-31", .buy("pro")), ("02-05", .buy("plain"))], at: "04-01",
            [
                "pro 2026-01-31…2026-02-28 9.99", "plain 2026-02-28…2026-03-31 5.99",
                "plain 2026-03-31…2026-04-30 5.99", "active",
            ]),
        Row(
            "an upgrade replaces a requested plan",
            [("01-31", .buy("plain")), ("02-05", .buy("year")), ("02-10", .buy("pro"))], at: "03-11",
            [
                "plain 2026-01-31…2026-02-28 5.99 upgraded", "pro 2026-02-10…2026-03-10 9.99",
                "pro 2026-03-10…2026-04-10 9.99", "active",
            ]),
        Row(
            "a plan of the same level and length begins at once, without a trial",
            [("01-31", .buy("plain")), ("02-10", .buy("basic"))], at: "03-11",
            [
                "plain 2026-01-31…2026-02-28 5.99 upgraded", "basic 2026-02-10…2026-03-10 4.99",
                "basic 2026-03-10…2026-04-10 4.99", "active",
            ]),
        Row(
            "upgrades, downgrades and plans of another length in turn",
            [
                ("01-31", .buy("year")), ("02-10", .buy("pro")), ("02-12", .buy("basic")), ("03-11", .buy("plain")),
                ("03-12", .buy("year")), ("04-12", .cancel), ("04-13", .buy("pro")),
            ], at: "05-14",
            [
                "year 2026-01-31…2027-01-31 49.99 upgraded", "pro 2026-02-10…2026-03-10 9.99",
                "basic 2026-03-10…2026-04-10 4.99 upgraded", "plain 2026-03-11…2026-04-11 5.99",
                "year 2026-04-11…2027-04-11 49.99 upgraded", "pro 2026-04-13…2026-05-13 9.99",
                "pro 2026-05-13…2026-06-13 9.99", "active",
            ]),
        Row(
            "a subscription that is resumed with another plan renews to that plan",
            [("01-31", .buy("plain")), ("02-05", .cancel), ("02-06", .resume("year"))], at: "03-01",
            ["plain 2026-01-31…2026-02-28 5.99", "year 2026-02-28…2027-02-28 49.99", "active"]),
        Row(
            "a resumed subscription keeps its plan",
            [("01-31", .buy("plain")), ("02-05", .cancel), ("02-06", .resume())], at: "03-01",
            ["plain 2026-01-31…2026-02-28 5.99", "plain 2026-02-28…2026-03-31 5.99", "active"]),
        Row(
            "resuming the current plan withdraws a requested plan",
            [("01-31", .buy("pro")), ("02-05", .buy("plain")), ("02-06", .resume("pro"))], at: "03-01",
            ["pro 2026-01-31…2026-02-28 9.99", "pro 2026-02-28…2026-03-31 9.99", "active"]),
        Row(
            "an early renewal begins a new period", [("01-31", .buy("plain")), ("02-10", .renew)], at: "03-11",
            [
                "plain 2026-01-31…2026-02-28 5.99", "plain 2026-02-10…2026-03-10 5.99",
                "plain 2026-03-10…2026-04-10 5.99", "active",
            ]),
        Row(
            "an early renewal begins the requested plan",
            [("01-31", .buy("pro")), ("02-05", .buy("plain")), ("02-10", .renew)], at: "03-11",
            [
                "pro 2026-01-31…2026-02-28 9.99", "plain 2026-02-10…2026-03-10 5.99",
                "plain 2026-03-10…2026-04-10 5.99", "active",
            ]),
        Row(
            "a cancelled subscription is not renewed early",
            [("01-31", .buy("plain")), ("02-05", .cancel), ("02-10", .renew)],
            at: "03-11", ["plain 2026-01-31…2026-02-28 5.99", "expired cancelled"]),
    ]

    static let ends = [
        Row(
            "a period is ended early", [("01-31", .buy("plain")), ("02-10", .expire)], at: "06-01",
            ["plain 2026-01-31…2026-02-10 5.99", "expired cancelled"]),
        Row(
            "a subscription is ended in its grace period",
            [("01-31", .grace(16)), ("01-31", .buy("plain")), ("02-10", .fail), ("03-02", .expire)], at: "06-01",
            ["plain 2026-01-31…2026-02-28 5.99", "expired billingError"]),
        Row(
            "a refund ends access and renewals", [("01-31", .buy("plain")), ("02-10", .refund())], at: "04-01",
            ["plain 2026-01-31…2026-02-28 5.99 revoked", "revoked"]),
        Row(
            "a reversed refund keeps the day of renewal",
            [("01-31", .buy("plain")), ("02-10", .refund()), ("02-20", .reverse())], at: "03-01",
            ["plain 2026-01-31…2026-02-28 5.99", "plain 2026-02-28…2026-03-31 5.99", "active"]),
        Row(
            "a refund that is reversed after the period does not renew",
            [("01-31", .buy("plain")), ("02-10", .refund()), ("03-10", .reverse())], at: "06-01",
            ["plain 2026-01-31…2026-02-28 5.99", "expired cancelled"]),
        Row(
            "refunded, reversed after the end, and refunded again",
            [
                ("01-31", .buy("plain")), ("02-10", .refund()), ("03-10", .reverse()), ("03-20", .refund()),
            ], at: "06-01", ["plain 2026-01-31…2026-02-28 5.99 revoked", "expired cancelled"]),
        Row(
            "refunded, reversed before the end, and refunded again after it",
            [
                ("01-31", .buy("plain")), ("02-10", .refund()), ("02-11", .reverse()), ("03-20", .refund(0)),
            ], at: "04-01",
            [
                "plain 2026-01-31…2026-02-28 5.99 revoked", "plain 2026-02-28…2026-03-31 5.99",
                "plain 2026-03-31…2026-04-30 5.99", "active",
            ]),
        Row(
            "a refund of an earlier period does not affect later ones",
            [("01-31", .buy("plain")), ("03-10", .refund(0))], at: "04-01",
            [
                "plain 2026-01-31…2026-02-28 5.99 revoked", "plain 2026-02-28…2026-03-31 5.99",
                "plain 2026-03-31…2026-04-30 5.99", "active",
            ]),
        Row(
            "a refund in the grace period ends access",
            [
                ("01-31", .grace(16)), ("01-31", .buy("plain")), ("02-10", .fail), ("03-02", .refund()),
                ("03-03", .resolve),
            ], at: "04-01", ["plain 2026-01-31…2026-02-28 5.99 revoked", "revoked"]),
        Row(
            "a refund after the end keeps the reason of the expiry",
            [("01-31", .buy("plain")), ("02-10", .cancel), ("03-10", .refund())], at: "04-01",
            ["plain 2026-01-31…2026-02-28 5.99 revoked", "expired cancelled"]),
        Row(
            "a refund of an upgraded transaction does not affect the upgrade",
            [("01-31", .buy("plain")), ("02-10", .buy("pro")), ("02-11", .refund(0))], at: "03-01",
            ["plain 2026-01-31…2026-02-28 5.99 upgraded revoked", "pro 2026-02-10…2026-03-10 9.99", "active"]),
    ]

    @Test(
        arguments: [
            ("cancelled", [("02-10", .cancel)]), ("not paid", [("02-10", .fail)]),
            ("priceIncrease", [("02-10", .increase("plain", milliunits: 6990, needsConsent: true))]),
            ("withdrawn", [("02-10", .withdraw("plain", true)), ("03-10", .withdraw("plain", false))]),
            ("refunded", [("02-10", .refund())]), ("ended", [("02-10", .expire)]),
        ] as [(String, [(String, Step)])])
    func `a returning customer has the same original transaction and a period from that day`(
        end: String, script: [(String, Step)]
    ) throws {
        var subscription = try SubscriptionScript()
        for (date, step) in [("01-31", .buy("plain"))] + script {
            try subscription.happen(step, at: SubscriptionScript.date(date))
        }
        let before = try #require(subscription.state(at: SubscriptionScript.date("05-10")))
        #expect(!before.isRunning)
        try subscription.happen(.buy("plain"), at: SubscriptionScript.date("05-10"))
        #expect(subscription.decision == .sold(StoreRulesTests.id(2)))
        let after = try #require(subscription.state(at: SubscriptionScript.date("06-11")))
        #expect(after.status == .active && after.record.startedAt == SubscriptionScript.date("05-10"))
        #expect(after.transactions.dropFirst(before.transactions.count).map(\.id) == [2_000_000, 2_000_001])
        #expect(after.transactions.map(\.isRenewal) == [false, false, true])
        #expect(Set(after.transactions.map(\.originalID)) == [1_000_000])
        #expect(Set(after.transactions.map(\.originalPurchaseDate)) == [SubscriptionScript.date("01-31")])
        #expect(after.expiresDate == SubscriptionScript.date("07-10"))
    }

    @Test(arguments: ["plain", "weekly"], [0, 3, 16, 28])
    func `the grace period, billing retry and the expiry begin exactly at their instants`(
        product: ProductID, days: Int
    ) throws {
        var subscription = try SubscriptionScript()
        let start = SubscriptionScript.date("01-31")
        try subscription.happen(.grace(days), at: start)
        try subscription.happen(.buy(product), at: start)
        try subscription.happen(.fail, at: start.addingTimeInterval(3600))
        let due = SubscriptionScript.date(product == "weekly" ? "02-07" : "02-28")
        let grace = due.addingTimeInterval(Double(product == "weekly" ? min(days, 6) : days) * 86400)
        let retry = due.addingTimeInterval(60 * 86400)
        func expect(_ status: SubscriptionState.Status, _ intent: ExpirationIntent? = nil, at now: Date, changed: Date)
            throws
        {
            let state = try #require(subscription.state(at: now))
            #expect(state.status == status && state.expirationIntent == intent && state.changedAt == changed)
            #expect(state.expiresDate == due && state.transactions.count == 1)
            #expect(state.graceEnd == (status == .gracePeriod ? grace : nil))
            #expect(state.retryEnd == (status == .gracePeriod || status == .billingRetry ? retry : nil))
            #expect(state.isActive == (status == .active || status == .gracePeriod))
        }
        let millisecond = 0.001
        try expect(.active, at: due - millisecond, changed: start.addingTimeInterval(3600))
        if days > 0 {
            try expect(.gracePeriod, at: due, changed: due)
            try expect(.gracePeriod, at: grace - millisecond, changed: due)
        }
        try expect(.billingRetry, at: grace, changed: grace)
        try expect(.billingRetry, at: retry - millisecond, changed: grace)
        try expect(.expired, .billingError, at: retry, changed: retry)
        let changes = [start, due, grace, retry].compactMap { subscription.state(at: $0)?.nextChange }
        #expect(changes == [due, days > 0 ? grace : retry, retry])
    }

    @Test(arguments: [-0.001, 0])
    func `a payment in the last millisecond of the grace period keeps the renewal date, a later payment does not`(
        offset: TimeInterval
    ) throws {
        var subscription = try SubscriptionScript()
        let start = SubscriptionScript.date("01-31")
        try subscription.happen(.grace(16), at: start)
        try subscription.happen(.buy("plain"), at: start)
        try subscription.happen(.fail, at: SubscriptionScript.date("02-01"))
        let paid = SubscriptionScript.date("03-16").addingTimeInterval(offset)
        try subscription.happen(.resolve, at: paid)
        let state = try #require(subscription.state(at: paid))
        #expect(state.latest.purchaseDate == paid && state.latest.isRenewal)
        let kept = SubscriptionScript.date("03-31")
        #expect(state.expiresDate == (offset < 0 ? kept : SubscriptionPeriod.months(1).end(from: paid)))
    }

    @Test(arguments: ["01-31", "2026-02-28T09:59:59.999Z"])
    func `consent to a higher price applies to the renewal, despite a later refusal`(agreedAt: String) throws {
        var subscription = try SubscriptionScript()
        try subscription.happen(.buy("plain"), at: SubscriptionScript.date("01-31"))
        let raised = SubscriptionScript.date("2026-01-31T11:00:00Z")
        try subscription.happen(.increase("plain", milliunits: 6990, needsConsent: true), at: raised)
        let pending = try #require(subscription.state(at: raised))
        #expect(pending.increase?.consentRequestedAt == raised && !pending.hasConsented && pending.changedAt == raised)
        #expect(pending.nextSale().plan.price.milliunits == 6990)
        let agreed = max(SubscriptionScript.date(agreedAt), raised)
        try subscription.happen(.agree(true), at: agreed)
        try subscription.happen(.agree(false), at: agreed)
        let reported = try #require(subscription.state(at: agreed))
        #expect(reported.hasConsented && reported.autoRenews && reported.changedAt == agreed)
        let renewed = try #require(subscription.state(at: SubscriptionScript.date("02-28")))
        #expect(renewed.status == .active && renewed.latest.price.milliunits == 6990 && renewed.increase == nil)
    }

    @Test func `a plan of another group is refused`() throws {
        var subscription = try SubscriptionScript()
        let start = SubscriptionScript.date("01-31")
        try subscription.happen(.buy("plain"), at: start)
        for plan: ProductID in ["weekly", "nothing"] {
            #expect(throws: SimulatorError(.otherGroup, "")) { try subscription.happen(.resume(plan), at: start) }
        }
    }

    @Test(
        arguments: [
            ("basic", "half", nil, "nobody", StoreFailure.Code.ineligibleForOffer),
            ("basic", "back", nil, "nobody", .ineligibleForOffer),
            ("basic", "back", .winBack, "active", .ineligibleForOffer),
            ("basic", "never", .winBack, "expired", .ineligibleForOffer),
            ("basic", "half", .winBack, "expired", .invalidOffer),
            ("basic", "back", .promotional, "expired", .invalidOffer),
            ("basic", "spring", .promotional, "expired", .invalidOffer),
            ("basic", "half", .code, "expired", .invalidOffer),
            ("basic", "half", .introductory, "expired", .invalidOffer),
            ("basic", "hello", .code, "expired", .ineligibleForOffer),
            ("basic", "hello", .code, "active", .ineligibleForOffer),
            ("basic", "return", .code, "nobody", .ineligibleForOffer),
            ("basic", "return", .code, "active", .ineligibleForOffer),
            ("basic", "stay", .code, "nobody", .ineligibleForOffer),
            ("basic", "stay", .code, "expired", .ineligibleForOffer),
        ] as [(ProductID, String, AppliedOffer.Kind?, String, StoreFailure.Code)])
    func `an offer is refused to an ineligible customer`(
        product: ProductID, offer: String, kind: AppliedOffer.Kind?, customer: String, code: StoreFailure.Code
    ) throws {
        var subscription = try SubscriptionScript()
        if customer != "nobody" { try subscription.happen(.buy("plain"), at: SubscriptionScript.date("01-31")) }
        if customer == "expired" { try subscription.happen(.expire, at: SubscriptionScript.date("02-01")) }
        let before = subscription.record
        try subscription.happen(.buy(product, offer: offer, kind), at: SubscriptionScript.date("02-10"))
        guard case .refused(let failure) = subscription.decision else {
            Issue.record("\(offer) was sold to a customer who is \(customer)")
            return
        }
        #expect(failure.code == code && failure.reason.hasSuffix(".") && subscription.record == before)
    }
}
