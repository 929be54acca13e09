import BaseTestSupport
import Foundation
import Primitives

/// A device's clock that follows `time`, with an offset that a test can set.
final class SettableClock: WallClock {
    private struct Setting {
        var offset: TimeInterval = 0
        /// Opens when the clock is set again.
        let changed = Gate()
    }

    private let time: any WallClock
    private let setting = Locked(Setting())

    init(_ time: any WallClock) { self.time = time }

    func now() -> Date { time.now() + setting.withLock { $0.offset } }

    /// Sets the clock ahead of `time` by this interval.
    func set(ahead offset: TimeInterval) {
        let former = setting.withLock { setting in
            defer { setting = Setting(offset: offset) }
            return setting
        }
        former.changed.open()
    }

    func sleep(until deadline: Date) async throws {
        while now() < deadline {
            let setting = setting.withLock { $0 }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { [time] in try await time.sleep(until: deadline - setting.offset) }
                group.addTask { try await setting.changed.pass() }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }
}
