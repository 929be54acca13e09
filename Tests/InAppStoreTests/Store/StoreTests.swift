import BaseTestSupport
import Foundation
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

@Suite(.timeLimit(.minutes(2)))
struct StoreTests {
    private let test = StoreTestContext()

    private func code(_ body: () async throws -> Void) async -> String {
        do {
            try await body()
            return "nothing thrown"
        } catch let error as PurchaseError {
            return error.code.rawValue
        } catch {
            return "\(error)"
        }
    }

    // MARK: - Buying

    @Test func `a purchase is acknowledged by the server before it is finished at the store`() async throws {
        test.setAnswer(Fixture.customer(purchases: [Fixture.purchase("pack")]))
        let store = try await test.open()
        try await store.purchaseProduct("pack")
        #expect(store.allowedProducts == ["pack"])
        let id = try #require(test.connection.payments.first?.id)
        #expect(test.connection.payments.map(\.appAccountToken) == [CustomerID("anna").appAccountToken])
        #expect(!id.rawValue.isEmpty)
        await test.connection.calls.wait { $0.contains { if case .finish = $0 { true } else { false } } }
        await store.close()
        #expect(test.connection.finished.count == 1)
    }

    @Test func `an anonymous customer's purchase has no account token`() async throws {
        let store = try await test.open(customer: nil)
        try await store.purchaseProduct("pack")
        #expect(test.connection.payments.map(\.appAccountToken) == [nil])
        #expect(store.customer.rawValue.hasPrefix("anonymous-"))
        await store.close()
    }

    @Test func `an offer is sent with its whole signature, and refused with a part of it`() async throws {
        let store = try await test.open()
        let plugin = InAppStorePurchasePlugin(store: store)
        let product = Product(productIdentifier: "pro.monthly", productType: .autoRenewableSubscription)
        let signedAt = Fixture.start.addingTimeInterval(0.123)
        var offer = PromoOffer(
            productDiscount: ProductDiscount(identifier: "half"), identifier: "half", keyIdentifier: "key",
            nonce: UUID(), signedAt: signedAt, signature: [1, 2])
        guard case .success = await plugin.purchase(product, with: offer) else {
            Issue.record("The signed offer was not bought.")
            return
        }
        let asked = test.connection.payments.last?.offer
        #expect(asked?.id == "half" && asked?.signature?.nonce == offer.nonce && asked?.signature?.signature == [1, 2])
        #expect(asked?.signature?.timestamp == 1_767_225_600_123)
        (offer.nonce, offer.compactJWS) = (nil, nil)
        guard case .failure(let error) = await plugin.purchase(product, with: offer) else {
            Issue.record("An offer with an incomplete signature was bought.")
            return
        }
        #expect((error as? PurchaseError)?.code == .validationError)
        #expect(test.connection.payments.count == 1, "The refused offer must not be sent to the store.")
        offer.compactJWS = "a.b.c"
        _ = await plugin.purchase(product, with: offer)
        #expect(test.connection.payments.last?.offer == .promotional("half", compactJWS: "a.b.c"))
        await store.close()
    }

    @Test func `a refund and a refusal without a waiting caller are events`() async throws {
        let store = try await test.open()
        var events = store.events.makeAsyncIterator()
        var completed = store.completedTransactions.makeAsyncIterator()
        var refunded = ScriptedStoreConnection.transaction("77", "pack")
        refunded.revocationDate = Fixture.start
        test.connection.send(StoreUpdate(productID: "pack", state: .revoked(refunded)))
        #expect(await completed.next()?.revocationDate == Fixture.start)
        let revoked = await events.next()
        #expect(revoked?.code == .purchaseRevoked && revoked?.transactionID == "77")
        test.connection.whenPaying { payment, store in
            store.send(StoreUpdate(paymentID: payment.id, productID: payment.productID, state: .deferred))
        }
        #expect(await code { try await store.purchaseProduct("pack") } == "purchaseDeferred")
        let payment = try #require(test.connection.payments.last)
        test.connection.send(
            StoreUpdate(
                paymentID: payment.id, productID: "pack",
                state: .failed(StoreFailure(code: .declined, reason: "Not today."))))
        let declined = await events.next()
        #expect(declined?.code == .purchaseDeclined && declined?.sentence.contains("Not today.") == true)
        await store.close()
    }

