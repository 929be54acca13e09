import AppStorePayloads
import BaseTestSupport
import Foundation
import StoreModel
import Testing

/// Returns what an app receipt of day `made` says about the transaction of `fact`.
private func receipt(
    _ fact: TransactionFact, made: Double, cancelled: Double? = nil, to end: Double? = nil
) throws -> TransactionFact {
    let purchase = AppReceipt.InAppPurchase(
        quantity: fact.quantity, productID: fact.productID, transactionID: fact.id, purchaseDate: fact.purchaseDate,
        originalTransactionID: fact.originalID, originalPurchaseDate: fact.originalPurchaseDate,
        productType: fact.kind == .autoRenewableSubscription ? .autoRenewableSubscription : .nonConsumable,
        expiresDate: end.map(day) ?? fact.expiresDate, cancellationDate: cancelled.map(day))
    return try TransactionFact(
        purchase, creationDate: day(made), digest: Array("\(fact.id)/\(made)/\(cancelled ?? -1)".utf8))
}

@Suite struct ReceiptFactTests {
    private let whole = AppReceipt.InAppPurchase(
        quantity: 2, productID: "pro", transactionID: "2", purchaseDate: day(1), originalTransactionID: "1",
        originalPurchaseDate: day(0), productType: .autoRenewableSubscription, expiresDate: day(31),
        cancellationDate: day(9), isTrialPeriod: true, isInIntroOfferPeriod: true)

    @Test func `a purchase in a receipt becomes a fact`() throws {
        let fact = try TransactionFact(whole, creationDate: day(2), digest: [7])
        #expect(fact.id == "2" && fact.originalID == "1" && fact.productID == "pro" && fact.quantity == 2)
        #expect(fact.kind == .autoRenewableSubscription && fact.isTrial && !fact.isIntroductory)
        #expect(fact.purchaseDate == day(1) && fact.originalPurchaseDate == day(0) && fact.expiresDate == day(31))
        #expect(fact.revocationDate == day(9) && fact.signedDate == day(2) && fact.isFromReceipt)
        var paid = whole
        paid.isTrialPeriod = false
        #expect(try TransactionFact(paid, creationDate: day(2), digest: []).isIntroductory)
    }

    @Test func `a purchase of unknown kind is a subscription if it has an end`() throws {
        var untyped = whole
        untyped.productType = nil
        #expect(try TransactionFact(untyped, creationDate: day(2), digest: []).kind == .autoRenewableSubscription)
        untyped.expiresDate = nil
        #expect(try TransactionFact(untyped, creationDate: day(2), digest: []).kind == .nonConsumable)
        untyped.originalTransactionID = nil
        #expect(try TransactionFact(untyped, creationDate: day(2), digest: []).originalID == "2")
    }

    @Test func `a missing or invalid member is named`() {
        let without: [(String, (inout AppReceipt.InAppPurchase) -> Void)] = [
            ("/transactionID", { $0.transactionID = nil }), ("/productID", { $0.productID = nil }),
            ("/purchaseDate", { $0.purchaseDate = nil }), ("/expiresDate", { $0.expiresDate = nil }),
            ("/quantity", { $0.quantity = 0 }), ("/quantity", { $0.quantity = 1_000_001 }),
        ]
        for (pointer, remove) in without {
            var purchase = whole
            remove(&purchase)
            let error = #expect(throws: AppStorePayloadError.self) {
                try TransactionFact(purchase, creationDate: day(2), digest: [])
            }
            #expect(error?.pointer == pointer)
        }
    }
}

/// Merges signed transactions and receipts about the same transaction.
@Suite struct ReceiptMergeTests {
    private let signed = period("1", from: 0, to: 30)

    /// Returns the merged state, which must not depend on the order of the facts.
    private func merged(_ facts: TransactionFact..., at instant: Double) -> CustomerSubscription? {
        let state = CustomerState(facts)
        #expect(state == CustomerState(facts.reversed()) && state == CustomerState(facts + facts))
        #expect(state == CustomerState(Array(facts.dropFirst()) + [facts[0]]))
        return answer(state, at: instant).subscriptions.first
    }

    @Test func `a receipt without signed transactions gives its periods`() throws {
        let first = try receipt(signed, made: 1)
        let second = try receipt(period("2", from: 30, to: 60), made: 31)
        let status = try #require(merged(first, second, at: 40))
        #expect(status.state == .active && status.expiresAt == day(60) && status.groupID == nil)
    }

    @Test func `a signed transaction has priority even over a newer receipt`() throws {
        let later = try receipt(signed, made: 20, to: 25)
        let status = try #require(merged(signed, later, at: 27))
        #expect(status.state == .active && status.expiresAt == day(30))
        #expect(status.price != nil && status.groupID == "group")
    }

    @Test func `a receipt that is not older revokes a purchase`() throws {
        #expect(merged(signed, try receipt(signed, made: 9, cancelled: 8), at: 10)?.state == .revoked)
        #expect(merged(signed, try receipt(signed, made: 0, cancelled: 0), at: 10)?.state == .revoked)
        #expect(merged(signed, try receipt(signed, made: 9, cancelled: 8), at: 10)?.price != nil)
    }

    @Test func `an older receipt revokes nothing`() throws {
        let reversed = period("1", from: 0, to: 30, signed: 12)
        #expect(merged(reversed, try receipt(signed, made: 9, cancelled: 8), at: 13)?.state == .active)
    }

    @Test func `of several receipts the newest decides about the revocation`() throws {
        let cancelled = try receipt(signed, made: 9, cancelled: 8)
        let restored = try receipt(signed, made: 12)
        #expect(merged(cancelled, restored, at: 13)?.state == .active)
        #expect(merged(signed, cancelled, restored, at: 13)?.state == .active)
        #expect(merged(signed, restored, try receipt(signed, made: 14, cancelled: 13), at: 15)?.state == .revoked)
    }

    @Test func `a receipt without a revocation does not undo a signed revocation`() throws {
        let refunded = period("1", from: 0, to: 30, signed: 9, revoked: 8)
        #expect(merged(refunded, try receipt(signed, made: 20), at: 21)?.state == .revoked)
    }

    @Test func `an upgrade remains an upgrade, even if a receipt shows it as a refund`() throws {
        let upgraded = period("1", from: 0, to: 30, signed: 10, isUpgraded: true)
        let cancelled = try receipt(signed, made: 11, cancelled: 10)
        #expect(merged(upgraded, cancelled, at: 12)?.state == .expired)
    }

    @Test func `a period that only a receipt has is counted`() throws {
        let next = try receipt(period("2", from: 30, to: 60), made: 31)
        #expect(merged(signed, next, at: 40)?.expiresAt == day(60))
    }

    @Test func `any order of signed transactions and receipts gives the same state`() throws {
        var numbers = SeededNumbers(state: 7)
        var facts: [TransactionFact] = []
        for signedOn in 0..<6 {
            let revoked = signedOn % 3 == 1 ? Double(signedOn) : nil
            facts.append(
                period("1", from: 0, to: 30, signed: Double(signedOn), revoked: revoked, isUpgraded: signedOn == 4))
            facts.append(try receipt(signed, made: Double(signedOn), cancelled: signedOn % 2 == 0 ? 1 : nil))
        }
        for _ in 0..<200 {
            let some = facts.shuffled(using: &numbers).prefix(Int.random(in: 1...facts.count, using: &numbers))
            let state = CustomerState(Array(some))
            #expect(CustomerState(some.shuffled(using: &numbers) + some.shuffled(using: &numbers)) == state)
        }
    }
}
