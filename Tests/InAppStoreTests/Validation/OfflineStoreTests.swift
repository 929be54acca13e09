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
        test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription()]))
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

    @Test func `after a clock was ahead the server's answer restores access`() async throws {
        test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription()]))
        let first = try await test.open()
        try await first.purchaseProduct("film.noir")
        await first.close()
        test.breakServer()
        let ahead = try launch(at: Fixture.start + 1000 * day)
        #expect(ahead.allowedProducts.isEmpty)
        await ahead.close()
        test.setAnswer(Fixture.customer(asOf: Fixture.start + day, subscriptions: [Fixture.subscription()]))
        let second = try launch(at: Fixture.start + day)
        #expect(await second.reaches { $0.allowedProducts == ["film.noir"] } != nil)
        await second.close()
    }

    @Test func `a clock that is ahead of the server's time ends no access, also offline`() async throws {
        test.server.reportTime(of: test.clock)
        test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription()]))
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
        #expect(later.allowedProducts.isEmpty, "Time must continue at the pace of a clock that is ahead.")
        await later.close()
    }

    @Test func `a clock that is set ahead while the store runs is detected by the next answer`() async throws {
        test.server.reportTime(of: ManualClock(Fixture.start))
        test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription()]))
        let store = try await test.open()
        try await store.purchaseProduct("film.noir")
        await test.clock.waiters(atLeast: 1)
        let asked = test.server.calls.all.count
        test.clock.advance(by: 1000 * day)
        await test.server.calls.wait { $0.count > asked }
        #expect(await store.reaches { $0.allowedProducts == ["film.noir"] } != nil)
        await store.close()
    }

    @Test func `a jump of the clock counts once the server's clock has jumped too`() async throws {
        let (serverClock, moment, naps) = (ManualClock(Fixture.start), Gate(), CallLog<Duration>())
        test.server.reportTime(of: serverClock)
        test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription()]))
        var configuration = test.configuration()
        configuration.sleep = { nap in
            naps.record(nap)
            try await moment.pass()
        }
        let store = try await test.open(configuration)
        try await store.purchaseProduct("film.noir")
        test.clock.advance(by: Fixture.month)
        await naps.wait { !$0.isEmpty }
        #expect(store.allowedProducts == ["film.noir"], "By the server's time nothing has ended.")
        serverClock.advance(by: Fixture.month)
        moment.open()
        #expect(await store.reaches { $0.allowedProducts.isEmpty } != nil)
        await store.close()
    }

    @Test func `time continues while the clock is behind, and access ends in time`() async throws {
        test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription()]))
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

    @Test func `a failed request to the server is repeated until it succeeds`() async throws {
        test.setAnswer(Fixture.customer(validUntil: .some(nil), subscriptions: [Fixture.subscription()]))
        let store = try await test.open()
        test.breakServer()
        test.clock.advance(by: 150)
        await test.server.calls.wait { $0.count == 2 }
        #expect(await store.reaches { $0.receiptValidationStatus?.failingSince == Fixture.start + 150 } != nil)
        test.setAnswer(Fixture.customer(purchases: [Fixture.purchase("pack")]))
        await test.clock.waiters(atLeast: 1)
        test.clock.advance(by: 60)
        let renewed = await store.reaches { $0.allowedProducts == ["pack"] }
        #expect(renewed?.receiptValidationStatus?.failingSince == nil)
        await store.close()
    }
}
