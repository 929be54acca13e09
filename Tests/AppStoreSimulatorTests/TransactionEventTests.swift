import Foundation
import SignedData
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Events of single transactions in a store.
@Suite(.timeLimit(.minutes(2)))
struct TransactionEventTests {
    @Test func `a refund is reported to every device, and its reversal delivers again`() async throws {
        try await TestStore.withScript { test in
            let phone = try await Listener(test)
            let tablet = try await Listener(test)
            let bought = try await test.buy("pack")
            for listener in [phone, tablet] { _ = try await listener.receive() }
            try await phone.finish(bought.transactionID)
            let refunded = try await test.store.refund(
                bought.transactionID, .init(reason: .appIssue, percentage: 12.3456))
            #expect(refunded.state == "revoked" && refunded.revocationDate != nil)
            let payload = try test.payload(refunded.signedTransaction)
            #expect(payload.revocationType?.rawValue == "REFUND_PRORATED" && payload.revocationPercentage == 12346)
            #expect(payload.revocationReason?.rawValue == 1)
            for listener in [phone, tablet] {
                let reported = try await listener.receive()
                #expect(reported.map(\.state) == ["revoked"] && reported.first?.transaction?.id == bought.transactionID)
                #expect(reported.first?.transaction?.revocationDate == refunded.revocationDate)
            }
            #expect(try await test.store.restore(for: phone.device).isEmpty)
            await test.fails(.alreadyRevoked) { try await test.store.refund(bought.transactionID) }
            await test.fails(.alreadyRevoked) { try await test.store.revoke(bought.transactionID) }

            let back = try await test.store.reverseRefund(bought.transactionID)
            #expect(back.state == "purchased" && back.revocationDate == nil)
            for listener in [phone, tablet] {
                let reported = try await listener.receive()
                #expect(reported.map(\.state) == ["purchased"] && reported.first?.transaction?.revocationDate == nil)
                let signed = try test.payload(reported.first?.transaction?.signedTransaction)
                #expect(try #require(signed.signedDate) > #require(payload.signedDate))
            }
            #expect(
                try await test.store.unfinishedTransactions(of: "anna").map(\.transactionID) == [bought.transactionID])
            #expect(try await test.store.restore(for: phone.device).map(\.id) == [bought.transactionID])
            await test.fails(.notRefunded) { try await test.store.reverseRefund(bought.transactionID) }
            try await test.store.refund(bought.transactionID)
            let again = try await test.buy("pack")
            #expect(again.transactionID != bought.transactionID)
        }
    }

    @Test func `a refunded subscription ends at once, and continues as before after the refund is reversed`()
        async throws
    {
        try await TestStore.withScript { test in
            let phone = try await Listener(test)
            let bought = try await test.buy("plain")
            try await phone.finish(bought.transactionID)
            _ = try await phone.receive()
            let before = try await test.subscription()
            let refunded = try await test.store.refund(bought.transactionID)
            #expect(try test.payload(refunded.signedTransaction).revocationType?.rawValue == "REFUND_FULL")
            let ended = try await test.subscription()
            #expect(ended.status == .revoked && ended.revokedAt == refunded.revocationDate && !ended.autoRenews)
            #expect(try await test.store.restore(for: phone.device).isEmpty)
            #expect(Set(try await phone.receive().map(\.state)) == ["renewalChanged", "revoked"])
            try await test.advance(.weeks(1))
            try await test.store.reverseRefund(bought.transactionID)
            let restored = try await test.subscription()
            #expect(restored.status == .active && restored.expiresAt == before.expiresAt && restored.autoRenews)
            let reported = try await phone.receive()
            #expect(reported.contains { $0.state == "purchased" && $0.transaction?.id == bought.transactionID })
            try await test.advance(to: "03-01")
            #expect(try await test.store.transactions(of: "anna").count == 2)
        }
    }

    @Test func `a revocation without a refund cannot be reversed`() async throws {
        try await TestStore.withScript { test in
            let bought = try await test.buy("plain")
            let revoked = try await test.store.revoke(bought.transactionID)
            let payload = try test.payload(revoked.signedTransaction)
            #expect(payload.revocationType?.rawValue == "FAMILY_REVOKE" && payload.revocationReason == nil)
            await test.fails(.notRefunded) { try await test.store.reverseRefund(bought.transactionID) }
        }
    }

    @Test func `an unknown transaction and an invalid refund are refused`() async throws {
        try await TestStore.withScript { test in
            let bought = try await test.buy("coins")
            for id: TransactionID in ["x", "1", "-5", "200000000009000000"] {
                await test.fails(.unknownTransaction) { try await test.store.refund(id) }
                await test.fails(.unknownTransaction) { try await test.store.reverseRefund(id) }
                await test.fails(.unknownTransaction) { try await test.store.revoke(id) }
                await test.fails(.unknownTransaction) { try await test.store.answerAskToBuy(id, .approve) }
                await test.fails(.unknownTransaction) { try await test.store.resolveInterruption(id) }
            }
            // The id of the next period does not exist before the period is sold.
            let subscription = try await test.buy("plain")
            let next = TransactionID(unchecked: "\((subscription.transactionID.number ?? 0) + 1)")
            await test.fails(.unknownTransaction) { try await test.store.refund(next) }
            for percentage in [0, -1, 100.5, .nan, .infinity] {
                await test.fails(.invalidValue) {
                    try await test.store.refund(bought.transactionID, .init(percentage: percentage))
                }
            }
            await test.fails(.notPending) { try await test.store.answerAskToBuy(bought.transactionID, .approve) }
        }
    }

    @Test func `a share is lost and returns with its owner's purchase, and can be revoked alone`() async throws {
        try await TestStore.withScript { test in
            let bought = try await test.buy("pack")
            let plan = try await test.buy("plain")
            let member = try await Listener(test, "bob")
            try await test.store.createFamily("home", organizer: "anna")
            try await test.store.join("home", "bob")
            let ids = try await test.store.transactions(of: "bob").map(\.transactionID)
            #expect(ids.count == 2)
            for id in ids { try await member.finish(id) }
            _ = try await member.receive()
            #expect(Set(try await test.store.restore(for: member.device).map(\.id)) == Set(ids))
            #expect(try await test.subscription("bob").sharedBy == "anna")
            await test.fails(.notNow) { try await test.store.refund(ids[0]) }
            await test.fails(.unknownSubscription) { try await test.store.cancel("plain", for: "bob") }

            for id in [bought.transactionID, plan.transactionID] { try await test.store.refund(id) }
            let lost = try await member.receive()
            #expect(Set(lost.filter { $0.state == "revoked" }.compactMap(\.transaction?.id)) == Set(ids))
            #expect(try await test.store.restore(for: member.device).isEmpty)
            for id in [bought.transactionID, plan.transactionID] { try await test.store.reverseRefund(id) }
            let back = try await member.receive()
            #expect(Set(back.filter { $0.state == "purchased" }.compactMap(\.transaction?.id)) == Set(ids))
            #expect(try await test.store.restore(for: member.device).count == 2)

            for id in ids { try await test.store.revoke(id) }
            #expect(try await test.store.restore(for: member.device).isEmpty)
            #expect(try await test.subscription("bob").status == .revoked)
            #expect(try await test.subscription("anna").status == .active)
        }
    }

    @Test func `unfinished transactions are those that no device has finished, oldest first`() async throws {
        try await TestStore.withScript { test in
            let phone = try await Listener(test)
            let coins = try await test.buy("coins")
            let plain = try await test.buy("plain")
            try await test.advance(to: "03-01")
            let ids = try await test.store.unfinishedTransactions(of: "anna").map(\.transactionID)
            #expect(ids.count == 3 && ids.prefix(2) == [coins.transactionID, plain.transactionID])
            for id in ids.prefix(2) { try await phone.finish(id) }
            #expect(
                try await test.store.unfinishedTransactions(of: "anna").map(\.transactionID) == Array(ids.suffix(1)))
            await test.fails(.unknownAccount) { try await test.store.unfinishedTransactions(of: "nobody") }
        }
    }
}
