import BaseTestSupport
import Foundation
import Primitives
import Testing

@Suite struct ManualClockTests {
    @Test func `sleepers wake when their time comes and not before`() async throws {
        let clock = ManualClock()
        let start = clock.now()
        let woken = Locked<[Int]>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for second in [1, 2] {
                group.addTask {
                    try await clock.sleep(until: start.addingTimeInterval(Double(second)))
                    woken.withLock { $0.append(second) }
                }
            }
            await clock.waiters(atLeast: 2)
            clock.advance(by: 1)
            try await group.next()
            #expect(woken.withLock { $0 } == [1])
            clock.advance(by: 1)
            try await group.waitForAll()
        }
        #expect(woken.withLock { $0 } == [1, 2])
        try await clock.sleep(until: start)
    }

    @Test func `a cancelled sleep throws a CancellationError`() async throws {
        let clock = ManualClock()
        let sleeper = Task { try await clock.sleep(until: clock.now().addingTimeInterval(1)) }
        await clock.waiters(atLeast: 1)
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
    }
}
