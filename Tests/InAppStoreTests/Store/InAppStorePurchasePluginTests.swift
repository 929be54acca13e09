import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

@Suite(.timeLimit(.minutes(1))) struct InAppStorePurchasePluginTests {
    private let test = StoreTestContext(Fixture.customer(subscriptions: [Fixture.subscription()]))

    @Test func `a valid answer is not requested again, until it is invalidated`() async throws {
        let store = try await test.open()
        let plugin = InAppStorePurchasePlugin(store: store)
        let before = test.server.calls.all.count
        _ = try await plugin.getPaidFeatures()
        #expect(test.server.calls.all.count == before)
        #expect(plugin.answerOrigin(of: .getPaidFeatures) == AnswerOrigin(.cache, asOf: Fixture.start))
        test.clock.advance(by: 60)
        await plugin.invalidatePaidFeaturesCache()
        _ = try await plugin.getPaidFeatures()
        _ = try await plugin.getPaidFeatures()
        #expect(test.server.calls.all.count == before + 1)
        let now = Fixture.start.addingTimeInterval(60)
        #expect(plugin.answerOrigin(of: .getPaidFeatures) == AnswerOrigin(.cache, asOf: now))
        await store.close()
    }

    @Test func `without a server a launch has the stored features, and the client stores no copy`()
        async throws
    {
        let first = try await test.open()
        await first.close()
        test.breakServer()
        let store = try await test.open()
        let stored = MemorySecureStorage()
        let client = PurchaseClient(configuration: .init(storage: stored, clock: test.clock))
        try await client.setup(with: [InAppStorePurchasePlugin(store: store)])
        var updates = client.paidFeaturesUpdates.makeAsyncIterator()
        #expect(await updates.next()?.features.map(\.name) == ["pro"])
        #expect(try await client.getPaidFeatures().hasActiveFeature(with: "pro", at: Fixture.start))
        await client.close()
        await store.close()
        let bytes = try stored.data(for: "lastAnswers") ?? []
        #expect(!String(decoding: bytes, as: UTF8.self).contains("pro"))
    }

    @Test func `an invalidated answer counts while the server is unreachable`() async throws {
        let store = try await test.open()
        let plugin = InAppStorePurchasePlugin(store: store)
        test.breakServer()
        await plugin.invalidatePaidFeaturesCache()
        #expect(try await plugin.getPaidFeatures().hasActiveFeature(with: "pro", at: Fixture.start))
        test.setAnswer(Fixture.customer())
        #expect(try await !plugin.getPaidFeatures().hasActiveFeature(with: "pro", at: Fixture.start))
        await store.close()
    }

    @Test func `the store's sheet asks for an offer code, for the current customer`() async throws {
        let store = try await test.open()
        let answer = await InAppStorePurchasePlugin(store: store).presentCodeRedemptionUI()
        guard case .success = answer else { return #expect(Bool(false), "\(answer)") }
        let expected = OfferCodeRedemption(code: nil, appAccountToken: CustomerID("anna").appAccountToken)
        #expect(test.connection.calls.all.contains(.redeem(expected)))
        await store.close()
    }

    @Test func `features are sent only after the server's first answer, then also an empty set`() async throws {
        test.breakServer()
        let store = try await test.open()
        var reported = InAppStorePurchasePlugin(store: store).paidFeaturesUpdates().makeAsyncIterator()
        test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription()]))
        try await store.validateReceipt()
        #expect(await reported.next()?.features.map(\.name) == ["pro"])
        test.setAnswer(Fixture.customer())
        try await store.logOut()
        #expect(await reported.next() == PaidFeatures())
        await store.close()
    }

    // MARK: - Offers

    private func signing(
        _ offers: SigningService?, _ body: (InAppStorePurchasePlugin, Store) async throws -> Void
    ) async throws {
        var configuration = test.configuration(customer: "anna")
        configuration.offers = offers
        let store = try await test.open(configuration)
        try await body(InAppStorePurchasePlugin(store: store), store)
        await store.close()
    }

    private let half = ProductDiscount(identifier: "half", type: .promotional)
    private let basic = Product(productIdentifier: "basic.monthly")

    @Test func `an offer of a listed product is signed for the current customer, and sold with the signature`()
        async throws
    {
        let service = SigningService()
        var configuration = test.configuration(customer: "anna")
        configuration.offers = service
        let store = try await test.open(configuration)
        let plugin = InAppStorePurchasePlugin(store: store)
        guard case .success(let offer) = await plugin.getPromotionalOffer(for: half, product: basic) else {
            return #expect(Bool(false), "The offer was not signed.")
        }
        #expect(service.calls.all == ["half of basic.monthly for anna"])
        #expect(offer.identifier == "half" && offer.productDiscount == half)
        let expected = PaymentOffer.promotional("half", signature: SigningService.signature)
        #expect(PaymentOffer(offer) == expected)
        let purchase = Task { [basic] in await plugin.purchase(basic, with: offer) }
        try await until("the payment is made") { !test.connection.payments.isEmpty }
        let payment = try #require(test.connection.payments.first)
        #expect(payment.offer == expected && payment.appAccountToken == CustomerID("anna").appAccountToken)
        await store.close()
        _ = await purchase.value
    }

    @Test func `other offers and products are left to other plugins`() async throws {
        let service = SigningService()
        try await signing(service) { plugin, _ in
            for (discount, product) in [
                (half, "unlisted"), (half, "film.noir"),
                (ProductDiscount(identifier: "half", type: .introductory), "basic.monthly"),
                (ProductDiscount(type: .promotional), "basic.monthly"),
            ] {
                let answer = await plugin.getPromotionalOffer(
                    for: discount, product: Product(productIdentifier: product))
                guard case .notSupported = answer else { return #expect(Bool(false), "\(product): \(answer)") }
            }
        }
        #expect(service.calls.all == [])
        try await signing(nil) { plugin, store in
            guard case .notSupported = await plugin.getPromotionalOffer(for: half, product: basic) else {
                return #expect(Bool(false), "A store without a service signed an offer.")
            }
            await #expect(throws: PurchaseError(.unsupported)) { try await store.offerEligibility() }
        }
    }

    @Test(arguments: [
        (501, "unsupported", PurchaseError.Code.unsupported, true), (404, "unknown_offer", .protocolError, true),
        (409, "not_eligible", .protocolError, false), (401, "missing_customer_token", .invalidKey, false),
    ])
    func `a server that does not sign the offer leaves it to other plugins, and a refusal is an error`(
        status: Int, code: String, error: PurchaseError.Code, isLeft: Bool
    ) async throws {
        let problem = HTTPProblem(status: status, code: code, title: "Refused", detail: "No.")
        let service = SigningService(error: PurchaseError(error, underlying: problem))
        try await signing(service) { plugin, _ in
            switch await plugin.getPromotionalOffer(for: half, product: basic) {
            case .success: Issue.record("The offer was signed.")
            case .notSupported: #expect(isLeft)
            case .failure(let failure): #expect(!isLeft && (failure as? PurchaseError)?.code == error)
            }
        }
    }

    // MARK: - Promoted purchases

    /// Opens a store that postpones all promoted purchases, with a purchase client.
    private func withPostponedPurchase(
        _ body: (Store, PurchaseClient, inout AsyncStream<PromotedPurchaseRequest>.Iterator) async throws -> Void
    ) async throws {
        var configuration = test.configuration()
        configuration.promotedPurchases = { _, _, _ in .postpone }
        let store = try await test.open(configuration)
        test.connection.promote("pack")
        try await until("the purchase is postponed") { !store.postponedPurchases.isEmpty }
        let client = PurchaseClient()
        try await client.setup(with: [InAppStorePurchasePlugin(store: store)])
        var promotions = client.promotedPurchases.makeAsyncIterator()
        try await body(store, client, &promotions)
        await client.close()
        await store.close()
    }

    @Test func `the client offers postponed purchases, also those from before its setup`() async throws {
        try await withPostponedPurchase { store, _, promotions in
            let pack = try #require(await promotions.next())
            #expect(pack.product == Product(try #require(Fixture.products.first { $0.id == "pack" })))
            test.connection.promote("coins", offer: .winBack("back"))
            let coins = try #require(await promotions.next())
            #expect(
                test.connection.payments.isEmpty, "A postponed purchase must not be paid before the app continues it.")
            async let one = coins.purchase()
            async let other = coins.purchase()
            let (first, second) = try await (one, other)
            #expect(first.transaction != nil && first.transaction == second.transaction)
            #expect(test.connection.payments.map(\.productID) == ["coins"])
            #expect(test.connection.payments.map(\.offer) == [.winBack("back")])
            #expect(store.postponedPurchases.map(\.productID) == ["pack"])
        }
    }

    @Test func `a postponed purchase is continued once, by the store or by the client`() async throws {
        try await withPostponedPurchase { store, _, promotions in
            let pack = try #require(await promotions.next())
            try await store.continuePurchase("pack")
            await #expect(throws: PurchaseError(.invalidProductForPurchasing, "")) { try await pack.purchase() }
            test.connection.promote("coins")
            let coins = try #require(await promotions.next())
            _ = try await coins.purchase()
            await #expect(throws: PurchaseError(.invalidProductForPurchasing, "")) {
                try await store.continuePurchase("coins")
            }
            #expect(test.connection.payments.map(\.productID) == ["pack", "coins"])
        }
    }

    @Test func `a promoted purchase that begins again is offered again, and bought once`() async throws {
        try await withPostponedPurchase { _, _, promotions in
            let first = try #require(await promotions.next())
            test.connection.promote("pack")
            let second = try #require(await promotions.next())
            _ = try await second.purchase()
            await #expect(throws: PurchaseError(.invalidProductForPurchasing, "")) { try await first.purchase() }
            #expect(test.connection.payments.map(\.productID) == ["pack"])
        }
    }

    @Test func `a promoted purchase that continues by itself is not offered by the client`() async throws {
        let store = try await test.open()
        let client = PurchaseClient()
        try await client.setup(with: [InAppStorePurchasePlugin(store: store)])
        var promotions = client.promotedPurchases.makeAsyncIterator()
        var completed = store.completedTransactions.makeAsyncIterator()
        test.connection.promote("coins")
        #expect(await completed.next()?.productID == "coins")
        await client.close()
        #expect(await promotions.next() == nil)
        await store.close()
    }

    @Test func `an error that an unreachable store caused is retryable`() {
        let failure = StoreFailure(code: .unreachable, reason: "Nobody is there.")
        let errors: [any Error] = [
            failure, ProductRequestError.requestFailed(error: failure),
            PurchaseError(
                .productsMetadataFetchingFailed, "No prices.",
                underlying: ProductRequestError.requestFailed(error: failure)),
            PurchaseError(
                .restorePurchasesFailed, "No.", underlying: PaymentError(.storeFailed, "No.", underlying: failure)),
        ]
        for error in errors {
            let translated = InAppStorePurchasePlugin.purchaseError(error) as? PurchaseError
            #expect(translated == PurchaseError(.unreachable) && translated?.isRetryable == true, "\(error)")
        }
        let refused = PurchaseError(
            .purchaseFailed, "No.", underlying: StoreFailure(code: .unknown, reason: "The store's own fault."))
        #expect(InAppStorePurchasePlugin.purchaseError(refused) as? PurchaseError == refused)
    }
}

/// Signs every offer with the same signature, or fails.
private final class SigningService: OfferService {
    static let signature = OfferSignature(keyID: "K", nonce: UUID(), timestamp: 1_767_225_600_123, signature: [1, 2])

    let calls = CallLog<String>()
    private let error: PurchaseError?

    init(error: PurchaseError? = nil) { self.error = error }

    func sign(offer offerID: String, of product: ProductID, for customer: CustomerID) async throws -> SignedOffer {
        calls.record("\(offerID) of \(product) for \(customer)")
        if let error { throw error }
        return SignedOffer(
            productID: product, offerID: offerID, appAccountToken: customer.appAccountToken,
            signature: Self.signature, compactJWS: "a.b.c")
    }

    func offerEligibility(of customer: CustomerID, for product: ProductID?) async throws -> OfferEligibilityAnswer {
        OfferEligibilityAnswer(customer: customer, environment: .sandbox, asOf: Fixture.start, products: [])
    }
}
