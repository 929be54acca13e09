import Foundation
import Primitives
import Testing

@testable import StoreModel

/// Whole lives of purchases, and what they contribute to the figures. Days are counted from 2026-01-01. Amounts are in
/// thousandths of the currency.
struct PurchaseFiguresTests {
    // MARK: - Subscriptions

    @Test func `one paid period is new, active and lost`() {
        expect(
            [paid("1", 0, 31)],
            [
                "active 0=1 31=-1", "new 0=1", "lost 31=1", "mrr 0=5000 31=-5000", "mrrNew 0=5000",
                "mrrChurn 31=-5000", "payments 0=1", "revenue 0=5000",
            ])
    }

    @Test func `a renewal moves the end of a subscription, which is active without a gap`() {
        expect(
            [paid("1", 0, 31), paid("2", 31, 59)],
            [
                "active 0=1 59=-1", "new 0=1", "lost 59=1", "mrr 0=5000 59=-5000", "mrrNew 0=5000",
                "mrrChurn 59=-5000", "payments 0=1 31=1", "revenue 0=5000 31=5000",
            ])
    }

    @Test func `a trial that ends without a payment is no subscription`() {
        expect([trial("1", 0, 7)], ["trials 0=1 7=-1", "trialsStarted 0=1"])
    }

    @Test func `a trial that is paid converts on the day of the payment, and on the day of its start`() {
        expect(
            [trial("1", 0, 7), paid("2", 7, 38)],
            [
                "trials 0=1 7=-1", "trialsStarted 0=1", "trialsConverted 0=1", "conversions 7=1", "active 7=1 38=-1",
                "new 7=1", "lost 38=1", "mrr 7=5000 38=-5000", "mrrNew 7=5000", "mrrChurn 38=-5000", "payments 7=1",
                "revenue 7=5000",
            ])
    }

    @Test func `a trial that is paid during billing retry converts, later it does not`() {
        let retried = lines([trial("1", 0, 7), paid("2", 20, 51)])
        #expect(retried.contains("conversions 20=1"))
        #expect(retried.contains("trialsConverted 0=1"))
        #expect(lines([trial("1", 0, 7), paid("2", 67, 98)]).contains("conversions 67=1"))
        let later = lines([trial("1", 0, 7), paid("2", 68, 99)])
        #expect(!later.contains { $0.hasPrefix("conversions") || $0.hasPrefix("trialsConverted") })
        #expect(later.contains("new 68=1"))
    }

    @Test func `an upgrade ends the earlier period and adds the difference of the prices`() {
        expect(
            [
                paid("1", 0, 31), paid("1", 0, 31, signed: 10) { $0.isUpgraded = true },
                paid("2", 10, 41, 12) { $0.productID = "gold" },
            ],
            [
                "active 0=1 41=-1", "new 0=1", "lost 41=1", "mrr 0=5000 10=7000 41=-12000", "mrrNew 0=5000",
                "mrrExpansion 10=7000", "mrrChurn 41=-12000", "payments 0=1 10=1", "revenue 0=5000 10=12000",
            ])
    }

