import BaseTestSupport
import Foundation
import GooglePlay
import Primitives
import SignedData
import StoreModel
import Testing

@testable import EntitlementServer

@Suite struct PlayReadingTests {
    private typealias Subscription = AndroidPublisher.SubscriptionPurchaseV2
    private typealias Product = AndroidPublisher.ProductPurchaseV2

    private let start = ManualClock().now()
    private func day(_ days: Double) -> Date { start.addingTimeInterval(days * 86400) }

    // MARK: - States

    struct Expected: Sendable {
        let state: AndroidPublisher.SubscriptionState
        /// The day of Google's expiry time.
        let expiry: Double
        let answer: CustomerSubscription.State
        let isActive: Bool
        let because: String
    }

    /// The states that give a fact, at day 31 of a subscription that was paid until day 30.
    static let states = [
        Expected(
            state: .active, expiry: 60, answer: .active, isActive: true, because: "active subscription, renews"),
        Expected(
            state: .inGracePeriod, expiry: 37, answer: .inGracePeriod, isActive: true,
            because: "payment failed, within the store's grace period"),
        Expected(
            state: .onHold, expiry: 30, answer: .inBillingRetry, isActive: false,
            because: "payment failed, the store is still trying"),
        Expected(state: .paused, expiry: 30, answer: .paused, isActive: false, because: "paused by the customer"),
        Expected(
            state: .canceled, expiry: 60, answer: .active, isActive: true,
            because: "active subscription, does not renew"),
        Expected(state: .expired, expiry: 30, answer: .expired, isActive: false, because: "subscription expired"),
    ]

    @Test(arguments: states)
    func `each state gives the access that Google states`(expected: Expected) throws {
        let fetch = try PlayFetch(
            Subscription.plus(from: start, days: expected.expiry) {
                $0.subscriptionState = expected.state
                $0.item.autoRenewingPlan?.autoRenewEnabled = expected.state == .canceled ? nil : true
            }, order: .paid("GPA.1", from: start, to: day(30)), at: day(31))
        let answer = try fetch.answer(at: day(31))
        let subscription = try #require(answer.subscriptions.first)
        let feature = try #require(answer.features.first)
        #expect(subscription.state == expected.answer)
        #expect(feature.isActive == expected.isActive)
        #expect(feature.because == expected.because)
        #expect(subscription.source == .googlePlay && subscription.startedAt == start)
        #expect(subscription.effectiveUntil == day(expected.expiry))
        let ends = try fetch.answer(at: day(expected.expiry)).features.allSatisfy { !$0.isActive }
        #expect(ends)
    }

    @Test func `a pending and a cancelled pending purchase are no facts`() throws {
        for state in [AndroidPublisher.SubscriptionState.pending, .pendingPurchaseCanceled] {
            let fetch = try PlayFetch(
                Subscription.plus(from: start) {
                    $0.subscriptionState = state
                    $0.startTime = nil
                    $0.item.expiryTime = nil
                }, at: start)
            if case .purchased = try fetch.reading() { Issue.record("\(state)") }
        }
        for state in [AndroidPublisher.PurchaseState.pending, .cancelled] {
            let fetch = try PlayFetch(
                Product.coins(at: start) {
                    $0.purchaseStateContext?.purchaseState = state
                    $0.purchaseCompletionTime = nil
                }, at: start)
            if case .purchased = try fetch.reading() { Issue.record("\(state)") }
        }
    }

    @Test func `a grace period without an order is in its grace period until its end`() throws {
        let fetch = try PlayFetch(
            Subscription.plus(from: start, days: 37) { $0.subscriptionState = .inGracePeriod }, at: day(31))
        let answer = try fetch.answer(at: day(31))
        #expect(answer.subscriptions[0].state == .inGracePeriod && answer.subscriptions[0].gracePeriodUntil == day(37))
        #expect(answer.validUntil == day(37))
        let over = try fetch.answer(at: day(37)).features[0].isActive
        #expect(!over)
    }

    @Test func `the end of the paid time comes from the order of a grace period`() throws {
        let fetch = try PlayFetch(
            Subscription.plus(from: start, days: 37) { $0.subscriptionState = .inGracePeriod },
            order: .paid("GPA.1", from: start, to: day(30)), at: day(31))
        let subscription = try fetch.answer(at: day(31)).subscriptions[0]
        #expect(subscription.expiresAt == day(30) && subscription.gracePeriodUntil == day(37))
    }

