import BaseTestSupport
import Foundation
import Primitives
import StoreModel
import StoreTestSupport
import Testing

@testable import StoreKitAdapter

/// A queue's requests to its store, besides purchases. A number in a test's name is an issue of SwiftyStoreKit.
@Suite(.timeLimit(.minutes(2)))
struct PaymentQueueStoreTests {
    private let store = ScriptedStoreConnection(
        products: [StoreProduct(id: "pack", kind: .nonConsumable, price: Price(amount: 5, currency: "USD"))])

    /// A queue whose transactions are all acknowledged.
    private func queue(products: Bool = false) async -> PaymentQueue {
        let queue = PaymentQueue(
            configuration: .init(connection: store, products: products ? ProductRequest(connection: store) : nil)
        ) { transactions in
            transactions.reduce(into: [:]) { $0[$1.id] = .acknowledged }
        }
        await queue.start()
        return queue
    }

    private func thrownCode(_ body: () async throws -> Void) async -> String {
        do {
            try await body()
            return "nothing thrown"
        } catch let error as PaymentError {
            let reason = (error.underlying as? StoreFailure).map { " \($0.code.rawValue)" } ?? ""
            return error.code.rawValue + reason
        } catch {
            return "\(error)"
        }
    }

    @Test func `owned transactions are read without a restore, and presented without being finished`() async throws {
        let queue = await queue()
        store.set(owned: [.of("1")])
        let owned = try await queue.ownedTransactions()
        #expect(owned == [.of("1")])
        #expect(try await queue.present(owned) == owned)
        #expect(store.calls.all == [.ownedTransactions] && store.finished.isEmpty)
        await queue.shutDown()
        #expect(await thrownCode { _ = try await queue.present(owned) } == "shutDown")
    }

