import BaseTestSupport
import Foundation
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Long polls end with an update, at a timeout, and when the store closes.
struct LongPollTests {
    @Test func `a waiting device receives a purchase at once`() async throws {
        try await TestStore.with { test in
            let device = try await test.device()
            async let answer = test.store.updates(for: device, after: "0", wait: 30)
            await test.base.waiters(atLeast: 1)
            let bought = try await test.buy("pack")
            #expect(try await answer.updates.map(\.transaction?.id) == [bought.transactionID])
        }
    }

    @Test(arguments: ["9223372036854775807", "253402300800000000", "8000000000000000.1"])
    func `a device with a future cursor receives all updates, also later ones`(cursor: String) async throws {
        try await TestStore.with { test in
            let device = try await test.device()
            let bought = try await test.buy("pack")
            let first = try await test.store.updates(for: device, after: cursor, wait: 30)
            #expect(first.updates.map(\.transaction?.id) == [bought.transactionID])
            let again = try await test.buy("coins")
            let second = try await test.store.updates(for: device, after: first.cursor)
            #expect(second.updates.map(\.transaction?.id) == [again.transactionID])
        }
    }

    @Test func `a waiting device receives no updates of another account`() async throws {
        try await TestStore.with { test in
            let device = try await test.device()
            async let answer = test.store.updates(for: device, after: "0", wait: 30)
            await test.base.waiters(atLeast: 1)
            try await test.buy("pack", "berta")
            test.base.advance(by: 30)
            #expect(try await answer.updates.isEmpty)
        }
    }

    @Test func `a renewal that falls due wakes a waiting device`() async throws {
        try await TestStore.with(rate: .real) { test in
            let device = try await test.device()
            let bought = try await test.buy("weekly")
            try await test.store.finish(bought.transactionID, from: device)
            let cursor = try await test.store.updates(for: device, after: nil).cursor
            async let answer = test.store.updates(for: device, after: cursor, wait: 30)
            await test.base.waiters(atLeast: 1)
            _ = try await test.store.advance(.init(seconds: 7 * 86400 - 10))
            await test.base.waiters(until: test.base.now().addingTimeInterval(10))
            test.base.advance(by: 10)
            let update = try #require(try await answer.updates.first)
            #expect(update.state == "purchased" && update.paymentID == nil)
            #expect(update.transaction?.purchaseDate == Fixtures.date("2026-02-07T10:00:00Z"))
        }
    }

    @Test func `a jump of a stopped clock wakes a waiting device`() async throws {
        try await TestStore.with { test in
            let device = try await test.device()
            let bought = try await test.buy("weekly")
            try await test.store.finish(bought.transactionID, from: device)
            let cursor = try await test.store.updates(for: device, after: nil).cursor
            async let answer = test.store.updates(for: device, after: cursor, wait: 30)
            await test.base.waiters(atLeast: 1)
            try await test.advance(.weeks(1))
            #expect(try await answer.updates.map(\.state) == ["purchased"])
        }
    }

    @Test func `a long poll ends after its wait, or after 30 seconds at most`() async throws {
        try await TestStore.with { test in
            let device = try await test.device()
            async let short = test.store.updates(for: device, after: nil, wait: 5)
            await test.base.waiters(atLeast: 1)
            test.base.advance(by: 5)
            #expect(try await short.updates.isEmpty)
            async let long = test.store.updates(for: device, after: nil, wait: 1_000_000)
            await test.base.waiters(atLeast: 1)
            test.base.advance(by: 30)
            #expect(try await long.updates.isEmpty)
        }
    }

    @Test func `closing the store ends all long polls`() async throws {
        let test = try await TestStore.open()
        let device = try await test.device()
        async let updates = test.store.updates(for: device, after: nil, wait: 30)
        async let clock = test.store.clockState(after: 1, wait: 30)
        await test.base.waiters(atLeast: 2)
        await test.store.close()
        #expect((try? await updates)?.updates.isEmpty ?? true)
        #expect(await clock.revision == 1)
        await #expect(throws: (any Error).self) { try await test.store.updates(for: device, after: nil) }
    }

    @Test func `a cancelled request ends`() async throws {
        try await TestStore.with { test in
            let device = try await test.device()
            let question = Task { try await test.store.updates(for: device, after: nil, wait: 30) }
            await test.base.waiters(atLeast: 1)
            question.cancel()
            #expect((try? await question.value)?.updates.isEmpty ?? true)
        }
    }

    @Test func `a client that follows the clock receives a jump at once`() async throws {
        try await TestStore.with { test in
            let before = await test.store.clockState()
            #expect(before.rate == 0 && before.now == Fixtures.start)
            async let after = test.store.clockState(after: before.revision, wait: 30)
            await test.base.waiters(atLeast: 1)
            let jumped = try await test.advance(.months(1))
            #expect(await after == jumped && jumped.revision == before.revision + 1)
            #expect(jumped.now == Fixtures.date("2026-02-28T10:00:00Z"))
            #expect(await test.store.clockState(after: before.revision, wait: 30) == jumped)
        }
    }
}