    // MARK: - Plans and offers

    @Test func `trials, introductory prices and prorated periods have the price that was paid`() throws {
        func answer(
            _ cents: Int64?, _ phase: (inout AndroidPublisher.OfferPhase) -> Void
        ) throws -> CustomerSubscription {
            try PlayFetch(
                Subscription.plus(from: start) {
                    $0.item.offerDetails?.offerId = "welcome"
                    $0.item.offerPhase = AndroidPublisher.OfferPhase(phase)
                }, order: cents.map { .paid("GPA.1", from: start, to: day(30), cents: $0) }, at: start
            ).answer(at: start).subscriptions[0]
        }
        let presence = AndroidPublisher.Presence()
        let trial = try answer(nil) { $0.freeTrial = presence }
        #expect(trial.isTrial && trial.price == Price(amount: 0, currency: "USD"))
        let introductory = try answer(199) { $0.introductoryPrice = presence }
        #expect(introductory.isIntroductory && introductory.price == Price(amount: Decimal(199) / 100, currency: "USD"))
        #expect(try answer(nil) { $0.introductoryPrice = presence }.price == nil)
        #expect(try answer(nil) { $0.prorationPeriod = .init() }.price == nil)
        let usual = try answer(nil) { $0.basePrice = presence }
        #expect(usual.price == Price(amount: Decimal(499) / 100, currency: "USD"))
        let fact = try PlayFetch(
            Subscription.plus(from: start) {
                $0.item.offerDetails?.offerId = "welcome"
                $0.item.offerPhase = AndroidPublisher.OfferPhase { $0.freeTrial = presence }
            }, at: start
        ).purchase().transaction
        #expect(fact.offerType == 1 && fact.offerIdentifier == "welcome")
    }

    @Test func `a prepaid plan does not renew, and a short one must be acknowledged sooner`() throws {
        func prepaid(_ days: Double) throws -> PlayFetch {
            try PlayFetch(
                Subscription.plus(from: start, days: days) {
                    $0.item.autoRenewingPlan = nil
                    $0.item.prepaidPlan = AndroidPublisher.PrepaidPlan()
                }, at: start)
        }
        let subscription = try prepaid(30).answer(at: start).subscriptions[0]
        #expect(subscription.autoRenews == false && subscription.renewsTo == nil)
        #expect(try prepaid(30).purchase().acknowledgeBy == day(3))
        #expect(try prepaid(1).purchase().acknowledgeBy == day(0.5))
    }

    @Test func `instalments that are to be cancelled are billed until the commitment ends`() throws {
        func answer(pending: Bool) throws -> CustomerFeature {
            try PlayFetch(
                Subscription.plus(from: start) {
                    $0.item.autoRenewingPlan?.installmentDetails = AndroidPublisher.InstallmentPlan {
                        $0.remainingCommittedPaymentsCount = 2
                        $0.pendingCancellation = pending ? AndroidPublisher.Presence() : nil
                    }
                }, at: start
            ).answer(at: start).features[0]
        }
        #expect(try answer(pending: false).because == "active subscription, renews")
        let cancelled = try answer(pending: true).because
        #expect(cancelled == "active subscription, is billed until its commitment ends")
    }

    @Test func `the date of a cancellation is Google's`() throws {
        func subscription(_ context: AndroidPublisher.CanceledStateContext) throws -> CustomerSubscription {
            try PlayFetch(
                Subscription.plus(from: start) {
                    $0.subscriptionState = .canceled
                    $0.canceledStateContext = context
                }, at: day(9)
            ).answer(at: day(10)).subscriptions[0]
        }
        let byUser = try subscription(
            .init { $0.userInitiatedCancellation = .init { $0.cancelTime = start.addingTimeInterval(86400) } })
        #expect(byUser.cancelledAt == day(1) && byUser.autoRenews == false)
        let byDeveloper = try subscription(.init { $0.developerInitiatedCancellation = .init() })
        #expect(byDeveloper.cancelledAt == nil && byDeveloper.autoRenews == false)
    }

