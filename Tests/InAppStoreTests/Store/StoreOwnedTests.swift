import BaseTestSupport
import Purchases
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

/// Owned purchases are found without a prompt to the customer.
@Suite(.timeLimit(.minutes(2)))
struct StoreOwnedTests {
    private typealias Call = ScriptedReceiptValidator.Call

    private let test = StoreTestContext()
    private let anna: CustomerID = "anna"

    private func owned(_ id: TransactionID, of customer: CustomerID? = nil) -> StoreTransaction {
        ScriptedStoreConnection.transaction(id, "pack", appAccountToken: customer?.appAccountToken)
    }

    private var presented: [Call] {
        test.server.calls.all.filter { if case .validate = $0 { true } else { false } }
    }

    private var lookUps: Int { test.connection.calls.all.count { $0 == .ownedTransactions } }

    private func wait(for call: Call) async { await test.server.calls.wait { $0.contains(call) } }

    /// Waits until the store has recorded that the owned purchases were presented.
    private func waitForPresentation(of customer: CustomerID = "anna") async throws {
        try await until("the record is written") {
            StoreRecords(storage: test.storage).value(
                StoreRecords.Key.owned, of: customer, reportingTo: EventBroadcaster()) == true
        }
    }

    @Test func `a new installation finds earlier purchases without a prompt`()
        async throws
    {
        test.setAnswer(Fixture.customer(purchases: [Fixture.purchase("pack")]))
        test.connection.set(owned: [owned("1"), owned("2", of: anna)])
        let store = try await test.open()
        await wait(for: .validate(["1", "2"], anna))
        try await waitForPresentation()
        #expect(store.allowedProducts == ["pack"])
        #expect(test.connection.finished.isEmpty && !test.connection.calls.all.contains(.restore))
        await store.close()
    }

    @Test func `the owned purchases are looked up once`() async throws {
        test.connection.set(owned: [owned("1")])
        for _ in 1...2 {
            let store = try await test.open()
            try await waitForPresentation()
            try await store.logIn(anna)
            await store.close()
        }
        #expect(lookUps == 1 && presented == [.validate(["1"], anna)])
    }

    @Test func `the owned purchases are looked up again after a login`() async throws {
        test.connection.set(owned: [owned("1", of: anna), owned("2", of: "boris")])
        let store = try await test.open()
        await wait(for: .validate(["1", "2"], anna))
        try await waitForPresentation()
        try await store.logIn("boris")
        try await waitForPresentation(of: "boris")
        #expect(presented == [.validate(["1", "2"], anna), .validate(["2"], "boris")])
        await store.close()
    }

    @Test func `a purchase without a token does not move to the next customer by itself`() async throws {
        test.connection.set(owned: [owned("1")])
        let store = try await test.open(customer: nil)
        let anonymous = store.customer
        try await waitForPresentation(of: anonymous)
        try await store.logIn(anna)
        try await waitForPresentation()
        try await store.logIn("boris")
        try await waitForPresentation(of: "boris")
        #expect(
            presented == [.validate(["1"], anonymous), .validate(["1"], anna)],
            "Only the first customer who logs in may get the anonymous purchase.")
        test.connection.set(restorable: [owned("1")])
        _ = try await store.restorePurchases()
        #expect(presented.last == .validate(["1"], "boris"), "A restore must present it for the current customer.")
        await store.close()
    }

    @Test func `owned purchases that could not be presented are presented at the next launch`() async throws {
        test.connection.set(owned: [owned("1")])
        test.breakServer()
        let first = try await test.open()
        await wait(for: .validate(["1"], anna))
        await first.close()
        test.setAnswer(Fixture.customer(purchases: [Fixture.purchase("pack")]))
        let second = try await test.open()
        try await waitForPresentation()
        #expect(presented == [.validate(["1"], anna), .validate(["1"], anna)])
        await second.close()
    }

    @Test func `a failed look-up is an event, and is repeated at the next launch`() async throws {
        test.connection.before { call in
            guard call == .ownedTransactions else { return }
            throw StoreFailure(code: .unreachable, reason: "No answer.")
        }
        let first = try await test.open()
        var events = first.events.makeAsyncIterator()
        let event = await events.next()
        #expect(event?.code == .restorePurchasesFailed && event?.kind == .nonCriticalError)
        await first.close()
        test.connection.before { _ in }
        let second = try await test.open()
        try await waitForPresentation()
        #expect(lookUps == 2)
        await second.close()
    }

    @Test func `a purchase that the server rejects counts as presented`() async throws {
        test.connection.set(owned: [owned("1")])
        test.server.judge { transactions, customer in
            TransactionValidation(
                customer: Fixture.customer(customer), acknowledged: [],
                rejected: [RejectedTransaction(index: 0, code: "invalidSignature", detail: "No.", retryable: false)])
        }
        let store = try await test.open()
        try await waitForPresentation()
        await store.close()
    }
}
