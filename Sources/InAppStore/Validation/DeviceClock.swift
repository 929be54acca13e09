import Foundation
import Primitives
import StoreModel

/// The clock that decides when access ends: the device's clock, corrected by `DeviceTime`.
final class DeviceClock: WallClock {
    /// Whether the device's clock was behind the known time at the launch.
    let wasSetBack: Bool
    private let clock: any WallClock
    private let known: Locked<DeviceTime>

    /// - Parameter time: The known time at the end of the last run.
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

    /// Corrects the time with an answer of the server. Returns whether the clock is newly found to be ahead.
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
