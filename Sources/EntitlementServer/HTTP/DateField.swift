import Foundation
import HTTPCore
import Primitives

/// The `Date` of answers, by the clock that the ends of access are judged by: a device whose own clock is wrong goes by it.
/// A listener would write the machine's, which is another time beside a simulator. Written once a second.
final class DateField: Sendable {
    private let clock: any WallClock
    private let latest = Locked<(seconds: Int64, text: String)>((.min, ""))

    init(clock: any WallClock) { self.clock = clock }

    var text: String {
        let seconds = Int64(clock.now().timeIntervalSince1970.rounded(.down))
        return latest.withLock { latest in
            if latest.seconds != seconds { latest = (seconds, HTTPDate.text(of: seconds)) }
            return latest.text
        }
    }
}
