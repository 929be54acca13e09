import BaseTestSupport
import Foundation
import Primitives

@testable import StoreKitAdapter

/// Timeouts with a clock that a test moves.
struct ManualTimeouts {
    let clock = ManualClock()
    /// The durations of all waits.
    let waits = CallLog<Duration>()
    private let start = ContinuousClock.now
    private let origin: Date

    init() { origin = clock.now() }

    var elapsed: Duration { .seconds(clock.now().timeIntervalSince(origin)) }

    var timeouts: StoreKitTimeouts {
        StoreKitTimeouts(
            clock: MonotonicClock { [clock, start, origin] in
                start + .seconds(clock.now().timeIntervalSince(origin))
            },
            sleep: { [clock, waits] duration in
                let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
                let deadline = clock.now().addingTimeInterval(seconds)
                waits.record(duration)
                try await clock.sleep(until: deadline)
            })
    }
}