    @Test func `a deferral moves the end, and a deferred replacement names the next product`() throws {
        let deferred = try PlayFetch(
            Subscription.plus(from: start, days: 45) {
                $0.item.deferredItemReplacement = .init { $0.productId = "gold" }
            }, order: .paid("GPA.1", from: start, to: day(30)), at: day(2)
        ).answer(at: day(31))
        #expect(deferred.subscriptions[0].state == .active && deferred.subscriptions[0].expiresAt == day(45))
        #expect(deferred.subscriptions[0].renewsTo == "gold")
        #expect(deferred.features[0].because == "active subscription, renews as gold")
    }

    @Test func `each subscription has its own management page`() throws {
        let answer = try PlayFetch(Subscription.plus(from: start), at: start).answer(at: start)
        #expect(
            answer.subscriptions[0].managementURL
                == "https://play.google.com/store/account/subscriptions?sku=plus&package=com.example.darkroom")
        #expect(answer.managementURL == nil)
    }

    // MARK: - Replacements and refunds

    @Test func `a replaced subscription ends at the begin of the new one, whatever Google says about it`() throws {
        for state in [AndroidPublisher.SubscriptionState.active, .onHold, .inGracePeriod, .paused, .expired] {
            let fetch = try PlayFetch(
                Subscription.plus(from: start, days: 60) { $0.subscriptionState = state }, at: day(20),
                replacedAt: day(10))
            let answer = try fetch.answer(at: day(10))
            #expect(answer.subscriptions[0].state == .expired && answer.subscriptions[0].effectiveUntil == day(10))
            #expect(answer.features.map(\.isActive) == [false])
            #expect(answer.features[0].because == "replaced by another subscription")
            #expect(try fetch.purchase().awaitsAcknowledgement == false)
        }
    }

    @Test func `the facts of both purchases name the other one, and the end of the time that was paid`() throws {
        var old = try PlayFetch(
            Subscription.plus(from: start, days: 10) { $0.subscriptionState = .expired },
            order: .paid("GPA.1", from: start, to: day(30)), at: day(11), replacedAt: day(10))
        let other = PlayFetch.original("token-2", of: FakeGooglePlay.packageName)
        let alone = old.contentDigest
        old.replacedBy = other
        #expect(old.contentDigest != alone)
        for fetch in [old, try PlayFetch(source: old.source)] {
            let fact = try fetch.purchase().transaction
            #expect(fact.replacedBy == other && fact.replaces == nil)
            #expect(fact.expiresDate == day(10) && fact.paidUntil == day(30))
        }
        let new = try PlayFetch(
            Subscription.plus(from: day(10)) { $0.linkedPurchaseToken = "token-2" },
            order: .paid("GPA.1", from: day(10), to: day(40)), at: day(11))
        let fact = try new.purchase().transaction
        #expect(fact.replaces == other && fact.replacedBy == nil && fact.paidUntil == nil)
        let summary = FactSummary.text(of: fact)
        #expect(summary.contains("\"replaces\":\"play.") && !summary.contains("token-2"))
    }

    @Test func `a refunded order of a subscription that ended is a revocation, and of a running one is not`() throws {
        let refunded = AndroidPublisher.Order.paid("GPA.1", from: start, to: day(30)) {
            $0.state = .refunded
            $0.orderHistory = .init { $0.refundEvent = .init { $0.eventTime = start.addingTimeInterval(5 * 86400) } }
        }
        let ended = try PlayFetch(
            Subscription.plus(from: start, days: 5) { $0.subscriptionState = .expired }, order: refunded, at: day(6)
        ).answer(at: day(6))
        #expect(ended.subscriptions[0].state == .revoked && ended.subscriptions[0].revokedAt == day(5))
        let running = try PlayFetch(Subscription.plus(from: start), order: refunded, at: day(6)).answer(at: day(6))
        #expect(running.subscriptions[0].state == .active)
        let other = try PlayFetch(
            Subscription.plus(from: start, days: 5, order: "GPA.1..0") { $0.subscriptionState = .expired },
            order: refunded, at: day(6)
        ).answer(at: day(6))
        #expect(other.subscriptions[0].state == .expired)
    }

    // MARK: - One-time products

    @Test func `a one-time product has its quantity, price and kind`() throws {
        let order = AndroidPublisher.Order.paid("GPA.9", "coins", from: start, to: start, cents: 297)
        func fact(isConsumable: Bool = false, _ change: (inout Product) -> Void) throws -> TransactionFact {
            try PlayFetch(
                Product.coins(at: start, quantity: 3, change), order: order, isConsumable: isConsumable, at: start
            ).purchase().transaction
        }
        let bought = try fact { _ in }
        #expect(bought.kind == .nonConsumable && bought.quantity == 3)
        #expect(bought.price == Price(amount: Decimal(99) / 100, currency: "USD"))
        #expect(try fact(isConsumable: true) { _ in }.kind == .consumable)
        #expect(try fact { $0.offer.consumptionState = .consumed }.kind == .consumable)
        let rest = try fact { $0.offer.refundableQuantity = 2 }
        #expect(rest.quantity == 2 && rest.refundedQuantity == 1)
        // A refund of everything that did not end the purchase.
        for number in [0, -1, 4, .max] {
            let all = try fact { $0.offer.refundableQuantity = number }
            #expect(all.quantity == 3 && all.refundedQuantity == 0)
        }
        let cancelled = try fact { $0.purchaseStateContext?.purchaseState = .cancelled }
        #expect(cancelled.revocationDate == start)
    }

    @Test func `a consumable awaits its consumption, and another product its acknowledgement`() throws {
        func awaits(isConsumable: Bool, _ change: (inout Product) -> Void) throws -> Bool {
            try PlayFetch(Product.coins(at: start, change), isConsumable: isConsumable, at: start).purchase()
                .awaitsAcknowledgement
        }
        #expect(try awaits(isConsumable: true) { $0.acknowledgementState = .acknowledged })
        #expect(try !awaits(isConsumable: true) { $0.offer.consumptionState = .consumed })
        #expect(try awaits(isConsumable: false) { _ in })
        #expect(try !awaits(isConsumable: false) { $0.acknowledgementState = .acknowledged })
        #expect(try !awaits(isConsumable: true) { $0.purchaseStateContext?.purchaseState = .cancelled })
    }

    // MARK: - Identity and form

    @Test func `an etag, the order of members and the date change no content, and the token is in no source`() throws {
        let purchase = Subscription.plus(from: start)
        let order = AndroidPublisher.Order.paid("GPA.1", from: start, to: day(30))
        let one = try PlayFetch(purchase, order: order, at: start)
        var tagged = purchase
        tagged.etag = "etag-2"
        let other = try PlayFetch(tagged, order: order, at: day(1))
        #expect(one.contentDigest == other.contentDigest && one.source != other.source)
        let reversed = PlayFetch(
            "token-1", of: FakeGooglePlay.packageName, .subscription, beganAt: start,
            resource: .object(
                JSONMembers(Array(one.resource.objectValue ?? [:]).reversed().map { ($0.key, $0.value) })),
            order: one.order)
        #expect(reversed.source == one.source)
        let source = String(decoding: one.source, as: UTF8.self)
        #expect(!source.contains("token-1") && !source.contains("the token of the order") && !source.contains("etag"))
        #expect(try PlayFetch(source: one.source).source == one.source)
        var later = one
        later.replacedAt = day(3)
        #expect(later.contentDigest != one.contentDigest)
        #expect(try PlayFetch(source: later.source).replacedAt == day(3))
    }

    @Test func `a purchase is identified by its package and token, and a renewal by its order`() throws {
        let id = PlayFetch.original("token-1", of: "com.example.darkroom")
        #expect(id.rawValue.hasPrefix("play.") && id.rawValue.utf8.count == 69)
        #expect(PlayFetch.original("token-1", of: "com.example.other") != id)
        #expect(PlayFetch.original("token-2", of: "com.example.darkroom") != id)
        let fetch = try PlayFetch(Subscription.plus(from: start, order: "GPA.1-2..5"), at: start)
        let facts = try fetch.facts(of: fetch.purchase(), in: .sandbox)
        #expect(facts.map(\.orderID) == ["GPA.1-2", "GPA.1-2"])
        #expect(facts[0].row.transactionID == "GPA.1-2..5" && facts.allSatisfy { $0.original == id })
        #expect(facts.allSatisfy { $0.row.source == .googlePlay } && facts[0].row.digest != facts[1].row.digest)
        let without = try PlayFetch(Subscription.plus(from: start, order: nil), at: start).purchase()
        #expect(without.transaction.id == id)
    }

    @Test func `an account is a UUID or a customer id`() throws {
        func token(_ account: String?) throws -> UUID? {
            try PlayFetch(Subscription.plus(from: start, account: account), at: start).purchase().transaction
                .appAccountToken
        }
        #expect(try token("8C1E4A1C-5B0F-4F43-9C0D-2D5C8F2F3C11") == UUID(text: "8c1e4a1c-5b0f-4f43-9c0d-2d5c8f2f3c11"))
        #expect(try token("anna") == CustomerID("anna").appAccountToken)
        #expect(try token(nil) == nil && token("") == nil)
    }

    @Test(arguments: [
        #"{}"#, #"{"lineItems": []}"#, #"{"lineItems": [{}], "startTime": "2026-01-01T00:00:00Z"}"#,
        #"{"lineItems": [{"productId": "", "expiryTime": "2026-01-01T00:00:00Z"}], "startTime": "2026-01-01T00:00:00Z"}"#,
        #"{"lineItems": [{"productId": "plus", "expiryTime": "never"}], "startTime": "2026-01-01T00:00:00Z"}"#,
        #"{"lineItems": [{"productId": "plus", "expiryTime": "2026-01-01T00:00:00Z"}]}"#, #"{"lineItems": 7}"#,
    ])
    func `a subscription without what it must have is refused`(text: String) throws {
        let fetch = PlayFetch(
            "token-1", of: FakeGooglePlay.packageName, .subscription, beganAt: start,
            resource: try JSONValue(parsing: text))
        let error = #expect(throws: SignedDataError.self) { try fetch.reading() }
        #expect(error?.code == .payloadMalformed)
    }

    @Test(arguments: [
        #"{}"#, #"{"purchaseStateContext": {"purchaseState": "SOLD"}}"#,
        #"{"purchaseStateContext": {"purchaseState": "PURCHASED"}}"#,
        #"{"purchaseStateContext": {"purchaseState": "PURCHASED"}, "purchaseCompletionTime": "2026-01-01T00:00:00Z"}"#,
        """
        {"purchaseStateContext": {"purchaseState": "PURCHASED"}, "purchaseCompletionTime": "2026-01-01T00:00:00Z",
         "productLineItem": [{"productId": "coins", "productOfferDetails": {"quantity": 9000000}}]}
        """,
        """
        {"purchaseStateContext": {"purchaseState": "PURCHASED"}, "purchaseCompletionTime": "2026-01-01T00:00:00Z",
         "productLineItem": [{"productId": "coins", "productOfferDetails": {"quantity": 0}}]}
        """,
    ])
    func `a one-time purchase without what it must have is refused`(text: String) throws {
        let fetch = PlayFetch(
            "token-1", of: FakeGooglePlay.packageName, .product, beganAt: start, resource: try JSONValue(parsing: text))
        let error = #expect(throws: SignedDataError.self) { try fetch.reading() }
        #expect(error?.code == .payloadMalformed)
    }

    @Test func `extreme dates and amounts do not trap`() throws {
        for expiry in [Date.distantPast, .distantFuture, Date(timeIntervalSince1970: 253_402_300_799)] {
            for begin in [Date.distantPast, .distantFuture] {
                let purchase = Subscription.plus(from: begin) {
                    $0.item.expiryTime = expiry
                    $0.item.autoRenewingPlan?.recurringPrice = .init(currencyCode: "USD", billionths: .min)
                }
                let fetch = try? PlayFetch(
                    purchase, order: .paid("GPA.1", from: expiry, to: begin, cents: 1), at: begin)
                _ = try? fetch?.answer(at: start)
            }
        }
        let negative = try PlayFetch(
            Subscription.plus(from: start) {
                $0.item.autoRenewingPlan?.recurringPrice = .init(currencyCode: "USD", billionths: -1)
            }, at: start)
        #expect(try negative.purchase().transaction.price == nil)
    }
}