    @Test func `an upgrade moves the subscription between the products`() {
        let sums = PurchaseFigures.contributions(
            of: [paid("1", 0, 31), paid("2", 10, 41, 12) { $0.productID = "gold" }], renewals: [])
        let active = sums.values.filter { $0.key.measure == .active }
        #expect(
            active.map { "\($0.key.product) \($0.key.day - first)=\($0.value)" }.sorted() == [
                "gold 10=1", "gold 41=-1", "pro.monthly 0=1", "pro.monthly 10=-1",
            ])
    }

    @Test func `a downgrade at a renewal subtracts the difference of the prices`() {
        expect(
            [paid("1", 0, 31, 12), paid("2", 31, 59)],
            [
                "active 0=1 59=-1", "new 0=1", "lost 59=1", "mrr 0=12000 31=-7000 59=-5000", "mrrNew 0=12000",
                "mrrContraction 31=-7000", "mrrChurn 59=-5000", "payments 0=1 31=1", "revenue 0=12000 31=5000",
            ])
    }

    @Test func `a change of currency is a contraction in the old currency and an expansion in the new one`() {
        let moved = paid("2", 31, 59) { $0.price = Price(amount: 6, currency: "USD") }
        let sums = PurchaseFigures.contributions(of: [paid("1", 0, 31), moved], renewals: [])
        let money = sums.values.filter { $0.key.measure.rawValue.hasPrefix("mrr") }
        #expect(
            money.map { "\($0.key.measure) \($0.key.currency) \($0.key.day - first)=\($0.value.clamped / 1000)" }
                .sorted() == [
                    "mrr EUR 0=5000", "mrr EUR 31=-5000", "mrr USD 31=6000", "mrr USD 59=-6000",
                    "mrrChurn USD 59=-6000",
                    "mrrContraction EUR 31=-5000", "mrrExpansion USD 31=6000", "mrrNew EUR 0=5000",
                ])
    }

    @Test func `a grace period is active, and stays so after the payment failed for good`() {
        let grace = renewal(renews: true, grace: 47, isRetrying: true, signed: 31)
        let expected = [
            "active 0=1 47=-1", "new 0=1", "lost 47=1", "mrr 0=5000 47=-5000", "mrrNew 0=5000", "mrrChurn 47=-5000",
            "payments 0=1", "revenue 0=5000",
        ]
        expect([paid("1", 0, 31)], renewals: [grace], expected)
        let failed = renewal(renews: false, signed: 47)
        expect([paid("1", 0, 31)], renewals: [failed, grace], expected)
    }

    @Test func `a payment within the grace period leaves no gap`() {
        let grace = renewal(renews: true, grace: 47, isRetrying: true, signed: 31)
        let found = lines([paid("1", 0, 31), paid("2", 40, 71)], renewals: [grace])
        #expect(found.contains("active 0=1 71=-1"))
        #expect(found.contains("lost 71=1"))
        #expect(!found.contains { $0.hasPrefix("reactivated") })
    }

    @Test func `a period that was paid in the grace period has the price of a whole one`() {
        let grace = renewal(renews: true, grace: 47, isRetrying: true, signed: 31)
        for (paidAt, end) in [(31.5, 59.0), (46, 59), (47, 59)] {
            let found = lines([paid("1", 0, 31), paid("2", paidAt, end)], renewals: [grace])
            #expect(found.contains("mrr 0=5000 59=-5000"), "\(found)")
            #expect(!found.contains { $0.hasPrefix("mrrExpansion") })
        }
        // A week that is paid five days late.
        let week = lines(
            [paid("1", 0, 7), paid("2", 12, 14)], renewals: [renewal(renews: true, grace: 13, signed: 7)])
        #expect(week.contains("mrr 0=21741.071 14=-21741.071"), "\(week)")
        // A period that begins with its payment, with another length.
        let other = lines([paid("1", 0, 31), paid("2", 41, 48)], renewals: [grace])
        #expect(other.contains("mrr 0=5000 41=16741.071 48=-21741.071"), "\(other)")
        // After the grace period.
        let later = lines([paid("1", 0, 31), paid("2", 49, 59)], renewals: [grace])
        #expect(later.contains { $0.hasPrefix("mrrReactivation 49=15218") }, "\(later)")
    }

    /// The first period ends on day 59. The 28 days until day 87 are about a month and four weeks.
    @Test(arguments: [
        ("a week from day 80", 80.0, 87.0, "other", "mrr 31=5000 80=16741.071 87=-21741.071"),
        ("such a week at the end of summer time", 80, 87 + 1 / 24.0, "other", "mrr 31=5000 80=16612.426 87=-21612.426"),
        ("a month that is paid a week before its end", 80, 87, "plus", "mrr 31=5000 87=-5000"),
        ("a month from day 87", 87, 118, "other", "mrr 31=5000 118=-5000"),
        ("a month from day 87 with another offer", 87, 118, "plus", "mrr 31=5000 118=-5000"),
        ("a year from day 87", 87, 452, "plus", "mrr 31=5000 87=-4583.333 452=-416.667"),
    ])
    func `another plan that is bought in the grace period is not a late payment`(
        _ what: String, from: Double, to end: Double, product: ProductID, expected: String
    ) {
        let found = lines(
            [paid("1", 31, 59) { $0.productID = "plus" }, paid("2", from, end) { $0.productID = product }],
            renewals: [renewal(renews: true, grace: 87, isRetrying: true, signed: 59)])
        #expect(found.contains(expected), "\(what): \(found)")
    }

    @Test func `a customer who turns renewal off in the grace period ends it`() {
        let grace = renewal(renews: true, grace: 47, isRetrying: true, signed: 31)
        let off = renewal(renews: false, signed: 36)
        expect(
            [paid("1", 0, 31)], renewals: [off, grace],
            [
                "active 0=1 36=-1", "new 0=1", "lost 36=1", "mrr 0=5000 36=-5000", "mrrNew 0=5000",
                "mrrChurn 36=-5000", "payments 0=1", "revenue 0=5000",
            ])
        // Infos from before the failed payment, and from after the grace period, change nothing.
        let others = [renewal(renews: true, signed: 20), renewal(renews: false, signed: 48)]
        #expect(lines([paid("1", 0, 31)], renewals: [grace] + others).contains("lost 47=1"))
        // Paid on day 40: an info after that belongs to the next period.
        let next = lines([paid("1", 0, 31), paid("2", 40, 59)], renewals: [grace, renewal(renews: true, signed: 40)])
        #expect(next.contains("active 0=1 59=-1"))
    }

    @Test func `billing retry without a grace period is lost, and a later payment reactivates`() {
        expect(
            [paid("1", 0, 31), paid("2", 36, 67)],
            renewals: [renewal(renews: true, isRetrying: true, signed: 31)],
            [
                "active 0=1 31=-1 36=1 67=-1", "new 0=1", "reactivated 36=1", "lost 31=1 67=1",
                "mrr 0=5000 31=-5000 36=5000 67=-5000", "mrrNew 0=5000", "mrrReactivation 36=5000",
                "mrrChurn 31=-5000 67=-5000", "payments 0=1 36=1", "revenue 0=5000 36=5000",
            ])
    }

    @Test func `a gap within one day does not count`() {
        let found = lines([paid("1", 0, 31.25), paid("2", 31.75, 59)])
        #expect(found.contains("lost 59=1"))
        #expect(!found.contains { $0.hasPrefix("reactivated") })
    }

    @Test func `a refund ends the subscription and takes the revenue back on the day of the refund`() {
        expect(
            [paid("1", 0, 31), paid("1", 0, 31, signed: 12) { $0.revocationDate = day(12) }],
            [
                "active 0=1 12=-1", "new 0=1", "lost 12=1", "mrr 0=5000 12=-5000", "mrrNew 0=5000",
                "mrrChurn 12=-5000", "payments 0=1", "revenue 0=5000 12=-5000", "refunded 12=1", "refunds 12=5000",
            ])
    }

    @Test func `a refund of a part takes that part back`() {
        let found = lines([
            paid("1", 0, 31) {
                $0.revocationDate = day(12)
                $0.revocationPercentage = 33_333
            }
        ])
        #expect(found.contains("refunds 12=1666.65"))
        #expect(found.contains("revenue 0=5000 12=-1666.65"))
    }

    @Test func `a reversed refund leaves no trace`() {
        let refunded = paid("1", 0, 31, signed: 12) { $0.revocationDate = day(12) }
        #expect(lines([paid("1", 0, 31), refunded, paid("1", 0, 31, signed: 14)]) == lines([paid("1", 0, 31)]))
    }

    @Test func `a subscription that comes back after a year is reactivated, not new`() {
        let found = lines([paid("1", 0, 31), paid("2", 400, 430)])
        #expect(found.contains("new 0=1"))
        #expect(found.contains("reactivated 400=1"))
        #expect(found.contains("lost 31=1 430=1"))
    }

    @Test func `a paid introductory period counts as a paid subscription with this offer`() {
        let intro = paid("1", 0, 31, 1) {
            $0.isIntroductory = true
            $0.offerType = 1
        }
        let sums = PurchaseFigures.contributions(of: [intro, paid("2", 31, 59)], renewals: [])
        #expect(lines([intro, paid("2", 31, 59)]).contains("mrrExpansion 31=4000"))
        #expect(sums.values.filter { $0.key.measure == .new }.keys.map(\.offer) == ["introductory"])
    }

    @Test(
        arguments: [
            (2, "spring", "promotional/spring"), (3, "FREE", "offerCode/FREE"), (4, "back", "winBack/back"),
            (9, nil, "offer 9"), (nil, nil, ""),
        ] as [(Int?, String?, ExactString)])
    func `a figure names the kind and identifier of its offer`(type: Int?, id: String?, expected: ExactString) {
        let fact = paid("1", 0, 31) {
            $0.offerType = type
            $0.offerIdentifier = id
            $0.storefront = "DEU"
        }
        let sums = PurchaseFigures.contributions(of: [fact], renewals: [])
        #expect(Set(sums.values.keys.map(\.offer)) == [expected])
        #expect(Set(sums.values.keys.map(\.country)) == ["DEU"])
        #expect(Set(sums.values.keys.map(\.source)) == ["appStore"])
    }

    @Test func `added seats are revenue, and neither a subscription nor its end`() {
        expect(
            [
                paid("1", 0, 31) { $0.quantity = 2 },
                paid("2", 10, 31, 3) { ($0.quantity, $0.sharesPeriod) = (3, true) },
            ],
            [
                "active 0=1 31=-1", "new 0=1", "lost 31=1", "mrr 0=10000 31=-10000", "mrrNew 0=10000",
                "mrrChurn 31=-10000", "payments 0=1 10=1", "revenue 0=10000 10=9000",
            ])
    }

    @Test func `a subscription that the family shares is in no figure`() {
        #expect(lines([paid("1", 0, 31) { $0.isFamilyShared = true }]).isEmpty)
    }

    @Test func `a subscription of a receipt has no revenue, and its revocation is not counted as a refund`() {
        let receipt = paid("1", 0, 31) {
            $0.isFromReceipt = true
            $0.price = nil
            $0.revocationDate = day(12)
        }
        expect([receipt], ["active 0=1 12=-1", "new 0=1", "lost 12=1"])
    }

    // MARK: - Other purchases

    @Test func `consumables have payments and revenue by quantity`() {
        expect(
            [bought(.consumable, at: 3) { $0.quantity = 4 }], ["payments 3=1", "revenue 3=20000"])
    }

    @Test func `a non-consumable is refunded on the day of the refund`() {
        expect(
            [bought(.nonConsumable, at: 3) { $0.revocationDate = day(9) }],
            ["payments 3=1", "revenue 3=5000 9=-5000", "refunded 9=1", "refunds 9=5000"])
    }

    @Test func `a non-renewing subscription is no active subscription`() {
        expect(
            [bought(.nonRenewingSubscription, at: 3) { $0.expiresDate = day(30) }], ["payments 3=1", "revenue 3=5000"])
    }

    @Test func `a payment over a thousand million is in no figure`() {
        #expect(lines([bought(.consumable, at: 3) { $0.price = euros(1_000_000_001) }]).isEmpty)
        #expect(!lines([bought(.consumable, at: 3) { $0.price = euros(1_000_000_000) }]).isEmpty)
    }

    // MARK: - Cohorts

    @Test func `a subscription is retained in a month if it is active on the same day of that month`() {
        // From 31 January: the month after ends on 28 February.
        let sums = PurchaseFigures.contributions(
            of: [paid("1", 30, 58), paid("2", 58, 89), paid("3", 110, 140)], renewals: [])
        let retained = sums.values.filter { $0.key.measure == .retained }
        #expect(retained.map { "\($0.key.day - first)/\($0.key.age)=\($0.value)" }.sorted() == ["30/1=1", "30/3=1"])
        let revenue = sums.values.filter { $0.key.measure == .cohortRevenue }
        #expect(
            revenue.map { "\($0.key.day - first)/\($0.key.age)=\($0.value.clamped / 1000)" }.sorted() == [
                "30/0=5000", "30/1=5000", "30/2=5000",
            ])
    }

    // MARK: - Months

    @Test(arguments: [
        (28.0, 5_000_000), (31, 5_000_000), (59, 2_500_000), (62, 2_500_000), (92, 1_666_667), (181, 833_333),
        (184, 833_333), (365, 416_667), (366, 416_667), (7, 21_741_071), (14, 10_870_536), (3, 50_729_167),
        (45, 3_381_944),
    ])
    func `a price is divided by the months of its period`(days: Double, expected: Int64) {
        #expect(FigurePeriod.monthly(5_000_000, from: day(0), to: day(days)) == expected)
    }

    @Test func `a period of a millisecond has a bounded price`() {
        let end = day(0).addingTimeInterval(0.001)
        #expect(
            FigurePeriod.monthly(PurchaseFigures.maximumAmount, from: day(0), to: end) == PurchaseFigures.maximumAmount)
        #expect(FigurePeriod.monthly(5, from: day(1), to: day(0)) == 0)
    }

    @Test func `days and dates agree over 400 years`() {
        var expected: (year: Int64, month: Int64) = (1899, 12)
        for number in FigureDay.number(year: 1900, month: 1, day: 1)...FigureDay.number(year: 2300, month: 12, day: 31)
        {
            let date = FigureDay.date(of: number)
            if date.day == 1 {
                expected = expected.month == 12 ? (expected.year + 1, 1) : (expected.year, expected.month + 1)
            }
            guard date.year == expected.year, date.month == expected.month,
                FigureDay.number(year: date.year, month: date.month, day: date.day) == number
            else {
                Issue.record("day \(number) is \(date)")
                return
            }
        }
        #expect(FigureDay.containing(Date(timeIntervalSince1970: -0.001)) == -1)
        #expect(
            FigureDay.adding(months: -13, to: FigureDay.number(year: 2024, month: 3, day: 31))
                == FigureDay.number(year: 2023, month: 2, day: 28))
        #expect(FigureDay.months(from: 30, to: 58) == 1)
        #expect(FigureDay.months(from: 30, to: 57) == 0)
    }

    // MARK: - Order

    @Test func `the order of facts does not matter`() {
        var random = SystemRandomNumberGenerator()
        let facts = [
            trial("1", 0, 7), paid("2", 7, 38), paid("3", 38, 66, 12),
            paid("2", 7, 38, signed: 50) {
                $0.revocationDate = day(50)
            }, paid("3", 38, 66, 12, signed: 45) { $0.isUpgraded = true }, paid("4", 45, 75, 20),
        ]
        let renewals = [
            renewal(renews: true, grace: 91, isRetrying: true, signed: 75), renewal(renews: false, signed: 91),
        ]
        let expected = PurchaseFigures.contributions(of: facts, renewals: renewals)
        for _ in 0..<50 {
            #expect(
                PurchaseFigures.contributions(
                    of: facts.shuffled(using: &random), renewals: renewals.shuffled(using: &random)) == expected)
        }
    }
}

