import Foundation
import Primitives

/// The relation of a clock to its base clock: it read `reading` when the base read `base`, and advances `rate` seconds
/// for each second of the base since then. A rate of 0 is a frozen clock.
package struct ClockAnchor: Sendable, Hashable {
    package var base: Date
    package var reading: Date
    package var rate: Double
    package var revision: Int64

    package init(base: Date, reading: Date, rate: Double, revision: Int64) {
        self.base = base
        self.reading = reading
        self.rate = rate
        self.revision = revision
    }

    /// Returns the clock's time at an instant of its base, in whole milliseconds. For an instant before the anchor, it
    /// is the time at the anchor.
    package func reading(at base: Date) -> Date {
        let passed = max(0, base.timeIntervalSince(self.base)) * rate
        // Instants in seconds are not exact in binary, so a thousandth of a millisecond is added before rounding down.
        let milliseconds = ((reading.timeIntervalSince1970 + passed) * 1000 + 0.001).rounded(.down)
        return min(Date(timeIntervalSince1970: milliseconds / 1000), max(reading, Self.endOfTime))
    }

    /// The start of the year 9000, at which a clock stops, so that a later due date has a year of four digits.
    package static let endOfTime = Date(timeIntervalSince1970: 221_845_392_000)

    /// Returns the first instant of the base, from the anchor on, at which the clock reads `reading` or later; `nil` if
    /// there is none.
    package func base(at reading: Date) -> Date? {
        let left = reading.timeIntervalSince(self.reading)
        if left <= 0 { return base }
        guard reading <= Self.endOfTime else { return nil }
        return rate > 0 ? base.addingTimeInterval(left / rate) : nil
    }
}

/// A clock that runs on another clock and can be moved. It goes backwards only when it is moved.
package final class AnchoredClock: WallClock {
    private struct State {
        var anchor: ClockAnchor
        var latest: Date
    }

    package let base: any WallClock
    private let state: Locked<State>
    private let moves = ChangeSignal<Int>()

    package init(base: any WallClock, anchor: ClockAnchor) {
        self.base = base
        state = Locked(State(anchor: anchor, latest: anchor.reading))
    }

    package var anchor: ClockAnchor { state.withLock { $0.anchor } }

    /// Moves the clock to a new anchor and wakes all sleepers, which then check their deadlines again.
    package func move(to anchor: ClockAnchor) {
        state.withLock { $0 = State(anchor: anchor, latest: anchor.reading) }
        moves.raise([0])
    }

    /// Moves the clock to an anchor with a later revision. Ignores an anchor that is not newer than the current one.
    package func moveIfNewer(to anchor: ClockAnchor) {
        let isChanged = state.withLock { state in
            guard anchor.revision > state.anchor.revision else { return false }
            state = State(anchor: anchor, latest: anchor.reading)
            return true
        }
        if isChanged { moves.raise([0]) }
    }

    package func now() -> Date {
        let base = base.now()
        return state.withLock { state in
            state.latest = max(state.latest, state.anchor.reading(at: base))
            return state.latest
        }
    }

    package func sleep(until deadline: Date) async throws {
        while true {
            try Task.checkCancellation()
            let mark = moves.mark()
            if now() >= deadline { return }
            await moves.wait(for: 0, since: mark, until: anchor.base(at: deadline), on: base)
        }
    }
}
