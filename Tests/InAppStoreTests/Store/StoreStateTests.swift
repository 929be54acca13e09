import Foundation
import StoreModel
import Testing

@testable import InAppStore

struct StoreStateTests {
    private let start = Fixture.start
    private let end = Fixture.start + Fixture.month
    private let week: TimeInterval = 7 * 86400

    private func state(
        _ customer: Customer?, acquired: Set<ProductID> = [], list: ProductList = Fixture.list
    ) -> StoreState {
        StoreState(
            list: list, owner: .init(customer: "anna", isAnonymous: false),
            answer: customer.map { .init(customer: $0, receivedAt: $0.asOf) },
            acquiredViaSubscription: acquired)
    }

    // MARK: - Allowed products

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var subscriptions: [CustomerSubscription] = []
        var purchases: [CustomerPurchase] = []
        var acquired: Set<ProductID> = []
        var allowed: Set<String>
    }

    @Test(arguments: [
        Row(testDescription: "nothing is known", allowed: []),
        Row(testDescription: "bought", purchases: [Fixture.purchase("pack")], allowed: ["pack"]),
        Row(
            testDescription: "a revoked purchase",
            purchases: [Fixture.purchase("pack", revoked: Fixture.start)], allowed: []),
        Row(
            testDescription: "a consumable is used up", purchases: [Fixture.purchase("coins", kind: .consumable)],
            allowed: []),
        Row(
            testDescription: "a subscription alone allows nothing", subscriptions: [Fixture.subscription()], allowed: []
        ),
        Row(
            testDescription: "acquired products with a subscription", subscriptions: [Fixture.subscription()],
            acquired: ["film.noir", "lens.macro"], allowed: ["film.noir", "lens.macro"]),
        Row(
            testDescription: "a discount is the same subscription",
            subscriptions: [Fixture.subscription("pro.monthly.half")], acquired: ["film.noir"],
            allowed: ["film.noir"]),
        Row(
            testDescription: "a subscription for some products enables them by prefix",
            subscriptions: [Fixture.subscription("basic.monthly")], acquired: ["film.noir", "lens.macro"],
            allowed: ["film.noir"]),
        Row(
            testDescription: "an unknown subscription enables everything",
            subscriptions: [Fixture.subscription("old.yearly")], acquired: ["film.noir", "pack"],
            allowed: ["film.noir", "pack"]),
        Row(
            testDescription: "an acquired subscription is not allowed", subscriptions: [Fixture.subscription()],
            acquired: ["basic.monthly"], allowed: []),
        Row(
            testDescription: "expired: only bought products",
            subscriptions: [Fixture.subscription(until: Fixture.start, state: .expired)],
            purchases: [Fixture.purchase("pack")], acquired: ["film.noir"], allowed: ["pack"]),
        Row(
            testDescription: "revoked: only bought products",
            subscriptions: [Fixture.subscription(revoked: Fixture.start, state: .revoked)],
            purchases: [Fixture.purchase("pack")], acquired: ["film.noir"], allowed: ["pack"]),
        Row(
            testDescription: "of two subscriptions the active one counts",
            subscriptions: [
                Fixture.subscription("pro.monthly", until: Fixture.start, original: "1", state: .expired),
                Fixture.subscription("basic.monthly", original: "2"),
            ], acquired: ["film.noir", "lens.macro"], allowed: ["film.noir"]),
    ])
    func `bought products, and acquired ones that a subscription enables, are allowed`(_ row: Row) {
        let customer = Fixture.customer(subscriptions: row.subscriptions, purchases: row.purchases)
        let snapshot = state(customer, acquired: row.acquired).snapshot(at: start)
        #expect(snapshot.allowedProducts == row.allowed)
        #expect(snapshot.acquiredProducts == snapshot.purchasedProducts.union(row.acquired.map(\.rawValue)))
    }

    @Test func `pre-acquired products are allowed from the start`() {
        let list = ProductList([
            ListedProduct(id: "grain", productType: .nonConsumable, preAcquired: true),
            ListedProduct(
                id: "content", productType: .nonConsumable, contentFetcherParameters: ["type": "any"]),
        ])
        let snapshot = state(nil, list: list).snapshot(at: start)
        #expect(snapshot.allowedProducts == ["grain"])
        #expect(snapshot.downloadedContentProducts == ["grain"])
        #expect(snapshot.receiptValidationStatus == nil)
    }

    @Test func `a bought discount counts as the product at full price`() {
        let list = ProductList([
            ListedProduct(id: "pack", productType: .nonConsumable, discountedProducts: ["pack.half"]),
            ListedProduct(id: "pack.half", productType: .nonConsumable, fullPriceProduct: "pack"),
        ])
        let customer = Fixture.customer(purchases: [Fixture.purchase("pack.half")])
        #expect(state(customer, list: list).snapshot(at: start).purchasedProducts == ["pack"])
    }

    // MARK: - Time

    /// Returns whether the customer has access to the acquired product. Expects the same of the subscription and the
    /// feature.
    private func hasAccess(_ state: StoreState, at now: Date) -> Bool {
        let snapshot = state.snapshot(at: now)
        let access = snapshot.allowedProducts.contains("film.noir")
        #expect(snapshot.subscriptionInfo?.isExpired == !access)
        #expect(snapshot.features.first?.isActive == access)
        #expect(
            PaidFeatures(state.customer(at: now) ?? Fixture.customer()).hasActiveFeature(with: "pro", at: now) == access
        )
        return access
    }

    @Test func `in the sandbox access ends at the instant of expiry, without a grace period`() {
        let state = state(Fixture.customer(subscriptions: [Fixture.subscription()]), acquired: ["film.noir"])
        #expect(hasAccess(state, at: end - 0.001))
        #expect(!hasAccess(state, at: end))
        #expect(!hasAccess(state, at: end + 1))
    }

    @Test func `in production access continues for the grace period without an answer`() {
        let customer = Fixture.customer(environment: .production, subscriptions: [Fixture.subscription()])
        let state = state(customer, acquired: ["film.noir"])
        #expect(hasAccess(state, at: end - 0.001))
        #expect(hasAccess(state, at: end))
        #expect(hasAccess(state, at: end + week - 0.001))
        #expect(!hasAccess(state, at: end + week))
        #expect(state.nextChange(after: end) == end + week)
    }

    @Test func `a subscription with unknown auto-renewal has a grace period`() {
        let customer = Fixture.customer(
            environment: .production, subscriptions: [Fixture.subscription(renews: nil)])
        #expect(hasAccess(state(customer, acquired: ["film.noir"]), at: end + week - 1))
    }

    @Test(arguments: [
        Fixture.subscription(renews: false), Fixture.subscription(revoked: Fixture.start),
        Fixture.subscription(revoked: nil, state: .revoked),
    ])
    func `a subscription without auto-renewal, or a revoked one, has no grace period`(
        _ subscription: CustomerSubscription
    ) {
        let customer = Fixture.customer(environment: .production, subscriptions: [subscription])
        #expect(state(customer).snapshot(at: end).subscriptionInfo?.isExpired == true)
        #expect(state(customer).snapshot(at: end + 1).subscriptionInfo?.isExpired == true)
    }

    @Test func `a subscription that the server reports as expired has no grace period`() {
        let later = end + 86400
        let customer = Fixture.customer(
            environment: .production, asOf: later, validUntil: later + 3600,
            subscriptions: [Fixture.subscription(state: .expired)])
        let state = state(customer, acquired: ["film.noir"])
        #expect(!hasAccess(state, at: later))
        #expect(state.isStale(at: later + 3600))
        #expect(!hasAccess(state, at: later + 3600))
    }

    @Test func `while an answer is valid there is no grace period`() {
        let customer = Fixture.customer(
            environment: .production, validUntil: end + 3600, subscriptions: [Fixture.subscription()])
        let state = state(customer, acquired: ["film.noir"])
        #expect(!hasAccess(state, at: end))
        #expect(hasAccess(state, at: end + 3600), "The answer is no longer valid, so the grace period applies.")
    }

    @Test func `failed requests take no unexpired entitlement away`() {
        var state = state(
            Fixture.customer(
                validUntil: start + 60, subscriptions: [Fixture.subscription()], purchases: [Fixture.purchase("pack")],
                features: [
                    CustomerFeature(name: "gift", isActive: true, from: start, source: .grant, because: "granted")
                ]), acquired: ["film.noir"])
        state.answer?.failingSince = start + 60
        state.failures = 100
        state.lastFailure = end - 2
        let snapshot = state.snapshot(at: end - 1)
        #expect(snapshot.allowedProducts == ["film.noir", "pack"])
        #expect(snapshot.features.filter(\.isActive).count == 2)
        let years = state.snapshot(at: end + 5 * 365 * 86400)
        #expect(years.allowedProducts == ["pack"])
        #expect(years.features.filter(\.isActive).map(\.name) == ["gift"])
        #expect(years.receiptValidationStatus?.failingSince == start + 60)
    }

    // MARK: - Requests to the server

    @Test func `the server is asked at once, when its answer becomes invalid, and after 14 days at the latest`() {
        #expect(state(nil).nextRefresh == .distantPast)
        let ending = Fixture.customer(validUntil: start + 60)
        #expect(state(ending).nextRefresh == start + 60)
        #expect(state(Fixture.customer(validUntil: .some(nil))).nextRefresh == start + 14 * 86400)
        #expect(state(Fixture.customer(validUntil: start + 90 * 86400)).nextRefresh == start + 14 * 86400)
    }

    @Test func `after an answer that is already outdated the store pauses before the next request`() {
        #expect(state(Fixture.customer(validUntil: start - 5)).nextRefresh == start + 60)
    }

    @Test func `failures are followed by growing pauses, up to six hours`() {
        var state = state(nil)
        state.lastFailure = start
        let pauses = (1...12).map { failures in
            state.failures = failures
            return state.nextRefresh.timeIntervalSince(start)
        }
        #expect(pauses == [60, 120, 240, 480, 960, 1920, 3840, 7680, 15360, 21600, 21600, 21600])
    }
}
