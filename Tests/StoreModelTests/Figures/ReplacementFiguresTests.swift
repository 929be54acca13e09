import Foundation
import Primitives
import Testing

@testable import StoreModel

/// Subscriptions at Google Play that replaced one another, and what they contribute to the figures as one. Days are counted
/// from 2026-01-01. Amounts are in thousandths of the currency.
struct ReplacementFiguresTests {
    /// A month for 5 that was replaced on day 10, when 21 of its 31 days were not used.
    private let replaced = sold("1", of: "a", 0, 10, signed: 10) {
        ($0.replacedBy, $0.isUpgraded, $0.paidUntil) = ("b", true, day(31))
    }

    private func gold(
        _ id: TransactionID, _ from: Double, _ until: Double, _ amount: Decimal = 12,
        _ change: (inout TransactionFact) -> Void = { _ in }
    ) -> TransactionFact {
        sold(id, of: "b", from, until, amount) { fact in
            (fact.productID, fact.originalPurchaseDate, fact.replaces) = ("gold", day(10), "a")
            change(&fact)
        }
    }

    // MARK: - Modes

    @Test func `time for the unused value expands the revenue on the day of the replacement`() {
        // The 21 days are worth 8.75 days of the new plan.
        expect(
            [replaced, gold("2", 10, 18.75, 0), gold("3", 18.75, 49.75)],
            [
                "active 0=1 49=-1", "new 0=1", "lost 49=1", "mrr 0=5000 10=7000 49=-12000", "mrrNew 0=5000",
                "mrrExpansion 10=7000", "mrrChurn 49=-12000", "payments 0=1 18=1", "revenue 0=5000 18=12000",
            ])
        #expect(lines([replaced, gold("2", 10, 18.75, 0)]).contains("mrr 0=5000 10=7000 18=-12000"))
    }

    @Test func `a downgrade with time for the unused value contracts the revenue`() {
        let old = sold("1", of: "a", 0, 10, 12, signed: 10) { ($0.replacedBy, $0.paidUntil) = ("b", day(31)) }
        expect(
            [old, gold("2", 10, 60.4, 0)],
            [
                "active 0=1 60=-1", "new 0=1", "lost 60=1", "mrr 0=12000 10=-7000 60=-5000", "mrrNew 0=12000",
                "mrrContraction 10=-7000", "mrrChurn 60=-5000", "payments 0=1", "revenue 0=12000",
            ])
    }

    @Test func `without proration the revenue changes with the first payment`() {
        expect(
            [replaced, gold("2", 10, 31, 0), gold("3", 31, 59)],
            [
                "active 0=1 59=-1", "new 0=1", "lost 59=1", "mrr 0=5000 31=7000 59=-12000", "mrrNew 0=5000",
                "mrrExpansion 31=7000", "mrrChurn 59=-12000", "payments 0=1 31=1", "revenue 0=5000 31=12000",
            ])
    }

    @Test func `a part of the price, or all of it with more time, gives the monthly price of the new plan`() {
        // 7 of the 12 for 21 of 31 days.
        let part = gold("2", 10, 31, Decimal(string: "4.741935") ?? 0)
        #expect(lines([replaced, part, gold("3", 31, 59)]).contains("mrr 0=5000 10=7000 59=-12000"))
        // Before the next payment is known, about the same: months have 28 to 31 days.
        #expect(lines([replaced, part]).contains("mrr 0=5000 10=6872.983 31=-11872.983"))
        let full = gold("2", 10, 49.75)
        #expect(lines([replaced, full, gold("3", 49.75, 80.75)]).contains("mrr 0=5000 10=7000 80=-12000"))
        #expect(lines([replaced, full]).contains("mrr 0=5000 10=6830.189 49=-11830.189"))
    }

    @Test func `a deferred replacement states the old order, which counts once and lasts until the change`() {
        let deferred = sold("1", of: "b", 0, 31, signed: 10) { ($0.replaces, $0.originalPurchaseDate) = ("a", day(10)) }
        let expected = [
            "active 0=1 31=-1", "new 0=1", "lost 31=1", "mrr 0=5000 31=-5000", "mrrNew 0=5000", "mrrChurn 31=-5000",
            "payments 0=1", "revenue 0=5000",
        ]
        expect([replaced, deferred], expected)
        expect(
            [replaced, deferred, gold("2", 31, 59)],
            [
                "active 0=1 59=-1", "new 0=1", "lost 59=1", "mrr 0=5000 31=7000 59=-12000", "mrrNew 0=5000",
                "mrrExpansion 31=7000", "mrrChurn 59=-12000", "payments 0=1 31=1", "revenue 0=5000 31=12000",
            ])
        var refunded = deferred
        refunded.revocationDate = day(12)
        #expect(lines([replaced, refunded]).contains("revenue 0=5000 12=-5000"))
        #expect(lines([replaced, refunded]).contains("active 0=1 12=-1"))
        var former = replaced
        former.revocationDate = day(12)
        #expect(lines([former, deferred]).contains("revenue 0=5000 12=-5000"))
        #expect(lines([former, deferred]).contains("active 0=1 31=-1"))
    }