// MARK: - Lives

private let first = FigureDay.containing(day(0))

private func paid(
    _ id: TransactionID, _ from: Double, _ until: Double, _ amount: Decimal = 5, signed: Double? = nil,
    _ change: (inout TransactionFact) -> Void = { _ in }
) -> TransactionFact {
    var fact = period(id, from: from, to: until, signed: signed)
    fact.price = Price(amount: amount, currency: "EUR")
    change(&fact)
    return fact
}

private func euros(_ amount: Decimal) -> Price { Price(amount: amount, currency: "EUR") }

private func trial(_ id: TransactionID, _ from: Double, _ until: Double) -> TransactionFact {
    paid(id, from, until, 0) { $0.isTrial = true }
}

private func bought(
    _ kind: ProductType, at: Double, _ change: (inout TransactionFact) -> Void = { _ in }
) -> TransactionFact {
    var fact = purchase("1", kind: kind, at: at)
    fact.price = Price(amount: 5, currency: "EUR")
    change(&fact)
    return fact
}

/// Returns a line for each measure, without those of cohorts: its name, then its days and values.
private func lines(_ facts: [TransactionFact], renewals: [RenewalFact] = []) -> [String] {
    PurchaseFigures.contributions(of: facts, renewals: renewals).lines
}

extension FigureSums {
    /// A line for each measure, without those of cohorts: its name, then its days and values.
    var lines: [String] {
        let money: Set<FigureMeasure> = [
            .mrr, .mrrNew, .mrrExpansion, .mrrContraction, .mrrReactivation, .mrrChurn, .revenue, .refunds,
        ]
        var days: [FigureMeasure: [Int64: Int64]] = [:]
        for (key, value) in values {
            days[key.measure, default: [:]][key.day - first, default: 0] += value.clamped
        }
        return FigureMeasure.allCases.filter { $0 != .retained && $0 != .cohortRevenue }.compactMap { measure in
            let values = days[measure, default: [:]].filter { $0.value != 0 }.sorted { $0.key < $1.key }.map {
                day, value in
                let shown =
                    !money.contains(measure)
                    ? "\(value)" : value % 1000 == 0 ? "\(value / 1000)" : "\(Double(value) / 1000)"
                return "\(day)=\(shown)"
            }
            return values.isEmpty ? nil : "\(measure.rawValue) \(values.joined(separator: " "))"
        }
    }
}

private func expect(
    _ facts: [TransactionFact], renewals: [RenewalFact] = [], _ expected: [String],
    _ location: SourceLocation = #_sourceLocation
) {
    #expect(lines(facts, renewals: renewals).sorted() == expected.sorted(), sourceLocation: location)
}
