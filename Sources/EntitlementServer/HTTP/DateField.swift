import Foundation
import HTTPCore
import Primitives

/// The `Date` header of responses, with the time of the store's clock. Devices with a wrong clock rely on it, and the
/// same clock decides about expiry. A listener would write the machine's time, which differs if the store is a
/// simulator. The text is cached for a second.
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
