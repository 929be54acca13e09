import BaseTestSupport
import Foundation
import Primitives
import Purchases
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

@Suite(.timeLimit(.minutes(2)))
struct StoreLifeTests {
    private let test = StoreTestContext()

    // MARK: - Creation

    @Test func `a second store on the same storage is refused while the first lives`() async throws {
        let first = try await test.open()
        #expect(throws: PurchaseError(.alreadyInUse, "")) { try Store(configuration: test.configuration()) }
        await first.close()
        let second = try await test.open()
        await second.close()
    }

    @Test func `a released store unlocks its storage`() async throws {
        do {
            let store = try await test.open()
            try await store.purchaseProduct("pack")
            await test.connection.calls.wait { $0.contains { if case .finish = $0 { true } else { false } } }
        }
        var store: Store?
        try await until("the storage is unlocked") {
            store = try? Store(configuration: test.configuration())
            return store != nil
        }
        await store?.close()
    }

    @Test(arguments: [
        ([:], "SOUK_STORE_URL"), (["SOUK_STORE_URL": "http://127.0.0.1:1"], "SOUK_SERVER_URL"),
        (["SOUK_STORE_URL": "", "SOUK_SERVER_URL": "http://127.0.0.1:1"], "SOUK_STORE_URL"),
        (["SOUK_STORE_URL": "http://127.0.0.1:1", "SOUK_SERVER_URL": "http://127.0.0.1:2"], "SOUK_PUBLIC_KEY"),
    ])
    func `the error of a missing setting is one sentence with its name`(environment: [String: String], missing: String)
    {
        var configuration = StoreConfiguration(productListPath: "")
        configuration.productList = Fixture.list
        configuration.storage = MemorySecureStorage()
        configuration.storageName = test.name
        configuration.transport = FailingTransport()
        configuration.environment = environment
        #expect {
            try Store(configuration: configuration)
        } throws: { error in
            (error as? PurchaseError)?.code == .missingSetting && "\(error)".contains(missing)
                && "\(error)".replacing("Info.plist", with: "").filter { $0 == "." }.count == 1
        }
    }

    @Test func `closing does not wait for requests to the server, and answers their callers`() async throws {
        let mayAnswer = Gate()
        test.server.answer { customer in
            try await mayAnswer.pass()
            return Fixture.customer(customer)
        }
        let store = try Store(configuration: test.configuration())
        await test.server.calls.wait { $0 == [.customer("anna")] }
        let question = Task { try await store.validateReceipt() }
        let purchase = Task { try await store.purchaseProduct("pack") }
        try await until("the pack is sold") { !test.connection.unfinished.isEmpty }
        await store.close()
        await #expect(throws: PurchaseError(.operationCancelled, "")) { try await question.value }
        await #expect(throws: PurchaseError(.purchaseFailed, "")) { try await purchase.value }
        #expect(test.server.calls.all == [.customer("anna")], "Closing must not ask the server.")
        #expect(test.connection.finished.isEmpty)
    }

    // MARK: - Restarting

    @Test func `the answer and the acquired products survive a restart without the server`() async throws {
        test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription()], purchases: [Fixture.purchase("pack")]))
        let first = try await test.open()
        try await first.purchaseProduct("film.noir")
        let before = first.snapshot
        await first.close()

        test.breakServer()
        let second = try await test.open()
        var after = second.snapshot
        after.appStoreLocale = before.appStoreLocale
        #expect(after == before)
        #expect(after.allowedProducts == ["pack", "film.noir"])
        await second.close()
    }

    @Test func `stored values of one customer never count for another`() async throws {
        test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription()], purchases: [Fixture.purchase("pack")]))
        let first = try await test.open(customer: "anna")
        try await first.acquireAllEnabledProducts()
        await first.close()
        test.breakServer()
        let second = try await test.open(customer: "boris")
        #expect(second.allowedProducts == [])
        #expect(second.acquiredProducts == [])
        await second.close()
    }

    @Test(arguments: ["validation", "acquiredViaSubscription"])
    func `a damaged value is read from its copy, and reported`(key: String) async throws {
        test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription()], purchases: [Fixture.purchase("pack")]))
        let first = try await test.open()
        try await first.purchaseProduct("film.noir")
        await first.close()

        try test.storage.set(Array(#"{"customer": "anna", "value": 7}"#.utf8), for: key)
        test.breakServer()
        let second = try await test.open()
        #expect(second.allowedProducts == ["pack", "film.noir"], "Paid products must stay allowed.")
        var events = second.events.makeAsyncIterator()
        let event = await events.next()
        #expect(event?.code == .storageFailed)
        #expect(event?.kind == .nonCriticalError)
        #expect(event?.sentence.contains(key) == true)
        await second.close()
    }

    @Test func `a purchase that the server did not get before a crash is acknowledged at the next launch`() async throws
    {
        test.breakServer()
        let first = try await test.open()
        await #expect(throws: PurchaseError(.acknowledgementPending, "")) { try await first.purchaseProduct("pack") }
        await first.close()
        #expect(test.connection.finished.isEmpty)

        test.setAnswer(Fixture.customer(purchases: [Fixture.purchase("pack")]))
        var configuration = test.configuration()
        let reconnected = test.connection.reconnected()
        configuration.connection = reconnected
        let second = try Store(configuration: configuration)
        await reconnected.calls.wait { $0.contains { if case .finish = $0 { true } else { false } } }
        #expect(await second.reaches { $0.allowedProducts == ["pack"] } != nil)
        await second.close()
        #expect(test.connection.finished.count == 1)
        #expect(test.connection.payments.count == 1)
    }

    // MARK: - Customers

    @Test func `a login succeeds although the server fails, and getPaidFeatures throws the reason`() async throws {
        let store = try await test.open(customer: nil)
        let plugin = InAppStorePurchasePlugin(store: store)
        struct Away: Error {}
        let failures: [(any Error, Bool)] = [
            (PurchaseError(.unreachable), true), (Away(), true), (PurchaseError(.invalidKey), false),
        ]
        for (error, isRetryable) in failures {
            test.breakServer(error)
            try await plugin.logIn(appUserId: .string("anna"))
            await #expect {
                try await plugin.getPaidFeatures()
            } throws: { error in
                (error as? PurchaseError)?.isRetryable == isRetryable
            }
            #expect(store.customer == "anna")
        }
        test.setAnswer(Fixture.customer(purchases: [Fixture.purchase("pack")]))
        try await plugin.logIn(appUserId: .string("anna"))
        #expect(store.allowedProducts == ["pack"])
        await plugin.logOut()
        #expect(store.customer.rawValue.hasPrefix("anonymous-"))
        await #expect(throws: PurchaseError(.validationError)) {
            try await plugin.logIn(appUserId: .string("a\nb"))
        }
        await store.close()
    }

    @Test func `values of one customer are deleted for the next, also after a restart`() async throws {
        test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription()], purchases: [Fixture.purchase("pack")]))
        let store = try await test.open()
        try await store.acquireAllEnabledProducts()
        test.breakServer()
        await #expect(throws: PurchaseError(.receiptValidationFailed, "")) { try await store.logIn("boris") }
        #expect(store.snapshot.allowedProducts == [])
        #expect(store.acquiredProducts == [])
        await store.close()
        let again = try await test.open(customer: "anna")
        #expect(again.acquiredProducts == [])
        await again.close()
    }

    @Test func `an answer about a former customer is not stored, and their purchase is finished`() async throws {
        let store = try await test.open()
        let mayAnswer = Gate()
        test.server.judge { transactions, customer in
            try await mayAnswer.pass()
            return TransactionValidation(
                customer: Fixture.customer(customer, purchases: [Fixture.purchase("pack")]),
                acknowledged: Set(transactions.map(\.id)))
        }
        let purchase = Task { try await store.purchaseProduct("pack") }
        await test.server.calls.wait { $0.contains { if case .validate = $0 { true } else { false } } }
        let logIn = Task { try await store.logIn("boris") }
        try await until("boris is the customer") { store.customer == "boris" }
        mayAnswer.open()
        try await purchase.value
        try await logIn.value
        #expect(store.purchasedProducts == [], "boris must not have anna's purchase.")
        await test.connection.calls.wait { $0.contains { if case .finish = $0 { true } else { false } } }
        await store.close()
        #expect(test.server.calls.all.suffix(1) == [.customer("boris")])
    }
}
