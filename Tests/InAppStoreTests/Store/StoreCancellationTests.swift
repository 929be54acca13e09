import BaseTestSupport
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

/// A cancelled caller gets `operationCancelled`, and its operation ends as if no caller had waited.
@Suite(.timeLimit(.minutes(2)))
struct StoreCancellationTests {
    private let test = StoreTestContext()

    /// Cancels `action` when it waits, and expects `operationCancelled`.
    private func cancel(
        _ action: @escaping @Sendable () async throws -> Void, once waits: () async -> Void,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let task = Task { try await action() }
        await waits()
        task.cancel()
        await #expect(throws: PurchaseError(.operationCancelled, ""), sourceLocation: sourceLocation) {
            try await task.value
        }
    }

    private func suspendCalls(where isSuspended: @escaping @Sendable (ScriptedStoreConnection.Call) -> Bool) -> Gate {
        let gate = Gate()
        test.connection.before { call in if isSuspended(call) { try await gate.pass() } }
        return gate
    }

    private func isPayment(_ call: ScriptedStoreConnection.Call) -> Bool {
        if case .pay = call { true } else { false }
    }

    @Test(arguments: [1, 3])
    func `a purchase that is paid after its caller was cancelled is delivered and completed`(quantity: Int) async throws
    {
        let store = try await test.open()
        let paid = Gate()
        test.connection.whenPaying { payment, store in
            Task {
                try await paid.pass()
                store.sell(payment)
            }
        }
        await cancel {
            if quantity == 1 { return try await store.purchaseProduct("pack") }
            try await store.purchaseConsumableProduct("coins", quantity: quantity)
        } once: {
            await test.connection.calls.wait { [isPayment] in $0.contains(where: isPayment) }
        }
        var completed = store.completedTransactions.makeAsyncIterator()
        test.setAnswer(Fixture.customer(purchases: [Fixture.purchase("pack")]))
        paid.open()
        #expect(await completed.next()?.quantity == quantity)
        #expect(store.purchasedProducts == ["pack"])
        await store.close()
        #expect(test.connection.finished.count == 1)
    }

    @Test func `a purchase that is cancelled before its payment buys nothing`() async throws {
        let store = try await test.open()
        let purchase = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await store.purchaseProduct("pack")
        }
        await #expect(throws: PurchaseError(.operationCancelled, "")) { try await purchase.value }
        #expect(test.connection.payments.isEmpty)
        await store.close()
    }

    @Test func `a purchase whose caller is cancelled during the validation is acknowledged`()
        async throws
    {
        let store = try await test.open()
        let mayJudge = Gate()
        test.server.judge { transactions, customer in
            try await mayJudge.pass()
            return TransactionValidation(
                customer: Fixture.customer(customer, purchases: [Fixture.purchase("pack")]),
                acknowledged: Set(transactions.map(\.id)))
        }
        await cancel {
            try await store.purchaseProduct("pack")
        } once: {
            await test.server.calls.wait { $0.contains { if case .validate = $0 { true } else { false } } }
        }
        #expect(test.connection.finished.isEmpty)
        mayJudge.open()
        #expect(await store.reaches { $0.allowedProducts == ["pack"] } != nil)
        await test.connection.calls.wait { $0.contains { if case .finish = $0 { true } else { false } } }
        await store.close()
    }

    @Test(arguments: ["refreshReceipt", "restorePurchases"])
    func `a cancelled restore does not ask the server`(name: String) async throws {
        let store = try await test.open()
        _ = suspendCalls { $0 == .restore }
        let asked = test.server.calls.all.count
        await cancel {
            if name == "refreshReceipt" { return try await store.refreshReceipt() }
            try await store.restorePurchases()
        } once: {
            await test.connection.calls.wait { $0.contains(.restore) }
        }
        await store.close()
        #expect(test.server.calls.all.count == asked)
    }

    @Test func `a cancelled validation changes nothing, and the next one succeeds`() async throws {
        test.setAnswer(Fixture.customer(purchases: [Fixture.purchase("pack")]))
        let store = try await test.open()
        let before = store.snapshot
        test.server.answer { _ in
            try await Gate().pass()
            return Fixture.customer()
        }
        let asked = test.server.calls.all.count
        await cancel {
            try await store.validateReceipt()
        } once: {
            await test.server.calls.wait { $0.count > asked }
        }
        var after = store.snapshot
        after.appStoreLocale = before.appStoreLocale
        #expect(after == before)
        test.setAnswer(Fixture.customer())
        try await store.validateReceipt()
        #expect(store.purchasedProducts == [])
        await store.close()
    }

    @Test func `a transaction whose validation is cancelled stays unfinished, and is acknowledged later`()
        async throws
    {
        let store = try await test.open()
        test.breakServer()
        await #expect(throws: PurchaseError(.acknowledgementPending, "")) { try await store.purchaseProduct("pack") }
        let id = try #require(test.connection.unfinished.first?.id)
        let mayJudge = Gate()
        test.server.judge { transactions, customer in
            try await mayJudge.pass()
            return TransactionValidation(
                customer: Fixture.customer(customer), acknowledged: Set(transactions.map(\.id)))
        }
        let asked = test.server.calls.all.count
        await cancel {
            try await store.validateTransaction(id.rawValue)
        } once: {
            await test.server.calls.wait { $0.count > asked }
        }
        mayJudge.open()
        await test.connection.calls.wait { $0.contains(.finish(id)) }
        await store.close()
    }

    @Test func `a cancelled request for products does not affect other requests`() async throws {
        let gate = suspendCalls { if case .products = $0 { true } else { false } }
        let store = try await test.open()
        let other = Task { try await store.productList().count }
        await cancel {
            _ = try await store.fetchProductsInfo(["pack"])
        } once: {
            await test.connection.calls.wait { $0.contains { if case .products = $0 { true } else { false } } }
        }
        gate.open()
        #expect(try await other.value == 4)
        await store.close()
    }
}
