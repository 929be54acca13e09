import BaseTestSupport
import Foundation
import StoreModel
import Testing

/// The pairs of subscriptions with which a customer pays twice.
@Suite struct DoublePaymentTests {
    private static let map = FeatureMap(features: ["pro": [monthly, yearly], "extra": [yearly]])
    private static let reducer = EntitlementReducer(features: map)

    /// A subscription of a random customer, in the words of the rule.
    private struct Life {
        var fact: TransactionFact
        var renewal: RenewalFact?

        /// The naive rule, without the reducer: the customer will pay again, if a payment that failed succeeds.
        var paysAgain: Bool {
            guard let renewal, renewal.autoRenews == true, renewal.renewsCommitment != false else { return false }
            let isFree = fact.source != .googlePlay && fact.price?.amount == 0 && !fact.isTrial && fact.offerType == nil
            return fact.revocationDate == nil && !fact.isUpgraded && !fact.isFamilyShared && !isFree
        }

        func givesAccess(on number: Double) -> Bool {
            let end = renewal?.gracePeriodExpiresDate ?? fact.expiresDate!
            return fact.revocationDate == nil && !fact.isUpgraded && day(number) < max(end, fact.expiresDate!)
        }

        var features: Set<String> {
            fact.productID == yearly ? ["pro", "extra"] : fact.productID == monthly ? ["pro"] : ["x"]
        }
    }

    private static func life(_ number: Int, _ random: inout SeededNumbers) -> Life {
        func chance(_ part: Int) -> Bool { Int.random(in: 0..<part, using: &random) == 0 }
        let sources: [PurchaseSource] = [.appStore, .googlePlay, .web]
        let id = TransactionID(unchecked: "s\(number)")
        let from = Double(Int.random(in: 0..<20, using: &random))
        let products: [ProductID] = [monthly, monthly, yearly, "x"]
        var fact = period(id, of: id, product: products.randomElement(using: &random)!, from: from, to: from + 30)
        fact.source = sources.randomElement(using: &random)!
        fact.isFamilyShared = chance(6)
        fact.isTrial = chance(4)
        if chance(4) { fact.price = Price(amount: 0, currency: "EUR") }
        if chance(5) { fact.offerType = 3 }
        if chance(6) { fact.revocationDate = day(from + 5) }
        guard !chance(5) else { return Life(fact: fact) }
        var renewal = RenewalFact(originalID: id, autoRenews: !chance(4), renewsTo: monthly, signedDate: day(from))
        if chance(6) { renewal.renewsCommitment = chance(2) }
        if chance(4) { (renewal.gracePeriodExpiresDate, renewal.isInBillingRetry) = (day(from + 40), true) }
        return Life(fact: fact, renewal: renewal)
    }

    @Test(arguments: 1...300)
    func `the pairs and the words of random customers follow the naive rule`(seed: Int) {
        var random = SeededNumbers(state: UInt64(seed))
        let lives = (0..<Int.random(in: 0...5, using: &random)).map { Self.life($0, &random) }
        let state = CustomerState(lives.map(\.fact), renewals: lives.compactMap(\.renewal))
        for number in stride(from: 0.0, to: 70, by: 7) {
            let payers = lives.filter(\.paysAgain)
            var expected: [DoublePayment.Pair: (features: [String], isPresent: Bool)] = [:]
            for (index, one) in payers.enumerated() {
                for other in payers[(index + 1)...] where !one.features.isDisjoint(with: other.features) {
                    expected[.init(one.fact.originalID, other.fact.originalID)] = (
                        one.features.intersection(other.features).sorted(),
                        one.givesAccess(on: number) && other.givesAccess(on: number)
                    )
                }
            }
            let payments = Self.reducer.doublePayments(in: state, at: day(number))
            #expect(payments.map(\.pair) == expected.keys.sorted())
            for payment in payments {
                #expect(payment.features == expected[payment.pair]?.features)
                #expect(payment.isPresent == expected[payment.pair]?.isPresent)
            }
            for feature in answer(state, at: number, map: Self.map).features {
                let isWarned = payments.contains { payment in
                    payment.isPresent && payment.features.contains(feature.name)
                        && [payment.pair.first, payment.pair.second].contains(feature.originalTransactionID)
                }
                #expect(feature.because.contains("subscriptions pay for this") == isWarned)
            }
        }
    }

    @Test func `the same pair in any order is one pair`() {
        #expect(DoublePayment.Pair("2", "1") == DoublePayment.Pair("1", "2"))
        #expect(DoublePayment.Pair("2", "1").first == "1")
    }

    private static let warning = ", but 400 subscriptions pay for this: cancel all but one in the App Store"

    @Test func `a customer with very many subscriptions has a limited number of pairs`() {
        let ids = (0..<400).map { TransactionID(unchecked: "s\($0)") }
        let state = CustomerState(
            ids.map { period($0, of: $0, from: 0, to: 30) },
            renewals: ids.map { renewal(of: $0, renews: true, signed: 0) })
        let payments = Self.reducer.doublePayments(in: state, at: day(1))
        #expect(payments.count == 20 * 19 / 2)
        let because = answer(state, at: 1, map: Self.map).features.map(\.because)
        #expect(because.count == 400 && because.allSatisfy { $0.hasSuffix("renews" + Self.warning) })
    }

    @Test func `a web shop and an unknown source are named`() {
        var (web, other) = (period("w", of: "w", from: 0, to: 30), period("x", of: "x", from: 0, to: 30))
        (web.source, other.source) = (.web, PurchaseSource(rawValue: "kiosk"))
        let state = CustomerState(
            [web, other],
            renewals: [renewal(of: "w", renews: true, signed: 0), renewal(of: "x", renews: true, signed: 0)])
        #expect(
            answer(state, at: 1, map: Self.map).features.allSatisfy {
                $0.because.hasSuffix("cancel one at kiosk or in the web shop")
            })
    }
}
