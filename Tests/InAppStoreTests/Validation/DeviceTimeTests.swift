import BaseTestSupport
import Foundation
import StoreModel
import Testing

@testable import InAppStore

@Suite(.timeLimit(.minutes(1)))
struct DeviceTimeTests {
    private let start = Fixture.start
    private let day: TimeInterval = 86400

    /// Returns the time after each reading, in days since the start.
    private func days(_ readings: [Double], from time: DeviceTime? = nil) -> [Double] {
        var time = time ?? DeviceTime(reading: start)
        return readings.map { time.read(start + $0 * day).timeIntervalSince(start) / day }
    }

    /// Applies a server's answer with the state of one day and the time of another. `late` is the answer's delay in
    /// seconds.
    private func learn(
        asOf: Double, saidOn said: Double? = nil, late: TimeInterval = 0, after before: Customer? = nil,
        _ time: inout DeviceTime
    ) {
        let answer = CustomerAnswer(
            customer: Fixture.customer(asOf: start + asOf * day), serverTime: said.map { start + $0 * day - late })
        _ = time.learn(answer, after: before)
    }

    @Test(
        arguments: [
            ([0, 1, 1, 7], [0, 1, 1, 7]),
            // The clock is set back by ten days. Time stops, then continues at the clock's pace, and follows the clock
            // once the clock is ahead of it.
            ([20, 10, 11, 15], [20, 20, 21, 25]),
            ([20, 10, 15, 24, 26], [20, 20, 25, 34, 36]),
            ([20, 10, 12, 30], [20, 20, 22, 30]),
            ([10, 5, 6, 1, 2], [10, 10, 11, 11, 12]),
        ] as [([Double], [Double])])
    func `after a clock is set back only its pace counts`(readings: [Double], times: [Double]) {
        #expect(days(readings) == times)
    }

    @Test func `the server's time counts more than a clock that was ahead`() {
        var time = DeviceTime(reading: start)
        _ = time.read(start + 1000 * day)
        _ = time.read(start + day)
        #expect(time.latest == start + 1000 * day)
        learn(asOf: 1, after: Fixture.customer(asOf: start), &time)
        #expect(days([1, 2], from: time) == [1, 2])
    }

    @Test func `the server's time counts more than a clock that is behind`() {
        var time = DeviceTime(reading: start)
        learn(asOf: 5, &time)
        #expect(days([0, 1], from: time) == [5, 6])
    }

    @Test func `an unchanged answer does not set time back, unless its end has passed`() {
        let answer = Fixture.customer(asOf: start, validUntil: start + 30 * day)
        var time = DeviceTime(reading: start + 20 * day)
        _ = time.learn(CustomerAnswer(customer: answer), after: answer)
        #expect(time.latest == start + 20 * day)
        _ = time.read(start + 40 * day)
        _ = time.learn(CustomerAnswer(customer: answer), after: answer)
        #expect(time.latest == start)
    }

    @Test(
        arguments: [
            ([11, 12, 40], [1, 2, 30]),
            ([1, 2], [1, 2]), ([-3, -2, 5], [0, 1, 5]), ([110, 111], [100, 101]),
        ] as [([Double], [Double])])
    func `the lead of a clock over the server's time is subtracted until the clock is set`(
        readings: [Double], times: [Double]
    ) throws {
        var time = DeviceTime(reading: start + 10 * day)
        learn(asOf: 0, saidOn: 0, after: Fixture.customer(asOf: start), &time)
        #expect(time.latest == start)
        let kept = try WireJSON.decode(DeviceTime.self, from: WireJSON.encode(time))
        #expect(days(readings, from: time) == times && days(readings, from: kept) == times)
    }

    @Test func `a lead of at most a minute counts as the delay of the answer`() {
        var time = DeviceTime(reading: start)
        learn(asOf: -1, saidOn: 0, late: 60, &time)
        #expect(time.lead == nil && days([0, 1], from: time) == [0, 1])
        learn(asOf: -1, saidOn: 0, late: 61, &time)
        #expect(time.lead == 61)
    }

    @Test func `a clock that is no longer ahead of the server's time is correct`() {
        var time = DeviceTime(reading: start + 10 * day)
        let answer = CustomerAnswer(customer: Fixture.customer(), serverTime: start)
        let isNewlyAhead = (0..<2).map { _ in time.learn(answer, after: nil) }
        #expect(isNewlyAhead == [true, false], "A clock that is ahead must be reported once.")
        learn(asOf: 0, saidOn: 10, &time)
        #expect(days([10, 11], from: time) == [10, 11])
    }

    @Test func `a clock that is corrected by seconds was not set back`() {
        let clock = ManualClock(start)
        #expect(!DeviceClock(clock, knowing: nil).wasSetBack)
        #expect(!DeviceClock(clock, knowing: DeviceTime(reading: start + 60)).wasSetBack)
        #expect(DeviceClock(clock, knowing: DeviceTime(reading: start + 61)).wasSetBack)
    }

    @Test func `a sleep lasts for the remaining time, also if the clock is behind`() async throws {
        let manual = ManualClock(start)
        let clock = DeviceClock(manual, knowing: DeviceTime(reading: start + 10 * day))
        let sleeper = Task { try await clock.sleep(until: start + 12 * day) }
        await manual.waiters(atLeast: 1)
        manual.advance(by: 2 * day)
        try await sleeper.value
        #expect(clock.now() == start + 12 * day)
        try await clock.sleep(until: start + 11 * day)
    }
}
