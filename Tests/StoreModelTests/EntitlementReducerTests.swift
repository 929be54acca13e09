import BaseTestSupport
import Foundation
import StoreModel
import Testing

@Suite struct EntitlementReducerTests {
    let map = FeatureMap(features: ["pro": [monthly, yearly]])

    @Test func `a customer without purchases has an empty answer that does not change`() {
        let empty = answer(CustomerState(), at: 0)
        #expect(empty.features.isEmpty && empty.subscriptions.isEmpty && empty.purchases.isEmpty)
        #expect(empty.validUntil == nil)
        #expect(empty.customer == "anna" && empty.environment == .sandbox && empty.asOf == day(0))
    }

    @Test func `a subscription gives its feature until its expiry, exclusively`() throws {
        let state = CustomerState([period("1", from: 0, to: 30)], renewals: [renewal(renews: true, signed: 0)])
        let during = answer(state, at: 10, map: map)
        let feature = try #require(during.features.first)
        #expect(feature.name == "pro" && feature.isActive && feature.productID == monthly)
        #expect(feature.until == day(30) && feature.effectiveUntil == day(30) && feature.from == day(0))
        #expect(feature.because == "active subscription, renews")
        #expect(during.validUntil == day(30))
        #expect(during.subscriptions.first?.state == .active)
        #expect(during.subscriptions.first?.autoRenews == true)
        #expect(during.subscriptions.first?.price == Price(amount: 5, currency: "EUR"))

        let justBefore = answer(state, at: 30 - 1e-6, map: map)
        #expect(justBefore.features.first?.isActive == true)
        let atExpiry = answer(state, at: 30, map: map)
        #expect(atExpiry.features.first?.isActive == false)
        #expect(atExpiry.features.first?.because == "subscription expired")
        #expect(atExpiry.subscriptions.first?.state == .expired)
        #expect(atExpiry.validUntil == nil)
    }

    @Test func `a renewal starts where the period before ends`() {
        let state = CustomerState([period("1", from: 0, to: 30), period("2", from: 30, to: 60, signed: 29.5)])
        let before = answer(state, at: 29.9, map: map)
        #expect(before.subscriptions.first?.expiresAt == day(30))
        #expect(before.validUntil == day(30))
        let after = answer(state, at: 30, map: map)
        #expect(after.features.first?.isActive == true)
        #expect(after.subscriptions.first?.expiresAt == day(60))
        #expect(after.subscriptions.first?.startedAt == day(0))
        #expect(after.subscriptions.count == 1)
    }

    @Test func `a period sold a little ahead of this clock gives access at once`() {
        let state = CustomerState([period("1", from: 0, to: 30), period("2", from: 40.01, to: 70, signed: 40)])
        #expect(answer(state, at: 35, map: map).features.first?.isActive == true)
        #expect(answer(CustomerState([period("1", from: 5, to: 30)]), at: 4, map: map).features.first?.isActive == true)
    }

    @Test func `a cancelled subscription lasts until its end and has the date of its cancellation`() {
        let state = CustomerState(
            [period("1", from: 0, to: 30)],
            renewals: [
                renewal(renews: true, signed: 0), renewal(renews: false, signed: 3), renewal(renews: true, signed: 5),
                renewal(renews: false, signed: 8), renewal(renews: false, signed: 9),
            ])
        let during = answer(state, at: 10, map: map)
        #expect(during.features.first?.isActive == true)
        #expect(during.features.first?.because == "active subscription, does not renew")
        #expect(during.subscriptions.first?.autoRenews == false)
        #expect(during.subscriptions.first?.renewsTo == nil)
        #expect(during.subscriptions.first?.cancelledAt == day(8))
    }

    @Test func `the management URL is that of the App Store until the subscription has ended`() {
        let state = CustomerState(
            [period("1", from: 0, to: 30)], renewals: [renewal(renews: true, isRetrying: true, signed: 30)])
        #expect(answer(CustomerState(), at: 0).managementURL == nil)
        #expect(answer(state, at: 10).managementURL == "https://apps.apple.com/account/subscriptions")
        #expect(answer(state, at: 31).subscriptions.first?.state == .inBillingRetry)
        #expect(answer(state, at: 31).managementURL == "https://apps.apple.com/account/subscriptions")
        #expect(answer(CustomerState([period("1", from: 0, to: 30)]), at: 30).managementURL == nil)
        #expect(answer(CustomerState([period("1", from: 0, to: 30, revoked: 5)]), at: 10).managementURL == nil)
        #expect(answer(CustomerState([purchase("1")]), at: 10).managementURL == nil)
    }

