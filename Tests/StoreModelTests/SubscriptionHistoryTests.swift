import Foundation
import StoreModel
import Testing

/// The past of a subscription, on which retention messages depend.
struct SubscriptionHistoryTests {
    private func history(_ facts: TransactionFact..., of original: TransactionID = "1") -> SubscriptionHistory? {
        var state = CustomerState()
        for fact in facts { state.apply(fact) }
        return SubscriptionHistory(of: original, in: state)
    }

    private func changed(_ fact: TransactionFact, _ change: (inout TransactionFact) -> Void) -> TransactionFact {
        var fact = fact
        change(&fact)
        return fact
    }

    @Test func `a purchase without a subscription period has no history`() {
        #expect(history() == nil)
        #expect(history(purchase("1", at: 3)) == nil)
        #expect(history(period("2", of: "2", from: 0, to: 30)) == nil)
        #expect(history(changed(period("1", from: 0, to: 30)) { $0.source = .web }) == nil)
    }

    @Test func `trials, free and refunded periods and those of the family are not paid`() {
        let paid = history(
            period("1", from: 0, to: 7, isTrial: true), period("2", from: 7, to: 37), period("3", from: 37, to: 67),
            period("4", from: 67, to: 97, signed: 68, revoked: 68),
            changed(period("5", from: 97, to: 127)) { $0.price = Price(amount: 0, currency: "EUR") },
            changed(period("6", from: 127, to: 157)) { $0.isFamilyShared = true },
            period("7", from: 157, to: 187, signed: 158, revoked: 158, isUpgraded: true),
            changed(period("8", from: 187, to: 217)) { $0.price = nil })
        #expect(paid?.paidPeriods == 4)
        #expect(paid?.startedAt == day(0))
        let seats = history(
            period("1", from: 0, to: 30), changed(period("2", from: 9, to: 30)) { $0.sharesPeriod = true })
        #expect(seats?.paidPeriods == 1)
    }

    @Test func `the newest fact about a period counts, in any order`() {
        let bought = period("1", from: 0, to: 30)
        let refunded = period("1", from: 0, to: 30, signed: 5, revoked: 5)
        let restored = period("1", from: 0, to: 30, signed: 6)
        #expect(history(bought, refunded)?.paidPeriods == 0 && history(refunded, bought)?.paidPeriods == 0)
        #expect(history(restored, bought, refunded)?.paidPeriods == 1)
    }

    @Test func `an offer was used if a period was sold with it, refunded or not`() {
        let plain = history(period("1", from: 0, to: 30))
        #expect(plain?.hasUsedIntroductoryOffer == false && plain?.hasUsedPromotionalOffer == false)
        for (type, introductory, promotional) in [
            (1, true, false), (2, false, true), (3, false, false), (9, false, false),
        ] {
            let offer = history(
                changed(period("1", from: 0, to: 30, revoked: 3, isTrial: true)) { $0.offerType = type },
                period("2", from: 30, to: 60))
            #expect(offer?.hasUsedIntroductoryOffer == introductory, "\(type)")
            #expect(offer?.hasUsedPromotionalOffer == promotional, "\(type)")
        }
        #expect(history(period("1", from: 0, to: 7, isTrial: true))?.hasUsedIntroductoryOffer == true)
    }

    @Test func `the days are whole days since the first purchase`() {
        let known = history(period("2", from: 30, to: 60), period("1", from: 0, to: 30))
        #expect(known?.days(at: day(0.99)) == 0 && known?.days(at: day(1)) == 1 && known?.days(at: day(-5)) == 0)
        #expect(known?.days(at: day(1e15)) == 1_000_000_000)
        #expect(known?.days(at: Date(timeIntervalSince1970: .infinity)) == 1_000_000_000)
        #expect(known?.days(at: Date(timeIntervalSince1970: .nan)) == 0)
    }
}