    @Test func `top-ups are one subscription without movements`() {
        var facts = [sold("1", of: "p1", 0, 31) { $0.replacedBy = "p2" }]
        for number in 2...4 {
            // Each one is bought 11 days before the end, and adds a month to it.
            let (from, end) = (Double(number - 1) * 20, 31 + Double(number - 1) * 31)
            let last = facts.count - 1
            func id(_ number: Int) -> TransactionID { TransactionID(unchecked: "p\(number)") }
            facts[last].paidUntil = facts[last].expiresDate
            facts[last].expiresDate = day(from)
            facts.append(
                sold(TransactionID(unchecked: "\(number)"), of: id(number), from, end) {
                    ($0.replaces, $0.replacedBy) = (id(number - 1), id(number + 1))
                    $0.originalPurchaseDate = day(from)
                })
        }
        expect(
            facts,
            [
                "active 0=1 124=-1", "new 0=1", "lost 124=1", "mrr 0=5000 124=-5000", "mrrNew 0=5000",
                "mrrChurn 124=-5000", "payments 0=1 20=1 40=1 60=1", "revenue 0=5000 20=5000 40=5000 60=5000",
            ])
    }

    @Test(arguments: [10.0, 31]) func `a cancelled subscription that is bought again has no gap`(from: Double) {
        // The new period begins with the purchase or after the time that was paid.
        let again = sold("2", of: "b", from, 62) { ($0.replaces, $0.originalPurchaseDate) = ("a", day(10)) }
        let found = lines([replaced, again])
        #expect(found.contains("active 0=1 62=-1") && found.contains("new 0=1") && found.contains("lost 62=1"))
        #expect(found.contains("mrr 0=5000 62=-5000"), "\(found)")
        #expect(!found.contains { $0.hasPrefix("mrrExp") || $0.hasPrefix("mrrCon") || $0.hasPrefix("react") })
    }

    // MARK: - Trials

    @Test func `a trial that is replaced by a paid period converts`() {
        let trial = sold("1", of: "a", 0, 3, 0) {
            ($0.isTrial, $0.replacedBy, $0.paidUntil) = (true, "b", day(7))
        }
        expect(
            [trial, gold("2", 3, 34)],
            [
                "trials 0=1 3=-1", "trialsStarted 0=1", "trialsConverted 0=1", "conversions 3=1", "active 3=1 34=-1",
                "new 3=1", "lost 34=1", "mrr 3=12000 34=-12000", "mrrNew 3=12000", "mrrChurn 34=-12000",
                "payments 3=1", "revenue 3=12000",
            ])
        // Another plan for the rest of the free time is free as well.
        expect(
            [trial, gold("2", 3, 7, 0), gold("3", 7, 38)],
            [
                "trials 0=1 7=-1", "trialsStarted 0=1", "trialsConverted 0=1", "conversions 7=1", "active 7=1 38=-1",
                "new 7=1", "lost 38=1", "mrr 7=12000 38=-12000", "mrrNew 7=12000", "mrrChurn 38=-12000",
                "payments 7=1", "revenue 7=12000",
            ])
    }

    // MARK: - Ends

    @Test func `a refund of the replaced purchase takes money back, and ends nothing`() {
        var refunded = replaced
        refunded.revocationDate = day(15)
        expect(
            [refunded, gold("2", 10, 31, 0)],
            [
                "active 0=1 31=-1", "new 0=1", "lost 31=1", "mrr 0=5000 31=-5000", "mrrNew 0=5000",
                "mrrChurn 31=-5000", "payments 0=1", "revenue 0=5000 15=-5000", "refunded 15=1", "refunds 15=5000",
            ])
    }

    @Test func `a subscription that is replaced without access is reactivated`() {
        let held = sold("1", of: "a", 0, 31, signed: 40) { ($0.replacedBy, $0.isUpgraded) = ("b", true) }
        let found = lines([held, gold("2", 40, 71) { $0.originalPurchaseDate = day(40) }])
        #expect(found.contains("active 0=1 31=-1 40=1 71=-1"))
        #expect(found.contains("new 0=1") && found.contains("reactivated 40=1") && found.contains("lost 31=1 71=1"))
        #expect(found.contains("mrrReactivation 40=12000"))
    }

