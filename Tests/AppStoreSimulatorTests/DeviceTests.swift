import BaseTestSupport
import Foundation
import SignedData
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Payments and updates of devices.
struct DeviceTests {
    @Test func `a payment is answered by a signed transaction, which is reported until it is finished`() async throws {
        try await TestStore.with { test in
            let device = try await test.device()
            let token = UUID()
            try await test.store.add(
                Payment(id: "p1", productID: "coins", quantity: 3, appAccountToken: token), from: device)
            let first = try await test.store.updates(for: device, after: nil)
            let update = try #require(first.updates.first)
            #expect(first.updates.count == 1 && update.paymentID == "p1" && update.state == "purchased")
            let transaction = try #require(update.transaction)
            #expect(
                transaction.quantity == 3 && transaction.kind == .consumable && transaction.appAccountToken == token)
            let payload = try test.verifier().transaction(transaction.signedTransaction).payload
            #expect(payload.transactionId == transaction.id.rawValue && payload.quantity == 3)

            #expect(try await test.store.updates(for: device, after: nil) == first)
            #expect(try await test.store.updates(for: device, after: first.cursor).updates.isEmpty)
            let other = try await test.device()
            let elsewhere = try await test.store.updates(for: other, after: nil).updates
            #expect(elsewhere.map(\.transaction?.id) == [transaction.id] && elsewhere.first?.paymentID == nil)

            try await test.store.finish(transaction.id, from: device)
            try await test.store.finish(transaction.id, from: device)
            #expect(try await test.store.updates(for: device, after: nil).updates.isEmpty)
            #expect(try await test.store.updates(for: other, after: nil).updates.isEmpty)
        }
    }

    @Test func `a payment that is repeated concurrently is sold once`() async throws {
        try await TestStore.with { test in
            let device = try await test.device()
            let other = try await test.device()
            let store = test.store
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<40 {
                    group.addTask {
                        try await store.add(
                            Payment(id: "same", productID: "coins"), from: index.isMultiple(of: 2) ? device : other)
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await store.transactions(of: "anna").count == 1)
            let updates = try await store.updates(for: device, after: nil).updates
            #expect(Set(updates.map(\.transaction?.id)).count == 1 && updates.contains { $0.paymentID == "same" })
        }
    }

    @Test func `a finished payment that another device repeats is answered there once`() async throws {
        try await TestStore.with { test in
            let device = try await test.device()
            try await test.store.add(Payment(id: "p", productID: "coins"), from: device)
            let bought = try await test.store.updates(for: device, after: nil)
            let id = try #require(bought.updates.first?.transaction?.id)
            try await test.store.finish(id, from: device)
            let second = try await test.device()
            try await test.store.add(Payment(id: "p", productID: "coins"), from: second)
            let answer = try await test.store.updates(for: second, after: nil).updates
            #expect(answer.map(\.paymentID) == ["p"] && answer.map(\.transaction?.id) == [id])
            let cursor = try await test.store.updates(for: second, after: nil).cursor
            try await test.store.add(Payment(id: "p", productID: "coins"), from: second)
            #expect(try await test.store.updates(for: second, after: cursor).updates.isEmpty)
            #expect(try await test.store.transactions(of: "anna").count == 1)
        }
    }

    @Test func `a failure is reported once, to the device of the payment`() async throws {
        try await TestStore.with { test in
            let device = try await test.device()
            let other = try await test.device()
            try await test.store.add(Payment(id: "p", productID: "nothing"), from: device)
            let answer = try await test.store.updates(for: device, after: nil)
            #expect(answer.updates.map(\.failure?.code) == [.invalidProduct])
            #expect(answer.updates.map(\.productID) == ["nothing"])
            #expect(try await test.store.updates(for: device, after: answer.cursor).updates.isEmpty)
            #expect(try await test.store.updates(for: device, after: nil).updates.isEmpty)
            #expect(try await test.store.updates(for: other, after: nil).updates.isEmpty)
        }
    }

    @Test func `purchases that one device finished are restored on another, except consumables`() async throws {
        try await TestStore.with { test in
            let first = try await test.device()
            for (index, product) in ["coins", "pack", "pass", "monthly.alt"].enumerated() {
                try await test.store.add(
                    Payment(id: PaymentID(unchecked: "p\(index)"), productID: ProductID(unchecked: product)),
                    from: first)
            }
            for update in try await test.store.updates(for: first, after: nil).updates {
                try await test.store.finish(try #require(update.transaction).id, from: first)
            }
            let second = try await test.device()
            #expect(try await test.store.updates(for: second, after: nil).updates.isEmpty)
            let restored = try await test.store.restore(for: second)
            #expect(restored.map(\.productID) == ["pack", "pass", "monthly.alt"])
            let verifier = try test.verifier()
            for transaction in restored {
                #expect(try verifier.transaction(transaction.signedTransaction).payload.bundleId == "com.example.souk")
            }
            #expect(restored.map { $0.signedRenewalInfo == nil } == [true, true, false])
            let stranger = try await test.device("berta")
            #expect(try await test.store.restore(for: stranger).isEmpty)
        }
    }

    @Test func `a restore returns the current period, and no expired subscription`() async throws {
        try await TestStore.with { test in
            let device = try await test.device()
            try await test.buy("monthly.alt")
            try await test.advance(.months(2))
            let current = try #require(try await test.store.restore(for: device).first)
            #expect(current.purchaseDate == Fixtures.date("2026-03-31T10:00:00Z"))
            _ = try await test.store.cancel("monthly.alt", for: "anna")
            let end = try #require(current.expiresDate)
            let left = end.timeIntervalSince(try await test.store.advance(.init(seconds: 0.001)).now)
            try await test.store.advance(.init(seconds: left - 0.001))
            #expect(try await test.store.restore(for: device).map(\.id) == [current.id])
            _ = try await test.store.advance(.init(seconds: 0.001))
            #expect(test.store.clock.now() == end)
            #expect(try await test.store.restore(for: device).isEmpty)
        }
    }

    @Test func `an account finishes only its own transactions`() async throws {
        try await TestStore.with { test in
            let bought = try await test.buy("coins", "anna")
            let stranger = try await test.device("berta")
            for id in [bought.transactionID, "17", "no number"] {
                await #expect(throws: SimulatorError(.unknownTransaction, "")) {
                    try await test.store.finish(id, from: stranger)
                }
            }
            let device = try await test.device("anna")
            #expect(try await test.store.updates(for: device, after: nil).updates.count == 1)
        }
    }

    @Test func `unknown devices and accounts are refused`() async throws {
        try await TestStore.with { test in
            await #expect(throws: SimulatorError(.unknownAccount, "")) { try await test.store.signIn(account: "x") }
            await #expect(throws: SimulatorError(.unknownDevice, "")) {
                try await test.store.updates(for: "x", after: nil)
            }
            await #expect(throws: SimulatorError(.unknownDevice, "")) {
                try await test.store.add(Payment(id: "p", productID: "coins"), from: "x")
            }
            try await test.store.createAccount("anna")
            await #expect(throws: SimulatorError(.accountExists, "")) { try await test.store.createAccount("anna") }
        }
    }

    @Test func `updates that exceed one answer are in several answers, each update once`() async throws {
        try await TestStore.with { test in
            let device = try await test.device()
            try await test.buy("weekly")
            try await test.advance(.years(5))
            var seen: [TransactionID] = []
            var cursor: String?
            while true {
                let answer = try await test.store.updates(for: device, after: cursor)
                if answer.updates.isEmpty { break }
                #expect(answer.updates.count <= SimulatedAppStore.updateLimit)
                seen += answer.updates.compactMap(\.transaction?.id)
                cursor = answer.cursor
            }
            #expect(seen == (try await test.store.transactions(of: "anna").map(\.transactionID)))
            #expect(seen.count == 261)
        }
    }
}