    @Test func `a renewal info that was signed before a renewal does not apply to the renewal`() {
        let state = CustomerState(
            [period("1", from: 0, to: 30), period("2", from: 32, to: 62)],
            renewals: [renewal(renews: false, grace: 90, isRetrying: true, signed: 31)])
        let during = answer(state, at: 40, map: map)
        #expect(during.subscriptions.first?.autoRenews == nil)
        #expect(during.subscriptions.first?.effectiveUntil == day(62))
        #expect(answer(state, at: 62, map: map).subscriptions.first?.state == .expired)
    }

    @Test func `grace lasts exactly as long as the store states`() {
        let state = CustomerState(
            [period("1", from: 0, to: 30)],
            renewals: [renewal(renews: true, grace: 46, isRetrying: true, signed: 30)])
        let before = answer(state, at: 29, map: map)
        #expect(before.subscriptions.first?.state == .active && before.validUntil == day(30))
        let during = answer(state, at: 30, map: map)
        #expect(during.subscriptions.first?.state == .inGracePeriod)
        #expect(during.subscriptions.first?.gracePeriodUntil == day(46))
        #expect(during.features.first?.isActive == true)
        #expect(during.features.first?.until == day(30))
        #expect(during.features.first?.effectiveUntil == day(46))
        #expect(during.validUntil == day(46))
        let after = answer(state, at: 46, map: map)
        #expect(after.subscriptions.first?.state == .inBillingRetry)
        #expect(after.features.first?.isActive == false)
        #expect(after.validUntil == nil)
    }

    @Test func `billing retry without grace gives no access`() {
        let state = CustomerState(
            [period("1", from: 0, to: 30)], renewals: [renewal(renews: true, isRetrying: true, signed: 30)])
        let after = answer(state, at: 31, map: map)
        #expect(after.subscriptions.first?.state == .inBillingRetry)
        #expect(after.features.first?.isActive == false)
        #expect(after.features.first?.because == "payment failed, the store is still trying")
    }

    @Test func `a refund ends access, and a newer fact without the refund gives access back`() {
        let bought = period("1", from: 0, to: 30)
        let refunded = period("1", from: 0, to: 30, signed: 5, revoked: 4)
        let reversed = period("1", from: 0, to: 30, signed: 9)
        let after = answer(CustomerState([refunded, bought]), at: 6, map: map)
        #expect(after.subscriptions.first?.state == .revoked)
        #expect(after.subscriptions.first?.revokedAt == day(4))
        #expect(after.features.first?.isActive == false)
        #expect(after.features.first?.effectiveUntil == day(4))
        #expect(after.validUntil == nil)
        #expect(answer(CustomerState([reversed, refunded, bought]), at: 10, map: map).features.first?.isActive == true)
    }

    @Test func `of two facts that were signed at the same instant, the revoked one counts`() {
        let bought = purchase("1")
        let refunded = purchase("1", signed: 0, revoked: 0)
        for facts in [[bought, refunded], [refunded, bought]] {
            #expect(answer(CustomerState(facts), at: 1).features.first?.isActive == false)
        }
    }

    @Test func `a purchase after a refund gives access`() {
        let state = CustomerState([period("1", from: 0, to: 30, signed: 5, revoked: 4), period("2", from: 6, to: 36)])
        #expect(answer(state, at: 7, map: map).subscriptions.first?.state == .active)
    }

    @Test func `an upgraded period gives no access any more`() {
        let old = period("1", from: 0, to: 30, signed: 10, isUpgraded: true)
        let both = answer(
            CustomerState([old, period("2", product: yearly, from: 10, to: 375)]), at: 20)
        #expect(both.features.map(\.name) == [yearly.rawValue])
        #expect(both.subscriptions.map(\.productID) == [yearly])
        let alone = answer(CustomerState([old]), at: 20)
        #expect(alone.features.first?.isActive == false)
        #expect(alone.features.first?.because == "upgraded to another subscription")
        #expect(alone.features.first?.effectiveUntil == day(10))
    }

