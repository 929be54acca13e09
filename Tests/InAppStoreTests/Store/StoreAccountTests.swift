import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

/// The App Store's services to its customers, besides purchases.
@Suite(.timeLimit(.minutes(2)))
struct StoreAccountTests {
    private let test = StoreTestContext()

    /// `pro.monthly` has an introductory offer, `basic.monthly` has none.
    private func setTerms() {
        let offer = Offer(paymentMode: .freeTrial, period: .weeks(1), displayPrice: "$0.00", displayPeriod: "1 week")
        test.connection.set(
            products: Fixture.products.map { product in
                var product = product
                guard product.kind == .autoRenewableSubscription else { return product }
                product.subscription = SubscriptionTerms(
                    groupID: "g", level: 1, period: .months(1), displayPeriod: "1 month",
                    introductoryOffer: product.id == "pro.monthly" ? offer : nil)
                return product
            })
    }

    @Test func `subscriptions are managed and refunds are requested at the App Store`() async throws {
        let store = try await test.open()
        try await store.showManageSubscriptions()
        try await store.showManageSubscriptions(subscriptionGroupID: "g")
        #expect(try await store.beginRefundRequest(for: "7") == .success)
        test.connection.set(refundAnswer: .userCancelled)
        #expect(try await store.beginRefundRequest(for: "7") == .userCancelled)
        #expect(try await store.appTransaction() == "signed.app")
        let asked: Set<ScriptedStoreConnection.Call> = [
            .showManageSubscriptions(nil), .showManageSubscriptions("g"), .beginRefundRequest("7"), .appTransaction,
        ]
        #expect(asked.isSubset(of: test.connection.calls.all))
        await store.close()
    }

    @Test func `the App Store decides on eligibility for an introductory offer, if the product has one`() async throws {
        setTerms()
        let store = try await test.open()
        #expect(try await !store.isEligibleForIntroductoryOffer("pro.monthly"))
        test.connection.set(eligibleGroups: ["g"])
        #expect(try await store.isEligibleForIntroductoryOffer("pro.monthly"))
        #expect(try await !store.isEligibleForIntroductoryOffer("basic.monthly"))
        #expect(try await !store.isEligibleForIntroductoryOffer("pack"))
        await #expect(throws: PurchaseError(.invalidProductIdentifier, "")) {
            try await store.isEligibleForIntroductoryOffer("unheard.of")
        }
        await store.close()
    }

    @Test func `an offer has its price and period in the format of the storefront`() async throws {
        setTerms()
        let store = try await test.open()
        let terms = try await store.fetchProductsInfo(["pro.monthly"])["pro.monthly"]?.subscription
        #expect(terms?.displayPeriod == "1 month")
        #expect(terms?.introductoryOffer?.displayPrice == "$0.00")
        #expect(terms?.introductoryOffer?.displayPeriod == "1 week")
        await store.close()
    }

    @Test func `each refusal is an error with the App Store's reason`() async throws {
        setTerms()
        let store = try await test.open()
        _ = try await store.productList()
        for (failure, isUnsupported) in [
            (StoreFailure.Code.unsupported, true), (.duplicateRefundRequest, false), (.unreachable, false),
        ] {
            test.connection.before { call in
                if case .products = call { return }
                throw StoreFailure(code: failure, reason: "The store's own words.")
            }
            let errors = [
                (
                    await #expect(throws: PurchaseError.self) { try await store.showManageSubscriptions() },
                    PurchaseError.Code.manageSubscriptionsFailed
                ),
                (
                    await #expect(throws: PurchaseError.self) { try await store.beginRefundRequest(for: "7") },
                    .refundRequestFailed
                ),
                (
                    await #expect(throws: PurchaseError.self) {
                        try await store.isEligibleForIntroductoryOffer("pro.monthly")
                    }, .offerEligibilityFailed
                ),
                (await #expect(throws: PurchaseError.self) { try await store.appTransaction() }, .appTransactionFailed),
            ]
            for (error, code) in errors {
                #expect(error?.code == (isUnsupported ? .unsupported : code))
                #expect(error?.reason == "The store's own words.")
            }
        }
        await store.close()
    }
}
