import BaseTestSupport
import Foundation
import StoreModel
import Testing

@testable import InAppStore

/// The offline rules, with a store whose clock a test moves.
@Suite(.timeLimit(.minutes(2)))
struct OfflineStoreTests {
    private let test = StoreTestContext()
    private let day: TimeInterval = 86400

    /// Launches a store on the same device, with the device's clock at `date`.
    private func launch(at date: Date) throws -> Store {
        var configuration = test.configuration()
        configuration.clock = ManualClock(date)
        return try Store(configuration: configuration)
    }

    @Test func `a clock that is set back does not bring an expired subscription back`() async throws {
        test.say(Fixture.customer(subscriptions: [Fixture.subscription()]))
        let first = try await test.open()
        try await first.purchaseProduct("film.noir")
        test.breakServer()
        test.clock.advance(by: Fixture.month + 1)
        #expect(await first.reaches { $0.allowedProducts.isEmpty } != nil)
        await first.close()

        let second = try launch(at: Fixture.start + day)
        #expect(second.subscriptionInfo?.isExpired == true)
        #expect(second.allowedProducts.isEmpty)
        var events = second.events.makeAsyncIterator()
        while let event = await events.next(), event.code != .clockSetBack {}
        await second.close()
    }

    @Test func `a clock that was ahead takes nothing away for longer than until the server answers`() async throws {
        test.say(Fixture.customer(subscriptions: [Fixture.subscription()]))
        let first = try await test.open()
        try await first.purchaseProduct("film.noir")
        await first.close()
        test.breakServer()
        let ahead = try launch(at: Fixture.start + 1000 * day)
        #expect(ahead.allowedProducts.isEmpty)
        await ahead.close()
        test.say(Fixture.customer(asOf: Fixture.start + day, subscriptions: [Fixture.subscription()]))
        let second = try launch(at: Fixture.start + day)
        #expect(await second.reaches { $0.allowedProducts == ["film.noir"] } != nil)
        await second.close()
    }

    @Test func `a clock that is ahead ends nothing while the server says what time it is, nor afterwards`() async throws
    {
        test.server.reportTime(of: test.clock)
        test.say(Fixture.customer(subscriptions: [Fixture.subscription()]))
        let first = try await test.open()
        try await first.purchaseProduct("film.noir")
        await first.close()
        let ahead = try launch(at: Fixture.start + 1000 * day)
        #expect(await ahead.reaches { $0.allowedProducts == ["film.noir"] } != nil)
        #expect(ahead.snapshot.receiptValidationStatus?.validatedAt == Fixture.start)
        await ahead.close()
        test.breakServer()
        let offline = try launch(at: Fixture.start + 1001 * day)
        #expect(offline.allowedProducts == ["film.noir"])
        await offline.close()
        let later = try launch(at: Fixture.start + 1000 * day + Fixture.month)
        #expect(later.allowedProducts.isEmpty, "time goes on by a clock that is wrong")
        await later.close()
    }

    @Test func `a clock that is set ahead while the store runs is found out by the answer it asks for`() async throws {
        test.server.reportTime(of: ManualClock(Fixture.start))
        test.say(Fixture.customer(subscriptions: [Fixture.subscription()]))
        let store = try await test.open()
        try await store.purchaseProduct("film.noir")
        await test.clock.waiters(atLeast: 1)
        let asked = test.server.calls.all.count
        test.clock.advance(by: 1000 * day)
        await test.server.calls.wait { $0.count > asked }
        #expect(await store.reaches { $0.allowedProducts == ["film.noir"] } != nil)
        await store.close()
    }

    @Test func `a clock that leaps before its server has heard of it is right a moment later`() async throws {
        let (serverClock, moment, naps) = (ManualClock(Fixture.start), Gate(), CallLog<Duration>())
        test.server.reportTime(of: serverClock)
        test.say(Fixture.customer(subscriptions: [Fixture.subscription()]))
        var configuration = test.configuration()
        configuration.sleep = { nap in
            naps.record(nap)
            try await moment.pass()
        }
        let store = try await test.open(configuration)
        try await store.purchaseProduct("film.noir")
        test.clock.advance(by: Fixture.month)
        await naps.wait { !$0.isEmpty }
        #expect(store.allowedProducts == ["film.noir"], "by the server's word nothing has ended")
        serverClock.advance(by: Fixture.month)
        moment.open()
        #expect(await store.reaches { $0.allowedProducts.isEmpty } != nil)
        await store.close()
    }

    @Test func `time goes on while the clock is behind, and what ends then ends`() async throws {
        test.say(Fixture.customer(subscriptions: [Fixture.subscription()]))
        let first = try await test.open()
        try await first.purchaseProduct("film.noir")
        test.breakServer()
        test.clock.advance(by: Fixture.month - day)
        await first.close()

        var configuration = test.configuration()
        let clock = ManualClock(Fixture.start)
        configuration.clock = clock
        let second = try Store(configuration: configuration)
        #expect(second.allowedProducts == ["film.noir"])
        clock.advance(by: day - 1)
        #expect(second.allowedProducts == ["film.noir"])
        clock.advance(by: 1)
        #expect(second.allowedProducts.isEmpty)
        await second.close()
    }

    @Test func `the server is asked again by itself until it answers`() async throws {
        test.say(Fixture.customer(validUntil: .some(nil), subscriptions: [Fixture.subscription()]))
        let store = try await test.open()
        test.breakServer()
        test.clock.advance(by: 150)
        await test.server.calls.wait { $0.count == 2 }
        #expect(await store.reaches { $0.receiptValidationStatus?.failingSince == Fixture.start + 150 } != nil)
        test.say(Fixture.customer(purchases: [Fixture.purchase("pack")]))
        await test.clock.waiters(atLeast: 1)
        test.clock.advance(by: 60)
        let renewed = await store.reaches { $0.allowedProducts == ["pack"] }
        #expect(renewed?.receiptValidationStatus?.failingSince == nil)
        await store.close()
    }
}
