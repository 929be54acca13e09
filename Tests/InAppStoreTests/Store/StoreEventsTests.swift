import BaseTestSupport
import Primitives
import Purchases
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

@Suite(.timeLimit(.minutes(2)))
struct StoreEventsTests {
    private let test = StoreTestContext()

    /// Returns the events with these codes that a store sends during `body`, until it is closed.
    private func events(_ codes: Set<PurchaseError.Code>, _ body: (Store) async throws -> Void) async throws
        -> [StoreEvent]
    {
        let store = try await test.open()
        let events = store.events
        try await body(store)
        await store.close()
        var all: [StoreEvent] = []
        for await event in events where codes.contains(event.code) { all.append(event) }
        return all
    }

    @Test func `a purchase that succeeds is reported with its transaction`() async throws {
        let reported = try await events([.purchaseSuccessful]) { try await $0.purchaseProduct("pack") }
        #expect(reported.map(\.kind) == [.informational])
        #expect(reported.first?.productID == "pack")
        #expect(reported.first?.transactionID == test.connection.finished.first)
        #expect(reported.first?.transactionID != nil)
    }

    @Test func `each event is an entry of the log, in which only the detail names products`() async throws {
        let entries = Locked<[LogEntry]>([])
        var configuration = test.configuration()
        configuration.log = { entry in entries.withLock { $0.append(entry) } }
        let store = try await test.open(configuration)
        try await store.purchaseProduct("pack")
        try? await store.purchaseProduct("unheard.of")
        await store.close()
        let seen = entries.withLock { $0 }
        #expect(seen.contains { $0.level == .info && $0.message == "purchaseSuccessful" })
        #expect(seen.contains { $0.level == .error && $0.message == "invalidProductForPurchasing" })
        #expect(seen.allSatisfy { $0.category == "InAppStore" && !$0.message.contains(".") })
        #expect(seen.contains { $0.detail?.contains("\"unheard.of\"") == true })
        #expect(LogEntry(StoreEvent(kind: .criticalError, code: .storageFailed, sentence: "x")).level == .fault)
    }

    @Test func `the example of a log writes the level, the category and the message`() throws {
        let lines = Locked<[String]>([])
        var configuration = test.configuration()
        withOwnLog(&configuration) { line in lines.withLock { $0.append(line) } }
        configuration.log?(LogEntry(.error, category: "InAppStore", "diskFull", detail: "film.noir"))
        #expect(lines.withLock { $0 } == ["error InAppStore: diskFull"])
    }

    @Test func `an acquisition is reported without a transaction`() async throws {
        test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription()]))
        let reported = try await events([.purchaseSuccessful]) { try await $0.purchaseProduct("film.noir") }
        #expect(reported.map(\.productID) == ["film.noir"])
        #expect(reported.map(\.transactionID) == [nil])
    }

    @Test func `a purchase that fails is reported, and one that the customer cancelled is not`() async throws {
        let codes: Set<PurchaseError.Code> = [
            .purchaseFailed, .invalidProductForPurchasing, .operationCancelled, .purchaseDeferred,
        ]
        let reported = try await events(codes) { store in
            try? await store.purchaseProduct("unheard.of")
            for code in [StoreFailure.Code.cancelled, .paymentFailed] {
                test.connection.whenPaying { payment, store in
                    store.send(
                        StoreUpdate(
                            paymentID: payment.id, productID: payment.productID,
                            state: .failed(StoreFailure(code: code, reason: "No."))))
                }
                try? await store.purchaseProduct("pack")
            }
        }
        #expect(reported.map(\.code) == [.invalidProductForPurchasing, .purchaseFailed])
        #expect(reported.allSatisfy { $0.kind == .nonCriticalError })
        #expect(reported.map(\.productID) == ["unheard.of", "pack"])
    }

    @Test func `a requested validation that fails is a critical event, and a cancelled one is no event`() async throws {
        let reported = try await events([.receiptValidationFailed]) { store in
            test.breakServer()
            try? await store.validateReceipt()
            test.server.answer { _ in throw CancellationError() }
            try? await store.validateReceipt()
        }
        #expect(reported.map(\.kind) == [.criticalError])
    }

    @Test func `the first reader receives earlier events`() async throws {
        let store = try await test.open()
        try await store.purchaseProduct("pack")
        let (first, second) = (store.events, store.events)
        await store.close()
        var heard: [PurchaseError.Code] = []
        for await event in first { heard.append(event.code) }
        #expect(heard == [.purchaseSuccessful])
        for await event in second { Issue.record("\(event)") }
    }

    @Test func `the first reader receives earlier completed transactions`()
        async throws
    {
        let store = try await test.open()
        test.connection.send(
            StoreUpdate(
                productID: "pack",
                state: .purchased(ScriptedStoreConnection.transaction("7", "pack"), alreadyOwned: false)))
        await test.connection.calls.wait { $0.contains(.finish("7")) }
        var completed = store.completedTransactions.makeAsyncIterator()
        #expect(await completed.next()?.id == "7")
        await store.close()
        #expect(await completed.next() == nil)
    }

    // MARK: - Refreshing

    @Test func `a refresh asks the store, then the server`() async throws {
        test.connection.set(restorable: [ScriptedStoreConnection.transaction("1", "pack")])
        let store = try await test.open()
        test.setAnswer(Fixture.customer(purchases: [Fixture.purchase("pack")]))
        let asked = test.server.calls.all.count
        try await store.refreshReceipt()
        #expect(store.allowedProducts == ["pack"])
        #expect(Array(test.server.calls.all[asked...]) == [.validate(["1"], "anna"), .customer("anna")])
        await store.close()
    }

    @Test func `an unreachable store is an event, and the server is asked anyway`() async throws {
        test.connection.before { call in if call == .restore { throw StoreFailure(code: .unreachable, reason: "") } }
        let reported = try await events([.restorePurchasesFailed]) { store in
            test.setAnswer(Fixture.customer(purchases: [Fixture.purchase("pack")]))
            try await store.refreshReceipt()
            #expect(store.allowedProducts == ["pack"])
        }
        #expect(reported.map(\.kind) == [.nonCriticalError])
    }

    @Test func `a restore that the customer cancels throws operationCancelled, and the server is not asked`()
        async throws
    {
        let store = try await test.open()
        test.connection.before { call in if call == .restore { throw StoreFailure(code: .cancelled, reason: "") } }
        let asked = test.server.calls.all.count
        await #expect(throws: PurchaseError(.operationCancelled, "")) { try await store.refreshReceipt() }
        await #expect(throws: PurchaseError(.operationCancelled, "")) { try await store.restorePurchases() }
        #expect(test.server.calls.all.count == asked)
        await store.close()
    }

    @Test func `a refresh throws if the server is unreachable`() async throws {
        let store = try await test.open()
        test.breakServer()
        await #expect(throws: PurchaseError(.receiptValidationFailed, "")) { try await store.refreshReceipt() }
        await store.close()
    }
}
