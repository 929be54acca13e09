import Foundation
import Testing

@testable import AppStoreSimulator

@Suite struct RetryScheduleTests {
    @Test(arguments: [
        (1, "2026-01-31T11:00:00Z"), (2, "2026-01-31T22:00:00Z"), (3, "2026-02-01T10:00:00Z"),
        (4, "2026-02-02T10:00:00Z"), (5, "2026-02-03T10:00:00Z"),
    ])
    func `the five retries follow the attempts before them after 1, 12, 24, 48 and 72 hours`(number: Int, next: String)
    {
        #expect(RetrySchedule.production.next(after: number, madeAt: Fixtures.start) == Fixtures.date(next))
    }

    @Test(arguments: [6, 7, 0, -1, .max])
    func `no attempt follows the sixth`(number: Int) {
        #expect(RetrySchedule.production.next(after: number, madeAt: Fixtures.start) == nil)
    }

    @Test func `a whole schedule takes 157 hours`() {
        var instants = [Fixtures.start]
        while let last = instants.last, let next = RetrySchedule.production.next(after: instants.count, madeAt: last) {
            instants.append(next)
        }
        #expect(instants.count == 6)
        #expect(instants.last == Fixtures.start.addingTimeInterval(157 * 3600))
    }

    @Test(arguments: 1...6)
    func `in the sandbox the first attempt is the last`(number: Int) {
        #expect(RetrySchedule.once.next(after: number, madeAt: Fixtures.start) == nil)
    }
}