    @Test func `a downgrade takes effect when its period starts`() {
        let state = CustomerState([
            period("1", product: yearly, from: 0, to: 365), period("2", from: 365, to: 395, signed: 364.5),
        ])
        #expect(answer(state, at: 364.9).features.map(\.name) == [yearly.rawValue])
        #expect(answer(state, at: 365).features.map(\.name) == [monthly.rawValue])
        let reported = CustomerState(
            [period("1", product: yearly, from: 0, to: 365)],
            renewals: [renewal(renews: true, to: monthly, signed: 1)])
        #expect(answer(reported, at: 2).features.first?.because == "active subscription, renews as pro.monthly")
    }

    @Test func `a subscription in a free trial is marked`() {
        let state = CustomerState(
            [period("1", from: 0, to: 7, isTrial: true)], renewals: [renewal(renews: true, signed: 0)])
        let during = answer(state, at: 1, map: map)
        #expect(during.subscriptions.first?.isTrial == true)
        #expect(during.features.first?.because == "free trial, renews")
    }

    @Test func `a non-consumable lasts until it is refunded`() {
        let kept = answer(CustomerState([purchase("1")]), at: 1000)
        #expect(kept.features.map(\.name) == ["tools"])
        #expect(kept.features.first?.isActive == true && kept.features.first?.effectiveUntil == nil)
        #expect(kept.validUntil == nil)
        let back = answer(CustomerState([purchase("1"), purchase("1", signed: 3, revoked: 2)]), at: 4)
        #expect(back.features.first?.isActive == false && back.features.first?.effectiveUntil == day(2))
        #expect(back.purchases.first?.revokedAt == day(2))
    }

    @Test func `a consumable gives a feature only if the map says so`() {
        let state = CustomerState([purchase("1", "coins", kind: .consumable, quantity: 3)])
        let plain = answer(state, at: 1)
        #expect(plain.features.isEmpty)
        #expect(plain.purchases.first?.quantity == 3 && plain.purchases.first?.kind == .consumable)
        let mapped = answer(state, at: 1, map: FeatureMap(features: ["wealth": ["coins"]]))
        #expect(mapped.features.map(\.name) == ["wealth"])
    }

    @Test func `a non-renewing subscription ends only if the store states an end`() {
        let open = CustomerState([purchase("1", "season", kind: .nonRenewingSubscription)])
        #expect(answer(open, at: 4000).features.first?.isActive == true)
        let ending = CustomerState([purchase("1", "season", kind: .nonRenewingSubscription, until: 90)])
        #expect(answer(ending, at: 89).validUntil == day(90))
        #expect(answer(ending, at: 90).features.first?.isActive == false)
    }

    @Test func `the reason of a purchase that the family shares is this sharing`() {
        let state = CustomerState([purchase("1", isFamilyShared: true)])
        #expect(answer(state, at: 1).features.first?.because == "shared by the family")
    }

    @Test func `added seats give no second access, and their refund leaves the first`() {
        var added = period("2", of: "1", from: 9, to: 30)
        added.sharesPeriod = true
        let both = answer(CustomerState([period("1", from: 0, to: 30), added]), at: 10)
        #expect(both.features.count == 1 && both.subscriptions.count == 1)
        added.revocationDate = day(12)
        added.signedDate = day(12)
        let refunded = answer(CustomerState([period("1", from: 0, to: 30), added]), at: 13)
        #expect(refunded.features.first?.isActive == true && refunded.subscriptions.first?.state == .active)
    }

