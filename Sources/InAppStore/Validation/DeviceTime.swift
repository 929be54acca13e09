import Foundation
import StoreModel

/// The time on a device whose clock may be wrong.
///
/// If the clock is ahead of the server's time, the difference is subtracted until the clock is set back. If the clock
/// was set back, the time continues from the latest known instant, and advances with the clock. This ends when the
/// clock shows a later time again, or the server sends the time. The time between the last reading before the clock was
/// set back and the first reading after it is lost.
struct DeviceTime: Sendable, Equatable, Codable {
    /// The difference, in seconds, up to which two clocks count as equal: the server sends whole seconds, with a delay.
    static let tolerance: TimeInterval = 60

    /// The latest known instant.
    private(set) var latest: Date
    /// The clock's time at that instant.
    private(set) var reading: Date
    /// The seconds by which the clock is ahead of the server; `nil` if it is not ahead, or was set back since.
    private(set) var lead: TimeInterval?

    init(reading: Date) {
        latest = reading
        self.reading = reading
    }

    /// Takes a reading of the clock. Returns the current time.
    mutating func read(_ clock: Date) -> Date {
        if clock + Self.tolerance < reading { lead = nil }
        let time = clock - (lead ?? 0)
        latest = time >= latest ? time : latest + max(0, clock.timeIntervalSince(reading))
        reading = clock
        return latest
    }

    /// Takes the time from an answer of the server, which takes precedence over the clock. Returns whether the clock is
    /// newly found to be ahead.
    ///
    /// The current time is in `serverTime`, if the server sends it. `asOf` is the time of the data. An unchanged answer
    /// (HTTP 304) has the `asOf` of the earlier one, so it proves only that `validUntil` has not come.
    mutating func learn(_ answer: CustomerAnswer, after before: Customer?) -> Bool {
        let leadBefore = lead
        let (asOf, validUntil) = (answer.customer.asOf, answer.customer.validUntil)
        if let serverTime = answer.serverTime {
            latest = max(serverTime, asOf)
            let ahead = reading.timeIntervalSince(latest)
            lead = ahead > Self.tolerance ? ahead : nil
        } else if asOf != before?.asOf || validUntil.map({ $0 <= latest }) ?? false {
            latest = asOf
        }
        return leadBefore == nil && lead != nil
    }
}
