import BaseTestSupport
import Foundation
import Primitives
import StoreModel
import Testing

@testable import InAppStore

/// Time that passes at any point while the store computes its state.
@Suite struct PassingTimeTests {
    @Test(arguments: 1...60)
    func `the end of a subscription between two readings of the clock is not missed`(second: Int) async throws {
        let end = Fixture.start + TimeInterval(second)
        let test = StoreTestContext(
            Fixture.customer(validUntil: .some(nil), subscriptions: [Fixture.subscription(until: end)]))
        var configuration = test.configuration()
        configuration.clock = TickingClock(base: test.clock)
        // Without scheduled requests, only the timer updates the state.
        configuration.validationInterval = .seconds(1000 * 86400)
        let store = try await test.open(configuration)
        test.clock.advance(by: 60)
        await store.reaches { $0.subscriptionInfo?.isExpired == true }
        await store.close()
    }
}

/// A clock that advances by a second with each reading.
private struct TickingClock: WallClock {
    let base: ManualClock

    func now() -> Date {
        defer { base.advance(by: 1) }
        return base.now()
    }

    func sleep(until deadline: Date) async throws { try await base.sleep(until: deadline) }
}
