import AppStorePayloads
import Foundation
import Testing

@testable import StoreModel

@Suite struct PurchaseHistoryTests {
    private static let start = Date(timeIntervalSince1970: 1_700_000_000)

    private static func day(_ count: Double) -> Date { start.addingTimeInterval(count * 86400) }

    private func period(
        _ id: String, _ product: ProductID = "monthly", from: Double, days: Double = 30,
        change: (inout PurchaseRecord) -> Void = { _ in }
    ) -> PurchaseRecord {
        var record = PurchaseRecord(
            productID: product, transactionID: TransactionID(unchecked: id), kind: .autoRenewableSubscription,
            purchaseDate: Self.day(from), originalPurchaseDate: Self.day(0), expiresDate: Self.day(from + days))
        change(&record)
        return record
    }

    private func purchase(_ id: String, _ product: ProductID, at day: Double, refundedAt: Double? = nil)
        -> PurchaseRecord
    {
        PurchaseRecord(
            productID: product, transactionID: TransactionID(unchecked: id), purchaseDate: Self.day(day),
            refundDate: refundedAt.map { Self.day($0) })
    }

    @Test func `a product is purchased unless it was never bought or was revoked`() {
        let history = PurchaseHistory([
            purchase("1", "kept", at: 0), purchase("2", "returned", at: 0, refundedAt: 3),
            purchase("3", "twice", at: 0, refundedAt: 1), purchase("4", "twice", at: 2),
        ])
        #expect(history.status(of: "kept").state == .purchased)
        #expect(history.status(of: "returned").state == .refunded)
        #expect(history.status(of: "returned").record?.transactionID == "2")
        #expect(history.status(of: "twice").record?.transactionID == "4")
        #expect(history.status(of: "other") == PurchaseStatus(.notPurchased, nil))
        #expect(history.refunds.map(\.transactionID) == ["2", "3"])
        #expect(history.productIDs == ["kept", "returned", "twice"])
    }

    @Test func `a subscription ends with the latest of its renewals, exclusively`() {
        let history = PurchaseHistory([
            period("2", from: 30), period("1", from: 0), period("3", from: 60), period("9", "other", from: 200),
        ])
        let products: Set<ProductID> = ["monthly", "yearly"]
        let running = history.subscription(to: products, at: Self.day(89.999))
        #expect(running.state == .active && running.isActive)
        #expect(running.record?.transactionID == "3")
        #expect(running.expiresDate == Self.day(90))
        let over = history.subscription(to: products, at: Self.day(90))
        #expect(over.state == .expired && !over.isActive)
        #expect(over.expiresDate == Self.day(90))
        #expect(history.subscription(to: ["yearly"], at: Self.day(1)).state == .notPurchased)
    }

    @Test func `refunded and upgraded periods give no access`() {
        let first = period("1", from: 0)
        let refunded = period("2", from: 30) { $0.refundDate = Self.day(31) }
        let afterRefund = PurchaseHistory([first, refunded]).subscription(to: ["monthly"], at: Self.day(40))
        #expect(afterRefund.state == .refunded)
        #expect(afterRefund.record?.transactionID == "2")
        #expect(PurchaseHistory([first, refunded]).subscription(to: ["monthly"], at: Self.day(29)).state == .active)

        let left = period("2", from: 30) { $0.isUpgraded = true }
        let higher = period("3", "yearly", from: 40, days: 365)
        #expect(PurchaseHistory([first, left]).subscription(to: ["monthly"], at: Self.day(45)).state == .upgraded)
        let moved = PurchaseHistory([first, left, higher]).subscription(to: ["monthly", "yearly"], at: Self.day(45))
        #expect(moved.state == .active && moved.record?.productID == "yearly")
    }

    @Test func `a non-renewing subscription lasts for the period that the app passes`() {
        let history = PurchaseHistory([purchase("1", "season", at: 0), purchase("2", "season", at: 10, refundedAt: 11)])
        func status(_ day: Double) -> PurchaseStatus {
            history.nonRenewingSubscription(to: ["season"], lasting: .days(90), at: Self.day(day))
        }
        #expect(status(89).state == .active)
        #expect(status(89).expiresDate == Self.day(90))
        #expect(status(90).isActive == false)
        let restored = PurchaseRecord(
            productID: "season", purchaseDate: Self.day(80), originalPurchaseDate: Self.day(0))
        let after = PurchaseHistory([restored])
            .nonRenewingSubscription(to: ["season"], lasting: .days(90), at: Self.day(100))
        #expect(after.state == .expired, "a restore does not begin a new period")
    }

