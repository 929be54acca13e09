import BaseTestSupport
import Foundation
import Primitives
import Purchases
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

/// The owner of a purchase after the customer of a device changes.
@Suite(.timeLimit(.minutes(2)))
struct StoreCustomerChangeTests {
    private let test = StoreTestContext()
    private let anna: CustomerID = "anna"
    private let boris: CustomerID = "boris"

    private typealias Call = ScriptedReceiptValidator.Call

    private var presented: [Call] { test.server.calls.all.filter(Self.isPresentation) }

    private static func isPresentation(_ call: Call) -> Bool {
        if case .validate = call { true } else { false }
    }

    private func waitForPresentations(_ count: Int) async {
        await test.server.calls.wait { $0.filter(Self.isPresentation).count >= count }
    }

    private func waitForFinished(_ count: Int) async {
        await test.connection.calls.wait { $0.filter { if case .finish = $0 { true } else { false } }.count >= count }
    }

    /// Returns a transaction of the store, with the token of its customer or without one.
    private func transaction(_ id: TransactionID, of customer: CustomerID?) -> StoreTransaction {
        ScriptedStoreConnection.transaction(id, "pack", appAccountToken: customer?.appAccountToken)
    }

    private func report(_ transaction: StoreTransaction) {
        test.connection.send(
            StoreUpdate(productID: transaction.productID, state: .purchased(transaction, alreadyOwned: false)))
    }

    /// Prepares a device on which `customer` was logged in during an earlier run.
    private func rememberCustomer(_ customer: CustomerID) throws {
        try test.storage.set(try WireJSON.encode([customer.appAccountToken]), for: "customersOfThisDevice")
    }

    /// Makes the server reject transactions that another customer than `owner` presents.
    private func serve(only owner: CustomerID) {
        test.server.judge { transactions, customer in
            guard customer != owner else {
                return TransactionValidation(
                    customer: Fixture.customer(customer), acknowledged: Set(transactions.map(\.id)))
            }
            return TransactionValidation(
                customer: Fixture.customer(customer), acknowledged: [],
                rejected: transactions.indices.map {
                    RejectedTransaction(index: $0, code: "boundToAnotherCustomer", detail: "No.", retryable: false)
                })
        }
    }

    private func refusal(of transaction: TransactionID, by store: Store) async -> PurchaseError.Code? {
        do {
            try await store.validateTransaction(transaction.rawValue)
            return nil
        } catch {
            return (error as? PurchaseError)?.code
        }
    }

    @Test func `an unacknowledged purchase is not presented for the next customer`() async throws {
        test.breakServer()
        let store = try await test.open(customer: anna)
        await #expect(throws: PurchaseError(.acknowledgementPending, "")) { try await store.purchaseProduct("pack") }
        let bought = try #require(test.connection.unfinished.first)

        try await store.logOut()
        test.setAnswer(Fixture.customer())
        try await store.logIn(boris)
        await #expect {
            try await store.validateTransaction(bought.id.rawValue)
        } throws: { error in
            (error as? PurchaseError)?.code == .acknowledgementPending && "\(error)".contains("another customer")
        }
        #expect(!presented.contains(.validate([bought.id], boris)))
        #expect(test.connection.finished.isEmpty)

