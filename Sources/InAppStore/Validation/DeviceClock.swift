import Foundation
import Primitives
import StoreModel

/// The clock by which access ends: the device's, with what `DeviceTime` knows better.
final class DeviceClock: WallClock {
    /// The clock was behind what is known when the app began.
    let wasSetBack: Bool
    private let clock: any WallClock
    private let known: Locked<DeviceTime>

    /// - Parameter time: what was known at the end of the last run.
    init(_ clock: any WallClock, knowing time: DeviceTime?) {
        self.clock = clock
        let reading = clock.now()
        let known = time ?? DeviceTime(reading: reading)
        wasSetBack = reading + DeviceTime.tolerance < known.latest
        self.known = Locked(known)
    }

    var time: DeviceTime {
        let reading = clock.now()
        return known.withLock { time in
            _ = time.read(reading)
            return time
        }
    }

    func now() -> Date { time.latest }

    /// Returns whether the clock is found to be ahead, and was not before.
    func learn(_ answer: CustomerAnswer, after before: Customer?) -> Bool {
        let reading = clock.now()
        return known.withLock { time in
            _ = time.read(reading)
            return time.learn(answer, after: before)
        }
    }

    func sleep(until deadline: Date) async throws {
        while true {
            let time = time
            if time.latest >= deadline { return }
            try await clock.sleep(until: time.reading + deadline.timeIntervalSince(time.latest))
        }
    }
}