    @Test func `a failed request for products fails the purchase`() async throws {
        test.connection.set(products: [])
        let store = try await test.open()
        await #expect {
            try await store.purchaseProduct("pack")
        } throws: { error in
            (error as? PurchaseError)?.code == .invalidProductForPurchasing
                && (error as? PurchaseError)?.underlying as? ProductRequestError
                    == .invalidProducts(invalidProductIdentifiers: ["pack"])
        }
        test.connection.before { call in
            if case .products = call { throw StoreFailure(code: .unreachable, reason: "gone") }
        }
        await #expect {
            try await store.purchaseProduct("pack")
        } throws: { error in
            let error = error as? PurchaseError
            guard case ProductRequestError.requestFailed(let cause)? = error?.underlying else { return false }
            return error?.code == .productsMetadataFetchingFailed && error?.isRetryable == true
                && (cause as? StoreFailure)?.code == .unreachable
        }
        #expect(test.connection.payments.isEmpty)
        await store.close()
    }

    @Test func `a move to another storefront changes the locale by itself`() async throws {
        let store = try await test.open()
        _ = try await store.productList()
        var snapshots = store.snapshots.makeAsyncIterator()
        test.connection.set(
            storefront: Storefront(countryCode: "DEU", id: "143443", locale: "de_DE", currency: "EUR"))
        while let snapshot = await snapshots.next(), snapshot.appStoreLocale != "de_DE" {}
        #expect(store.appStoreLocale == "de_DE")
        await store.close()
    }

    @Test func `the newest storefront stays, even during a request for products`() async throws {
        let store = try await test.open()
        for locale in (1...200).map({ "de_\($0)" }) {
            async let asked = store.productList()
            test.connection.set(
                storefront: Storefront(countryCode: "DEU", id: "143443", locale: locale, currency: "EUR"))
            _ = try await asked
            try await until("the store is in \(locale)") { store.appStoreLocale == locale }
        }
        await store.close()
    }

    @Test func `an invalid purchase is refused before the payment`() async throws {
        let store = try await test.open()
        #expect(await code { try await store.purchaseProduct("unheard.of") } == "invalidProductForPurchasing")
        #expect(await code { try await store.purchaseProduct("") } == "invalidProductForPurchasing")
        for quantity in [0, 11, -1] {
            #expect(
                await code { try await store.purchaseConsumableProduct("coins", quantity: quantity) }
                    == "invalidQuantityForPurchasing")
        }
        #expect(
            await code { try await store.purchaseConsumableProduct("pack", quantity: 1) }
                == "invalidProductForPurchasing")
        test.connection.set(mayPay: false)
        #expect(await code { try await store.purchaseProduct("pack") } == "purchaseNotAllowed")
        #expect(test.connection.payments.isEmpty)
        test.connection.set(mayPay: true)
        try await store.purchaseConsumableProduct("coins", quantity: 10)
        #expect(test.connection.payments.map(\.quantity) == [10])
        await store.close()
    }

    @Test func `a purchase by ProductID returns the transaction, and an invalid quantity is refused`()
        async throws
    {
        let store = try await test.open()
        let purchase = try await store.purchase("coins", quantity: 3)
        #expect(purchase.transaction?.productID == "coins" && !purchase.isPendingAcknowledgement)
        #expect(test.connection.payments.map(\.quantity) == [3])
        let offer = PaymentOffer.winBack("half")
        #expect(try await store.purchase("pro.monthly", offer: offer).transaction?.productID == "pro.monthly")
        #expect(test.connection.payments.last?.offer == offer)
        for quantity in [0, 11] {
            #expect(
                await code { try await store.purchase("coins", quantity: quantity) } == "invalidQuantityForPurchasing")
        }
        #expect(await code { try await store.purchase("pack", quantity: 2) } == "invalidProductForPurchasing")
        #expect(
            await code { try await store.purchase("coins", quantity: 2, offer: offer) }
                == "invalidQuantityForPurchasing")
        #expect(test.connection.payments.count == 2)
        await store.close()
    }

    @Test func `a feature is active until its end, and an unknown one never`() async throws {
        test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription()]))
        let store = try await test.open()
        #expect(store.isActive("pro") && !store.isActive("plus") && !store.isActive(""))
        test.breakServer()
        test.clock.advance(to: Fixture.start + Fixture.month)
        #expect(!store.isActive("pro"))
        await store.close()
    }

    @Test func `without an answer of the server the reason is thrown`() async throws {
        test.breakServer()
        let store = try await test.open()
        #expect(store.lastAnswer == nil && store.paidFeatures.features.isEmpty)
        #expect(await code { _ = try await store.currentAnswer() } == "receiptValidationFailed")
        test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription()]))
        #expect(try await store.currentAnswer()?.customer.subscriptions.count == 1)
        #expect(store.lastAnswer?.receivedAt == Fixture.start)
        await store.close()
    }

    @Test func `a refusal of the App Store is thrown with its code`() async throws {
        let store = try await test.open()
        let failures: [(StoreUpdate.State, String)] = [
            (.failed(StoreFailure(code: .cancelled, reason: "no")), "operationCancelled"),
            (.failed(StoreFailure(code: .notAllowed, reason: "no")), "purchaseNotAllowed"),
            (.failed(StoreFailure(code: .declined, reason: "no")), "purchaseFailed"), (.deferred, "purchaseDeferred"),
        ]
        for (state, expected) in failures {
            test.connection.whenPaying { payment, store in
                store.send(StoreUpdate(paymentID: payment.id, productID: payment.productID, state: state))
            }
            #expect(await code { try await store.purchaseProduct("pack") } == expected)
        }
        test.connection.before { _ in throw StoreFailure(code: .unreachable, reason: "gone") }
        #expect(await code { try await store.purchaseProduct("pack") } == "purchaseFailed")
        await store.close()
    }

    @Test func `a listed product that is not sold is refused, with the error of the product request`() async throws {
        test.connection.set(products: Fixture.products.filter { $0.id != "pack" })
        let store = try await test.open()
        await #expect {
            try await store.purchaseProduct("pack")
        } throws: { error in
            (error as? PurchaseError)?.code == .invalidProductForPurchasing
                && (error as? PurchaseError)?.underlying as? ProductRequestError
                    == .invalidProducts(invalidProductIdentifiers: ["pack"])
        }
        #expect(test.connection.payments.isEmpty)
        await store.close()
    }

    @Test func `a purchase that the server rejects fails with its reason, and stays unfinished`() async throws {
        let store = try await test.open()
        var events = store.events.makeAsyncIterator()
        test.server.judge { _, customer in
            TransactionValidation(
                customer: Fixture.customer(customer), acknowledged: [],
                rejected: [.init(index: 0, code: "signatureInvalid", detail: "It was changed.", retryable: false)])
        }
        await #expect {
            try await store.purchaseProduct("pack")
        } throws: { error in
            (error as? PurchaseError)?.code == .purchaseFailed && "\(error)".contains("signatureInvalid")
        }
        let event = await events.next()
        #expect(event?.kind == .criticalError)
        #expect(event?.transactionID == test.connection.unfinished.first?.id)
        await store.close()
        #expect(test.connection.finished.isEmpty)
    }

    // MARK: - Subscribers

    @Test func `a subscribers-only product needs an active subscription that enables it, and no payment`()
        async throws
    {
        test.setAnswer(Fixture.customer())
        let store = try await test.open()
        #expect(await code { try await store.purchaseProduct("film.noir") } == "invalidProductForPurchasing")
        #expect(
            await code { try await store.acquireAllEnabledProducts() } == "acquireAllRequestedForNonSubscriber")

        test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription("basic.monthly")]))
        try await store.validateReceipt()
        #expect(store.allowedProducts == [], "A subscription alone must not acquire products.")
        try await store.purchaseProduct("film.noir")
        #expect(await code { try await store.purchaseProduct("lens.macro") } == "invalidProductForPurchasing")
        #expect(store.allowedProducts == ["film.noir"])
        #expect(test.connection.payments.isEmpty)

        try await store.purchaseProduct("pack")
        #expect(
            test.connection.payments.map(\.productID) == ["pack"], "A product that is sold must be paid at the store.")

        test.clock.advance(to: Fixture.start + Fixture.month)
        #expect(store.allowedProducts == [])
        #expect(await code { try await store.purchaseProduct("film.noir") } == "invalidProductForPurchasing")
        await store.close()
    }

    @Test func `all enabled products are acquired at once`() async throws {
        test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription()]))
        let store = try await test.open()
        try await store.acquireAllEnabledProducts()
        #expect(store.allowedProducts == ["film.noir", "lens.macro", "pack", "coins"])
        #expect(store.purchasedProducts == [])
        await store.close()
    }

    @Test func `a product that is pre-acquired via subscription is acquired automatically`() async throws {
        let list = ProductList([
            ListedProduct(id: "pro.monthly", productType: .renewableSubscription),
            ListedProduct(id: "grain", productType: .nonConsumable, preAcquiredViaSubscription: true),
            ListedProduct(id: "noise", productType: .nonConsumable),
        ])
        test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription()]))
        let store = try await test.open(list: list)
        #expect(await store.reaches { $0.allowedProducts == ["grain"] } != nil)
        await store.close()
    }

    @Test func `an unlisted subscription is reported once`() async throws {
        let store = try await test.open()
        var events = store.events.makeAsyncIterator()
        test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription("old.yearly")]))
        try await store.validateReceipt()
        try await store.validateReceipt()
        #expect(await events.next()?.kind == .informational)
        await store.close()
        #expect(await events.next() == nil, "The event must be reported once.")
    }

    // MARK: - Time and the server

    @Test func `the subscription ends at its instant, and the server is asked then`() async throws {
        test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription()]))
        let store = try await test.open()
        try await store.acquireAllEnabledProducts()
        await test.clock.waiters(atLeast: 1)
        let end = Fixture.start + Fixture.month
        test.clock.advance(to: end - 0.001)
        #expect(store.subscriptionInfo?.isExpired == false)

        let asked = test.server.calls.all.count
        let renewed = Fixture.subscription(until: end + Fixture.month)
        let mayAnswer = Gate()
        test.server.answer { customer in
            // The timer must not cancel the request that it has started.
            try await mayAnswer.pass()
            return Fixture.customer(customer, asOf: end, subscriptions: [renewed])
        }
        await test.clock.waiters(atLeast: 1)
        test.clock.advance(to: end)
        #expect(await store.reaches { $0.subscriptionInfo?.isExpired == true } != nil)
        await test.server.calls.wait { $0.count > asked }
        mayAnswer.open()
        let snapshot = await store.reaches { $0.subscriptionInfo?.isExpired == false }
        #expect(snapshot?.subscriptionInfo?.subscription.expiresAt == end + Fixture.month)
        #expect(snapshot?.receiptValidationStatus?.failingSince == nil)
        await store.close()
    }

    @Test func `an unreachable server is asked again, and its failure takes nothing away`() async throws {
        test.breakServer()
        let store = try await test.open()
        #expect(store.receiptValidationStatus == nil)
        await test.clock.waiters(atLeast: 1)
        test.setAnswer(Fixture.customer(validUntil: Fixture.start + 3600, purchases: [Fixture.purchase("pack")]))
        test.clock.advance(by: 60)
        #expect(await store.reaches { $0.allowedProducts == ["pack"] } != nil)

        test.breakServer()
        await test.clock.waiters(atLeast: 1)
        test.clock.advance(by: 3600)
        let failing = await store.reaches { $0.receiptValidationStatus?.failingSince != nil }
        #expect(failing?.allowedProducts == ["pack"])
        #expect(failing?.receiptValidationStatus?.failingSince == Fixture.start + 3660)
        #expect(await code { try await store.validateReceipt() } == "receiptValidationFailed")
        #expect(store.allowedProducts == ["pack"])
        await store.close()
    }

    @Test func `a cancelled validation does not count as a failure of the server`() async throws {
        let store = try await test.open()
        test.server.answer { _ in
            try await Gate().pass()
            return Fixture.customer()
        }
        let asked = test.server.calls.all.count
        let question = Task { await code { try await store.validateReceipt() } }
        await test.server.calls.wait { $0.count > asked }
        question.cancel()
        #expect(await question.value == "operationCancelled")
        #expect(store.receiptValidationStatus?.failingSince == nil)
        await store.close()
    }

    // MARK: - Restoring and validating

    @Test func `a restore returns the restored products, or that there are none`() async throws {
        let store = try await test.open()
        let nothing = try await store.restorePurchases()
        #expect(nothing.nothingToRestore)
        test.breakServer()
        #expect(
            try await store.restorePurchases().nothingToRestore,
            "The store has nothing to restore, whatever the server answers.")
        test.connection.set(restorable: [
            ScriptedStoreConnection.transaction("2", "pack"), ScriptedStoreConnection.transaction("1", "pack"),
        ])
        #expect(await code { try await store.restorePurchases() } == "acknowledgementPending")
        test.setAnswer(Fixture.customer(purchases: [Fixture.purchase("pack")]))
        let result = try await store.restorePurchases()
        #expect(result.restored == ["pack"])
        #expect(!result.nothingToRestore)
        test.connection.before { call in if call == .restore { throw StoreFailure(code: .unreachable, reason: "") } }
        #expect(await code { try await store.restorePurchases() } == "restorePurchasesFailed")
        await store.close()
    }

    @Test func `the validation of a transaction returns after it is acknowledged, or throws`() async throws {
        let store = try await test.open()
        test.breakServer()
        #expect(await code { try await store.purchaseProduct("pack") } == "acknowledgementPending")
        let id = try #require(test.connection.unfinished.first?.id.rawValue)
        #expect(await code { try await store.validateTransaction(id) } == "acknowledgementPending")
        #expect(await code { try await store.validateTransaction("77") } == "invalidTransactionIdentifier")
        #expect(await code { try await store.validateTransaction("") } == "invalidTransactionIdentifier")
        test.setAnswer(Fixture.customer(purchases: [Fixture.purchase("pack")]))
        var completed = store.completedTransactions.makeAsyncIterator()
        try await store.validateTransaction(id)
        #expect(store.allowedProducts == ["pack"])
        await test.connection.calls.wait { $0.contains { if case .finish = $0 { true } else { false } } }
        #expect(await code { try await store.validateTransaction(id) } == "invalidTransactionIdentifier")
        await store.close()
        #expect(
            await completed.next() == nil, "A transaction with a waiting caller must not be in `completedTransactions`."
        )
        #expect(test.connection.finished.map(\.rawValue) == [id])
    }

    // MARK: - Products

    @Test func `the products are those of the list, and the storefront is known after their request`() async throws {
        let store = try await test.open()
        #expect(try await store.productList().map(\.id) == ["basic.monthly", "coins", "pack", "pro.monthly"])
        #expect(store.appStoreLocale == "en_US")
        let asked = test.connection.calls.all.flatMap { call -> [ProductID] in
            if case .products(let ids) = call { Array(ids) } else { [] }
        }
        #expect(asked.count == Set(asked).count, "Each price must be fetched once in a run.")
        let info = try await store.fetchProductsInfo(["pack", "pro.monthly.half", "film.noir"])
        #expect(Set(info.keys) == ["pack", "pro.monthly.half"])
        #expect(await code { _ = try await store.fetchProductsInfo(["pack", "y", "x"]) } == "invalidProductIdentifier")
        await store.close()
    }
}