    @Test func `requests about the customer reach the store`() async throws {
        let queue = await queue()
        var transaction = StoreTransaction.of("2")
        transaction.signedRenewalInfo = "renewal.info"
        let status = StoreSubscriptionStatus(subscriptionGroupID: "g", status: .billingRetry, transaction: transaction)
        store.set(statuses: [status])
        store.set(eligibleGroups: ["g"])
        #expect(try await queue.subscriptionStatuses() == [status])
        #expect(try await queue.appTransaction() == "signed.app")
        #expect(try await queue.isEligibleForIntroductoryOffer(subscriptionGroupID: "g"))
        #expect(try await !queue.isEligibleForIntroductoryOffer(subscriptionGroupID: "h"))
        try await queue.showManageSubscriptions(subscriptionGroupID: "g")
        #expect(try await queue.beginRefundRequest(for: "2") == .success)
        store.set(refundAnswer: .userCancelled)
        #expect(try await queue.beginRefundRequest(for: "2") == .userCancelled)
        #expect(
            store.calls.all == [
                .subscriptionStatuses, .appTransaction, .isEligibleForIntroductoryOffer("g"),
                .isEligibleForIntroductoryOffer("h"), .showManageSubscriptions("g"), .beginRefundRequest("2"),
                .beginRefundRequest("2"),
            ])
        await queue.shutDown()
    }

    @Test
    func `a store without the optional features has no owned transactions, and refuses the other requests`()
        async throws
    {
        let queue = PaymentQueue(configuration: .init(connection: PlainStoreConnection())) { _ in [:] }
        #expect(try await queue.ownedTransactions() == [])
        #expect(await thrownCode { _ = try await queue.subscriptionStatuses() } == "storeFailed unsupported")
        #expect(await thrownCode { _ = try await queue.appTransaction() } == "storeFailed unsupported")
        #expect(
            await thrownCode { _ = try await queue.isEligibleForIntroductoryOffer(subscriptionGroupID: "g") }
                == "storeFailed unsupported")
        #expect(await thrownCode { try await queue.showManageSubscriptions() } == "storeFailed unsupported")
        #expect(await thrownCode { _ = try await queue.beginRefundRequest(for: "1") } == "storeFailed unsupported")
        await queue.shutDown()
    }

    @Test func `a payment contains all given values`() async throws {
        let queue = await queue()
        let customer = CustomerID("anna").appAccountToken
        let signature = OfferSignature(keyID: "key", nonce: UUID(), timestamp: 1, signature: [1])
        let offers: [PaymentOffer?] = [
            .promotional("half", signature: signature), .promotional("half", compactJWS: "a.b.c"), .winBack("back"),
            nil,
        ]
        for offer in offers {
            _ = await queue.purchase(
                "pack", quantity: 3, appAccountToken: customer, offer: offer, introductoryOfferEligibility: "d.e.f",
                simulatesAskToBuy: true)
        }
        #expect(store.payments.map(\.offer) == offers)
        for payment in store.payments {
            #expect(payment.quantity == 3 && payment.appAccountToken == customer && payment.simulatesAskToBuy)
            #expect(payment.introductoryOfferEligibility == "d.e.f")
        }
        await queue.shutDown()
    }

    @Test func `a failed product request fails the purchase, and nothing is paid`() async throws {
        let queue = await queue(products: true)
        #expect(await queue.purchase("pack").outcome.words == "purchased pack")
        guard case .failed(ProductRequestError.invalidProducts(let ids)) = await queue.purchase("unheard.of").outcome
        else {
            Issue.record("an unknown product was not refused")
            return
        }
        #expect(ids == ["unheard.of"])
        store.before { call in
            if case .products = call { throw StoreFailure(code: .unreachable, reason: "gone") }
        }
        guard case .failed(ProductRequestError.requestFailed(let error)) = await queue.purchase("coins").outcome else {
            Issue.record("an unreachable store sold a product")
            return
        }
        #expect((error as? StoreFailure)?.code == .unreachable)
        #expect(await queue.purchase("pack").outcome.words == "purchased pack", "a known product needs no request")
        store.set(mayPay: false)
        let refused = await queue.purchase("pack")
        guard case .failed(let refusal as PaymentError) = refused.outcome else {
            Issue.record("a device that may not pay bought")
            return
        }
        #expect((refusal.underlying as? StoreFailure)?.code == .notAllowed)
        #expect(store.payments.count == 2)
        await queue.shutDown()
    }

    @Test func `a result that comes before the store accepted the request reaches its caller`() async throws {
        store.whenPaying { payment, store in
            store.sell(payment)
            try await Gate().pass()
        }
        let queue = await queue()
        #expect(await queue.purchase("pack").outcome.words == "purchased pack")
        await queue.shutDown()
    }

    @Test func `a purchase is answered when both its update and its request fail`() async throws {
        store.whenPaying { payment, store in
            store.send(
                StoreUpdate(
                    paymentID: payment.id, productID: payment.productID,
                    state: .failed(StoreFailure(code: .cancelled, reason: "changed their mind"))))
            throw StoreFailure(code: .unreachable, reason: "lost")
        }
        let queue = await queue()
        for _ in 1...20 {
            let words = await queue.purchase("pack").outcome.words
            #expect(words == "failed cancelled" || words == "failed storeFailed")
        }
        await queue.shutDown()
    }

    @Test func `an approval and a decline come as completions with their payment (652)`() async throws {
        store.whenPaying { payment, store in
            store.send(StoreUpdate(paymentID: payment.id, productID: payment.productID, state: .deferred))
        }
        let queue = await queue()
        #expect(await queue.purchase("pack", simulatesAskToBuy: true).outcome.words == "failed deferred")
        #expect(await queue.purchase("pack", simulatesAskToBuy: true).outcome.words == "failed deferred")
        let (approved, declined) = (store.payments[0], store.payments[1])
        var completions = queue.completions.makeAsyncIterator()
        let transaction = store.sell(approved)
        #expect(
            await completions.next()
                == StoreUpdate(paymentID: approved.id, productID: "pack", state: .purchased(transaction)))
        let failure = StoreFailure(code: .declined, reason: "Not today.")
        store.send(StoreUpdate(paymentID: declined.id, productID: "pack", state: .failed(failure)))
        #expect(
            await completions.next()
                == StoreUpdate(paymentID: declined.id, productID: "pack", state: .failed(failure)))
        await queue.shutDown()
    }

    @Test func `a refund comes as a completion of its own kind`() async throws {
        let queue = await queue()
        let bought = try #require(await queue.purchase("pack").transaction)
        await store.calls.wait { $0.contains(.finish(bought.id)) }
        var revoked = bought
        revoked.revocationDate = Date(timeIntervalSince1970: 1_800_000_000)
        revoked.signedTransaction = "refunded"
        var completions = queue.completions.makeAsyncIterator()
        store.send(StoreUpdate(productID: "pack", state: .revoked(revoked)))
        let completion = await completions.next()
        #expect(completion?.state == .revoked(revoked))
        #expect(completion?.completedTransaction?.revocationDate != nil)
        await queue.shutDown()
    }

    @Test func `a restore has an outcome for each product, or one for an empty or failed restore`() async {
        let queue = await queue()
        #expect(await queue.restorePurchases().map(\.words) == ["nothing to restore"])
        store.set(restorable: [.of("1"), .of("2"), ScriptedStoreConnection.transaction("3", "book")])
        #expect(await queue.restorePurchases().map(\.words) == ["restored book", "restored pack"])
        store.before { call in if call == .restore { throw StoreFailure(code: .unreachable, reason: "gone") } }
        #expect(await queue.restorePurchases().map(\.words) == ["failed storeFailed"])
        await queue.shutDown()
    }

    @Test func `a change of customer answers the callers, and the purchase is completed`() async throws {
        store.whenPaying { _, _ in }
        let queue = await queue()
        let purchase = Task { await queue.purchase("pack") }
        await store.calls.wait { !$0.isEmpty }
        store.before { call in if call == .restore { try await Gate().pass() } }
        let restore = Task { try await queue.restore() }
        await store.calls.wait { $0.contains(.restore) }
        await queue.customerChanged()
        #expect(await purchase.value.outcome.words == "failed customerChanged")
        await #expect(throws: PaymentError(.customerChanged, "")) { try await restore.value }
        var completions = queue.completions.makeAsyncIterator()
        let transaction = store.sell(store.payments[0])
        #expect(await completions.next()?.completedTransaction == transaction)
        await queue.shutDown()
    }

    @Test func `other requests to the store are passed on, with its errors`() async throws {
        let queue = await queue()
        #expect(try await queue.canMakePayments())
        #expect(try await queue.storefront() == ScriptedStoreConnection.storefront)
        var storefronts = queue.storefrontUpdates.makeAsyncIterator()
        #expect(await storefronts.next() == ScriptedStoreConnection.storefront)
        let customer = CustomerID("anna").appAccountToken
        try await queue.redeemOfferCode("SUMMER", appAccountToken: customer)
        let consent = StoreMessage(id: "m", reason: .priceIncreaseConsent, productID: "pack")
        store.set(messages: [consent])
        var messages = queue.messages.makeAsyncIterator()
        #expect(await messages.next() == [consent])
        try await queue.answer("m", with: .accept)
        #expect(
            store.calls.all.suffix(2) == [
                .redeem(OfferCodeRedemption(code: "SUMMER", appAccountToken: customer)), .answer("m", .accept),
            ])
        store.before { call in
            if case .redeem = call { throw StoreFailure(code: .invalidCode, reason: "used up") }
            if case .answer = call { throw StoreFailure(code: .unsupported, reason: "ask the customer yourself") }
            if call == .storefront { throw Silence() }
        }
        #expect(await thrownCode { try await queue.redeemOfferCode("SUMMER") } == "storeFailed invalidCode")
        #expect(await thrownCode { try await queue.answer("m", with: .show) } == "storeFailed unsupported")
        #expect(await thrownCode { _ = try await queue.storefront() } == "storeFailed")
        await queue.shutDown()
        #expect(await thrownCode { try await queue.redeemOfferCode("SUMMER") } == "shutDown")
    }

    @Test func `a cancelled caller is answered at once`() async throws {
        store.before { _ in try await Gate().pass() }
        let queue = await queue()
        let request = Task { try await queue.canMakePayments() }
        await store.calls.wait { !$0.isEmpty }
        request.cancel()
        await #expect(throws: PaymentError(.cancelled, "")) { try await request.value }
    }

    @Test func `a store without offer codes and messages refuses them`() async throws {
        let plain = PlainStoreConnection()
        await #expect(throws: StoreFailure.self) { try await plain.redeem(OfferCodeRedemption(code: "x")) }
        await #expect(throws: StoreFailure.self) { try await plain.answer("m", with: .show) }
        for await _ in plain.messages {}
    }
}

/// A store that implements only the requirements without a default.
private struct PlainStoreConnection: StoreConnection {
    let updates = AsyncStream<StoreUpdate> { $0.finish() }
    let storefrontUpdates = AsyncStream<Storefront> { $0.finish() }

    func canMakePayments() async throws -> Bool { true }
    func storefront() async throws -> Storefront { ScriptedStoreConnection.storefront }
    func products(_ ids: Set<ProductID>) async throws -> ProductAnswer { ProductAnswer(products: []) }
    func add(_ payment: Payment) async throws {}
    func finish(_ transaction: TransactionID) async throws {}
    func restore() async throws -> [StoreTransaction] { [] }
    func receipt() async throws -> [UInt8]? { nil }
    func close() async {}
}