        try await store.logIn(anna)
        await waitForFinished(1)
        #expect(presented.last == .validate([bought.id], anna))
        await store.close()
        #expect(test.connection.finished == [bought.id])
        #expect(
            presented.filter { $0 == .validate([bought.id], anna) }.count == 2,
            "The purchase must be presented before and after the login of boris.")
    }

    @Test func `a renewal that arrives for another customer waits for that customer, and is reported`() async throws {
        try rememberCustomer(anna)
        let store = try await test.open(customer: boris)
        var events = store.events.makeAsyncIterator()
        var completed = store.completedTransactions.makeAsyncIterator()
        report(transaction("7", of: anna))
        let event = await events.next()
        #expect(event?.kind == .nonCriticalError)
        #expect(event?.transactionID == "7")
        report(transaction("8", of: nil))
        #expect(await completed.next()?.id == "8")
        #expect(
            presented == [.validate(["8"], boris)],
            "A transaction without a token must be presented for the current customer.")

        try await store.logIn(anna)
        #expect(await completed.next()?.id == "7")
        await waitForFinished(2)
        await store.close()
        #expect(presented == [.validate(["8"], boris), .validate(["7"], anna)])
    }

    @Test func `a waiting transaction waits through logins of other customers`() async throws {
        try rememberCustomer(anna)
        let store = try await test.open(customer: boris)
        var events = store.events.makeAsyncIterator()
        report(transaction("7", of: anna))
        _ = await events.next()
        for customer in ["carla", "dmitri", "boris"] as [CustomerID] {
            try await store.logIn(customer)
            #expect(await events.next()?.transactionID == "7")
        }
        try await store.logOut()
        #expect(await events.next()?.transactionID == "7")
        #expect(presented.isEmpty)
        try await store.logIn(anna)
        await waitForFinished(1)
        await store.close()
        #expect(presented == [.validate(["7"], anna)])
    }

    @Test func `a login presents waiting transactions also if the request for the customer fails`() async throws {
        try rememberCustomer(anna)
        let store = try await test.open(customer: boris)
        var events = store.events.makeAsyncIterator()
        report(transaction("7", of: anna))
        _ = await events.next()
        test.server.answer { _ in throw PurchaseError(.unreachable) }
        test.server.judge { transactions, customer in
            TransactionValidation(
                customer: Fixture.customer(customer, purchases: [Fixture.purchase("pack")]),
                acknowledged: Set(transactions.map(\.id)))
        }
        await #expect(throws: PurchaseError(.receiptValidationFailed, "")) { try await store.logIn(anna) }
        await waitForFinished(1)
        #expect(store.purchasedProducts == ["pack"])
        await store.close()
    }

    @Test func `a restore omits and reports another customer's purchases`() async throws {
        try rememberCustomer(anna)
        test.setAnswer(Fixture.customer())
        let store = try await test.open(customer: boris)
        var events = store.events.makeAsyncIterator()
        let (hers, his) = (
            ScriptedStoreConnection.transaction("1", "pro.monthly", appAccountToken: anna.appAccountToken),
            ScriptedStoreConnection.transaction("2", "pack", appAccountToken: boris.appAccountToken)
        )
        test.connection.set(restorable: [hers, his])
        let result = try await store.restorePurchases()
        #expect(result.restored == ["pack"])
        #expect(!result.nothingToRestore)
        #expect(presented == [.validate(["2"], boris)])
        #expect(await events.next()?.transactionID == "1")

        test.connection.set(restorable: [hers])
        #expect(try await store.restorePurchases().nothingToRestore, "boris has no purchase to restore.")
        try await store.logIn(anna)
        #expect(try await store.restorePurchases().restored == ["pro.monthly"])
        await store.close()
    }

    @Test func `the server decides about a token that no customer of this device has`() async throws {
        let store = try await test.open(customer: boris)
        report(transaction("7", of: anna))
        await waitForPresentations(1)
        await store.close()
        #expect(presented == [.validate(["7"], boris)])
    }

    @Test func `the customers of the device are stored for the next run`() async throws {
        test.server.answer { Fixture.customer($0) }
        let store = try await test.open(customer: anna)
        try await store.logIn(boris)
        await store.close()
        let kept = try #require(try test.storage.data(for: "customersOfThisDevice"))
        #expect(try WireJSON.decode([UUID].self, from: kept) == [anna.appAccountToken, boris.appAccountToken])
    }

    @Test func `a transaction that is refused for one customer is presented for the next`() async throws {
        serve(only: anna)
        let store = try await test.open(customer: boris)
        var events = store.events.makeAsyncIterator()
        report(transaction("7", of: nil))
        #expect(await events.next()?.kind == .criticalError)
        #expect(test.connection.finished.isEmpty)
        try await store.logIn(anna)
        await waitForFinished(1)
        await store.close()
        #expect(presented == [.validate(["7"], boris), .validate(["7"], anna)])
        #expect(test.connection.finished == ["7"])
    }

    @Test func `a refused transaction can be validated again`() async throws {
        serve(only: anna)
        let store = try await test.open(customer: boris)
        await #expect(throws: PurchaseError(.purchaseFailed, "")) { try await store.purchaseProduct("coins") }
        let id = try #require(test.connection.unfinished.first?.id)
        await #expect(throws: PurchaseError(.receiptValidationFailed, "")) {
            try await store.validateTransaction(id.rawValue)
        }
        serve(only: boris)
        try await store.validateTransaction(id.rawValue)
        await waitForFinished(1)
        await store.close()
        #expect(test.connection.finished == [id])
    }

    @Test func `a transaction is presented for a customer who logs in before it is refused for another`() async throws {
        let mayAnswer = Gate()
        test.server.judge { transactions, customer in
            guard customer == "boris" else {
                return TransactionValidation(
                    customer: Fixture.customer(customer), acknowledged: Set(transactions.map(\.id)))
            }
            try await mayAnswer.pass()
            return TransactionValidation(
                customer: Fixture.customer(customer), acknowledged: [],
                rejected: [.init(index: 0, code: "boundToAnotherCustomer", detail: "No.", retryable: false)])
        }
        let store = try await test.open(customer: boris)
        report(transaction("7", of: nil))
        await waitForPresentations(1)
        let logIn = Task { try await store.logIn(anna) }
        try await until("anna is the customer") { store.customer == anna }
        mayAnswer.open()
        try await logIn.value
        await waitForFinished(1)
        await store.close()
        #expect(presented == [.validate(["7"], boris), .validate(["7"], anna)])
    }

    @Test func `a purchase is not made for a customer who logs in after it was requested`() async throws {
        let store = try await test.open(customer: anna)
        let (mayGoOn, isAsked) = (Gate(), Gate())
        test.connection.before { call in
            guard call == .canMakePayments else { return }
            isAsked.open()
            try await mayGoOn.pass()
        }
        let purchase = Task { try await store.purchaseProduct("pack") }
        try await isAsked.pass()
        try await store.logIn(boris)
        mayGoOn.open()
        await #expect(throws: PurchaseError(.operationCancelled, "")) { try await purchase.value }
        #expect(test.connection.payments.isEmpty)
        try await store.purchaseProduct("pack")
        #expect(test.connection.payments.map(\.appAccountToken) == [boris.appAccountToken])
        await store.close()
    }

    @Test func `an unacknowledged purchase is delivered at the next launch with its customer`()
        async throws
    {
        test.breakServer()
        let first = try await test.open(customer: anna)
        await #expect(throws: PurchaseError(.acknowledgementPending, "")) { try await first.purchaseProduct("pack") }
        let bought = try #require(test.connection.unfinished.first)
        await first.close()
        test.setAnswer(Fixture.customer())

        for customer in [boris, anna] {
            let reconnected = test.connection.reconnected()
            var configuration = test.configuration(customer: customer)
            configuration.connection = reconnected
            let store = try Store(configuration: configuration)
            if customer == anna {
                await waitForFinished(1)
            } else {
                try await until("the purchase is reported") {
                    await refusal(of: bought.id, by: store) != .invalidTransactionIdentifier
                }
                #expect(await refusal(of: bought.id, by: store) == .acknowledgementPending)
            }
            await store.close()
        }
        #expect(presented.last == .validate([bought.id], anna))
        #expect(!presented.contains(.validate([bought.id], boris)))
    }
}
