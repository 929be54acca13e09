import BaseTestSupport
import Foundation
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

/// The effective subscription of several apps, and the access that it gives.
struct MultiAppSubscriptionTests {
    private let start = Fixture.start
    private let month = Fixture.month

    private func state(
        own: [CustomerSubscription]?, _ siblings: SharedUserInfo..., environment: StoreEnvironment = .production
    ) -> StoreState {
        var state = StoreState(list: Fixture.list, owner: .init(customer: "anna", isAnonymous: false))
        state.acquiredViaSubscription = ["film.noir", "lens.macro"]
        state.answer = own.map { subscriptions in
            StoreState.Answer(
                customer: Fixture.customer(
                    environment: environment, subscriptions: subscriptions, purchases: [Fixture.purchase("pack")]),
                receivedAt: start)
        }
        state.application = "com.example.this"
        state.siblings = Dictionary(uniqueKeysWithValues: siblings.map { ($0.application, $0) })
        return state
    }

    private func sibling(
        _ application: BundleID = "com.example.other", _ product: ProductID = "suite_all", until end: Date,
        revoked: Date? = nil, environment: StoreEnvironment = .production
    ) -> SharedUserInfo {
        let subscription = Fixture.subscription(product, until: end, original: "900", revoked: revoked)
        return SharedUserInfo(
            application: application, environment: environment, validatedAt: start - 60,
            subscriptions: [SharedSubscription(subscription, accessUntil: min(end, revoked ?? end))])
    }

    private func effectiveSubscription(_ state: StoreState) -> SubscriptionInfo? {
        state.snapshot(at: start).subscriptionInfo
    }