    @Test func `a refund at once has the monthly price of the whole period`() {
        let refunded = sold("1", of: "a", 0, 3) { ($0.revocationDate, $0.paidUntil) = (day(3), day(31)) }
        #expect(lines([refunded]).contains("mrr 0=5000 3=-5000"))
    }

    // MARK: - Links

    @Test func `two purchases are linked only if the newest statements about both say so`() {
        let other = gold("2", 10, 41)
        let one = lines([replaced, other])
        #expect(one.contains("new 0=1") && one.contains("lost 41=1"))
        var (withoutNext, withoutFormer) = (replaced, other)
        (withoutNext.replacedBy, withoutFormer.replaces) = (nil, nil)
        var elsewhere = replaced
        elsewhere.replacedBy = "c"
        var later = replaced
        (later.id, later.replacedBy, later.signedDate) = ("9", nil, day(20))
        for facts in [
            [withoutNext, other], [replaced, withoutFormer], [elsewhere, other], [replaced, later, other], [other],
        ] {
            let found = lines(facts)
            #expect(found.contains { $0.hasPrefix("new ") && $0.contains("10=1") }, "\(found)")
        }
        // A newer statement with the link.
        var newest = replaced
        newest.signedDate = day(30)
        #expect(lines([withoutNext, newest, other]) == one)
    }

    @Test func `purchases that replaced one another in a circle are one chain`() {
        var last = gold("2", 10, 41)
        last.replacedBy = "a"
        var first = replaced
        first.replaces = "b"
        #expect(lines([first, last]) == lines([replaced, gold("2", 10, 41)]))
        let own = sold("1", of: "a", 0, 31) { ($0.replaces, $0.replacedBy) = ("a", "a") }
        #expect(lines([own]).contains("active 0=1 31=-1"))
    }

    @Test func `the cohort, its retention and its revenue go through the chain, and the products change`() {
        let sums = sums([replaced, gold("2", 10, 41), gold("3", 41, 69)])
        let first = FigureDay.containing(day(0))
        func values(_ measure: FigureMeasure) -> [String] {
            sums.values.filter { $0.key.measure == measure }
                .map { "\($0.key.product) \($0.key.day - first)/\($0.key.age)=\($0.value)" }.sorted()
        }
        #expect(values(.retained) == ["pro.monthly 0/1=1", "pro.monthly 0/2=1"])
        #expect(values(.cohortRevenue) == ["pro.monthly 0/0=17000000", "pro.monthly 0/1=12000000"])
        #expect(
            values(.active) == ["gold 10/0=1", "gold 69/0=-1", "pro.monthly 0/0=1", "pro.monthly 10/0=-1"])
    }

    @Test func `another currency adds no value of the replaced period`() {
        let other = gold("2", 10, 41) { $0.price = Price(amount: 12, currency: "USD") }
        let money = sums([replaced, other]).values.filter { $0.key.measure == .mrr && $0.key.currency == "USD" }
        #expect(money.values.map(\.clamped).sorted() == [-12_000_000, 12_000_000])
        // A price that is not known has the currency of the replaced period, and its monthly price.
        #expect(lines([replaced, gold("2", 10, 31) { $0.price = nil }]).contains("mrr 0=5000 31=-5000"))
    }

    @Test func `the order of facts does not matter`() {
        let facts = [
            sold("1", of: "a", 0, 31), replaced, gold("2", 10, 18.75, 0), gold("3", 18.75, 49.75),
            sold("4", of: "c", 50, 81) { ($0.replaces, $0.originalPurchaseDate) = ("b", day(49.75)) },
        ]
        let expected = sums(facts)
        for _ in 0..<20 { #expect(sums(facts.shuffled()) == expected) }
    }
}

/// A fact about a subscription at Google Play.
private func sold(
    _ id: TransactionID, of purchase: TransactionID, _ from: Double, _ until: Double, _ amount: Decimal = 5,
    signed: Double? = nil, _ change: (inout TransactionFact) -> Void = { _ in }
) -> TransactionFact {
    var fact = period(id, of: purchase, from: from, to: until, signed: signed)
    (fact.source, fact.groupID, fact.price) = (.googlePlay, nil, Price(amount: amount, currency: "EUR"))
    change(&fact)
    return fact
}

private func sums(_ facts: [TransactionFact]) -> FigureSums {
    var purchases: [TransactionID: CustomerState] = [:]
    for fact in facts { purchases[fact.originalID, default: CustomerState()].apply(fact) }
    return PurchaseFigures.contributions(ofLinked: purchases)
}

private func lines(_ facts: [TransactionFact]) -> [String] { sums(facts).lines }

private func expect(
    _ facts: [TransactionFact], _ expected: [String], _ location: SourceLocation = #_sourceLocation
) {
    #expect(lines(facts).sorted() == expected.sorted(), sourceLocation: location)
}