    @Test func `the reason of an assigned seat is the other customer's subscription`() {
        var seat = period("1", from: 0, to: 30)
        (seat.isFamilyShared, seat.isAssigned) = (true, true)
        #expect(
            answer(CustomerState([seat]), at: 1).features.first?.because
                == "active subscription, a seat of another customer's subscription")
    }

    @Test func `one purchase under two transaction ids is one feature`() {
        let state = CustomerState([purchase("1", signed: 2, revoked: 1), purchase("2", of: "1", at: 3)])
        let both = answer(state, at: 4)
        #expect(both.features.count == 1 && both.features.first?.isActive == true)
        #expect(both.purchases.count == 2)
    }

    @Test func `grants give access beside purchases until they end`() throws {
        let grant = Grant(id: "g1", feature: "pro", from: day(0), until: day(20), reason: "support")
        let state = CustomerState([period("1", from: 0, to: 10)], grants: [grant])
        let during = answer(state, at: 1, map: map)
        #expect(during.features.map(\.name) == ["pro", "pro"])
        #expect(during.validUntil == day(10))
        let given = try #require(during.features.first { $0.source == .grant })
        #expect(given.grantID == "g1" && given.because == "granted: support" && given.effectiveUntil == day(20))
        let later = answer(state, at: 10, map: map)
        #expect(later.features.map(\.isActive) == [true, false])
        #expect(later.validUntil == day(20))
        #expect(answer(state, at: 20, map: map).features.contains { $0.isActive } == false)
    }

    @Test func `order and repetition of facts do not matter`() {
        var facts: [AnyFact] = [
            period("1", from: 0, to: 30), period("1", from: 0, to: 30, signed: 12, isUpgraded: true),
            period("2", product: yearly, from: 12, to: 377),
            period("2", product: yearly, from: 12, to: 377, signed: 40, revoked: 39),
            period("2", product: yearly, from: 12, to: 377, signed: 50),
            period("7", of: "7", product: "other", from: 1, to: 8),
            period("8", of: "7", product: "other", from: 8, to: 15),
        ].map(AnyFact.transaction)
        facts += [purchase("20"), purchase("20", signed: 9, revoked: 9), purchase("21", of: "20", at: 11)]
            .map(AnyFact.transaction)
        facts += [
            renewal(renews: true, signed: 12), renewal(renews: false, signed: 20), renewal(renews: false, signed: 21),
            renewal(of: "7", renews: true, to: "other", grace: 20, isRetrying: true, signed: 15),
        ].map(AnyFact.renewal)
        facts.append(.grant(Grant(id: "g", feature: "pro", from: day(3), until: day(33), reason: "test")))

        let expected = CustomerState(facts)
        let instants = stride(from: 0.0, through: 400, by: 3.25)
        let answers = instants.map { answer(expected, at: $0, map: map) }
        var numbers = SeededNumbers(state: 20260101)
        for _ in 0..<300 {
            var shuffled = facts
            for _ in 0..<Int.random(in: 0...facts.count, using: &numbers) {
                shuffled.append(facts.randomElement(using: &numbers)!)
            }
            shuffled.shuffle(using: &numbers)
            #expect(CustomerState(shuffled) == expected)
        }
        var reversed = CustomerState(Array(facts.reversed()))
        #expect(instants.map { answer(reversed, at: $0, map: map) } == answers)
        reversed.apply(purchase("99"))
        #expect(reversed != expected)
    }

    @Test func `an answer is valid until exactly its validUntil`() throws {
        let state = CustomerState(
            [period("1", from: 0, to: 30), period("2", from: 30, to: 60, signed: 29), purchase("5", until: 44)],
            renewals: [renewal(renews: true, grace: 66, isRetrying: true, signed: 60)],
            grants: [Grant(id: "g", feature: "x", from: day(2), until: day(21), reason: "test")])
        var instant = 0.0
        var stops: [Double] = []
        while let next = answer(state, at: instant, map: map).validUntil {
            let now = answer(state, at: instant, map: map)
            let number = next.timeIntervalSince(day(0)) / 86400
            for share in [0.25, 0.5, 0.999] {
                var between = answer(state, at: instant + (number - instant) * share, map: map)
                between.asOf = now.asOf
                #expect(between == now)
            }
            var changed = answer(state, at: number, map: map)
            changed.asOf = now.asOf
            changed.validUntil = now.validUntil
            #expect(changed != now)
            stops.append(number)
            instant = number
        }
        #expect(stops == [21, 30, 44, 60, 66])
    }
}