    @Test func `the active subscription that ends last counts`() {
        let own = Fixture.subscription(until: start + 90)
        let state = state(
            own: [own], sibling(until: start + 120), sibling("com.example.another", "another_all", until: start + 60))
        #expect(effectiveSubscription(state)?.productID == "suite_all")
        #expect(effectiveSubscription(state)?.isExpired == false)
        #expect(
            state.snapshot(at: start).receiptValidationStatus?.validatedAt == start,
            "The app's own status must not change.")
    }

    @Test func `without an active subscription the one that expired or was revoked last counts`() {
        let own = Fixture.subscription(until: start - 10, renews: false, revoked: start - 10)
        let state = state(
            own: [own], sibling(until: start + 20, revoked: start - 30),
            sibling("com.example.another", "another_all", until: start - 40, revoked: start + 30))
        #expect(effectiveSubscription(state)?.productID == "pro.monthly")
        #expect(effectiveSubscription(state)?.isExpired == true)
    }

    @Test func `a sibling's active subscription counts before an own revoked one with a later expiry`() {
        let own = Fixture.subscription(until: start + 120, revoked: start - 1, state: .revoked)
        #expect(effectiveSubscription(state(own: [own], sibling(until: start + 90)))?.productID == "suite_all")
    }

    @Test func `of two subscriptions with the same end the app's own counts`() {
        let state = state(own: [Fixture.subscription(until: start + 90)], sibling(until: start + 90))
        #expect(effectiveSubscription(state)?.productID == "pro.monthly")
    }

    @Test func `without an own status a sibling's subscription gives a production status`() {
        let state = state(own: nil, sibling(until: start + month, environment: .sandbox))
        let snapshot = state.snapshot(at: start)
        #expect(
            snapshot.receiptValidationStatus
                == ReceiptValidationStatus(environment: .production, validatedAt: start - 60))
        #expect(snapshot.subscriptionInfo?.productID == "suite_all")
        #expect(snapshot.allowedProducts == ["film.noir", "lens.macro"])
        #expect(snapshot.purchasedProducts.isEmpty && snapshot.features.isEmpty)
    }

    @Test func `without an own status the sibling's subscription that has not ended counts`() {
        let state = state(
            own: nil, sibling(until: start - 1), sibling("com.example.another", "another_all", until: start + 1))
        #expect(effectiveSubscription(state)?.productID == "another_all")
    }

    @Test func `without an own status the sibling's subscription that was not revoked counts`() {
        let state = state(
            own: nil, sibling(until: start + month, revoked: start - 1),
            sibling("com.example.another", "another_all", until: start + 1))
        #expect(effectiveSubscription(state)?.productID == "another_all")
    }

    @Test func `without a subscription and an answer there is no status`() {
        let snapshot = state(own: nil).snapshot(at: start)
        #expect(snapshot.subscriptionInfo == nil && snapshot.receiptValidationStatus == nil)
        #expect(snapshot.allowedProducts.isEmpty)
    }

    @Test func `a sibling's unlisted subscription enables all acquired products`() {
        let state = state(own: [], sibling(until: start + month))
        #expect(state.snapshot(at: start).allowedProducts == ["pack", "film.noir", "lens.macro"])
    }

    @Test func `a sibling's listed subscription enables the products in the list`() {
        let state = state(own: [], sibling("com.example.other", "basic.monthly", until: start + month))
        #expect(state.snapshot(at: start).allowedProducts == ["pack", "film.noir"])
    }

    @Test func `the products of a sibling's subscription are allowed until its end`() {
        let end = start + month
        let state = state(own: [], sibling(until: end))
        #expect(state.nextChange(after: start) == end)
        #expect(state.snapshot(at: end - 0.001).allowedProducts == ["pack", "film.noir", "lens.macro"])
        #expect(state.snapshot(at: end).allowedProducts == ["pack"])
        #expect(state.snapshot(at: end).subscriptionInfo?.isExpired == true)
    }

    @Test func `a sibling's subscription of a test environment does not count for customers of production`() {
        let free = sibling(until: start + month, environment: .sandbox)
        #expect(effectiveSubscription(state(own: [], free)) == nil)
        #expect(effectiveSubscription(state(own: [], free, environment: .sandbox))?.productID == "suite_all")
    }

    @Test func `each app that shares information has a status`() {
        let snapshot = state(own: [], sibling(until: start + month)).snapshot(at: start)
        #expect(
            snapshot.multiAppReceiptValidationStatus == [
                "com.example.this": ReceiptValidationStatus(environment: .production, validatedAt: start),
                "com.example.other": ReceiptValidationStatus(environment: .production, validatedAt: start - 60),
            ])
    }

    // MARK: - Shared information

    private let app: BundleID = "com.example.this"

    @Test func `all active subscriptions are shared with their grace period, the latest end first`() throws {
        let short = Fixture.subscription("basic.monthly", until: start + 60, original: "1", renews: false)
        let long = Fixture.subscription(until: start + month, original: "2")
        let ended = Fixture.subscription("old", until: start - 60, original: "3", state: .expired)
        let reported = try #require(state(own: [short, long, ended]).sharedUserInfo(of: app))
        #expect(reported.subscriptions.map(\.subscription) == [long, short])
        #expect(reported.subscriptions.map(\.accessUntil) == [start + month + 7 * 86400, start + 60])
    }

    @Test func `outside production no grace period is shared`() throws {
        let reported = try #require(
            state(own: [Fixture.subscription()], environment: .sandbox).sharedUserInfo(of: app))
        #expect(reported.subscriptions.map(\.accessUntil) == [start + month])
    }

    @Test func `while the server is unreachable the shared grace period ends with the offline time to live`() throws {
        var state = state(own: [Fixture.subscription(until: start + 63 * 86400)])
        state.answer?.failingSince = start + 5 * 86400
        let reported = try #require(state.sharedUserInfo(of: app))
        #expect(reported.subscriptions.map(\.accessUntil) == [start + 65 * 86400])
    }

    @Test func `if all subscriptions have ended, the last one is shared as ended`() throws {
        let revoked = Fixture.subscription("gone", until: start + 90, revoked: start - 5, state: .revoked)
        let ended = Fixture.subscription("old", until: start - 60, original: "3", state: .expired)
        let reported = try #require(state(own: [ended, revoked]).sharedUserInfo(of: app))
        #expect(reported.subscriptions.map(\.subscription.productID) == ["gone"])
        #expect(!reported.isSubscriber(at: start))
    }

    @Test func `information of siblings and provisional purchases are not shared`() throws {
        let found = VerifiedTransaction(
            id: "7", productID: "pro.monthly", kind: .autoRenewableSubscription, purchaseDate: start,
            expiresDate: start + 2 * month)
        let transaction = ScriptedStoreConnection.transaction("7", "pro.monthly")
        let purchase = try #require(ProvisionalPurchase(found, of: transaction, for: "anna", at: start))
        var known = state(own: [], sibling(until: start + month))
        known.provisional = [purchase]
        #expect(
            effectiveSubscription(known)?.productID == "pro.monthly", "The provisional purchase must count in this app."
        )
        #expect(try #require(known.sharedUserInfo(of: app)).subscriptions.isEmpty)
        var unknown = state(own: nil, sibling(until: start + month))
        unknown.provisional = [purchase]
        #expect(unknown.sharedUserInfo(of: app) == nil)
    }

    // MARK: - Effective subscription

    @Test(arguments: [
        ("com.lt.foo_GroupName_A.MultiApp.B_Discount", true), ("com.lt.foo_GroupName_A.MultiApp", true),
        ("com.lt.foo.MultiApp.Monthly", true), ("com.lt.foo_GroupName_SingleApp", false),
        ("com.lt.foo_GroupName_MultiApps.Monthly", false), ("com.lt.foo_GroupName_multiapp", false),
    ])
    func `a marker is a whole word of the identifier`(product: ProductID, counts: Bool) {
        #expect(ServiceLevelMarkerClassifier(marker: "MultiApp").isMultiAppSubscription(product) == counts)
        #expect(ServiceLevelMarkerClassifier(marker: ".MultiApp.").isMultiAppSubscription(product) == counts)
    }

    @Test func `a marker of several words matches them in a row, and one without words matches nothing`() {
        let full = ServiceLevelMarkerClassifier(marker: "All.Apps")
        #expect(full.isMultiAppSubscription("com.example_All.Apps.Monthly"))
        #expect(!full.isMultiAppSubscription("com.example_All.My.Apps"))
        #expect(!ServiceLevelMarkerClassifier(marker: "._").isMultiAppSubscription("a.b"))
    }
}