    @Test func `of several records of one transaction the newest counts, in any order`() {
        let bought = period("1", from: 0) { $0.signedDate = Self.day(0) }
        let refunded = period("1", from: 0) {
            $0.signedDate = Self.day(5)
            $0.refundDate = Self.day(5)
        }
        for records in [[bought, refunded], [refunded, bought]] {
            let history = PurchaseHistory(records)
            #expect(history.records.count == 1)
            #expect(history.subscription(to: ["monthly"], at: Self.day(6)).state == .refunded)
        }
    }

    @Test func `a customer who never had an introductory offer and does not subscribe is eligible for one`() {
        let group: Set<ProductID> = ["monthly", "yearly"]
        let trial = period("1", from: 0) { $0.usedIntroductoryOffer = true }
        #expect(PurchaseHistory([]).isEligibleForIntroductoryOffer(in: group, at: Self.day(0)))
        #expect(!PurchaseHistory([trial]).isEligibleForIntroductoryOffer(in: group, at: Self.day(400)))
        let refunded = period("1", from: 0) {
            $0.usedIntroductoryOffer = true
            $0.refundDate = Self.day(1)
        }
        #expect(!PurchaseHistory([refunded]).isEligibleForIntroductoryOffer(in: group, at: Self.day(400)))
        let plain = PurchaseHistory([period("1", from: 0)])
        #expect(!plain.isEligibleForIntroductoryOffer(in: group, at: Self.day(29)), "subscribes now")
        #expect(plain.isEligibleForIntroductoryOffer(in: group, at: Self.day(30)), "came back")
        let formerly = period("1", "weekly", from: 0) {
            $0.usedIntroductoryOffer = true
            $0.groupID = "21500000"
        }
        #expect(PurchaseHistory([formerly]).isEligibleForIntroductoryOffer(in: group, at: Self.day(400)))
        #expect(
            !PurchaseHistory([formerly])
                .isEligibleForIntroductoryOffer(in: group, groupID: "21500000", at: Self.day(400)))
    }

    @Test func `receipts and transactions give the same record`() throws {
        let purchase = AppReceipt.InAppPurchase(
            quantity: 1, productID: "monthly", transactionID: "2", purchaseDate: Self.day(30),
            originalTransactionID: "1", originalPurchaseDate: Self.day(0), productType: .autoRenewableSubscription,
            expiresDate: Self.day(60), cancellationDate: Self.day(31), isTrialPeriod: true)
        let transaction = JWSTransactionDecodedPayload {
            $0.transactionId = "2"
            $0.originalTransactionId = "1"
            $0.productId = "monthly"
            $0.purchaseDate = Self.day(30)
            $0.originalPurchaseDate = Self.day(0)
            $0.expiresDate = Self.day(60)
            $0.quantity = 1
            $0.type = .autoRenewableSubscription
            $0.signedDate = Self.day(32)
            $0.revocationDate = Self.day(31)
            $0.offerType = .introductory
        }
        let record = try #require(PurchaseRecord(purchase, creationDate: Self.day(32)))
        #expect(record == PurchaseRecord(transaction))
        #expect(record.kind == .autoRenewableSubscription && record.refundDate == Self.day(31))

        var promoted = purchase
        promoted.promotionalOfferID = "three.months"
        #expect(PurchaseRecord(promoted, creationDate: nil)?.usedIntroductoryOffer == false)
        #expect(PurchaseRecord(AppReceipt.InAppPurchase(productID: "a"), creationDate: nil) == nil)
        #expect(PurchaseRecord(JWSTransactionDecodedPayload { $0.purchaseDate = Self.day(0) }) == nil)
        #expect(AppReceipt(inAppPurchases: [purchase, .init()]).purchaseRecords.count == 1)
    }
}
